// Package load sends the planned events of a workload over many connections and
// measures them: it connects, warms up, measures one window and drains.
//
// The clock is monotonic nanoseconds since an arbitrary start (Now). A phase
// (warm-up, then the measured window) begins with every connection idle and ends
// with every connection idle, so nothing begun in warm-up reaches the window. A
// statement counts if it completed while the window was open, an event if all of
// it did; what was in flight when the window closed is reported as unfinished.
package load

import (
	"context"
	"fmt"
	"time"

	"cellbench/internal/workload"
)

// Engine drives the connections of one cell. Implementations: load/driver (a
// goroutine per connection, portable) and load/wire (an event loop, Linux). An
// engine is made for one set of Settings and used once: Connect, then Run for
// each phase, then Close.
type Engine interface {
	// Connect opens every connection and runs the session statements on it.
	// progress is told how many are open, now and then.
	Connect(ctx context.Context, progress func(open int)) error
	// Run executes events on every connection while p.Take allows, and returns
	// when all connections are idle or lost. A failed statement is data in the
	// groups; an error that ends the phase is given to p.Fail.
	Run(p *Phase)
	// Groups returns the statistics that Run records into; the same slice from
	// Connect to Close.
	Groups() []*Group
	// Live returns the number of connections that can still work.
	Live() int
	// ConnectionIDs returns the server's ids of the open connections.
	ConnectionIDs() []uint64
	// Kill makes a Run that hangs return soon by breaking its connections. It may
	// be called from another goroutine.
	Kill()
	// Close ends all connections.
	Close() error
	// Loops returns the busy share of each event loop over the last Run and the
	// lag histogram's 99th percentile in nanoseconds; nil for engines without loops.
	Loops() (busy []float64, lagP99 int64)
}

// Settings is what an engine needs to know beyond its connections.
type Settings struct {
	Workload     workload.Workload
	Threads      int      // connections
	Prepared     bool     // prepared statements; otherwise text
	SessionSQL   []string // run on each connection after it is opened
	IgnoreErrors ErrorSet // errors that restart the event
	Reconnect    int      // open the connection anew after that many events; 0 never
	Rate         bool     // events follow a schedule, so response and service time differ
	// ErrorCode maps an error to the server's number, SQLSTATE and message;
	// errors of the connection to the client numbers 2000-2999.
	ErrorCode func(error) (code int, sqlstate, message string)
	// ConnectParallel bounds how many connections are opened at once.
	ConnectParallel int
	// ConnectTimeout bounds the opening of one connection.
	ConnectTimeout time.Duration
}

// ErrorSet is a set of MySQL error numbers.
type ErrorSet struct {
	All   bool
	Codes map[int]bool
}

// Has reports whether code is in the set.
func (s ErrorSet) Has(code int) bool { return s.All || s.Codes[code] }

// StatementError is a failed statement that ends the phase.
type StatementError struct {
	Code     int    // MySQL error number, client errors 2000-2999, 0 if none
	SQLState string // five characters, may be empty
	Message  string // the server's text
	SQL      string // the statement's template
}

// Error names the number, the state, the message and the statement.
func (e *StatementError) Error() string {
	sql := e.SQL
	if len(sql) > 120 {
		sql = sql[:117] + "..."
	}
	return fmt.Sprintf("error %d (%s): %s; statement: %s", e.Code, e.SQLState, e.Message, sql)
}

// LostConnection reports whether code means that the connection is gone and
// must be opened anew before it can be used: 2006, 2013, 2011, 2055 of the
// client, 1053, 1077, 1079 and 3169 of the server (shutdown, killed), 1927
// (MariaDB: connection was killed) and 4031 (disconnected for inactivity).
func LostConnection(code int) bool {
	switch code {
	case 2006, 2013, 2011, 2055, 1053, 1077, 1079, 3169, 1927, 4031:
		return true
	}
	return false
}

var start = time.Now()

// Now returns the monotonic clock in nanoseconds.
func Now() int64 { return int64(time.Since(start)) }

// Wall returns the wall-clock time of a value of Now.
func Wall(ns int64) time.Time { return start.Add(time.Duration(ns)).UTC() }
