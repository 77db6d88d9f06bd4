package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// Gate returns what breaks the gates of the options, one line each; empty when
// all hold or none was set.
func (r *Report) Gate() []string { return r.Broken }

// gate judges the report. An error means that a gate cannot be understood.
func (r *Report) gate(o Options) ([]string, error) {
	var broken []string
	if o.MaxOverhead != "" {
		limit, err := readPercent(o.MaxOverhead)
		if err != nil {
			return nil, err
		}
		if r.Baseline == nil {
			return nil, bench.Errorf(bench.ExitConfig, "judge max overhead: no baseline is named, use --baseline axis=value")
		}
		broken = r.overOverhead(limit)
	}
	if o.RequireAll {
		broken = append(broken, r.notUsable()...)
	}
	return broken, nil
}

// readPercent reads "25%", "25 %" or "25".
func readPercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "%")), 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, bench.Errorf(bench.ExitConfig, "read max overhead: %q, want a percentage of 0 or more, e.g. 25%%", s)
	}
	return v, nil
}

// overOverhead lists the points that lose more than limit percent. A loss that
// the test cannot tell from chance breaks nothing. A panel in which nothing can
// be compared breaks the gate: it did not show that it holds.
func (r *Report) overOverhead(limit float64) []string {
	var broken []string
	compared := 0
	for _, p := range r.Panels {
		for _, c := range p.Columns {
			for _, point := range c.Points {
				d := point.Delta
				if d == nil || d.Percent == nil {
					continue
				}
				compared++
				if -*d.Percent > limit && d.Verdict != stats.Same {
					broken = append(broken, fmt.Sprintf("overhead: %s at %s: %s %s, allowed -%s %%",
						p.Title, threadsText(point.Threads), c.Value, formatPercent(d.Percent), plain(limit)))
				}
			}
		}
	}
	if compared == 0 {
		broken = append(broken, fmt.Sprintf("overhead: nothing could be compared with %s = %s", r.Axis, *r.Baseline))
	}
	return broken
}

// notUsable lists planned cells without a usable result, gaps in the tables and
// documents that could not be read.
func (r *Report) notUsable() []string {
	var broken []string
	valid := make(map[string]bool)
	slot := func(c CellRow) string { return fmt.Sprintf("%q %q %d", c.Run, c.ID, c.Repeat) }
	for _, c := range r.Cells {
		if c.Status == bench.StatusOK {
			valid[slot(c)] = true
		}
	}
	told := make(map[string]bool)
	for _, c := range r.Cells {
		if !valid[slot(c)] && !told[slot(c)] {
			told[slot(c)] = true
			broken = append(broken, strings.TrimSuffix(fmt.Sprintf("not usable: %s repeat %d is %s: %s", c.ID, c.Repeat, c.Status, c.Why), ": "))
		}
	}
	for _, p := range r.Panels {
		for _, c := range p.Columns {
			for _, point := range c.Points {
				if !point.Planned {
					broken = append(broken, fmt.Sprintf("missing: %s at %s: %s was not measured", p.Title, threadsText(point.Threads), c.Value))
				}
			}
		}
	}
	for _, u := range r.Unread {
		broken = append(broken, fmt.Sprintf("unreadable: %s: %s", u.Key, u.Why))
	}
	return broken
}
