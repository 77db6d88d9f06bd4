package integration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"cellbench/internal/bench"
)

// countCase is a workload, its options and what an exact number of events of it
// must be counted as, by the client and by the server.
type countCase struct {
	workload              string
	env                   []string
	reads, writes, others int64 // in 100 events
	com                   map[string]int64
	rowsPerEvent          int64 // -1: not looked at
}

// hundred are the counts that sysbench shows for 100 events of its workloads.
func hundred() map[string]countCase {
	none := map[string]int64{"Com_select": 0, "Com_update": 0, "Com_delete": 0, "Com_insert": 0, "Com_begin": 0, "Com_commit": 0}
	com := func(changes map[string]int64) map[string]int64 {
		all := maps.Clone(none)
		maps.Copy(all, changes)
		return all
	}
	writes := map[string]int64{"Com_update": 200, "Com_delete": 100, "Com_insert": 100}
	with := func(selects, trx int64) map[string]int64 {
		all := com(writes)
		all["Com_select"], all["Com_begin"], all["Com_commit"] = selects, trx, trx
		return all
	}
	return map[string]countCase{
		"read_write":       {workload: "oltp_read_write", reads: 1400, writes: 400, others: 200, com: with(1400, 100), rowsPerEvent: -1},
		"read_only":        {workload: "oltp_read_only", reads: 1400, others: 200, com: com(map[string]int64{"Com_select": 1400, "Com_begin": 100, "Com_commit": 100}), rowsPerEvent: -1},
		"write_only":       {workload: "oltp_write_only", writes: 400, others: 200, com: with(0, 100)},
		"point_select":     {workload: "oltp_point_select", reads: 100, com: com(map[string]int64{"Com_select": 100}), rowsPerEvent: 1},
		"update_index":     {workload: "oltp_update_index", writes: 100, com: com(map[string]int64{"Com_update": 100})},
		"update_non_index": {workload: "oltp_update_non_index", writes: 100, com: com(map[string]int64{"Com_update": 100})},
		"read_write, skip_trx": {
			workload: "oltp_read_write", env: []string{"BENCH_SKIP_TRX=on"}, reads: 1400, writes: 400, com: with(1400, 0), rowsPerEvent: -1,
		},
		"read_only, other counts": {
			workload: "oltp_read_only",
			env: []string{
				"BENCH_POINT_SELECTS=3", "BENCH_SIMPLE_RANGES=2", "BENCH_SUM_RANGES=1", "BENCH_ORDER_RANGES=0", "BENCH_DISTINCT_RANGES=2",
			},
			reads: 800, others: 200, com: com(map[string]int64{"Com_select": 800, "Com_begin": 100, "Com_commit": 100}), rowsPerEvent: -1,
		},
		"read_only, no ranges": {
			workload: "oltp_read_only", env: []string{"BENCH_RANGE_SELECTS=off"}, reads: 1000, others: 200,
			com: com(map[string]int64{"Com_select": 1000, "Com_begin": 100, "Com_commit": 100}), rowsPerEvent: 10,
		},
		"write_only, other counts": {
			workload: "oltp_write_only", env: []string{"BENCH_INDEX_UPDATES=2", "BENCH_NON_INDEX_UPDATES=3", "BENCH_DELETE_INSERTS=2"},
			writes: 900, others: 200,
			com: com(map[string]int64{"Com_update": 500, "Com_delete": 200, "Com_insert": 200, "Com_begin": 100, "Com_commit": 100}),
		},
	}
}

// base is what the count tests have in common: small tables, no warm-up, 100
// events.
func base(srv *server, db string, env ...string) []string {
	return slices.Concat(srv.Env(db), []string{
		"BENCH_TABLES=2", "BENCH_TABLE_SIZE=500", "BENCH_WARMUP_TIME=0", "BENCH_EVENTS=100",
	}, env)
}

// because returns the reason of a result's status.
func because(r bench.Result) string {
	if r.Reason == nil {
		return "no reason"
	}
	return *r.Reason
}

// TestCounts runs 100 events of each workload on both servers, by both engines and
// both protocols, and holds the client's counts, the counters that the result
// reports of the server and those that the test itself reads against each other.
func TestCounts(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		runTask(t, base(srv, db), "prepare").Want(t, bench.ExitOK)
		for _, name := range slices.Sorted(maps.Keys(hundred())) {
			c := hundred()[name]
			for _, way := range [][2]string{{"wire", "auto"}, {"driver", "disable"}, {"wire", "disable"}, {"driver", "auto"}} {
				engine, mode := way[0], way[1]
				if engine == "wire" != (mode == "auto") && name != "read_write" {
					continue // all four ways for the workload that has all statements, two for the others
				}
				t.Run(fmt.Sprintf("%s/%s/ps=%s", name, engine, mode), func(t *testing.T) {
					countOne(t, srv, db, c, engine, mode)
				})
			}
		}
	})
}

