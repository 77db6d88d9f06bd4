package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"net"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/latency"
	"cellbench/internal/load"
	"cellbench/internal/mysql"
)

// blank is the result of a cell that has not begun.
func blank(cfg *config.Config, o Options) *bench.Result {
	return &bench.Result{
		Schema: bench.ResultSchema, Status: bench.StatusOK, Warnings: []bench.Warning{},
		RunID: o.RunID, Attempt: o.Attempt,
		Cell: bench.Cell{
			ID: o.CellID, Target: first(cfg.Target, targetName(cfg)), Workload: cfg.Workload, Scenario: cfg.Scenario,
			Threads: cfg.Threads, Repeat: cfg.Repeat, Index: o.Index, Labels: nonNil(o.Labels),
		},
		Config: public(cfg), Errors: []bench.ErrorCount{}, Intervals: []bench.Interval{},
		Host: hostOf(), Version: o.Version,
	}
}

// public returns the settings that a result may show, without the passwords that
// statements of the user's may hold.
func public(cfg *config.Config) map[string]string {
	settings := cfg.Public()
	for name, value := range settings {
		settings[name] = mysql.Redact(value)
	}
	return settings
}

// targetName is the name of a target that was given none: known before a
// connection is made, so that the cell's id does not depend on the server.
func targetName(cfg *config.Config) string {
	switch {
	case cfg.Local:
		return "local"
	case cfg.MysqlSocket != "":
		return cfg.MysqlSocket
	case cfg.MysqlHost != "":
		return net.JoinHostPort(strings.Trim(cfg.MysqlHost, "[]"), strconv.Itoa(cfg.MysqlPort))
	}
	door, err := Door(cfg, nil)
	if err != nil {
		return "target"
	}
	return door.Address()
}

// TargetName returns the name of the target in reports and keys.
func TargetName(cfg *config.Config) string { return first(cfg.Target, targetName(cfg)) }

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func serverOf(f *mysql.Facts, t *target) *bench.Server {
	return &bench.Server{
		Flavour: f.Flavour, Version: f.Version, Comment: f.VersionComment, Local: t.server != nil,
		UptimeS: f.UptimeS, Variables: f.Variables,
	}
}

func (r *run) engineOf(e load.Engine, name string) *bench.Engine {
	busy, _ := e.Loops()
	protocol := "text"
	if r.prepared {
		protocol = "prepared"
	}
	return &bench.Engine{
		Name: name, Protocol: protocol, Transport: r.target.door.Transport(), TLS: r.target.door.TLS(),
		Loops: len(busy), RandType: r.cfg.RandType, RandSeed: r.seed,
	}
}

// fill writes what was measured into the result.
func (r *run) fill(out *load.Outcome, e *edges) error {
	res := r.res
	elapsed := float64(out.End-out.Begin) / 1e9
	res.Window = &bench.Window{
		Start: load.Wall(out.Begin), End: load.Wall(out.End), ElapsedS: elapsed, WarmupS: out.Warmup.Seconds(),
		Unfinished: out.Counts.Unfinished,
	}
	c := out.Counts
	res.Counts = &bench.Counts{
		Queries: c.Queries(), Reads: c.Reads, Writes: c.Writes, Others: c.Others, Events: c.Events,
		Errors: c.Errors, Retries: c.Retries, Reconnects: c.Reconnects, Rows: c.Rows,
	}
	if r.res.Engine.Name == "wire" {
		res.Counts.RowBytes = &c.RowBytes
	}
	if elapsed > 0 {
		per := func(n int64) float64 { return float64(n) / elapsed }
		res.Throughput = &bench.Throughput{
			QPS: per(c.Queries()), TPS: per(c.Events), ReadsS: per(c.Reads), WritesS: per(c.Writes), OthersS: per(c.Others),
		}
	}
	if err := r.fillLatency(out); err != nil {
		return err
	}
	res.Fairness = &out.Fairness
	res.Errors = append(res.Errors, out.Errors...)
	res.Intervals = append(res.Intervals, out.Intervals...)
	res.Steady = load.Steadiness(out.Intervals)
	r.fillClient(out, e, elapsed)
	r.fillServer(e)
	fp := r.fingerprint()
	res.Fingerprint = &fp
	return nil
}

func (r *run) fillLatency(out *load.Outcome) error {
	lat := &bench.LatencyReport{Statements: map[string]*bench.Latency{}}
	var err error
	summary := func(h *latency.Histogram) *bench.Latency {
		if h == nil || err != nil {
			return nil
		}
		var l *bench.Latency
		l, err = h.Summary(r.cfg.Percentile)
		return l
	}
	lat.Event, lat.Service = summary(out.Event), summary(out.Service)
	for i, kind := range r.workload.Kinds() {
		if l := summary(out.Kinds[i]); l != nil {
			lat.Statements[kind] = l
		}
	}
	r.res.Latency = lat
	return err
}

func (r *run) fillClient(out *load.Outcome, e *edges, elapsed float64) {
	cpu := e.after.clientCPU - e.before.clientCPU
	c := &bench.Client{
		CPUS: cpu, CPULimit: cpuLimit(), Throttled: e.after.throttled.share(e.before.throttled),
		LoopBusy: out.LoopBusy, MaxRSSBytes: e.after.maxRSS,
		GCPauseMS: float64(e.after.gcPause-e.before.gcPause) / 1e6, Verdict: "ok",
	}
	if q := r.res.Counts.Queries; q > 0 {
		us := cpu * 1e6 / float64(q)
		c.USPerQuery = &us
	}
	if len(out.LoopBusy) > 0 {
		lag := float64(out.LoopLag) / 1e6
		c.LoopLagMS = &lag
	}
	r.res.Client = c
	if why := limited(c, cpu/elapsed); why != "" {
		c.Verdict = "client_limited"
		r.warn("client_limited", "the load generator was near its limit, so the server may be faster than this: "+why)
	}
}

