package integration

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// setupTables is both setup tables of performance_schema in full.
type setupTables struct {
	consumers   map[string]string    // name -> ENABLED
	instruments map[string][2]string // name -> ENABLED, TIMED ("" for NULL)
}

// readSetup reads the setup tables by a connection that knows nothing of cellbench.
func readSetup(t *testing.T, db *sql.DB) setupTables {
	t.Helper()
	s := setupTables{consumers: map[string]string{}, instruments: map[string][2]string{}}
	eachRow(t, db, "SELECT NAME, ENABLED, '' FROM performance_schema.setup_consumers", func(name, enabled, _ string) {
		s.consumers[name] = enabled
	})
	eachRow(t, db, "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments", func(name, enabled, timed string) {
		s.instruments[name] = [2]string{enabled, timed}
	})
	if len(s.instruments) < 200 || len(s.consumers) < 12 {
		t.Fatalf("the setup tables have %d and %d rows", len(s.consumers), len(s.instruments))
	}
	return s
}

func eachRow(t *testing.T, db *sql.DB, query string, f func(a, b, c string)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var a, b, c sql.NullString
		if err := rows.Scan(&a, &b, &c); err != nil {
			t.Fatal(err)
		}
		f(a.String, b.String, c.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// differs returns the first difference of two readings, "" when they are equal.
func (s setupTables) differs(other setupTables) string {
	for name, enabled := range s.consumers {
		if other.consumers[name] != enabled {
			return fmt.Sprintf("consumer %s: %s and %s", name, enabled, other.consumers[name])
		}
	}
	for name, flags := range s.instruments {
		if other.instruments[name] != flags {
			return fmt.Sprintf("instrument %s: %v and %v", name, flags, other.instruments[name])
		}
	}
	return ""
}

// published is the table of the study: what is YES in each scenario. An
// instrument that is on is timed too.
var published = map[string]struct {
	consumers   func(name string) bool
	instruments func(name string) bool
}{
	"pfson_conoff_insoff": {none, none},
	"pfson_conon_insoff":  {every, none},
	"pfson_conon_ins_sqlon": {
		func(name string) bool {
			return slices.Contains([]string{
				"global_instrumentation", "thread_instrumentation", "events_statements_current",
				"events_statements_history", "statements_digest",
			}, name)
		},
		func(name string) bool { return strings.HasPrefix(name, "statement/") },
	},
	"pfson_conoff_inson": {none, every},
	"pfson_conon_inson":  {every, every},
}

func none(string) bool  { return false }
func every(string) bool { return true }

// wrong returns the first row that is not as the published table says. Two kinds
// of flags are the server's own: its memory for performance_schema is always
// counted, and memory and error instruments have no timer.
func (s setupTables) wrong(scenario string) string {
	want, word := published[scenario], map[bool]string{true: "YES", false: "NO"}
	for name, enabled := range s.consumers {
		if enabled != word[want.consumers(name)] {
			return fmt.Sprintf("consumer %s is %s", name, enabled)
		}
	}
	for name, flags := range s.instruments {
		on := word[want.instruments(name)]
		if flags[0] != on && !strings.HasPrefix(name, "memory/performance_schema/") {
			return fmt.Sprintf("instrument %s has ENABLED %s", name, flags[0])
		}
		timeless := strings.HasPrefix(name, "memory/") || name == "error"
		if flags[1] != on && !timeless {
			return fmt.Sprintf("instrument %s has TIMED %s", name, flags[1])
		}
	}
	return ""
}

// inWindow waits until the load of a cell on schema db is running and returns
// how many of its connections performance_schema instruments.
func inWindow(t *testing.T, p *taskProcess, root *sql.DB, db string, threads int) {
	t.Helper()
	const connected = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ?"
	// Lock, control and scenario connections are there too.
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		var n int
		if err := root.QueryRowContext(t.Context(), connected, db).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n >= threads+3 {
			return
		}
	}
	t.Fatalf("no load after a minute; stderr:\n%s", p.Stderr())
}

func scenarioEnv(srv *server, db, scenario string, env ...string) []string {
	return slices.Concat(srv.Env(db), []string{
		"BENCH_TABLES=1", "BENCH_TABLE_SIZE=1000", "BENCH_WARMUP_TIME=0", "BENCH_WORKLOAD=oltp_read_only",
		"BENCH_THREADS=4", "BENCH_SCENARIO=" + scenario,
	}, env)
}

// TestScenarioIsWhatItSays reads the setup tables in mid-window from outside and
// compares them with the published table, and with those before the cell after it.
func TestScenarioIsWhatItSays(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		before := readSetup(t, root)
		for scenario := range published {
			t.Run(scenario, func(t *testing.T) {
				p := startTask(t, scenarioEnv(srv, db, scenario, "BENCH_TIME=2"))
				inWindow(t, p, root, db, 4)
				if wrong := readSetup(t, root).wrong(scenario); wrong != "" {
					t.Errorf("in the window: %s", wrong)
				}
				res := p.Wait().Want(t, bench.ExitOK).Result(t)
				if res.Status != bench.StatusOK {
					t.Errorf("status %s: %v", res.Status, deref(res.Reason))
				}
				s := res.Scenario
				if s == nil || s.Verified == nil || !*s.Verified || s.Restored == nil || !*s.Restored ||
					s.Applied.Hash == s.Before.Hash || s.Applied.Hash != s.After.Hash || len(s.Changes) == 0 {
					t.Errorf("scenario %+v", s)
				}
				if diff := before.differs(readSetup(t, root)); diff != "" {
					t.Errorf("before and after: %s", diff)
				}
			})
		}
		if _, err := root.ExecContext(t.Context(), "SELECT 1 FROM "+db+".cellbench_state"); err == nil {
			t.Error("the table of the saved state was left behind")
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestScenarioOfTheStart asks for a state that only a restart can bring about.
func TestScenarioOfTheStart(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		run := runTask(t, scenarioEnv(srv, db, "pfsoff", "BENCH_TIME=1")).Want(t, bench.ExitScenario)
		for _, part := range []string{"performance_schema=OFF", "my.cnf", "compose", "parameter group"} {
			if !strings.Contains(run.Stderr, part) {
				t.Errorf("%q is missing in:\n%s", part, run.Stderr)
			}
		}
	})
	for _, f := range []flavour{mysqlFlavour, mariadbFlavour} {
		t.Run(string(f)+" OFF", func(t *testing.T) {
			srv := newServer(t, f, "--performance-schema=OFF")
			db := srv.Database(t)
			runTask(t, scenarioEnv(srv, db, "pfson_conon_inson", "BENCH_TIME=1")).Want(t, bench.ExitScenario)
			res := runTask(t, scenarioEnv(srv, db, "pfsoff", "BENCH_TIME=1")).Want(t, bench.ExitOK).Result(t)
			if s := res.Scenario; s.Verified == nil || !*s.Verified || s.Restored != nil || s.Applied.PerformanceSchema == nil || *s.Applied.PerformanceSchema {
				t.Errorf("scenario %+v", s)
			}
			if len(res.Server.StatusDelta) == 0 {
				t.Error("no status counters with performance_schema OFF")
			}
		})
	}
}

// TestKilledCell kills a cell in mid-window; the next one puts the server back.
func TestKilledCell(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		before := readSetup(t, root)
		limit := globalVariable(t, root, "max_connect_errors")
		p := startTask(t, scenarioEnv(srv, db, "pfson_conon_inson", "BENCH_TIME=60", "BENCH_INIT_SQL=SET GLOBAL max_connect_errors=4711"))
		inWindow(t, p, root, db, 4)
		p.Signal(syscall.SIGKILL)
		p.Wait()
		if diff := before.differs(readSetup(t, root)); diff == "" || globalVariable(t, root, "max_connect_errors") != "4711" {
			t.Fatal("a killed cell cannot have put anything back")
		}
		res := runTask(t, scenarioEnv(srv, db, "asis", "BENCH_TIME=1")).Want(t, bench.ExitOK).Result(t)
		if diff := before.differs(readSetup(t, root)); diff != "" {
			t.Errorf("before and after: %s", diff)
		}
		if now := globalVariable(t, root, "max_connect_errors"); now != limit {
			t.Errorf("max_connect_errors is %s, was %s", now, limit)
		}
		if !slices.ContainsFunc(res.Scenario.Notes, func(n string) bool { return strings.Contains(n, "pfson_conon_inson") }) {
			t.Errorf("notes %q do not tell", res.Scenario.Notes)
		}
	})
}

