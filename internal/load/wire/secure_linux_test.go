package wire

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cellbench/internal/load"
)

// server is serve or its likes.
type server func(t testing.TB, capabilities, mariaDB uint32, s script) Dial

// bothWays runs a test in the clear and over TLS.
func bothWays(t *testing.T, test func(t *testing.T, serve server)) {
	t.Run("clear", func(t *testing.T) { test(t, serve) })
	t.Run("TLS", func(t *testing.T) { test(t, serveTLS) })
}

// socketBelow is a Replaceable over a socket.
type socketBelow struct {
	*net.TCPConn
	instead io.ReadWriter
}

func (s *socketBelow) Replace(rw io.ReadWriter) { s.instead = rw }

func (s *socketBelow) Read(b []byte) (int, error) {
	if s.instead != nil {
		return s.instead.Read(b)
	}
	return s.TCPConn.Read(b)
}

func (s *socketBelow) Write(b []byte) (int, error) {
	if s.instead != nil {
		return s.instead.Write(b)
	}
	return s.TCPConn.Write(b)
}

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// serveTLS is serve over TLS.
func serveTLS(t testing.TB, capabilities, mariaDB uint32, s script) Dial {
	inner := serveOver(t, capabilities, mariaDB, s, func(c net.Conn) net.Conn {
		return tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate()}})
	})
	return client(inner)
}

// client puts TLS over the connections of dial.
func client(dial Dial) Dial {
	return func(ctx context.Context) (Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return c, err
		}
		secure := tls.Client(&socketBelow{TCPConn: c.Net.(*net.TCPConn)}, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // both ends are here
		c.Net = secure
		return c, secure.HandshakeContext(ctx)
	}
}

// TLS over a socket that cannot be taken from below it is refused.
func TestSecureUnsupported(t *testing.T) {
	inner := serveTLS(t, deprecated, 0, func(_, _ int, _ []byte) reply { return ok() })
	dial := func(ctx context.Context) (Conn, error) {
		c, err := inner(ctx)
		if err == nil {
			c.Net = tls.Client(c.Net.(*tls.Conn).NetConn().(*socketBelow).TCPConn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // both ends are here
		}
		return c, err
	}
	e, err := New(load.Settings{Workload: query("DO 1"), Threads: 1, ConnectParallel: 1}, dial, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if err := e.Connect(t.Context(), func(int) {}); err == nil || !strings.Contains(err.Error(), "use engine driver") {
		t.Errorf("got %v", err)
	}
}

// Bytes on the socket that are no records of TLS end the connection.
func TestSecureGarbage(t *testing.T) {
	for name, garbage := range map[string][]byte{
		"no TLS":        []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"broken record": {23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
	} {
		var socket net.Conn
		dial := serveOver(t, deprecated, 0, func(_, n int, _ []byte) reply {
			if n == 2 {
				_, _ = socket.Write(garbage)
			}
			return ok()
		}, func(c net.Conn) net.Conn {
			socket = c
			return tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate()}})
		})
		e := open(t, load.Settings{Workload: query("DO 1"), Threads: 1}, Options{}, client(dial))
		out := measure(t, e, load.Plan{Time: time.Minute})
		var se *load.StatementError
		if !errors.As(out.Err, &se) || se.Code != codeLost || !strings.Contains(se.Message, "tls: ") || e.Live() != 0 {
			t.Errorf("%s: got %v, want error %d of TLS", name, out.Err, codeLost)
		}
	}
}

// In steady state TLS allocates next to nothing: crypto/tls itself does, some
// bytes for each read.
func TestSecureAllocations(t *testing.T) {
	answer := rows(10)
	dial := serveTLS(t, deprecated, 0, func(_, _ int, _ []byte) reply { return reply{bytes: answer} })
	e := open(t, load.Settings{Workload: query("SELECT 1"), Threads: 4}, Options{}, dial)
	e.Run(load.NewPhase(0, 1000, nil))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e.Run(load.NewPhase(0, 20_000, nil))
	runtime.ReadMemStats(&after)
	// Half of them is the server's, which is crypto/tls too.
	t.Logf("%d allocations, %d bytes per event", (after.Mallocs-before.Mallocs)/20_000, (after.TotalAlloc-before.TotalAlloc)/20_000)
}

// fed is a connection that can be cut off its socket: then it reads what it is
// fed and keeps what is written, as a loop would have it.
type fed struct {
	net.Conn
	cut     bool
	in, out bytes.Buffer
}

func (f *fed) Read(b []byte) (int, error) {
	if !f.cut {
		return f.Conn.Read(b)
	}
	if f.in.Len() == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return f.in.Read(b)
}

func (f *fed) Write(b []byte) (int, error) {
	if !f.cut {
		return f.Conn.Write(b)
	}
	return f.out.Write(b)
}

// tlsPair returns both ends of a TLS connection that were cut off their pipe.
func tlsPair(t testing.TB) (client, server *tls.Conn, near, far *fed) {
	t.Helper()
	a, b := net.Pipe()
	near, far = &fed{Conn: a}, &fed{Conn: b}
	client = tls.Client(near, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // both ends are here
	server = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{certificate()}, SessionTicketsDisabled: true})
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	near.cut, far.cut = true, true
	return client, server, near, far
}

// exchangeRecords sends a point select's bytes one way and its answer's the other.
func exchangeRecords(t testing.TB, client, server *tls.Conn, near, far *fed, out, in []byte) {
	t.Helper()
	for _, way := range []struct {
		from, to *tls.Conn
		a, b     *fed
		data     []byte
	}{{client, server, near, far, out}, {server, client, far, near, in}} {
		if _, err := way.from.Write(way.data); err != nil {
			t.Fatal(err)
		}
		way.b.in.Write(way.a.out.Bytes())
		way.a.out.Reset()
		if _, err := io.ReadFull(way.to, way.data); err != nil {
			t.Fatal(err)
		}
	}
}

// A read without data leaves a TLS connection usable, even within a record: the
// loop's TLS rests on it.
func TestTLSReadCanWait(t *testing.T) {
	client, server, near, far := tlsPair(t)
	b := make([]byte, 100)
	if _, err := server.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	record := bytes.Clone(far.out.Bytes())
	far.out.Reset()
	for i := range record {
		if n, err := client.Read(b); err == nil {
			t.Fatalf("after %d bytes: %d read", i, n)
		}
		near.in.WriteByte(record[i])
	}
	if n, err := client.Read(b); err != nil || string(b[:n]) != "hello" {
		t.Fatalf("got %q, %v", b[:n], err)
	}
	exchangeRecords(t, client, server, near, far, make([]byte, 30), make([]byte, 220))
}

// BenchmarkTLSRecords measures what TLS adds to a point select at both ends: a
// record of 30 bytes and one of 220, each sealed and opened once, without system
// calls. The client's part is half of it.
func BenchmarkTLSRecords(b *testing.B) {
	client, server, near, far := tlsPair(b)
	out, in := make([]byte, 30), make([]byte, 220)
	b.ReportAllocs()
	for b.Loop() {
		exchangeRecords(b, client, server, near, far, out, in)
	}
}
