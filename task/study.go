package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/sink"
	"cellbench/internal/study"
)

func newRunID() (string, error) { return bench.NewRunID(time.Now(), rand.Reader) }

// childGrace is how long a cell may take to wind down after SIGTERM: drain,
// restore, store.
const childGrace = 45 * time.Second

func studyVerb(ctx context.Context, args []string, std stdio) error {
	outliveReader()
	var n narrowing
	words, err := flags("study", args, n.define)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return bench.Errorf(bench.ExitConfig, "task study: name one study: a file, an s3:// object or one of %s", strings.Join(study.BuiltinNames(), ", "))
	}
	p, err := readPlan(ctx, words[0], &n)
	if err != nil {
		return err
	}
	s := &studyRun{planned: p, environ: os.Environ(), std: std, p: newProgress(std.err)}
	defer s.p.done()
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.all(ctx)
}

// studyRun is one execution of a study in this process.
type studyRun struct {
	*planned
	environ []string // as this process was started
	runID   string
	store   sink.Sink
	results string
	exe     string
	std     stdio
	p       *progress

	done, skipped int
	spent         time.Duration // on the cells that were measured here
	failed        []string
	first         error // of the first cell that failed
}

// open settles the run's id, opens the store and writes the manifest.
func (s *studyRun) open(ctx context.Context) error {
	var err error
	if s.exe, err = os.Executable(); err != nil {
		return bench.Errorf(bench.ExitInternal, "find own program: %w", err)
	}
	// The first cell's environment says where results go, and a mistake in any
	// shared setting shows here, not in each cell.
	env, err := s.cells[0].Environ(s.environ)
	if err != nil {
		return err
	}
	if err := setEnviron(env); err != nil {
		return err
	}
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	s.results = cfg.Results
	if s.runID = cfg.RunID; s.runID == "" {
		if s.runID, err = newRunID(); err != nil {
			return err
		}
	}
	if s.store, err = openStore(ctx, cfg, s.p); err != nil {
		return err
	}
	m := s.study.Manifest(s.cells, s.o, s.runID, versionText(), time.Now())
	return putManifest(ctx, s.store, &m)
}

// all measures every cell that has no good result yet.
func (s *studyRun) all(ctx context.Context) error {
	s.p.line("study %s, run %s: %d cells, about %s", s.study.Name, s.runID, len(s.cells), study.Estimate(s.cells, s.environ).Round(time.Second))
	// The children are told to end when this thread does (Linux), so it must be one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range s.cells {
		if ctx.Err() != nil {
			break
		}
		if err := s.one(ctx, s.cells[i]); err != nil {
			return err
		}
	}
	return s.end(ctx)
}

func (s *studyRun) end(ctx context.Context) error {
	s.p.line("study %s, run %s: %d measured, %d there before, %d failed", s.study.Name, s.runID, s.done, s.skipped, len(s.failed))
	for _, f := range s.failed {
		s.p.line("  failed: %s", f)
	}
	fmt.Fprintf(s.std.out, "%s/%s\n", strings.TrimRight(s.results, "/"), s.runID)
	if err := context.Cause(ctx); err != nil {
		s.p.line("to go on with the cells that are missing: BENCH_RUN_ID=%s and the same command", s.runID)
		return err
	}
	if len(s.failed) > 0 {
		return bench.Errorf(bench.CodeOf(s.first), "study %s: %d of %d cells failed; the first: %w", s.study.Name, len(s.failed), len(s.cells), s.first)
	}
	return nil
}

