package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/sink"
	"cellbench/internal/study"
)

// planned is a study and the cells that this call of it has.
type planned struct {
	study *study.Study
	cells []study.Cell
	o     study.Options
}

// narrowing are the flags that study and plan share; the environment's BENCH_ONLY,
// BENCH_SEED and BENCH_REPEATS say the same for a container.
type narrowing struct {
	only          multi
	seed, repeats string
}

// multi is a flag that may stand several times.
type multi []string

func (m *multi) String() string     { return strings.Join(*m, ";") }
func (m *multi) Set(s string) error { *m = append(*m, s); return nil }

func (n *narrowing) define(fs *flag.FlagSet) {
	fs.Var(&n.only, "only", "")
	fs.StringVar(&n.seed, "seed", "", "")
	fs.StringVar(&n.repeats, "repeats", "", "")
}

// options makes study.Options of the environment, over which the flags are laid.
func (n *narrowing) options() (study.Options, error) {
	env := os.Environ()
	for name, value := range map[string]string{"BENCH_ONLY": n.only.String(), "BENCH_SEED": n.seed, "BENCH_REPEATS": n.repeats} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return study.OptionsFromEnv(env)
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// readPlan reads a study and plans its cells.
func readPlan(ctx context.Context, name string, n *narrowing) (*planned, error) {
	data, err := readStudy(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := study.Parse(name, data, study.KnownNames(config.SettingNames()))
	if err != nil {
		return nil, err
	}
	p := &planned{study: s}
	if p.o, err = n.options(); err != nil {
		return nil, err
	}
	p.cells, err = s.Cells(p.o)
	return p, err
}

// readStudy reads a built-in study, a file or an object in S3.
func readStudy(ctx context.Context, name string) ([]byte, error) {
	if data, ok := study.Builtin(name); ok {
		return data, nil
	}
	if strings.HasPrefix(name, "s3://") {
		dir, file := name[:strings.LastIndexByte(name, '/')], name[strings.LastIndexByte(name, '/')+1:]
		store, err := sink.Open(ctx, dir, sink.Options{PathStyle: first(os.Getenv("BENCH_S3_PATH_STYLE"), "auto")})
		if err != nil {
			return nil, err
		}
		data, err := store.Get(ctx, file)
		if errors.Is(err, sink.ErrNotFound) {
			return nil, bench.Errorf(bench.ExitConfig, "read study %s: there is no such object", name)
		}
		return data, err
	}
	data, err := bench.ReadFile(name, bench.MaxWritten)
	if err == nil {
		return data, nil
	}
	if _, there := os.Lstat(name); there != nil && !strings.ContainsAny(name, "./\\") {
		return nil, bench.Errorf(bench.ExitConfig, "read study: no file and no built-in study %q, %s", name, bench.DidYouMean(name, study.BuiltinNames()))
	}
	return nil, bench.Errorf(bench.ExitConfig, "read study: %w", err)
}

// becomeCell lays the study's cell over this process's environment when
// BENCH_STUDY is set, and returns the manifest of the run, nil without a study.
func becomeCell(ctx context.Context) (*study.Manifest, error) {
	name := os.Getenv("BENCH_STUDY")
	if name == "" {
		return nil, nil
	}
	p, err := readPlan(ctx, name, &narrowing{})
	if err != nil {
		return nil, err
	}
	c, err := study.Pick(p.cells, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	runID, ok := study.RunIDFromEnv(os.LookupEnv)
	if !ok {
		if len(p.cells) > 1 {
			return nil, bench.Errorf(bench.ExitConfig, "BENCH_RUN_ID: all cells of a run of %s share it, so it must be set (to any name that is new)", name)
		}
		if runID, err = newRunID(); err != nil {
			return nil, err
		}
	}
	env, err := c.Environ(os.Environ())
	if err != nil {
		return nil, err
	}
	m := p.study.Manifest(p.cells, p.o, runID, versionText(), time.Now())
	if err := setEnviron(append(env, "BENCH_RUN_ID="+runID)); err != nil {
		return nil, err
	}
	return &m, nil
}

// setEnviron makes env this process's environment.
func setEnviron(env []string) error {
	os.Clearenv()
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if err := os.Setenv(name, value); err != nil {
			return bench.Errorf(bench.ExitConfig, "set %s: %w", name, err)
		}
	}
	return nil
}

// putManifest stores the plan of the run unless it is there already: every cell
// of a fan-out tries, the first one wins.
func putManifest(ctx context.Context, store sink.Sink, m *study.Manifest) error {
	if m == nil {
		return nil
	}
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return bench.Errorf(bench.ExitInternal, "encode manifest: %w", err)
	}
	_, err = store.Put(ctx, bench.ManifestKey(m.RunID), append(body, '\n'))
	if !errors.Is(err, sink.ErrExists) {
		return err
	}
	there, err := store.Get(ctx, bench.ManifestKey(m.RunID))
	if err != nil {
		return err
	}
	var before study.Manifest
	if err := json.Unmarshal(there, &before); err != nil {
		return bench.Errorf(bench.ExitConfig, "run %s: its manifest cannot be read: %w; choose another BENCH_RUN_ID", m.RunID, err)
	}
	if !samePlan(&before, m) {
		return bench.Errorf(bench.ExitConfig, "run %s was planned with other cells; choose another BENCH_RUN_ID, or give the study, --only, --repeats and --seed that it began with", m.RunID)
	}
	return nil
}

func samePlan(a, b *study.Manifest) bool {
	if len(a.Cells) != len(b.Cells) {
		return false
	}
	for i := range a.Cells {
		if a.Cells[i].ID != b.Cells[i].ID || a.Cells[i].Repeat != b.Cells[i].Repeat {
			return false
		}
	}
	return true
}

func planVerb(ctx context.Context, args []string, std stdio) error {
	var n narrowing
	format, cellNo := "table", -1
	words, err := flags("plan", args, func(fs *flag.FlagSet) {
		n.define(fs)
		fs.StringVar(&format, "format", format, "")
		fs.IntVar(&cellNo, "cell", cellNo, "")
	})
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return bench.Errorf(bench.ExitConfig, "task plan: name one study: a file, an s3:// object or one of %s", strings.Join(study.BuiltinNames(), ", "))
	}
	p, err := readPlan(ctx, words[0], &n)
	if err != nil {
		return err
	}
	cells := p.cells
	if cellNo >= 0 {
		if cellNo >= len(cells) {
			return bench.Errorf(bench.ExitConfig, "task plan --cell=%d: the study has the cells 0..%d", cellNo, len(cells)-1)
		}
		cells = cells[cellNo : cellNo+1]
	}
	switch format {
	case "table":
		return planTable(std, cells)
	case "json":
		m := p.study.Manifest(cells, p.o, "", versionText(), time.Now())
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		return e.Encode(m)
	case "env":
		if len(cells) != 1 {
			return bench.Errorf(bench.ExitConfig, "task plan --format=env prints one cell; name it with --cell N (0..%d)", len(cells)-1)
		}
		for _, kv := range cells[0].Show(os.Environ()) {
			fmt.Fprintln(std.out, kv)
		}
		return nil
	}
	return bench.Errorf(bench.ExitConfig, "task plan --format=%s: allowed are table, json, env", format)
}

func planTable(std stdio, cells []study.Cell) error {
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "cell\ttarget\tworkload\tscenario\tthreads\trepeat\tlabels")
	for _, c := range cells {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%s\n", c.Index, c.Target, c.Workload, c.Scenario, c.Threads, c.Repeat, config.Labels(c.Labels))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%d cells, about %s one after another\n", len(cells), study.Estimate(cells, os.Environ()).Round(time.Second))
	return nil
}
