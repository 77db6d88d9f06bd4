package integration

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// parityEvents is how many events both programs send in each comparison.
const parityEvents = 200

// parityCase is one workload with options, given to both programs.
type parityCase struct {
	workload string
	options  []string // as sysbench has them: "range-size=5"
	modes    []string // of db-ps-mode
	// changes says that the workload adds or removes rows, so that the tables must
	// be made anew for the second program.
	changes bool
	// drawn says that reads, writes and rows depend on what is drawn (an UPDATE or
	// DELETE of a row that is gone), so that only sums can be equal.
	drawn bool
}

// parityCases are all workloads that both programs have, and options of each kind.
// hotspot_update has no counterpart.
func parityCases() map[string]parityCase {
	both, prepared, text := []string{"auto", "disable"}, []string{"auto"}, []string{"disable"}
	return map[string]parityCase{
		"read_write":           {workload: "oltp_read_write", modes: both},
		"read_only":            {workload: "oltp_read_only", modes: both},
		"write_only":           {workload: "oltp_write_only", modes: both},
		"point_select":         {workload: "oltp_point_select", modes: both},
		"update_index":         {workload: "oltp_update_index", modes: both},
		"update_non_index":     {workload: "oltp_update_non_index", modes: both},
		"delete":               {workload: "oltp_delete", modes: both, changes: true, drawn: true},
		"insert":               {workload: "oltp_insert", modes: both, changes: true},
		"bulk_insert":          {workload: "bulk_insert", modes: both, changes: true},
		"select_random_points": {workload: "select_random_points", modes: both},
		"select_random_ranges": {workload: "select_random_ranges", modes: both},

		"read_write skip_trx":    {workload: "oltp_read_write", options: []string{"skip-trx=on"}, modes: both},
		"read_only range_size":   {workload: "oltp_read_only", options: []string{"range-size=5"}, modes: prepared},
		"read_only points":       {workload: "oltp_read_only", options: []string{"point-selects=3"}, modes: text},
		"read_only counts":       {workload: "oltp_read_only", options: []string{"simple-ranges=2", "sum-ranges=3", "order-ranges=0", "distinct-ranges=2"}, modes: prepared},
		"read_only no ranges":    {workload: "oltp_read_only", options: []string{"range-selects=off"}, modes: prepared},
		"write_only counts":      {workload: "oltp_write_only", options: []string{"index-updates=2", "non-index-updates=0", "delete-inserts=3"}, modes: text},
		"update_index count":     {workload: "oltp_update_index", options: []string{"index-updates=4"}, modes: prepared},
		"read_write secondary":   {workload: "oltp_read_write", options: []string{"secondary=on"}, modes: prepared},
		"read_write auto_inc":    {workload: "oltp_read_write", options: []string{"auto-inc=off"}, modes: prepared},
		"insert auto_inc":        {workload: "oltp_insert", options: []string{"auto-inc=off"}, modes: prepared, changes: true},
		"read_write no index":    {workload: "oltp_read_write", options: []string{"create-secondary=off"}, modes: text},
		"read_only special":      {workload: "oltp_read_only", options: []string{"rand-type=special"}, modes: prepared},
		"read_only pareto":       {workload: "oltp_read_only", options: []string{"rand-type=pareto"}, modes: text},
		"read_only gaussian":     {workload: "oltp_read_only", options: []string{"rand-type=gaussian"}, modes: prepared},
		"select_random_points 5": {workload: "select_random_points", options: []string{"random-points=5"}, modes: prepared},
		"select_random_ranges 3": {workload: "select_random_ranges", options: []string{"number-of-ranges=3", "delta=20"}, modes: text},
	}
}

// seen is what one program did, as the server and the program itself tell it.
type seen struct {
	statements []logged         // of the connection that carries the load, in order
	com        map[string]int64 // growth of Com_* counters
	digests    map[string]int64 // executions by statement digest; nil where the server has none
	handler    int64            // index rows read
	printed    [4]int64         // reads, writes, others, events
}

// logged is a line of the server's general log.
type logged struct {
	command string // Query or Execute
	text    string // normalised
	table   string // number
}

