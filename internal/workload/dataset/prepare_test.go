package dataset_test

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
	"cellbench/internal/workload/dataset"
	"cellbench/internal/workload/random"
)

func sbtest(tables int, rows int64) dataset.Sbtest {
	return dataset.Sbtest{Tables: tables, Rows: rows, AutoInc: true, CreateSecondary: true, Engine: "innodb", K: random.Defaults()}
}

func prepare(tb testing.TB, s mysql.Settings, spec dataset.Spec, o dataset.Options) *bench.Dataset {
	tb.Helper()
	d, err := dataset.Prepare(tb.Context(), opener(tb, s), spec, o)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// refused runs Prepare, which must fail with a code and a text.
func refused(t *testing.T, s mysql.Settings, spec dataset.Spec, mode string, code bench.ExitCode, text string) {
	t.Helper()
	_, err := dataset.Prepare(t.Context(), opener(t, s), spec, dataset.Options{Mode: mode, Threads: 2})
	if err == nil || bench.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got exit %d, %v; want exit %d and %q", bench.CodeOf(err), err, code, text)
	}
}

// sysbench runs the real program's prepare with the given options.
func sysbench(t *testing.T, s mysql.Settings, args ...string) {
	t.Helper()
	args = append([]string{
		"--mysql-socket=" + s.Socket, "--mysql-user=" + s.User, "--mysql-password=" + s.Password, "--mysql-db=" + s.DB,
	}, args...)
	if out, err := exec.Command("sysbench", args...).CombinedOutput(); err != nil {
		t.Fatalf("sysbench: %v: %s", err, out)
	}
}

func showCreate(tb testing.TB, c dataset.Conn, table string) string {
	tb.Helper()
	rows, err := c.Query(tb.Context(), "SHOW CREATE TABLE "+table)
	if err != nil {
		tb.Fatal(err)
	}
	return rows[0][1].String
}

func TestSchemaIsSysbenchs(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*dataset.Sbtest)
		args   []string
	}{
		"defaults":     {func(*dataset.Sbtest) {}, nil},
		"auto_inc off": {func(o *dataset.Sbtest) { o.AutoInc = false }, []string{"--auto-inc=off"}},
		"secondary":    {func(o *dataset.Sbtest) { o.Secondary = true }, []string{"--secondary=on"}},
		"secondary without auto_inc": {
			func(o *dataset.Sbtest) { o.Secondary, o.AutoInc = true, false },
			[]string{"--secondary=on", "--auto-inc=off"},
		},
		"no index on k": {func(o *dataset.Sbtest) { o.CreateSecondary = false }, []string{"--create-secondary=off"}},
		"myisam":        {func(o *dataset.Sbtest) { o.Engine = "myisam" }, []string{"--mysql-storage-engine=myisam"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(t)
			c := open(t, s)
			o := sbtest(2, 100)
			tc.change(&o)
			prepare(t, s, o.Spec(), dataset.Options{Threads: 2})
			ours := showCreate(t, c, "sbtest2")
			run(t, c, "DROP TABLE sbtest1, sbtest2", "DROP TABLE "+dataset.MarkerTable)
			sysbench(t, s, append(tc.args, "--tables=2", "--table-size=100", "oltp_read_write", "prepare")...)
			if theirs := showCreate(t, c, "sbtest2"); ours != theirs {
				t.Errorf("ours:\n%s\nsysbench's:\n%s", ours, theirs)
			}
			// And what sysbench made is what we would use.
			d := prepare(t, s, o.Spec(), dataset.Options{Threads: 2})
			if d.Origin != "foreign" || d.Rows != 200 || d.Tables != 2 {
				t.Errorf("sysbench's tables: %+v", *d)
			}
		})
	}
}

