// Package report turns result documents into what people publish: tables of
// throughput by concurrency with signed percentages against a baseline, peaks,
// latency percentiles, plots, and sentences computed from them.
//
// It never opens a connection and reads no clock: documents come in as bytes,
// files go out as bytes, and the same input gives the same bytes.
//
// The way through it:
//
//  1. read: documents become entries (one result each), manifests, and a list of
//     what could not be read (read.go).
//  2. dimensions: the compared axis follows from the baseline; what else varies
//     separates panels (axis.go).
//  3. build: the newest valid attempt of each repeat is chosen, repeats of one
//     cell become a point with its statistics, points become panels (build.go).
//  4. tables: every table is made once, as data, and written as HTML, Markdown
//     and numbers alike (tables.go), so no two outputs can disagree.
//  5. plots, findings and gate are computed from the same panels.
//
// One convention holds everywhere and is printed over each table: a percentage
// is 100 * (value / baseline - 1) with two decimals. For throughput a negative
// number means slower than the baseline, for latency a positive one does.
package report
