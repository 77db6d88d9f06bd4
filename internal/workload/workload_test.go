package workload

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cellbench/internal/bench"
	"cellbench/internal/workload/random"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/<name>, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with -update)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s, which -update writes anew; got:\n%s", path, got)
	}
}

// render writes events out as text mode sends them, each statement behind its kind.
func render(w Workload, conn, conns, events int) []byte {
	var out []byte
	g, ev, sts := w.Generator(conn, conns), &Event{}, w.Statements()
	for n := range events {
		g.Next(ev)
		out = fmt.Appendf(out, "# event %d\n", n+1)
		for _, c := range ev.Calls {
			s := &sts[c.Statement]
			out = append(out, w.Kinds()[s.Kind]...)
			out = append(out, ": "...)
			out = append(s.AppendText(out, ev, c), '\n')
		}
	}
	return out
}

func testOptions() Options {
	o := Defaults()
	o.Tables, o.TableSize, o.Rand.Seed = 3, 1000, 42
	return o
}

func mustNew(tb testing.TB, name string, o Options) Workload {
	tb.Helper()
	w, err := New(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func TestFirstEvents(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name+".sql", render(mustNew(t, name, testOptions()), 0, 4, 3))
		})
	}
	for name, change := range map[string]func(*Options){
		"read_write_options": func(o *Options) {
			o.SkipTrx, o.RangeSize, o.PointSelects, o.OrderRanges = true, 5, 3, 0
			o.DeleteInserts, o.NonIndexUpdates = 2, 2
		},
		"read_write_no_ranges": func(o *Options) { o.RangeSelects = false },
		"read_write_special":   func(o *Options) { o.Rand.Type = random.Special },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			change(&o)
			golden(t, name+".sql", render(mustNew(t, "oltp_read_write", o), 0, 4, 2))
		})
	}
	t.Run("insert_own_ids", func(t *testing.T) {
		t.Parallel()
		o := testOptions()
		o.AutoInc = false
		golden(t, "insert_own_ids.sql", render(mustNew(t, "oltp_insert", o), 1, 4, 3))
	})
	t.Run("hotspot_hint", func(t *testing.T) {
		t.Parallel()
		o := testOptions()
		o.HotspotHint, o.HotspotRow, o.SkipTrx = "/*+ commit_on_success target_affect_row(1) why? */", 7, true
		golden(t, "hotspot_hint.sql", render(mustNew(t, "hotspot_update", o), 0, 1, 1))
	})
}

func TestSameSeedSameEvents(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustNew(t, name, testOptions())
			first := render(w, 1, 3, 50)
			if again := render(mustNew(t, name, testOptions()), 1, 3, 50); !bytes.Equal(first, again) {
				t.Error("the same seed, connection and connections differ")
			}
			if name == "hotspot_update" || name == "bulk_insert" {
				return // every connection does the same on purpose
			}
			if bytes.Equal(first, render(w, 2, 3, 50)) {
				t.Error("two connections send the same events")
			}
			o := testOptions()
			o.Rand.Seed++
			if bytes.Equal(first, render(mustNew(t, name, o), 1, 3, 50)) {
				t.Error("two seeds send the same events")
			}
		})
	}
}

// counts runs events and counts statements by kind.
func counts(w Workload, events int) map[string]int {
	n, g, ev := map[string]int{}, w.Generator(0, 1), &Event{}
	for range events {
		g.Next(ev)
		for _, c := range ev.Calls {
			n[w.Kinds()[w.Statements()[c.Statement].Kind]]++
		}
	}
	return n
}

