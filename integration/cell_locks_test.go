package integration

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// TestTargetIsLocked runs cells against one server at the same time: one of them
// at once, another gives up, a third waits.
func TestTargetIsLocked(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		first := startTask(t, base(srv, srv.Database(t), "BENCH_EVENTS=0", "BENCH_TIME=4"))
		intervals(first, 1)
		waiting := startTask(t, base(srv, srv.Database(t)))
		impatient := startTask(t, base(srv, srv.Database(t), "BENCH_LOCK_TIMEOUT=1")).Wait()
		impatient.Want(t, bench.ExitBusy)
		if lines := complaints(impatient.Stderr); len(lines) != 1 || !strings.Contains(lines[0], "another cell") {
			t.Errorf("complaints %q, want one line that names the holder", lines)
		}
		if r := impatient.Result(t); r.Status != bench.StatusFailed || r.Counts != nil {
			t.Errorf("status %s, counts %v; want failed without numbers", r.Status, r.Counts)
		}
		a := first.Wait().Want(t, bench.ExitOK).Result(t)
		b := waiting.Wait().Want(t, bench.ExitOK).Result(t)
		if b.Window.Start.Before(a.Window.End) {
			t.Errorf("two windows at once: %s to %s, and from %s", a.Window.Start, a.Window.End, b.Window.Start)
		}
		if b.Counts.Events != 100 {
			t.Errorf("%d events of the one that waited, want 100", b.Counts.Events)
		}
	})
}

// lockRows takes the locks of all rows of a table until release is called.
func lockRows(t *testing.T, srv *server, db, table string) (release func()) {
	t.Helper()
	handle := srv.Open(t, db)
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.QueryContext(t.Context(), "SELECT id FROM "+table+" FOR UPDATE")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		_ = rows.Scan(new(sql.RawBytes))
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback()
		_ = handle.Close()
	}
}

// TestLockWaits has the rows locked for a part of the window: the server's 1205 is
// counted by its code, the events are begun anew and finish when they can, and no
// retry begins after the end.
func TestLockWaits(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		for _, engine := range []string{"wire", "driver"} {
			t.Run(engine, func(t *testing.T) {
				db := srv.Database(t)
				env := base(srv, db, "BENCH_TABLES=1", "BENCH_TABLE_SIZE=50", "BENCH_WORKLOAD=oltp_update_index", "BENCH_THREADS=2", "BENCH_EVENTS=0",
					"BENCH_TIME=4", "BENCH_ENGINE="+engine, "BENCH_SESSION_SQL=SET innodb_lock_wait_timeout = 1", "BENCH_DRAIN_TIMEOUT=5")
				runTask(t, env, "prepare").Want(t, bench.ExitOK)
				release := lockRows(t, srv, db, "sbtest1")
				defer release()
				p := startTask(t, env)
				intervals(p, 2) // each of the two has waited a whole second in vain
				release()
				r := p.Wait().Want(t, bench.ExitOK).Result(t)
				if r.Status != bench.StatusOK || r.Counts.Events == 0 {
					t.Errorf("status %s (%s), %d events; want ok", r.Status, because(r), r.Counts.Events)
				}
				if len(r.Errors) != 1 || r.Errors[0].Code != 1205 || r.Errors[0].SQLState != "HY000" || !strings.Contains(r.Errors[0].FirstMessage, "Lock wait timeout exceeded") {
					t.Fatalf("errors %+v, want 1205 only", r.Errors)
				}
				if n := r.Errors[0].Count; n < 2 || r.Counts.Retries != n {
					t.Errorf("%d errors and %d retries, want at least 2 and as many", n, r.Counts.Retries)
				}
				if max := r.Latency.Event.MaxMS; max < 1000 {
					t.Errorf("longest event %.0f ms; one that was begun anew counts from its first begin", max)
				}

				release = lockRows(t, srv, db, "sbtest1")
				defer release()
				all := startTask(t, append(env, "BENCH_TIME=2")).Wait().Want(t, bench.ExitOK).Result(t)
				if all.Status != bench.StatusInvalid || all.Counts.Events != 0 || all.Window.ElapsedS > 3 {
					t.Errorf("status %s, %d events in %.1f s while all rows were locked; want invalid, 0 in 2 s", all.Status, all.Counts.Events, all.Window.ElapsedS)
				}
			})
		}
	})
}

