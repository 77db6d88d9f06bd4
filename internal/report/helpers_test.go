package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/latency"
)

var update = flag.Bool("update", false, "write the golden files anew")

// made is one result document of a test; change edits it before it is encoded.
type made struct {
	target, workload, scenario string
	threads, repeat            int
	qps                        float64
	labels                     map[string]string
	attempt                    string
	run                        string
	change                     func(*bench.Result)
}

func (m made) doc(t testing.TB) Document {
	t.Helper()
	if m.repeat == 0 {
		m.repeat = 1
	}
	if m.attempt == "" {
		m.attempt = "20260102T030405.000Z-00000001"
	}
	if m.run == "" {
		m.run = "run"
	}
	elapsed := 60.0
	fingerprint := "f0"
	id := bench.CellID(m.target, m.workload, m.scenario, m.threads, m.labels)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &bench.Result{
		Schema: bench.ResultSchema, Status: bench.StatusOK, RunID: m.run, Attempt: m.attempt,
		Cell:        bench.Cell{ID: id, Target: m.target, Workload: m.workload, Scenario: m.scenario, Threads: m.threads, Repeat: m.repeat, Labels: m.labels},
		Config:      map[string]string{"BENCH_TIME": "60", "BENCH_TABLE_SIZE": "10000000", "BENCH_THREADS": strconv.Itoa(m.threads)},
		Window:      &bench.Window{Start: start, End: start.Add(time.Minute), ElapsedS: elapsed, WarmupS: 5},
		Throughput:  &bench.Throughput{QPS: m.qps, TPS: m.qps / 16},
		Fingerprint: &fingerprint, Version: "v0.1.0",
	}
	if m.change != nil {
		m.change(r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return Document{Key: bench.ResultKey(m.run, id, m.repeat, m.attempt), Body: body}
}

func docs(t testing.TB, list ...made) []Document {
	t.Helper()
	var out []Document
	for _, m := range list {
		out = append(out, m.doc(t))
	}
	return out
}

// histogram is a distribution around a mean, the same for the same seed.
func histogram(t testing.TB, meanMS float64, n int, seed uint64) *bench.Latency {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	h := latency.New()
	for range n {
		h.Record(int64(1e6 * meanMS * (0.4 + 0.6*rng.ExpFloat64())))
	}
	l, err := h.Summary([]float64{50, 95, 99})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func published(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "published", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden compares got with a file of testdata, which -update writes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with -update)", err)
	}
	if line, a, b := firstDifference(want, got); line > 0 {
		t.Errorf("%s line %d:\nwant %s\ngot  %s\n(write it anew with -update and read the diff)", path, line, a, b)
	}
}

func firstDifference(want, got []byte) (line int, a, b string) {
	w, g := splitLines(want), splitLines(got)
	for i := range max(len(w), len(g)) {
		a, b = "(end)", "(end)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return i + 1, a, b
		}
	}
	return 0, "", ""
}

func splitLines(b []byte) []string {
	var lines []string
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] != '\n' {
			i++
		}
		lines = append(lines, string(b[:i]))
		b = b[min(i+1, len(b)):]
	}
	return lines
}

func build(t testing.TB, d []Document, o Options) *Report {
	t.Helper()
	r, err := Build(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at finds a point by panel title, compared value and threads.
func (r *Report) at(t testing.TB, panel, value string, threads int) *Point {
	t.Helper()
	for _, p := range r.Panels {
		if p.Title != panel {
			continue
		}
		if point := p.points[spot{value, threads}]; point != nil {
			return point
		}
	}
	var have []string
	for _, p := range r.Panels {
		have = append(have, fmt.Sprintf("%q %v", p.Title, p.Threads))
	}
	t.Fatalf("no point %s = %s at %d threads; panels %v", panel, value, threads, have)
	return nil
}

// summary is the summary of exactly these latencies in milliseconds.
func summary(t testing.TB, ms []float64) *bench.Latency {
	t.Helper()
	h := latency.New()
	for _, v := range ms {
		h.Record(int64(v * 1e6))
	}
	l, err := h.Summary([]float64{50, 95, 99})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
