// Package driver is the portable load engine: a goroutine for each connection on
// go-sql-driver/mysql at the driver level, without database/sql's pool, pings or
// liveness checks. It carries whatever that driver can (TLS, compression).
package driver

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cellbench/internal/load"
)

// Conn is one opened connection: the driver's object and the socket below it, so
// that a statement that hangs can be broken from outside.
type Conn struct {
	Driver driver.Conn
	Net    net.Conn
}

// Dial opens one connection without sending a statement on it.
type Dial func(ctx context.Context) (Conn, error)

// groupsPerCPU bounds the statistics groups: enough that two connections seldom
// meet at one lock, few enough that a thousand connections share a few megabytes.
const groupsPerCPU = 4

// Engine is the portable engine. Make it with New.
type Engine struct {
	s       load.Settings
	dial    Dial
	groups  []*load.Group
	workers []*worker
	killed  atomic.Bool
}

var _ load.Engine = (*Engine)(nil)

// New returns an engine for s whose connections come from dial.
func New(s load.Settings, dial Dial) *Engine {
	e := &Engine{s: s, dial: dial}
	n := min(s.Threads, groupsPerCPU*runtime.GOMAXPROCS(0))
	for range n {
		e.groups = append(e.groups, load.NewGroup(len(s.Workload.Kinds()), s.Rate))
	}
	for i := range s.Threads {
		e.workers = append(e.workers, newWorker(e, i))
	}
	return e
}

// Connect opens every connection, several at once.
func (e *Engine) Connect(ctx context.Context, progress func(open int)) error {
	var opened atomic.Int64
	return load.Parallel(ctx, len(e.workers), e.s.ConnectParallel, func(ctx context.Context, i int) error {
		if err := e.workers[i].connect(ctx); err != nil {
			return fmt.Errorf("open connection %d of %d: %w", i+1, len(e.workers), err)
		}
		progress(int(opened.Add(1)))
		return nil
	})
}

// Run executes events on every connection until the phase is over.
func (e *Engine) Run(p *load.Phase) {
	var wg sync.WaitGroup
	for _, w := range e.workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w.run(p)
		}()
	}
	wg.Wait()
}

// Groups returns the statistics.
func (e *Engine) Groups() []*load.Group { return e.groups }

// Live returns the number of connections that work.
func (e *Engine) Live() int {
	n := 0
	for _, w := range e.workers {
		if w.live.Load() {
			n++
		}
	}
	return n
}

// ConnectionIDs returns the server's ids of the open connections.
func (e *Engine) ConnectionIDs() []uint64 {
	var ids []uint64
	for _, w := range e.workers {
		if w.live.Load() {
			ids = append(ids, w.id.Load())
		}
	}
	return ids
}

// Loops returns nothing: this engine has no event loops.
func (e *Engine) Loops() ([]float64, int64) { return nil, 0 }

// Kill breaks every connection, so that a statement that hangs fails now.
func (e *Engine) Kill() {
	e.killed.Store(true)
	for _, w := range e.workers {
		w.breakConn()
	}
}

// Close ends every connection.
func (e *Engine) Close() error {
	// A server that does not answer must not hold up the end.
	for _, w := range e.workers {
		w.mu.Lock()
		if w.net != nil {
			_ = w.net.SetDeadline(time.Now().Add(time.Second))
		}
		w.mu.Unlock()
	}
	return load.Parallel(context.Background(), len(e.workers), e.s.ConnectParallel, func(_ context.Context, i int) error {
		e.workers[i].close()
		return nil
	})
}

// connectionID asks the server for the connection's id.
func connectionID(c rawConn) (uint64, error) {
	rows, err := c.Query("SELECT CONNECTION_ID()", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil {
		return 0, err
	}
	switch v := dest[0].(type) {
	case []byte:
		return strconv.ParseUint(string(v), 10, 64)
	case int64:
		return uint64(v), nil
	case uint64:
		return v, nil
	}
	return 0, fmt.Errorf("connection id is a %T", dest[0])
}
