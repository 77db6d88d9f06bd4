package scenario

import (
	stdflag "flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cellbench/internal/bench"
)

var update = stdflag.Bool("update", false, "write the golden files anew")

func TestCatalogue(t *testing.T) {
	t.Parallel()
	want := []string{
		"asis", "pfsoff", "pfson_default", "pfson_conoff_insoff", "pfson_conon_insoff",
		"pfson_conon_ins_sqlon", "pfson_conoff_inson", "pfson_conon_inson",
	}
	var names []string
	var text strings.Builder
	for _, s := range Builtin() {
		names = append(names, s.Name)
		text.WriteString("# " + s.Name + ": " + s.Description + "\n" + strings.Join(s.SQL(), "\n") + "\n")
		text.WriteString("# local: " + strings.Join(s.LocalArgs(), " ") + "\n\n")
		if s.Description == "" || s.Demands() != (s.Name != AsIs) {
			t.Errorf("%s: description %q, demands %v", s.Name, s.Description, s.Demands())
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	golden := filepath.Join("testdata", "catalogue.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), text.String()); diff != "" {
		t.Errorf("the SQL of the catalogue changed (run with -update if meant):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	const own = `
scenarios:
  - name: slowlog
    description: slow log on
    require: {log_output: FILE, innodb_page_size: 16384, performance_schema: on}
    apply: ["SET GLOBAL slow_query_log = ON; SET GLOBAL long_query_time = 0"]
    verify: {queries: [{query: SELECT @@GLOBAL.slow_query_log, expect: true}, {query: SELECT 1, expect: [1, null]}]}
    undo: [DO 1]
`
	s, err := Find("slowlog", []byte(own), "own.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := Scenario{
		Name: "slowlog", Description: "slow log on",
		Require: map[string]scalar{"log_output": "FILE", "innodb_page_size": "16384", "performance_schema": "on"},
		Apply:   []string{"SET GLOBAL slow_query_log = ON", "SET GLOBAL long_query_time = 0"},
		Verify:  Verify{Queries: []Check{{"SELECT @@GLOBAL.slow_query_log", answer{"ON"}}, {"SELECT 1", answer{"1", "NULL"}}}},
		Undo:    []string{"DO 1"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if _, err := Find("pfsof", nil, ""); bench.CodeOf(err) != bench.ExitConfig || !strings.Contains(err.Error(), `did you mean "pfsoff"?`) {
		t.Error(err)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "scenarios:\n  - name: a\n    aply: [DO 1]\n", `line 3, column 5: unknown key "aply", did you mean "apply"?`},
		{"unknown key in a rule", "scenarios:\n  - name: a\n    verify:\n      setup_consumers:\n        - {name: x, enable: YES}\n", `unknown key "enable", did you mean "enabled"?`},
		{"no YAML", "scenarios: [", "line 1"},
		{"another form", "scenarios: 3", "line 1"},
		{"empty", "# nothing\n", "no scenarios"},
		{"two documents", "scenarios: [{name: a, apply: [DO 1]}]\n---\nscenarios: []\n", "more than one YAML document"},
		{"no name", "scenarios: [{apply: [DO 1]}]", "its name must be"},
		{"name with a slash", "scenarios: [{name: a/b}]", "its name must be"},
		{"twice", "scenarios: [{name: a}, {name: a}]", "there twice"},
		{"a built-in name", "scenarios: [{name: pfsoff}]", "there already"},
		{"wrong flag", "scenarios: [{name: a, verify: {setup_consumers: [{name: x, enabled: maybe}]}}]", "neither YES nor NO"},
		{"rule without flag", "scenarios: [{name: a, verify: {setup_instruments: [{name: x}]}}]", "enabled or timed"},
		{"query without answer", "scenarios: [{name: a, verify: {queries: [{query: SELECT 1}]}}]", "query and expect"},
		{"open quote", "scenarios: [{name: a, apply: [\"SELECT 'x\"]}]", "never ends"},
		{"persist", "scenarios: [{name: a, apply: [SET PERSIST max_connections = 5]}]", "use SET GLOBAL"},
		{"list as value", "scenarios: [{name: a, require: {x: [1]}}]", "single value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := All([]byte(tc.text), "own.yaml")
			if bench.CodeOf(err) != bench.ExitConfig || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "own.yaml") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestParseStatements(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
		bad        bool
	}{
		{"none", "  ;; -- nothing\n", nil, false},
		{"two", "SET GLOBAL a=1; SET GLOBAL b=2", []string{"SET GLOBAL a=1", "SET GLOBAL b=2"}, false},
		{"quotes", `SELECT 'a;''b\';', "c;""", ` + "`d;``\\`;DO 1;", []string{`SELECT 'a;''b\';', "c;""", ` + "`d;``\\`", "DO 1"}, false},
		{"comments", "-- first; one\n# second; one\nSELECT 1 -- a;b\n + /* c;d */ 2; /* e; */ DO 1--1", []string{"SELECT 1 -- a;b\n + /* c;d */ 2", "DO 1--1"}, false},
		{"executable comment", "/*!80000 SET a=1 */; /* plain */;", []string{"/*!80000 SET a=1 */"}, false},
		{"minus minus without space", "SELECT 1--1; DO 2", []string{"SELECT 1--1", "DO 2"}, false},
		{"open quote", "SELECT 'a; DO 1", nil, true},
		{"open comment", "SELECT 1 /* a; DO 1", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseStatements(tc.text)
			if (err != nil) != tc.bad || tc.bad && bench.CodeOf(err) != bench.ExitConfig {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParseStatements holds that no statement is empty, that splitting again
// changes nothing and that no text outside comments is lost.
func FuzzParseStatements(f *testing.F) {
	for _, text := range []string{"SET GLOBAL a=1; DO 2", "a'b;c'", "-- x\n;", "/*! x */ y # z", "`a``;`\"b\\\"\";", "--", "/**/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmts, err := ParseStatements(text)
		if err != nil {
			return
		}
		for _, stmt := range stmts {
			if strings.TrimSpace(stmt) == "" || !strings.Contains(text, stmt) {
				t.Fatalf("statement %q of %q", stmt, text)
			}
			// "--" at the end of the text is a comment, before a semicolon it is not.
			again, err := ParseStatements(stmt)
			if err != nil || len(again) != 1 && !strings.HasPrefix(stmt, "--") {
				t.Fatalf("%q splits into %q: %v", stmt, again, err)
			}
		}
		_, _ = globals(stmts)
	})
}

func TestGlobals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stmt string
		want []string
		bad  bool
	}{
		{"SET GLOBAL a = 1", []string{"a"}, false},
		{"set /* x */ global A=1, b:=2, SESSION c=3, d=4", []string{"a", "b"}, false},
		{"SET @@GLOBAL.a = 1, b = 2", []string{"a"}, false},
		{"SET @@global . `a` = 1", []string{"a"}, false},
		{"SET SESSION a=1, GLOBAL b = IF(1, 2, 3), c = 'x,GLOBAL y=1'", []string{"b", "c"}, false},
		{"SET a = 1", nil, false},
		{"SET @a = 1, @@session.b = 2", nil, false},
		{"SET GLOBAL a = 1, @b = 2", []string{"a"}, false},
		{"UPDATE t SET global_x = 1", nil, false},
		{"SET NAMES utf8mb4", nil, false},
		{"SET PERSIST a = 1", nil, true},
		{"SET @@PERSIST_ONLY.a = 1", nil, true},
	} {
		t.Run(tc.stmt, func(t *testing.T) {
			t.Parallel()
			got, err := globals([]string{tc.stmt})
			if (err != nil) != tc.bad {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
