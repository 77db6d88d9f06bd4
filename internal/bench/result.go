package bench

import "time"

// ResultSchema names the version of the result document.
const ResultSchema = "cellbench.result/v1"

// Status says what a result is worth.
type Status string

// The four kinds of result.
const (
	StatusOK          Status = "ok"          // measured as asked
	StatusInvalid     Status = "invalid"     // measured, but the numbers must not be used
	StatusFailed      Status = "failed"      // nothing was measured
	StatusInterrupted Status = "interrupted" // stopped by a signal; the part measured is there
)

// Warning is a finding that does not stop the cell and travels with its numbers.
type Warning struct {
	Code    string `json:"code"`    // a stable word, e.g. "client_limited"
	Message string `json:"message"` // one line for people
}

// Cell names one measurement: target x workload x scenario x threads x repeat.
type Cell struct {
	ID       string            `json:"id"` // readable and unique in a run, part of the key
	Target   string            `json:"target"`
	Workload string            `json:"workload"`
	Scenario string            `json:"scenario"`
	Threads  int               `json:"threads"` // connections, each with one statement outstanding
	Repeat   int               `json:"repeat"`  // from 1
	Index    *int              `json:"index"`   // position in the study's plan, from 0; null outside a study
	Labels   map[string]string `json:"labels"`
}

// Result is the one JSON document that a cell leaves behind. The JSON Schema in
// result.schema.json describes it; both change together.
type Result struct {
	Schema     string            `json:"schema"`
	Status     Status            `json:"status"`
	Reason     *string           `json:"reason"` // why the status is not ok
	Warnings   []Warning         `json:"warnings"`
	RunID      string            `json:"run_id"`
	Attempt    string            `json:"attempt"` // sorts by time within a cell and repeat
	Cell       Cell              `json:"cell"`
	Config     map[string]string `json:"config"` // effective settings by variable name, allow-listed
	Window     *Window           `json:"window"`
	Throughput *Throughput       `json:"throughput"`
	Counts     *Counts           `json:"counts"`
	Latency    *LatencyReport    `json:"latency"`
	Fairness   *Fairness         `json:"fairness"`
	Errors     []ErrorCount      `json:"errors"`
	Intervals  []Interval        `json:"intervals"`
	Steady     *Steady           `json:"steady"`
	Scenario   *ScenarioReport   `json:"scenario"`
	Server     *Server           `json:"server"`
	Client     *Client           `json:"client"`
	Dataset    *Dataset          `json:"dataset"`
	// Fingerprint is equal for results that may be compared: a hash over server
	// version, the variables that matter, dataset, client and engine, without the
	// cell's own axes.
	Fingerprint *string `json:"fingerprint"`
	Host        *Host   `json:"host"`
	Engine      *Engine `json:"engine"`
	Version     string  `json:"version"` // of cellbench
}

// Warn adds a warning to the result.
func (r *Result) Warn(code, message string) {
	r.Warnings = append(r.Warnings, Warning{Code: code, Message: message})
}

// Window is the time in which everything in the result was counted.
type Window struct {
	Start    time.Time `json:"start"` // UTC
	End      time.Time `json:"end"`
	ElapsedS float64   `json:"elapsed_s"` // monotonic
	WarmupS  float64   `json:"warmup_s"`  // spent before Start, in no number
	// Unfinished counts events in flight when the window closed; they are in no
	// other number, though statements they had already completed are.
	Unfinished int64 `json:"unfinished_events"`
}

// Throughput is counts divided by the window's elapsed time. qps counts
// statements, tps events (sysbench's "queries" and "transactions").
type Throughput struct {
	QPS     float64 `json:"qps"`
	TPS     float64 `json:"tps"`
	ReadsS  float64 `json:"reads_per_s"`
	WritesS float64 `json:"writes_per_s"`
	OthersS float64 `json:"others_per_s"`
}