func countOne(t *testing.T, srv *server, db string, c countCase, engine, mode string) {
	t.Helper()
	// Transactions that write the same few rows deadlock now and then, and what is
	// done anew is counted again: exact counts of them need one connection.
	threads := "3"
	if c.writes > 100 {
		threads = "1"
	}
	env := base(srv, db, append([]string{
		"BENCH_WORKLOAD=" + c.workload, "BENCH_THREADS=" + threads, "BENCH_ENGINE=" + engine, "BENCH_DB_PS_MODE=" + mode, "BENCH_PREPARE=never",
	}, c.env...)...)
	before := srv.Status(t, "Com_")
	run := runTask(t, env).Want(t, bench.ExitOK)
	after := srv.Status(t, "Com_")
	r := run.Result(t)
	if r.Status != bench.StatusOK || len(r.Errors) != 0 {
		t.Errorf("status %s (%s), errors %v", r.Status, because(r), r.Errors)
	}
	got := *r.Counts
	want := bench.Counts{
		Queries: c.reads + c.writes + c.others, Reads: c.reads, Writes: c.writes, Others: c.others, Events: 100,
		Rows: got.Rows, RowBytes: got.RowBytes,
	}
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if c.rowsPerEvent >= 0 && got.Rows != 100*c.rowsPerEvent {
		t.Errorf("%d rows, want %d", got.Rows, 100*c.rowsPerEvent)
	}
	if r.Engine.Name != engine || r.Engine.Protocol != map[string]string{"auto": "prepared", "disable": "text"}[mode] {
		t.Errorf("engine %s, protocol %s; want %s with BENCH_DB_PS_MODE=%s", r.Engine.Name, r.Engine.Protocol, engine, mode)
	}
	for name, n := range c.com {
		if d := r.Server.StatusDelta[name]; d != n {
			t.Errorf("server.status_delta: %s grew by %d, want %d", name, d, n)
		}
		// Looking at the server and its tables takes some more SELECTs, and nothing else.
		grown, extra := after[name]-before[name], int64(0)
		if name == "Com_select" {
			extra = 60
		}
		if grown < n || grown > n+extra {
			t.Errorf("read by the test: %s grew by %d, want %d (and %d more at most)", name, grown, n, extra)
		}
	}
	executed := r.Server.StatusDelta["Com_stmt_execute"]
	if text := mode == "disable"; text && executed != 0 || !text && executed != c.reads+c.writes {
		t.Errorf("server.status_delta: Com_stmt_execute grew by %d with BENCH_DB_PS_MODE=%s", executed, mode)
	}
	if latency := r.Latency.Event; latency.Count != 100 {
		t.Errorf("latency of %d events, want 100", latency.Count)
	}
}

// TestCountsGrowByTheEvents runs 100 and 300 events. What the test reads on the
// server must differ by exactly 200 events: what cellbench does around its window
// is the same, and nothing of the window is left out of its counts.
func TestCountsGrowByTheEvents(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		grown := func(events int) map[string]int64 {
			env := base(srv, db, "BENCH_WORKLOAD=oltp_read_write", "BENCH_THREADS=1", "BENCH_EVENTS="+strconv.Itoa(events))
			before := srv.Status(t, "Com_")
			runTask(t, env).Want(t, bench.ExitOK)
			after := srv.Status(t, "Com_")
			for name := range after {
				after[name] -= before[name]
			}
			return after
		}
		grown(1) // loads
		few, many := grown(100), grown(300)
		for name, perEvent := range map[string]int64{"Com_select": 14, "Com_update": 2, "Com_delete": 1, "Com_insert": 1, "Com_begin": 1, "Com_commit": 1} {
			if d := many[name] - few[name]; d != 200*perEvent {
				t.Errorf("%s: 300 events made %d, 100 made %d: the difference is %d, want %d", name, many[name], few[name], d, 200*perEvent)
			}
		}
	})
}

// TestRangeSize checks the rows that range queries return: range_size each where
// the whole table lies in the range of ids, and that the option arrives.
func TestRangeSize(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		rows := func(size string) int64 {
			// Only simple ranges, on a table so large that few of them run past its end.
			env := base(srv, db, "BENCH_TABLES=1", "BENCH_TABLE_SIZE=20000", "BENCH_WORKLOAD=oltp_read_only", "BENCH_RANGE_SIZE="+size,
				"BENCH_POINT_SELECTS=0", "BENCH_SIMPLE_RANGES=1", "BENCH_SUM_RANGES=0", "BENCH_ORDER_RANGES=0", "BENCH_DISTINCT_RANGES=0")
			r := runTask(t, env).Want(t, bench.ExitOK).Result(t)
			if r.Counts.Reads != 100 {
				t.Errorf("range_size %s: %d reads, want 100", size, r.Counts.Reads)
			}
			return r.Counts.Rows
		}
		if n := rows("1"); n != 100 {
			t.Errorf("range_size 1: %d rows in 100 ranges", n)
		}
		if n := rows("10"); n < 950 || n > 1000 {
			t.Errorf("range_size 10: %d rows in 100 ranges", n)
		}
	})
}

// TestReconnect opens the connection anew after every five events: 100 events on
// one connection are 20 of them, on the server too, and nothing is lost or
// counted twice.
func TestReconnect(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		for _, engine := range []string{"wire", "driver"} {
			t.Run(engine, func(t *testing.T) {
				env := base(srv, db, "BENCH_WORKLOAD=oltp_read_only", "BENCH_RECONNECT=5", "BENCH_THREADS=1", "BENCH_ENGINE="+engine)
				r := runTask(t, env).Want(t, bench.ExitOK).Result(t)
				if r.Status != bench.StatusOK || r.Counts.Errors != 0 {
					t.Errorf("status %s (%s), %d errors", r.Status, because(r), r.Counts.Errors)
				}
				if c := r.Counts; c.Reconnects != 20 || c.Events != 100 || c.Queries != 1600 {
					t.Errorf("%d reconnects, %d events, %d queries; want 20, 100, 1600", c.Reconnects, c.Events, c.Queries)
				}
				if n := r.Server.StatusDelta["Connections"]; n < 19 || n > 21 {
					t.Errorf("the server counted %d connections in the window, want 20", n)
				}
			})
		}
	})
}
