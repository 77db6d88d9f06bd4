package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/cell"
	"cellbench/internal/config"
	"cellbench/internal/sink"
)

// flags parses the arguments of a verb: flags may stand before and after the
// words, which are returned.
func flags(name string, args []string, define func(*flag.FlagSet)) ([]string, error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if define != nil {
		define(fs)
	}
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "task %s: %w; see task help", name, err)
		}
		if fs.NArg() == 0 {
			return words, nil
		}
		words = append(words, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// noWords refuses arguments that a verb does not take.
func noWords(name string, words []string) error {
	if len(words) > 0 {
		return bench.Errorf(bench.ExitConfig, "task %s takes no argument, got %q; settings are BENCH_* variables", name, words[0])
	}
	return nil
}

func runVerb(ctx context.Context, args []string, std stdio) error {
	outliveReader()
	summary := ""
	words, err := flags("run", args, func(fs *flag.FlagSet) {
		fs.StringVar(&summary, "summary", "", "sysbench")
	})
	if err == nil {
		err = noWords("run", words)
	}
	if err != nil {
		return err
	}
	if summary != "" && summary != "sysbench" {
		return bench.Errorf(bench.ExitConfig, "task run --summary=%s: allowed is sysbench", summary)
	}
	manifest, err := becomeCell(ctx)
	if err != nil {
		return err
	}
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	if err := cell.Complete(cfg); err != nil {
		return err
	}
	p := newProgress(std.err)
	p.sysbench = summary == "sysbench"
	defer p.done()
	store, err := openStore(ctx, cfg, p)
	if err != nil {
		return err
	}
	if err := putManifest(ctx, store, manifest); err != nil {
		return err
	}
	o, err := cellOptions(cfg, p)
	if err != nil {
		return err
	}
	res, runErr := cell.Run(ctx, cfg, o)
	p.done()
	return finish(ctx, std, store, res, runErr, summary)
}

// openStore opens the results storage and proves that it can be written to.
func openStore(ctx context.Context, cfg *config.Config, p *progress) (sink.Sink, error) {
	store, err := sink.Open(ctx, cfg.Results, sink.Options{PathStyle: cfg.S3PathStyle})
	if err != nil {
		return nil, err
	}
	p.Step("checking that results can be stored in " + store.String())
	if err := store.Check(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

// cellOptions names the cell: its run, attempt and id.
func cellOptions(cfg *config.Config, p *progress) (cell.Options, error) {
	now := time.Now()
	o := cell.Options{
		Version: versionText(), RunID: cfg.RunID, Index: cfg.CellIndex.N, Labels: maps.Clone(map[string]string(cfg.Labels)),
		Progress: p, Token: tokens,
	}
	var err error
	if o.RunID == "" {
		if o.RunID, err = bench.NewRunID(now, rand.Reader); err != nil {
			return o, err
		}
	}
	if o.Attempt, err = bench.NewAttempt(now, rand.Reader); err != nil {
		return o, err
	}
	o.CellID = cfg.CellID
	if o.CellID == "" {
		o.CellID = bench.CellID(cell.TargetName(cfg), cfg.Workload, cfg.Scenario, cfg.Threads, cfg.Labels)
	}
	return o, nil
}

// storeTime bounds the storing of a result, retries included.
const storeTime = 2 * time.Minute

// finish stores the result and shows it.
func finish(ctx context.Context, std stdio, store sink.Sink, res *bench.Result, runErr error, summary string) error {
	for _, w := range store.Warnings() {
		res.Warn("store", w)
	}
	body, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return errors.Join(runErr, fmt.Errorf("encode result: %w", err))
	}
	body = append(body, '\n')
	// A signal must not keep the result from being stored, so ctx's end is ignored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	key := bench.ResultKey(res.RunID, res.Cell.ID, res.Cell.Repeat, res.Attempt)
	location, err := store.Put(ctx, key, body)
	if err != nil {
		kept := keep(body, res.Attempt)
		err = bench.Errorf(bench.ExitStore, "store result: %w; it is kept in %s and on standard output", err, kept)
		location = kept
	}
	show(std, res, body, location, summary, err != nil)
	if err != nil {
		if runErr != nil {
			fail(runErr, std.err)
		}
		return err
	}
	return runErr
}

// keep writes a result that could not be stored to a file here, or in the
// temporary folder, and returns its path, or "no file" if that failed too.
func keep(body []byte, attempt string) string {
	for _, dir := range []string{".", os.TempDir()} {
		path, err := filepath.Abs(filepath.Join(dir, "cellbench-"+attempt+".json"))
		if err == nil && os.WriteFile(path, body, 0o600) == nil {
			return path
		}
	}
	return "no file (none could be written)"
}

// show writes the result to standard output: the JSON, or on a terminal the
// summary and the place of the JSON. Elsewhere the summary goes to standard error.
func show(std stdio, res *bench.Result, body []byte, location, summary string, unstored bool) {
	terminal := isTerminal(std.out)
	if !terminal || unstored {
		if _, err := std.out.Write(body); err != nil {
			fmt.Fprintf(std.err, "cellbench: warning: write result to standard output: %v\n", err)
		}
	}
	to := std.err
	if terminal {
		to = std.out
	}
	switch {
	case res.Window == nil && res.Status != bench.StatusOK:
		// Nothing was measured; the error that follows is the one line that says why.
	case summary == "sysbench":
		fmt.Fprint(std.err, sysbenchSummary(res))
	default:
		fmt.Fprint(to, summaryText(res))
	}
	fmt.Fprintf(to, "result: %s\n", location)
}
