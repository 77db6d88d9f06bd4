package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report"
	"cellbench/internal/sink"
)

func reportVerb(ctx context.Context, args []string, std stdio) error {
	var o report.Options
	var at, references multi
	out, all := "", false
	places, err := flags("report", args, func(fs *flag.FlagSet) {
		fs.StringVar(&o.Baseline, "baseline", "", "")
		fs.Var(&at, "at", "")
		fs.StringVar(&o.Metric, "metric", "", "")
		fs.StringVar(&o.Title, "title", "", "")
		fs.StringVar(&o.MaxOverhead, "max-overhead", "", "")
		fs.BoolVar(&o.RequireAll, "require-all", false, "")
		fs.Var(&references, "reference", "")
		fs.StringVar(&out, "out", "", "")
		fs.BoolVar(&all, "all", false, "")
	})
	if err != nil {
		return err
	}
	for _, a := range at {
		o.At = append(o.At, strings.Split(a, ";")...)
	}
	for _, file := range references {
		body, err := bench.ReadFile(file, bench.MaxProduced)
		if err != nil {
			return bench.Errorf(bench.ExitConfig, "read reference: %w", err)
		}
		o.References = append(o.References, report.Reference{Name: filepath.Base(file), Body: body})
	}
	if len(places) == 0 && len(references) == 0 {
		return bench.Errorf(bench.ExitConfig, "task report: name the results: a directory or s3://bucket/prefix, of one run or several")
	}
	g := &gatherer{all: all, std: std}
	for _, place := range places {
		if err := g.add(ctx, place); err != nil {
			return err
		}
	}
	r, err := report.Build(g.docs, o)
	if err != nil {
		return err
	}
	files, err := r.Files()
	if err != nil {
		return err
	}
	where, err := g.write(ctx, out, files)
	if err != nil {
		return err
	}
	fmt.Fprint(std.out, r.Summary())
	fmt.Fprintf(std.out, "report: %s\n", where)
	if broken := r.Gate(); len(broken) > 0 {
		return bench.Errorf(bench.ExitGate, "gate: %s", strings.Join(broken, "; "))
	}
	return nil
}

// gatherer collects the documents of the runs that a report is made of.
type gatherer struct {
	all  bool
	std  stdio
	docs []report.Document
	// store and prefix say where the report of a single run belongs.
	store  sink.Sink
	prefix string
	places int
}

// add reads one place: a run, or a folder of runs, of which the newest counts
// unless all do.
func (g *gatherer) add(ctx context.Context, place string) error {
	if !strings.HasPrefix(place, "s3://") {
		if info, err := os.Stat(place); err != nil || !info.IsDir() {
			return bench.Errorf(bench.ExitConfig, "read results: %s is not a directory", place)
		}
	}
	store, err := sink.Open(ctx, place, sink.Options{PathStyle: first(os.Getenv("BENCH_S3_PATH_STYLE"), "auto")})
	if err != nil {
		return err
	}
	keys, err := store.List(ctx, "")
	if err != nil {
		return err
	}
	runs := map[string][]string{} // run's folder below place, "" for the place itself -> keys
	for _, key := range keys {
		if dir, ok := runFolder(key); ok {
			runs[dir] = append(runs[dir], key)
		}
	}
	if len(runs) == 0 {
		return bench.Errorf(bench.ExitConfig, "read results: there are none in %s", place)
	}
	chosen := slices.Sorted(maps.Keys(runs))
	if !g.all && len(chosen) > 1 {
		newest := slices.MaxFunc(chosen, func(a, b string) int { return strings.Compare(lastAttempt(runs[a]), lastAttempt(runs[b])) })
		fmt.Fprintf(g.std.err, "%s holds %d runs; this is the newest, %s (--all takes all of them)\n", place, len(chosen), newest)
		chosen = []string{newest}
	}
	for _, dir := range chosen {
		for _, key := range runs[dir] {
			body, err := store.Get(ctx, key)
			if err != nil {
				return err
			}
			g.docs = append(g.docs, report.Document{Key: key, Source: store.String(), Body: body})
		}
	}
	g.places += len(chosen)
	g.store, g.prefix = store, chosen[0]
	return nil
}

// runFolder returns the folder of the run that a key belongs to, if the key is a
// result or a manifest.
func runFolder(key string) (string, bool) {
	if path.Base(key) == "manifest.json" {
		dir := path.Dir(key)
		return strings.TrimPrefix(dir, "."), true
	}
	if !strings.HasSuffix(key, ".json") {
		return "", false
	}
	if i := strings.Index("/"+key, "/cells/"); i >= 0 {
		return strings.TrimSuffix(key[:i], "/"), true
	}
	return "", false
}

// lastAttempt returns the name of the newest attempt among a run's keys.
func lastAttempt(keys []string) string {
	last := ""
	for _, k := range keys {
		if b := path.Base(k); b != "manifest.json" && b > last {
			last = b
		}
	}
	return last
}

// write puts the files of the report beside the results of a single run, or into
// out, and returns the place of the page.
func (g *gatherer) write(ctx context.Context, out string, files map[string][]byte) (string, error) {
	store, prefix := g.store, path.Join(g.prefix, "report")
	if out != "" || g.places != 1 {
		var err error
		if store, err = sink.Open(ctx, first(out, "./report"), sink.Options{PathStyle: first(os.Getenv("BENCH_S3_PATH_STYLE"), "auto")}); err != nil {
			return "", err
		}
		prefix = ""
	}
	where := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		place, err := store.Overwrite(ctx, path.Join(prefix, name), files[name])
		if err != nil {
			return "", bench.Errorf(bench.ExitStore, "write report: %w", err)
		}
		if name == "report.html" {
			where = place
		}
	}
	return where, nil
}
