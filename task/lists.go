package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"cellbench/internal/bench"
	"cellbench/internal/cell"
	"cellbench/internal/scenario"
	"cellbench/internal/sink"
	"cellbench/internal/workload"
)

// tokens makes passwords for BENCH_MYSQL_AUTH=rds-iam.
var tokens = sink.RDSToken

func workloadsVerb(_ context.Context, args []string, std stdio) error {
	words, err := flags("workloads", args, nil)
	if err == nil {
		err = noWords("workloads", words)
	}
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
	for _, name := range workload.Names() {
		fmt.Fprintf(w, "%s\t%s\n", name, workload.Describe(name))
	}
	return w.Flush()
}

func scenariosVerb(_ context.Context, args []string, std stdio) error {
	words, err := flags("scenarios", args, nil)
	if err != nil {
		return err
	}
	text, file, err := cell.ScenarioFile(os.Getenv("BENCH_SCENARIO_FILE"))
	if err != nil {
		return err
	}
	switch len(words) {
	case 0:
		all, err := scenario.All(text, file)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
		for _, s := range all {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Description)
		}
		return w.Flush()
	case 1:
		s, err := scenario.Find(words[0], text, file)
		if err != nil {
			return err
		}
		for _, stmt := range s.SQL() {
			fmt.Fprintln(std.out, stmt)
		}
		return nil
	}
	return bench.Errorf(bench.ExitConfig, "task scenarios: name one scenario, or none for the list")
}
