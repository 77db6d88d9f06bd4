package load

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Phase is one stretch of load that all connections of an engine share: who may
// start another event, and until when. Its methods are safe for concurrent use.
type Phase struct {
	deadline atomic.Int64 // no event starts at or after it
	budget   atomic.Int64 // events that may still start
	schedule *Schedule    // nil in the closed loop

	failOnce sync.Once
	failed   chan struct{}
	err      error
}

// NewPhase returns a phase that begins now. duration 0 means no limit of time,
// events 0 none of events; schedule is nil for the closed loop.
func NewPhase(duration time.Duration, events int64, schedule *Schedule) *Phase {
	p := &Phase{schedule: schedule, failed: make(chan struct{})}
	p.deadline.Store(math.MaxInt64)
	if duration > 0 {
		p.deadline.Store(Now() + int64(duration))
	}
	p.budget.Store(math.MaxInt64)
	if events > 0 {
		p.budget.Store(events)
	}
	return p
}

// Take asks for one more event at time now. ok is false when the phase is over.
// begin is the time from which the event's latency counts: now in the closed
// loop, the scheduled time in rate mode, which may lie in the future: the caller
// then waits for it and starts the event unless Over says otherwise.
func (p *Phase) Take(now int64) (begin int64, ok bool) {
	if p.Over(now) || p.budget.Add(-1) < 0 {
		return 0, false
	}
	if p.schedule == nil {
		return now, true
	}
	begin = p.schedule.Next()
	return begin, begin < p.deadline.Load()
}

// Rate reports whether Take hands out scheduled times.
func (p *Phase) Rate() bool { return p.schedule != nil }

// Over reports whether no event and no retry may start at time now.
func (p *Phase) Over(now int64) bool { return now >= p.deadline.Load() }

// Deadline returns the time at which the phase ends, math.MaxInt64 if it has no
// limit of time. Stop can bring it forward.
func (p *Phase) Deadline() int64 { return p.deadline.Load() }

// Stop ends the phase: no event starts any more.
func (p *Phase) Stop() { p.deadline.Store(math.MinInt64) }

// Fail ends the phase because of an error that no retry can mend. The first
// error wins.
func (p *Phase) Fail(err error) {
	p.failOnce.Do(func() {
		p.err = err
		p.Stop()
		close(p.failed)
	})
}

// Failed is closed when Fail was called; Err then returns the error.
func (p *Phase) Failed() <-chan struct{} { return p.failed }

// Err returns the error given to Fail, or nil.
func (p *Phase) Err() error {
	select {
	case <-p.failed:
		return p.err
	default:
		return nil
	}
}
