// Command task measures MySQL: it runs one cell (a workload under a scenario at
// one concurrency against a target), or all cells of a study, and makes the
// report. The README describes its variables, verbs and exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
)

func main() {
	ctx, stop := signalContext(os.Exit, secondSignal)
	code := command(ctx, os.Args[1:], stdio{os.Stdout, os.Stderr})
	stop()
	os.Exit(int(code))
}

// stdio is where a verb writes: its product to out, everything else to err.
type stdio struct{ out, err io.Writer }

// output is the standard output of a verb. It remembers a failure to write, which
// no verb looks for itself.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// verb is one subcommand.
type verb struct {
	name, usage, help string
	run               func(ctx context.Context, args []string, std stdio) error
}

func verbs() []verb {
	return []verb{
		{"run", "[--summary sysbench]", "measure one cell, as the BENCH_* variables say (the default verb)", runVerb},
		{"prepare", "", "load the dataset of the cell", prepareVerb},
		{"cleanup", "", "drop the tables that cellbench made", cleanupVerb},
		{"study", "FILE|NAME [--only axis=v1,v2] [--repeats N] [--seed N]", "run all cells of a study here, one after another", studyVerb},
		{"plan", "FILE|NAME [--format table|json|env] [--cell N] [--only ...]", "print the cells of a study", planVerb},
		{"report", "RESULTS... [--baseline axis=value] [--at threads=N] [--metric qps|tps] [--title T] [--reference CSV] [--max-overhead 25%] [--require-all] [--all] [--out DIR]", "make the report of one or several runs", reportVerb},
		{"summary", "[--style sysbench] FILE...", "print stored results for people, or as sysbench does", summaryVerb},
		{"scenarios", "[NAME]", "list the scenarios, or print the SQL of one", scenariosVerb},
		{"workloads", "", "list the workloads", workloadsVerb},
		{"from-sysbench", "-- sysbench OPTIONS... TEST COMMAND", "translate a sysbench command line into variables", fromSysbenchVerb},
		{"version", "", "print the version", versionVerb},
	}
}

// command runs one verb and returns the exit code. An error becomes lines on
// std.err, one for each problem.
func command(ctx context.Context, args []string, std stdio) (code bench.ExitCode) {
	defer func() {
		// A fault of cellbench itself is exit 67, not Go's 2, which schedulers would
		// take for something else. The stack still tells where it was.
		if p := recover(); p != nil {
			fmt.Fprintf(std.err, "cellbench: internal error: %v\n%s", p, stack())
			code = bench.ExitInternal
		}
	}()
	out := &output{Writer: std.out}
	std.out = out
	name := "run"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") || name == "help" {
		fmt.Fprint(std.out, help())
		return bench.ExitOK
	}
	for _, v := range verbs() {
		if v.name == name {
			err := v.run(ctx, args, std)
			// The product of run is the stored result; it says so itself.
			if out.err != nil && name != "run" {
				err = bench.Errorf(bench.ExitStore, "write standard output: %w", out.err)
			}
			return fail(err, std.err)
		}
	}
	names := make([]string, 0, len(verbs()))
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return fail(bench.Errorf(bench.ExitConfig, "unknown verb %q, %s", name, bench.DidYouMean(name, names)), std.err)
}

// fail prints an error and returns its exit code.
func fail(err error, w io.Writer) bench.ExitCode {
	if err == nil {
		return bench.ExitOK
	}
	lines := []string{strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")}
	var settings config.Problems
	var file bench.Problems
	if errors.As(err, &settings) || errors.As(err, &file) {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, line := range lines {
		fmt.Fprintf(w, "cellbench: %s\n", bench.Printable(line))
	}
	return bench.CodeOf(err)
}

func help() string {
	var b strings.Builder
	b.WriteString("cellbench measures MySQL. Settings are BENCH_* environment variables; see the README.\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  task %-13s %s\n", v.name, v.help)
		if v.usage != "" {
			fmt.Fprintf(&b, "  %18s task %s %s\n", "", v.name, v.usage)
		}
	}
	return b.String()
}

// secondSignal is how far apart two signals are that were sent on purpose. When
// the parent of a cell is killed, the kernel's signal of its death
// (PR_SET_PDEATHSIG) may come once for each of the parent's threads.
const secondSignal = 500 * time.Millisecond

// signalContext returns a context that ends at the first SIGINT or SIGTERM, or
// SIGHUP when the terminal goes (unless nohup has it ignored), with a cause that
// leads to exit 75: the cell then winds down and keeps what it has. A second
// signal, at least apart later, exits at once.
func signalContext(exit func(int), apart time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		first := time.Now()
		cancel(bench.Errorf(bench.ExitInterrupted, "stopped by %s", signalName(s)))
		for range signals {
			if time.Since(first) >= apart {
				exit(int(bench.ExitInterrupted))
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}

// outliveReader keeps this process alive when nobody reads what it prints any
// more (a study that was killed, a pipe into head): writes fail, but a server is
// still put back and the result stored. Without it SIGPIPE would end the process.
func outliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
