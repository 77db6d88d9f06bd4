package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// referenceTolerance is how far a published percentage may lie from the one its
// own numbers give, in percentage points: half of the last digit each for the
// percentage and for the rounding of both numbers.
const referenceTolerance = 0.015

// ReferenceTable is a published table, with its percentages computed anew.
type ReferenceTable struct {
	Name     string         `json:"name"`
	Metric   string         `json:"metric"`   // "qps" or "tps"
	Peaks    bool           `json:"peaks"`    // one row per compared value, not per concurrency
	Axis     string         `json:"axis"`     // column whose values are compared
	Baseline *string        `json:"baseline"` // value percentages refer to; null if none is published
	Dims     []string       `json:"dims"`     // columns that separate tables
	Rows     []ReferenceRow `json:"rows"`
	Wrong    int            `json:"wrong"`   // published percentages that do not follow
	Checked  int            `json:"checked"` // published percentages
}

// ReferenceRow is one published number.
type ReferenceRow struct {
	Dims      map[string]string `json:"dims"`
	Value     string            `json:"value"`   // of the compared column
	Threads   *int              `json:"threads"` // null when the table has none
	Number    float64           `json:"number"`
	Text      string            `json:"text"` // as published
	Published *float64          `json:"published_percent"`
	Percent   *float64          `json:"percent"` // computed from the published numbers
	Wrong     bool              `json:"wrong"`   // the published percentage does not follow
	Measured  *float64          `json:"measured"`
	Delta     *float64          `json:"measured_percent"`
}

// columns is where a published table keeps what.
type columns struct {
	number, percent, threads, axis int
	dims                           []int
	baseline, metric               string
	peaks                          bool
}

// ReadReference reads a published table from CSV with a header. It understands
// any set of columns with one number among qps, tps, peak_qps and peak_tps; a
// column threads, a published percentage (its name contains "percent" and may
// end in _vs_VALUE, which names the baseline) and further columns are optional.
// What is compared is the column that holds the baseline, else the last of the
// further ones. Errors carry ExitConfig and the line.
func ReadReference(name string, body []byte) (*ReferenceTable, error) {
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))).ReadAll()
	if err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read reference %s: %w", name, err)
	}
	if len(records) < 2 {
		return nil, bench.Errorf(bench.ExitConfig, "read reference %s: no rows below the header", name)
	}
	cols, err := findColumns(records)
	if err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read reference %s: %w", name, err)
	}
	head := records[0]
	t := &ReferenceTable{Name: name, Metric: cols.metric, Peaks: cols.peaks, Axis: head[cols.axis]}
	for _, d := range cols.dims {
		t.Dims = append(t.Dims, head[d])
	}
	for i, rec := range records[1:] {
		row, err := cols.row(head, rec)
		if err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "read reference %s: line %d: %w", name, i+2, err)
		}
		t.Rows = append(t.Rows, row)
	}
	if cols.baseline != "" {
		t.Baseline = &cols.baseline
		t.recompute()
	}
	return t, nil
}

func findColumns(records [][]string) (columns, error) {
	c := columns{number: -1, percent: -1, threads: -1, axis: -1}
	var dims []int
	for i, h := range records[0] {
		name := strings.ToLower(strings.TrimSpace(h))
		switch {
		case name == "qps" || name == "tps" || name == "peak_qps" || name == "peak_tps":
			if c.number < 0 {
				c.number, c.metric = i, strings.TrimPrefix(name, "peak_")
				c.peaks = strings.HasPrefix(name, "peak_")
			}
		case strings.Contains(name, "percent"):
			c.percent = i
			if _, base, ok := strings.Cut(name, "_vs_"); ok {
				c.baseline = base
			}
		case name == "threads":
			c.threads = i
		default:
			dims = append(dims, i)
		}
	}
	if c.number < 0 {
		return c, fmt.Errorf("no column qps, tps, peak_qps or peak_tps among %q", records[0])
	}
	for _, i := range dims {
		if c.baseline != "" && slices.ContainsFunc(records[1:], func(r []string) bool { return r[i] == c.baseline }) {
			c.axis = i
		}
	}
	if c.axis < 0 && c.baseline != "" {
		return c, fmt.Errorf("no column holds the baseline %q that column %q names", c.baseline, records[0][c.percent])
	}
	if c.axis < 0 {
		if len(dims) == 0 {
			return c, fmt.Errorf("no column says what the numbers are of, in %q", records[0])
		}
		c.axis = dims[len(dims)-1]
	}
	c.dims = slices.DeleteFunc(dims, func(i int) bool { return i == c.axis })
	c.findPeaks(records)
	return c, nil
}

