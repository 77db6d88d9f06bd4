// Package study turns a study file into an ordered list of cells.
//
// A study is a matrix: its axes name the values to combine, its settings are
// shared by all cells, and its targets say how each server is reached. The way
// through the package is
//
//	bytes -> Parse -> *Study -> Cells -> []Cell -> Environ -> one process each
//
// The order of the cells is a pure function of the file, the seed and the
// narrowing options, so every container of a fan-out computes the same plan for
// itself and picks its cell by index. Nothing here reads the environment, the
// disk or a clock: callers hand these in.
//
// Names of settings are those of the environment without BENCH_, in lower case:
// `table_size` is BENCH_TABLE_SIZE.
package study