// TestParityWithSysbench runs every workload that both programs have through the
// real sysbench and through the task, on the same tables with one thread, and
// compares what arrives at the server: each statement in order, the tables drawn,
// the digests and their counts, Com_*, rows read, and the figures that both print.
//
// What is known to differ, and is not compared: sysbench prepares COMMIT, and on
// MariaDB BEGIN, while cellbench sends both as text on every server, so that no
// server has to refuse a prepare; sysbench prepares all statements for all tables
// when it connects, cellbench each when it is first sent; and the values drawn.
func TestParityWithSysbench(t *testing.T) {
	requireProgram(t, "sysbench")
	for _, f := range []flavour{mysqlFlavour, mariadbFlavour} {
		t.Run(string(f), func(t *testing.T) {
			srv := newServer(t, f, "--log-output=TABLE", "--performance-schema=ON")
			for _, name := range slices.Sorted(maps.Keys(parityCases())) {
				c := parityCases()[name]
				for _, mode := range c.modes {
					t.Run(name+"/ps="+mode, func(t *testing.T) { parity(t, srv, c, mode) })
				}
			}
		})
	}
}

func parity(t *testing.T, srv *server, c parityCase, mode string) {
	t.Helper()
	db := srv.Database(t)
	env := slices.Concat(srv.Env(db), []string{
		"BENCH_WORKLOAD=" + c.workload, "BENCH_TABLES=3", "BENCH_TABLE_SIZE=1000", "BENCH_THREADS=1", "BENCH_RAND_TYPE=uniform",
		"BENCH_WARMUP_TIME=0", "BENCH_EVENTS=" + strconv.Itoa(parityEvents), "BENCH_DB_PS_MODE=" + mode,
	}, asEnv(c.options))
	runTask(t, env, "prepare").Want(t, bench.ExitOK)
	theirs := srv.watch(t, db, func() seen { return sysbenchRun(t, srv, db, c, mode) })
	if c.changes {
		runTask(t, env, "prepare").Want(t, bench.ExitOK)
	}
	ours := srv.watch(t, db, func() seen { return cellbenchRun(t, env) })

	sameStatements(t, ours, theirs, mode)
	for _, s := range []seen{ours, theirs} {
		wholeGroups(t, s.statements)
	}
	if !maps.Equal(ours.com, theirs.com) {
		t.Errorf("Com_*: %v, sysbench's %v", ours.com, theirs.com)
	}
	if theirs.digests != nil && !maps.Equal(ours.digests, theirs.digests) {
		t.Errorf("digests: %s\nsysbench's: %s", lines(ours.digests), lines(theirs.digests))
	}
	a, b := ours.printed, theirs.printed
	if c.drawn {
		a[1], b[1], a[2], b[2] = a[1]+a[2], b[1]+b[2], 0, 0
	}
	if a != b {
		t.Errorf("reads, writes, others, events: %v, sysbench's %v", a, b)
	}
	// Ranges that run past the last row read less, and which do is drawn.
	if d := ours.handler - theirs.handler; d*d > theirs.handler*theirs.handler/100+100 {
		t.Errorf("index rows read: %d, sysbench's %d", ours.handler, theirs.handler)
	}
	t.Logf("%d statements, %d digests, com %v, rows %d and %d, printed %v", len(ours.statements), len(ours.digests), ours.com, ours.handler, theirs.handler, ours.printed)
}

// asEnv turns sysbench's options into the task's settings.
func asEnv(options []string) []string {
	env := make([]string, 0, len(options))
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		env = append(env, "BENCH_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
	}
	return env
}

