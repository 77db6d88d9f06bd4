package integration

import (
	"testing"

	"cellbench/internal/bench"
)

// TestThousandConnections opens a thousand connections on each server, by both
// engines: all of them work, the client stays small and none is left.
func TestThousandConnections(t *testing.T) {
	const threads, limit = 1000, 150 << 20
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		runTask(t, base(srv, db), "prepare").Want(t, bench.ExitOK)
		for _, engine := range []string{"wire", "driver"} {
			t.Run(engine, func(t *testing.T) {
				p := startTask(t, base(srv, db, "BENCH_WORKLOAD=oltp_point_select", "BENCH_THREADS=1000", "BENCH_EVENTS=0", "BENCH_TIME=2", "BENCH_ENGINE="+engine))
				run := p.Wait().Want(t, bench.ExitOK)
				r := run.Result(t)
				if r.Status != bench.StatusOK || r.Counts.Errors != 0 {
					t.Errorf("status %s (%s), %d errors", r.Status, because(r), r.Counts.Errors)
				}
				for _, iv := range r.Intervals {
					if iv.LiveConnections != threads {
						t.Errorf("%d connections alive at %.1f s, want %d", iv.LiveConnections, iv.TS, threads)
					}
				}
				if rss := r.Client.MaxRSSBytes; rss >= limit {
					t.Errorf("the client took %d MB of memory, want less than %d", rss>>20, limit>>20)
				}
				rest := run.Elapsed.Seconds() - r.Window.ElapsedS
				t.Logf("%s: %.1f s besides the window, %d MB, %.0f qps, %.1f us CPU per query", engine, rest, r.Client.MaxRSSBytes>>20, r.Throughput.QPS, *r.Client.USPerQuery)
				srv.nothingLeft(t, db)
			})
		}
	})
}