func globalVariable(t *testing.T, root *sql.DB, name string) string {
	t.Helper()
	var value string
	if err := root.QueryRowContext(t.Context(), "SELECT @@GLOBAL."+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestScenarioIsRestored ends a cell in other ways than by its time.
func TestScenarioIsRestored(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		before := readSetup(t, root)
		for _, tc := range []struct {
			name   string
			env    []string
			during func(p *taskProcess)
			code   bench.ExitCode
			status bench.Status
		}{
			{"SIGTERM", nil, func(p *taskProcess) { p.Signal(syscall.SIGTERM) }, bench.ExitInterrupted, bench.StatusInterrupted},
			{"the state changed", []string{"BENCH_TIME=3"}, func(*taskProcess) {
				srv.Exec(t, "", "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest'")
			}, bench.ExitOK, bench.StatusInvalid},
			{"the lock is lost", []string{"BENCH_TIME=30"}, func(*taskProcess) {
				var id string
				if err := root.QueryRowContext(t.Context(), "SELECT IS_USED_LOCK('cellbench.cell')").Scan(&id); err != nil {
					t.Fatal(err)
				}
				srv.Exec(t, "", "KILL "+id)
			}, bench.ExitOK, bench.StatusInvalid},
		} {
			t.Run(tc.name, func(t *testing.T) {
				p := startTask(t, append(scenarioEnv(srv, db, "pfson_conon_inson", "BENCH_TIME=60"), tc.env...))
				inWindow(t, p, root, db, 4)
				tc.during(p)
				res := p.Wait().Want(t, tc.code).Result(t)
				if res.Status != tc.status || deref(res.Reason) == "" || res.Scenario.Restored == nil || !*res.Scenario.Restored {
					t.Errorf("status %s (%s), scenario %+v", res.Status, deref(res.Reason), res.Scenario)
				}
				if diff := before.differs(readSetup(t, root)); diff != "" {
					t.Errorf("before and after: %s", diff)
				}
			})
		}
	})
}

