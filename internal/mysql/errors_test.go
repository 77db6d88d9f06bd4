package mysql

import (
	"net"
	"testing"

	"cellbench/internal/bench"
)

// TestErrorCodeOfNoGreeting: a proxy that accepts and closes, because no server is
// behind it, is a lost connection like any other.
func TestErrorCodeOfNoGreeting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	d, err := NewDoor(Settings{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.DriverConn(t.Context())
	if code, state, _ := ErrorCode(err); code != 2013 || state != "08S01" || bench.CodeOf(err) != bench.ExitUnreachable {
		t.Errorf("code %d, state %q, exit code %d of %v; want 2013, 08S01, 71", code, state, bench.CodeOf(err), err)
	}
}
