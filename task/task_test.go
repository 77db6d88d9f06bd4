package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/study"
)

// call runs a verb as main does and returns what it wrote.
func call(t *testing.T, args ...string) (code bench.ExitCode, out, errs string) {
	t.Helper()
	for _, name := range config.VariableNames() {
		if os.Getenv(name) != "" {
			t.Setenv(name, "")
		}
	}
	return callWithEnv(t, args...)
}

func callWithEnv(t *testing.T, args ...string) (code bench.ExitCode, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = command(context.Background(), args, stdio{&o, &e})
	return code, o.String(), e.String()
}

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		code bench.ExitCode
		out  string // in standard output
		err  string // the whole of standard error, without its prefix
	}{
		{"help", []string{"--help"}, 0, "task report", ""},
		{"help of a verb", []string{"study", "--help"}, 0, "task study", ""},
		{"version", []string{"version"}, 0, "cellbench ", ""},
		{"misspelt verb", []string{"reprot"}, 64, "", `unknown verb "reprot", did you mean report?`},
		{"words after run", []string{"run", "now"}, 64, "", `task run takes no argument, got "now"; settings are BENCH_* variables`},
		{"unknown flag", []string{"plan", "demo", "--colour"}, 64, "", "task plan: flag provided but not defined: -colour; see task help"},
		{"no study", []string{"study"}, 64, "", "task study: name one study: a file, an s3:// object or one of demo, hotspot-update, network-architecture, performance-schema-overhead, polardbx-sysbench"},
		{"misspelt study", []string{"plan", "dmeo"}, 64, "", `read study: no file and no built-in study "dmeo", did you mean demo?`},
		{"no study file", []string{"plan", "./none.yaml"}, 64, "", "read study: open ./none.yaml: no such file or directory"},
		{"unknown format", []string{"plan", "demo", "--format=xml"}, 64, "", "task plan --format=xml: allowed are table, json, env"},
		{"no such cell", []string{"plan", "demo", "--cell", "24"}, 64, "", "task plan --cell=24: the study has the cells 0..23"},
		{"no such axis value", []string{"plan", "demo", "--only", "threads=3"}, 64, "", `narrow demo: axis threads has no value "3", it has 1, 8`},
		{"narrowing without values", []string{"plan", "demo", "--only", "threads"}, 64, "", `read narrowing option: "threads", expected axis=value,value, e.g. threads=1,8`},
		{"no results", []string{"report"}, 64, "", "task report: name the results: a directory or s3://bucket/prefix, of one run or several"},
		{"results not there", []string{"report", "/nowhere"}, 64, "", "read results: /nowhere is not a directory"},
		{"prepare without target", []string{"prepare"}, 64, "", "task prepare: a local target lives for one cell only; set BENCH_MYSQL_HOST, BENCH_MYSQL_SOCKET or BENCH_DSN"},
		{"unknown scenario", []string{"scenarios", "pfsof"}, 64, "", ""},
		{"no command line", []string{"from-sysbench"}, 64, "", ""},
		{"workloads", []string{"workloads"}, 0, "hotspot_update", ""},
		{"scenarios", []string{"scenarios"}, 0, "pfson_conon_inson", ""},
		{"SQL of a scenario", []string{"scenarios", "pfson_conoff_inson"}, 0, "setup_instruments", ""},
		{"plan", []string{"plan", "demo"}, 0, "24 cells, about", ""},
		{"narrowed plan", []string{"plan", "demo", "--only", "threads=8", "--only=workload=oltp_read_only", "--repeats=1"}, 0, "3 cells, about", ""},
		{"environment of a cell", []string{"plan", "demo", "--format", "env", "--cell=5"}, 0, "BENCH_CELL_INDEX=5", ""},
		{"sysbench", []string{"from-sysbench", "--", "sysbench", "--threads=8", "oltp_read_only", "run"}, 0, "BENCH_THREADS=8", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := call(t, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.out) {
				t.Errorf("exit code %d, want %d; output %q, want %q in it; error %q", code, tc.code, out, tc.out, errs)
			}
			if tc.err != "" && errs != "cellbench: "+tc.err+"\n" {
				t.Errorf("error:\n got %q\nwant %q", errs, "cellbench: "+tc.err+"\n")
			}
			if (tc.code == 0) != (errs == "") || tc.code != 0 && (out != "" || strings.Count(errs, "\n") != 1) {
				t.Errorf("a failure is one line on standard error and nothing else; output %q, error %q", out, errs)
			}
		})
	}
}

