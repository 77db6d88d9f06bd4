package mysql_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

func TestConn(t *testing.T) {
	c := connect(t, tcp(t))
	text, null, err := c.Value(t.Context(), "SELECT CONNECTION_ID()")
	if err != nil || null || text == "0" {
		t.Fatalf("connection id = %q, %v, %v", text, null, err)
	}
	rows, err := c.Query(t.Context(), "SELECT 1 AS a, NULL AS b, ? AS c, 1.5e0 AS d, CAST(0.1 AS FLOAT) AS e", "it's")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range rows.Rows[0] {
		got = append(got, v.String)
	}
	if s := strings.Join(got, "|"); s != "1||it's|1.5|0.1" || rows.Rows[0][1].Valid {
		t.Errorf("row = %s", s)
	}
	run(t, c, "CREATE TEMPORARY TABLE t (a INT)")
	n, err := c.Exec(t.Context(), "INSERT INTO t VALUES (?), (?)", 1, 2)
	if err != nil || n != 2 {
		t.Errorf("inserted %d rows, %v", n, err)
	}
	if _, _, err = c.Value(t.Context(), "SELECT nothing"); err == nil {
		t.Error("no error for an unknown column")
	}
	if code, state, _ := mysql.ErrorCode(err); code != 1054 || state != "42S22" {
		t.Errorf("code %d, state %s", code, state)
	}
}

func TestConnectErrors(t *testing.T) {
	base := tcp(t)
	closed := listen(t, func(net.Conn) {})
	with := func(change func(*mysql.Settings)) mysql.Settings {
		s := base
		change(&s)
		return s
	}
	other := func(port int) mysql.Settings {
		return mysql.Settings{Host: "127.0.0.1", Port: port, User: "u", ConnectTimeout: 300 * time.Millisecond}
	}
	ca := filepath.Join(shared.dir, "ca.pem")
	for _, tc := range []struct {
		name string
		s    mysql.Settings
		code bench.ExitCode
		text string
	}{
		{"wrong password", with(func(s *mysql.Settings) { s.Password = "canary" }), bench.ExitConfig, "BENCH_MYSQL_PASSWORD"},
		{"unknown user", with(func(s *mysql.Settings) { s.User = "nobody" }), bench.ExitConfig, "BENCH_MYSQL_USER"},
		{"no such database", with(func(s *mysql.Settings) { s.DB = "nowhere" }), bench.ExitConfig, "BENCH_MYSQL_DB"},
		{"no right on the database", account(t, base, "bare", ""), bench.ExitUnsafe, "grants.sql"},
		{"TLS demanded of the account", account(t, base, "tls", "REQUIRE SSL", "ALL ON sbtest.*"), bench.ExitConfig, "demands TLS"},
		{"certificate not trusted", with(func(s *mysql.Settings) { s.TLS = mysql.TLSVerifyCA }), bench.ExitConfig, "BENCH_MYSQL_TLS_CA"},
		{"certificate of another name", with(func(s *mysql.Settings) { s.TLS, s.TLSCA = mysql.TLSVerifyIdentity, ca }), bench.ExitConfig, "verify-ca"},
		{"unknown host", mysql.Settings{Host: "db.invalid", User: "u"}, bench.ExitConfig, "unknown host"},
		{"no socket", mysql.Settings{Socket: "/nowhere/mysqld.sock", User: "u"}, bench.ExitUnreachable, "no server has made this socket"},
		{"closed at once", other(closed), bench.ExitUnreachable, "no MySQL greeting"},
		{"silent", other(listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })), bench.ExitUnreachable, "no MySQL greeting"},
		{"SSH", other(listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })), bench.ExitConfig, "not a MySQL server"},
		{"full", other(listen(t, refuse(1040, "Too many connections"))), bench.ExitUnreachable, "max_connections"},
		{"blocked", other(listen(t, refuse(1129, "Host is blocked"))), bench.ExitUnsafe, "FLUSH HOSTS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for kind, open := range openers(door(t, tc.s)) {
				closer, err := open(t.Context())
				if err == nil {
					_ = closer.Close()
					t.Fatalf("%s: connected", kind)
				}
				if got := bench.CodeOf(err); got != tc.code || !strings.Contains(err.Error(), tc.text) {
					t.Errorf("%s: code %d, want %d with %q: %v", kind, got, tc.code, tc.text, err)
				}
				if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: more than one line, or a secret: %q", kind, err)
				}
			}
		})
	}
	t.Run("port closed", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if _, err := door(t, other(port)).Conn(t.Context()); bench.CodeOf(err) != bench.ExitUnreachable || !strings.Contains(err.Error(), "no server listens") {
			t.Errorf("got %v", err)
		}
	})
}

