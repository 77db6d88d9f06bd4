package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// requireLocalServer ends a test where no server program is installed.
func requireLocalServer(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/usr/sbin/mysqld", "/usr/sbin/mariadbd", "/usr/local/mysql/bin/mysqld"} {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	missing(t, "no mysqld or mariadbd is installed")
}

// scratch is a folder for a task's temporary files with a path short enough for a
// socket in it.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cbt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// processes returns the ids of all processes whose command line holds text, except
// this one's.
func processes(t *testing.T, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc here")
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if strings.Contains(string(line), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until a local server with its files in dir, and those files, are gone.
func gone(t *testing.T, dir string, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		pids := processes(t, dir)
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(pids) == 0 && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s processes %v and files %v are left", patience, pids, left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// startLocal starts a cell on a throwaway server and returns when it measures.
func startLocal(t *testing.T, dir string, env ...string) *taskProcess {
	t.Helper()
	p := startTask(t, append([]string{"TMPDIR=" + dir, "BENCH_TABLE_SIZE=1000", "BENCH_WARMUP_TIME=0", "BENCH_TIME=60", "BENCH_THREADS=2"}, env...))
	intervals(p, 1)
	if len(processes(t, dir)) == 0 {
		t.Fatalf("no process works in %s: the test looks at the wrong place", dir)
	}
	return p
}

// TestSignalInTheWindow ends cells in their window.
func TestSignalInTheWindow(t *testing.T) {
	t.Parallel()
	requireLocalServer(t)
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := scratch(t)
			p := startLocal(t, dir)
			p.Signal(signal)
			run := p.Wait().Want(t, bench.ExitInterrupted)
			r := run.Result(t)
			if r.Status != bench.StatusInterrupted || because(r) != "stopped by "+name {
				t.Errorf("status %s (%s), want interrupted, stopped by %s", r.Status, because(r), name)
			}
			if r.Counts == nil || r.Counts.Events == 0 || r.Window.ElapsedS > 30 || len(r.Intervals) < 1 {
				t.Errorf("window %+v, counts %+v; want the part measured", r.Window, r.Counts)
			}
			if stored := storedResults(t, run.Dir+"/results"); len(stored) != 1 {
				t.Errorf("%d stored results, want the partial one", len(stored))
			}
			if lines := complaints(run.Stderr); len(lines) != 1 {
				t.Errorf("complaints %q, want one", lines)
			}
			gone(t, dir, time.Second)
		})
	}
	t.Run("SIGKILL", func(t *testing.T) {
		t.Parallel()
		dir := scratch(t)
		p := startLocal(t, dir)
		p.Signal(syscall.SIGKILL)
		p.Wait().Want(t, 128+9)
		gone(t, dir, 30*time.Second)
	})
	t.Run("SIGTERM in the warm-up", func(t *testing.T) {
		t.Parallel()
		dir := scratch(t)
		p := startTask(t, []string{"TMPDIR=" + dir, "BENCH_TABLE_SIZE=1000", "BENCH_WARMUP_TIME=60", "BENCH_TIME=60"})
		p.WaitFor("warming up")
		p.Signal(syscall.SIGTERM)
		run := p.Wait().Want(t, bench.ExitInterrupted)
		if r := run.Result(t); r.Status != bench.StatusInterrupted || r.Counts != nil || r.Window != nil {
			t.Errorf("status %s, counts %v; want interrupted before the window", r.Status, r.Counts)
		}
		gone(t, dir, time.Second)
	})
	t.Run("SIGTERM while the server starts", func(t *testing.T) {
		t.Parallel()
		dir := scratch(t)
		p := startTask(t, []string{"TMPDIR=" + dir})
		p.WaitFor("throwaway")
		p.Signal(syscall.SIGTERM)
		run := p.Wait().Want(t, bench.ExitInterrupted)
		if r := run.Result(t); r.Status != bench.StatusInterrupted {
			t.Errorf("status %s, want interrupted", r.Status)
		}
		gone(t, dir, 2*time.Second)
	})
}

