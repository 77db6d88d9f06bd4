package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// summaryText is a result for people, about a screenful.
func summaryText(r *bench.Result) string {
	var b strings.Builder
	c := r.Cell
	fmt.Fprintf(&b, "%s: %s, scenario %s, %d threads, target %s", strings.ToUpper(string(r.Status)), bench.Printable(c.Workload), bench.Printable(c.Scenario), c.Threads, bench.Printable(c.Target))
	if s := r.Server; s != nil {
		fmt.Fprintf(&b, " (%s %s)", bench.Printable(s.Flavour), bench.Printable(s.Version))
	}
	b.WriteString("\n")
	if r.Reason != nil {
		fmt.Fprintf(&b, "  reason      %s\n", bench.Printable(*r.Reason))
	}
	if r.Throughput != nil && r.Window != nil && r.Counts != nil {
		writeNumbers(&b, r)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "  error %-5d %s times, first: %s\n", e.Code, thousands(e.Count), bench.Printable(e.FirstMessage))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "  warning     %s\n", bench.Printable(w.Message))
	}
	return b.String()
}

func writeNumbers(b *strings.Builder, r *bench.Result) {
	t, n := r.Throughput, r.Counts
	fmt.Fprintf(b, "  throughput  %.2f qps, %.2f tps over %.2f s (reads %.2f, writes %.2f, others %.2f per s)\n",
		t.QPS, t.TPS, r.Window.ElapsedS, t.ReadsS, t.WritesS, t.OthersS)
	fmt.Fprintf(b, "  counts      %s queries, %s events, %s errors, %s retries, %s reconnects\n",
		thousands(n.Queries), thousands(n.Events), thousands(n.Errors), thousands(n.Retries), thousands(n.Reconnects))
	if r.Latency != nil && r.Latency.Event != nil {
		writeLatency(b, "event", r.Latency.Event)
		for _, kind := range slices.Sorted(maps.Keys(r.Latency.Statements)) {
			writeLatency(b, kind, r.Latency.Statements[kind])
		}
	}
	if cl := r.Client; cl != nil && cl.USPerQuery != nil && r.Engine != nil {
		fmt.Fprintf(b, "  client      %.1f us CPU per query, %s, %s engine", *cl.USPerQuery, bench.Printable(cl.Verdict), bench.Printable(r.Engine.Name))
		if s := r.Server; s != nil && s.CPU != nil {
			fmt.Fprintf(b, "; server %.1f us CPU per query", s.CPU.USPerQuery)
		}
		b.WriteString("\n")
	}
}

func writeLatency(b *strings.Builder, name string, l *bench.Latency) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "  %-18s ms: min %.3f  mean %.3f", bench.Printable(name), l.MinMS, l.MeanMS)
	keys := slices.SortedFunc(maps.Keys(l.Percentiles), func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	})
	for _, k := range keys {
		fmt.Fprintf(b, "  p%s %.3f", bench.Printable(k), l.Percentiles[k])
	}
	fmt.Fprintf(b, "  max %.3f\n", l.MaxMS)
}