// findPeaks sees a table of peaks in one that has a single concurrency for each
// of its values.
func (c *columns) findPeaks(records [][]string) {
	if c.threads < 0 {
		c.peaks = true
		return
	}
	seen := make(map[string]bool)
	for _, rec := range records[1:] {
		key := rec[c.axis]
		for _, d := range c.dims {
			key += "\x00" + rec[d]
		}
		if seen[key] {
			return
		}
		seen[key] = true
	}
	c.peaks = true
}

func (c columns) row(head, rec []string) (ReferenceRow, error) {
	row := ReferenceRow{Value: rec[c.axis], Text: rec[c.number], Dims: make(map[string]string)}
	for _, d := range c.dims {
		row.Dims[head[d]] = rec[d]
	}
	var err error
	if row.Number, err = number(rec[c.number]); err != nil {
		return row, fmt.Errorf("%s: %w", head[c.number], err)
	}
	if c.threads >= 0 {
		n, err := strconv.Atoi(strings.TrimSpace(rec[c.threads]))
		if err != nil || n < 1 {
			return row, fmt.Errorf("threads: %q is not a number of threads", rec[c.threads])
		}
		row.Threads = &n
	}
	if c.percent >= 0 && strings.TrimSpace(rec[c.percent]) != "" {
		p, err := number(strings.TrimSuffix(strings.TrimSpace(rec[c.percent]), "%"))
		if err != nil {
			return row, fmt.Errorf("%s: %w", head[c.percent], err)
		}
		row.Published = &p
	}
	return row, nil
}

func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

// place names where a row stands: everything but the compared value.
func (t *ReferenceTable) place(row ReferenceRow) string {
	var key strings.Builder
	for _, d := range t.Dims {
		fmt.Fprintf(&key, "%q ", row.Dims[d])
	}
	if row.Threads != nil && !t.Peaks {
		fmt.Fprintf(&key, "%d", *row.Threads)
	}
	return key.String()
}

