package scenario

import (
	"context"
	"os"
	"sync"
	"testing"

	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
)

// shared is the one throwaway server of this package's tests.
var shared struct {
	once   sync.Once
	err    error
	server *localserver.Server
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		_ = shared.server.Stop(context.Background())
	}
	os.Exit(code)
}

// settings lead to the shared server as its administrator. A machine without a
// server program fails the test.
func settings(t *testing.T) mysql.Settings {
	t.Helper()
	shared.once.Do(func() {
		shared.server, shared.err = localserver.Start(context.Background(), localserver.Options{
			Database: "sbtest", BufferPoolBytes: 64 << 20, Args: []string{"--performance-schema=ON"},
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := shared.server
	return mysql.Settings{Socket: s.Socket(), User: s.User(), Password: s.Password()}
}

func newDoor(t *testing.T, s mysql.Settings) *mysql.Door {
	t.Helper()
	d, err := mysql.NewDoor(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func connect(t *testing.T, s mysql.Settings) *mysql.Conn {
	t.Helper()
	c, err := newDoor(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func run(t *testing.T, c *mysql.Conn, stmts ...string) {
	t.Helper()
	for _, stmt := range stmts {
		if _, err := c.Exec(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
}

// value reads one value as an independent observer.
func value(t *testing.T, c *mysql.Conn, query string, args ...any) string {
	t.Helper()
	v, _, err := c.Value(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func find(t *testing.T, name string) Scenario {
	t.Helper()
	s, err := Find(name, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