func TestRows(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	d := prepare(t, s, sbtest(2, 3000).Spec(), dataset.Options{Threads: 3, StatementBytes: 20_000, Version: "1.2.3"})
	if d.Origin != "loaded" || d.Tables != 2 || d.Rows != 6000 || d.Bytes == nil || *d.Bytes < 6000*180 || len(d.Fingerprint) != 16 {
		t.Errorf("dataset %+v", *d)
	}
	for query, want := range map[string]string{
		"SELECT CONCAT(COUNT(*), ' ', MIN(id), ' ', MAX(id)) FROM sbtest2":                                                                                "3000 1 3000",
		"SELECT MIN(k) >= 1 AND MAX(k) <= 3000 AND COUNT(DISTINCT k) > 1500 FROM sbtest1":                                                                 "1",
		"SELECT COUNT(*) FROM sbtest1 WHERE c NOT REGEXP '^([0-9]{11}-){9}[0-9]{11}$' OR pad NOT REGEXP '^([0-9]{11}-){4}[0-9]{11}$'":                     "0",
		"SELECT COUNT(DISTINCT c) + COUNT(DISTINCT pad) FROM sbtest1":                                                                                     "6000",
		"SELECT COUNT(*) FROM sbtest1 JOIN sbtest2 USING (c)":                                                                                             "0",
		"SELECT auto_increment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'sbtest1'":                                 "3001",
		"SELECT GROUP_CONCAT(CONCAT(table_name, ' ', state, ' ', made_rows, ' ', made_columns, ' ', made_by) ORDER BY table_name) FROM cellbench_dataset": "sbtest1 complete 3000 id,k,c,pad cellbench 1.2.3,sbtest2 complete 3000 id,k,c,pad cellbench 1.2.3",
	} {
		if got := value(t, c, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// The estimate is of the size that the server tells afterwards.
func TestBytes(t *testing.T) {
	spec := sbtest(1, 40_000).Spec()
	d := prepare(t, settings(t), spec, dataset.Options{Mode: dataset.Always, Threads: 2})
	if ratio := float64(spec.Bytes()) / float64(*d.Bytes); ratio < 0.6 || ratio > 1.6 {
		t.Errorf("%d bytes estimated, the server says %d", spec.Bytes(), *d.Bytes)
	}
	if n := sbtest(1000, 1<<40).Spec().Bytes(); n < 2e17 || n > 4e17 {
		t.Errorf("%d bytes estimated for 2^40 rows in 1,000 tables", n)
	}
}

// The rows follow from the options alone, not from how they were loaded.
func TestRowsDoNotDependOnTheLoad(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	sums := map[string]bool{}
	for _, o := range []dataset.Options{{Threads: 1}, {Threads: 7, StatementBytes: 1000}, {Threads: 2, MaxPacket: 4096}} {
		o.Mode = dataset.Always
		prepare(t, s, sbtest(1, 12_345).Spec(), o)
		sums[checksum(t, c, "sbtest1")] = true
	}
	if len(sums) != 1 {
		t.Errorf("three ways to load gave %d kinds of rows", len(sums))
	}
}

func TestAutoLoadsOnlyWhatIsMissing(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	run(t, c, "CREATE TABLE mine (a INT)", "INSERT INTO mine VALUES (1)")
	for _, step := range []struct {
		name   string
		before []string
		spec   dataset.Sbtest
		mode   string
		origin string
	}{
		{"first", nil, sbtest(2, 500), "auto", "loaded"},
		{"again", nil, sbtest(2, 500), "auto", "reused"},
		{"one table more", nil, sbtest(3, 500), "auto", "loaded"},
		{"fewer tables", nil, sbtest(1, 500), "auto", "reused"},
		{"never", nil, sbtest(2, 500), "never", "reused"},
		{"another size", nil, sbtest(2, 400), "auto", "loaded"},
		{"back", nil, sbtest(2, 500), "auto", "loaded"},
		{"a row is gone", []string{"DELETE FROM sbtest2 WHERE id=7"}, sbtest(2, 500), "auto", "loaded"},
		{"a row more", []string{"INSERT INTO sbtest1 VALUES (0, 1, '', '')"}, sbtest(2, 500), "auto", "loaded"},
		{"index is gone", []string{"DROP INDEX k_1 ON sbtest1"}, sbtest(2, 500), "auto", "loaded"},
		{"rows changed", []string{"UPDATE sbtest1 SET k=k+1"}, sbtest(2, 500), "auto", "reused"},
		{"always", nil, sbtest(2, 500), "always", "loaded"},
		{"table is gone", []string{"DROP TABLE sbtest2"}, sbtest(2, 500), "auto", "loaded"},
	} {
		run(t, c, step.before...)
		d := prepare(t, s, step.spec.Spec(), dataset.Options{Mode: step.mode, Threads: 2})
		if d.Origin != step.origin {
			t.Errorf("%s: origin %s, want %s", step.name, d.Origin, step.origin)
		}
		for n := 1; n <= step.spec.Tables; n++ {
			if got := value(t, c, "SELECT COUNT(*) FROM sbtest"+strconv.Itoa(n)); got != strconv.FormatInt(step.spec.Rows, 10) {
				t.Errorf("%s: sbtest%d has %s rows", step.name, n, got)
			}
		}
	}
	if value(t, c, "SELECT COUNT(*) FROM mine") != "1" {
		t.Error("a table that is none of ours was touched")
	}
}

func TestForeignTablesAreNeverTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		mode  string
		setup []string
		spec  dataset.Sbtest
		want  string
	}{
		"another size": {"auto", nil, sbtest(2, 300), "which was not made by cellbench, has 200 rows instead of 300"},
		"always":       {"always", nil, sbtest(2, 200), "table sbtest1 was not made by cellbench"},
		"no index":     {"auto", []string{"DROP INDEX k_2 ON sbtest2"}, sbtest(2, 200), "table sbtest2 is not the one that the workload needs: index k_2(k) is missing"},
		"other type":   {"auto", []string{"ALTER TABLE sbtest2 MODIFY k BIGINT NOT NULL"}, sbtest(2, 200), "column k is bigint NOT NULL instead of int NOT NULL"},
		"no column":    {"auto", []string{"ALTER TABLE sbtest1 DROP COLUMN pad"}, sbtest(2, 200), "column pad is missing"},
		"more columns": {"never", []string{"ALTER TABLE sbtest1 ADD COLUMN x INT"}, sbtest(2, 200), "it has 1 columns more"},
		"more indexes": {"auto", []string{"CREATE INDEX x ON sbtest1 (c, k)"}, sbtest(2, 200), "index x(c,k) is not expected"},
		"engine":       {"auto", []string{"ALTER TABLE sbtest1 ENGINE=MyISAM"}, sbtest(2, 200), "its engine is myisam instead of innodb"},
		"other table":  {"auto", []string{"DROP TABLE sbtest1", "CREATE TABLE sbtest1 (a INT)", "INSERT INTO sbtest1 VALUES (5)"}, sbtest(2, 200), "column id is missing"},
		"never, fewer": {"never", []string{"DELETE FROM sbtest1 WHERE id = 1"}, sbtest(2, 200), "table sbtest1 has 199 rows instead of 200"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(t)
			c := open(t, s)
			sysbench(t, s, "--tables=2", "--table-size=200", "oltp_read_write", "prepare")
			run(t, c, tc.setup...)
			before := value(t, c, "CHECKSUM TABLE sbtest1") + showCreate(t, c, "sbtest1") + showCreate(t, c, "sbtest2")
			refused(t, s, tc.spec.Spec(), tc.mode, bench.ExitUnsafe, tc.want)
			if after := value(t, c, "CHECKSUM TABLE sbtest1") + showCreate(t, c, "sbtest1") + showCreate(t, c, "sbtest2"); after != before {
				t.Errorf("changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

func TestNeverNeedsTheTables(t *testing.T) {
	s := settings(t)
	refused(t, s, sbtest(1, 10).Spec(), "never", bench.ExitConfig, "table sbtest1 is missing and BENCH_PREPARE=never")
	refused(t, s, sbtest(1, 10).Spec(), "sometimes", bench.ExitConfig, "BENCH_PREPARE=sometimes: give auto, always or never")
}

// A table of ours that somebody replaced by another one is not ours any more.
func TestReplacedTableIsKept(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	prepare(t, s, sbtest(1, 10).Spec(), dataset.Options{})
	run(t, c, "DROP TABLE sbtest1", "CREATE TABLE sbtest1 (precious INT)", "INSERT INTO sbtest1 VALUES (1)")
	for _, mode := range []string{"auto", "always"} {
		refused(t, s, sbtest(1, 10).Spec(), mode, bench.ExitUnsafe, "table sbtest1 has columns (precious) but cellbench made it with (id,k,c,pad)")
	}
	if _, err := dataset.Drop(t.Context(), c, sbtest(1, 10).Spec()); bench.CodeOf(err) != bench.ExitUnsafe {
		t.Errorf("drop: %v", err)
	}
	if value(t, c, "SELECT COUNT(*) FROM sbtest1") != "1" {
		t.Error("the row is gone")
	}
}

// breaking lets a number of INSERTs into sbtest tables pass and fails then.
type breaking struct {
	dataset.Conn
	left *atomic.Int64
	stop func()
}

var errBroken = errors.New("the wire is cut")

func (b breaking) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if strings.HasPrefix(sql, "INSERT INTO `sbtest") && b.left.Add(-1) < 0 {
		b.stop()
		return 0, errBroken
	}
	return b.Conn.Exec(ctx, sql, args...)
}

func TestBrokenLoadIsTakenUp(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	spec := sbtest(2, 20_000).Spec()
	o := dataset.Options{Threads: 3, StatementBytes: 50_000}
	prepare(t, s, spec, o)
	want1, want2 := checksum(t, c, "sbtest1"), checksum(t, c, "sbtest2")
	for name, tc := range map[string]struct {
		passes  int64
		threads int
		between []string
		cancel  bool
		rows    int64 // loaded by the second run, at most
	}{
		"at once":               {passes: 0, threads: 3, rows: 40_000},
		"half way":              {passes: 80, threads: 3, rows: 22_000},
		"with other threads":    {passes: 80, threads: 2, rows: 40_000},
		"interrupted":           {passes: 120, threads: 3, cancel: true, rows: 12_000},
		"index was made":        {passes: 80, threads: 3, between: []string{"CREATE INDEX k_1 ON sbtest1(k)"}, rows: 22_000},
		"a table was dropped":   {passes: 150, threads: 3, between: []string{"DROP TABLE sbtest1"}, rows: 30_000},
		"holes in what is left": {passes: 80, threads: 3, between: []string{"DELETE FROM sbtest1 WHERE id IN (3, 77, 5100)"}, rows: 40_000},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := dataset.Drop(t.Context(), c, spec); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var left atomic.Int64
			left.Store(tc.passes)
			stop := func() {}
			if tc.cancel {
				stop = cancel
			}
			inner := opener(t, s)
			_, err := dataset.Prepare(ctx, func(ctx context.Context) (dataset.Conn, error) {
				c, err := inner(ctx)
				return breaking{c, &left, stop}, err
			}, spec, o)
			if tc.cancel && bench.CodeOf(err) != bench.ExitInterrupted || !tc.cancel && !errors.Is(err, errBroken) {
				t.Fatalf("the broken load returned %v", err)
			}
			if states, err := dataset.Check(t.Context(), c, spec); err != nil || states[1].Complete || !states[1].Ours || len(states[1].Differences) == 0 {
				t.Errorf("after the break: %+v, %v", states, err)
			}
			run(t, c, tc.between...)
			before := inserted(t, c)
			d := prepare(t, s, spec, dataset.Options{Threads: tc.threads, StatementBytes: 50_000})
			if d.Origin != "loaded" {
				t.Errorf("origin %s", d.Origin)
			}
			// The server counts a few rows of its own.
			if n := inserted(t, c) - before; n > tc.rows+100 {
				t.Errorf("%d rows were loaded again, want at most %d", n, tc.rows)
			}
			if checksum(t, c, "sbtest1") != want1 || checksum(t, c, "sbtest2") != want2 {
				t.Error("the rows are not those of an unbroken load")
			}
			if !strings.Contains(showCreate(t, c, "sbtest1"), "KEY `k_1` (`k`)") {
				t.Error("the index is missing")
			}
		})
	}
}

// inserted is the number of rows that the server has ever inserted.
func inserted(tb testing.TB, c dataset.Conn) int64 {
	tb.Helper()
	rows, err := c.Query(tb.Context(), "SHOW GLOBAL STATUS LIKE 'Handler_write'")
	if err != nil {
		tb.Fatal(err)
	}
	n, err := strconv.ParseInt(rows[0][1].String, 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestDrop(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	spec := sbtest(2, 10).Spec()
	if dropped, err := dataset.Drop(t.Context(), c, spec); err != nil || len(dropped) != 0 {
		t.Errorf("nothing there: %v, %v", dropped, err)
	}
	prepare(t, s, sbtest(3, 10).Spec(), dataset.Options{})
	if dropped, err := dataset.Drop(t.Context(), c, spec); err != nil || strings.Join(dropped, " ") != "sbtest1 sbtest2" {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	if got := value(t, c, "SELECT GROUP_CONCAT(table_name) FROM "+dataset.MarkerTable); got != "sbtest3" {
		t.Errorf("the marker names %s", got)
	}
	run(t, c, "CREATE TABLE sbtest2 (a INT)")
	if dropped, err := dataset.Drop(t.Context(), c, sbtest(3, 10).Spec()); bench.CodeOf(err) != bench.ExitUnsafe || len(dropped) != 0 || !strings.Contains(err.Error(), "table sbtest2 was not made by cellbench") {
		t.Errorf("a foreign table among ours: %v, %v", dropped, err)
	}
	run(t, c, "DROP TABLE sbtest2")
	if _, err := dataset.Drop(t.Context(), c, sbtest(3, 10).Spec()); err != nil {
		t.Error(err)
	}
	if got := value(t, c, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); got != "0" {
		t.Errorf("%s tables are left", got)
	}
}

func TestCheck(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	prepare(t, s, sbtest(1, 10).Spec(), dataset.Options{})
	run(t, c, "DELETE FROM sbtest1 WHERE id = 4", "CREATE TABLE sbtest2 LIKE sbtest1")
	states, err := dataset.Check(t.Context(), c, sbtest(3, 10).Spec())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []dataset.TableState{
		{Name: "sbtest1", Exists: true, Ours: true, Complete: true, Rows: 9, Differences: []string{"it has 9 rows instead of 10"}},
		{Name: "sbtest2", Exists: true, Rows: 0, Differences: []string{"index k_2(k) is missing", "index k_1(k) is not expected", "it has 0 rows instead of 10"}},
		{Name: "sbtest3", Rows: -1, Differences: []string{"it is missing"}},
	} {
		got := states[i]
		if strings.Join(got.Differences, ";") != strings.Join(want.Differences, ";") {
			t.Errorf("%s: %q", want.Name, got.Differences)
		}
		got.Differences, want.Differences = nil, nil
		if got.Name != want.Name || got.Exists != want.Exists || got.Ours != want.Ours || got.Complete != want.Complete || got.Rows != want.Rows {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	s := settings(t)
	var mu sync.Mutex
	last := map[string]dataset.Progress{}
	o := dataset.Options{Progress: func(p dataset.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Rows > p.Total || last[p.Phase].Done || p.Rows < last[p.Phase].Rows {
			t.Errorf("progress %+v after %+v", p, last[p.Phase])
		}
		last[p.Phase] = p
	}}
	for range 2 {
		prepare(t, s, sbtest(2, 5000).Spec(), o)
	}
	for _, phase := range []string{dataset.PhaseLoad, dataset.PhaseCheck} {
		if p := last[phase]; !p.Done || p.Rows != 10_000 || p.Total != 10_000 || p.PerSecond <= 0 {
			t.Errorf("%s ended with %+v", phase, p)
		}
	}
}

func TestEmptyTables(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	o := sbtest(2, 1000)
	o.Empty, o.AutoInc = true, false
	if d := prepare(t, s, o.Spec(), dataset.Options{}); d.Rows != 0 || d.Origin != "loaded" {
		t.Errorf("dataset %+v", *d)
	}
	if !strings.Contains(showCreate(t, c, "sbtest2"), "k_2") {
		t.Error("the index is missing")
	}
	run(t, c, "DROP TABLE sbtest1, sbtest2")
	if d := prepare(t, s, dataset.Bulk(3), dataset.Options{}); d.Tables != 3 || d.Origin != "loaded" {
		t.Errorf("bulk dataset %+v", *d)
	}
	run(t, c, "INSERT INTO sbtest3 VALUES (1, 1)")
	if d := prepare(t, s, dataset.Bulk(3), dataset.Options{Mode: "never"}); d.Rows != 1 {
		t.Errorf("bulk dataset with a row %+v", *d)
	}
	if d := prepare(t, s, dataset.Bulk(3), dataset.Options{}); d.Rows != 0 || d.Origin != "loaded" {
		t.Errorf("bulk dataset after a run %+v", *d)
	}
}

func TestWideTables(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	o := sbtest(1, math.MaxInt32+1)
	o.Empty = true
	prepare(t, s, o.Spec(), dataset.Options{})
	sql := showCreate(t, c, "sbtest1")
	if ok, _ := regexp.MatchString("(?s)`id` bigint.*`k` bigint", sql); !ok {
		t.Errorf("made %s", sql)
	}
	if o.Rows--; strings.Contains(o.Spec().Tables[0].Create, "BIGINT") {
		t.Error("BIGINT where INTEGER would do")
	}
}

func TestTableOptions(t *testing.T) {
	s := settings(t)
	c := open(t, s)
	o := sbtest(1, 10)
	o.TableOptions = "COMMENT='foo'"
	prepare(t, s, o.Spec(), dataset.Options{})
	if sql := showCreate(t, c, "sbtest1"); !strings.Contains(sql, "COMMENT='foo'") {
		t.Errorf("made %s", sql)
	}
	o.TableOptions = "nonsense"
	_, err := dataset.Prepare(t.Context(), opener(t, s), o.Spec(), dataset.Options{})
	if err == nil || !strings.Contains(err.Error(), "create table sbtest1:") {
		t.Errorf("got %v", err)
	}
	// The old table is gone, the marker says so, and the next run makes it anew.
	o.TableOptions = ""
	if d := prepare(t, s, o.Spec(), dataset.Options{}); d.Origin != "loaded" {
		t.Errorf("origin %s", d.Origin)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := sbtest(2, 100)
	if base.Spec().Fingerprint() != sbtest(2, 100).Spec().Fingerprint() {
		t.Error("the same options have two fingerprints")
	}
	seen := map[string]string{base.Spec().Fingerprint(): "base"}
	for name, change := range map[string]func(*dataset.Sbtest){
		"tables":    func(o *dataset.Sbtest) { o.Tables = 3 },
		"rows":      func(o *dataset.Sbtest) { o.Rows = 101 },
		"auto_inc":  func(o *dataset.Sbtest) { o.AutoInc = false },
		"secondary": func(o *dataset.Sbtest) { o.Secondary = true },
		"index":     func(o *dataset.Sbtest) { o.CreateSecondary = false },
		"engine":    func(o *dataset.Sbtest) { o.Engine = "rocksdb" },
		"options":   func(o *dataset.Sbtest) { o.TableOptions = "x" },
		"k":         func(o *dataset.Sbtest) { o.K.Type = random.Special },
	} {
		o := sbtest(2, 100)
		change(&o)
		fp := o.Spec().Fingerprint()
		if other, ok := seen[fp]; ok {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[fp] = name
	}
	seeded := sbtest(2, 100)
	seeded.K.Seed = 99
	if seeded.Spec().Fingerprint() != base.Spec().Fingerprint() {
		t.Error("the seed of a run changes the dataset")
	}
}
