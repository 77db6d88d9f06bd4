package loadtest

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cellbench/internal/load"
	"cellbench/internal/mysql"
	"cellbench/internal/workload"
)

// NewEngine makes the engine under test, with connections from d.
type NewEngine func(t *testing.T, s load.Settings, d *mysql.Door) load.Engine

// suite is one engine on one server.
type suite struct {
	server Server
	make   NewEngine
}

// Run runs the suite for one engine on one server.
func Run(t *testing.T, server Server, newEngine NewEngine) {
	s := suite{server, newEngine}
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"counts", s.counts},
		{"statement that cannot be prepared", s.unpreparable},
		{"results", s.results},
		{"large packets", s.large},
		{"fatal error", s.fatal},
		{"fatal error of preparing", s.fatalPrepare},
		{"ignored error", s.ignored},
		{"lost connections", s.lost},
		{"lost connection is fatal", s.lostFatal},
		{"killed query", s.killedQuery},
		{"rate", s.rate},
		{"deadline", s.deadline},
		{"kill", s.kill},
		{"reconnect", s.reconnect},
		{"finisher", s.finisher},
		{"session statements", s.session},
		{"session statement that fails", s.sessionFails},
		{"event without statements", s.empty},
		{"connection that cannot be opened", s.refused},
		{"two phases", s.phases},
	} {
		t.Run(c.name, c.test)
	}
}

// RunProtocol runs those parts of the suite that depend on the capabilities
// negotiated on a connection.
func RunProtocol(t *testing.T, server Server, newEngine NewEngine) {
	s := suite{server, newEngine}
	t.Run("counts", s.counts)
	t.Run("results", s.results)
	t.Run("ignored error", s.ignored)
	t.Run("state changes", s.stateChanges)
}

// settings are the usual ones for w.
func settings(w workload.Workload, threads int) load.Settings {
	return load.Settings{
		Workload: w, Threads: threads, Prepared: true, ErrorCode: mysql.ErrorCode,
		ConnectParallel: 4, ConnectTimeout: 10 * time.Second,
	}
}

// open makes the engine and connects it; the test's end closes it and looks for
// what it left behind.
func (s suite) open(t *testing.T, set load.Settings) load.Engine {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	e := s.make(t, set, s.server.Door(t))
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		leftovers(t, goroutines, files)
	})
	var opened atomic.Int64 // progress may be told by several goroutines
	if err := e.Connect(t.Context(), func(n int) {
		for old := opened.Load(); old < int64(n) && !opened.CompareAndSwap(old, int64(n)); old = opened.Load() {
		}
	}); err != nil {
		t.Fatal(err)
	}
	if e.Live() != set.Threads || opened.Load() != int64(set.Threads) || len(e.ConnectionIDs()) != set.Threads {
		t.Fatalf("%d connections live, %d told, %d ids; want %d", e.Live(), opened.Load(), len(e.ConnectionIDs()), set.Threads)
	}
	return e
}

// leftovers fails the test when goroutines or descriptors are left.
func leftovers(t *testing.T, goroutines, files int) {
	t.Helper()
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		g, f := runtime.NumGoroutine(), openFiles()
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(until) {
			t.Errorf("%d goroutines and %d descriptors after, %d and %d before", g, f, goroutines, files)
			return
		}
	}
}

func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// measure runs one window and checks what holds for every outcome.
func measure(t *testing.T, e load.Engine, plan load.Plan) *load.Outcome {
	t.Helper()
	if plan.Time == 0 {
		plan.Time = time.Minute
	}
	if plan.Drain == 0 {
		plan.Drain = 20 * time.Second
	}
	out := load.Measure(context.Background(), e, plan, load.Hooks{})
	var kinds int64
	for _, k := range out.Kinds {
		kinds += k.Count()
	}
	if c := out.Counts; out.Event.Count() != c.Events || kinds != c.Queries() {
		t.Errorf("%d events and %d statements in the histograms, counted %d and %d", out.Event.Count(), kinds, c.Events, c.Queries())
	}
	return out
}

// want compares counts, leaving out those that depend on the server's timing
// and the bytes, which the portable engine does not see.
func want(t *testing.T, got, want load.Counts) {
	t.Helper()
	got.RowBytes = 0
	if got != want {
		t.Errorf("counts\n got %+v\nwant %+v", got, want)
	}
}

func noError(t *testing.T, out *load.Outcome) {
	t.Helper()
	if out.Err != nil {
		t.Fatalf("measure: %v", out.Err)
	}
	for _, e := range out.Errors {
		t.Errorf("error %d (%s) %d times: %s", e.Code, e.SQLState, e.Count, e.FirstMessage)
	}
}

// statementError returns the error that ended the phase.
func statementError(t *testing.T, out *load.Outcome) *load.StatementError {
	t.Helper()
	var e *load.StatementError
	if !errors.As(out.Err, &e) {
		t.Fatalf("the phase ended with %v, want a StatementError", out.Err)
	}
	return e
}

// do runs statements on a control connection.
func do(t *testing.T, c *mysql.Conn, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

func value(t *testing.T, c *mysql.Conn, query string) string {
	t.Helper()
	v, _, err := c.Value(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// lostCodes are the errors by which a killed connection may be noticed.
func lostCodes() load.ErrorSet {
	return load.ErrorSet{Codes: map[int]bool{2006: true, 2013: true, 1927: true, 1053: true, 4031: true, 3169: true, 1317: true}}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not contain %q", text, p)
		}
	}
}