// TestOneCellAtATime starts two cells at once on one server.
func TestOneCellAtATime(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		one, two, root := srv.Database(t), srv.Database(t), srv.Open(t, "")
		runTask(t, scenarioEnv(srv, two, "asis", "BENCH_TIME=1")).Want(t, bench.ExitOK)
		first := startTask(t, scenarioEnv(srv, one, "pfson_conon_inson", "BENCH_TIME=4"))
		inWindow(t, first, root, one, 4)
		busy := runTask(t, scenarioEnv(srv, two, "asis", "BENCH_TIME=1", "BENCH_LOCK_TIMEOUT=1")).Want(t, bench.ExitBusy)
		if !strings.Contains(busy.Stderr, "another cell is running") || !strings.Contains(busy.Stderr, "connection ") {
			t.Errorf("it does not say who:\n%s", busy.Stderr)
		}
		second := runTask(t, scenarioEnv(srv, two, "pfson_conoff_insoff", "BENCH_TIME=1", "BENCH_LOCK_TIMEOUT=120")).Want(t, bench.ExitOK).Result(t)
		res := first.Wait().Want(t, bench.ExitOK).Result(t)
		if res.Status != bench.StatusOK || second.Status != bench.StatusOK {
			t.Errorf("status %s (%s) and %s (%s)", res.Status, deref(res.Reason), second.Status, deref(second.Reason))
		}
		if second.Window.Start.Before(res.Window.End) {
			t.Errorf("the second began at %s, before the end of the first at %s", second.Window.Start, res.Window.End)
		}
	})
}