// Limits past which the client, not the server, may decide the numbers.
const (
	busyLimit     = 0.8
	throttleLimit = 0.01
)

// limited says why the client may be what limits the numbers, or nothing.
func limited(c *bench.Client, cpus float64) string {
	for i, b := range c.LoopBusy {
		if b > busyLimit {
			return sprintf("event loop %d was busy %.0f %% of the time", i, 100*b)
		}
	}
	if len(c.LoopBusy) == 0 && cpus > busyLimit*c.CPULimit {
		return sprintf("it used %.2f of %.2f CPUs", cpus, c.CPULimit)
	}
	if c.Throttled != nil && *c.Throttled > throttleLimit {
		return sprintf("its CPU quota held it back in %.1f %% of periods", 100**c.Throttled)
	}
	return ""
}

func (r *run) fillServer(e *edges) {
	s := r.res.Server
	if e.before.status != nil && e.after.status != nil {
		s.StatusDelta = mysql.StatusDelta(e.before.status, e.after.status)
		r.crossCheck(s.StatusDelta)
	} else {
		r.warn("no_status", "the server's status counters could not be read at both edges of the window")
	}
	if e.before.serverCPU != nil && e.after.serverCPU != nil {
		cpu := *e.after.serverCPU - *e.before.serverCPU
		s.CPU = &bench.ServerCPU{CPUS: cpu, Source: "procfs"}
		if q := r.res.Counts.Queries; q > 0 {
			s.CPU.USPerQuery = cpu * 1e6 / float64(q)
		}
	}
}

// crossCheck compares the server's count of statements with ours. Questions
// counts text statements and executions, not preparations.
func (r *run) crossCheck(delta map[string]int64) {
	questions, ok := delta["Questions"]
	if !ok {
		return
	}
	c := r.res.Counts
	ours := c.Queries + c.Errors
	// The reading itself, statements in flight at the closing edge, rollbacks.
	slack := int64(20+r.cfg.Threads) + c.Retries + c.Reconnects*int64(4)
	if extra := questions - ours - slack; float64(extra) > 0.005*float64(ours)+float64(slack) {
		r.warn("foreign_load", sprintf("the server counted %d statements in the window and this cell sent %d: somebody else used the server", questions, ours))
	}
}

// findings adds the warnings that follow from the numbers.
func (r *run) findings(out *load.Outcome) {
	if s := r.res.Steady; s != nil && s.Verdict != "steady" {
		r.warn("unsteady", sprintf("throughput was not steady: coefficient of variation %.1f %%, drift %+.1f %% over the window", 100*s.CV, 100*s.Slope))
	}
	if out.Killed && out.Counts.Unfinished > 0 {
		r.warn("killed", sprintf("%d events had not finished %s after the window and were broken off", out.Counts.Unfinished, r.drain()))
	}
	if out.Counts.Events == 0 && out.Err == nil {
		r.invalid("no event finished inside the window; make BENCH_TIME longer")
	}
	var live, length float64
	for _, iv := range out.Intervals {
		live += float64(iv.LiveConnections) * iv.LengthS
		length += iv.LengthS
	}
	// A connection that BENCH_RECONNECT is opening anew is none that was lost.
	if mean := live / length; out.Err == nil && length > 0 && r.cfg.Reconnect == 0 && mean < 0.999*float64(r.cfg.Threads) {
		r.invalid(sprintf("only %.1f of %d connections were alive on average", mean, r.cfg.Threads))
	}
	if r.cfg.Rate > 0 && out.Err == nil {
		if got := r.res.Throughput.TPS; r.cfg.Events == 0 && got < leastRate(float64(r.cfg.Rate), r.res.Window.ElapsedS) {
			r.warn("rate_not_reached", sprintf("asked for %s events/s, reached %.1f", r.cfg.Rate, got))
		}
	}
}

// leastRate is the lowest rate that a Poisson process of the given rate and a
// server that keeps up with it give over so many seconds: one percent below,
// and three standard deviations of the process itself.
func leastRate(rate, seconds float64) float64 {
	return 0.99*rate - 3*math.Sqrt(rate/seconds)
}

// fingerprint hashes what must be equal for two results to be compared: the
// server (without performance_schema's settings, which scenarios change), the
// data, the client and how the load was sent, never the cell's axes.
func (r *run) fingerprint() string {
	vars := maps.Clone(r.res.Server.Variables)
	maps.DeleteFunc(vars, func(name, _ string) bool { return strings.HasPrefix(name, "performance_schema") })
	data := ""
	if r.res.Dataset != nil {
		data = r.res.Dataset.Fingerprint
	}
	e := *r.res.Engine
	e.RandSeed, e.Loops = 0, 0 // there are never more loops than threads, an axis
	text, err := json.Marshal([]any{
		r.res.Server.Flavour, r.res.Server.Version, vars, data, e,
		r.res.Host.CPUModel, r.res.Host.CPUs, r.res.Client.CPULimit, r.res.Host.Arch,
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
