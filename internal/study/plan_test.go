package study

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

func parse(t *testing.T, file string) *Study {
	t.Helper()
	s, err := Parse("s.yaml", []byte(file), anyName)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, s *Study, o Options) []Cell {
	t.Helper()
	cells, err := s.Cells(o)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// brief writes a plan as one word a cell.
func brief(cells []Cell) string {
	var out []string
	for _, c := range cells {
		out = append(out, fmt.Sprintf("%s/%s/%s/%d/r%d", c.Target, c.Workload, c.Scenario, c.Threads, c.Repeat))
	}
	return strings.Join(out, " ")
}

func TestOrderSequential(t *testing.T) {
	t.Parallel()
	s := parse(t, "name: x\naxes: {workload: [oltp_write_only, oltp_read_only], threads: [8, 1]}\nrepeats: 2\norder: sequential\n")
	want := "local/oltp_write_only/asis/8/r1 local/oltp_write_only/asis/8/r2 local/oltp_write_only/asis/1/r1 local/oltp_write_only/asis/1/r2 " +
		"local/oltp_read_only/asis/8/r1 local/oltp_read_only/asis/8/r2 local/oltp_read_only/asis/1/r1 local/oltp_read_only/asis/1/r2"
	if got := brief(plan(t, s, Options{})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOrderInterleaved(t *testing.T) {
	t.Parallel()
	s := parse(t, `
name: x
axes:
  threads: [8, 1]
  scenario: [s1, s2, s3, s4, s5]
  workload: [oltp_write_only, oltp_read_only, hotspot_update]
  table_size: [10, 20]
  target: [a, b]
repeats: 3
baseline: {scenario: s1}
`)
	cells := plan(t, s, Options{})
	checkOrder(t, s, cells)
	// Every five neighbours are the five scenarios of otherwise equal cells.
	for i := 0; i < len(cells); i += 5 {
		group := map[string]bool{}
		for _, c := range cells[i : i+5] {
			group[c.Scenario] = true
			if c.Workload != cells[i].Workload || c.Threads != cells[i].Threads || c.Target != cells[i].Target || c.Labels["table_size"] != cells[i].Labels["table_size"] {
				t.Fatalf("cells %d..%d differ in more than the scenario: %s", i, i+4, brief(cells[i:i+5]))
			}
		}
		if len(group) != 5 {
			t.Fatalf("cells %d..%d hold only %d scenarios", i, i+4, len(group))
		}
	}
	// A block stays on one target, then on one dataset.
	changes := 0
	for i := 1; i < len(cells)/3; i++ {
		if cells[i].Target != cells[i-1].Target || cells[i].Labels["table_size"] != cells[i-1].Labels["table_size"] {
			changes++
		}
	}
	if changes != 3 {
		t.Errorf("%d changes of target or dataset in a block, want 3", changes)
	}
	// Blocks are shuffled differently, the same seed gives the same plan, another seed another.
	block := func(cells []Cell, i int) string {
		n := len(cells) / 3
		return strings.ReplaceAll(brief(cells[i*n:(i+1)*n]), fmt.Sprintf("/r%d", i+1), "")
	}
	if block(cells, 0) == block(cells, 1) {
		t.Error("blocks 1 and 2 have the same order")
	}
	if brief(plan(t, s, Options{})) != brief(cells) {
		t.Error("the same options give another plan")
	}
	other := uint64(2)
	if brief(plan(t, s, Options{Seed: &other})) == brief(cells) {
		t.Error("another seed gives the same plan")
	}
	if got := plan(t, s, Options{Repeats: 1}); brief(got) != brief(cells[:len(cells)/3]) {
		t.Error("the first block depends on the number of blocks")
	}
}

func TestComparedTargetsAreNeighbours(t *testing.T) {
	t.Parallel()
	for name, baseline := range map[string]string{"by target": "{target: b}", "by label of targets": "{label.spec: small}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse(t, `
name: x
axes: {target: [a, b], threads: [1, 2, 4, 8, 16, 32]}
targets: {a: {labels: {spec: big}}, b: {labels: {spec: small}}}
repeats: 2
baseline: `+baseline)
			cells := plan(t, s, Options{})
			firsts := map[string]bool{}
			for i := 0; i < len(cells); i += 2 {
				if cells[i].Threads != cells[i+1].Threads || cells[i].Target == cells[i+1].Target {
					t.Fatalf("cells %d and %d: %s", i, i+1, brief(cells[i:i+2]))
				}
				firsts[cells[i].Target] = true
			}
			if len(firsts) != 2 {
				t.Error("the same target always goes first")
			}
		})
	}
}

func TestADatasetAxisIsNeverShuffled(t *testing.T) {
	t.Parallel()
	s := parse(t, "name: x\naxes: {table_size: [10, 20], threads: [1, 2, 4, 8]}\nbaseline: {table_size: 10}\n")
	cells := plan(t, s, Options{})
	for i, c := range cells {
		if want := []string{"10", "20"}[i/4]; c.Labels["table_size"] != want {
			t.Errorf("cell %d has table_size %s, want %s", i, c.Labels["table_size"], want)
		}
	}
}

func TestExcludeIncludeOnly(t *testing.T) {
	t.Parallel()
	s := parse(t, `
name: x
axes: {workload: [w1, w2], threads: [1, 8]}
order: sequential
exclude: [{workload: w1, threads: [1]}]
include:
  - {workload: w1, threads: 32}
  - {workload: w2, threads: 8}   # is there already
`)
	all := "local/w1/asis/8/r1 local/w2/asis/1/r1 local/w2/asis/8/r1 local/w1/asis/32/r1"
	if got := brief(plan(t, s, Options{})); got != all {
		t.Errorf("got  %s\nwant %s", got, all)
	}
	only, err := ParseOnly("threads=8,32 workload=w1")
	if err != nil {
		t.Fatal(err)
	}
	cells := plan(t, s, Options{Only: only})
	if got, want := brief(cells), "local/w1/asis/8/r1 local/w1/asis/32/r1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if cells[1].Index != 1 {
		t.Error("a narrowed plan is not numbered anew")
	}
	for name, c := range map[string]struct {
		only map[string][]string
		want string
	}{
		"axis":  {map[string][]string{"thread": {"1"}}, `narrow x: no axis "thread", did you mean threads?`},
		"value": {map[string][]string{"threads": {"2"}}, `narrow x: axis threads has no value "2", it has 1, 8, 32`},
		"empty": {map[string][]string{"threads": {}}, "narrow x: axis threads: no values given"},
		"none":  {map[string][]string{"threads": {"1"}, "workload": {"w1"}}, "plan x: no cell is left"},
	} {
		_, err := s.Cells(Options{Only: c.only})
		if err == nil || !strings.Contains(err.Error(), c.want) || bench.CodeOf(err) != bench.ExitConfig {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, text := range []string{"threads", "=1", "threads="} {
		if _, err := ParseOnly(text); err == nil {
			t.Errorf("ParseOnly(%q): no error", text)
		}
	}
}

func TestAA(t *testing.T) {
	t.Parallel()
	s := parse(t, "name: x\naxes: {scenario: [off, on], threads: [1, 8]}\nbaseline: {scenario: off}\naa: true\nrepeats: 2\n")
	cells := plan(t, s, Options{})
	if len(cells) != 12 {
		t.Fatalf("%d cells, want 12", len(cells))
	}
	checkOrder(t, s, cells)
	n := 0
	for _, c := range cells {
		if c.Labels["aa"] == "" {
			continue
		}
		n++
		if c.Scenario != "off" || c.Labels["aa"] != "baseline" {
			t.Errorf("A/A cell %s: %v", c.ID, c.Labels)
		}
		env, err := c.Environ(nil)
		if err != nil || !slices.Contains(env, "BENCH_LABELS=aa=baseline") {
			t.Errorf("environment of the A/A cell: %v, %v", env, err)
		}
	}
	if n != 4 {
		t.Errorf("%d A/A cells, want 4", n)
	}
}

func TestEmptyStudyIsOneCell(t *testing.T) {
	t.Parallel()
	cells := plan(t, parse(t, "name: x\n"), Options{Environ: []string{"BENCH_THREADS=4", "BENCH_MYSQL_HOST=db1"}})
	if got, want := brief(cells), "db1:3306/oltp_read_write/asis/4/r1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIndexFromEnv(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		env   map[string]string
		index int
		found bool
		want  string // of the error
	}{
		"none":             {nil, 0, false, ""},
		"explicit":         {map[string]string{"BENCH_CELL_INDEX": "3"}, 3, true, ""},
		"explicit wins":    {map[string]string{"BENCH_CELL_INDEX": "3", "JOB_COMPLETION_INDEX": "5", "AWS_BATCH_JOB_ARRAY_INDEX": "6"}, 3, true, ""},
		"aws":              {map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "7"}, 7, true, ""},
		"kubernetes":       {map[string]string{"JOB_COMPLETION_INDEX": "0"}, 0, true, ""},
		"cloud run":        {map[string]string{"CLOUD_RUN_TASK_INDEX": "1"}, 1, true, ""},
		"google batch":     {map[string]string{"BATCH_TASK_INDEX": "2"}, 2, true, ""},
		"empty is unset":   {map[string]string{"BENCH_CELL_INDEX": "", "BATCH_TASK_INDEX": "2"}, 2, true, ""},
		"two equal":        {map[string]string{"JOB_COMPLETION_INDEX": "2", "BATCH_TASK_INDEX": "2"}, 2, true, ""},
		"two different":    {map[string]string{"JOB_COMPLETION_INDEX": "1", "BATCH_TASK_INDEX": "2"}, 0, false, "JOB_COMPLETION_INDEX is 1 but BATCH_TASK_INDEX is 2: set BENCH_CELL_INDEX"},
		"negative":         {map[string]string{"BENCH_CELL_INDEX": "-1"}, 0, false, `BENCH_CELL_INDEX: "-1", allowed are whole numbers from 0`},
		"word":             {map[string]string{"JOB_COMPLETION_INDEX": "x"}, 0, false, `JOB_COMPLETION_INDEX: "x"`},
		"another platform": {map[string]string{"BATCH_TASK_INSTANCE_INDEX": "4"}, 0, false, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index, found, err := IndexFromEnv(mapLookup(c.env))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || bench.CodeOf(err) != bench.ExitConfig {
					t.Fatalf("error %v, want %s", err, c.want)
				}
				return
			}
			if err != nil || index != c.index || found != c.found {
				t.Errorf("got %d, %v, %v, want %d, %v", index, found, err, c.index, c.found)
			}
		})
	}
}

func mapLookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestPick(t *testing.T) {
	t.Parallel()
	two := plan(t, parse(t, "name: x\naxes: {threads: [1, 8]}\n"), Options{})
	at := func(i string) func(string) (string, bool) { return mapLookup(map[string]string{"BENCH_CELL_INDEX": i}) }
	if c, err := Pick(two, at("1")); err != nil || c.Threads != 8 {
		t.Errorf("index 1: %+v, %v", c, err)
	}
	if c, err := Pick(two[:1], mapLookup(nil)); err != nil || c.Index != 0 {
		t.Errorf("one cell, no index: %+v, %v", c, err)
	}
	for want, err := range map[string]error{
		"the study has 2 cells and no index is set: set BENCH_CELL_INDEX to 0..1": second(Pick(two, mapLookup(nil))),
		"index 2, the study has the cells 0..1":                                   second(Pick(two, at("2"))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || bench.CodeOf(err) != bench.ExitConfig {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestRunIDFromEnv(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		env  map[string]string
		want string
	}{
		"none":      {nil, ""},
		"explicit":  {map[string]string{"BENCH_RUN_ID": "r", "AWS_BATCH_JOB_ID": "x:1"}, "r"},
		"aws child": {map[string]string{"AWS_BATCH_JOB_ID": "876da822:13"}, "876da822"},
		"cloud run": {map[string]string{"CLOUD_RUN_EXECUTION": "job-abc"}, "job-abc"},
	}
	for name, c := range cases {
		if got, ok := RunIDFromEnv(mapLookup(c.env)); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

func TestOptionsFromEnv(t *testing.T) {
	t.Parallel()
	o, err := OptionsFromEnv([]string{"BENCH_ONLY=threads=1,8 scenario=off", "BENCH_SEED=9", "BENCH_REPEATS=3"})
	if err != nil || *o.Seed != 9 || o.Repeats != 3 || strings.Join(o.Only["threads"], ",") != "1,8" || o.Only["scenario"][0] != "off" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := OptionsFromEnv([]string{"BENCH_SEED="}); err != nil || o.Seed != nil || o.Only != nil || o.Repeats != 0 {
		t.Errorf("nothing set: %+v, %v", o, err)
	}
	for _, entry := range []string{"BENCH_ONLY=threads", "BENCH_SEED=-1", "BENCH_REPEATS=0", "BENCH_REPEATS=x"} {
		if _, err := OptionsFromEnv([]string{entry}); bench.CodeOf(err) != bench.ExitConfig {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestLabelAxis(t *testing.T) {
	t.Parallel()
	s := parse(t, "name: x\naxes: {label.path: [old, new], threads: [1, 2]}\nbaseline: {label.path: old}\n")
	cells := plan(t, s, Options{Only: map[string][]string{"path": {"new"}}})
	if len(cells) != 2 || cells[0].Labels["path"] != "new" {
		t.Errorf("narrowed by the label's own name: %s", brief(cells))
	}
	env := must(cells[0].Environ([]string{"BENCH_LABELS=path=mine"}))
	if !slices.Contains(env, "BENCH_LABELS=path=new") {
		t.Errorf("the container wins over a label's axis: %v", env)
	}
	m := s.Manifest(cells, Options{}, "r", "v", time.Time{})
	if m.Study.Baseline.Axis != "path" || len(m.Study.Axes["path"]) != 2 {
		t.Errorf("manifest: %+v", m.Study)
	}
}

func TestUnnamedTarget(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"X=1":                    "local",
		"BENCH_MYSQL_HOST=db1":   "db1:3306",
		"BENCH_MYSQL_HOST=[::1]": "[::1]:3306",
		"BENCH_MYSQL_SOCKET=/s":  "/s",
		"BENCH_DSN=u:p@(x/y@tcp(h:33)/db?tls=true": "h:33",
		"BENCH_DSN=u@tcp(h)/":                      "h:3306",
		"BENCH_DSN=u@tcp([::1])/":                  "[::1]:3306",
		"BENCH_DSN=u@unix(/s/k)/db":                "/s/k",
		"BENCH_DSN=u@/db":                          "127.0.0.1:3306",
		"BENCH_DSN=junk":                           "127.0.0.1:3306",
		"BENCH_TARGET=me":                          "me",
	} {
		if got := plan(t, parse(t, "name: x\n"), Options{Environ: []string{entry}})[0].Target; got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