// openers are the three ways to connect, which must fail alike.
func openers(d *mysql.Door) map[string]func(context.Context) (io.Closer, error) {
	return map[string]func(context.Context) (io.Closer, error){
		"control": func(ctx context.Context) (io.Closer, error) { return d.Conn(ctx) },
		"driver": func(ctx context.Context) (io.Closer, error) {
			c, _, err := d.DriverConn(ctx)
			return c, err
		},
		"raw": func(ctx context.Context) (io.Closer, error) {
			r, err := d.RawConn(ctx)
			if err != nil {
				return nil, err
			}
			return r.Conn, nil
		},
	}
}

// refuse answers with an error packet in place of a greeting.
func refuse(code uint16, message string) func(net.Conn) {
	payload := append([]byte{0xff}, binary.LittleEndian.AppendUint16(nil, code)...)
	payload = append(payload, message...)
	return func(c net.Conn) { _, _ = c.Write(append([]byte{byte(len(payload)), 0, 0, 0}, payload...)) }
}

func TestInterruptedConnect(t *testing.T) {
	port := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	d := door(t, mysql.Settings{Host: "127.0.0.1", Port: port, User: "u"})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := d.RawConn(ctx); bench.CodeOf(err) != bench.ExitInterrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRawConn speaks the protocol by hand on sockets that the driver has left.
func TestRawConn(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    mysql.Settings
		tls  bool
	}{
		{"tcp", tcp(t), false},
		{"unix", unix(t), false},
		{"preferred on unix", withTLS(unix(t), mysql.TLSPreferred), false},
		{"preferred on tcp", withTLS(tcp(t), mysql.TLSPreferred), true},
		{"required on tcp", withTLS(tcp(t), mysql.TLSRequired), true},
		{"verify-ca on tcp", withTLS(tcp(t), mysql.TLSVerifyCA), true},
		{"required on unix", withTLS(unix(t), mysql.TLSRequired), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := door(t, tc.s)
			raw, err := d.RawConn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Conn.Close()
			if raw.TLS != tc.tls || (d.TLS() != "") != tc.tls {
				t.Errorf("TLS = %v (%s), want %v", raw.TLS, d.TLS(), tc.tls)
			}
			// The watcher goroutine of the driver closes nothing after this.
			runtime.GC()
			for range 3 {
				if first := command(t, raw.Conn, "\x0e"); first != 0 { // COM_PING
					t.Fatalf("ping answered with %#x", first)
				}
			}
			c := connect(t, unix(t))
			host, null, err := c.Value(t.Context(), "SELECT db FROM information_schema.processlist WHERE id = ?", int64(raw.ConnectionID))
			if err != nil || null || host != "sbtest" {
				t.Errorf("connection %d has database %q, %v, %v", raw.ConnectionID, host, null, err)
			}
			if raw.ServerVersion == "" || raw.Capabilities&(1<<9) == 0 || raw.Capabilities&(1<<3) == 0 {
				t.Errorf("version %q, capabilities %#x", raw.ServerVersion, raw.Capabilities)
			}
		})
	}
}

// TestRawConnSendsNothing counts the server's commands: a connection that only
// was opened has sent none.
func TestRawConnSendsNothing(t *testing.T) {
	c := connect(t, unix(t))
	d := door(t, tcp(t))
	before := quiet(t, c)
	const n = 5
	for range n {
		raw, err := d.RawConn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Conn.Close()
	}
	delta := mysql.StatusDelta(before, status(t, c))
	if delta["Connections"] != n || delta["Questions"] != 1 || delta["Com_select"]+delta["Com_set_option"] != 0 || delta["Aborted_clients"] != 0 {
		t.Errorf("delta %v", delta)
	}
}

