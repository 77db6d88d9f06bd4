package report

import (
	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// Schema names the version of report.json.
const Schema = "cellbench.report/v1"

// statusMissing stands for a planned cell that left no result.
const statusMissing bench.Status = "missing"

// Report is everything computed from a set of documents. Make it with Build;
// its JSON form is report.json.
type Report struct {
	Schema      string   `json:"schema"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Runs        []string `json:"runs"`
	Metric      string   `json:"metric"`   // "qps" or "tps": what percentages are of
	Axis        string   `json:"axis"`     // the compared dimension
	Baseline    *string  `json:"baseline"` // its value that percentages refer to; null if none
	At          []int    `json:"at"`       // threads of the summary, of latency and of the findings

	Subject    Subject           `json:"subject"`
	Findings   []Finding         `json:"findings"`
	Panels     []*Panel          `json:"panels"`
	Cells      []CellRow         `json:"cells"`
	Unread     []Unread          `json:"unread"`
	References []*ReferenceTable `json:"references"`
	Broken     []string          `json:"gate_broken"`

	count tally
}

// tally counts cells by what became of them.
type tally struct {
	planned, ok, invalid, failed, interrupted, missing, superseded int
	unsteady, clientLimited, foreign                               int
}

// Panel is one table: a target and workload (and whatever else is constant in
// it), threads down, the compared values across.
type Panel struct {
	ID       string    `json:"id"`
	Dims     []Dim     `json:"dims"`
	Title    string    `json:"title"`
	Workload string    `json:"workload"`
	Threads  []int     `json:"threads"`
	Columns  []*Column `json:"columns"`
	Noise    *Noise    `json:"noise"` // null without a baseline
	points   map[spot]*Point
}

// Dim is one dimension and its value.
type Dim struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// spot is a place in a panel.
type spot struct {
	column  string
	threads int
}

// Column is one compared value of a panel.
type Column struct {
	Value    string   `json:"value"`
	Baseline bool     `json:"baseline"`
	AA       bool     `json:"aa"` // repeats the baseline under another name
	Points   []*Point `json:"points"`
	Peak     *Peak    `json:"peak"` // null when nothing was measured
	// Average is the mean of the percentages over all threads, null without any.
	Average *float64 `json:"average_percent"`
}

// Peak is the best median over all threads.
type Peak struct {
	QPS        float64 `json:"qps"`
	QPSThreads int     `json:"qps_threads"`
	TPS        float64 `json:"tps"`
	TPSThreads int     `json:"tps_threads"`
	Marks      []Mark  `json:"marks,omitempty"`
}

// Point is one cell with all its repeats.
type Point struct {
	Threads int               `json:"threads"`
	State   bench.Status      `json:"state"` // ok, invalid, failed, interrupted, missing
	Planned bool              `json:"-"`
	QPS     *stats.Summary    `json:"qps"`
	TPS     *stats.Summary    `json:"tps"`
	Delta   *stats.Comparison `json:"vs_baseline"` // of the report's metric
	P95     *float64          `json:"p95_ms"`
	CPU     *float64          `json:"server_us_per_query"` // median
	Marks   []Mark            `json:"marks,omitempty"`
	Notes   []string          `json:"notes,omitempty"` // one line each, with the repeat they are about

	Latency    *Distribution            `json:"latency"`
	Statements map[string]*Distribution `json:"statements,omitempty"`

	used    []*entry
	repeats int // that a plan or any document knows of
}

// Distribution is a merged histogram in milliseconds, without the histogram.
type Distribution struct {
	Count       int64     `json:"count"`
	MinMS       float64   `json:"min_ms"`
	MeanMS      float64   `json:"mean_ms"`
	MaxMS       float64   `json:"max_ms"`
	Percentiles []float64 `json:"percentiles_ms"` // of the percentiles that percentiles() names
	PerSecond   float64   `json:"per_s"`
	curve       []float64 // of curvePercentiles()
}

// Noise is how far apart two measurements of the same thing are.
type Noise struct {
	Source  string   `json:"source"`      // "aa", "repeats" or "unknown"
	Largest *float64 `json:"largest_pct"` // percent, null when unknown
	Points  int      `json:"points"`
}

// Mark qualifies a number; the tables explain each mark they use.
type Mark string

// The marks of a number, in the order they are printed.
const (
	MarkSingle      Mark = "¹" // a single measurement
	MarkFew         Mark = "?" // too few repeats for the test
	MarkSame        Mark = "~" // not significant
	MarkUnsteady    Mark = "†" // throughput moved inside the window
	MarkClient      Mark = "‡" // the load generator was the limit
	MarkForeign     Mark = "§" // another fingerprint or engine
	MarkLessRepeats Mark = "¶" // some of its repeats are missing or were not usable
	MarkErrors      Mark = "×" // statements failed in the window
)

// Finding is one sentence computed from the data.
type Finding struct {
	Kind   string `json:"kind"` // "change", "peak", "average", "latency", "noise", "data"
	Text   string `json:"text"`
	Number string `json:"number,omitempty"` // kind change: the largest one, e.g. "-22.80 %"
	About  string `json:"about,omitempty"`  // kind change: what it is of
}

// CellRow is one result document, or one planned cell without any.
type CellRow struct {
	Run      string            `json:"run_id"`
	ID       string            `json:"cell_id"`
	Target   string            `json:"target"`
	Workload string            `json:"workload"`
	Scenario string            `json:"scenario"`
	Threads  int               `json:"threads"`
	Repeat   int               `json:"repeat"`
	Labels   map[string]string `json:"labels"`
	Attempt  string            `json:"attempt"`
	Status   bench.Status      `json:"status"`
	Used     bool              `json:"used"` // whether the tables use it
	Why      string            `json:"why"`  // reason of its status, or why it is not used
	QPS      *float64          `json:"qps"`
	TPS      *float64          `json:"tps"`
	MeanMS   *float64          `json:"mean_ms"`
	P95MS    *float64          `json:"p95_ms"`
	P99MS    *float64          `json:"p99_ms"`
	Errors   *int64            `json:"errors"`
	Steady   string            `json:"steady"` // "steady", "unsteady" or ""
	CV       *float64          `json:"cv"`
	Client   string            `json:"client"` // "ok", "client_limited" or ""
	Server   *float64          `json:"server_us_per_query"`
	Warnings []string          `json:"warnings"`
	Key      string            `json:"key"`
}

// Subject says what was measured on what: facts that all results share, and
// those that differ with all their values.
type Subject struct {
	Facts     []Fact `json:"facts"`
	Settings  []Fact `json:"settings"`
	Variables []Fact `json:"server_variables"`
	Start     string `json:"start"` // RFC 3339 UTC, "" without a window
	End       string `json:"end"`
}

// Fact is a name with the values it had.
type Fact struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}
