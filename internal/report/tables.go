package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// Table is one table as data. HTML, Markdown and the terminal write the same one.
type Table struct {
	ID         string
	Title      string
	Convention string // printed over it
	Head       []Cell
	Rows       [][]Cell
	Notes      []string // printed under it
	Folded     bool     // HTML: shown when asked for
}

// Cell is one cell of a table.
type Cell struct {
	Text    string // what people read, without percent and marks
	Percent string // "-22.81 %", "n/a" or ""
	Marks   []Mark
	Small   string // a second, smaller line: interval, p and n
	Title   string // everything the number is qualified by, one line each
	Value   string // the number for a spreadsheet, "" for text
	Class   string // "better", "worse", "same", "gap", "base" or ""
	Head    bool   // a row heading
}

// String is the cell in a line of text.
func (c Cell) String() string {
	s := c.Text
	if c.Percent != "" {
		s += " (" + c.Percent + ")"
	}
	return s + joinMarks(c.Marks)
}

// PercentValue is the percent as a bare number for a spreadsheet.
func (c Cell) PercentValue() string { return strings.TrimSuffix(c.Percent, " %") }

// MarksText is the marks in one string.
func (c Cell) MarksText() string { return joinMarks(c.Marks) }

// metricName is how tables call the report's metric.
func (r *Report) metricName() string { return strings.ToUpper(r.Metric) }

// convention is the sentence over each table with percentages of throughput.
func (r *Report) convention() string {
	if r.Baseline == nil {
		return r.metricName() + ", median of the repeats. No baseline was named, so there are no percentages."
	}
	return fmt.Sprintf("%s, median of the repeats, and in brackets the change against %s = %s: 100 × (value / baseline − 1). Negative is slower.",
		r.metricName(), r.Axis, *r.Baseline)
}

// panelTable is the main table of a panel: threads down, compared values across.
func (r *Report) panelTable(p *Panel) *Table {
	t := &Table{ID: p.ID + "-table", Title: p.Title, Convention: r.convention(), Head: []Cell{{Text: "threads", Head: true}}}
	for _, c := range p.Columns {
		t.Head = append(t.Head, columnHead(c))
	}
	for i, threads := range p.Threads {
		row := []Cell{{Text: strconv.Itoa(threads), Value: strconv.Itoa(threads), Head: true}}
		for _, c := range p.Columns {
			row = append(row, r.pointCell(c, c.Points[i]))
		}
		t.Rows = append(t.Rows, row)
	}
	if average := averageRow(p); average != nil {
		t.Rows = append(t.Rows, average)
	}
	t.explain()
	if p.Noise != nil {
		t.Notes = append(t.Notes, p.Noise.text())
	}
	return t
}

func columnHead(c *Column) Cell {
	cell := Cell{Text: c.Value, Class: "num"}
	switch {
	case c.Baseline:
		cell.Small = "baseline"
	case c.AA:
		cell.Small = "A/A repeat of the baseline"
	}
	return cell
}

// averageRow is the last row of a panel's table, nil without any percentage.
func averageRow(p *Panel) []Cell {
	row, any := []Cell{{Text: "average", Head: true}}, false
	for _, c := range p.Columns {
		cell := Cell{Class: "sum"}
		if c.Average != nil {
			any = true
			cell.Text = formatPercent(c.Average)
			cell.Value = percentNumber(*c.Average)
		}
		row = append(row, cell)
	}
	if !any || len(p.Threads) < 2 {
		return nil
	}
	return row
}

// pointCell is a number with its percentage, its marks and its statistics.
func (r *Report) pointCell(c *Column, p *Point) Cell {
	if p.used == nil {
		return Cell{Text: string(p.State), Class: "gap", Title: strings.Join(p.Notes, "\n")}
	}
	s := r.metric(p)
	cell := Cell{Text: formatRate(s.Center), Value: plain(s.Center), Marks: p.Marks, Title: strings.Join(p.Notes, "\n"), Small: statLine(s, p.Delta)}
	switch {
	case c.Baseline:
		cell.Class = "base"
	case r.Baseline != nil && (p.Delta == nil || p.Delta.Percent == nil):
		cell.Percent = notAvailable
	case p.Delta != nil:
		cell.Percent = formatPercent(p.Delta.Percent)
		cell.Class = deltaClass(p.Delta, 1)
	}
	return cell
}

