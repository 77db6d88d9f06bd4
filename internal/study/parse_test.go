package study

import (
	"strings"
	"testing"

	"cellbench/internal/bench"
)

// someNames stands for the configuration: a few settings, nearest name included.
func someNames(name string) (string, bool) {
	names := []string{
		"time", "table_size", "tables", "warmup_time", "skip_trx", "init_sql", "mysql_host", "mysql_password", "mysql_user",
		"dsn", "percentile", "workload", "scenario", "target", "threads", "range_size", "mysql_password_file", "create_table_options",
	}
	for _, n := range names {
		if n == name {
			return "", true
		}
	}
	return bench.Nearest(name, names), false
}

func TestParse(t *testing.T) {
	t.Parallel()
	_, err := Parse("s.yaml", []byte(`
# a comment
name: all-fields
description: |
  Two lines
  of text.
axes:
  target: [a, b]
  workload: oltp_read_only   # a single value is a list of one
  threads: [1, 0x10, 8]
  table_size: [010, 1e6, "10M"]
  label.path: ["old", new]
settings:
  skip_trx: on
  percentile: [50, 95, 99.9]
  init_sql:
    - SET GLOBAL a = 1
    - SET GLOBAL b = 2
labels: {owner: me}
targets:
  a: {mysql_host: h1, mysql_password: "${A_PW}", labels: {spec: small}}
  b:
    dsn: u:p@tcp(h2)/db
workloads:
  oltp_read_only: {range_size: 5}
exclude:
  - {target: a, threads: [1]}
include:
  - {target: a, threads: 32}
repeats: 3
order: {mode: interleaved, seed: 42}
baseline: {label.path: old}
aa: yes
report: {title: T, at: [threads=8, "threads = 32"], metric: tps}
`), someNames)
	if err == nil || !strings.Contains(err.Error(), `s.yaml:10:16: axis threads: "0x10"`) {
		t.Fatalf("0x10 as threads: %v", err)
	}
	s, err := Parse("s.yaml", []byte(`
name: x
axes: {threads: [1], table_size: [010, 1e6, "10M"], workload: oltp_read_only}
settings:
  skip_trx: on
  percentile: [50, 95, 99.9]
  init_sql: [SET GLOBAL a = 1, SET GLOBAL b = 2]
  time: 0.50
order: sequential
`), someNames)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.axis("table_size"), " "); got != "010 1e6 10M" {
		t.Errorf("values are not kept as written: %s", got)
	}
	for name, want := range map[string]string{"skip_trx": "on", "percentile": "50,95,99.9", "init_sql": "SET GLOBAL a = 1; SET GLOBAL b = 2", "time": "0.50"} {
		if s.Settings[name] != want {
			t.Errorf("%s = %q, want %q", name, s.Settings[name], want)
		}
	}
	if s.Order.Mode != OrderSequential || s.Repeats != 1 || len(s.SHA256) != 64 {
		t.Errorf("order %v, repeats %d, sha %q", s.Order, s.Repeats, s.SHA256)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ file, want string }{
		"empty":               {"", "s.yaml: read study: the file is empty"},
		"only a comment":      {"# nothing\n", "s.yaml: read study: the file is empty"},
		"a list":              {"- a\n", "s.yaml:1:1: study: expected a mapping (name: value), found a list"},
		"a word":              {"hello", "s.yaml:1:1: study: expected a mapping (name: value), found a value"},
		"broken":              {"name: x\naxes: [1, 2\n", "s.yaml:2:7: not valid YAML: "},
		"unknown key":         {"name: x\naxis: {}\n", `s.yaml:2:1: unknown key "axis" in study: did you mean axes?`},
		"unknown far":         {"name: x\nfoobarbaz: {}\n", `s.yaml:2:1: unknown key "foobarbaz" in study: allowed are aa, axes, baseline, `},
		"twice":               {"name: x\nname: y\n", `s.yaml:2:1: not valid YAML: mapping key "name" already defined`},
		"no name":             {"aa: false\n", "s.yaml:1:1: name: missing, a study needs one"},
		"bad name":            {"name: a/b\n", `s.yaml:1:7: name: "a/b", allowed are letters`},
		"unknown axis":        {"name: x\naxes:\n  thread: [1]\n", "s.yaml:3:3: unknown setting \"thread\": did you mean threads?; an axis that is only a label is written `label.thread`"},
		"unknown setting":     {"name: x\nsettings:\n  tabel_size: 1\n", `s.yaml:3:3: unknown setting "tabel_size": did you mean table_size?`},
		"capitals":            {"name: x\nsettings: {BENCH_TIME: 1}\n", `s.yaml:2:12: unknown setting "BENCH_TIME": `},
		"reserved":            {"name: x\nsettings: {run_id: a}\n", `s.yaml:2:12: setting "run_id" cannot be in a study: it belongs to the run, set BENCH_RUN_ID on the container`},
		"repeat":              {"name: x\nsettings: {repeat: 2}\n", "s.yaml:2:12: setting \"repeat\" cannot be in a study: write `repeats:`"},
		"null value":          {"name: x\nsettings:\n  time:\n", "s.yaml:3:3: time: expected a value, found nothing"},
		"nested value":        {"name: x\nsettings: {time: {a: 1}}\n", "time: expected a value, found a mapping"},
		"no values":           {"name: x\naxes: {threads: []}\n", "s.yaml:2:17: axis threads: has no values"},
		"value twice":         {"name: x\naxes: {threads: [1, 2, 1]}\n", `s.yaml:2:24: axis threads: "1" is there twice`},
		"threads zero":        {"name: x\naxes: {threads: [0]}\n", `s.yaml:2:18: axis threads: "0", allowed are whole numbers from 1 to 100000`},
		"threads word":        {"name: x\naxes: {threads: [many]}\n", `axis threads: "many", allowed are whole numbers`},
		"secret axis":         {"name: x\naxes: {mysql_password: [a]}\n", `s.yaml:2:8: axis "mysql_password": a secret cannot be an axis`},
		"setting and axis":    {"name: x\naxes: {time: [1]}\nsettings: {time: 2}\n", `s.yaml:3:12: setting "time" is an axis too`},
		"target without":      {"name: x\naxes: {target: [a, b]}\ntargets: {a: {mysql_host: h}}\n", `s.yaml:2:8: axis target: "b" has no entry in targets`},
		"target unused":       {"name: x\naxes: {target: [a]}\ntargets: {a: {}, b: {}}\n", `s.yaml:3:18: targets: no cell has target "b"`},
		"workload unused":     {"name: x\naxes: {workload: [w]}\nworkloads: {v: {time: 1}}\n", `s.yaml:3:13: workloads: no cell has workload "v"`},
		"target sets axis":    {"name: x\naxes: {target: [a], time: [1]}\ntargets: {a: {time: 3}}\n", `s.yaml:3:15: targets: a sets "time", which is an axis`},
		"target sets threads": {"name: x\naxes: {target: [a]}\ntargets: {a: {threads: 3}}\n", `s.yaml:3:15: target a: "threads" is an axis`},
		"exclude axis":        {"name: x\naxes: {threads: [1]}\nexclude: [{thread: 1}]\n", `s.yaml:3:12: no axis "thread", did you mean threads?`},
		"exclude value":       {"name: x\naxes: {threads: [1]}\nexclude: [{threads: 3}]\n", `s.yaml:3:21: axis threads has no value "3"`},
		"include value":       {"name: x\naxes: {threads: [1]}\ninclude: [{threads: -3}]\n", `s.yaml:3:21: axis threads: "-3", allowed`},
		"empty combination":   {"name: x\naxes: {threads: [1]}\nexclude: [{}]\n", "exclude: empty combination"},
		"baseline value":      {"name: x\naxes: {scenario: [pfsoff, asis]}\nbaseline: {scenario: psfoff}\n", `s.yaml:3:12: baseline: axis scenario has no value "psfoff", did you mean pfsoff?`},
		"baseline axis":       {"name: x\naxes: {threads: [1]}\nbaseline: {scenario: a}\n", `s.yaml:3:12: baseline: no axis "scenario"`},
		"two baselines":       {"name: x\naxes: {threads: [1], time: [1]}\nbaseline: {threads: 1, time: 1}\n", "baseline: names 2 axes, one is needed"},
		"aa without":          {"name: x\naa: true\n", "s.yaml:2:1: aa: needs a baseline to repeat"},
		"aa word":             {"name: x\naa: perhaps\n", `s.yaml:2:5: aa: "perhaps", allowed are true and false`},
		"repeats":             {"name: x\nrepeats: 0\n", `s.yaml:2:10: repeats: "0", allowed are whole numbers from 1 to 1000`},
		"order":               {"name: x\norder: interleave\n", `s.yaml:2:8: order: "interleave", did you mean interleaved?`},
		"seed":                {"name: x\norder: {seed: -1}\n", `s.yaml:2:15: seed: "-1", allowed are whole numbers from 0`},
		"at form":             {"name: x\naxes: {threads: [1]}\nreport: {at: [32]}\n", `at: "32", expected axis=value, e.g. threads=32`},
		"at value":            {"name: x\naxes: {threads: [1]}\nreport: {at: [threads=32]}\n", `s.yaml:3:10: at: axis threads has no value "32"`},
		"metric":              {"name: x\nreport: {metric: ms}\n", `s.yaml:2:18: metric: "ms", allowed are qps and tps`},
		"label comma":         {"name: x\nlabels: {a: 'b,c'}\n", "label a: \"b,c\", a label holds no comma"},
		"label is an axis":    {"name: x\nlabels: {target: b}\n", `label "target": allowed are`},
		"anchor":              {"name: x\naxes: &a {threads: [1]}\n", "s.yaml:2:7: Anchor not supported in a study"},
		"alias":               {"name: &n x\ndescription: *n\n", "not supported in a study"},
		"tag":                 {"name: !!binary aGk=\n", "Tag not supported in a study"},
		"merge":               {"name: x\nsettings:\n  <<: {time: 1}\n", "not supported in a study"},
		"two documents":       {"name: x\n---\nname: y\n", "s.yaml:3:1: second document"},
		"open reference":      {"name: x\nsettings: {mysql_host: '${HOST'}\n", `mysql_host: "${HOST" is no reference to a variable`},
		"shell reference":     {"name: x\nsettings: {mysql_host: '${HOST:-a}'}\n", `"${HOST:-a}" is no reference to a variable`},
		"too many cells":      {"name: x\naxes: {threads: [1,2,3,4,5,6,7,8,9,10,11]}\nrepeats: 1000\n", "s.yaml:2:1: axes: more than 10000 cells"},
		"too many included":   {"name: x\naxes: {threads: [1], time: [1], tables: [1]}\nrepeats: 1000\ninclude: [{threads: [1,2,3,4,5], tables: [1,2,3]}]\n", "s.yaml:2:1: axes: more than 10000 cells"},
		"deep":                {"name: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper than 16 levels"},
		"NUL":                 {"name: x\ndescription: \"a\\0b\"\n", "NUL character"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("s.yaml", []byte(c.file), someNames)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if bench.CodeOf(err) != bench.ExitConfig {
				t.Errorf("exit code %d", bench.CodeOf(err))
			}
		})
	}
}

