package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
	"github.com/go-analyze/charts"
)

// afterTable ends the key of the plots that stand below a table, not above it.
const afterTable = "-after"

// plots returns all charts of the report, by the ID of the table or section
// they stand beside.
func (r *Report) plots() map[string][]*plot {
	out := make(map[string][]*plot)
	for _, p := range r.Panels {
		id := p.ID + "-table"
		out[id] = append(out[id], r.throughputPlot(p))
		for _, at := range r.At {
			if t := r.timePlot(p, at); t != nil {
				out[id+afterTable] = append(out[id+afterTable], t)
			}
			if l := r.latencyPlot(p, at); l != nil {
				id := fmt.Sprintf("%s-latency-%d", p.ID, at)
				out[id] = append(out[id], l)
			}
		}
	}
	for i, at := range r.At {
		for j, group := range r.groups() {
			if b := r.changePlot(group, at, i*len(r.groups())+j+1); b != nil {
				out["summary"] = append(out["summary"], b)
			}
		}
	}
	return out
}

// plotFiles draws every chart as SVG and PNG.
func plotFiles(all map[string][]*plot, files map[string][]byte) error {
	for _, list := range all {
		for _, p := range list {
			var err error
			if p.svg, err = p.render(charts.ChartOutputSVG); err != nil {
				return err
			}
			files["plots/"+p.Name+".svg"] = standalone(p.svg)
			if files["plots/"+p.Name+".png"], err = p.render(charts.ChartOutputPNG); err != nil {
				return err
			}
		}
	}
	return nil
}

// standalone gives an SVG a size of its own, for viewers that need one.
func standalone(svg []byte) []byte {
	view := bytes.Index(svg, []byte(`viewBox="0 0 `))
	if view < 0 {
		return svg
	}
	rest := svg[view+len(`viewBox="0 0 `):]
	size, _, ok := bytes.Cut(rest, []byte(`"`))
	w, h, ok2 := bytes.Cut(size, []byte(" "))
	if !ok || !ok2 {
		return svg
	}
	return bytes.Replace(svg, []byte("<svg "), fmt.Appendf(nil, `<svg width="%s" height="%s" `, w, h), 1)
}

// styleIndex gives the baseline the first style and every other column its own.
func styleIndex(p *Panel, i int) int {
	if p.baseline() == nil {
		return i + 1
	}
	return i
}

// throughputPlot is the metric by threads, a line for each compared value with
// the interval of its median. Threads are categories: doubling is one step.
func (r *Report) throughputPlot(p *Panel) *plot {
	out := &plot{
		Name: p.ID + "-throughput", Title: p.Title + ": " + r.metricName() + " by threads", xTitle: "threads", yTitle: r.metricName(),
		Sub: "median of the repeats; band: 95 % confidence interval where there are 6 repeats or more, else from the least to the most",
		Alt: p.Title + ": " + r.metricName() + " by threads, one line for each " + r.Axis + "; the table below holds the numbers",
	}
	for i, t := range p.Threads {
		out.xs = append(out.xs, tick{float64(i), strconv.Itoa(t)})
	}
	repeated := false
	for i, c := range p.Columns {
		s := series{name: c.Value, style: styleIndex(p, i)}
		for j, point := range c.Points {
			m := r.metric(point)
			y, lo, hi := math.NaN(), math.NaN(), math.NaN()
			if m != nil {
				y = m.Center
				lo, hi = interval(m)
				repeated = repeated || m.N > 1
			}
			s.x, s.y, s.lo, s.hi = append(s.x, float64(j)), append(s.y, y), append(s.lo, lo), append(s.hi, hi)
		}
		out.series = append(out.series, s)
	}
	if !repeated {
		out.Sub = "single measurements"
	}
	return out
}

// interval is the confidence interval of a median, else its range, NaN for a
// single measurement.
func interval(s *stats.Summary) (lo, hi float64) {
	switch {
	case s.Lo != nil && s.Hi != nil:
		return *s.Lo, *s.Hi
	case s.N > 1:
		return s.Min, s.Max
	}
	return math.NaN(), math.NaN()
}