// TestNoGoroutineLeft opens and closes all kinds of connections.
func TestNoGoroutineLeft(t *testing.T) {
	s := withTLS(tcp(t), mysql.TLSRequired)
	before := runtime.NumGoroutine()
	for range 5 {
		for kind, open := range openers(door(t, s)) {
			c, err := open(t.Context())
			if err != nil {
				t.Fatal(kind, err)
			}
			if kind == "raw" {
				defer c.Close() // still open when the goroutines are counted
				continue
			}
			_ = c.Close()
		}
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		stack := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before:\n%s", now, before, stack[:runtime.Stack(stack, true)])
	}
}

func TestDriverConn(t *testing.T) {
	s := tcp(t)
	s = mysql.Settings{DSN: s.User + ":" + s.Password + "@tcp(127.0.0.1:" + port(t) + ")/sbtest?charset=utf8mb4&parseTime=true&sql_mode=%27ANSI%27"}
	conn, sock, err := door(t, s).DriverConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, ok := sock.(*net.TCPConn); !ok {
		t.Errorf("socket is a %T", sock)
	}
	if _, err := conn.(driver.QueryerContext).QueryContext(t.Context(), "SELECT ?", []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}); !errors.Is(err, driver.ErrSkip) {
		t.Errorf("arguments are interpolated: %v", err)
	}
	rows, err := conn.(driver.QueryerContext).QueryContext(t.Context(), "SELECT @@sql_mode", nil)
	if err != nil {
		t.Fatal(err)
	}
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil || !strings.Contains(string(dest[0].([]byte)), "ANSI_QUOTES") {
		t.Errorf("sql_mode = %s, %v", dest[0], err)
	}
	_ = rows.Close()
	// A deadline on the socket ends a statement that hangs.
	_ = sock.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := conn.(driver.ExecerContext).ExecContext(context.Background(), "DO SLEEP(5)", nil); err == nil || !mysql.IsLost(err) {
		t.Errorf("no lost connection: %v", err)
	}
}

func TestWait(t *testing.T) {
	s := tcp(t)
	if err := door(t, s).Wait(t.Context(), time.Second, nil); err != nil {
		t.Fatal(err)
	}
	var said []string
	gone := mysql.Settings{Socket: filepath.Join(t.TempDir(), "no.sock"), User: "u"}
	err := door(t, gone).Wait(t.Context(), 300*time.Millisecond, func(m string) { said = append(said, m) })
	if bench.CodeOf(err) != bench.ExitUnreachable || len(said) == 0 || !strings.Contains(said[0], "waiting for the server") {
		t.Errorf("%v, said %q", err, said)
	}
	s.Password = "wrong"
	start := time.Now()
	if err := door(t, s).Wait(t.Context(), time.Minute, nil); bench.CodeOf(err) != bench.ExitConfig || time.Since(start) > 30*time.Second {
		t.Errorf("a wrong password was waited for: %v", err)
	}
}

func withTLS(s mysql.Settings, mode string) mysql.Settings {
	s.TLS = mode
	if mode == mysql.TLSVerifyCA {
		s.TLSCA = filepath.Join(shared.dir, "ca.pem")
	}
	return s
}

// command sends one command packet and returns the first byte of the answer.
func command(t *testing.T, c net.Conn, payload string) byte {
	t.Helper()
	if _, err := c.Write(append([]byte{byte(len(payload)), 0, 0, 0}, payload...)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	head := make([]byte, 5)
	if _, err := io.ReadFull(c, head); err != nil {
		t.Fatal(err)
	}
	if head[3] != 1 {
		t.Errorf("sequence number %d, want 1", head[3])
	}
	if _, err := io.ReadFull(c, bytes.Repeat([]byte{0}, int(head[0])-1)); err != nil {
		t.Fatal(err)
	}
	return head[4]
}

func status(t *testing.T, c *mysql.Conn) map[string]int64 {
	t.Helper()
	s, err := mysql.ReadStatus(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet waits until connections closed by earlier tests have said good-bye, which
// the server counts as questions, and returns the last reading.
func quiet(t *testing.T, c *mysql.Conn) map[string]int64 {
	t.Helper()
	last := status(t, c)
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		now := status(t, c)
		if now["Questions"]-last["Questions"] == 1 {
			return now
		}
		last = now
	}
	t.Fatal("the server does not come to rest")
	return nil
}
