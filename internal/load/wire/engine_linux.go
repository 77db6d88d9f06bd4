package wire

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cellbench/internal/load"
)

// engine is the event-loop engine: connections shared out over loops.
type engine struct {
	s    load.Settings
	dial Dial
	o    Options

	ctx    context.Context // of connections opened anew; ended by Kill and Close
	cancel context.CancelFunc

	loops  []*loop
	conns  []*conn
	groups []*load.Group
	ids    []atomic.Uint64 // by connection; 0 while it is lost
	killed atomic.Bool
	procs  int // GOMAXPROCS to put back, 0 when it was not changed
	dials  sync.WaitGroup
}

var _ load.Engine = (*engine)(nil)

// perLoop is how many connections a loop has before another one is made. A loop
// answers a connection in some 10 microseconds, so it stays far from busy with
// so few; with less each wake-up would serve one connection only, and waking is
// what costs most.
const perLoop = 8

// New returns the event-loop engine for s, whose connections come from dial.
// It raises GOMAXPROCS to loops+2 until Close. An error means that this system
// cannot run it.
func New(s load.Settings, dial Dial, o Options) (load.Engine, error) {
	if s.Threads < 1 {
		return nil, fmt.Errorf("make engine wire: %d connections, at least 1 is needed", s.Threads)
	}
	e := &engine{s: s, dial: dial, o: o, ids: make([]atomic.Uint64, s.Threads)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	n := o.Loops
	if n <= 0 {
		n = min(runtime.GOMAXPROCS(0), (s.Threads+perLoop-1)/perLoop)
	}
	for range min(n, s.Threads) {
		l, err := newLoop(e)
		if err != nil {
			_ = e.Close()
			return nil, fmt.Errorf("make event loop: %w", err)
		}
		e.loops = append(e.loops, l)
		e.groups = append(e.groups, l.group)
	}
	for i := range s.Threads {
		e.conns = append(e.conns, newConn(e, i))
	}
	return e, nil
}

// Connect opens every connection, several at once.
func (e *engine) Connect(ctx context.Context, progress func(open int)) error {
	if have := runtime.GOMAXPROCS(0); have < len(e.loops)+2 {
		e.procs = have
		runtime.GOMAXPROCS(len(e.loops) + 2)
	}
	var opened atomic.Int64
	return load.Parallel(ctx, len(e.conns), e.s.ConnectParallel, func(ctx context.Context, i int) error {
		s, err := e.open(ctx)
		if err == nil {
			err = e.conns[i].attach(&s)
		}
		if err != nil {
			return fmt.Errorf("open connection %d of %d: %w", i+1, len(e.conns), err)
		}
		progress(int(opened.Add(1)))
		return nil
	})
}

// Run executes events on every connection until the phase is over.
func (e *engine) Run(p *load.Phase) {
	var wg sync.WaitGroup
	for _, l := range e.loops {
		wg.Add(1)
		go func() {
			defer wg.Done()
			l.run(p)
		}()
	}
	wg.Wait()
}

// Groups returns the statistics, one group per loop.
func (e *engine) Groups() []*load.Group { return e.groups }

// Live returns the number of connections that work.
func (e *engine) Live() int { return len(e.ConnectionIDs()) }

// ConnectionIDs returns the server's ids of the open connections.
func (e *engine) ConnectionIDs() []uint64 {
	out := make([]uint64, 0, len(e.ids))
	for i := range e.ids {
		if id := e.ids[i].Load(); id != 0 {
			out = append(out, id-1)
		}
	}
	return out
}

// Loops returns each loop's busy share and the 99th percentile of the lag, in
// nanoseconds, over the last Run.
func (e *engine) Loops() (busy []float64, lagP99 int64) {
	for _, l := range e.loops {
		share, lag := l.load()
		busy = append(busy, share)
		lagP99 = max(lagP99, lag)
	}
	return busy, lagP99
}

// Kill makes a Run return soon: every loop breaks its connections.
func (e *engine) Kill() {
	e.killed.Store(true)
	e.cancel()
	for _, l := range e.loops {
		l.wake()
	}
}

// Close ends all connections. No Run is under way.
func (e *engine) Close() error {
	e.cancel()
	e.dials.Wait()
	for _, c := range e.conns {
		c.quit()
	}
	for _, l := range e.loops {
		l.close()
	}
	if e.procs > 0 {
		runtime.GOMAXPROCS(e.procs)
		e.procs = 0
	}
	return nil
}

// quit tells the server goodbye, as far as that can be done at once.
func (c *conn) quit() {
	if c.fd < 0 {
		return
	}
	goodbye := []byte{1, 0, 0, 0, comQuit}
	if c.secure != nil {
		goodbye, _ = c.secure.seal(goodbye)
	}
	_, _ = send(c.fd, goodbye)
	c.drop()
}

// drop closes the socket; the connection is lost.
func (c *conn) drop() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
		c.gen++
		c.e.ids[c.index].Store(0)
	}
}
