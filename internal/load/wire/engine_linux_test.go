package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cellbench/internal/load"
	"cellbench/internal/workload"
)

// The tests of this file play the server's part on a real socket, byte for byte:
// what servers do seldom or only when they are broken. What servers do every day
// is tested on real ones by load/loadtest.

// plan is a workload whose events are the same statements each time.
type plan struct {
	statements []workload.Statement
	calls      []int
}

func (p *plan) Name() string                          { return "plan" }
func (p *plan) Kinds() []string                       { return []string{"all"} }
func (p *plan) Statements() []workload.Statement      { return p.statements }
func (p *plan) Generator(_, _ int) workload.Generator { return p }

func (p *plan) Next(ev *workload.Event) {
	ev.Reset()
	for _, c := range p.calls {
		ev.Call(c)
		for range p.statements[c].Params() {
			ev.Int(int64(c))
		}
	}
}

func query(sql string) *plan {
	return &plan{[]workload.Statement{workload.NewStatement(0, sql)}, []int{0}}
}

// reply is what the server does about a command.
type reply struct {
	bytes []byte
	piece int           // written in pieces of so many bytes; 0: at once
	pause time.Duration // after each piece
	close bool          // afterwards
}

// script answers the n-th command (from 0) of the k-th connection (from 0).
type script func(k, n int, command []byte) reply

// serve returns a Dial whose connections are answered by s.
func serve(t testing.TB, capabilities, mariaDB uint32, s script) Dial {
	t.Helper()
	return serveOver(t, capabilities, mariaDB, s, func(c net.Conn) net.Conn { return c })
}

// serveOver does so with what the server puts over its sockets.
func serveOver(t testing.TB, capabilities, mariaDB uint32, s script, over func(net.Conn) net.Conn) Dial {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for k := 0; ; k++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				answerAll(over(c), k, s)
			})
		}
	})
	var id atomic.Uint32
	return func(ctx context.Context) (Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", l.Addr().String())
		return Conn{Net: c, Capabilities: capabilities, MariaDBCapabilities: mariaDB, ConnectionID: id.Add(1)}, err
	}
}

// answerAll answers the commands of one connection; it allocates nothing per
// command once it has seen the longest.
func answerAll(c net.Conn, k int, s script) {
	command := make([]byte, 0, 1<<10)
	head := make([]byte, 4)
	for n := 0; ; n++ {
		command = command[:0]
		for more := true; more; {
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			at := len(command)
			command = append(command, make([]byte, length(head))...)
			if _, err := io.ReadFull(c, command[at:]); err != nil {
				return
			}
			more = len(command)-at == maxPayload
		}
		if len(command) > 0 && command[0] == comQuit {
			return
		}
		r := s(k, n, command)
		for b := r.bytes; len(b) > 0; {
			p := b
			if r.piece > 0 {
				p = b[:min(r.piece, len(b))]
			}
			if _, err := c.Write(p); err != nil {
				return
			}
			b = b[len(p):]
			if r.pause > 0 {
				time.Sleep(r.pause)
			}
		}
		if r.close {
			return
		}
	}
}

func ok() reply { return reply{bytes: newStream().ok(byteOK, 1, 2).Bytes()} }

func rows(n int) []byte {
	s := newStream().packet(1).definitions(1)
	for range n {
		s.text(nil, "\x05abcde")
	}
	return s.ok(byteEOF, 0, 2).Bytes()
}

