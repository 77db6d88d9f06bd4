package study

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cellbench/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// anyName accepts every well-formed setting; what exists is configuration's business.
func anyName(name string) (string, bool) { return "", settingName.MatchString(name) }

func builtin(t *testing.T, name string) *Study {
	t.Helper()
	data, ok := Builtin(name)
	if !ok {
		t.Fatalf("no built-in study %q", name)
	}
	s, err := Parse(name+".yaml", data, KnownNames(config.SettingNames()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update and look at the diff):\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

func TestBuiltinPlans(t *testing.T) {
	t.Parallel()
	counts := map[string]int{
		"demo":                        3 * 2 * 2 * 2,
		"performance-schema-overhead": 6 * 3 * 11,
		"network-architecture":        3 * 12,
		"polardbx-sysbench":           6 * 7,
		"hotspot-update":              11,
	}
	if len(BuiltinNames()) != len(counts) {
		t.Errorf("built in are %v, want %d studies", BuiltinNames(), len(counts))
	}
	for name, want := range counts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := builtin(t, name)
			if s.Name != name {
				t.Errorf("the file %s.yaml names itself %q", name, s.Name)
			}
			cells, err := s.Cells(Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(cells) != want {
				t.Errorf("%d cells, want %d", len(cells), want)
			}
			checkOrder(t, s, cells)
			var plan strings.Builder
			fmt.Fprintf(&plan, "%d cells, about %s\n", len(cells), Estimate(cells, nil).Round(time.Second))
			for _, c := range cells[:min(len(cells), 24)] {
				fmt.Fprintf(&plan, "%d r%d %s\n", c.Index, c.Repeat, c.ID)
			}
			fmt.Fprintf(&plan, "\nvariables of cell 0\n%s\n", strings.Join(cells[0].Show(nil), "\n"))
			golden(t, name+".plan", []byte(plan.String()))
		})
	}
}

// checkOrder holds what every interleaved plan promises.
func checkOrder(t *testing.T, s *Study, cells []Cell) {
	t.Helper()
	perBlock := len(cells) / s.Repeats
	ids := map[string]int{}
	for i, c := range cells {
		if c.Index != i {
			t.Errorf("cell %d has index %d", i, c.Index)
		}
		ids[fmt.Sprintf("%s r%d", c.ID, c.Repeat)]++
		if want := i/perBlock + 1; c.Repeat != want {
			t.Errorf("cell %d is repeat %d, want %d: blocks must be complete", i, c.Repeat, want)
		}
		if i%perBlock > 0 && readsOnly(c.Workload) && !readsOnly(cells[i-1].Workload) && datasetOf(c.Workload) == datasetOf(cells[i-1].Workload) && c.Target == cells[i-1].Target {
			t.Errorf("cell %d (%s) reads after cell %d (%s) wrote the same dataset", i, c.ID, i-1, cells[i-1].ID)
		}
	}
	if len(ids) != len(cells) {
		t.Errorf("%d cells have %d different names", len(cells), len(ids))
	}
}

func TestDemoFitsIntoTwoMinutes(t *testing.T) {
	t.Parallel()
	cells, err := builtin(t, "demo").Cells(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := Estimate(cells, nil); d < 100*time.Second || d > 140*time.Second {
		t.Errorf("the demo takes about %s, want two minutes", d)
	}
}

func TestManifestGolden(t *testing.T) {
	t.Parallel()
	s := builtin(t, "demo")
	o := Options{Only: map[string][]string{"threads": {"8"}}, Environ: []string{"BENCH_TIME=5", "BENCH_MYSQL_PASSWORD=canary", "HOME=/x"}}
	cells, err := s.Cells(o)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Manifest(cells, o, "run1", "v0.0.0", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "manifest.json", append(text, '\n'))
}

// Every cell of a built-in study must be a configuration that loads. Not
// parallel: the environment is the process's.
func TestBuiltinCellsLoad(t *testing.T) {
	for _, name := range BuiltinNames() {
		seen := map[string]bool{} // the number of threads changes nothing
		for _, c := range plan(t, builtin(t, name), Options{Repeats: 1}) {
			if seen[c.Workload+c.Scenario] {
				continue
			}
			seen[c.Workload+c.Scenario] = true
			t.Run(name+"/"+c.ID, func(t *testing.T) {
				for _, entry := range must(c.Environ(nil)) {
					name, value, _ := strings.Cut(entry, "=")
					if name != "BENCH_CELL_ID" && name != "BENCH_CELL_INDEX" { // the cell's place in the plan
						t.Setenv(name, value)
					}
				}
				if _, err := config.Load(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The example in the README is a study that loads.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../infra/studies/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	s, err := Parse("README.md", []byte(example), KnownNames(config.SettingNames()))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells(Options{})
	if err != nil {
		t.Fatal(err)
	}
	// 2 workloads x (2 + 3 + 1 concurrencies of the targets) x (2 modes + A/A) x 6 repeats
	if want := 2 * 6 * 3 * 6; len(cells) != want {
		t.Errorf("%d cells, want %d", len(cells), want)
	}
}
