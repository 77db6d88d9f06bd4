package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
	"github.com/go-analyze/charts"
	"golang.org/x/perf/benchfmt"
)

// cell is a result of one target and workload at 8 threads.
func cell(scenario string, qps float64) made {
	return made{target: "db", workload: "oltp_read_only", scenario: scenario, threads: 8, qps: qps}
}

func (m made) with(change func(*made)) made {
	change(&m)
	return m
}

func percentText(p *Point) string {
	if p.Delta == nil {
		return "none"
	}
	return formatPercent(p.Delta.Percent)
}

func planned(cells ...made) Document {
	m := manifest{RunID: "run", Study: manifestStudy{Baseline: &axisValue{"scenario", "off"}}}
	for _, c := range cells {
		m.Cells = append(m.Cells, bench.Cell{
			ID: bench.CellID(c.target, c.workload, c.scenario, c.threads, c.labels), Target: c.target, Workload: c.workload,
			Scenario: c.scenario, Threads: c.threads, Repeat: max(c.repeat, 1), Labels: c.labels,
		})
	}
	body, _ := json.Marshal(struct {
		Schema string `json:"schema"`
		manifest
	}{"cellbench.manifest/v1", m})
	return Document{Key: "run/manifest.json", Body: body}
}

const panelName = "db, read-only"

func TestNoBaseline(t *testing.T) {
	t.Parallel()
	r := build(t, docs(t, cell("off", 200), cell("on", 150)), Options{})
	if r.Baseline != nil || r.Axis != "scenario" {
		t.Errorf("compares %s against %v, want scenario against nothing", r.Axis, r.Baseline)
	}
	if p := r.at(t, panelName, "on", 8); p.Delta != nil || p.QPS.Center != 150 {
		t.Errorf("point %+v, want 150 without a difference", p)
	}
	for _, f := range r.Findings {
		if f.Kind == "change" || f.Kind == "average" {
			t.Errorf("finding %q without a baseline", f.Text)
		}
	}
}

func TestBaselineWithoutResult(t *testing.T) {
	t.Parallel()
	// The baseline was measured at 8 threads only, so 16 threads has no percentage.
	r := build(t, docs(t, cell("off", 200), cell("on", 150), cell("on", 250).with(func(m *made) { m.threads = 16 })), Options{Baseline: "scenario=off"})
	if got := percentText(r.at(t, panelName, "on", 8)); got != "-25.00 %" {
		t.Errorf("at 8 threads %s, want -25.00 %%", got)
	}
	if got := r.at(t, panelName, "on", 16); got.Delta != nil {
		t.Errorf("at 16 threads %s, want none", percentText(got))
	}
	table := r.panelTable(r.Panels[0])
	if got := table.Rows[1][2].String(); got != "250 (n/a)¹" {
		t.Errorf("the cell reads %q, want 250 (n/a)¹", got)
	}
	if got := table.Rows[1][1].String(); got != "missing" {
		t.Errorf("the baseline's cell reads %q, want missing", got)
	}
}

func TestZeroBaseline(t *testing.T) {
	t.Parallel()
	r := build(t, docs(t, cell("off", 0), cell("on", 150)), Options{Baseline: "scenario=off", MaxOverhead: "5"})
	if got := percentText(r.at(t, panelName, "on", 8)); got != "n/a" {
		t.Errorf("percent %s, want n/a", got)
	}
	if len(r.Gate()) != 1 || !strings.Contains(r.Gate()[0], "nothing could be compared") {
		t.Errorf("gate %q, want it broken: nothing was compared", r.Gate())
	}
	if _, err := r.Files(); err != nil {
		t.Error(err)
	}
}