// deltaClass colours significant changes only. sign is 1 when more is better,
// -1 when less is.
func deltaClass(d *stats.Comparison, sign float64) string {
	switch {
	case d.Verdict == stats.Same:
		return "same"
	case d.Verdict != stats.Significant || d.Percent == nil || *d.Percent == 0:
		return ""
	case *d.Percent*sign > 0:
		return "better"
	}
	return "worse"
}

// statLine is the interval, the p-value and the repeats, "" for a single one.
func statLine(s *stats.Summary, d *stats.Comparison) string {
	if s.N < 2 {
		return ""
	}
	var parts []string
	if s.Lo != nil && s.Hi != nil {
		parts = append(parts, fmt.Sprintf("[%s, %s]", formatRate(*s.Lo), formatRate(*s.Hi)))
	}
	if d != nil && d.P != nil {
		parts = append(parts, formatP(*d.P))
	}
	return strings.Join(append(parts, fmt.Sprintf("n=%d", s.N)), " ")
}

// explain adds a note for each mark the table uses, and for gaps.
func (t *Table) explain() {
	for _, l := range legend() {
		if t.uses(func(c Cell) bool { return slices.Contains(c.Marks, l.mark) }) {
			t.Notes = append(t.Notes, string(l.mark)+" "+l.text)
		}
	}
	if t.uses(func(c Cell) bool { return c.Percent == notAvailable }) {
		t.Notes = append(t.Notes, "n/a: the baseline is missing or zero")
	}
	if t.uses(func(c Cell) bool { return strings.HasPrefix(c.Small, "[") }) {
		t.Notes = append(t.Notes, "[low, high]: 95 % confidence interval of the median")
	}
	if t.uses(func(c Cell) bool { return c.Class == "gap" }) {
		t.Notes = append(t.Notes, "a word in place of a number: the cell has no usable result; the list of cells says why")
	}
}

func (t *Table) uses(f func(Cell) bool) bool {
	return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return slices.ContainsFunc(row, f) })
}

// summaryTables put all workloads side by side at the chosen concurrency, one
// table for each set of the other dimensions.
func (r *Report) summaryTables() []*Table {
	var tables []*Table
	for _, at := range r.At {
		byTitle := make(map[string]*Table)
		for _, group := range r.groups() {
			t := r.summaryTable(group, at)
			if t != nil && byTitle[t.Title] == nil {
				byTitle[t.Title] = t
				t.ID = fmt.Sprintf("summary-%d", len(tables)+1)
				tables = append(tables, t)
			}
		}
	}
	return tables
}