// Counts are totals over the window. Queries = Reads + Writes + Others. A
// statement is a read if it had a result set, a write if it had none and changed
// rows, otherwise other; a failed statement is in Errors only.
type Counts struct {
	Queries    int64  `json:"queries"`
	Reads      int64  `json:"reads"`
	Writes     int64  `json:"writes"`
	Others     int64  `json:"others"`
	Events     int64  `json:"events"`
	Errors     int64  `json:"errors"`
	Retries    int64  `json:"retries"`    // events started anew after an ignorable error
	Reconnects int64  `json:"reconnects"` // connections opened again
	Rows       int64  `json:"rows"`       // received in result sets
	RowBytes   *int64 `json:"row_bytes"`  // payload of those rows' packets; null where the engine does not see it
}

// LatencyReport holds the latency of whole events and of each statement kind.
type LatencyReport struct {
	Event      *Latency            `json:"event"`
	Service    *Latency            `json:"service"` // rate mode: from actual start; null in the closed loop
	Statements map[string]*Latency `json:"statements"`
}

// Fairness says how evenly the connections were served: mean and population
// standard deviation over connections of the events each completed in the
// window, and of the time each spent in them (sysbench's "Threads fairness").
type Fairness struct {
	EventsMean   float64 `json:"events_mean"`
	EventsStddev float64 `json:"events_stddev"`
	BusyMeanS    float64 `json:"busy_mean_s"`
	BusyStddevS  float64 `json:"busy_stddev_s"`
}

// Latency summarises one histogram. Values in milliseconds.
type Latency struct {
	Count       int64              `json:"count"`
	MinMS       float64            `json:"min_ms"`
	MeanMS      float64            `json:"mean_ms"`
	MaxMS       float64            `json:"max_ms"`
	Percentiles map[string]float64 `json:"percentiles_ms"` // "50", "99.9" -> value
	Histogram   Histogram          `json:"histogram"`
}

// Histogram is the whole distribution, mergeable with others of its kind.
type Histogram struct {
	Encoding   string `json:"encoding"`     // "hdr-v2-deflate-base64"
	Unit       string `json:"unit"`         // "ns"
	Data       string `json:"data"`         // the encoded histogram
	OutOfRange int64  `json:"out_of_range"` // values clamped to the highest trackable
}

// ErrorCount is all failures of one code inside the window.
type ErrorCount struct {
	Code         int    `json:"code"` // MySQL error number; client errors 2000-2999; 0 if none
	SQLState     string `json:"sqlstate"`
	Count        int64  `json:"count"`
	FirstMessage string `json:"first_message"`
}

// Interval is one report interval. The sums over all intervals equal Counts.
type Interval struct {
	TS              float64  `json:"t_s"`      // end of the interval, seconds since the window's start
	LengthS         float64  `json:"length_s"` // measured length
	QPS             float64  `json:"qps"`      // Queries / LengthS
	TPS             float64  `json:"tps"`      // Events / LengthS
	Queries         int64    `json:"queries"`  // completed in the interval
	Reads           int64    `json:"reads"`
	Writes          int64    `json:"writes"`
	Others          int64    `json:"others"`
	Events          int64    `json:"events"`     // completed in the interval
	Errors          int64    `json:"errors"`     // in the interval
	Reconnects      int64    `json:"reconnects"` // in the interval
	P95MS           *float64 `json:"p95_ms"`     // of events completed in the interval; null if none
	LiveConnections int      `json:"live_connections"`
	LoopBusy        *float64 `json:"loop_busy"`   // busiest loop's share of the interval, engine wire
	LoopLagMS       *float64 `json:"loop_lag_ms"` // longest wait of a ready connection, engine wire
	Backlog         *int64   `json:"backlog"`     // rate mode: events due and not yet started
}

// Steady is a verdict on the interval series, nil when there are too few.
type Steady struct {
	Verdict string  `json:"verdict"` // "steady" or "unsteady"
	CV      float64 `json:"cv"`      // coefficient of variation of qps
	Slope   float64 `json:"slope"`   // relative change of qps over the window by linear fit
}