// TestEveryProblemIsALine: a wrong configuration ends before anything is made.
func TestEveryProblemIsALine(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("BENCH_THREADS", "many")
	t.Setenv("BENCH_TABEL_SIZE", "5")
	code, out, errs := callWithEnv(t, "run")
	want := "cellbench: BENCH_TABEL_SIZE: unknown variable, did you mean BENCH_TABLE_SIZE?\n" +
		"cellbench: BENCH_THREADS=many: allowed is a whole number\n"
	if code != bench.ExitConfig || out != "" || errs != want {
		t.Errorf("exit code %d, output %q, error:\n%s", code, out, errs)
	}
	if entries, _ := os.ReadDir("."); len(entries) != 0 {
		t.Errorf("it left %v behind", entries)
	}
}

func TestPlanJSONIsTheManifest(t *testing.T) {
	_, out, _ := call(t, "plan", "performance-schema-overhead", "--format=json")
	var m study.Manifest
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	if m.Schema != study.ManifestSchema || len(m.Cells) == 0 || m.Cells[3].Index == nil || *m.Cells[3].Index != 3 {
		t.Errorf("schema %q, %d cells", m.Schema, len(m.Cells))
	}
}

func TestFirstSignalWindsDownSecondExits(t *testing.T) {
	const apart = 300 * time.Millisecond
	exited := make(chan int, 1)
	ctx, stop := signalContext(func(code int) { exited <- code }, apart)
	defer stop()
	send := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	send()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the context did not end")
	}
	if err := context.Cause(ctx); bench.CodeOf(err) != bench.ExitInterrupted || err.Error() != "stopped by SIGTERM" {
		t.Errorf("cause %v", err)
	}
	send() // an echo of the first one
	select {
	case code := <-exited:
		t.Fatalf("exited with %d at the first signal or its echo", code)
	case <-time.After(apart):
	}
	send()
	select {
	case code := <-exited:
		if code != int(bench.ExitInterrupted) {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the second signal did not exit")
	}
}

func TestPanicIsExit67(t *testing.T) {
	var e bytes.Buffer
	code := command(context.Background(), []string{"version"}, stdio{panics{}, &e})
	if code != bench.ExitInternal || !strings.HasPrefix(e.String(), "cellbench: internal error: broken pipe dream\n") {
		t.Errorf("exit code %d, error %q", code, e.String())
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("broken pipe dream") }

func TestLastWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, log, want string }{
		{"errors", "loading\ncellbench: a: b\ncellbench: c\n", "a: b; c"},
		{"no error line", "loading\nKilled\n\n", "Killed"},
		{"nothing", "", ""},
	} {
		if got := lastWords(tc.log); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestRunFolders(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"run1/cells/a/r1/x.json": "run1", "cells/a/r1/x.json": "", "p/run1/manifest.json": "p/run1", "manifest.json": "",
		"run1/report/report.json": "-", "run1/cells/a/r1/x.txt": "-",
	} {
		got, ok := runFolder(key)
		if ok != (want != "-") || ok && got != want {
			t.Errorf("%s: %q %v, want %q", key, got, ok, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestKeepWritesWhereItCan(t *testing.T) {
	t.Chdir(t.TempDir())
	path := keep([]byte("{}"), "20260101T000000.000Z-0badcafe")
	if body, err := os.ReadFile(path); err != nil || string(body) != "{}" || filepath.Base(path) != "cellbench-20260101T000000.000Z-0badcafe.json" {
		t.Errorf("kept in %s: %q, %v", path, body, err)
	}
}