// groups collects the panels that differ by workload only.
func (r *Report) groups() [][]*Panel {
	var groups [][]*Panel
	at := make(map[string]int)
	for _, p := range r.Panels {
		key := p.restTitle()
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// restTitle is the panel's title without the workload.
func (p *Panel) restTitle() string {
	return panelTitle(slices.DeleteFunc(slices.Clone(p.Dims), func(d Dim) bool { return d.Name == dimWorkload }))
}

func (r *Report) summaryTable(group []*Panel, at int) *Table {
	title := fmt.Sprintf("All workloads at %s", threadsText(at))
	if rest := group[0].restTitle(); rest != "" {
		title = rest + ": " + strings.ToLower(title[:1]) + title[1:]
	}
	t := &Table{Title: title, Convention: r.convention(), Head: []Cell{{Text: r.Axis, Head: true}}}
	var values []string
	for _, p := range group {
		if !slices.Contains(p.Threads, at) {
			continue
		}
		t.Head = append(t.Head, Cell{Text: workloadName(p.Workload), Class: "num"})
		for _, c := range p.Columns {
			if !slices.Contains(values, c.Value) {
				values = append(values, c.Value)
			}
		}
	}
	for _, v := range values {
		row := []Cell{{Text: v, Head: true}}
		for _, p := range group {
			i := slices.Index(p.Threads, at)
			if i < 0 {
				continue
			}
			cell := none()
			if c := p.column(v); c != nil {
				cell = r.pointCell(c, c.Points[i])
				row[0].Small = columnHead(c).Small
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.explain()
	t.Notes = append(t.Notes, noiseNotes(group, at)...)
	return t
}

// noiseNotes gives the noise floor of each workload, once when it is the same.
func noiseNotes(group []*Panel, at int) []string {
	var notes []string
	same := true
	for _, p := range group {
		if p.Noise != nil && slices.Contains(p.Threads, at) {
			same = same && p.Noise.text() == group[0].Noise.text()
			notes = append(notes, workloadName(p.Workload)+": "+p.Noise.text())
		}
	}
	if same && len(notes) > 0 {
		return []string{group[0].Noise.text()}
	}
	return notes
}

func threadsText(n int) string { return plural(n, "thread") }

// peakTables list the best throughput of every column, one table for each set
// of dimensions beside the workload.
func (r *Report) peakTables() []*Table {
	var tables []*Table
	for i, group := range r.groups() {
		title := "Peaks"
		if rest := group[0].restTitle(); rest != "" {
			title = rest + ": peaks"
		}
		t := &Table{
			ID: fmt.Sprintf("peak-%d", i+1), Title: title, Convention: r.peakConvention(),
			Head: []Cell{{Text: "workload", Head: true}, {Text: r.Axis, Head: true}, {Text: "threads", Class: "num"}, {Text: "peak QPS", Class: "num"}, {Text: "threads", Class: "num"}, {Text: "peak TPS", Class: "num"}},
		}
		for _, p := range group {
			t.Rows = append(t.Rows, r.peakRows(p)...)
		}
		t.explain()
		tables = append(tables, t)
	}
	return tables
}

func (r *Report) peakConvention() string {
	if r.Baseline == nil {
		return "The best median over all concurrencies, and the threads it was reached at."
	}
	return fmt.Sprintf("The best median over all concurrencies and the threads it was reached at; in brackets the change of the peak against the peak of %s = %s. Negative is slower.", r.Axis, *r.Baseline)
}

func (r *Report) peakRows(p *Panel) [][]Cell {
	var rows [][]Cell
	base := p.baseline()
	for _, c := range p.Columns {
		row := []Cell{{Text: workloadName(p.Workload), Head: true}, {Text: c.Value, Head: true}}
		if c.Peak == nil {
			rows = append(rows, append(row, none(), none(), none(), none()))
			continue
		}
		qps, tps := c.Peak.QPS, c.Peak.TPS
		cells := []Cell{
			numberCell(c.Peak.QPSThreads),
			{Text: formatRate(qps), Value: plain(qps), Marks: withoutTest(c.Peak.Marks)},
			numberCell(c.Peak.TPSThreads),
			{Text: formatRate(tps), Value: plain(tps)},
		}
		if base != nil && !c.Baseline {
			cells[1].Percent, cells[3].Percent = notAvailable, notAvailable
			if base.Peak != nil {
				cells[1].Percent = formatPercent(stats.Percent(base.Peak.QPS, qps))
				cells[3].Percent = formatPercent(stats.Percent(base.Peak.TPS, tps))
			}
		}
		rows = append(rows, append(row, cells...))
	}
	return rows
}

// withoutTest drops the marks of the test against the baseline at the same
// concurrency, which say nothing about the peaks of two columns.
func withoutTest(marks []Mark) []Mark {
	return slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return m == MarkSame || m == MarkFew })
}

func numberCell(n int) Cell { return Cell{Text: strconv.Itoa(n), Value: strconv.Itoa(n)} }

// latencyTable lists merged percentiles of whole events, nil when there are none.
// at 0 takes every concurrency.
func (r *Report) latencyTable(p *Panel, at int) *Table {
	title := p.Title + ": latency at every concurrency"
	if at > 0 {
		title = p.Title + ": latency at " + threadsText(at)
	}
	t := &Table{
		ID: fmt.Sprintf("%s-latency-%d", p.ID, at), Title: title, Folded: at == 0,
		Convention: latencyConvention(r, "Latency of whole events in milliseconds, from the merged histograms of all repeats (percentiles are never averaged)", "is slower"),
		Head:       []Cell{{Text: "threads", Head: true}, {Text: r.Axis, Head: true}, {Text: "events", Class: "num"}, {Text: "min", Class: "num"}, {Text: "mean", Class: "num"}},
	}
	for _, q := range percentiles() {
		t.Head = append(t.Head, Cell{Text: percentileName(q), Class: "num"})
	}
	t.Head = append(t.Head, Cell{Text: "max", Class: "num"})
	base := p.baseline()
	for i, threads := range p.Threads {
		if at > 0 && at != threads {
			continue
		}
		for _, c := range p.Columns {
			var b *Distribution
			if base != nil && !c.Baseline {
				b = base.Points[i].Latency
			}
			if d := c.Points[i].Latency; d != nil {
				t.Rows = append(t.Rows, latencyRow(threads, c, d, b))
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// latencyConvention is the sentence over a table in which more is worse; more
// says what a positive change means.
func latencyConvention(r *Report, what, more string) string {
	if r.Baseline == nil {
		return what + "."
	}
	return fmt.Sprintf("%s, and in brackets the change against %s = %s: 100 × (value / baseline − 1). Positive %s.", what, r.Axis, *r.Baseline, more)
}

func latencyRow(threads int, c *Column, d, base *Distribution) []Cell {
	row := []Cell{
		{Text: strconv.Itoa(threads), Value: strconv.Itoa(threads), Head: true},
		{Text: c.Value, Head: true},
		{Text: group(strconv.FormatInt(d.Count, 10)), Value: strconv.FormatInt(d.Count, 10)},
		msCell(d.MinMS, nil), msCell(d.MeanMS, meanOf(base)),
	}
	for i, v := range d.Percentiles {
		var b *float64
		if base != nil {
			b = &base.Percentiles[i]
		}
		row = append(row, msCell(v, b))
	}
	return append(row, msCell(d.MaxMS, nil))
}

func meanOf(d *Distribution) *float64 {
	if d == nil {
		return nil
	}
	return &d.MeanMS
}

func msCell(v float64, base *float64) Cell {
	c := Cell{Text: formatMS(v), Value: plain(v)}
	if base != nil {
		c.Percent = formatPercent(percentOf(base, &v))
	}
	return c
}

// statementTable lists each kind of statement at a concurrency, nil when no
// result holds kinds.
func (r *Report) statementTable(p *Panel, at int) *Table {
	i := slices.Index(p.Threads, at)
	if i < 0 {
		return nil
	}
	t := &Table{
		ID: fmt.Sprintf("%s-statements-%d", p.ID, at), Title: fmt.Sprintf("%s: statements at %s", p.Title, threadsText(at)),
		Convention: latencyConvention(r, "Latency of single statements in milliseconds, merged over all repeats", "is slower"),
		Head:       []Cell{{Text: "statement", Head: true}, {Text: r.Axis, Head: true}, {Text: "per second", Class: "num"}, {Text: "mean", Class: "num"}, {Text: "p50", Class: "num"}, {Text: "p95", Class: "num"}, {Text: "p99", Class: "num"}},
	}
	base := p.baseline()
	for _, kind := range kindsOf(p, i) {
		for _, c := range p.Columns {
			d := c.Points[i].Statements[kind]
			if d == nil {
				continue
			}
			var b *Distribution
			if base != nil && !c.Baseline {
				b = base.Points[i].Statements[kind]
			}
			full := latencyRow(at, c, d, b)
			rate := Cell{Text: formatRate(d.PerSecond), Value: plain(d.PerSecond)}
			t.Rows = append(t.Rows, []Cell{{Text: kind, Head: true}, full[1], rate, full[4], full[5], full[6], full[7]})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func kindsOf(p *Panel, i int) []string {
	var kinds []string
	for _, c := range p.Columns {
		for kind := range c.Points[i].Statements {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// cpuTable is the server's CPU time per query, nil when no result knows it. It is
// far less noisy than throughput and shows a cost that the clients' waiting hides.
func (r *Report) cpuTable(p *Panel) *Table {
	t := &Table{
		ID: p.ID + "-cpu", Title: p.Title + ": server CPU per query", Head: []Cell{{Text: "threads", Head: true}},
		Convention: latencyConvention(r, "CPU time of the server process in microseconds per query, median of the repeats", "costs more"),
	}
	for _, c := range p.Columns {
		t.Head = append(t.Head, columnHead(c))
	}
	base, known := p.baseline(), false
	for i, threads := range p.Threads {
		row := []Cell{{Text: strconv.Itoa(threads), Value: strconv.Itoa(threads), Head: true}}
		for _, c := range p.Columns {
			cell := none()
			if v := c.Points[i].CPU; v != nil {
				known = true
				cell = Cell{Text: formatMS(*v), Value: plain(*v)}
				if base != nil && !c.Baseline {
					cell.Percent = formatPercent(percentOf(base.Points[i].CPU, v))
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if !known {
		return nil
	}
	return t
}

// manyCells is from how many rows on the list of all cells is folded.
const manyCells = 40

// cellTables are the cells that need a look, then every result document and
// every planned cell without one.
func (r *Report) cellTables() []*Table {
	var doubtful []CellRow
	for _, c := range r.Cells {
		if c.Status != bench.StatusOK || !c.Used || c.Why != "" || c.Steady == "unsteady" || c.Client == "client_limited" || len(c.Warnings) > 0 || c.Errors != nil && *c.Errors > 0 {
			doubtful = append(doubtful, c)
		}
	}
	var tables []*Table
	if len(doubtful) > 0 && len(doubtful) < len(r.Cells) {
		t := r.cellTable(doubtful)
		t.ID, t.Title = "cells-doubtful", fmt.Sprintf("Cells that need a look: %d of %d", len(doubtful), len(r.Cells))
		tables = append(tables, t)
	}
	all := r.cellTable(r.Cells)
	all.ID, all.Title, all.Folded = "cells-all", fmt.Sprintf("Every cell: %d", len(r.Cells)), len(r.Cells) > manyCells
	return append(tables, all)
}

func (r *Report) cellTable(rows []CellRow) *Table {
	t := &Table{
		Head: []Cell{{Text: "cell", Head: true}, {Text: "repeat", Class: "num"}, {Text: "status"}, {Text: "QPS", Class: "num"}, {Text: "TPS", Class: "num"}, {Text: "p95 ms", Class: "num"}, {Text: "errors", Class: "num"}, {Text: "cv", Class: "num"}, {Text: "client"}, {Text: "remarks"}},
	}
	for _, c := range rows {
		status := Cell{Text: string(c.Status)}
		if c.Status != bench.StatusOK {
			status.Class = "bad"
		}
		name := c.ID
		if len(r.Runs) > 1 {
			name = c.Run + " / " + name
		}
		steady := none()
		if c.CV != nil {
			steady = Cell{Text: fmt.Sprintf("%.2f %%", 100**c.CV), Value: plain(*c.CV)}
		}
		if c.Steady == "unsteady" {
			steady.Class = "bad"
		}
		remarks := slices.Clone(c.Warnings)
		if c.Why != "" {
			remarks = append([]string{c.Why}, remarks...)
		}
		errs := none()
		if c.Errors != nil {
			errs = Cell{Text: strconv.FormatInt(*c.Errors, 10), Value: strconv.FormatInt(*c.Errors, 10)}
		}
		t.Rows = append(t.Rows, []Cell{
			{Text: name, Head: true, Title: c.Key},
			numberCell(c.Repeat), status, rateCell(c.QPS), rateCell(c.TPS), msOr(c.P95MS), errs,
			steady,
			{Text: cmpOr(strings.ReplaceAll(c.Client, "_", " "), "–")},
			{Text: strings.Join(remarks, "; "), Class: "text"},
		})
	}
	return t
}

// none stands where there is no number.
func none() Cell { return Cell{Text: "–", Class: "none"} }

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func rateCell(v *float64) Cell {
	if v == nil {
		return none()
	}
	return Cell{Text: formatRate(*v), Value: plain(*v)}
}

func msOr(v *float64) Cell {
	if v == nil {
		return none()
	}
	return msCell(*v, nil)
}