func TestMissingCell(t *testing.T) {
	t.Parallel()
	all := []made{cell("off", 200), cell("on", 150), cell("sql", 170)}
	r := build(t, append(docs(t, all[0], all[1]), planned(all...)), Options{RequireAll: true})
	p := r.at(t, panelName, "sql", 8)
	if p.State != statusMissing || p.QPS != nil {
		t.Errorf("state %s with %v, want missing without a number", p.State, p.QPS)
	}
	if len(r.Gate()) != 1 || !strings.Contains(r.Gate()[0], "db-oltp_read_only-sql-t8 repeat 1 is missing") {
		t.Errorf("gate %q, want the missing cell", r.Gate())
	}
	if r.count.missing != 1 || r.count.ok != 2 {
		t.Errorf("counted %+v, want 2 valid and 1 missing", r.count)
	}
	want := "2 of 3 cells were measured and are valid; 1 missing."
	if got := r.Findings[len(r.Findings)-1].Text; got != want {
		t.Errorf("finding %q, want %q", got, want)
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	why := "errors over the limit"
	invalid := func(r *bench.Result) { r.Status, r.Reason = bench.StatusInvalid, &why }
	at := func(n int) string { return fmt.Sprintf("20260102T03040%d.000Z-0000000%d", n, n) }
	for _, tc := range []struct {
		name     string
		attempts []func(*made)
		want     float64 // NaN: none is used
	}{
		{"the newest of two valid ones", []func(*made){func(m *made) { m.qps = 100 }, func(m *made) { m.qps = 300 }}, 300},
		{"the newest valid one", []func(*made){func(m *made) { m.qps = 100 }, func(m *made) { m.qps = 300; m.change = invalid }}, 100},
		{"none is valid", []func(*made){func(m *made) { m.qps = 100; m.change = invalid }, func(m *made) { m.qps = 300; m.change = invalid }}, math.NaN()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			list := []made{cell("off", 200)}
			for i, change := range tc.attempts {
				list = append(list, cell("on", 0).with(func(m *made) { m.attempt = at(i + 1); change(m) }))
			}
			r := build(t, docs(t, list...), Options{Baseline: "scenario=off"})
			p := r.at(t, panelName, "on", 8)
			if math.IsNaN(tc.want) != (p.QPS == nil) || p.QPS != nil && (p.QPS.Center != tc.want || p.QPS.N != 1) {
				t.Errorf("used %+v, want %v once", p.QPS, tc.want)
			}
			if len(r.Cells) != 3 {
				t.Errorf("%d rows of cells, want all 3 documents", len(r.Cells))
			}
			if r.count.superseded != 1 {
				t.Errorf("%d superseded, want 1", r.count.superseded)
			}
		})
	}
}

func TestUnequalRepeats(t *testing.T) {
	t.Parallel()
	var list []made
	for i, q := range []float64{100, 104, 98, 102, 101} { // median 101
		list = append(list, cell("off", q).with(func(m *made) { m.repeat = i + 1 }))
	}
	for i, q := range []float64{80, 90, 79} { // median 80
		list = append(list, cell("on", q).with(func(m *made) { m.repeat = i + 1 }))
	}
	r := build(t, append(docs(t, list...), planned(append(slices.Clone(list), cell("on", 0).with(func(m *made) { m.repeat = 4 }))...)), Options{})
	p := r.at(t, panelName, "on", 8)
	if got := percentText(p); got != "-20.79 %" { // 80/101
		t.Errorf("percent %s, want -20.79 %%", got)
	}
	// 5 against 3, fully apart: p = 2 / C(8,3) = 2/56.
	if p.Delta.Verdict != stats.Significant || math.Abs(*p.Delta.P-2.0/56) > 1e-9 {
		t.Errorf("verdict %s with p=%v, want significant with 2/56", p.Delta.Verdict, *p.Delta.P)
	}
	if !p.has(MarkLessRepeats) {
		t.Errorf("marks %q, want the one for a missing repeat", p.Marks)
	}
	if n := r.Panels[0].Noise; n.Source != "repeats" || math.Abs(*n.Largest-100*3.0/101) > 1e-9 {
		t.Errorf("noise %+v, want 2.97 %% from the baseline's repeats", n)
	}
}

