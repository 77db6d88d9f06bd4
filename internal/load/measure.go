package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/latency"
)

// Plan is the course of one measurement.
type Plan struct {
	Warmup   time.Duration // load before the window, in no number; 0 for none
	Time     time.Duration // length of the window; 0 for no limit
	Events   int64         // events in the window; 0 for no limit
	Rate     float64       // events per second, 0 for the closed loop
	Seed     uint64        // of the schedule in rate mode
	Interval time.Duration // report interval; 0 for a single interval
	Drain    time.Duration // how long events in flight may take after the end
}

// Hooks are called at the seams of a measurement, from the goroutine of Measure.
// Each may be nil.
type Hooks struct {
	Warmup   func(remaining time.Duration) // once a second or so
	Opening  func()                        // all connections idle, just before the window opens
	Closed   func()                        // just after the window closed; events may be in flight
	Interval func(bench.Interval)          // after each report interval
}

// Outcome is what was measured. Begin and End are times of Now.
type Outcome struct {
	Warmup     time.Duration
	Begin, End int64
	Counts     Counts
	Errors     []bench.ErrorCount // by count, most frequent first
	Event      *latency.Histogram
	Service    *latency.Histogram // nil in the closed loop
	Kinds      []*latency.Histogram
	Fairness   bench.Fairness
	Intervals  []bench.Interval
	LoopBusy   []float64
	LoopLag    int64 // 99th percentile, nanoseconds
	Killed     bool  // events in flight had to be broken

	// Err says why the window closed early or never opened: a *StatementError,
	// or the cause of the context (a signal, a lost lock).
	Err error
	// Opened tells whether the window was opened at all.
	Opened bool
}

// ErrHung is the error of a measurement whose connections did not become idle in
// time although they were told to stop.
var ErrHung = errors.New("the server did not answer")

// Measure runs the plan on an engine whose connections are open. It always
// returns: a statement that hangs past the end of a phase is broken after
// plan.Drain. Ending ctx closes the window early and keeps what was counted.
func Measure(ctx context.Context, e Engine, plan Plan, hooks Hooks) *Outcome {
	m := &measurement{e: e, plan: plan, hooks: hooks, out: &Outcome{}}
	if plan.Warmup > 0 && !m.warmUp(ctx) {
		return m.out
	}
	if err := context.Cause(ctx); err != nil {
		m.out.Err = err
		return m.out
	}
	call(hooks.Opening)
	m.window(ctx)
	return m.out
}

type measurement struct {
	e     Engine
	plan  Plan
	hooks Hooks
	out   *Outcome

	phase *Phase
	last  Counts // totals at the last tick
	lastT int64
	busy  []int64 // LoopBusyNS at the last tick
}

func (m *measurement) schedule(begin int64) *Schedule {
	if m.plan.Rate == 0 {
		return nil
	}
	return NewSchedule(m.plan.Rate, begin, m.plan.Seed)
}

// warmUp loads the server without counting and reports whether the window may
// open.
func (m *measurement) warmUp(ctx context.Context) bool {
	begin := Now()
	p := NewPhase(m.plan.Warmup, 0, m.schedule(begin))
	done := m.run(p)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	end := time.NewTimer(m.plan.Warmup)
	defer end.Stop()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-end.C:
			over = true
		case <-ctx.Done():
			p.Stop()
			over = true
		case <-tick.C:
			if m.hooks.Warmup != nil {
				m.hooks.Warmup(m.plan.Warmup - time.Duration(Now()-begin))
			}
		}
	}
	hung := m.drain(done)
	m.out.Warmup = time.Duration(Now() - begin)
	switch {
	case context.Cause(ctx) != nil:
		m.out.Err = context.Cause(ctx)
	case p.Err() != nil:
		m.out.Err = fmt.Errorf("warm-up: %w", p.Err())
	case hung:
		m.out.Err = fmt.Errorf("warm-up: %w for %s after its end", ErrHung, m.plan.Drain)
	}
	return m.out.Err == nil
}

func (m *measurement) run(p *Phase) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.e.Run(p)
	}()
	return done
}

// drain waits for events in flight, breaks them after plan.Drain and reports
// whether that was necessary.
func (m *measurement) drain(done <-chan struct{}) (killed bool) {
	select {
	case <-done:
		return false
	case <-time.After(m.plan.Drain):
	}
	m.e.Kill()
	<-done
	return true
}

// window opens the measured window, keeps the intervals and closes it.
func (m *measurement) window(ctx context.Context) {
	for _, g := range m.e.Groups() {
		g.Open()
	}
	m.busy = make([]int64, len(m.e.Groups()))
	m.out.Opened = true
	m.out.Begin = Now()
	m.lastT = m.out.Begin
	m.phase = NewPhase(m.plan.Time, m.plan.Events, m.schedule(m.out.Begin))
	done := m.run(m.phase)
	m.watch(ctx, done)
	for _, g := range m.e.Groups() {
		g.Close()
	}
	m.out.End = Now()
	m.phase.Stop()
	m.tick(m.out.End)
	call(m.hooks.Closed)
	m.out.Killed = m.drain(done)
	m.collect()
	if err := m.phase.Err(); err != nil {
		m.out.Err = err
	}
	if err := context.Cause(ctx); err != nil {
		m.out.Err = err
	}
}