func open(t testing.TB, s load.Settings, o Options, dial Dial) *engine {
	t.Helper()
	if s.ConnectParallel == 0 {
		s.ConnectParallel = 2
	}
	e, err := New(s, dial, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.Connect(t.Context(), func(int) {}); err != nil {
		t.Fatal(err)
	}
	return e.(*engine)
}

func measure(t testing.TB, e *engine, p load.Plan) *load.Outcome {
	t.Helper()
	if p.Drain == 0 {
		p.Drain = 10 * time.Second
	}
	return load.Measure(t.Context(), e, p, load.Hooks{})
}

func ignore(codes ...int) load.ErrorSet {
	s := load.ErrorSet{Codes: map[int]bool{}}
	for _, c := range codes {
		s.Codes[c] = true
	}
	return s
}

func TestServerMisbehaves(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		tests := []struct {
			name    string
			answer  reply // to the third command
			code    int
			message string
			lives   bool
		}{
			{"closes instead of answering", reply{close: true}, 2013, "closed the connection", false},
			{"closes within an answer", reply{bytes: rows(10)[:60], close: true}, 2013, "closed the connection", false},
			{"says goodbye and closes", reply{bytes: (&stream{}).err(1053, "08S01", "Server shutdown in progress").Bytes(), close: true}, 1053, "Server shutdown", false},
			{"says goodbye and stays", reply{bytes: newStream().err(1927, "70100", "Connection was killed").Bytes()}, 1927, "killed", false},
			{"answers with garbage", reply{bytes: []byte("HTTP/1.1 400 Bad Request\r\n\r\n")}, 2027, "malformed packet", false},
			{"answers twice", reply{bytes: append(ok().bytes, ok().bytes...)}, 2027, "malformed packet", false},
			{"breaks off a result set", reply{bytes: newStream().packet(1).definitions(1).err(1317, "70100", "interrupted").Bytes()}, 1317, "interrupted", true},
			{"sends EOF packets though they were given up", reply{bytes: newStream().packet(1).definitions(1).eof(2).eof(2).Bytes()}, 2027, "malformed packet", false},
			{"wants a file", reply{bytes: newStream().text([]byte{byteInfile}, "/etc/passwd").Bytes()}, 2068, "LOCAL INFILE", true},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				dial := serve(t, deprecated, 0, func(_, n int, command []byte) reply {
					if len(command) == 0 { // the empty packet that refuses a file
						return reply{bytes: newStream().client().client().ok(byteOK, 0, 2).Bytes()}
					}
					if n == 2 {
						return tt.answer
					}
					return ok()
				})
				e := open(t, load.Settings{Workload: query("DO 1"), Threads: 1}, Options{}, dial)
				out := measure(t, e, load.Plan{Time: time.Minute})
				var se *load.StatementError
				if !errors.As(out.Err, &se) {
					t.Fatalf("got %v, want a StatementError", out.Err)
				}
				if se.Code != tt.code || !strings.Contains(se.Message, tt.message) || se.SQL != "DO 1" {
					t.Errorf("got %+v, want code %d and %q", se, tt.code, tt.message)
				}
				if live := e.Live() == 1; live != tt.lives {
					t.Errorf("live %v, want %v", live, tt.lives)
				}
				if out.Counts.Events < 2 || out.Counts.Events > 3 || out.Counts.Errors != 1 {
					t.Errorf("counts %+v", out.Counts)
				}
			})
		}
	})
}

// The server's answers come in pieces, and others are served meanwhile.
func TestAnswersInPieces(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		for _, piece := range []int{1, 3, 7, 50} {
			dial := serve(t, deprecated, 0, func(_, _ int, _ []byte) reply {
				return reply{bytes: rows(20), piece: piece, pause: time.Microsecond}
			})
			e := open(t, load.Settings{Workload: query("SELECT 1"), Threads: 3}, Options{Loops: 1}, dial)
			out := measure(t, e, load.Plan{Events: 15})
			if out.Err != nil || out.Counts.Reads != 15 || out.Counts.Rows != 300 || out.Counts.RowBytes != 300*6 {
				t.Errorf("pieces of %d: error %v, counts %+v", piece, out.Err, out.Counts)
			}
		}
	})
}

// Answers far larger than the read buffer do not keep others from being served.
func TestLargeAnswers(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		large := rows(500_000)
		dial := serve(t, deprecated, 0, func(k, _ int, _ []byte) reply {
			if k == 0 {
				return reply{bytes: large}
			}
			return reply{bytes: rows(1)}
		})
		e := open(t, load.Settings{Workload: query("SELECT 1"), Threads: 4, ConnectParallel: 1}, Options{Loops: 1}, dial)
		out := measure(t, e, load.Plan{Events: 400})
		if out.Err != nil || out.Counts.Events != 400 || out.Counts.Rows < 500_000 {
			t.Errorf("error %v, counts %+v", out.Err, out.Counts)
		}
	})
}

// A statement that the socket does not take at once is sent as it empties.
func TestLargeStatements(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		sql := "SELECT '" + strings.Repeat("x", 20<<20) + "'"
		var got atomic.Int64
		dial := serve(t, deprecated, 0, func(_, _ int, command []byte) reply {
			got.Store(int64(len(command)))
			return reply{bytes: (&stream{seq: 2}).ok(byteOK, 0, 2).Bytes()}
		})
		e := open(t, load.Settings{Workload: query(sql), Threads: 1}, Options{}, dial)
		out := measure(t, e, load.Plan{Events: 3})
		if out.Err != nil || out.Counts.Events != 3 || got.Load() != int64(len(sql))+1 {
			t.Errorf("error %v, counts %+v, the server got %d bytes", out.Err, out.Counts, got.Load())
		}
		if c := e.conns[0]; cap(c.unsent) > maxKept {
			t.Errorf("%d bytes of buffer are kept", cap(c.unsent))
		}
	})
}