func TestAA(t *testing.T) {
	t.Parallel()
	aa := func(m *made) { m.labels = map[string]string{"aa": "baseline"} }
	r := build(t, docs(t, cell("off", 200), cell("off", 203).with(aa), cell("on", 150)), Options{Baseline: "scenario=off"})
	if len(r.Panels) != 1 || len(r.Panels[0].Columns) != 3 {
		t.Fatalf("%d panels, %d columns; want 1 and 3", len(r.Panels), len(r.Panels[0].Columns))
	}
	if c := r.Panels[0].Columns[1]; !c.AA || c.Value != "off (A/A)" {
		t.Errorf("second column %q, A/A %v", c.Value, c.AA)
	}
	if n := r.Panels[0].Noise; n.Source != "aa" || math.Abs(*n.Largest-1.5) > 1e-9 {
		t.Errorf("noise %+v, want 1.5 %% from the A/A cell", n)
	}
	notes := r.panelTable(r.Panels[0]).Notes
	if got := notes[len(notes)-1]; !strings.HasPrefix(got, "Noise floor 1.50 %") {
		t.Errorf("last note %q, want the noise floor", got)
	}
	if strings.Contains(r.Findings[0].Text, "A/A") {
		t.Errorf("finding %q tells of the A/A cell as of a change", r.Findings[0].Text)
	}
}

func TestMixedUnitsAndSchemas(t *testing.T) {
	t.Parallel()
	other := func(r *bench.Result) {
		r.Latency = &bench.LatencyReport{Event: histogram(t, 4, 100, 1)}
		r.Latency.Event.Histogram.Unit = "us"
	}
	list := docs(t, cell("off", 200).with(func(m *made) {
		m.change = func(r *bench.Result) { r.Latency = &bench.LatencyReport{Event: histogram(t, 4, 100, 1)} }
	}), cell("on", 150).with(func(m *made) { m.change = other }))
	list = append(list, Document{Key: "run/cells/x/r1/y.json", Body: []byte(`{"schema":"cellbench.result/v2","throughput":{"qps":1}}`)},
		Document{Key: "notes.json", Body: []byte(`not json`)})
	r := build(t, list, Options{Baseline: "scenario=off", RequireAll: true})
	if p := r.at(t, panelName, "on", 8); p.Latency != nil || p.QPS.Center != 150 || !strings.Contains(strings.Join(p.Notes, "\n"), `unit "us"`) {
		t.Errorf("point %+v with notes %q, want its QPS, no latency and the reason", p.QPS, p.Notes)
	}
	if p := r.at(t, panelName, "off", 8); p.Latency == nil || p.Latency.Count != 100 {
		t.Error("the readable histogram is gone")
	}
	if len(r.Unread) != 2 || len(r.Gate()) != 2 {
		t.Errorf("unread %v, gate %q; want both documents in both", r.Unread, r.Gate())
	}
}

func TestHistogramsAreMerged(t *testing.T) {
	t.Parallel()
	// 90 fast events of 1 ms in one repeat, 10 slow ones of 100 ms in the other:
	// the 95th percentile of all is 100 ms, the mean of both p95 would be 50.5.
	exact := func(ms float64, n int) func(*bench.Result) {
		return func(r *bench.Result) {
			r.Latency = &bench.LatencyReport{Event: constant(t, ms, n), Statements: map[string]*bench.Latency{"update": constant(t, ms, n)}}
		}
	}
	r := build(t, docs(t,
		cell("off", 200).with(func(m *made) { m.change = exact(1, 90) }),
		cell("off", 200).with(func(m *made) { m.repeat = 2; m.change = exact(100, 10) }),
		cell("on", 200).with(func(m *made) { m.change = exact(2, 100) }),
		cell("on", 200).with(func(m *made) { m.repeat = 2; m.change = exact(2, 100) }),
	), Options{Baseline: "scenario=off"})
	d := r.at(t, panelName, "off", 8).Latency
	if d.Count != 100 || math.Abs(d.Percentiles[1]-100) > 0.2 || math.Abs(d.MeanMS-10.9) > 0.02 {
		t.Errorf("count %d, p95 %v, mean %v; want 100, 100, 10.9", d.Count, d.Percentiles[1], d.MeanMS)
	}
	// One kind of statement only: a table with that kind and its rate.
	table := r.statementTable(r.Panels[0], 8)
	if len(table.Rows) != 2 || table.Rows[0][0].Text != "update" {
		t.Fatalf("statement table %+v, want one kind in two scenarios", table.Rows)
	}
	if got := table.Rows[1][2].Text; got != "1.67" { // 200 in 120 s
		t.Errorf("rate %s, want 1.67", got)
	}
	if got := table.Rows[1][5].Percent; got != "-98.00 %" { // p95 2 ms against 100 ms
		t.Errorf("p95 change %s, want -98.00 %%", got)
	}
}