func TestCountsOfAHundredEvents(t *testing.T) {
	t.Parallel()
	reads := map[string]int{"point_select": 1000, "simple_range": 100, "sum_range": 100, "order_range": 100, "distinct_range": 100}
	writes := map[string]int{"index_update": 100, "non_index_update": 100, "delete": 100, "insert": 100}
	trx := map[string]int{"begin": 100, "commit": 100}
	join := func(ms ...map[string]int) map[string]int {
		out := map[string]int{}
		for _, m := range ms {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		workload string
		change   func(*Options)
		want     map[string]int
	}{
		"read_write":       {"oltp_read_write", nil, join(reads, writes, trx)},
		"read_write notrx": {"oltp_read_write", func(o *Options) { o.SkipTrx = true }, join(reads, writes)},
		"read_only":        {"oltp_read_only", nil, join(reads, trx)},
		"write_only":       {"oltp_write_only", nil, join(writes, trx)},
		"point_select":     {"oltp_point_select", func(o *Options) { o.PointSelects = 7 }, map[string]int{"point_select": 100}},
		"update_index":     {"oltp_update_index", nil, map[string]int{"index_update": 100}},
		"update_index x3":  {"oltp_update_index", func(o *Options) { o.IndexUpdates = 3 }, map[string]int{"index_update": 300}},
		"update_non_index": {"oltp_update_non_index", nil, map[string]int{"non_index_update": 100}},
		"delete":           {"oltp_delete", func(o *Options) { o.DeleteInserts = 5 }, map[string]int{"delete": 100}},
		"insert":           {"oltp_insert", func(o *Options) { o.DeleteInserts = 5 }, map[string]int{"insert": 100}},
		"random_points":    {"select_random_points", nil, map[string]int{"random_points": 100}},
		"random_ranges":    {"select_random_ranges", nil, map[string]int{"random_ranges": 100}},
		"bulk_insert":      {"bulk_insert", nil, map[string]int{}},
		"hotspot":          {"hotspot_update", nil, join(trx, map[string]int{"hotspot_update": 100})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			if tc.change != nil {
				tc.change(&o)
			}
			if got := counts(mustNew(t, tc.workload, o), 100); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Every group draws one table, and a deleted row is inserted again.
func TestGroupsShareATable(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.Tables, o.DeleteInserts = 50, 2
	w := mustNew(t, "oltp_read_write", o)
	g, ev, tables := w.Generator(0, 1), &Event{}, map[int]bool{}
	for range 200 {
		g.Next(ev)
		byKind := map[string]map[int]bool{}
		var deleted int64
		for _, c := range ev.Calls {
			s := w.Statements()[c.Statement]
			kind := w.Kinds()[s.Kind]
			if s.Text {
				continue
			}
			if byKind[kind] == nil {
				byKind[kind] = map[int]bool{}
			}
			table := tableOf(t, s.SQL)
			byKind[kind][table], tables[table] = true, true
			switch args := ev.Args(c); kind {
			case "delete":
				deleted = args[0].Int
			case "insert":
				if args[0].Int != deleted {
					t.Fatalf("inserted id %d after deleting %d", args[0].Int, deleted)
				}
			}
		}
		for kind, ts := range byKind {
			if len(ts) != 1 {
				t.Fatalf("%s hit tables %v in one event", kind, ts)
			}
		}
		if fmt.Sprint(byKind["delete"]) != fmt.Sprint(byKind["insert"]) {
			t.Fatal("deleted and inserted in different tables")
		}
	}
	if len(tables) != 50 {
		t.Errorf("%d of 50 tables were hit", len(tables))
	}
}

func tableOf(t *testing.T, sql string) int {
	t.Helper()
	_, rest, _ := strings.Cut(sql, "sbtest")
	n := 0
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("no table in %q", sql)
	}
	return n
}

func TestTransactionMarks(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for i, s := range mustNew(t, name, testOptions()).Statements() {
			if s.Begin != (s.SQL == "BEGIN") || s.End != (s.SQL == "COMMIT") || (s.Begin || s.End) && !s.Text {
				t.Errorf("%s statement %d %q: begin %v end %v text %v", name, i, s.SQL, s.Begin, s.End, s.Text)
			}
			if s.Rows != strings.HasPrefix(s.SQL, "SELECT") {
				t.Errorf("%s statement %d %q: rows %v", name, i, s.SQL, s.Rows)
			}
		}
	}
}

func TestBulkInsertStatements(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ packet, limit int }{
		"sysbench's buffer": {0, 524287},
		"small packet":      {65536, 65535},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			o.MaxPacket = tc.packet
			w := mustNew(t, "bulk_insert", o)
			g, ev, next, sent := w.Generator(11, 12), &Event{}, 1, 0
			const events = 100_000
			take := func(full bool) {
				text := string(w.Statements()[0].AppendText(nil, ev, ev.Calls[0]))
				if len(text) > tc.limit || full && len(text) < tc.limit-20 {
					t.Fatalf("a statement of %d bytes for a limit of %d", len(text), tc.limit)
				}
				rows, ok := strings.CutPrefix(text, "INSERT INTO sbtest12 VALUES")
				if !ok {
					t.Fatalf("text begins %q", text[:40])
				}
				for row := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(rows, "("), ")"), "),(") {
					if want := fmt.Sprintf("%d,%d", next, next); row != want {
						t.Fatalf("row %q, want %q", row, want)
					}
					next++
				}
				sent++
			}
			for range events {
				if g.Next(ev); len(ev.Calls) > 0 {
					take(true)
				}
			}
			if !g.(Finisher).Finish(ev) {
				t.Fatal("nothing left to finish")
			}
			take(false)
			if next != events+1 {
				t.Errorf("%d rows sent, want %d", next-1, events)
			}
			if g.(Finisher).Finish(ev) {
				t.Error("finished twice")
			}
		})
	}
}