func TestMaxPacket(t *testing.T) {
	dial := serve(t, deprecated, 0, func(_, _ int, _ []byte) reply { return ok() })
	s := load.Settings{Workload: query("DO '" + strings.Repeat("x", 2000) + "'"), Threads: 1}
	out := measure(t, open(t, s, Options{MaxPacket: 1024}, dial), load.Plan{Events: 3})
	var se *load.StatementError
	if !errors.As(out.Err, &se) || se.Code != codePacketTooLarge {
		t.Errorf("got %v, want error %d", out.Err, codePacketTooLarge)
	}
	s.IgnoreErrors = load.ErrorSet{All: true}
	out = measure(t, open(t, s, Options{MaxPacket: 1024}, dial), load.Plan{Time: 50 * time.Millisecond})
	if out.Err != nil || out.Counts.Errors == 0 || out.Counts.Errors > 100 || out.Counts.Events != 0 {
		t.Errorf("error %v, counts %+v", out.Err, out.Counts)
	}
}

// The server, or who stands before it, forgets prepared statements. It is an error
// as any other; where the user ignores it, they are prepared anew.
func TestUnknownStatement(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		for _, ignored := range []bool{false, true} {
			var prepares, executes atomic.Int64
			dial := serve(t, deprecated, 0, func(_, _ int, command []byte) reply {
				if command[0] == comStmtPrepare {
					prepares.Add(1)
					return reply{bytes: newStream().packet(0, byte(prepares.Load()), 0, 0, 0, 0, 0, 1, 0, 0, 0, 0).definitions(1).Bytes()}
				}
				if executes.Add(1) == 3 {
					return reply{bytes: newStream().err(1243, "HY000", "Unknown prepared statement handler").Bytes()}
				}
				return ok()
			})
			s := load.Settings{Workload: query("DO ?"), Threads: 1, Prepared: true}
			if ignored {
				s.IgnoreErrors = ignore(1243)
			}
			out := measure(t, open(t, s, Options{}, dial), load.Plan{Events: 5})
			var se *load.StatementError
			c := out.Counts
			switch {
			case !ignored && (!errors.As(out.Err, &se) || se.Code != 1243 || prepares.Load() != 1 || c.Errors != 1 || c.Events != 2):
				t.Errorf("not ignored: error %v, %d prepares, counts %+v", out.Err, prepares.Load(), c)
			case ignored && (out.Err != nil || prepares.Load() != 2 || c.Events != 5 || c.Errors != 1 || c.Retries != 1):
				t.Errorf("ignored: error %v, %d prepares, counts %+v", out.Err, prepares.Load(), c)
			}
		}
	})
}

// A connection that is lost while it waits for its time is opened anew when the
// time has come.
func TestLostWhileWaiting(t *testing.T) {
	dial := serve(t, deprecated, 0, func(k, n int, _ []byte) reply {
		r := ok()
		r.close = k == 0 && n == 1
		return r
	})
	s := load.Settings{Workload: query("DO 1"), Threads: 1, Rate: true, IgnoreErrors: ignore(2006, 2013)}
	out := measure(t, open(t, s, Options{}, dial), load.Plan{Time: 400 * time.Millisecond, Rate: 50, Seed: 3})
	c := out.Counts
	if out.Err != nil || c.Reconnects != 1 || c.Errors != 1 || c.Retries != 1 || c.Events < 3 {
		t.Errorf("error %v, counts %+v", out.Err, c)
	}
	s.IgnoreErrors = load.ErrorSet{}
	out = measure(t, open(t, s, Options{}, serve(t, deprecated, 0, func(_, n int, _ []byte) reply {
		r := ok()
		r.close = n == 1
		return r
	})), load.Plan{Time: time.Minute, Rate: 50, Seed: 3})
	var se *load.StatementError
	if !errors.As(out.Err, &se) || !load.LostConnection(se.Code) {
		t.Errorf("got %v, want a lost connection", out.Err)
	}
}