func sysbenchRun(t *testing.T, srv *server, db string, c parityCase, mode string) seen {
	t.Helper()
	before := srv.Status(t, "")
	args := []string{
		"--mysql-host=" + srv.Host, "--mysql-port=" + strconv.Itoa(srv.Port), "--mysql-user=root", "--mysql-password=" + srv.Password,
		"--mysql-db=" + db, "--tables=3", "--table-size=1000", "--threads=1", "--rand-type=uniform", "--time=0",
		"--events=" + strconv.Itoa(parityEvents), "--db-ps-mode=" + mode,
	}
	for _, o := range c.options {
		args = append(args, "--"+o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "sysbench", append(args, c.workload, "run")...).CombinedOutput()
	if err != nil {
		t.Fatalf("sysbench: %v: %s", err, out)
	}
	after := srv.Status(t, "")
	for name := range after {
		after[name] -= before[name]
	}
	s := seen{com: comOf(after), handler: handlerOf(after)}
	for i, label := range []string{"read:", "write:", "other:", "transactions:"} {
		found := regexp.MustCompile(`(?m)^\s+` + label + `\s+(\d+)`).FindSubmatch(out)
		if found == nil {
			t.Fatalf("sysbench printed no %s %s", label, out)
		}
		s.printed[i], _ = strconv.ParseInt(string(found[1]), 10, 64)
	}
	return s
}

func cellbenchRun(t *testing.T, env []string) seen {
	t.Helper()
	r := runTask(t, append(env, "BENCH_PREPARE=never")).Want(t, bench.ExitOK).Result(t)
	if r.Status != bench.StatusOK || r.Counts.Errors != 0 {
		t.Errorf("status %s (%s), errors %v", r.Status, because(r), r.Errors)
	}
	return seen{
		com: comOf(r.Server.StatusDelta), handler: handlerOf(r.Server.StatusDelta),
		printed: [4]int64{r.Counts.Reads, r.Counts.Writes, r.Counts.Others, r.Counts.Events},
	}
}

// comOf returns the counters of the statements that workloads send. Reading the
// status is a SHOW, so it is in none of them.
func comOf(delta map[string]int64) map[string]int64 {
	com := map[string]int64{}
	for _, name := range []string{"select", "insert", "update", "delete", "begin", "commit", "rollback", "replace"} {
		if n := delta["Com_"+name]; n != 0 {
			com[name] = n
		}
	}
	return com
}

func handlerOf(delta map[string]int64) int64 {
	return delta["Handler_read_key"] + delta["Handler_read_next"]
}

// watch runs a program while the server logs and digests its statements.
func (s *server) watch(t *testing.T, db string, run func() seen) seen {
	t.Helper()
	s.Exec(t, "", "TRUNCATE TABLE mysql.general_log", "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest", "SET GLOBAL general_log=ON")
	got := run()
	s.Exec(t, "", "SET GLOBAL general_log=OFF")
	got.statements = s.generalLog(t)
	prepared := slices.ContainsFunc(got.statements, func(l logged) bool { return l.command == "Execute" })
	if s.Flavour == mysqlFlavour || !prepared { // MariaDB has no digests of prepared statements
		got.digests = s.digests(t, db)
	}
	return got
}

var (
	quotedText  = regexp.MustCompile(`'[^']*'`)
	plainNumber = regexp.MustCompile(`-?\b\d+\b`)
	tableNumber = regexp.MustCompile(`sbtest(\d+)`)
	bulkRows    = regexp.MustCompile(`(,\s*\(\?,\s*\?\))+`)
)

// generalLog returns the statements of the connections that carry the load: not
// of those that ask for their own id, which are the task's control connections.
func (s *server) generalLog(t *testing.T) []logged {
	t.Helper()
	rows, err := s.Open(t, "mysql").QueryContext(t.Context(), "SELECT thread_id, command_type, CONVERT(argument USING utf8mb4) FROM general_log ORDER BY event_time")
	if err != nil {
		t.Fatalf("read general log: %v", err)
	}
	defer func() { _ = rows.Close() }()
	byThread, control := map[int64][]logged{}, map[int64]bool{}
	for rows.Next() {
		var thread int64
		var command, text string
		if err := rows.Scan(&thread, &command, &text); err != nil {
			t.Fatalf("read general log: %v", err)
		}
		if strings.Contains(text, "CONNECTION_ID()") {
			control[thread] = true
		}
		if l, ok := workloadStatement(command, text); ok {
			byThread[thread] = append(byThread[thread], l)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("read general log: %v", err)
	}
	var all []logged
	for _, thread := range slices.Sorted(maps.Keys(byThread)) {
		if !control[thread] {
			all = append(all, byThread[thread]...)
		}
	}
	return all
}

func workloadStatement(command, text string) (logged, bool) {
	l := logged{command: command}
	if command != "Query" && command != "Execute" {
		return l, false
	}
	if found := tableNumber.FindStringSubmatch(text); found != nil {
		l.table = found[1]
	} else if text != "BEGIN" && text != "COMMIT" {
		return l, false
	}
	text = quotedText.ReplaceAllString(text, "?")
	text = plainNumber.ReplaceAllString(text, "?")
	text = tableNumber.ReplaceAllString(text, "sbtest#")
	text = bulkRows.ReplaceAllString(text, ",...")
	l.text = strings.Join(strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(text)), " ")
	return l, true
}

// digests returns how often each statement digest of the workload was executed.
func (s *server) digests(t *testing.T, db string) map[string]int64 {
	t.Helper()
	rows, err := s.Open(t, "").QueryContext(t.Context(),
		"SELECT digest_text, count_star FROM performance_schema.events_statements_summary_by_digest WHERE schema_name = ? AND digest_text IS NOT NULL", db)
	if err != nil {
		t.Fatalf("read digests: %v", err)
	}
	defer func() { _ = rows.Close() }()
	digests := map[string]int64{}
	for rows.Next() {
		var text string
		var n int64
		if err := rows.Scan(&text, &n); err != nil {
			t.Fatalf("read digests: %v", err)
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "EXECUTE "))
		if strings.HasPrefix(text, "PREPARE ") || strings.HasPrefix(text, "DEALLOCATE ") || strings.Contains(text, "COUNT ( * )") {
			continue // not executions, and the task's own count of rows
		}
		if strings.Contains(text, "sbtest") || text == "BEGIN" || text == "COMMIT" {
			digests[tableNumber.ReplaceAllString(text, "sbtest#")] += n
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("read digests: %v", err)
	}
	return digests
}

// sameStatements fails the test unless both sent the same statements in the same
// order, by the protocol of the mode.
func sameStatements(t *testing.T, ours, theirs seen, mode string) {
	t.Helper()
	a, b := ours.statements, theirs.statements
	if len(a) == 0 || len(a) != len(b) {
		t.Errorf("%d statements, sysbench %d", len(a), len(b))
	}
	for i := range min(len(a), len(b)) {
		if a[i].text != b[i].text {
			t.Errorf("statement %d is %q, sysbench's %q", i+1, a[i].text, b[i].text)
			return
		}
		if a[i].text == "BEGIN" || a[i].text == "COMMIT" {
			if a[i].command != "Query" {
				t.Errorf("%s went as %s", a[i].text, a[i].command)
			}
			continue
		}
		if a[i].command != b[i].command || mode == "disable" && a[i].command != "Query" {
			t.Errorf("with db-ps-mode=%s statement %d %q went as %s, sysbench's as %s", mode, i+1, a[i].text, a[i].command, b[i].command)
			return
		}
	}
}

// wholeGroups fails the test if statements of one group of an event went to
// different tables, or if only one table was ever drawn.
func wholeGroups(t *testing.T, all []logged) {
	t.Helper()
	if len(all)%parityEvents != 0 {
		return // bulk_insert
	}
	perEvent, tables := len(all)/parityEvents, map[string]bool{}
	for i, l := range all {
		if l.table != "" {
			tables[l.table] = true
		}
		if i%perEvent == 0 {
			continue
		}
		last := all[i-1]
		pair := strings.HasPrefix(last.text, "DELETE") && strings.HasPrefix(l.text, "INSERT") || strings.HasPrefix(last.text, "INSERT") && strings.HasPrefix(l.text, "DELETE")
		if (last.text == l.text || pair) && last.table != l.table {
			t.Errorf("statement %d %q went to table %s, the one before it to %s", i+1, l.text, l.table, last.table)
			return
		}
	}
	if want := 3; len(tables) != want && !strings.Contains(all[0].text, " k IN ") && !strings.Contains(all[0].text, "count ( k )") {
		t.Errorf("tables %v were drawn, want %d", slices.Sorted(maps.Keys(tables)), want)
	}
}

func lines(m map[string]int64) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "\n  %6d %s", m[k], k)
	}
	return b.String()
}
