package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// compare fills what needs a baseline or the whole panel: differences, marks,
// noise, peaks and averages.
func (r *Report) compare() {
	for _, p := range r.Panels {
		base := p.baseline()
		p.markForeign(r.Axis)
		for _, c := range p.Columns {
			for i, point := range c.Points {
				if base != nil && !c.Baseline && point.used != nil {
					point.Delta = stats.Compare(r.metric(base.Points[i]), r.metric(point))
				}
				point.mark()
			}
			c.Peak = peak(c)
			c.Average = average(c)
		}
		if r.Baseline != nil {
			p.Noise = r.noise(p, base)
		}
	}
}

// metric returns the summary that percentages are of, nil when nothing was measured.
func (r *Report) metric(p *Point) *stats.Summary {
	if r.Metric == "tps" {
		return p.TPS
	}
	return p.QPS
}

// baseline returns the column percentages refer to, nil when there is none.
func (p *Panel) baseline() *Column {
	for _, c := range p.Columns {
		if c.Baseline {
			return c
		}
	}
	return nil
}

func (p *Panel) column(value string) *Column {
	for _, c := range p.Columns {
		if c.Value == value {
			return c
		}
	}
	return nil
}

// markForeign marks the points whose results must not be compared with the
// others. Scenarios of one target share a fingerprint; other axes compare
// different things on purpose, so there each column is held to itself.
func (p *Panel) markForeign(axis string) {
	if axis != dimScenario {
		for _, c := range p.Columns {
			markForeign(c.Points, usual(c.Points))
		}
		return
	}
	var all []*Point
	for _, c := range p.Columns {
		all = append(all, c.Points...)
	}
	want := usual(all)
	if b := p.baseline(); b != nil && usual(b.Points) != "" {
		want = usual(b.Points)
	}
	markForeign(all, want)
}

// usual returns the most common fingerprint, the smallest of equals.
func usual(points []*Point) string {
	counts := make(map[string]int)
	for _, p := range points {
		if p.used != nil {
			counts[compat(p.used[0].res)]++
		}
	}
	best := ""
	for k, n := range counts {
		if n > counts[best] || n == counts[best] && k < best {
			best = k
		}
	}
	return best
}

func markForeign(points []*Point, want string) {
	for _, p := range points {
		if p.used != nil && compat(p.used[0].res) != want {
			p.add(MarkForeign)
			p.Notes = append(p.Notes, "fingerprint or engine differs from the other cells of this comparison")
		}
	}
}

func (p *Point) add(m Mark) {
	if !slices.Contains(p.Marks, m) {
		p.Marks = append(p.Marks, m)
	}
}

func (p *Point) has(m Mark) bool { return slices.Contains(p.Marks, m) }

// mark gives the point the marks that follow from its results and its statistics.
func (p *Point) mark() {
	if p.used == nil {
		return
	}
	for _, e := range p.used {
		p.markResult(e.res)
	}
	if len(p.used) < p.repeats {
		p.add(MarkLessRepeats)
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d repeats are used", len(p.used), p.repeats))
	}
	if p.QPS.N == 1 {
		p.add(MarkSingle)
	} else {
		p.Notes = append(p.Notes, p.QPS.Warnings...)
	}
	if d := p.Delta; d != nil {
		switch d.Verdict {
		case stats.Single:
			p.add(MarkSingle)
		case stats.TooFew:
			p.add(MarkFew)
		case stats.Same:
			p.add(MarkSame)
		}
		p.Notes = append(p.Notes, d.Warnings...)
	}
	slices.Sort(p.Notes)
	p.Notes = slices.Compact(p.Notes)
	slices.SortFunc(p.Marks, func(a, b Mark) int { return markRank(a) - markRank(b) })
}

func (p *Point) markResult(res *bench.Result) {
	if res.Steady != nil && res.Steady.Verdict == "unsteady" {
		p.add(MarkUnsteady)
	}
	if clientLimited(res) {
		p.add(MarkClient)
	}
	if res.Counts != nil && res.Counts.Errors > 0 {
		p.add(MarkErrors)
		p.Notes = append(p.Notes, fmt.Sprintf("repeat %d: %d statements failed", res.Cell.Repeat, res.Counts.Errors))
	}
	for _, w := range res.Warnings {
		p.Notes = append(p.Notes, fmt.Sprintf("repeat %d: %s", res.Cell.Repeat, warningText(w)))
	}
}