// ScenarioReport says which server state was asked for, what was found, what
// was done and whether it was put back.
type ScenarioReport struct {
	Requested string           `json:"requested"`
	Verified  *bool            `json:"verified"` // null for a scenario that demands nothing
	Before    *ServerState     `json:"before"`   // as found
	Applied   *ServerState     `json:"applied"`  // read back before the window
	After     *ServerState     `json:"after"`    // read back after the window
	Restored  *bool            `json:"restored"` // null when nothing had been changed
	Changes   []string         `json:"changes"`  // SQL that was run
	Notes     []string         `json:"notes"`    // refused flags, start-up-only instruments
	Lost      map[string]int64 `json:"lost"`     // growth of Performance_schema_%_lost in the window
}

// ServerState is a proof of performance_schema's configuration.
type ServerState struct {
	PerformanceSchema *bool                 `json:"performance_schema"` // null when the server has none
	Consumers         map[string]bool       `json:"consumers"`
	Instruments       map[string]ClassCount `json:"instruments"` // by class, e.g. "wait/synch"
	Hash              string                `json:"hash"`        // over both tables in full
	Variables         map[string]string     `json:"variables"`   // those the scenario names
}

// ClassCount counts the instruments of one class.
type ClassCount struct {
	Total   int `json:"total"`
	Enabled int `json:"enabled"`
	Timed   int `json:"timed"`
}

// Server describes the target and what it did during the window.
type Server struct {
	Flavour     string            `json:"flavour"` // "MySQL", "MariaDB", or what the server calls itself
	Version     string            `json:"version"`
	Comment     string            `json:"version_comment"`
	Local       bool              `json:"local"`        // a throwaway server of this cell
	UptimeS     *int64            `json:"uptime_s"`     // at the start of the window
	Variables   map[string]string `json:"variables"`    // allow-listed global variables
	StatusDelta map[string]int64  `json:"status_delta"` // growth of global status counters over the window
	CPU         *ServerCPU        `json:"cpu"`          // null unless the server runs on this host
}

// ServerCPU is the server process's CPU time over the window.
type ServerCPU struct {
	CPUS       float64 `json:"cpu_s"`
	USPerQuery float64 `json:"us_per_query"`
	Source     string  `json:"source"` // "procfs"
}

// Client describes the load generator over the window.
type Client struct {
	CPUS        float64   `json:"cpu_s"`
	USPerQuery  *float64  `json:"us_per_query"`
	CPULimit    float64   `json:"cpu_limit"`   // CPUs this process may use (cgroup and affinity)
	Throttled   *float64  `json:"throttled"`   // share of cgroup periods throttled; null without a quota
	LoopBusy    []float64 `json:"loop_busy"`   // per loop, engine wire
	LoopLagMS   *float64  `json:"loop_lag_ms"` // p99 of readiness to service, engine wire
	MaxRSSBytes int64     `json:"max_rss_bytes"`
	GCPauseMS   float64   `json:"gc_pause_ms"`
	Verdict     string    `json:"verdict"` // "ok" or "client_limited"
}

// Dataset is the data the workload ran on.
type Dataset struct {
	Fingerprint string `json:"fingerprint"`
	Tables      int    `json:"tables"`
	Rows        int64  `json:"rows"`
	Bytes       *int64 `json:"bytes"`  // data and index length as the server estimates them
	Origin      string `json:"origin"` // "loaded", "reused", "foreign" (made by another tool), "none"
}

// Host is the machine of the client.
type Host struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel"`
	CPUModel    string `json:"cpu_model"`
	CPUs        int    `json:"cpus"`
	MemoryBytes *int64 `json:"memory_bytes"`
	Container   bool   `json:"container"`
}

// Engine is what sent the load.
type Engine struct {
	Name      string `json:"name"`      // "wire" or "driver"
	Protocol  string `json:"protocol"`  // "prepared" or "text"
	Transport string `json:"transport"` // "tcp", "unix"
	TLS       string `json:"tls"`       // "" or version and cipher
	Loops     int    `json:"loops"`     // event loops, 0 for driver
	RandType  string `json:"rand_type"`
	RandSeed  int64  `json:"rand_seed"` // the seed in use, also when it was chosen by itself
}
