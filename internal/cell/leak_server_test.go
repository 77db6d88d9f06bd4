package cell_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/cell"
	"cellbench/internal/config"
	"cellbench/internal/localserver"
	"cellbench/internal/workload/dataset"
)

// quiet hears everything and says nothing.
type quiet struct{ intervals chan struct{} }

func (quiet) Step(string)           {}
func (quiet) Rows(dataset.Progress) {}
func (quiet) Warmup(time.Duration)  {}
func (quiet) Warn(string)           {}
func (q quiet) Interval(bench.Interval, time.Duration) {
	select {
	case q.intervals <- struct{}{}:
	default:
	}
}

// descriptors counts this process's open files; -1 where that cannot be known.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// settle waits until goroutines and descriptors are back at what they were.
func settle(t *testing.T, goroutines, files int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines && descriptors() <= files {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	t.Errorf("%d goroutines, before %d; %d descriptors, before %d\n%s", runtime.NumGoroutine(), goroutines, descriptors(), files, stacks.String())
}

// TestNothingIsLeft runs cells on a throwaway server: measured, interrupted and
// refused ones leave no goroutine, no descriptor and no file.
func TestNothingIsLeft(t *testing.T) {
	if _, err := localserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cases := map[string]struct {
		env       map[string]string
		interrupt bool
		code      bench.ExitCode
	}{
		"wire":                {map[string]string{"BENCH_ENGINE": "wire"}, false, 0},
		"driver":              {map[string]string{"BENCH_ENGINE": "driver"}, false, 0},
		"wire, interrupted":   {map[string]string{"BENCH_ENGINE": "wire", "BENCH_TIME": "60"}, true, 75},
		"driver, interrupted": {map[string]string{"BENCH_ENGINE": "driver", "BENCH_TIME": "60"}, true, 75},
		"refused":             {map[string]string{"BENCH_SESSION_SQL": "SET no_such_variable = 1"}, false, 64},
		"too many":            {map[string]string{"BENCH_THREADS": "99999"}, false, 64},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "cbt") // short, for the socket in it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			t.Setenv("TMPDIR", dir)
			t.Setenv("BENCH_THREADS", "100")
			t.Setenv("BENCH_TABLE_SIZE", "200")
			t.Setenv("BENCH_TIME", "1")
			t.Setenv("BENCH_WARMUP_TIME", "0")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			cfg, err := config.Load()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			goroutines, files := runtime.NumGoroutine(), descriptors()
			hear := quiet{make(chan struct{}, 1)}
			if c.interrupt {
				go func() {
					<-hear.intervals
					cancel(bench.Errorf(bench.ExitInterrupted, "stopped by the test"))
				}()
				goroutines++ // until it has done that
			}
			res, err := cell.Run(ctx, cfg, cell.Options{RunID: "r", Attempt: "a", CellID: "c", Progress: hear})
			if bench.CodeOf(err) != c.code {
				t.Errorf("error %v, code %d; want %d", err, bench.CodeOf(err), c.code)
			}
			if want := map[bench.ExitCode]bench.Status{0: bench.StatusOK, 75: bench.StatusInterrupted, 64: bench.StatusFailed}[c.code]; res.Status != want {
				t.Errorf("status %s, want %s", res.Status, want)
			}
			if res.Server != nil && c.code == 0 && !res.Server.Local {
				t.Error("the server was not a throwaway one")
			}
			cancel(errors.New("over"))
			if c.interrupt {
				goroutines--
			}
			settle(t, goroutines, files)
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("files left: %v, %v", left, err)
			}
		})
	}
}