// changePlot is the change against the baseline at one concurrency, a bar for
// each workload and compared value; nil without any.
func (r *Report) changePlot(group []*Panel, at, number int) *plot {
	title := fmt.Sprintf("Change of %s at %s", r.metricName(), threadsText(at))
	if rest := group[0].restTitle(); rest != "" {
		title = rest + ": change of " + r.metricName() + " at " + threadsText(at)
	}
	out := &plot{Name: fmt.Sprintf("change-%d", number), Title: title, Sub: "percent of the baseline; left of the line is slower. ~ not significant", Alt: title + "; the tables above hold the numbers"}
	if r.Baseline != nil {
		out.Sub = fmt.Sprintf("percent against %s = %s; left of the line is slower; ~ not significant", r.Axis, *r.Baseline)
	}
	for _, p := range group {
		i := slices.Index(p.Threads, at)
		if i < 0 {
			continue
		}
		g := barGroup{name: workloadName(p.Workload)}
		for j, c := range p.Columns {
			d := c.Points[i].Delta
			if d == nil || d.Percent == nil {
				continue
			}
			b := bar{name: c.Value, style: styleIndex(p, j), value: *d.Percent, label: formatPercent(d.Percent)}
			if d.Verdict == stats.Same {
				b.label += " ~"
			}
			b.lo, b.hi = changeInterval(r.metric(c.Points[i]), r.metric(p.baseline().Points[i]))
			g.bars = append(g.bars, b)
		}
		if len(g.bars) > 0 {
			out.bars = append(out.bars, g)
		}
	}
	if len(out.bars) == 0 {
		return nil
	}
	return out
}

// changeInterval is the interval of a measurement in percent of the baseline's median.
func changeInterval(s, base *stats.Summary) (lo, hi float64) {
	lo, hi = interval(s)
	if base.Center == 0 {
		return math.NaN(), math.NaN()
	}
	return 100 * (lo/base.Center - 1), 100 * (hi/base.Center - 1)
}

// latencyPlot is the latency by percentile at one concurrency, on an axis that
// gives each further nine the same room; nil without histograms.
func (r *Report) latencyPlot(p *Panel, at int) *plot {
	i := slices.Index(p.Threads, at)
	if i < 0 {
		return nil
	}
	title := fmt.Sprintf("%s: latency by percentile at %s", p.Title, threadsText(at))
	out := &plot{
		Name: fmt.Sprintf("%s-latency-%d", p.ID, at), Title: title, xTitle: "percentile", yTitle: "ms, logarithmic", yLog: true,
		Sub: "whole events, merged over all repeats", Alt: title + ", one line for each " + r.Axis + "; the table below holds the numbers",
	}
	var xs []float64
	for _, q := range curvePercentiles() {
		x := -math.Log10(1 - q/100)
		xs = append(xs, x)
		if q == 0 {
			out.xs = append(out.xs, tick{x, "min"})
		} else {
			out.xs = append(out.xs, tick{x, strconv.FormatFloat(q, 'f', -1, 64)})
		}
	}
	for j, c := range p.Columns {
		if d := c.Points[i].Latency; d != nil {
			out.series = append(out.series, series{name: c.Value, style: styleIndex(p, j), x: xs, y: d.curve})
		}
	}
	if len(out.series) == 0 {
		return nil
	}
	return out
}

// timePlot is the metric over the window of one repeat of each column; nil when
// no result holds at least two intervals.
func (r *Report) timePlot(p *Panel, at int) *plot {
	i := slices.Index(p.Threads, at)
	if i < 0 {
		return nil
	}
	title := fmt.Sprintf("%s: %s over time at %s", p.Title, r.metricName(), threadsText(at))
	out := &plot{
		Name: fmt.Sprintf("%s-time-%d", p.ID, at), Title: title, xTitle: "seconds since the start of the window", yTitle: r.metricName(),
		Sub: "the first repeat of each", Alt: title + ", one line for each " + r.Axis,
	}
	end := 0.0
	for j, c := range p.Columns {
		if c.Points[i].used == nil {
			continue
		}
		s := series{name: c.Value, style: styleIndex(p, j), plain: true}
		s.x, s.y = r.overTime(c.Points[i].used[0].res.Intervals)
		if len(s.x) > 1 {
			out.series = append(out.series, s)
			end = max(end, s.x[len(s.x)-1])
		}
	}
	if len(out.series) == 0 {
		return nil
	}
	var f frame
	out.xs = linearTicks(&f, end)
	if last := out.xs[len(out.xs)-1]; last.at > end { // the axis ends with the data
		out.xs[len(out.xs)-1] = tick{end, axisNumber(math.Round(end), 1)}
	}
	return out
}

// maxTimePoints bounds the points of a line over time; neighbours are averaged
// by their length.
const maxTimePoints = 150

func (r *Report) overTime(list []bench.Interval) (x, y []float64) {
	step := (len(list) + maxTimePoints - 1) / maxTimePoints
	for i := 0; i < len(list); i += max(step, 1) {
		count, length := 0.0, 0.0
		part := list[i:min(i+step, len(list))]
		for _, v := range part {
			length += v.LengthS
			if r.Metric == "tps" {
				count += float64(v.Events)
			} else {
				count += float64(v.Queries)
			}
		}
		if length > 0 && !math.IsInf(count/length, 0) {
			x, y = append(x, part[len(part)-1].TS), append(y, count/length)
		}
	}
	return x, y
}
