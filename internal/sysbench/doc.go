// Package sysbench speaks sysbench's language at both ends of a run: it
// translates a sysbench command line into BENCH_ variables, and writes a result
// the way sysbench 1.0.20 prints one, for scripts that read it.
//
// What an option means follows sysbench 1.0.20 (what distributions ship) and
// its master branch; where the two differ, options that only one of them has
// tell which is meant.
package sysbench
