package sysbench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cellbench/internal/bench"
)

// printed takes the figures out of sysbench's own output.
type printed struct {
	t    *testing.T
	text string
}

func (p printed) number(pattern string) float64 {
	p.t.Helper()
	m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(p.text)
	if m == nil {
		p.t.Fatalf("no %s in\n%s", pattern, p.text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p printed) count(pattern string) int64 { return int64(p.number(pattern)) }

// result makes the result that such an output describes, and the percentile it shows.
func (p printed) result() (*bench.Result, float64) {
	p.t.Helper()
	r := &bench.Result{
		Cell:   bench.Cell{Threads: int(p.count(`^Number of threads: (\d+)`))},
		Window: &bench.Window{ElapsedS: p.number(`total time: +([\d.]+)s`)},
		Counts: &bench.Counts{
			Reads: p.count(`read: +(\d+)$`), Writes: p.count(`write: +(\d+)$`), Others: p.count(`other: +(\d+)$`), Queries: p.count(`total: +(\d+)$`),
			Events: p.count(`transactions: +(\d+)`), Errors: p.count(`ignored errors: +(\d+)`), Reconnects: p.count(`reconnects: +(\d+)`),
		},
		Latency: &bench.LatencyReport{Event: &bench.Latency{
			MinMS: p.number(`min: +([\d.]+)$`), MaxMS: p.number(`max: +([\d.]+)$`), Percentiles: map[string]float64{},
		}},
	}
	r.Fairness = &bench.Fairness{
		EventsMean: p.number(`events \(avg/stddev\): +([\d.]+)/`), BusyMeanS: p.number(`execution time \(avg/stddev\): +([\d.]+)/`),
		EventsStddev: p.number(`events \(avg/stddev\): +[\d.]+/([\d.]+)$`), BusyStddevS: p.number(`execution time \(avg/stddev\): +[\d.]+/([\d.]+)$`),
	}
	l := r.Latency.Event
	l.Count = r.Counts.Events
	if l.Count > 0 {
		l.MeanMS = p.number(`sum: +([\d.]+)$`) / float64(l.Count)
	}
	percentile := 0.0
	if !strings.Contains(p.text, "percentile stats:") {
		percentile = p.number(`(\d+)th percentile:`)
		l.Percentiles[strconv.Itoa(int(percentile))] = p.number(`th percentile: +([\d.]+)$`)
	}
	return r, percentile
}

var perSec = regexp.MustCompile(`\(([\d.]+) per sec\.\)`)

// hideRates hides the rates, which sysbench divides by a clock that it reads a
// little later.
func hideRates(text string) string { return perSec.ReplaceAllString(text, "(RATE per sec.)") }

func compareWithSysbench(t *testing.T, output string) {
	t.Helper()
	r, percentile := printed{t, output}.result()
	start := strings.Index(output, "SQL statistics:")
	want, got := output[start:], Summary(r, percentile)
	if hideRates(got) != hideRates(want) {
		t.Errorf("--- got\n%s\n--- sysbench\n%s", got, want)
	}
	rates, wantRates := perSec.FindAllStringSubmatch(got, -1), perSec.FindAllStringSubmatch(want, -1)
	for i := range rates {
		a, _ := strconv.ParseFloat(rates[i][1], 64)
		b, _ := strconv.ParseFloat(wantRates[i][1], 64)
		// The two clocks of sysbench are up to some milliseconds apart.
		if slack := 0.02*b + 0.01; r.Window.ElapsedS > 1 && (a > b+slack || a < b-slack) {
			t.Errorf("rate %d is %v, sysbench prints %v", i, a, b)
		}
	}
}

// The files are what the real sysbench 1.0.20 printed, run against a MariaDB
// server (many_threads: with --mysql-dry-run).
func TestSummaryIsSysbenchs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compareWithSysbench(t, string(text))
		})
	}
}

func TestSummaryAgainstTheProgram(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sysbench")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("sysbench is not installed")
		}
		t.Skip("sysbench is not installed")
	}
	for _, args := range [][]string{
		{"oltp_read_write", "--mysql-dry-run", "--events=100", "run"},
		{"oltp_write_only", "--mysql-dry-run", "--events=3", "--threads=3", "--percentile=0", "run"},
		{"oltp_point_select", "--mysql-dry-run", "--events=12345", "--percentile=5", "run"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), program, args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			compareWithSysbench(t, string(out))
		})
	}
}

func TestSummaryBeyondSysbench(t *testing.T) {
	t.Parallel()
	reason := "the server is gone"
	if got, want := Summary(&bench.Result{Reason: &reason}, 95), "FATAL: the server is gone\n"; got != want {
		t.Errorf("without a measurement: %q, want %q", got, want)
	}
	r := &bench.Result{
		Cell: bench.Cell{Threads: 2}, Window: &bench.Window{ElapsedS: 2}, Counts: &bench.Counts{Queries: 4, Reads: 4, Events: 4},
		Latency: &bench.LatencyReport{Event: &bench.Latency{Count: 4, MinMS: 1, MeanMS: 2, MaxMS: 3, Percentiles: map[string]float64{"99.9": 2.999}}},
	}
	for percentile, want := range map[float64]string{
		99.9: "        99.9th percentile:                       3.00\n",
		95:   "         95th percentile:                         nan\n",
		0:    "         percentile stats:               disabled\n",
	} {
		if got := Summary(r, percentile); !strings.Contains(got, want) {
			t.Errorf("percentile %v: no %q in\n%s", percentile, want, got)
		}
	}
	if got, want := Summary(r, 95), "    events (avg/stddev):           nan/nan\n    execution time (avg/stddev):   nan/nan\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

var intervalForm = regexp.MustCompile(`^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+) qps: ([\d.]+) \(r/w/o: ([\d.]+)/([\d.]+)/([\d.]+)\) lat \(ms,(\d+)%\): ([\d.]+) err/s: ([\d.]+) reconn/s: ([\d.]+)$`)

func TestIntervalLineIsSysbenchs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			line := strings.TrimSuffix(string(line), "\n")
			m := intervalForm.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			lines++
			var v [12]float64
			for i := 1; i < len(m); i++ {
				v[i], _ = strconv.ParseFloat(m[i], 64)
			}
			got := IntervalLine(Interval{
				Seconds: v[1] + 0.3, Threads: int(v[2]), TPS: v[3], Reads: v[5], Writes: v[6], Others: v[7],
				Percentile: v[8], LatencyMS: v[9], Errors: v[10], Reconnects: v[11],
			})
			// qps is a sum, so rounding may move its last digit.
			qps := regexp.MustCompile(`qps: [\d.]+`)
			if qps.ReplaceAllString(got, "") != qps.ReplaceAllString(line, "") {
				t.Errorf("got  %s\nwant %s", got, line)
			}
		}
	}
	if lines < 5 {
		t.Errorf("only %d interval lines found", lines)
	}
	rate := IntervalLine(Interval{Seconds: 2, Threads: 1, RateMode: true, QueueLength: 5, Concurrency: 1})
	if _, second, _ := strings.Cut(rate, "\n"); second != "[ 2s ] queue length: 5, concurrency: 1" {
		t.Errorf("rate mode: %q", rate)
	}
}
