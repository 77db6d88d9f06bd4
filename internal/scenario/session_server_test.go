package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cellbench/internal/bench"
	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
)

// dump is both setup tables in full.
func dump(t *testing.T, c *mysql.Conn) string {
	t.Helper()
	var b strings.Builder
	for _, q := range []string{
		"SELECT NAME, ENABLED, '' FROM performance_schema.setup_consumers ORDER BY NAME",
		"SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments ORDER BY NAME",
	} {
		rows, err := c.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows.Rows {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", r[0].String, r[1].String, r[2].String)
		}
	}
	return b.String()
}

const (
	consumersOn   = "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'YES'"
	consumersOff  = "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'NO'"
	instrumentsOn = "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME NOT LIKE 'memory/performance_schema/%' AND ENABLED = 'YES'"
	statementsOn  = "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME LIKE 'statement/%' AND ENABLED = 'YES' AND TIMED = 'YES'"
	statementsAll = "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME LIKE 'statement/%'"
	untimed       = "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME NOT LIKE 'memory/%' AND (ENABLED = 'NO' OR TIMED = 'NO')"
)

// TestScenarios holds the server in each scenario and looks at it from another
// connection, with the table of the published study.
func TestScenarios(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	for _, tc := range []struct {
		name string
		want map[string]string
	}{
		{"asis", nil},
		{"pfson_default", nil},
		{"pfson_conoff_insoff", map[string]string{consumersOn: "0", instrumentsOn: "0"}},
		{"pfson_conon_insoff", map[string]string{consumersOff: "0", instrumentsOn: "0"}},
		{"pfson_conon_ins_sqlon", map[string]string{consumersOn: "5", statementsOn: value(t, c, statementsAll), instrumentsOn: value(t, c, statementsAll)}},
		{"pfson_conoff_inson", map[string]string{consumersOn: "0", untimed: "0"}},
		{"pfson_conon_inson", map[string]string{consumersOff: "0", untimed: "0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := dump(t, c)
			p, err := Apply(t.Context(), d, find(t, tc.name), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for q, want := range tc.want {
				if got := value(t, c, q); got != want {
					t.Errorf("%s = %s, want %s", q, got, want)
				}
			}
			if err := p.CheckAfter(t.Context()); err != nil {
				t.Errorf("check after: %v", err)
			}
			if err := p.Restore(t.Context()); err != nil {
				t.Errorf("restore: %v", err)
			}
			if dump(t, c) != before {
				t.Error("the setup tables are not as before")
			}
			r := p.Report()
			changes := tc.want != nil
			if (r.Restored != nil) != changes || changes && !*r.Restored {
				t.Errorf("restored = %v", r.Restored)
			}
			if (r.Verified != nil) != (tc.name != AsIs) || r.Applied.Hash != r.After.Hash || (r.Before.Hash != r.Applied.Hash) != changes {
				t.Errorf("report %+v", r)
			}
			if left := value(t, c, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = ?", StateTable); left != "0" {
				t.Error("the table of the saved state is still there")
			}
		})
	}
}

func TestWrongStartup(t *testing.T) {
	d := newDoor(t, settings(t))
	_, err := Apply(t.Context(), d, find(t, "pfsoff"), nil, nil)
	if bench.CodeOf(err) != bench.ExitScenario {
		t.Fatalf("code %d: %v", bench.CodeOf(err), err)
	}
	for _, part := range []string{"performance_schema=OFF", "the server has ON", "my.cnf", "--performance-schema=OFF", "parameter group"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}

// TestKilled leaves a session without restoring, as kill -9 does.
func TestKilled(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	before := dump(t, c)
	limit := value(t, c, "SELECT @@GLOBAL.long_query_time")
	p, err := Apply(t.Context(), d, find(t, "pfson_conon_inson"), []string{"SET GLOBAL long_query_time = 7"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// While its connection lives, the saved state is a living cell's.
	if _, err := Apply(t.Context(), d, find(t, AsIs), nil, nil); bench.CodeOf(err) != bench.ExitBusy {
		t.Errorf("a second cell: %v", err)
	}
	_ = p.conn.Close()
	var said []string
	next, err := Apply(t.Context(), d, find(t, AsIs), nil, func(m string) { said = append(said, m) })
	if err != nil {
		t.Fatal(err)
	}
	if dump(t, c) != before || value(t, c, "SELECT @@GLOBAL.long_query_time") != limit {
		t.Error("the next cell did not put the server back")
	}
	if !slices.ContainsFunc(next.Report().Notes, func(n string) bool { return strings.Contains(n, "pfson_conon_inson") }) || len(said) == 0 {
		t.Errorf("notes %q, said %q", next.Report().Notes, said)
	}
	if err := next.Restore(t.Context()); err != nil || next.Report().Restored != nil {
		t.Errorf("restore: %v, %v", err, next.Report().Restored)
	}
}

func TestChangedDuringWindow(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	before := dump(t, c)
	p, err := Apply(t.Context(), d, find(t, "pfson_conon_insoff"), []string{"SET GLOBAL long_query_time = 7"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest'", "SET GLOBAL long_query_time = 8")
	err = p.CheckAfter(t.Context())
	if err == nil || !strings.Contains(err.Error(), "consumer statements_digest was YES and is NO") || !strings.Contains(err.Error(), "long_query_time") {
		t.Errorf("check after: %v", err)
	}
	// A lost connection does not keep the server from being put back.
	run(t, c, fmt.Sprintf("KILL %d", p.conn.ID()))
	if err := p.Restore(t.Context()); err != nil {
		t.Errorf("restore: %v", err)
	}
	if dump(t, c) != before {
		t.Error("the setup tables are not as before")
	}
}

func TestUndoneOnError(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	before, size := dump(t, c), value(t, c, "SELECT @@GLOBAL.sort_buffer_size")
	for _, tc := range []struct {
		name string
		init []string
		s    Scenario
		code bench.ExitCode
		text string
	}{
		{"a statement fails", []string{"SET GLOBAL sort_buffer_size = 1048576", "SET GLOBAL no_such = 1"}, find(t, "pfson_conon_inson"), bench.ExitScenario, "no_such"},
		{"a variable of the start", []string{"SET GLOBAL innodb_page_size = 4096"}, find(t, AsIs), bench.ExitScenario, "only be changed at the server's start"},
		{"a rule does not hold", nil, Scenario{
			Name: "own", Apply: []string{"UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'"},
			Verify: Verify{SetupConsumers: []ConsumerRule{{"%", yes}}},
		}, bench.ExitScenario, "reads back otherwise"},
		{"a query answers otherwise", []string{"SET GLOBAL sort_buffer_size = 1048576"}, Scenario{
			Name: "own", Verify: Verify{Queries: []Check{{"SELECT @@GLOBAL.sort_buffer_size", answer{"5"}}}},
		}, bench.ExitScenario, "1048576"},
		{"no such consumer", nil, Scenario{Name: "own", Verify: Verify{SetupConsumers: []ConsumerRule{{"nobody", yes}}}}, bench.ExitScenario, "no consumer nobody"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Apply(t.Context(), d, tc.s, tc.init, nil)
			if bench.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("code %d: %v", bench.CodeOf(err), err)
			}
			if dump(t, c) != before || value(t, c, "SELECT @@GLOBAL.sort_buffer_size") != size {
				t.Error("the server is not as before")
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	before := dump(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Apply(ctx, d, find(t, "pfson_conon_inson"), []string{"DO SLEEP(30)"}, func(m string) {
		if strings.Contains(m, "SLEEP") {
			cancel()
		}
	})
	if bench.CodeOf(err) != bench.ExitInterrupted {
		t.Errorf("code %d: %v", bench.CodeOf(err), err)
	}
	if dump(t, c) != before {
		t.Error("the setup tables are not as before")
	}
}

func TestInitSQL(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	vars := []string{"sort_buffer_size", "init_connect", "slow_query_log", "sql_mode", "max_connections", "long_query_time"}
	read := func() (all []string) {
		for _, v := range vars {
			all = append(all, value(t, c, "SELECT @@GLOBAL."+v))
		}
		return all
	}
	before := read()
	init, err := ParseStatements("SET GLOBAL sort_buffer_size=1048576, slow_query_log=ON; SET @@GLOBAL.init_connect = '1'; SET GLOBAL sql_mode='ANSI,NO_BACKSLASH_ESCAPES'; SET GLOBAL max_connections = 10000000;SET GLOBAL long_query_time=0.5;")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Apply(t.Context(), d, find(t, AsIs), init, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Report()
	if r.Applied.Variables["max_connections"] != "100000" || r.Applied.Variables["slow_query_log"] != "ON" || r.Before.Variables["max_connections"] == "100000" {
		t.Errorf("variables %v, before %v", r.Applied.Variables, r.Before.Variables)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "max_connections") && strings.Contains(n, "1292") }) {
		t.Errorf("no note of the value that was cut: %q", r.Notes)
	}
	if err := p.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	if after := read(); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

// TestByHand runs the SQL for people on a server in another state.
func TestByHand(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	before := dump(t, c)
	p, err := Apply(t.Context(), d, find(t, "pfson_conon_inson"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Restore(t.Context()) }()
	stmts := p.saved.byHand()
	run(t, c, stmts...)
	if dump(t, c) != before {
		t.Error("the setup tables are not as before")
	}
	if n := len(strings.Join(stmts, "; ")); n > 8000 {
		t.Errorf("%d characters are too many to type", n)
	}
}

func TestMissingRights(t *testing.T) {
	base := settings(t)
	root := connect(t, base)
	account := func(name string, grants ...string) mysql.Settings {
		run(t, root, "CREATE USER "+name+" IDENTIFIED BY 'pw'")
		t.Cleanup(func() { _, _ = root.Exec(context.Background(), "DROP USER "+name) })
		for _, g := range grants {
			run(t, root, "GRANT "+g+" TO "+name)
		}
		s := base
		s.User, s.Password = name, "pw"
		return s
	}
	all := find(t, "pfson_conon_inson")
	setup := []string{"SELECT, UPDATE ON performance_schema.setup_consumers", "SELECT, UPDATE ON performance_schema.setup_instruments"}
	own := "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER ON sbtest.*"
	for _, tc := range []struct {
		name, grant string
		s           Scenario
		init        []string
		with        mysql.Settings
	}{
		{"no setup tables", "GRANT SELECT, UPDATE ON performance_schema.setup_consumers TO 'r1'@'%'", all, nil, account("r1", own)},
		{"only to read", "GRANT SELECT, UPDATE ON performance_schema.setup_consumers TO 'r2'@'%'", all, nil, account("r2", own, "SELECT ON performance_schema.*")},
		{"no table of its own", "ON `sbtest`.* TO 'r3'@'%'", all, nil, account("r3", append(setup, "SELECT ON sbtest.*")...)},
		{"no global variables", "ON *.* TO 'r4'@'%'", find(t, AsIs), []string{"SET GLOBAL max_connections = 99"}, account("r4", own)},
		{"enough", "", all, nil, account("r5", append(setup, own)...)},
		{"asis needs none", "", find(t, AsIs), nil, account("r6", "SELECT ON sbtest.*")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Apply(t.Context(), newDoor(t, tc.with), tc.s, tc.init, nil)
			if tc.grant == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Restore(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			if bench.CodeOf(err) != bench.ExitUnsafe || !strings.Contains(err.Error(), tc.grant) || strings.Contains(err.Error(), "\n") {
				t.Errorf("code %d: %v", bench.CodeOf(err), err)
			}
		})
	}
}

func TestCheckThreads(t *testing.T) {
	a, b := connect(t, settings(t)), connect(t, settings(t))
	ids := []uint64{a.ID(), b.ID()}
	if err := CheckThreads(t.Context(), a, ids); err != nil {
		t.Error(err)
	}
	run(t, a, fmt.Sprintf("UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = %d", b.ID()))
	err := CheckThreads(t.Context(), a, append(ids, 4000000000))
	if err == nil || !strings.Contains(err.Error(), "2 of 3 connections") {
		t.Error(err)
	}
}

// TestKilledAndRestarted: what a restarted server has forgotten is not put back.
func TestKilledAndRestarted(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	p, err := Apply(t.Context(), d, find(t, "pfson_conon_inson"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := p.saved
	_ = p.conn.Close()
	changed := dump(t, c)
	// Saved long before the server's start.
	run(t, c, "UPDATE sbtest."+StateTable+" SET saved_at = saved_at - 1000000")
	next, err := Apply(t.Context(), d, find(t, AsIs), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if dump(t, c) != changed || !strings.Contains(strings.Join(next.Report().Notes, "\n"), "restarted") {
		t.Errorf("it was restored all the same: %q", next.Report().Notes)
	}
	if err := next.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	if err := restoreState(t.Context(), c, v); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenSavedState: a state that cannot be read stops the cell with a clear
// text and is not thrown away.
func TestBrokenSavedState(t *testing.T) {
	d, c := newDoor(t, settings(t)), connect(t, settings(t))
	v := save(Scenario{Name: "x"}, &state{}, nil)
	if err := v.store(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	defer func() { run(t, c, "DROP TABLE sbtest."+StateTable) }()
	run(t, c, "UPDATE sbtest."+StateTable+" SET state = 'rubbish', owner = 4000000000")
	_, err := Apply(t.Context(), d, find(t, AsIs), nil, nil)
	if bench.CodeOf(err) != bench.ExitScenario || !strings.Contains(err.Error(), "sbtest."+StateTable) {
		t.Errorf("code %d: %v", bench.CodeOf(err), err)
	}
}

// TestLostThreads gives performance_schema room for fewer sessions than there are.
func TestLostThreads(t *testing.T) {
	srv, err := localserver.Start(t.Context(), localserver.Options{
		Database: "sbtest", BufferPoolBytes: 64 << 20,
		Args: []string{"--performance-schema=ON", "--performance-schema-max-thread-instances=30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	s := mysql.Settings{Socket: srv.Socket(), User: srv.User(), Password: srv.Password()}
	p, err := Apply(t.Context(), newDoor(t, s), find(t, "pfson_conon_inson"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint64
	for range 40 {
		ids = append(ids, connect(t, s).ID())
	}
	if err := CheckThreads(t.Context(), p.conn, ids); err == nil || !strings.Contains(err.Error(), "performance_schema_max_thread_instances") {
		t.Errorf("threads: %v", err)
	}
	if err := p.CheckAfter(t.Context()); err == nil || !strings.Contains(err.Error(), "Performance_schema_thread_instances_lost") {
		t.Errorf("check after: %v", err)
	}
	if p.Report().Lost["Performance_schema_thread_instances_lost"] == 0 {
		t.Errorf("lost %v", p.Report().Lost)
	}
	if err := p.Restore(t.Context()); err != nil {
		t.Error(err)
	}
}
