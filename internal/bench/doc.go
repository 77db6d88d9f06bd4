// Package bench holds the words of cellbench as types: a Cell, its Result, the
// Status of a measurement and the exit code of the process that made it.
//
// It imports the standard library only, so that every other room can share
// these words without sharing anything else.
//
// Units: durations are time.Duration inside the program and carry their unit in
// the name at the edge (`_ms`, `_s`, `_bytes`). A value that is not known is a
// nil pointer here and null in JSON; zero always means a measured zero.
package bench