// recompute fills the percentages from the published numbers and marks those
// that were published otherwise.
func (t *ReferenceTable) recompute() {
	base := make(map[string]float64)
	for _, row := range t.Rows {
		if row.Value == *t.Baseline {
			base[t.place(row)] = row.Number
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if b, ok := base[t.place(*row)]; ok && row.Value != *t.Baseline {
			row.Percent = stats.Percent(b, row.Number)
		}
		if row.Published == nil {
			continue
		}
		t.Checked++
		if row.Percent == nil || math.Abs(*row.Percent-*row.Published) > referenceTolerance {
			row.Wrong = true
			t.Wrong++
		}
	}
}

// measure finds the measured number for each published one: equal workload,
// concurrency and compared value, and of the other columns all that the measured
// cells know. A row that fits no measured cell, or several, gets none.
func (t *ReferenceTable) measure(r *Report) {
	for i := range t.Rows {
		row := &t.Rows[i]
		var found []*Point
		var peaks []*Peak
		for _, p := range r.Panels {
			if c := p.fits(r.Axis, t, row); c != nil {
				peaks = append(peaks, c.Peak)
				if row.Threads != nil {
					if j := slices.Index(p.Threads, *row.Threads); j >= 0 {
						found = append(found, c.Points[j])
					}
				}
			}
		}
		switch {
		case t.Peaks && len(peaks) == 1 && peaks[0] != nil:
			v := peaks[0].QPS
			if t.Metric == "tps" {
				v = peaks[0].TPS
			}
			row.Measured = &v
		case !t.Peaks && len(found) == 1 && found[0].used != nil:
			v := found[0].QPS
			if t.Metric == "tps" {
				v = found[0].TPS
			}
			row.Measured = &v.Center
			if found[0].Delta != nil && t.Metric == r.Metric {
				row.Delta = found[0].Delta.Percent
			}
		}
	}
}

// fits returns the column of p that row is about, nil if none.
func (p *Panel) fits(axis string, t *ReferenceTable, row *ReferenceRow) *Column {
	value := row.Value
	if axis != t.Axis {
		v, ok := row.Dims[axis]
		if !ok {
			return nil
		}
		value = v
	}
	for _, d := range p.Dims {
		want, ok := row.Dims[d.Name]
		if d.Name == t.Axis {
			want, ok = row.Value, true
		}
		if ok && want != d.Value && d.Name != dimTarget {
			return nil
		}
		if ok && d.Name == dimTarget && want != d.Value && p.knownTarget(t, want) {
			return nil
		}
	}
	return p.column(value)
}

// knownTarget reports whether the name of this panel's target is among those of
// the publication. A server of our own has a name of its own and then stands
// beside each published target.
func (p *Panel) knownTarget(t *ReferenceTable, _ string) bool {
	for _, d := range p.Dims {
		if d.Name != dimTarget {
			continue
		}
		for _, row := range t.Rows {
			if row.Dims[dimTarget] == d.Value || t.Axis == dimTarget && row.Value == d.Value {
				return true
			}
		}
	}
	return false
}

// tables are the published tables with what was measured beside them.
func (t *ReferenceTable) tables(index int) []*Table {
	byPlace := make(map[string]*Table)
	var out []*Table
	measured := slices.ContainsFunc(t.Rows, func(r ReferenceRow) bool { return r.Measured != nil })
	for _, row := range t.Rows {
		title := t.title(row)
		tab := byPlace[title]
		if tab == nil {
			tab = &Table{ID: fmt.Sprintf("reference-%d-%d", index+1, len(out)+1), Title: title, Convention: t.convention(), Head: t.head(measured)}
			byPlace[title] = tab
			out = append(out, tab)
		}
		tab.Rows = append(tab.Rows, t.cells(row, measured))
	}
	for _, tab := range out {
		if tab.uses(func(c Cell) bool { return c.Class == "wrong" }) {
			tab.Notes = append(tab.Notes, "✗ the published percentage does not follow from the published numbers")
		}
	}
	return out
}

func (t *ReferenceTable) title(row ReferenceRow) string {
	parts := []string{t.Name}
	for _, d := range t.Dims {
		v := row.Dims[d]
		switch d {
		case dimWorkload:
			v = workloadName(v)
		case dimTarget:
		default:
			v = strings.ReplaceAll(d, "_", " ") + " " + v
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", ")
}

func (t *ReferenceTable) convention() string {
	s := fmt.Sprintf("Published %s", strings.ToUpper(t.Metric))
	if t.Peaks {
		s = fmt.Sprintf("Published peak %s", strings.ToUpper(t.Metric))
	}
	if t.Baseline != nil {
		s += fmt.Sprintf(", and its change against %s as published and as computed from the published numbers: 100 × (value / baseline − 1). Negative is slower", *t.Baseline)
	}
	return s + "."
}

func (t *ReferenceTable) head(measured bool) []Cell {
	var head []Cell
	if t.Rows[0].Threads != nil {
		head = append(head, Cell{Text: "threads", Head: true})
	}
	what := "published " + strings.ToUpper(t.Metric)
	if t.Peaks {
		what = "published peak " + strings.ToUpper(t.Metric)
	}
	head = append(head, Cell{Text: strings.ReplaceAll(t.Axis, "_", " "), Head: true}, Cell{Text: what, Class: "num"})
	if t.Baseline != nil {
		head = append(head, Cell{Text: "published change", Class: "num"}, Cell{Text: "computed change", Class: "num"})
	}
	if measured {
		head = append(head, Cell{Text: "measured here", Class: "num"})
		if t.Baseline != nil {
			head = append(head, Cell{Text: "measured change", Class: "num"})
		}
	}
	return head
}

func (t *ReferenceTable) cells(row ReferenceRow, measured bool) []Cell {
	var cells []Cell
	if row.Threads != nil {
		n := strconv.Itoa(*row.Threads)
		cells = append(cells, Cell{Text: n, Value: n, Head: true})
	}
	cells = append(cells, Cell{Text: row.Value, Head: true}, Cell{Text: publishedText(row.Text), Value: plain(row.Number)})
	if t.Baseline != nil {
		published, computed := none(), none()
		if row.Published != nil {
			published = Cell{Text: formatPercent(row.Published), Value: percentNumber(*row.Published)}
		}
		if row.Wrong {
			published.Class, published.Text = "wrong", published.Text+" ✗"
		}
		if row.Percent != nil {
			computed = Cell{Text: formatPercent(row.Percent), Value: percentNumber(*row.Percent)}
		} else if row.Published != nil {
			computed.Text = notAvailable
		}
		cells = append(cells, published, computed)
	}
	if measured {
		cells = append(cells, rateCell(row.Measured))
		if t.Baseline != nil {
			cell := none()
			if row.Delta != nil {
				cell = Cell{Text: formatPercent(row.Delta), Value: percentNumber(*row.Delta)}
			}
			cells = append(cells, cell)
		}
	}
	return cells
}

// publishedText keeps the digits as published and groups the thousands.
func publishedText(s string) string {
	whole, fraction, ok := strings.Cut(strings.TrimSpace(s), ".")
	if strings.ContainsAny(whole, ",eE+ ") {
		return s
	}
	if ok {
		return group(whole) + "." + fraction
	}
	return group(whole)
}