func constant(t testing.TB, ms float64, n int) *bench.Latency {
	t.Helper()
	return summary(t, slices.Repeat([]float64{ms}, n))
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	other := func(r *bench.Result) { f := "f1"; r.Fingerprint = &f }
	driver := func(r *bench.Result) { r.Engine = &bench.Engine{Name: "driver", Protocol: "text"} }
	r := build(t, docs(t,
		cell("off", 200), cell("off", 202).with(func(m *made) { m.repeat = 2 }), cell("off", 900).with(func(m *made) { m.repeat = 3; m.change = other }),
		cell("on", 100).with(func(m *made) { m.change = driver }), cell("sql", 190),
	), Options{Baseline: "scenario=off"})
	off, on := r.at(t, panelName, "off", 8), r.at(t, panelName, "on", 8)
	if off.QPS.Center != 201 || off.QPS.N != 2 || !off.has(MarkLessRepeats) {
		t.Errorf("baseline %+v %q, want 201 of the two alike and a mark", off.QPS, off.Marks)
	}
	if !on.has(MarkForeign) {
		t.Errorf("marks %q, want the other engine marked", on.Marks)
	}
	if got := r.Findings[0].Text; strings.Contains(got, "on ") || !strings.Contains(got, "sql costs 5.47 %") {
		t.Errorf("finding %q, want it to rest on sql alone", got)
	}
	if i := slices.IndexFunc(r.Cells, func(c CellRow) bool { return c.Repeat == 3 }); r.Cells[i].Used || !strings.Contains(r.Cells[i].Why, "fingerprint") {
		t.Errorf("row %+v, want it unused and why", r.Cells[i])
	}
}

func TestDoubtfulCells(t *testing.T) {
	t.Parallel()
	r := build(t, docs(t, cell("off", 200),
		cell("limited", 100).with(func(m *made) {
			m.change = func(r *bench.Result) { r.Client = &bench.Client{Verdict: "client_limited"} }
		}),
		cell("wobbly", 150).with(func(m *made) {
			m.change = func(r *bench.Result) { r.Steady = &bench.Steady{Verdict: "unsteady", CV: 0.3} }
		}),
		cell("cut", 50).with(func(m *made) { m.change = func(r *bench.Result) { r.Status = bench.StatusInterrupted } }),
		cell("broken", 0).with(func(m *made) {
			m.change = func(r *bench.Result) { r.Status, r.Throughput, r.Window = bench.StatusFailed, nil, nil }
		}),
		cell("empty", 0).with(func(m *made) { m.change = func(r *bench.Result) { r.Throughput = nil } }),
		cell("negative", -4),
	), Options{Baseline: "scenario=off"})
	for value, want := range map[string]struct {
		state bench.Status
		mark  Mark
	}{
		"limited": {bench.StatusOK, MarkClient}, "wobbly": {bench.StatusOK, MarkUnsteady},
		"cut": {bench.StatusInterrupted, ""}, "broken": {bench.StatusFailed, ""},
		"empty": {bench.StatusInvalid, ""}, "negative": {bench.StatusInvalid, ""},
	} {
		p := r.at(t, panelName, value, 8)
		if p.State != want.state || want.mark != "" && !p.has(want.mark) {
			t.Errorf("%s: %s %q, want %s with mark %q", value, p.State, p.Marks, want.state, want.mark)
		}
		if (p.QPS != nil) != (want.state == bench.StatusOK) {
			t.Errorf("%s: number %v in state %s", value, p.QPS, p.State)
		}
	}
	if got, want := r.Findings[0].Text, "db, read-only at 8 threads: wobbly costs 25.00 % of QPS (150 against 200; a single measurement)"; got != want {
		t.Errorf("finding %q, want %q", got, want)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	list := docs(t, cell("off", 200), cell("on", 150), cell("sql", 190))
	for _, tc := range []struct {
		name, limit string
		broken      int
	}{
		{"none", "", 0},
		{"holds", "25%", 0},
		{"one breaks", "24.9 %", 1},
		{"both break", "1", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := build(t, list, Options{Baseline: "scenario=off", MaxOverhead: tc.limit}).Gate(); len(got) != tc.broken {
				t.Errorf("gate %q, want %d lines", got, tc.broken)
			}
		})
	}
}