// deadAfter is how long no connection may live before the load is given up, even
// when every error is ignored and nothing but a number of events ends the window.
const deadAfter = 30 * time.Second

// watch returns when the window must close.
func (m *measurement) watch(ctx context.Context, done <-chan struct{}) {
	var ticks <-chan time.Time
	if m.plan.Interval > 0 {
		t := time.NewTicker(m.plan.Interval)
		defer t.Stop()
		ticks = t.C
	}
	var end <-chan time.Time
	if m.plan.Time > 0 {
		t := time.NewTimer(time.Duration(m.phase.Deadline() - Now()))
		defer t.Stop()
		end = t.C
	}
	pulse := time.NewTicker(time.Second)
	defer pulse.Stop()
	alive := Now()
	for {
		select {
		case <-done:
			return
		case <-end:
			return
		case <-pulse.C:
			if m.e.Live() > 0 {
				alive = Now()
			} else if Now()-alive > int64(deadAfter) {
				m.phase.Fail(fmt.Errorf("%w: no connection has lived for %s", ErrHung, deadAfter))
			}
		case <-m.phase.Failed():
			return
		case <-ctx.Done():
			return
		case <-ticks:
			// The tick that falls on the end belongs to the last interval.
			if now := Now(); now+int64(m.plan.Interval)/10 < m.phase.Deadline() {
				m.tick(now)
			}
		}
	}
}

// tick closes one report interval at time now.
func (m *measurement) tick(now int64) {
	length := now - m.lastT
	if length <= 0 {
		return
	}
	var total Counts
	events := latency.New()
	var lag int64
	busiest := -1.0
	for i, g := range m.e.Groups() {
		g.Lock()
		total.Add(g.Counts)
		events.Merge(g.Interval)
		g.Interval.Reset()
		if g.LoopBusyNS > 0 {
			busiest = max(busiest, float64(g.LoopBusyNS-m.busy[i])/float64(length))
			m.busy[i] = g.LoopBusyNS
			lag = max(lag, g.LoopLagNS)
			g.LoopLagNS = 0
		}
		g.Unlock()
	}
	iv := bench.Interval{
		TS: seconds(now - m.out.Begin), LengthS: seconds(length),
		Queries: total.Queries() - m.last.Queries(), Reads: total.Reads - m.last.Reads, Writes: total.Writes - m.last.Writes,
		Others: total.Others - m.last.Others, Events: total.Events - m.last.Events, Errors: total.Errors - m.last.Errors,
		Reconnects:      total.Reconnects - m.last.Reconnects,
		LiveConnections: m.e.Live(),
	}
	iv.QPS, iv.TPS = float64(iv.Queries)/iv.LengthS, float64(iv.Events)/iv.LengthS
	if events.Count() > 0 {
		p95 := float64(events.Percentile(95)) / 1e6
		iv.P95MS = &p95
	}
	if busiest >= 0 {
		l := float64(lag) / 1e6
		iv.LoopBusy, iv.LoopLagMS = &busiest, &l
	}
	if m.phase.schedule != nil {
		b := m.phase.schedule.Backlog(now)
		iv.Backlog = &b
	}
	m.last, m.lastT = total, now
	m.out.Intervals = append(m.out.Intervals, iv)
	if m.hooks.Interval != nil {
		m.hooks.Interval(iv)
	}
}

// collect merges the groups. The engine is idle.
func (m *measurement) collect() {
	o := m.out
	o.Event = latency.New()
	byKey := map[ErrorKey]*bench.ErrorCount{}
	var conns []connStats
	for _, g := range m.e.Groups() {
		g.Lock()
		o.Counts.Add(g.Counts)
		o.Event.Merge(g.Event)
		if g.Service != nil {
			if o.Service == nil {
				o.Service = latency.New()
			}
			o.Service.Merge(g.Service)
		}
		for i, h := range g.Kinds {
			if i == len(o.Kinds) {
				o.Kinds = append(o.Kinds, latency.New())
			}
			o.Kinds[i].Merge(h)
		}
		mergeErrors(byKey, g.Errors)
		conns = append(conns, g.conns...)
		g.Unlock()
	}
	o.Errors = sortErrors(byKey)
	o.Fairness = fairness(conns)
	o.LoopBusy, o.LoopLag = m.e.Loops()
}

// fairness is the mean and the population standard deviation over connections.
func fairness(conns []connStats) bench.Fairness {
	over := func(value func(connStats) float64) (mean, deviation float64) {
		n := float64(max(1, len(conns)))
		for _, c := range conns {
			mean += value(c) / n
		}
		for _, c := range conns {
			deviation += (value(c) - mean) * (value(c) - mean) / n
		}
		return mean, math.Sqrt(deviation)
	}
	var f bench.Fairness
	f.EventsMean, f.EventsStddev = over(func(c connStats) float64 { return float64(c.events) })
	f.BusyMeanS, f.BusyStddevS = over(func(c connStats) float64 { return seconds(c.busy) })
	return f
}

func call(f func()) {
	if f != nil {
		f()
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