func TestSlicesDivideTheRange(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]int64{{10, 1}, {10, 3}, {10, 10}, {1000, 7}, {1 << 40, 3}} {
		end := int64(0)
		for i := range tc[1] {
			low, high := slice(tc[0], i, tc[1])
			if low != end+1 || high < low {
				t.Errorf("part %d of %v is [%d, %d] after %d", i, tc, low, high, end)
			}
			end = high
		}
		if end != tc[0] {
			t.Errorf("parts of %v end at %d", tc, end)
		}
	}
	if low, high := slice(3, 5, 9); low != 1 || high != 3 {
		t.Errorf("more parts than values: [%d, %d]", low, high)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		workload string
		change   func(*Options)
		want     string
	}{
		"typo":        {"oltp_readwrite", nil, "did you mean oltp_read_write?"},
		"far off":     {"tpcc", nil, `unknown workload "tpcc" (known: oltp_read_write,`},
		"two at once": {"oltp_read_only", func(o *Options) { o.Tables, o.RangeSize = 0, -2 }, "BENCH_TABLES=0: give 1 to 1000000; BENCH_RANGE_SIZE=-2:"},
		"rand type":   {"oltp_read_only", func(o *Options) { o.Rand.Type = "normal" }, "BENCH_RAND_TYPE=normal is not allowed"},
		"nothing":     {"oltp_update_index", func(o *Options) { o.IndexUpdates = 0 }, "sends no statement"},
		"hint":        {"hotspot_update", func(o *Options) { o.HotspotHint = "x; DROP TABLE t" }, "BENCH_HOTSPOT_HINT"},
		"hot row":     {"hotspot_update", func(o *Options) { o.HotspotRow = 101 }, "BENCH_HOTSPOT_ROW=101: give 1 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			if tc.change != nil {
				tc.change(&o)
			}
			_, err := New(tc.workload, o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || bench.CodeOf(err) != bench.ExitConfig {
				t.Errorf("got %v (exit %d), want %q", err, bench.CodeOf(err), tc.want)
			}
		})
	}
}

func TestWideIDs(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.TableSize = 5_000_000_000
	w := mustNew(t, "oltp_point_select", o)
	g, ev, top := w.Generator(0, 1), &Event{}, int64(0)
	for range 1000 {
		g.Next(ev)
		top = max(top, ev.Args(ev.Calls[0])[0].Int)
	}
	if top <= 1<<32 {
		t.Errorf("highest id of 1000 is %d", top)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, name := range Names() {
		g, ev := mustNew(t, name, testOptions()).Generator(0, 4), &Event{}
		if name == "bulk_insert" {
			for range 40_000 {
				g.Next(ev) // the first full statement sizes the event
			}
		}
		for range 10 {
			g.Next(ev)
		}
		if n := testing.AllocsPerRun(200, func() { g.Next(ev) }); n != 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
	}
}

func TestAppendText(t *testing.T) {
	t.Parallel()
	ev := &Event{}
	s := NewStatement(0, "SELECT '?', `?`, \"?\" /* ? */, ?, ?, ?, ? -- ?\n FROM t # ?")
	if s.Params() != 4 {
		t.Fatalf("%d parameters", s.Params())
	}
	ev.Call(0)
	ev.Int(-5)
	for _, v := range []string{`it's \ a` + "\x00b", ""} {
		copy(ev.String(len(v)), v)
	}
	ev.Null()
	got := string(s.AppendText(nil, ev, ev.Calls[0]))
	want := "SELECT '?', `?`, \"?\" /* ? */, -5, 'it''s \\\\ a\\0b', '', NULL -- ?\n FROM t # ?"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnswersWithRows(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"SELECT 1": true, " ( select 1)": true, "/* x */ WITH a AS (SELECT 1) SELECT 1": true, "SHOW TABLES": true,
		"-- c\nSELECT 1": true, "UPDATE t SET a=1": false, "SELECT a INTO @x FROM t": false, "SELECT `into` FROM t": true, "BEGIN": false, "/*!80000 SET x=1 */": false, "": false,
	} {
		if got := answersWithRows(sql); got != want {
			t.Errorf("%q: %v", sql, got)
		}
	}
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"SELECT ?", "'?", "/*?", "`a``?`", `"\"?"`, "# ?\n?", "-- ?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s := NewStatement(0, sql)
		if strings.Join(s.segments, "?") != sql {
			t.Errorf("the pieces %q do not make up %q", s.segments, sql)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			g, ev := mustNew(b, name, testOptions()).Generator(0, 1), &Event{}
			b.ReportAllocs()
			for b.Loop() {
				g.Next(ev)
			}
		})
	}
}

func TestNamesAreDistinct(t *testing.T) {
	t.Parallel()
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Names()) {
		t.Error("a name occurs twice")
	}
}