// A loss that the test can't tell from chance breaks no gate.
func TestGateAndChance(t *testing.T) {
	t.Parallel()
	var list []made
	for i := range 4 {
		list = append(list, cell("off", []float64{100, 50, 120, 90}[i]).with(func(m *made) { m.repeat = i + 1 }))
		list = append(list, cell("on", []float64{60, 110, 70, 80}[i]).with(func(m *made) { m.repeat = i + 1 }))
	}
	r := build(t, docs(t, list...), Options{Baseline: "scenario=off", MaxOverhead: "5%"})
	p := r.at(t, panelName, "on", 8)
	if !p.has(MarkSame) || *p.Delta.Percent > -5 {
		t.Fatalf("percent %s %q, want a loss that isn't significant", percentText(p), p.Marks)
	}
	if len(r.Gate()) != 0 {
		t.Errorf("gate %q, want it to hold", r.Gate())
	}
	if !strings.Contains(r.Findings[0].Text, "no difference in QPS can be told from chance") {
		t.Errorf("finding %q", r.Findings[0].Text)
	}
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	list := docs(t, cell("off", 200), cell("on", 150))
	for _, tc := range []struct {
		name string
		docs []Document
		o    Options
		want string
	}{
		{"no documents", nil, Options{}, "no results"},
		{"no results", []Document{{Key: "a", Body: []byte("{}")}}, Options{}, "none of 1 documents is a result"},
		{"baseline without value", list, Options{Baseline: "scenario"}, "want axis=value"},
		{"baseline of threads", list, Options{Baseline: "threads=8"}, "are not compared"},
		{"baseline nobody has", list, Options{Baseline: "scenario=none"}, `the values are "off", "on"`},
		{"concurrency that is no number", list, Options{At: []string{"threads=many"}}, "want threads=N"},
		{"concurrency nobody has", list, Options{At: []string{"9"}}, "no cell has threads=9"},
		{"limit that is no number", list, Options{Baseline: "scenario=off", MaxOverhead: "much"}, "want a percentage"},
		{"limit without a baseline", list, Options{MaxOverhead: "5%"}, "no baseline is named"},
		{"metric", list, Options{Metric: "ips"}, "allowed are qps and tps"},
		{"reference without numbers", list, Options{References: []Reference{{"x.csv", []byte("a,b\n1,2\n")}}}, "no column qps"},
		{"reference without rows", list, Options{References: []Reference{{"x.csv", []byte("a,qps\n")}}}, "no rows"},
		{"reference with a word", list, Options{References: []Reference{{"x.csv", []byte("a,qps\nx,fast\n")}}}, `line 2: qps: "fast" is not a number`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(tc.docs, tc.o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || bench.CodeOf(err) != bench.ExitConfig {
				t.Errorf("error %v (exit %d), want %q with exit %d", err, bench.CodeOf(err), tc.want, bench.ExitConfig)
			}
		})
	}
}

