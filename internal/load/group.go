package load

import (
	"sync"

	"cellbench/internal/bench"
	"cellbench/internal/latency"
)

// Class says how a completed statement counts.
type Class uint8

// The classes of sysbench: a statement with a result set is a read, one without
// that changed rows a write, any other one is "other".
const (
	Read Class = iota
	Write
	Other
)

// Counts are what a group has counted since it was opened.
type Counts struct {
	Reads, Writes, Others               int64
	Events, Errors, Retries, Reconnects int64
	Rows, RowBytes                      int64
	Unfinished                          int64 // events that ended after the group was closed
}

// Queries returns the completed statements.
func (c Counts) Queries() int64 { return c.Reads + c.Writes + c.Others }

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	c.Reads += o.Reads
	c.Writes += o.Writes
	c.Others += o.Others
	c.Events += o.Events
	c.Errors += o.Errors
	c.Retries += o.Retries
	c.Reconnects += o.Reconnects
	c.Rows += o.Rows
	c.RowBytes += o.RowBytes
	c.Unfinished += o.Unfinished
}

// Group holds the statistics of a group of connections. Its owner locks it
// around the recording methods: a goroutine per statement, an event loop once for
// all that one wake-up brought. A closed group (before the window opens and after
// it closes) counts nothing but unfinished events.
type Group struct {
	sync.Mutex

	Counts  Counts
	Event   *latency.Histogram   // from intended start
	Service *latency.Histogram   // from actual start; nil in the closed loop
	Kinds   []*latency.Histogram // per statement kind

	Interval *latency.Histogram // events since the last tick
	Errors   map[ErrorKey]*bench.ErrorCount

	// LoopBusyNS and LoopLagNS are filled by event loops: time spent working
	// since the group was opened, and the longest wait of a ready connection
	// since the last tick.
	LoopBusyNS, LoopLagNS int64

	open  bool
	conns []connStats
}

// connStats is what one connection has completed in the window.
type connStats struct{ events, busy int64 }

// ErrorKey tells errors apart.
type ErrorKey struct {
	Code     int
	SQLState string
}

// NewGroup returns a closed group for the given number of statement kinds.
func NewGroup(kinds int, rate bool) *Group {
	g := &Group{
		Event: latency.New(), Interval: latency.New(),
		Kinds:  make([]*latency.Histogram, kinds),
		Errors: map[ErrorKey]*bench.ErrorCount{},
	}
	for i := range g.Kinds {
		g.Kinds[i] = latency.New()
	}
	if rate {
		g.Service = latency.New()
	}
	return g
}

// Connection registers a connection and returns its number in this group, for
// EventDone.
func (g *Group) Connection() int {
	g.conns = append(g.conns, connStats{})
	return len(g.conns) - 1
}

// Open begins to count. No connection is busy then; what warm-up left behind
// (abandoned events) is forgotten. The caller holds no lock.
func (g *Group) Open() {
	g.Lock()
	g.open = true
	g.Counts = Counts{}
	g.LoopBusyNS, g.LoopLagNS = 0, 0
	clear(g.conns)
	g.Unlock()
}

// Close stops counting.
func (g *Group) Close() {
	g.Lock()
	g.open = false
	g.Unlock()
}

// Statement records one completed statement: its kind, class, latency and what
// its result set held.
func (g *Group) Statement(kind int, class Class, ns, rows, rowBytes int64) {
	if !g.open {
		return
	}
	switch class {
	case Read:
		g.Counts.Reads++
	case Write:
		g.Counts.Writes++
	default:
		g.Counts.Others++
	}
	g.Counts.Rows += rows
	g.Counts.RowBytes += rowBytes
	g.Kinds[kind].Record(ns)
}

// EventDone records one completed event of a connection: response is the time from the intended
// start, service that from the actual start (they are equal in the closed loop).
func (g *Group) EventDone(conn int, response, service int64) {
	if !g.open {
		g.Counts.Unfinished++
		return
	}
	g.Counts.Events++
	g.conns[conn].events++
	g.conns[conn].busy += response
	g.Event.Record(response)
	g.Interval.Record(response)
	if g.Service != nil {
		g.Service.Record(service)
	}
}

// EventAbandoned records an event that was given up because the phase ended.
func (g *Group) EventAbandoned() { g.Counts.Unfinished++ }

// Error records one failed statement.
func (g *Group) Error(code int, sqlstate, message string) {
	if !g.open {
		return
	}
	g.Counts.Errors++
	k := ErrorKey{Code: code, SQLState: sqlstate}
	e := g.Errors[k]
	if e == nil {
		e = &bench.ErrorCount{Code: code, SQLState: sqlstate, FirstMessage: message}
		g.Errors[k] = e
	}
	e.Count++
}

// Retry records an event started anew.
func (g *Group) Retry() {
	if g.open {
		g.Counts.Retries++
	}
}

// Reconnect records a connection opened anew.
func (g *Group) Reconnect() {
	if g.open {
		g.Counts.Reconnects++
	}
}
