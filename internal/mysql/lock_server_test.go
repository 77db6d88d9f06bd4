package mysql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

func TestLock(t *testing.T) {
	d := door(t, unix(t))
	first, err := mysql.AcquireLock(t.Context(), d, "db", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var said []string
	_, err = mysql.AcquireLock(t.Context(), d, "db", time.Second, func(m string) { said = append(said, m) })
	if bench.CodeOf(err) != bench.ExitBusy || !strings.Contains(err.Error(), "connection ") || !strings.Contains(err.Error(), "localhost") {
		t.Errorf("code %d: %v", bench.CodeOf(err), err)
	}
	released := make(chan error)
	go func() {
		time.Sleep(300 * time.Millisecond)
		released <- first.Release(t.Context())
	}()
	second, err := mysql.AcquireLock(t.Context(), d, "db", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
	if err := first.Err(); err != nil {
		t.Errorf("a released lock is lost: %v", err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLockIsLostWithItsConnection(t *testing.T) {
	d, c := door(t, unix(t)), connect(t, unix(t))
	lock, err := mysql.AcquireLock(t.Context(), d, "db", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	holder, _, err := c.Value(t.Context(), "SELECT IS_USED_LOCK(?)", mysql.LockName)
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, fmt.Sprintf("KILL %s", holder))
	select {
	case <-lock.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody noticed")
	}
	if lock.Err() == nil || lock.Check(t.Context()) == nil {
		t.Error("no reason")
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLockSurvivesTimeout: a short wait_timeout must not end a long cell, and the
// keeper must not show in the counters of the window.
func TestLockSurvivesTimeout(t *testing.T) {
	c := connect(t, unix(t))
	run(t, c, "SET GLOBAL wait_timeout = 2")
	lock, err := mysql.AcquireLock(t.Context(), door(t, unix(t)), "db", 0, nil)
	run(t, c, "SET GLOBAL wait_timeout = DEFAULT")
	if err != nil {
		t.Fatal(err)
	}
	before := quiet(t, c)
	time.Sleep(3500 * time.Millisecond)
	if delta := mysql.StatusDelta(before, status(t, c)); delta["Questions"] != 1 || delta["Com_select"] != 0 {
		t.Errorf("the keeper shows: %d questions, %d selects", delta["Questions"], delta["Com_select"])
	}
	if err := lock.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFacts(t *testing.T) {
	f, err := mysql.ReadFacts(t.Context(), connect(t, unix(t)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Flavour != mysql.FlavourMariaDB || f.Version == "" || f.PerformanceSchema == nil || !*f.PerformanceSchema || f.MaxConnections != 50 ||
		f.MaxAllowedPacket == 0 || f.UptimeS == nil || f.ThreadsConnected == 0 || f.ReadOnly {
		t.Errorf("facts %+v", f)
	}
	for _, name := range []string{"ssl_key", "datadir", "hostname", "init_file"} {
		if _, ok := f.Variables[name]; ok {
			t.Errorf("%s is published", name)
		}
	}
	if f.Variables["innodb_buffer_pool_size"] != "67108864" {
		t.Errorf("variables %v", f.Variables)
	}
}