// TestInitAndSessionSQL sets a variable of the server and one of each connection.
func TestInitAndSessionSQL(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		limit := globalVariable(t, root, "max_connect_errors")
		p := startTask(t, scenarioEnv(srv, db, "asis", "BENCH_TIME=2",
			"BENCH_INIT_SQL=SET GLOBAL max_connect_errors = 4711; -- a comment; with a semicolon\nDO 1;",
			"BENCH_SESSION_SQL=SET SESSION sort_buffer_size = 1048576; DO GET_LOCK(CONCAT('session', CONNECTION_ID()), 0)"))
		inWindow(t, p, root, db, 4)
		if now := globalVariable(t, root, "max_connect_errors"); now != "4711" {
			t.Errorf("max_connect_errors is %s in the window", now)
		}
		var held int
		const locks = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND IS_USED_LOCK(CONCAT('session', ID)) = ID"
		for start := time.Now(); held < 4 && time.Since(start) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
			if err := root.QueryRowContext(t.Context(), locks, db).Scan(&held); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.done:
				t.Fatalf("%d of 4 connections ran BENCH_SESSION_SQL", held)
			default:
			}
		}
		if held != 4 {
			t.Errorf("%d connections ran BENCH_SESSION_SQL, want the 4 of the load only", held)
		}
		res := p.Wait().Want(t, bench.ExitOK).Result(t)
		if now := globalVariable(t, root, "max_connect_errors"); now != limit {
			t.Errorf("max_connect_errors is %s, was %s", now, limit)
		}
		if s := res.Scenario; s.Applied.Variables["max_connect_errors"] != "4711" || s.Restored == nil || !*s.Restored || len(s.Changes) != 2 {
			t.Errorf("scenario %+v", s)
		}
	})
}

// TestOwnScenario runs a scenario from a user's file.
func TestOwnScenario(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		file := filepath.Join(t.TempDir(), "own.yaml")
		text := `
scenarios:
  - name: slowlog
    description: every statement in the slow log table
    require: {performance_schema: ON}
    apply: [SET GLOBAL long_query_time = 0, SET GLOBAL max_connect_errors = 4712]
    verify:
      queries: [{query: SELECT @@GLOBAL.max_connect_errors, expect: 4712}]
`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := globalVariable(t, root, "long_query_time")
		env := scenarioEnv(srv, db, "slowlog", "BENCH_TIME=1", "BENCH_SCENARIO_FILE="+file)
		res := runTask(t, env).Want(t, bench.ExitOK).Result(t)
		if s := res.Scenario; s.Verified == nil || !*s.Verified || s.Applied.Variables["max_connect_errors"] != "4712" || globalVariable(t, root, "long_query_time") != before {
			t.Errorf("scenario %+v", s)
		}
		run := runTask(t, append(env, "BENCH_SCENARIO=slowlok")).Want(t, bench.ExitConfig)
		if !strings.Contains(run.Stderr, `did you mean "slowlog"?`) {
			t.Errorf("stderr:\n%s", run.Stderr)
		}
	})
}

// grantsFor reads sections of infra/mysql/grants.sql as statements for an account
// and a schema of the test.
func grantsFor(t *testing.T, user, db string, jobs ...string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "infra", "mysql", "grants.sql"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var stmts []string
	job, found := "", map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "-- job: "); ok {
			job, found[name] = name, true
		} else if line != "" && !strings.HasPrefix(line, "--") && slices.Contains(jobs, job) {
			line = strings.NewReplacer("'cellbench'", "'"+user+"'", "`sbtest`", "`"+db+"`").Replace(line)
			stmts = append(stmts, strings.TrimSuffix(line, ";"))
		}
	}
	for _, name := range jobs {
		if !found[name] {
			t.Fatalf("grants.sql has no job %q", name)
		}
	}
	return stmts
}