func TestAxes(t *testing.T) {
	t.Parallel()
	label := func(k, v string) map[string]string { return map[string]string{k: v} }
	random := func(v string) func(*bench.Result) {
		return func(r *bench.Result) { r.Config["BENCH_RAND_TYPE"] = v; r.Cell.ID += v }
	}
	for _, tc := range []struct {
		name, baseline, panel, value string
		list                         []made
	}{
		{"target", "target=a", "read-only", "b", []made{cell("s", 200).with(func(m *made) { m.target = "a" }), cell("s", 150).with(func(m *made) { m.target = "b" })}},
		{"label", "spec=small", "db, read-only", "large", []made{cell("s", 200).with(func(m *made) { m.labels = label("spec", "small") }), cell("s", 150).with(func(m *made) { m.labels = label("spec", "large") })}},
		{"label of each target", "label.spec=small", "read-only", "large", []made{
			cell("s", 200).with(func(m *made) { m.target, m.labels = "a", label("spec", "small") }),
			cell("s", 150).with(func(m *made) { m.target, m.labels = "b", label("spec", "large") }),
		}},
		{"target with labels of its own", "target=a", "read-only", "b", []made{
			cell("s", 200).with(func(m *made) { m.target, m.labels = "a", label("spec", "small") }),
			cell("s", 150).with(func(m *made) { m.target, m.labels = "b", label("spec", "large") }),
		}},
		{"run", "run=r1", "db, read-only", "r2", []made{cell("s", 200).with(func(m *made) { m.run = "r1" }), cell("s", 150).with(func(m *made) { m.run = "r2" })}},
		{"setting", "BENCH_RAND_TYPE=uniform", "db, read-only", "zipfian", []made{cell("s", 200).with(func(m *made) { m.change = random("uniform") }), cell("s", 150).with(func(m *made) { m.change = random("zipfian") })}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := build(t, docs(t, tc.list...), Options{Baseline: tc.baseline})
			if len(r.Panels) != 1 {
				t.Errorf("%d panels, want 1", len(r.Panels))
			}
			if got := percentText(r.at(t, tc.panel, tc.value, 8)); got != "-25.00 %" {
				t.Errorf("percent %s, want -25.00 %%", got)
			}
		})
	}
}

// Cells that differ in a setting nobody compares are never put together.
func TestSettingsSeparatePanels(t *testing.T) {
	t.Parallel()
	long := func(r *bench.Result) { r.Config["BENCH_TIME"] = "300" }
	r := build(t, docs(t, cell("off", 200), cell("off", 100).with(func(m *made) { m.run = "other"; m.change = long })), Options{Baseline: "scenario=off"})
	if len(r.Panels) != 2 {
		t.Fatalf("%d panels, want one for each time", len(r.Panels))
	}
	for _, p := range r.Panels {
		if n := p.Columns[0].Points[0].QPS.N; n != 1 {
			t.Errorf("%s: %d results put together, want 1", p.Title, n)
		}
	}
}

// Numbers that no measurement can have make a result invalid, and are named.
func TestImpossibleNumbers(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*bench.Result){
		"":                         func(*bench.Result) {},
		"is not a rate":            func(r *bench.Result) { r.Throughput.QPS = -5 },
		"qps is 1.7e+308, but":     func(r *bench.Result) { r.Throughput.QPS = 1.7e308 },
		"tps is 7, but":            func(r *bench.Result) { r.Throughput.TPS = 7 },
		"the window lasted 0 s":    func(r *bench.Result) { r.Window.ElapsedS = 0 },
		"the counts do not add up": func(r *bench.Result) { r.Counts.Queries++ },
		"-1 reads":                 func(r *bench.Result) { r.Counts.Reads, r.Counts.Writes = -1, r.Counts.Queries+1 },
		"holds no throughput":      func(r *bench.Result) { r.Throughput = nil },
	} {
		r := &bench.Result{
			Schema: bench.ResultSchema, Status: bench.StatusOK, Cell: bench.Cell{Workload: "w", Threads: 1},
			Window: &bench.Window{ElapsedS: 3}, Throughput: &bench.Throughput{QPS: 10.0 / 3, TPS: 1.0 / 3},
			Counts: &bench.Counts{Queries: 10, Reads: 7, Writes: 2, Others: 1, Events: 1},
		}
		change(r)
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		e, err := readResult(Document{Key: "k", Body: body})
		switch {
		case err != nil:
			t.Errorf("%s: %v", want, err)
		case want == "" && e.res.Status != bench.StatusOK:
			t.Errorf("a good one is %s: %s", e.res.Status, *e.res.Reason)
		case want != "" && (e.res.Status != bench.StatusInvalid || !strings.Contains(*e.res.Reason, want)):
			t.Errorf("status %s, reason %v; want invalid because %q", e.res.Status, e.res.Reason, want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	list := demo(t, 2)
	first := files(t, list)
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = append(list, list[0]) // the same document again changes nothing
	second := files(t, list)
	for name, body := range first {
		if !bytes.Equal(body, second[name]) {
			t.Errorf("%s differs for the same documents in another order", name)
		}
	}
	if len(first) != len(second) || len(first) < 20 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
}

func files(t testing.TB, list []Document) map[string][]byte {
	t.Helper()
	f, err := build(t, list, Options{}).Files()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	evil := `<script>alert("x")</script>'|` + "`" + `*[a](javascript:b)` + "\x1b[31m\n"
	evilCell := func(scenario string, qps float64) made {
		return cell(scenario, qps).with(func(m *made) {
			m.target, m.workload, m.labels = evil, evil, map[string]string{evil: evil}
			m.change = func(r *bench.Result) {
				r.Warn(evil, evil)
				r.Latency = &bench.LatencyReport{Event: histogram(t, 1, 10, 1), Statements: map[string]*bench.Latency{evil: histogram(t, 1, 10, 1)}}
				r.Intervals = []bench.Interval{{TS: 1, LengthS: 1, Queries: 5}, {TS: 2, LengthS: 1, Queries: 5}}
				r.Server = &bench.Server{Flavour: evil, Version: evil, Variables: map[string]string{evil: evil}}
			}
		})
	}
	r := build(t, append(docs(t, evilCell(evil, 200), evilCell("on", 100)), Document{Key: evil, Body: []byte(evil)}),
		Options{Baseline: "scenario=on", Title: evil, References: []Reference{{evil, []byte("scenario,qps\n\"<script>alert(1)</script>\",5\n")}}})
	f, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	html := string(f["report.html"])
	if strings.Count(html, "<script>") != 1 || strings.Count(html, "</script>") != 1 {
		t.Error("a name reached the page unescaped")
	}
	for name, body := range f {
		if strings.HasSuffix(name, ".svg") && bytes.Contains(body, []byte("<script>")) {
			t.Errorf("%s: a name reached the drawing unescaped", name)
		}
	}
	markdown := string(f["report.md"])
	if strings.Contains(markdown, "<script>") || strings.Contains(markdown, "\x1b") || strings.Contains(markdown, "[a](") {
		t.Error("a name reached the Markdown unescaped")
	}
	if strings.Contains(r.Summary(), "\x1b") {
		t.Error("a name reached the terminal with its control characters")
	}
	reader := benchfmt.NewReader(bytes.NewReader(f["report.bench"]), "report.bench")
	results := 0
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			results++
		case *benchfmt.SyntaxError:
			t.Errorf("report.bench: %v", rec)
		}
	}
	if results != 2 {
		t.Errorf("report.bench holds %d results, want 2", results)
	}
}

