package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"cellbench/internal/bench"
	"cellbench/internal/latency"
	"cellbench/internal/report/stats"
)

// percentiles are the columns of the latency tables.
func percentiles() []float64 { return []float64{50, 95, 99, 99.9} }

// curvePercentiles are the points of the latency plot.
func curvePercentiles() []float64 {
	return []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99}
}

// measureLatency merges the histograms of every point's repeats. Percentiles
// are never averaged: a point whose histograms cannot be merged has none.
func (r *Report) measureLatency() {
	for _, p := range r.Panels {
		for _, c := range p.Columns {
			for _, point := range c.Points {
				point.measureLatency()
			}
		}
	}
}

func (p *Point) measureLatency() {
	if p.used == nil {
		return
	}
	seconds := 0.0
	kinds := make(map[string][]*bench.Latency)
	var events []*bench.Latency
	for _, e := range p.used {
		if e.res.Window != nil {
			seconds += e.res.Window.ElapsedS
		}
		if e.res.Latency == nil {
			continue
		}
		events = append(events, e.res.Latency.Event)
		for kind, l := range e.res.Latency.Statements {
			kinds[kind] = append(kinds[kind], l)
		}
	}
	var err error
	if p.Latency, err = distribution(events, len(p.used), seconds); err != nil {
		p.Notes = append(p.Notes, "latency: "+err.Error())
	}
	if p.Latency != nil {
		p.P95 = &p.Latency.Percentiles[slices.Index(percentiles(), 95)]
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		d, err := distribution(kinds[kind], 0, seconds)
		if err != nil {
			p.Notes = append(p.Notes, "latency of "+kind+": "+err.Error())
		}
		if d != nil {
			if p.Statements == nil {
				p.Statements = make(map[string]*Distribution)
			}
			p.Statements[kind] = d
		}
	}
}

// distribution merges histograms; want is how many there should be, 0 for any.
// It returns nil when nothing was recorded.
func distribution(list []*bench.Latency, want int, seconds float64) (*Distribution, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(l *bench.Latency) bool { return l == nil || l.Count == 0 })
	if len(list) == 0 {
		return nil, nil
	}
	if want > 0 && len(list) < want {
		return nil, fmt.Errorf("%d of %d results hold a histogram", len(list), want)
	}
	var all *latency.Histogram
	for _, l := range list {
		h, err := latency.Decode(l)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = h
		} else {
			all.Merge(h)
		}
	}
	ms := func(ns float64) float64 { return ns / 1e6 }
	d := &Distribution{Count: all.Count(), MinMS: ms(float64(all.Min())), MeanMS: ms(all.Mean()), MaxMS: ms(float64(all.Max()))}
	for _, q := range percentiles() {
		d.Percentiles = append(d.Percentiles, ms(float64(all.Percentile(q))))
	}
	for _, q := range curvePercentiles() {
		d.curve = append(d.curve, ms(float64(all.Percentile(q))))
	}
	if seconds > 0 {
		d.PerSecond = float64(d.Count) / seconds
	}
	return d, nil
}

// percentileName is "p50" or "p99.9".
func percentileName(q float64) string { return "p" + strconv.FormatFloat(q, 'f', -1, 64) }

// percentOf is the signed percentage of v against base, nil when there is none.
func percentOf(base, v *float64) *float64 {
	if base == nil || v == nil {
		return nil
	}
	return stats.Percent(*base, *v)
}
