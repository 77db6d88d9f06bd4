package main

import (
	"context"
	"fmt"

	"cellbench/internal/bench"
	"cellbench/internal/cell"
	"cellbench/internal/config"
)

func prepareVerb(ctx context.Context, args []string, std stdio) error {
	return datasetVerb(ctx, "prepare", args, std, func(ctx context.Context, cfg *config.Config, p *progress) error {
		d, err := cell.PrepareOnly(ctx, cfg, cell.Options{Progress: p, Token: tokens, Version: versionText()})
		if err != nil {
			return err
		}
		p.done()
		fmt.Fprintf(std.out, "dataset %s: %s rows in %d tables, %s\n", d.Fingerprint, thousands(d.Rows), d.Tables, d.Origin)
		return nil
	})
}

func cleanupVerb(ctx context.Context, args []string, std stdio) error {
	return datasetVerb(ctx, "cleanup", args, std, func(ctx context.Context, cfg *config.Config, p *progress) error {
		dropped, err := cell.Cleanup(ctx, cfg, cell.Options{Progress: p, Token: tokens, Version: versionText()})
		if err != nil {
			return err
		}
		p.done()
		if len(dropped) == 0 {
			fmt.Fprintln(std.out, "there was nothing to drop")
		}
		for _, table := range dropped {
			fmt.Fprintf(std.out, "dropped %s\n", table)
		}
		return nil
	})
}

// datasetVerb runs a verb that works on the dataset of a named target.
func datasetVerb(ctx context.Context, name string, args []string, std stdio, do func(context.Context, *config.Config, *progress) error) error {
	outliveReader()
	words, err := flags(name, args, nil)
	if err == nil {
		err = noWords(name, words)
	}
	if err != nil {
		return err
	}
	if _, err := becomeCell(ctx); err != nil {
		return err
	}
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	if err := cell.Complete(cfg); err != nil {
		return err
	}
	if cfg.Local {
		return bench.Errorf(bench.ExitConfig, "task %s: a local target lives for one cell only; set BENCH_MYSQL_HOST, BENCH_MYSQL_SOCKET or BENCH_DSN", name)
	}
	p := newProgress(std.err)
	defer p.done()
	return do(ctx, cfg, p)
}
