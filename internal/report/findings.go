package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cellbench/internal/report/stats"
)

// find computes the sentences of the report: changes at the chosen concurrency,
// peaks, averages, latency, noise, and what is wrong with the data.
func (r *Report) find() []Finding {
	var out []Finding
	add := func(kind, text string) {
		if text != "" {
			out = append(out, Finding{Kind: kind, Text: text})
		}
	}
	for _, p := range r.Panels {
		for _, at := range r.At {
			add("change", r.changeSentence(p, at))
			if n := len(out); n > 0 && out[n-1].Number == "" {
				out[n-1].Number, out[n-1].About = r.headline(p, at), fmt.Sprintf("%s, %s", p.Title, threadsText(at))
			}
		}
	}
	for _, p := range r.Panels {
		add("peak", r.peakSentence(p))
	}
	for _, group := range r.groups() {
		add("average", r.averageSentence(group))
	}
	for _, p := range r.Panels {
		add("latency", r.latencySentence(p, r.At))
	}
	add("noise", r.noiseSentence())
	add("data", r.dataSentence())
	return out
}

// change is a column's difference at one concurrency.
type change struct {
	column string
	point  *Point
	base   *Point
}

func (c change) percent() float64 { return *c.point.Delta.Percent }

// changes returns what can be said about a panel at a concurrency, the most
// costly first.
func (p *Panel) changes(at int) []change {
	base, i := p.baseline(), slices.Index(p.Threads, at)
	if base == nil || i < 0 || base.Points[i].used == nil || !base.Points[i].headline() {
		return nil
	}
	var list []change
	for _, c := range p.Columns {
		point := c.Points[i]
		if !c.AA && point.headline() && point.Delta != nil && point.Delta.Percent != nil {
			list = append(list, change{c.Value, point, base.Points[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b change) int {
		switch {
		case a.percent() < b.percent():
			return -1
		case a.percent() > b.percent():
			return 1
		}
		return 0
	})
	return list
}

// headline is the largest change a panel's sentence tells of, "~" when none can
// be told from chance.
func (r *Report) headline(p *Panel, at int) string {
	var most *float64
	for _, c := range p.changes(at) {
		v := c.point.Delta.Percent
		if c.point.Delta.Verdict != stats.Same && (most == nil || math.Abs(*v) > math.Abs(*most)) {
			most = v
		}
	}
	if most == nil {
		return string(MarkSame)
	}
	return formatPercent(most)
}

// changeSentence is e.g. "write-only at 32 threads: pfson costs 22.81 % of QPS
// (18,455 against 23,909; a single measurement)".
func (r *Report) changeSentence(p *Panel, at int) string {
	list := p.changes(at)
	if len(list) == 0 {
		return ""
	}
	lead := fmt.Sprintf("%s at %s: ", p.Title, threadsText(at))
	told := slices.DeleteFunc(slices.Clone(list), func(c change) bool { return c.point.Delta.Verdict == stats.Same })
	if len(told) == 0 {
		return lead + fmt.Sprintf("no difference in %s can be told from chance (%s)", r.metricName(), r.spanText(list))
	}
	first, last := told[0], told[len(told)-1]
	var s string
	switch {
	case len(told) == 1 || math.Abs(last.percent()) < math.Abs(first.percent()) && last.percent() >= 0:
		s = r.changeText(first)
	case first.percent() >= 0:
		s = r.changeText(last)
		if last != first {
			s += "; the smallest change is " + formatPercent(first.point.Delta.Percent) + " (" + first.column + ")"
		}
	case last.percent() > 0:
		s = r.changeText(first) + "; " + r.changeText(last)
	default:
		s = r.changeText(first) + "; the least is " + formatPercent(last.point.Delta.Percent) + " (" + last.column + ")"
	}
	return lead + s
}

func (r *Report) spanText(list []change) string {
	if len(list) == 1 {
		return list[0].column + " " + formatPercent(list[0].point.Delta.Percent)
	}
	return formatPercent(list[0].point.Delta.Percent) + " to " + formatPercent(list[len(list)-1].point.Delta.Percent)
}

func (r *Report) changeText(c change) string {
	verb, p := "costs", -c.percent()
	if p < 0 {
		verb, p = "gains", -p
	}
	return fmt.Sprintf("%s %s %.2f %% of %s (%s against %s; %s)", c.column, verb, p, r.metricName(),
		formatRate(r.metric(c.point).Center), formatRate(r.metric(c.base).Center), trust(c.point.Delta))
}

// trust says in words what a difference rests on.
func trust(d *stats.Comparison) string {
	switch d.Verdict {
	case stats.Single:
		return "a single measurement"
	case stats.TooFew:
		return fmt.Sprintf("n=%d, too few repeats for a test", min(d.N, d.NBase))
	}
	return fmt.Sprintf("%s, n=%d", formatP(*d.P), min(d.N, d.NBase))
}

// peakSentence names the best of the panel and, with a baseline, its peak too.
func (r *Report) peakSentence(p *Panel) string {
	var best *Column
	value := func(c *Column) (float64, int) {
		if r.Metric == "tps" {
			return c.Peak.TPS, c.Peak.TPSThreads
		}
		return c.Peak.QPS, c.Peak.QPSThreads
	}
	for _, c := range p.Columns {
		if c.Peak == nil || c.AA {
			continue
		}
		if best == nil {
			best = c
			continue
		}
		if v, _ := value(c); v > first(value(best)) {
			best = c
		}
	}
	if best == nil || len(p.Threads) < 2 {
		return ""
	}
	v, at := value(best)
	s := fmt.Sprintf("%s: peak %s %s at %s (%s)", p.Title, formatRate(v), r.metricName(), threadsText(at), best.Value)
	if base := p.baseline(); base != nil && base != best && base.Peak != nil {
		bv, bat := value(base)
		s += fmt.Sprintf("; the baseline %s peaks at %s with %s", base.Value, formatRate(bv), threadsText(bat))
	}
	return s
}

func first(v float64, _ int) float64 { return v }

// averageSentence gives each column's mean change over all points of a group of
// workloads.
func (r *Report) averageSentence(group []*Panel) string {
	if r.Baseline == nil {
		return ""
	}
	type sum struct {
		total float64
		n     int
	}
	sums := make(map[string]*sum)
	var values []string
	for _, p := range group {
		for _, c := range p.Columns {
			for _, point := range c.Points {
				if c.AA || !point.headline() || point.Delta == nil || point.Delta.Percent == nil {
					continue
				}
				if sums[c.Value] == nil {
					sums[c.Value] = new(sum)
					values = append(values, c.Value)
				}
				sums[c.Value].total += *point.Delta.Percent
				sums[c.Value].n++
			}
		}
	}
	var parts []string
	points := 0
	for _, v := range values {
		mean := sums[v].total / float64(sums[v].n)
		points = max(points, sums[v].n)
		parts = append(parts, fmt.Sprintf("%s %s", v, formatPercent(&mean)))
	}
	if points < 2 {
		return ""
	}
	lead := ""
	if rest := group[0].restTitle(); rest != "" {
		lead = rest + ": "
	}
	return fmt.Sprintf("%saverage change of %s over all %d points: %s", lead, r.metricName(), points, strings.Join(parts, ", "))
}

// latencySentence says what the costliest column does to the 95th percentile.
func (r *Report) latencySentence(p *Panel, at []int) string {
	var parts []string
	for _, t := range at {
		for _, c := range p.changes(t) {
			if c.base.P95 == nil || c.point.P95 == nil {
				continue
			}
			verb := "rises"
			if *c.point.P95 < *c.base.P95 {
				verb = "falls"
			}
			parts = append(parts, fmt.Sprintf("at %s p95 %s from %s ms to %s ms with %s (%s)", threadsText(t), verb,
				formatMS(*c.base.P95), formatMS(*c.point.P95), c.column, formatPercent(percentOf(c.base.P95, c.point.P95))))
			break
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return p.Title + ": " + strings.Join(parts, "; ")
}

func (r *Report) noiseSentence() string {
	var worst *Noise
	for _, p := range r.Panels {
		if p.Noise != nil && p.Noise.Largest != nil && (worst == nil || *p.Noise.Largest > *worst.Largest) {
			worst = p.Noise
		}
	}
	switch {
	case worst != nil:
		what := "its A/A repeat"
		if worst.Source == "repeats" {
			what = "its own repeats"
		}
		return fmt.Sprintf("The baseline differs from %s by up to %.2f %%; a smaller change than that may be noise.", what, *worst.Largest)
	case r.Baseline != nil && len(r.Panels) > 0:
		return "The noise floor is unknown: the baseline was measured once and no A/A cell was run."
	}
	return ""
}

// dataSentence says what is missing or doubtful, or that nothing is.
func (r *Report) dataSentence() string {
	c := r.count
	if c.planned == 0 {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{
		{c.missing, "missing"},
		{c.failed, "failed"},
		{c.invalid, "invalid"},
		{c.interrupted, "interrupted"},
		{c.unsteady, "unsteady"},
		{c.clientLimited, "limited by the client"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.text))
		}
	}
	if c.foreign > 0 {
		parts = append(parts, fmt.Sprintf("%s with another fingerprint or engine", plural(c.foreign, "point")))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("All of %s were measured and are valid.", plural(c.planned, "cell"))
	}
	return fmt.Sprintf("%d of %s were measured and are valid; %s.", c.ok, plural(c.planned, "cell"), strings.Join(parts, ", "))
}
