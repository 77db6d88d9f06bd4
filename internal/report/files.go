package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"cellbench/internal/bench"
	"golang.org/x/perf/benchfmt"
)

// Files returns the report's files by name: report.html, report.md, report.csv,
// report.json, report.bench and plots/*.svg and *.png. Equal documents and
// options give equal bytes.
func (r *Report) Files() (map[string][]byte, error) {
	files := map[string][]byte{"report.md": r.markdown(), "report.csv": r.csv()}
	var err error
	if files["report.json"], err = r.json(); err != nil {
		return nil, err
	}
	if files["report.bench"], err = r.benchfmt(); err != nil {
		return nil, err
	}
	all := r.plots()
	if err := plotFiles(all, files); err != nil {
		return nil, err
	}
	if files["report.html"], err = r.html(all); err != nil {
		return nil, err
	}
	return files, nil
}

// Summary is the report for a terminal: the summary tables, what was found and
// what breaks the gates.
func (r *Report) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Title)
	for _, t := range r.summaryTables() {
		b.WriteString("\n" + textTable(t))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n- %s", f.Text)
	}
	for _, g := range r.Broken {
		fmt.Fprintf(&b, "\n! %s", g)
	}
	return printable(b.String()) + "\n"
}

// printable drops control characters, which names in documents might carry to
// a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || unicode.IsPrint(c) {
			return c
		}
		return '�'
	}, s)
}

// textTable lays a table out with spaces.
func textTable(t *Table) string {
	rows := append([][]Cell{t.Head}, t.Rows...)
	width := make([]int, len(t.Head))
	text := func(c Cell) string { return strings.ReplaceAll(c.String(), "\n", " ") }
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], len([]rune(text(c))))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Title)
	if t.Convention != "" {
		fmt.Fprintf(&b, "%s\n", t.Convention)
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(text(c))))
			if i == 0 {
				line.WriteString(text(c) + pad)
			} else {
				line.WriteString("  " + pad + text(c))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	return b.String()
}

func (r *Report) json() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("write report.json: %w", err)
	}
	return b.Bytes(), nil
}

// csv is the tidy form: one row for each result document and each planned cell
// without one. Percentages are in report.json; a tidy file has one kind of row.
func (r *Report) csv() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	// Writing to a buffer cannot fail.
	_ = w.Write([]string{
		"run_id", "cell_id", "target", "workload", "scenario", "threads", "repeat", "attempt", "labels", "status", "used", "qps", "tps",
		"mean_ms", "p95_ms", "p99_ms", "errors", "steady", "cv", "client", "server_us_per_query", "reason", "warnings", "key",
	})
	for _, c := range r.Cells {
		errs := ""
		if c.Errors != nil {
			errs = strconv.FormatInt(*c.Errors, 10)
		}
		_ = w.Write([]string{
			c.Run, c.ID, c.Target, c.Workload, c.Scenario, strconv.Itoa(c.Threads), strconv.Itoa(c.Repeat), c.Attempt,
			strings.Join(sortedPairs(c.Labels), ";"), string(c.Status), strconv.FormatBool(c.Used), plainOf(c.QPS), plainOf(c.TPS),
			plainOf(c.MeanMS), plainOf(c.P95MS), plainOf(c.P99MS), errs, c.Steady, plainOf(c.CV), c.Client, plainOf(c.Server), c.Why,
			strings.Join(c.Warnings, "; "), c.Key,
		})
	}
	w.Flush()
	return b.Bytes()
}

// benchfmt writes every used result as a line of the Go benchmark format, so
// that benchstat can read, filter and compare them, e.g. by -col /scenario.
func (r *Report) benchfmt() ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, unit := range []string{"queries/s", "events/s"} {
		if err := w.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: "higher"}); err != nil {
			return nil, fmt.Errorf("write report.bench: %w", err)
		}
	}
	for _, c := range r.Cells {
		if !c.Used || c.Status != bench.StatusOK {
			continue
		}
		if err := w.Write(benchLine(c)); err != nil {
			return nil, fmt.Errorf("write report.bench: %w", err)
		}
	}
	return b.Bytes(), nil
}

func benchLine(c CellRow) *benchfmt.Result {
	name := fmt.Sprintf("%s/target=%s/scenario=%s/threads=%d", benchWord(strings.ToUpper(c.Workload[:1])+c.Workload[1:]), benchWord(c.Target), benchWord(c.Scenario), c.Threads)
	for _, pair := range sortedPairs(c.Labels) {
		k, v, _ := strings.Cut(pair, "=")
		name += "/" + benchWord(k) + "=" + benchWord(v)
	}
	res := &benchfmt.Result{Name: benchfmt.Name(name), Iters: 1}
	res.Values = append(res.Values, benchfmt.Value{Value: *c.QPS, Unit: "queries/s"}, benchfmt.Value{Value: *c.TPS, Unit: "events/s"})
	for _, v := range []struct {
		ms   *float64
		unit string
	}{{c.MeanMS, "mean-ms"}, {c.P95MS, "p95-ms"}, {c.P99MS, "p99-ms"}, {c.Server, "server-us/query"}} {
		if v.ms != nil {
			res.Values = append(res.Values, benchfmt.Value{Value: *v.ms, Unit: v.unit})
		}
	}
	res.SetConfig("run", benchWord(c.Run))
	for i := range res.Config {
		res.Config[i].File = true
	}
	return res
}

// benchWord makes s one word of a benchmark's name: no spaces, no slashes, not
// ending in what looks like -GOMAXPROCS.
func benchWord(s string) string {
	if s == "" {
		return "none"
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c == '/' || c == '-' || unicode.IsSpace(c) || !unicode.IsPrint(c):
			return '_'
		}
		return c
	}, s)
}