func TestParseReportsAllProblemsInFileOrder(t *testing.T) {
	t.Parallel()
	_, err := Parse("s.yaml", []byte("repeats: 0\nname: x\nfoo: 1\nsettings: {tim: 1}\naxes: {threads: [x]}\n"), someNames)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{"s.yaml:1:10: ", "s.yaml:3:1: ", "s.yaml:4:12: ", "s.yaml:5:18: "}
	if len(lines) != len(want) {
		t.Fatalf("%d problems, want %d:\n%v", len(lines), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("problem %d: %s, want %s...", i, lines[i], want[i])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range BuiltinNames() {
		data, _ := Builtin(name)
		f.Add(data)
	}
	f.Add([]byte("name: x\naxes: {threads: [1, 2]}\ninclude: [{threads: 3}]\nexclude: [{threads: 1}]\nbaseline: {threads: 2}\naa: true\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [a]: b\n<<: *x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f", data, anyName)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f:") {
					t.Fatalf("%q: a problem of several lines", err)
				}
			}
			if bench.CodeOf(err) != bench.ExitConfig {
				t.Fatalf("exit code %d: %v", bench.CodeOf(err), err)
			}
			return
		}
		cells, err := s.Cells(Options{})
		if err != nil {
			if bench.CodeOf(err) != bench.ExitConfig {
				t.Fatalf("exit code %d: %v", bench.CodeOf(err), err)
			}
			return
		}
		seen := map[string]bool{}
		for i, c := range cells {
			name := bench.ResultKey("r", c.ID, c.Repeat, "a")
			if c.Index != i || seen[name] {
				t.Fatalf("cell %d: index %d, key %q seen before: %v", i, c.Index, name, seen[name])
			}
			if _, ok := bench.ParseResultKey(name); !ok {
				t.Fatalf("key %q cannot be read back", name)
			}
			seen[name] = true
		}
	})
}
