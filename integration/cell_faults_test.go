package integration

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// pause freezes a container, and lets it go on when resume is called.
func (s *server) pause(t *testing.T) (resume func()) {
	t.Helper()
	id := s.Container.GetContainerID()
	if out, err := exec.CommandContext(t.Context(), "docker", "pause", id).CombinedOutput(); err != nil {
		t.Fatalf("docker pause: %v: %s", err, out)
	}
	paused := true
	resume = func() {
		if !paused {
			return
		}
		paused = false
		if out, err := exec.Command("docker", "unpause", id).CombinedOutput(); err != nil {
			t.Errorf("docker unpause: %v: %s", err, out)
		}
	}
	t.Cleanup(resume)
	return resume
}

// beside is for cells that run at the same time on one server of the test's own.
func beside(srv *server, db string, env ...string) []string {
	return base(srv, db, slices.Concat([]string{"BENCH_LOCK_TIMEOUT=off", "BENCH_EVENTS=0", "BENCH_THREADS=4", "BENCH_DRAIN_TIMEOUT=2"}, env)...)
}

// TestServerStalls freezes a server for a moment, then for good, then kills it.
func TestServerStalls(t *testing.T) {
	t.Parallel()
	for _, flavour := range []flavour{mysqlFlavour, mariadbFlavour} {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, flavour)
			db := srv.Database(t)
			runTask(t, base(srv, db), "prepare").Want(t, bench.ExitOK)
			t.Run("stall in rate mode", func(t *testing.T) { stallInRateMode(t, srv, db) })
			t.Run("frozen", func(t *testing.T) { frozen(t, srv, db) })
			t.Run("killed", func(t *testing.T) { killed(t, srv, db) })
		})
	}
}

// each starts the same cell by both engines at once.
func each(t *testing.T, srv *server, db string, env ...string) map[string]*taskProcess {
	t.Helper()
	tasks := map[string]*taskProcess{}
	for _, engine := range []string{"wire", "driver"} {
		tasks[engine] = startTask(t, beside(srv, db, append([]string{"BENCH_ENGINE=" + engine}, env...)...))
	}
	return tasks
}

// stallInRateMode freezes the server for a second. Everything that was due in it
// was late, and the latency from the intended start says so; the service time, of
// the few that were sent, hides it.
func stallInRateMode(t *testing.T, srv *server, db string) {
	tasks := each(t, srv, db, "BENCH_WORKLOAD=oltp_point_select", "BENCH_TIME=5", "BENCH_RATE=100")
	for _, p := range tasks {
		intervals(p, 1)
	}
	resume := srv.pause(t)
	time.Sleep(time.Second)
	resume()
	for engine, p := range tasks {
		r := p.Wait().Want(t, bench.ExitOK).Result(t)
		event, service := r.Latency.Event, r.Latency.Service
		if event.Percentiles["95"] < 300 || event.Percentiles["99"] < 500 {
			t.Errorf("%s: response time p95 %.0f ms, p99 %.0f ms; a fifth of the events was due in a stall of a second", engine, event.Percentiles["95"], event.Percentiles["99"])
		}
		if service.Percentiles["50"] >= event.Percentiles["95"] || service.MaxMS < 900 {
			t.Errorf("%s: service time p50 %.1f ms, max %.1f ms", engine, service.Percentiles["50"], service.MaxMS)
		}
		if tps := r.Throughput.TPS; tps < 65 {
			t.Errorf("%s: %.1f events/s; what was late is made up for", engine, tps)
		}
	}
}

// frozen stops the server in the window and lets nobody go on: the window closes on
// time, what hangs is broken off, and the intervals tell when the server stopped.
func frozen(t *testing.T, srv *server, db string) {
	tasks := each(t, srv, db, "BENCH_TIME=4")
	for _, p := range tasks {
		intervals(p, 1)
	}
	resume := srv.pause(t)
	defer resume()
	for engine, p := range tasks {
		run := p.Wait()
		within(t, run, 75*time.Second)
		r := run.Result(t)
		t.Logf("%s: exit %d after %s, %s: %s; %v", engine, run.Code, run.Elapsed, r.Status, because(r), r.Warnings)
		if r.Status != bench.StatusInvalid || run.Code != bench.ExitUnreachable {
			t.Errorf("%s: status %s (%s), exit %d; want invalid, 71", engine, r.Status, because(r), run.Code)
		}
		if r.Window == nil || r.Window.ElapsedS > 6 || r.Counts.Events == 0 {
			t.Fatalf("%s: window %+v, counts %+v; want about 4 s with what was done in the first", engine, r.Window, r.Counts)
		}
		last := r.Intervals[len(r.Intervals)-1]
		if last.Queries != 0 || last.P95MS != nil {
			t.Errorf("%s: %d queries in the last interval, p95 %v, though the server stood still", engine, last.Queries, last.P95MS)
		}
		if r.Window.Unfinished == 0 {
			t.Errorf("%s: no unfinished events, though four connections hung", engine)
		}
		if stored := storedResults(t, run.Dir+"/results"); len(stored) != 1 {
			t.Errorf("%s: %d stored results, want 1", engine, len(stored))
		}
	}
}

