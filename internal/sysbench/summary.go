package sysbench

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// latencyWidth is the length of a line of the latency block, in characters.
const latencyWidth = 53

// unknown stands where sysbench prints a number that a result does not hold;
// most languages read it as a number.
const unknown = "nan"

// Summary writes a result as sysbench 1.0.20 prints the end of a run, from
// "SQL statistics:" to the blank line at the end; spaces and digits are the
// same, so that scripts which parse it go on working. percentile is the one to
// print, 0 for none; the result must have it among its event percentiles, else
// its value reads "nan".
//
// One number is not sysbench's: "ignored errors" counts every failed statement. A
// result without a measurement gives one line that says why.
func Summary(r *bench.Result, percentile float64) string {
	if r.Window == nil || r.Counts == nil {
		reason := "nothing was measured"
		if r.Reason != nil {
			reason = *r.Reason
		}
		return fmt.Sprintf("FATAL: %s\n", bench.Printable(strings.ReplaceAll(reason, "\n", " ")))
	}
	var b strings.Builder
	c := r.Counts
	rate := func(n int64) float64 { return perSecond(n, r.Window.ElapsedS) }
	line := func(name string, n int64) {
		fmt.Fprintf(&b, "    %-36s %-6d (%.2f per sec.)\n", name+":", n, rate(n))
	}
	b.WriteString("SQL statistics:\n    queries performed:\n")
	for _, one := range []struct {
		name string
		n    int64
	}{{"read", c.Reads}, {"write", c.Writes}, {"other", c.Others}, {"total", c.Queries}} {
		fmt.Fprintf(&b, "        %-32s %d\n", one.name+":", one.n)
	}
	line("transactions", c.Events)
	line("queries", c.Queries)
	line("ignored errors", c.Errors)
	line("reconnects", c.Reconnects)
	fmt.Fprintf(&b, "\nGeneral statistics:\n    %-36s %.4fs\n    %-36s %d\n", "total time:", r.Window.ElapsedS, "total number of events:", c.Events)
	writeLatency(&b, r, percentile)
	writeFairness(&b, r)
	return b.String()
}

// writeLatency prints zeros when no event finished, as sysbench does.
func writeLatency(b *strings.Builder, r *bench.Result, percentile float64) {
	var l bench.Latency
	if r.Latency != nil && r.Latency.Event != nil {
		l = *r.Latency.Event
	}
	line := func(name, value string) { fmt.Fprintf(b, "         %s%*s\n", name, latencyWidth-9-len(name), value) }
	ms := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	b.WriteString("\nLatency (ms):\n")
	line("min:", ms(l.MinMS))
	line("avg:", ms(l.MeanMS))
	line("max:", ms(l.MaxMS))
	key := strconv.FormatFloat(percentile, 'f', -1, 64)
	value, known := l.Percentiles[key]
	shown := ms(value)
	if !known && l.Count > 0 {
		shown = unknown
	}
	if percentile == 0 {
		b.WriteString("         percentile stats:               disabled\n")
	} else {
		label := fmt.Sprintf("        %3sth percentile:", key)
		fmt.Fprintf(b, "%s%*s\n", label, latencyWidth-len(label), shown)
	}
	line("sum:", ms(l.MeanMS*float64(l.Count)))
}

func writeFairness(b *strings.Builder, r *bench.Result) {
	f := r.Fairness
	if f == nil {
		f = &bench.Fairness{EventsMean: math.NaN(), EventsStddev: math.NaN(), BusyMeanS: math.NaN(), BusyStddevS: math.NaN()}
	}
	fmt.Fprintf(b, "\nThreads fairness:\n    events (avg/stddev):           %s/%s\n    execution time (avg/stddev):   %s/%s\n\n",
		decimals(f.EventsMean, 4), decimals(f.EventsStddev, 2), decimals(f.BusyMeanS, 4), decimals(f.BusyStddevS, 2))
}

// decimals writes a number with n decimals, unknown for one that is none.
func decimals(v float64, n int) string {
	if math.IsNaN(v) {
		return unknown
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// Interval is one report interval in sysbench's terms: rates per second over
// the measured length of the interval.
type Interval struct {
	Seconds    float64 // since the start of the window
	Threads    int     // connections still at work
	TPS        float64 // events
	Reads      float64 // statements of each class
	Writes     float64
	Others     float64
	Percentile float64 // which one LatencyMS is, 0 for none
	LatencyMS  float64 // of the events that finished in the interval; 0 if none did
	Errors     float64
	Reconnects float64
	// Rate mode only: events due and not begun, and events being executed.
	RateMode    bool
	QueueLength int64
	Concurrency int
}

// IntervalLine writes an interval as sysbench prints it with
// --report-interval, without a line end; in rate mode it is two lines.
func IntervalLine(i Interval) string {
	at := int64(math.Round(i.Seconds))
	line := fmt.Sprintf("[ %ds ] thds: %d tps: %.2f qps: %.2f (r/w/o: %.2f/%.2f/%.2f) lat (ms,%s%%): %.2f err/s: %.2f reconn/s: %.2f",
		at, i.Threads, i.TPS, i.Reads+i.Writes+i.Others, i.Reads, i.Writes, i.Others,
		strconv.FormatFloat(i.Percentile, 'f', -1, 64), i.LatencyMS, i.Errors, i.Reconnects)
	if i.RateMode {
		line += fmt.Sprintf("\n[ %ds ] queue length: %d, concurrency: %d", at, i.QueueLength, i.Concurrency)
	}
	return line
}