// one measures a cell in a child process, unless it has been.
func (s *studyRun) one(ctx context.Context, c study.Cell) error {
	name := fmt.Sprintf("[%d/%d] %s %s %s, %d threads, repeat %d", c.Index+1, len(s.cells), c.Target, c.Workload, c.Scenario, c.Threads, c.Repeat)
	there, err := s.measured(ctx, c)
	if err != nil {
		return err
	}
	if there {
		s.skipped++
		s.p.line("%s: there already", name)
		return nil
	}
	s.p.Step(fmt.Sprintf("%s, %s left", name, s.left(c.Index)))
	began := time.Now()
	res, err := s.child(ctx, c)
	if ctx.Err() != nil {
		return nil
	}
	s.spent += time.Since(began)
	if err != nil {
		s.failed = append(s.failed, fmt.Sprintf("%s: %s", name, err))
		if s.first == nil {
			s.first = err
		}
		s.p.line("%s: failed: %s", name, err)
		// A mistake in the configuration is the same in every cell.
		if bench.CodeOf(err) == bench.ExitConfig && s.done == 0 && len(s.failed) == 3 {
			return bench.Errorf(bench.ExitConfig, "study %s: the first three cells are configured wrongly: %w", s.study.Name, err)
		}
		return nil
	}
	s.done++
	text := string(res.Status)
	if res.Throughput != nil {
		text = fmt.Sprintf("%.1f qps", res.Throughput.QPS)
	}
	if res.Status != bench.StatusOK && res.Reason != nil {
		text += fmt.Sprintf(" (%s: %s)", res.Status, *res.Reason)
	}
	s.p.line("%s: %s", name, text)
	return nil
}

// left estimates how long the cells from index i on will take, from those that
// were measured here, or from the plan before the first one.
func (s *studyRun) left(i int) time.Duration {
	rest := study.Estimate(s.cells[i:], s.environ)
	if n := s.done + len(s.failed); n > 0 {
		measured := study.Estimate(s.cells[:i], s.environ) * time.Duration(n) / time.Duration(max(i, 1))
		if measured > 0 {
			rest = time.Duration(float64(rest) * float64(s.spent) / float64(measured))
		}
	}
	return rest.Round(time.Second)
}

// measured reports whether the newest attempt at a cell is a good one.
func (s *studyRun) measured(ctx context.Context, c study.Cell) (bool, error) {
	keys, err := s.store.List(ctx, bench.CellPrefix(s.runID, c.ID, c.Repeat)+"/")
	if err != nil || len(keys) == 0 {
		return false, err
	}
	for _, key := range slices.Backward(keys) {
		body, err := s.store.Get(ctx, key)
		if err != nil {
			return false, err
		}
		var r bench.Result
		if json.Unmarshal(body, &r) == nil && r.Status == bench.StatusOK {
			return true, nil
		}
	}
	return false, nil
}

// child runs one cell as a process of its own and returns its result. The error
// carries the child's exit code and its last words.
func (s *studyRun) child(ctx context.Context, c study.Cell) (*bench.Result, error) {
	env, err := c.Environ(s.environ)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.exe, "run")
	env = append(env, "BENCH_RUN_ID="+s.runID, "BENCH_RESULTS="+s.results)
	cmd.Env = env
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &tail{w: &log}
	// In a group of its own, so that Ctrl-C on the terminal reaches this process
	// only, which then ends the child once, not twice.
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = childGrace
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code := bench.ExitCode(exit.ExitCode())
		if code < 0 {
			code = bench.ExitInternal
		}
		return nil, bench.Errorf(code, "%s", first(lastWords(log.String()), err.Error()))
	}
	if err != nil {
		return nil, bench.Errorf(bench.ExitInternal, "run cell: %w", err)
	}
	var res bench.Result
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		return nil, bench.Errorf(bench.ExitInternal, "read the cell's result: %w", err)
	}
	return &res, nil
}

// lastWords returns the error lines of a child's log, or its last line.
func lastWords(log string) string {
	var found []string
	last := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "cellbench: "); ok {
			found = append(found, text)
		}
		if line != "" {
			last = line
		}
	}
	if len(found) == 0 {
		return last
	}
	return strings.Join(found, "; ")
}

// tail keeps the last part of what is written to it.
type tail struct{ w *bytes.Buffer }

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.w.Write(p)
	if extra := t.w.Len() - tailBytes; extra > 0 {
		t.w.Next(extra)
	}
	return len(p), nil
}

var _ io.Writer = (*tail)(nil)