// The page must work from a disk: nothing in it may name a place to fetch from.
func TestPageFetchesNothing(t *testing.T) {
	t.Parallel()
	html := string(files(t, study1(t))["report.html"])
	for _, forbidden := range []string{"src=", "<link", "@import", "url(", "<iframe", "<img", "fetch(", "XMLHttpRequest"} {
		if strings.Contains(html, forbidden) {
			t.Errorf("the page holds %q", forbidden)
		}
	}
	if !strings.Contains(html, `default-src &#39;none&#39;`) && !strings.Contains(html, `default-src 'none'`) {
		t.Error("the page's content policy is gone")
	}
}

func TestThousandCells(t *testing.T) {
	if testing.Short() {
		t.Skip("a large report")
	}
	// 5 scenarios, 4 workloads, 10 concurrencies, 5 repeats, each with an event
	// histogram and one of a kind of statement.
	hist := histogram(t, 3, 2000, 9)
	kinds := map[string]*bench.Latency{"point_select": hist}
	var list []Document
	for _, w := range []string{"oltp_point_select", "oltp_read_only", "oltp_write_only", "oltp_read_write"} {
		for s := range 5 {
			for threads := 1; threads <= 512; threads *= 2 {
				for repeat := 1; repeat <= 5; repeat++ {
					m := made{target: "db", workload: w, scenario: fmt.Sprintf("s%d", s), threads: threads, repeat: repeat, qps: float64(1000*threads*(100-s)/100 + repeat)}
					m.change = func(r *bench.Result) { r.Latency = &bench.LatencyReport{Event: hist, Statements: kinds} }
					list = append(list, m.doc(t))
				}
			}
		}
	}
	if len(list) != 1000 {
		t.Fatalf("%d documents", len(list))
	}
	r := build(t, list, Options{Baseline: "scenario=s0"})
	f, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Panels) != 4 || r.count.ok != 1000 || len(r.Cells) != 1000 {
		t.Errorf("%d panels, %d valid cells, %d rows; want 4, 1000, 1000", len(r.Panels), r.count.ok, len(r.Cells))
	}
	p := r.at(t, "db, write-only", "s4", 512)
	if want := 100 * (float64(1000*512*96/100+3)/(1000*512+3) - 1); math.Abs(*p.Delta.Percent-want) > 1e-9 || p.Latency.Count != 10000 {
		t.Errorf("percent %v over %d events, want %v over 10000", *p.Delta.Percent, p.Latency.Count, want)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("report.html %d bytes, %d MB from the system", len(f["report.html"]), m.Sys>>20)
}

