package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cellbench/internal/bench"
)

// listCells makes the row of every document and counts what became of the cells.
func (r *Report) listCells(entries []*entry) {
	used := make(map[*entry]*Point)
	for _, p := range r.Panels {
		for _, point := range p.points {
			for _, e := range point.used {
				used[e] = point
			}
			if point.has(MarkForeign) {
				r.count.foreign++
			}
		}
	}
	newest := make(map[string]*entry) // the attempt that stands for a repeat
	slotOf := func(e *entry) string {
		return fmt.Sprintf("%q %q %d", e.res.RunID, e.res.Cell.ID, e.res.Cell.Repeat)
	}
	bySlot := make(map[string][]*entry)
	for _, e := range entries {
		bySlot[slotOf(e)] = append(bySlot[slotOf(e)], e)
	}
	for s, list := range bySlot {
		newest[s] = newestValid(list)
	}
	for _, e := range entries {
		row := cellRow(e)
		row.Used = used[e] != nil
		stands := newest[slotOf(e)] == e
		row.explain(e, stands)
		r.Cells = append(r.Cells, row)
		if stands {
			r.count.add(row, e)
		} else {
			r.count.superseded++
		}
	}
	slices.SortStableFunc(r.Cells, func(a, b CellRow) int {
		return cmp.Or(strings.Compare(a.Run, b.Run), natural(a.Target, b.Target), newOrder(nil, dimWorkload).compare(a.Workload, b.Workload),
			natural(a.Scenario, b.Scenario), cmp.Compare(a.Threads, b.Threads), natural(a.ID, b.ID),
			cmp.Compare(a.Repeat, b.Repeat), strings.Compare(a.Attempt, b.Attempt), strings.Compare(a.Key, b.Key))
	})
}

func (t *tally) add(row CellRow, e *entry) {
	t.planned++
	switch row.Status {
	case bench.StatusOK:
		t.ok++
	case bench.StatusInvalid:
		t.invalid++
	case bench.StatusFailed:
		t.failed++
	case bench.StatusInterrupted:
		t.interrupted++
	case statusMissing:
		t.missing++
	}
	if row.Status == bench.StatusOK && row.Steady == "unsteady" {
		t.unsteady++
	}
	if row.Status == bench.StatusOK && clientLimited(e.res) {
		t.clientLimited++
	}
}

// explain says why a row is not used.
func (c *CellRow) explain(e *entry, stands bool) {
	if e.res.Reason != nil {
		c.Why = *e.res.Reason
	}
	var why string
	switch {
	case c.Status == statusMissing:
		why = "planned, but no result was found"
	case c.Used:
	case !stands:
		why = "another attempt at this cell is used"
	case c.Status == bench.StatusOK:
		why = "not used: fingerprint or engine differs from the other repeats"
	}
	c.Why = strings.Trim(why+"; "+c.Why, "; ")
}

func cellRow(e *entry) CellRow {
	res := e.res
	c := CellRow{
		Run: res.RunID, ID: res.Cell.ID, Target: res.Cell.Target, Workload: res.Cell.Workload, Scenario: res.Cell.Scenario,
		Threads: res.Cell.Threads, Repeat: res.Cell.Repeat, Labels: res.Cell.Labels, Attempt: res.Attempt, Status: res.Status, Key: e.key,
	}
	if res.Throughput != nil && res.Status != bench.StatusFailed {
		c.QPS, c.TPS = &res.Throughput.QPS, &res.Throughput.TPS
	}
	if res.Latency != nil && res.Latency.Event != nil && res.Latency.Event.Count > 0 {
		l := res.Latency.Event
		c.MeanMS, c.P95MS, c.P99MS = &l.MeanMS, percentile(l, "95"), percentile(l, "99")
	}
	if res.Counts != nil {
		c.Errors = &res.Counts.Errors
	}
	if res.Steady != nil {
		c.Steady, c.CV = res.Steady.Verdict, &res.Steady.CV
	}
	if res.Client != nil {
		c.Client = res.Client.Verdict
	}
	if res.Server != nil && res.Server.CPU != nil {
		c.Server = &res.Server.CPU.USPerQuery
	}
	for _, w := range res.Warnings {
		c.Warnings = append(c.Warnings, warningText(w))
	}
	return c
}

