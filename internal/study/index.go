package study

import (
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// indexVariables are the places where schedulers put the number of a task, all
// counting from 0: AWS Batch array jobs, Kubernetes Indexed Jobs, Cloud Run
// jobs, Google Cloud Batch.
var indexVariables = []string{"AWS_BATCH_JOB_ARRAY_INDEX", "JOB_COMPLETION_INDEX", "CLOUD_RUN_TASK_INDEX", "BATCH_TASK_INDEX"}

// IndexFromEnv finds the number of the cell to measure, from 0.
// BENCH_CELL_INDEX wins; else the scheduler's own variable counts, and two of
// them with different values are an error. Empty is unset. found is false when
// none is set. Errors carry ExitConfig.
func IndexFromEnv(lookup func(string) (string, bool)) (index int, found bool, err error) {
	from := ""
	for i, name := range append([]string{"BENCH_CELL_INDEX"}, indexVariables...) {
		text, _ := lookup(name)
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return 0, false, bench.Errorf(bench.ExitConfig, "read %s: %q, allowed are whole numbers from 0", name, text)
		}
		if i == 0 {
			return v, true, nil
		}
		if found && v != index {
			return 0, false, bench.Errorf(bench.ExitConfig, "read cell index: %s is %d but %s is %d: set BENCH_CELL_INDEX", from, index, name, v)
		}
		index, found, from = v, true, name
	}
	return index, found, nil
}

// Pick returns the cell that the environment names. Without an index the plan
// must have exactly one cell (AWS Batch knows no array of one). Errors carry
// ExitConfig.
func Pick(cells []Cell, lookup func(string) (string, bool)) (Cell, error) {
	index, found, err := IndexFromEnv(lookup)
	switch {
	case err != nil:
		return Cell{}, err
	case !found && len(cells) == 1:
		return cells[0], nil
	case !found:
		return Cell{}, bench.Errorf(bench.ExitConfig, "pick cell: the study has %d cells and no index is set: set BENCH_CELL_INDEX to 0..%d", len(cells), len(cells)-1)
	case index >= len(cells):
		return Cell{}, bench.Errorf(bench.ExitConfig, "pick cell: index %d, the study has the cells 0..%d", index, len(cells)-1)
	}
	return cells[index], nil
}

// RunIDFromEnv finds the id that all cells of one execution share: BENCH_RUN_ID,
// else the scheduler's own (the parent of an AWS Batch array job, a Cloud Run
// execution). ok is false when there is none; the caller then makes one.
func RunIDFromEnv(lookup func(string) (string, bool)) (id string, ok bool) {
	for _, name := range []string{"BENCH_RUN_ID", "AWS_BATCH_JOB_ID", "CLOUD_RUN_EXECUTION"} {
		text, _ := lookup(name)
		if name == "AWS_BATCH_JOB_ID" {
			text, _, _ = strings.Cut(text, ":") // a child's id is parent:index
		}
		if text = strings.TrimSpace(text); text != "" {
			return text, true
		}
	}
	return "", false
}
