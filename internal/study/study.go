package study

import (
	"slices"
	"strings"

	"cellbench/internal/bench"
)

// Known says whether the environment has a variable BENCH_<NAME>; name is in
// lower case without the prefix. When it has not, suggestion is the nearest
// name it has, or empty.
type Known func(name string) (suggestion string, ok bool)

// KnownNames makes a Known of a list of setting names.
func KnownNames(names []string) Known {
	return func(name string) (string, bool) {
		if slices.Contains(names, name) {
			return "", true
		}
		return bench.Nearest(name, names), false
	}
}

// Study is a parsed study file. It holds references to secrets
// (`${PROD_PASSWORD}`), never their values, unless the author wrote one in.
type Study struct {
	Name        string
	Description string
	Axes        []Axis            // in file order
	Settings    map[string]string // shared by all cells, by setting name
	Labels      map[string]string // shared by all cells
	Targets     map[string]Target
	Workloads   map[string]map[string]string // settings of single workloads, by workload
	Scenarios   map[string]map[string]string // settings of single scenarios, by scenario
	Exclude     []Match
	Include     []Match
	Repeats     int // at least 1
	Order       Order
	Baseline    *Value // what percentages refer to; nil without a baseline
	AA          bool   // measure the baseline twice, as cells of their own
	Report      Report
	SHA256      string // of the file, hexadecimal
}

// Axis is one dimension of the matrix. Name is `target`, `workload`,
// `scenario`, `threads`, another setting, or `label.<name>`.
type Axis struct {
	Name   string
	Values []string // distinct, in file order
}

// Target is one server: how it is reached and what it is called in reports.
type Target struct {
	Settings map[string]string
	Labels   map[string]string
}

// Match is a combination of axis values; an axis that it doesn't name may have
// any value.
type Match map[string][]string

// Value is one value of one axis.
type Value struct {
	Axis  string
	Value string
}

// Order says how cells follow one another.
type Order struct {
	Mode string // OrderInterleaved or OrderSequential
	Seed uint64 // of the shuffles, OrderInterleaved only
}

// The two orders. Interleaved makes repeats the outermost blocks, puts what is
// compared next to each other in time in shuffled order, and reads before
// writes. Sequential nests the axes as the file does, repeats innermost.
const (
	OrderInterleaved = "interleaved"
	OrderSequential  = "sequential"
)

// Report holds what the report of this study should show.
type Report struct {
	Title  string
	At     []Value // points of the summary, e.g. threads=32
	Metric string  // "qps", "tps" or empty
}

// The axes that every cell has.
const (
	axisTarget   = "target"
	axisWorkload = "workload"
	axisScenario = "scenario"
	axisThreads  = "threads"
	labelPrefix  = "label."
)

func isCore(axis string) bool {
	return axis == axisTarget || axis == axisWorkload || axis == axisScenario || axis == axisThreads
}

// axis returns the values of the named axis, nil if the study has no such axis.
func (s *Study) axis(name string) []string {
	for _, a := range s.Axes {
		if a.Name == name {
			return a.Values
		}
	}
	return nil
}

func (s *Study) axisNames() []string {
	names := make([]string, len(s.Axes))
	for i, a := range s.Axes {
		names[i] = a.Name
	}
	return names
}

// variable is the environment's name of a setting.
func variable(setting string) string { return "BENCH_" + strings.ToUpper(setting) }
