// Package workloads holds the example workload files: starting points for a
// workload of your own (BENCH_WORKLOAD_FILE).
package workloads

import "embed"

// Files are the examples, by file name.
//
//go:embed *.yaml
var Files embed.FS