// killed ends the server in the window, for cells with different ideas of what to
// do about it. It comes last.
func killed(t *testing.T, srv *server, db string) {
	light := func(env ...string) map[string]*taskProcess {
		return each(t, srv, db, append([]string{"BENCH_WORKLOAD=oltp_point_select", "BENCH_THREADS=2"}, env...)...)
	}
	plain := light("BENCH_TIME=60")
	// These try to open their connections anew, one of them without a limit of time.
	stubborn := light("BENCH_TIME=10", "BENCH_MYSQL_IGNORE_ERRORS=all")
	endless := light("BENCH_TIME=0", "BENCH_EVENTS=100000000", "BENCH_RECONNECT=50")
	// At this rate no statement is under way when the server ends: the connection that
	// holds the lock notices first, and that is not another cell's doing.
	rare := startTask(t, base(srv, db, "BENCH_WORKLOAD=oltp_point_select", "BENCH_EVENTS=0", "BENCH_TIME=30", "BENCH_THREADS=1",
		"BENCH_RATE=0.1", "BENCH_REPORT_INTERVAL=1"))
	intervals(rare, 1)
	for _, group := range []map[string]*taskProcess{stubborn, plain, endless} {
		for _, p := range group {
			intervals(p, 1)
		}
	}
	srv.Kill(t)
	dead := time.Now()
	for engine, p := range plain {
		run := p.Wait()
		r := run.Result(t)
		if run.Code != bench.ExitUnreachable || r.Status != bench.StatusInvalid || !strings.Contains(because(r), "lost") {
			t.Errorf("%s: exit %d, status %s (%s); want 71, invalid because the server was lost", engine, run.Code, r.Status, because(r))
		}
		if r.Window == nil || r.Window.ElapsedS > 50 || r.Counts.Events == 0 {
			t.Errorf("%s: window %+v; want it closed early, with numbers", engine, r.Window)
		}
		if lines := complaints(run.Stderr); len(lines) != 1 || !strings.Contains(lines[0], "lost") {
			t.Errorf("%s: complaints %q", engine, lines)
		}
		if stored := storedResults(t, run.Dir+"/results"); len(stored) != 1 {
			t.Errorf("%s: %d stored results, want 1", engine, len(stored))
		}
	}
	run := rare.Wait()
	if r := run.Result(t); run.Code != bench.ExitUnreachable || r.Status != bench.StatusInvalid || !strings.Contains(because(r), "the server did not answer") {
		t.Errorf("at a low rate: exit %d, status %s (%s); want 71, invalid because the server did not answer", run.Code, r.Status, because(r))
	}
	for engine, p := range stubborn {
		run := p.Wait()
		r := run.Result(t)
		t.Logf("%s, all errors ignored: exit %d, %s: %s, errors %+v", engine, run.Code, r.Status, because(r), r.Errors)
		if r.Status != bench.StatusInvalid || r.Counts.Errors == 0 || run.Code != bench.ExitUnreachable {
			t.Errorf("%s, all errors ignored: exit %d, status %s, %d errors; want 71, invalid", engine, run.Code, r.Status, r.Counts.Errors)
		}
	}
	for engine, p := range endless {
		select {
		case <-p.done:
			r := p.Wait().Result(t)
			t.Logf("%s, reconnecting: exit %d, %s: %s", engine, p.run.Code, r.Status, because(r))
			if p.run.Code != bench.ExitUnreachable || r.Status != bench.StatusInvalid {
				t.Errorf("%s, reconnecting: exit %d, status %s; want 71, invalid", engine, p.run.Code, r.Status)
			}
		case <-time.After(time.Until(dead.Add(90 * time.Second))):
			t.Errorf("%s: a cell without a limit of time still tries to reach a server that is gone for 90 s; stderr:\n%s", engine, p.Stderr())
		}
	}
}
