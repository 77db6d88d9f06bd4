package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"

	"cellbench/internal/bench"
	"cellbench/internal/sysbench"
)

// sysbenchPercentile is the percentile that sysbench prints by default.
const sysbenchPercentile = 95

// sysbenchSummary writes a result as sysbench prints the end of a run, with the
// percentile that sysbench would print: the 95th, or the only one there is.
func sysbenchSummary(r *bench.Result) string {
	percentile := float64(sysbenchPercentile)
	if r.Latency != nil && r.Latency.Event != nil {
		if have := r.Latency.Event.Percentiles; len(have) == 1 {
			for text := range have {
				percentile, _ = strconv.ParseFloat(text, 64) // "nan" is printed if it is none
			}
		}
	}
	return sysbench.Summary(r, percentile)
}

func sysbenchInterval(iv bench.Interval) string {
	per := func(n int64) float64 { return float64(n) / iv.LengthS }
	line := sysbench.Interval{
		Seconds: iv.TS, Threads: iv.LiveConnections, TPS: iv.TPS, Reads: per(iv.Reads), Writes: per(iv.Writes), Others: per(iv.Others),
		Percentile: sysbenchPercentile, Errors: per(iv.Errors), Reconnects: per(iv.Reconnects),
	}
	if iv.P95MS != nil {
		line.LatencyMS = *iv.P95MS
	}
	if iv.Backlog != nil {
		line.RateMode, line.QueueLength = true, *iv.Backlog
	}
	return sysbench.IntervalLine(line)
}

func fromSysbenchVerb(_ context.Context, args []string, std stdio) error {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--" })
	if len(args) == 0 {
		return bench.Errorf(bench.ExitConfig, "task from-sysbench: give the command line: task from-sysbench -- sysbench --threads=8 oltp_read_write run")
	}
	t, err := sysbench.FromCommandLine(args, func(name string) ([]byte, error) { return bench.ReadFile(name, bench.MaxWritten) })
	if err != nil {
		return err
	}
	fmt.Fprint(std.out, t.Shell())
	return nil
}

// summaryVerb prints stored results for people, or as sysbench does.
func summaryVerb(_ context.Context, args []string, std stdio) error {
	style := "cellbench"
	files, err := flags("summary", args, func(fs *flag.FlagSet) { fs.StringVar(&style, "style", style, "") })
	if err != nil {
		return err
	}
	if style != "cellbench" && style != "sysbench" {
		return bench.Errorf(bench.ExitConfig, "task summary --style=%s: allowed are cellbench, sysbench", style)
	}
	if len(files) == 0 {
		return bench.Errorf(bench.ExitConfig, "task summary: name a result file, or - for standard input")
	}
	for _, file := range files {
		r, err := readResult(file)
		if err != nil {
			return err
		}
		if style == "sysbench" {
			fmt.Fprint(std.out, sysbenchSummary(r))
		} else {
			fmt.Fprint(std.out, summaryText(r))
		}
	}
	return nil
}

func readResult(file string) (*bench.Result, error) {
	var body []byte
	var err error
	if file == "-" {
		body, err = bench.ReadAll("standard input", os.Stdin, bench.MaxProduced)
	} else {
		body, err = bench.ReadFile(file, bench.MaxProduced)
	}
	if err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read result: %w", err)
	}
	var r bench.Result
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read result %s: %w", file, err)
	}
	if r.Schema != bench.ResultSchema {
		return nil, bench.Errorf(bench.ExitConfig, "read result %s: its schema is %q, wanted is %q", file, r.Schema, bench.ResultSchema)
	}
	return &r, nil
}