// TestGrants does each job with exactly the rights that grants.sql gives for it,
// and sees that less is refused by name.
func TestGrants(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		for i, tc := range []struct {
			name string
			jobs []string
			env  []string
			code bench.ExitCode
			says string
		}{
			{"dataset", []string{"cell", "dataset"}, []string{"BENCH_PREPARE=always"}, bench.ExitOK, ""},
			{"cell", []string{"cell"}, []string{"BENCH_PREPARE=never", "BENCH_WORKLOAD=oltp_read_write"}, bench.ExitOK, ""},
			{"scenario", []string{"cell", "scenario"}, []string{"BENCH_PREPARE=never", "BENCH_SCENARIO=pfson_conon_ins_sqlon"}, bench.ExitOK, ""},
			{"init", []string{"cell", "scenario", "init"}, []string{"BENCH_PREPARE=never", "BENCH_INIT_SQL=SET GLOBAL max_connect_errors=4711"}, bench.ExitOK, ""},
			{"a scenario without its rights", []string{"cell"}, []string{"BENCH_PREPARE=never", "BENCH_SCENARIO=pfson_conon_ins_sqlon"}, bench.ExitUnsafe, "GRANT SELECT, UPDATE ON performance_schema.setup_consumers TO"},
			{"init without its rights", []string{"cell", "scenario"}, []string{"BENCH_PREPARE=never", "BENCH_INIT_SQL=SET GLOBAL max_connect_errors=4711"}, bench.ExitUnsafe, "ON *.* TO"},
			{"a dataset without its rights", []string{"cell"}, []string{"BENCH_TABLES=2"}, bench.ExitUnsafe, ""},
		} {
			t.Run(tc.name, func(t *testing.T) {
				user := fmt.Sprintf("grant_%d_%s", i, db)
				account := "'" + user + "'@'%'"
				srv.Exec(t, "", grantsFor(t, user, db, append([]string{"account"}, tc.jobs...)...)...)
				t.Cleanup(func() { srv.undo(t, "DROP USER IF EXISTS "+account) })
				env := slices.Concat(scenarioEnv(srv, db, "asis", "BENCH_TIME=1"), srv.EnvAs(db, user, "change me"), tc.env)
				run := runTask(t, env).Want(t, tc.code)
				if tc.says != "" && !regexp.MustCompile(regexp.QuoteMeta(tc.says)).MatchString(run.Stderr) {
					t.Errorf("%q is missing in:\n%s", tc.says, run.Stderr)
				}
			})
		}
	})
}

// TestReadOnlyServer: the setup tables of a read-only MySQL can be changed, but
// the state found cannot be saved there, which is told. MariaDB refuses both.
func TestReadOnlyServer(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db, root := srv.Database(t), srv.Open(t, "")
		before := readSetup(t, root)
		user := "readonly_" + db
		srv.Exec(t, "", grantsFor(t, user, db, "account", "cell", "dataset", "scenario")...)
		t.Cleanup(func() { srv.undo(t, "DROP USER IF EXISTS '"+user+"'@'%'") })
		env := slices.Concat(scenarioEnv(srv, db, "pfson_conon_inson", "BENCH_TIME=1"), srv.EnvAs(db, user, "change me"))
		runTask(t, append(env, "BENCH_SCENARIO=asis")).Want(t, bench.ExitOK)
		srv.Exec(t, "", "SET GLOBAL read_only = 1")
		t.Cleanup(func() { srv.undo(t, "SET GLOBAL read_only = 0") })
		if srv.Flavour == mariadbFlavour {
			run := runTask(t, env).Want(t, bench.ExitUnsafe)
			if !strings.Contains(run.Stderr, "READ_ONLY ADMIN") {
				t.Errorf("stderr:\n%s", run.Stderr)
			}
		} else {
			run := runTask(t, env).Want(t, bench.ExitOK)
			if s := run.Result(t).Scenario; s.Restored == nil || !*s.Restored || !strings.Contains(run.Stderr, "is not saved on it") {
				t.Errorf("scenario %+v; stderr:\n%s", s, run.Stderr)
			}
		}
		if diff := before.differs(readSetup(t, root)); diff != "" {
			t.Errorf("before and after: %s", diff)
		}
	})
}