// TestErrorsThatEndTheLoad has a trigger refuse every hundredth update of a
// connection with an error that is not to be ignored: the result keeps all numbers
// up to then, and says why it must not be used. Told to ignore it, the load goes on.
// A load whose very first event is refused is another matter: it has no numbers.
func TestErrorsThatEndTheLoad(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		env := base(srv, db, "BENCH_WORKLOAD=oltp_update_index", "BENCH_TABLES=1", "BENCH_EVENTS=2000", "BENCH_THREADS=2")
		runTask(t, env, "prepare").Want(t, bench.ExitOK)
		srv.Exec(t, db, `CREATE TRIGGER refuse BEFORE UPDATE ON sbtest1 FOR EACH ROW
			BEGIN
				SET @updates = COALESCE(@updates, 0) + 1;
				IF @updates % 100 = 0 THEN SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = 'Duplicate entry of the test'; END IF;
			END`)
		for _, engine := range []string{"wire", "driver"} {
			t.Run(engine, func(t *testing.T) {
				env := append(env, "BENCH_ENGINE="+engine)
				run := runTask(t, env).Want(t, bench.ExitOK)
				r := run.Result(t)
				if r.Status != bench.StatusInvalid || !strings.Contains(because(r), "1062") || !strings.Contains(because(r), "UPDATE sbtest1 SET k=k+1") {
					t.Errorf("status %s (%s), want invalid because of 1062 and its statement", r.Status, because(r))
				}
				if len(r.Errors) != 1 || r.Errors[0].Code != 1062 || r.Errors[0].SQLState != "23000" || r.Errors[0].FirstMessage != "Duplicate entry of the test" {
					t.Errorf("errors %+v", r.Errors)
				}
				if c := r.Counts; c.Events < 99 || c.Events > 198 || c.Events != c.Writes || r.Latency.Event.Count != c.Events || r.Server.StatusDelta["Com_update"] < c.Events {
					t.Errorf("counts %+v, Com_update %d: want all up to the error", *c, r.Server.StatusDelta["Com_update"])
				}
				if stored := storedResults(t, run.Dir+"/results"); len(stored) != 1 {
					t.Errorf("%d stored results, want 1", len(stored))
				}
				ignored := runTask(t, append(env, "BENCH_MYSQL_IGNORE_ERRORS=1062")).Want(t, bench.ExitOK).Result(t)
				if c := ignored.Counts; ignored.Status != bench.StatusOK || c.Events != 2000 || c.Errors == 0 || c.Retries != c.Errors {
					t.Errorf("status %s, counts %+v; want ok, 2000 events and as many retries as errors", ignored.Status, *c)
				}
			})
		}
	})
}

// TestRate sends events on a schedule.
func TestRate(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		for _, engine := range []string{"wire", "driver"} {
			r := runTask(t, base(srv, db, "BENCH_WORKLOAD=oltp_point_select", "BENCH_EVENTS=0", "BENCH_TIME=3", "BENCH_RATE=100", "BENCH_THREADS=4", "BENCH_ENGINE="+engine)).
				Want(t, bench.ExitOK).Result(t)
			// 300 events of a Poisson process: six standard deviations are a third of it.
			if tps := r.Throughput.TPS; tps < 65 || tps > 135 {
				t.Errorf("%s: %.1f events/s, asked for 100", engine, tps)
			}
			if r.Latency.Service == nil || r.Latency.Service.Count != r.Latency.Event.Count {
				t.Errorf("%s: no service time beside the response time", engine)
			}
			if r.Intervals[0].Backlog == nil {
				t.Errorf("%s: no backlog in the intervals", engine)
			}
		}
	})
}

// intervals waits until a task has told of n report intervals, one a second.
func intervals(p *taskProcess, n int) {
	p.t.Helper()
	for told := 0; told < n; told = strings.Count(p.Stderr(), "s] threads ") {
		select {
		case <-p.done:
			p.t.Fatalf("task ended (exit %d) after %d intervals; stderr:\n%s", p.run.Code, told, p.run.Stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// within fails the test if a task took longer than it may, whatever the machine does.
func within(t *testing.T, run taskRun, limit time.Duration) {
	t.Helper()
	if run.Elapsed > limit {
		t.Errorf("the task took %s, want less than %s; stderr:\n%s", run.Elapsed, limit, run.Stderr)
	}
}
