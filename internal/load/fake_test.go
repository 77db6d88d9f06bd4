package load_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"cellbench/internal/load"
)

// fakeEngine is an engine whose events only take time: each of its connections
// sends one statement an event, which takes what service says. It runs under
// testing/synctest, where that time costs nothing.
type fakeEngine struct {
	groups  []*load.Group
	service func(conn int, started int64) time.Duration
	kill    chan struct{}
	killed  atomic.Bool
	live    atomic.Int64
	err     func(conn, event int) error // ends the phase
}

func newFake(conns int, rate bool, service func(conn int, started int64) time.Duration) *fakeEngine {
	e := &fakeEngine{service: service, kill: make(chan struct{})}
	e.live.Store(int64(conns))
	for range conns {
		g := load.NewGroup(1, rate)
		g.Connection()
		e.groups = append(e.groups, g)
	}
	return e
}

func (e *fakeEngine) Connect(context.Context, func(int)) error { return nil }
func (e *fakeEngine) Groups() []*load.Group                    { return e.groups }
func (e *fakeEngine) Live() int                                { return int(e.live.Load()) }
func (e *fakeEngine) ConnectionIDs() []uint64                  { return nil }
func (e *fakeEngine) Close() error                             { return nil }
func (e *fakeEngine) Loops() ([]float64, int64)                { return nil, 0 }

func (e *fakeEngine) Kill() {
	if e.killed.CompareAndSwap(false, true) {
		close(e.kill)
	}
}

func (e *fakeEngine) Run(p *load.Phase) {
	var wg sync.WaitGroup
	for i, g := range e.groups {
		wg.Go(func() {
			for n := 0; ; n++ {
				begin, ok := p.Take(load.Now())
				if !ok {
					return
				}
				time.Sleep(time.Duration(begin - load.Now()))
				started := load.Now()
				if e.err != nil {
					if err := e.err(i, n); err != nil {
						g.Lock()
						g.Error(1, "HY000", err.Error())
						g.Unlock()
						p.Fail(err)
						return
					}
				}
				if !e.serve(i, started) {
					g.Lock()
					g.EventAbandoned()
					g.Unlock()
					return
				}
				now := load.Now()
				g.Lock()
				g.Statement(0, load.Read, now-started, 1, 10)
				g.EventDone(0, now-begin, now-started)
				g.Unlock()
			}
		})
	}
	wg.Wait()
}

// serve takes the event's time and reports whether it was not broken off.
func (e *fakeEngine) serve(conn int, started int64) bool {
	select {
	case <-time.After(e.service(conn, started)):
		return true
	case <-e.kill:
		return false
	}
}

func always(d time.Duration) func(int, int64) time.Duration {
	return func(int, int64) time.Duration { return d }
}