func clientLimited(res *bench.Result) bool {
	if res.Client != nil && res.Client.Verdict == "client_limited" {
		return true
	}
	return slices.ContainsFunc(res.Warnings, func(w bench.Warning) bool { return w.Code == "client_limited" })
}

func warningText(w bench.Warning) string {
	return strings.TrimSuffix(w.Code+": "+w.Message, ": ")
}

// headline reports whether findings may rest on the point: it was measured, by
// a client that was not the limit, under the fingerprint of the others.
func (p *Point) headline() bool {
	return p.used != nil && !p.has(MarkClient) && !p.has(MarkForeign)
}

// peak returns the best medians of a column.
func peak(c *Column) *Peak {
	var best *Peak
	for _, p := range c.Points {
		if p.used == nil {
			continue
		}
		if best == nil {
			best = &Peak{QPS: -1, TPS: -1}
		}
		if p.QPS.Center > best.QPS {
			best.QPS, best.QPSThreads, best.Marks = p.QPS.Center, p.Threads, p.Marks
		}
		if p.TPS.Center > best.TPS {
			best.TPS, best.TPSThreads = p.TPS.Center, p.Threads
		}
	}
	return best
}

// average is the mean of the percentages of a column's points.
func average(c *Column) *float64 {
	sum, n := 0.0, 0
	for _, p := range c.Points {
		if p.headline() && p.Delta != nil && p.Delta.Percent != nil {
			sum += *p.Delta.Percent
			n++
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	return &mean
}

// noise takes the floor of a panel from an A/A column when there is one, else
// from how far the repeats of the baseline lie from their median.
func (r *Report) noise(p *Panel, base *Column) *Noise {
	n := &Noise{Source: "unknown"}
	take := func(source string, v *float64) {
		if v == nil {
			return
		}
		if a := math.Abs(*v); n.Largest == nil || a > *n.Largest {
			n.Largest = &a
		}
		n.Source = source
		n.Points++
	}
	for _, c := range p.Columns {
		for _, point := range c.Points {
			if c.AA && point.Delta != nil {
				take("aa", point.Delta.Percent)
			}
		}
	}
	if n.Largest != nil || base == nil {
		return n
	}
	for _, point := range base.Points {
		take("repeats", r.metric(point).Spread())
	}
	return n
}

// text says what the noise floor is and where it comes from.
func (n *Noise) text() string {
	switch n.Source {
	case "aa":
		return fmt.Sprintf("Noise floor %.2f %%: the largest difference between the baseline and its A/A repeat over %s.", *n.Largest, plural(n.Points, "point"))
	case "repeats":
		return fmt.Sprintf("Noise floor %.2f %%: the largest distance of a baseline repeat from its median over %s (no A/A cell was run).", *n.Largest, plural(n.Points, "point"))
	}
	return "Noise floor unknown: the baseline was measured once and no A/A cell was run."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// markRank is the place of a mark among others beside one number.
func markRank(m Mark) int {
	for i, l := range legend() {
		if l.mark == m {
			return i
		}
	}
	return len(legend())
}

type markText struct {
	mark Mark
	text string
}

// legend explains every mark.
func legend() []markText {
	return []markText{
		{MarkSame, "not significant: the U test cannot tell it from the baseline (p ≥ 0.05)"},
		{MarkFew, "too few repeats: no difference could pass the test"},
		{MarkSingle, "a single measurement: no statistics behind the number"},
		{MarkLessRepeats, "not all of its repeats are usable"},
		{MarkUnsteady, "unsteady: throughput moved inside the window"},
		{MarkClient, "the load generator was the limit; not used in the findings"},
		{MarkForeign, "another fingerprint or engine than its comparison; not used in the findings"},
		{MarkErrors, "statements failed inside the window"},
	}
}
