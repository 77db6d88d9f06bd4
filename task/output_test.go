package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cellbench/internal/bench"
)

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A verb whose product cannot be written has failed. That of run is the stored
// result, so there it is a warning.
func TestStandardOutputIsFull(t *testing.T) {
	for _, args := range [][]string{{"workloads"}, {"scenarios"}, {"plan", "demo"}, {"plan", "demo", "--format=json"}, {"version"}} {
		var errs strings.Builder
		code := command(t.Context(), args, stdio{full{}, &errs})
		if code != bench.ExitStore || errs.String() != "cellbench: write standard output: no space left\n" {
			t.Errorf("%v: exit code %d, %q", args, code, errs.String())
		}
	}
	var errs strings.Builder
	show(stdio{full{}, &errs}, &bench.Result{Status: bench.StatusOK}, []byte("{}"), "here", "", false)
	if got := errs.String(); !strings.Contains(got, "warning: write result to standard output: no space left\n") || !strings.Contains(got, "result: here\n") {
		t.Errorf("run says %q", got)
	}
}

// What a result's text holds does not drive the terminal, and members that are
// missing are left out.
func TestSummaryOfStrangeResults(t *testing.T) {
	evil := "a\x1b[31m\nb\x00"
	perQuery := 1.0
	whole := bench.Result{
		Schema: bench.ResultSchema, Status: bench.StatusOK, Reason: &evil, Cell: bench.Cell{Workload: evil, Scenario: evil, Target: evil},
		Window: &bench.Window{ElapsedS: 1}, Throughput: &bench.Throughput{}, Counts: &bench.Counts{},
		Latency:  &bench.LatencyReport{Event: &bench.Latency{Percentiles: map[string]float64{evil: 1}}, Statements: map[string]*bench.Latency{evil: {}}},
		Errors:   []bench.ErrorCount{{FirstMessage: evil}},
		Warnings: []bench.Warning{{Code: evil, Message: evil}},
		Server:   &bench.Server{Flavour: evil, Version: evil}, Client: &bench.Client{USPerQuery: &perQuery, Verdict: evil}, Engine: &bench.Engine{Name: evil},
	}
	for name, change := range map[string]func(*bench.Result){
		"whole": func(*bench.Result) {}, "no counts": func(r *bench.Result) { r.Counts = nil }, "no engine": func(r *bench.Result) { r.Engine = nil },
		"no window": func(r *bench.Result) { r.Window = nil }, "null statement": func(r *bench.Result) {
			r.Latency = &bench.LatencyReport{Event: &bench.Latency{}, Statements: map[string]*bench.Latency{"x": nil}}
		},
		"no event": func(r *bench.Result) { r.Latency = &bench.LatencyReport{} },
	} {
		r := whole
		change(&r)
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, style := range []string{"cellbench", "sysbench"} {
			code, out, errs := call(t, "summary", "--style="+style, file)
			if code != bench.ExitOK || strings.ContainsAny(out, "\x1b\x00") {
				t.Errorf("%s, %s: exit code %d, output %q, error %q", name, style, code, out, errs)
			}
		}
	}
}

func TestEveryProblemOfAStudyIsALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("name: \"a\\nb\"\naxes: 7\nrepeats: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := call(t, "plan", file)
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	if code != bench.ExitConfig || len(lines) < 3 {
		t.Errorf("exit code %d, error:\n%s", code, errs)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "cellbench: "+file+":") {
			t.Errorf("line %q", line)
		}
	}
}