func percentile(l *bench.Latency, name string) *float64 {
	if v, ok := l.Percentiles[name]; ok {
		return &v
	}
	return nil
}

// facts collects names with the distinct values they had, in order of first use.
type facts struct {
	names  []string
	values map[string][]string
}

func (f *facts) add(name, value string) {
	if value == "" {
		return
	}
	if f.values == nil {
		f.values = make(map[string][]string)
	}
	if _, ok := f.values[name]; !ok {
		f.names = append(f.names, name)
	}
	if !slices.Contains(f.values[name], value) {
		f.values[name] = append(f.values[name], value)
	}
}

func (f *facts) list() []Fact {
	var out []Fact
	for _, n := range f.names {
		v := f.values[n]
		slices.SortFunc(v, natural)
		out = append(out, Fact{n, v})
	}
	return out
}

// describe says what was measured on what, from the results themselves.
func describe(entries []*entry) Subject {
	var s Subject
	var about, settings, variables facts
	for _, e := range entries {
		if e.res.Status == statusMissing {
			continue
		}
		describeServer(&about, e.res)
		describeClient(&about, e.res)
		for _, k := range slices.Sorted(maps.Keys(e.settings)) {
			if !volatile(k) && e.settings[k] != "" {
				settings.add(k, e.settings[k])
			}
		}
		if e.res.Server != nil {
			for _, k := range slices.Sorted(maps.Keys(e.res.Server.Variables)) {
				variables.add(k, e.res.Server.Variables[k])
			}
		}
		if w := e.res.Window; w != nil && !w.Start.IsZero() {
			start, end := w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339)
			if s.Start == "" || start < s.Start {
				s.Start = start
			}
			s.End = max(s.End, end)
		}
	}
	s.Facts, s.Settings, s.Variables = about.list(), settings.list(), variables.list()
	return s
}

func describeServer(f *facts, res *bench.Result) {
	f.add("target", res.Cell.Target)
	if sv := res.Server; sv != nil {
		f.add("server", strings.TrimSpace(sv.Flavour+" "+sv.Version+" "+bracket(sv.Comment)))
		if sv.Local {
			f.add("where", "throwaway server on the client's machine")
		}
	}
	f.add("workload", res.Cell.Workload)
	f.add("scenario", res.Cell.Scenario)
	f.add("threads", strconv.Itoa(res.Cell.Threads))
	if d := res.Dataset; d != nil && d.Tables > 0 {
		text := fmt.Sprintf("%s, %s rows", plural(d.Tables, "table"), group(strconv.FormatInt(d.Rows, 10)))
		if d.Bytes != nil {
			text += ", " + formatBytes(*d.Bytes)
		}
		f.add("dataset", text)
	}
	if w := res.Window; w != nil {
		f.add("window", fmt.Sprintf("%.0f s after %.0f s of warm-up", w.ElapsedS, w.WarmupS))
	}
}

func describeClient(f *facts, res *bench.Result) {
	if e := res.Engine; e != nil {
		f.add("engine", strings.Join(slices.DeleteFunc([]string{e.Name, e.Protocol + " statements", e.Transport, e.TLS}, func(s string) bool { return s == "" || s == " statements" }), ", "))
		f.add("random numbers", e.RandType)
	}
	if h := res.Host; h != nil {
		text := fmt.Sprintf("%s, %s", cmp.Or(h.CPUModel, h.Arch), plural(h.CPUs, "CPU"))
		if h.MemoryBytes != nil {
			text += ", " + formatBytes(*h.MemoryBytes)
		}
		f.add("client", text)
		f.add("client system", strings.TrimSpace(h.OS+" "+h.Kernel+" "+h.Arch))
	}
	if c := res.Client; c != nil && c.CPULimit > 0 {
		f.add("client CPU limit", strconv.FormatFloat(c.CPULimit, 'f', -1, 64))
	}
	f.add("cellbench", res.Version)
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// formatBytes writes bytes in binary units.
func formatBytes(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
