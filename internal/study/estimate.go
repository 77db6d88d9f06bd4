package study

import (
	"strconv"
	"strings"
	"time"
)

// Rough figures for what a cell costs besides its measured time. They only
// have to tell minutes from hours.
const (
	cellOverhead = time.Second             // process, connections, scenario, result
	localServer  = 1500 * time.Millisecond // starting and ending a throwaway server
	loadRate     = 100_000                 // rows/s of a dataset
)

// Estimate says how long the cells take one after another: warm-up and measured
// time of each, a constant for starting and ending it, and the loading of each
// dataset, once per target (or each time, if cells have throwaway servers of
// their own). A cell that ends by a number of events counts as its time limit.
func Estimate(cells []Cell, container []string) time.Duration {
	own := parseEnviron(container)
	var total time.Duration
	loaded := map[string]bool{}
	for _, c := range cells {
		env := c.layered(own)
		total += cellOverhead + seconds(env["BENCH_WARMUP_TIME"], 5*time.Second) + seconds(env["BENCH_TIME"], 60*time.Second)
		local := env["BENCH_DSN"] == "" && env["BENCH_MYSQL_HOST"] == "" && env["BENCH_MYSQL_SOCKET"] == ""
		if local {
			total += localServer
		}
		key := strings.Join([]string{
			env["BENCH_DSN"], env["BENCH_MYSQL_HOST"], env["BENCH_MYSQL_SOCKET"],
			datasetOf(c.Workload), env["BENCH_TABLES"], env["BENCH_TABLE_SIZE"],
		}, "\x00")
		if datasetOf(c.Workload) == "sbtest" && (local || !loaded[key]) && env["BENCH_PREPARE"] != "never" {
			loaded[key] = true
			rows := amount(env["BENCH_TABLES"], 1) * amount(env["BENCH_TABLE_SIZE"], 10_000)
			total += time.Duration(rows / loadRate * float64(time.Second))
		}
	}
	return total
}

// seconds reads a duration of the contract: `60` (seconds), `90s`, `5m`.
func seconds(text string, byDefault time.Duration) time.Duration {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v < 1e9 {
		return time.Duration(v * float64(time.Second))
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d
	}
	return byDefault
}

// amount reads a count of the contract: `10000000`, `10M`, `10k`.
func amount(text string, byDefault float64) float64 {
	text = strings.ToLower(text)
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, factor = rest, f
		}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v*factor < 1e15 {
		return v * factor
	}
	return byDefault
}
