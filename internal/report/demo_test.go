package report

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// demo is a study as it comes out of real runs: three server states and an A/A
// repeat of the baseline, three workloads, seven repeats with noise, histograms,
// statement kinds, intervals, and some cells that went wrong.
func demo(t testing.TB, repeats int) []Document {
	t.Helper()
	var out []Document
	rng := rand.New(rand.NewPCG(7, 7))
	cost := map[string]float64{"pfsoff": 0, "pfson_default": 0.031, "pfson_conon_inson": 0.187}
	manifest := `{"schema":"cellbench.manifest/v1","run_id":"20260930-081500-4c2f1a","study":{"name":"demo","description":"What does performance_schema cost on this machine, and for which kind of work?",
"baseline":{"axis":"scenario","value":"pfsoff"},"axes":{"scenario":["pfsoff","pfson_default","pfson_conon_inson"]},
"report":{"title":"The cost of performance_schema","at":["threads=16"]}},"cells":[`
	first := true
	for _, w := range []string{"oltp_read_only", "oltp_write_only", "oltp_read_write"} {
		for _, s := range []string{"pfsoff", "aa", "pfson_default", "pfson_conon_inson"} {
			for i, threads := range []int{1, 2, 4, 8, 16, 32, 64} {
				for repeat := 1; repeat <= repeats; repeat++ {
					m := made{target: "mysql-8.4", workload: w, scenario: s, threads: threads, repeat: repeat, run: "20260930-081500-4c2f1a"}
					if s == "aa" {
						m.scenario, m.labels = "pfsoff", map[string]string{"aa": "baseline"}
					}
					peak := map[string]float64{"oltp_read_only": 48200, "oltp_write_only": 21300, "oltp_read_write": 33700}[w]
					m.qps = peak * float64(threads) / (float64(threads) + 6) * (1 - 0.00035*float64(threads)) * (1 - cost[m.scenario]) * (1 + 0.009*rng.NormFloat64())
					m.change = func(r *bench.Result) { demoResult(t, r, rng, i) }
					if w == "oltp_write_only" && threads == 64 && s == "pfson_default" && repeat == 2 {
						m.change = func(r *bench.Result) {
							reason := "connection refused after 30 s"
							r.Status, r.Reason, r.Throughput, r.Window = bench.StatusFailed, &reason, nil, nil
						}
					}
					d := m.doc(t)
					if !first {
						manifest += ","
					}
					first = false
					id := bench.CellID(m.target, m.workload, m.scenario, m.threads, m.labels)
					labels := "{}"
					if s == "aa" {
						labels = `{"aa":"baseline"}`
					}
					manifest += fmt.Sprintf(`{"id":%q,"target":%q,"workload":%q,"scenario":%q,"threads":%d,"repeat":%d,"labels":%s}`, id, m.target, w, m.scenario, threads, repeat, labels)
					if w == "oltp_read_write" && threads == 2 && repeat == 3 && s == "pfson_conon_inson" {
						continue // planned, never ran
					}
					out = append(out, d)
				}
			}
		}
	}
	return append(out, Document{Key: "20260930-081500-4c2f1a/manifest.json", Body: []byte(manifest + "]}")})
}

// demoResult fills in what a real result holds beside its throughput.
func demoResult(t testing.TB, r *bench.Result, rng *rand.Rand, step int) {
	t.Helper()
	seed := uint64(r.Cell.Repeat*100 + step)
	mean := 16 * float64(r.Cell.Threads) / r.Throughput.QPS * 1000
	kinds := map[string][]string{"oltp_read_only": {"point_select", "simple_range"}, "oltp_write_only": {"index_update", "insert"}, "oltp_read_write": {"point_select", "index_update", "commit"}}
	r.Latency = &bench.LatencyReport{Event: histogram(t, mean, 900, seed), Statements: map[string]*bench.Latency{}}
	for i, k := range kinds[r.Cell.Workload] {
		r.Latency.Statements[k] = histogram(t, mean/16*(1+float64(i)/3), 900, seed+uint64(i)+1)
	}
	start := time.Date(2026, 9, 30, 8, 15, 0, 0, time.UTC).Add(time.Duration(r.Cell.Repeat*90+step) * time.Minute)
	r.Window = &bench.Window{Start: start, End: start.Add(time.Minute), ElapsedS: 60, WarmupS: 5}
	for i := range 60 {
		q := r.Throughput.QPS * (1 + 0.02*rng.NormFloat64())
		r.Intervals = append(r.Intervals, bench.Interval{TS: float64(i + 1), LengthS: 1, QPS: q, Queries: int64(q), Events: int64(q / 16)})
	}
	r.Steady = &bench.Steady{Verdict: "steady", CV: 0.02}
	r.Client = &bench.Client{CPULimit: 4, Verdict: "ok"}
	r.Counts = &bench.Counts{Queries: int64(r.Throughput.QPS * 60), Reads: int64(r.Throughput.QPS * 60), Events: int64(r.Throughput.TPS * 60)}
	if r.Cell.Threads == 64 && r.Cell.Workload == "oltp_read_only" && r.Cell.Scenario == "pfsoff" && r.Cell.Repeat == 1 {
		r.Client.Verdict = "client_limited"
		r.Warn("client_limited", "the load generator used 91 % of its CPU limit")
	}
	if r.Cell.Threads == 32 && r.Cell.Workload == "oltp_write_only" && r.Cell.Repeat == 4 && r.Cell.Scenario == "pfson_default" {
		r.Steady = &bench.Steady{Verdict: "unsteady", CV: 0.21, Slope: -0.18}
		r.Warn("unsteady", "throughput fell by 18 % inside the window")
	}
	on := r.Cell.Scenario != "pfsoff"
	r.Scenario = &bench.ScenarioReport{Requested: r.Cell.Scenario, Applied: &bench.ServerState{PerformanceSchema: &on, Hash: r.Cell.Scenario}}
	r.Server = &bench.Server{
		Flavour: "MySQL", Version: "8.4.9", Comment: "MySQL Community Server - GPL",
		Variables: map[string]string{"innodb_buffer_pool_size": "4294967296", "innodb_flush_log_at_trx_commit": "1", "max_connections": "4096", "performance_schema": map[bool]string{true: "ON", false: "OFF"}[on]},
		CPU:       &bench.ServerCPU{CPUS: 120, USPerQuery: 82 + 3*rng.Float64(), Source: "procfs"},
	}
	size, memory := int64(2_400_000_000), int64(17_179_869_184)
	r.Dataset = &bench.Dataset{Fingerprint: "d0", Tables: 10, Rows: 10_000_000, Bytes: &size, Origin: "reused"}
	r.Host = &bench.Host{OS: "linux", Arch: "amd64", Kernel: "6.12.9", CPUModel: "AMD EPYC 9R14", CPUs: 8, MemoryBytes: &memory}
	r.Engine = &bench.Engine{Name: "wire", Protocol: "prepared", Transport: "tcp", RandType: "uniform", RandSeed: int64(r.Cell.Repeat)}
	r.Config["BENCH_TABLES"], r.Config["BENCH_RAND_TYPE"] = strconv.Itoa(10), "uniform"
}