func FuzzBuild(f *testing.F) {
	good := cell("off", 200).with(func(m *made) {
		m.change = func(r *bench.Result) {
			r.Latency = &bench.LatencyReport{Event: histogram(f, 1, 10, 1)}
			r.Intervals = []bench.Interval{{TS: 1, LengthS: 1, Queries: 5}, {TS: 2, LengthS: 1, Queries: 5}}
		}
	}).doc(f)
	f.Add(good.Body)
	f.Add([]byte(`{"schema":"cellbench.result/v1","status":"ok","cell":{"workload":"w","threads":1},"throughput":{"qps":1e308}}`))
	f.Add([]byte(`{"schema":"cellbench.manifest/v1","study":{"axes":{"scenario":null}},"cells":[{"threads":-1}]}`))
	f.Add(planned(cell("off", 1), cell("on", 2)).Body)
	base := cell("off", 100).doc(f)
	base.Key = "a"
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Build([]Document{base, {Key: "b", Body: body}}, Options{Baseline: "scenario=off"})
		if err != nil {
			t.Fatal(err) // one good result is always enough
		}
		if len(body)%8 == 0 { // drawing takes far longer than all the rest
			draw(t, r)
		}
		_, err1 := r.json()
		_, err2 := r.benchfmt()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		_, _, _ = r.markdown(), r.csv(), r.Summary()
	})
}

// draw makes the page and the drawings in it, without the PNG pictures.
func draw(t *testing.T, r *Report) {
	t.Helper()
	all := r.plots()
	for _, list := range all {
		for _, p := range list {
			var err error
			if p.svg, err = p.render(charts.ChartOutputSVG); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := r.html(all); err != nil {
		t.Fatal(err)
	}
}

func FuzzReadReference(f *testing.F) {
	for _, name := range []string{"performance_schema_overhead.csv", "polardbx_sysbench.csv", "hotspot_update.csv"} {
		f.Add(bytes.Join(bytes.SplitN(published(f, name), []byte("\n"), 9)[:3], []byte("\n"))) // the first lines are enough to mutate
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		table, err := ReadReference("fuzz", body)
		if err == nil {
			_ = table.tables(0)
		} else if bench.CodeOf(err) != bench.ExitConfig {
			t.Errorf("error %v has exit %d", err, bench.CodeOf(err))
		}
	})
}

// The server's CPU per query of two repeats is 80 and 84 against 100 and 110:
// medians 82 and 105, 28.05 % more.
func TestServerCPU(t *testing.T) {
	t.Parallel()
	cpu := func(us float64) func(*bench.Result) {
		return func(r *bench.Result) {
			r.Server = &bench.Server{CPU: &bench.ServerCPU{USPerQuery: us, Source: "procfs"}}
		}
	}
	var list []made
	for i, us := range []float64{80, 84} {
		list = append(list, cell("off", 200).with(func(m *made) { m.repeat = i + 1; m.change = cpu(us) }),
			cell("on", 180).with(func(m *made) { m.repeat = i + 1; m.change = cpu([]float64{100, 110}[i]) }))
	}
	r := build(t, docs(t, list...), Options{Baseline: "scenario=off"})
	i := slices.IndexFunc(r.sections(), func(s section) bool { return s.ID == "cpu" })
	if i < 0 {
		t.Fatal("no section on the server's CPU")
	}
	if got := r.sections()[i].Tables[0].Rows[0][2].String(); got != "105.0 (+28.05 %)" {
		t.Errorf("cell %q, want 105.0 (+28.05 %%)", got)
	}
}