// The server is away for a while: connecting is tried again until it is back.
func TestServerComesBack(t *testing.T) {
	bothWays(t, func(t *testing.T, serve server) {
		var away atomic.Bool
		inner := serve(t, deprecated, 0, func(k, n int, _ []byte) reply {
			if k < 2 && n == 5 {
				away.Store(true)
				return reply{close: true}
			}
			return ok()
		})
		var tries atomic.Int64
		dial := func(ctx context.Context) (Conn, error) {
			if away.Load() && tries.Add(1) < 6 {
				return Conn{}, errors.New("connection refused")
			}
			return inner(ctx)
		}
		s := load.Settings{Workload: query("DO 1"), Threads: 2, IgnoreErrors: ignore(2006, 2013)}
		e := open(t, s, Options{}, dial)
		out := measure(t, e, load.Plan{Events: 100})
		if c := out.Counts; out.Err != nil || c.Reconnects != 2 || c.Errors != 2 || c.Events < 98 || e.Live() != 2 {
			t.Errorf("error %v, %d tries, %d live, counts %+v", out.Err, tries.Load(), e.Live(), c)
		}
	})
}

// A planned reconnect that finds no server ends a phase without a limit of time.
func TestReconnectFindsNoServer(t *testing.T) {
	inner := serve(t, deprecated, 0, func(_, _ int, _ []byte) reply { return ok() })
	var opened atomic.Int64
	dial := func(ctx context.Context) (Conn, error) {
		if opened.Add(1) > 2 {
			return Conn{}, errors.New("connection refused")
		}
		return inner(ctx)
	}
	e := open(t, load.Settings{Workload: query("DO 1"), Threads: 1, Reconnect: 3}, Options{}, dial)
	out := measure(t, e, load.Plan{})
	var se *load.StatementError
	if c := out.Counts; !errors.As(out.Err, &se) || !strings.Contains(se.Message, "refused") || c.Reconnects != 1 || c.Events != 5 {
		t.Errorf("error %v, counts %+v", out.Err, c)
	}
}

func TestUnsupported(t *testing.T) {
	for _, flag := range []uint32{capCompress, capZstd, capOptionalMetadata} {
		dial := serve(t, deprecated|flag, 0, func(_, _ int, _ []byte) reply { return ok() })
		e, err := New(load.Settings{Workload: query("DO 1"), Threads: 2, ConnectParallel: 1}, dial, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Connect(t.Context(), func(int) {}); err == nil || !strings.Contains(err.Error(), "use engine driver") {
			t.Errorf("capabilities %#x: got %v", flag, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Nothing is allocated per event in steady state, prepared or as text.
func TestNoAllocations(t *testing.T) {
	answer := rows(10)
	prepared := newStream().packet(0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0).definitions(1).Bytes()
	dial := serve(t, deprecated, 0, func(_, _ int, command []byte) reply {
		if command[0] == comStmtPrepare {
			return reply{bytes: prepared}
		}
		return reply{bytes: answer}
	})
	for _, ps := range []bool{true, false} {
		e := open(t, load.Settings{Workload: query("SELECT ?"), Threads: 4, Prepared: ps}, Options{}, dial)
		e.Run(load.NewPhase(0, 1000, nil))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e.Run(load.NewPhase(0, 20_000, nil))
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n > 500 {
			t.Errorf("prepared %v: %d allocations in 20,000 events", ps, n)
		}
	}
}

func TestTimers(t *testing.T) {
	var h timers
	for _, at := range []int64{5, 3, 9, 1, 7, 3, 8, 2, 6, 4, 0} {
		h.push(&conn{at: at})
	}
	last := int64(-1)
	for len(h) > 0 {
		c := h.pop()
		if c.at < last {
			t.Fatalf("%d came after %d", c.at, last)
		}
		last = c.at
	}
}

// Where epoll_pwait2 is missing, waits are as fine.
func TestCoarsePoller(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	p.coarse = true
	l := loop{poll: p, event: -1}
	defer l.close()
	if l.event, err = wakeFD(); err != nil {
		t.Fatal(err)
	}
	if err := l.poll.add(l.event, wakeSlot, 0); err != nil {
		t.Fatal(err)
	}
	begin := load.Now()
	for load.Now()-begin < 300_000 {
		if n := l.poll.wait(l.events[:], 300_000-(load.Now()-begin)); n != 0 {
			t.Fatalf("%d events, want none", n)
		}
	}
	l.wake()
	if n := l.poll.wait(l.events[:], -1); n != 1 || l.events[0].Fd != wakeSlot {
		t.Errorf("%d events, want the wake-up", n)
	}
}