// TestSecondSignal has an event that hangs on a row lock: the first signal waits for
// it as long as BENCH_DRAIN_TIMEOUT says, the second does not.
func TestSecondSignal(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		env := base(srv, db, "BENCH_TABLES=1", "BENCH_TABLE_SIZE=50", "BENCH_WORKLOAD=oltp_update_index", "BENCH_EVENTS=0", "BENCH_TIME=60", "BENCH_DRAIN_TIMEOUT=60")
		runTask(t, env, "prepare").Want(t, bench.ExitOK)
		release := lockRows(t, srv, db, "sbtest1")
		defer release()
		p := startTask(t, env)
		intervals(p, 1)
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			t.Fatalf("the first signal ended the task although an event hangs; stderr:\n%s", p.Stderr())
		case <-time.After(time.Second):
		}
		second := time.Now()
		p.Signal(syscall.SIGTERM)
		p.Wait().Want(t, bench.ExitInterrupted)
		if took := time.Since(second); took > 10*time.Second {
			t.Errorf("the second signal took %s", took)
		}
		release()
		srv.nothingLeft(t, db)

		// Within the time to drain, one signal is enough.
		release = lockRows(t, srv, db, "sbtest1")
		defer release()
		p = startTask(t, append(env, "BENCH_DRAIN_TIMEOUT=1"))
		intervals(p, 1)
		p.Signal(syscall.SIGTERM)
		r := p.Wait().Want(t, bench.ExitInterrupted).Result(t)
		if r.Status != bench.StatusInterrupted || r.Window.Unfinished != 1 {
			t.Errorf("status %s, %d unfinished events; want interrupted, 1", r.Status, r.Window.Unfinished)
		}
	})
}

// TestSignalWhileLoading ends the loading of the dataset. The next run takes it up,
// and one that asks for other tables starts clean.
func TestSignalWhileLoading(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		env := base(srv, db, "BENCH_TABLES=1", "BENCH_TABLE_SIZE=300000", "BENCH_PREPARE_THREADS=2", "BENCH_WORKLOAD=oltp_point_select")
		p := startTask(t, env)
		for n := 0; n == 0; time.Sleep(20 * time.Millisecond) {
			select {
			case <-p.done:
				t.Fatalf("the task ended before its rows could be seen; stderr:\n%s", p.Stderr())
			default:
			}
			if len(srv.column(t, db, "SHOW TABLES LIKE 'sbtest1'")) == 1 {
				n, _ = strconv.Atoi(srv.column(t, db, "SELECT COUNT(*) FROM sbtest1")[0])
			}
		}
		p.Signal(syscall.SIGTERM)
		run := p.Wait().Want(t, bench.ExitInterrupted)
		if r := run.Result(t); r.Status != bench.StatusInterrupted || r.Counts != nil {
			t.Errorf("status %s, counts %v; want interrupted without numbers", r.Status, r.Counts)
		}
		if lines := complaints(run.Stderr); len(lines) != 1 {
			t.Errorf("complaints %q, want one", lines)
		}
		srv.nothingLeft(t, db)
		r := runTask(t, env).Want(t, bench.ExitOK).Result(t)
		if r.Dataset.Rows != 300000 || r.Dataset.Origin != "loaded" {
			t.Errorf("dataset %+v, want 300000 rows, loaded", *r.Dataset)
		}
		if n := srv.column(t, db, "SELECT CONCAT_WS(',', COUNT(*), MIN(id), MAX(id), COUNT(DISTINCT id)) FROM sbtest1")[0]; n != "300000,1,300000,300000" {
			t.Errorf("rows, first, last and different ids are %s", n)
		}
		if r := runTask(t, append(env, "BENCH_TABLE_SIZE=500")).Want(t, bench.ExitOK).Result(t); r.Dataset.Rows != 500 || r.Dataset.Origin != "loaded" {
			t.Errorf("dataset %+v of another size, want 500 rows, loaded", *r.Dataset)
		}
	})
}
