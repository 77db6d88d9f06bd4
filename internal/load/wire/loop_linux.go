package wire

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cellbench/internal/latency"
	"cellbench/internal/load"
)

const (
	readBuffer = 64 << 10
	maxRecord  = 16 << 10 // bytes that a record of TLS holds
	batch      = 128      // events taken from epoll at once
	// A loop that waits for a time looks at the phase this often, since a phase
	// may be stopped early.
	maxSleep = int64(50e6)
	// wakeSlot marks the descriptor by which other threads wake the loop.
	wakeSlot = -1
)

// loop is one event loop: a thread, an epoll and a share of the connections. Its
// fields belong to the thread of run, but for what is marked.
type loop struct {
	e     *engine
	group *load.Group
	poll  poller
	event int // eventfd that ends a wait

	in     []byte // read buffer, shared by the connections
	plain  []byte // what a record of TLS holds
	out    []byte // the packet being made
	events [batch]unix.EpollEvent

	phase  *load.Phase
	conns  []*conn // of this loop
	active int     // connections that are not idle
	timers timers
	ready  []*conn // to go on with in the next round
	going  []*conn // those of this round

	mu      sync.Mutex // guards arrived
	arrived []arrival  // connections opened anew

	began, ended atomic.Int64 // of the last run, nanoseconds of load.Now
	busy         atomic.Int64 // nanoseconds
	lag          *latency.Histogram
}

// arrival is the outcome of opening a connection anew.
type arrival struct {
	c   *conn
	s   socket
	err error
}

func newLoop(e *engine) (*loop, error) {
	l := &loop{
		e: e, group: load.NewGroup(len(e.s.Workload.Kinds()), e.s.Rate),
		event: -1, in: make([]byte, readBuffer), plain: make([]byte, maxRecord), lag: latency.New(),
	}
	var err error
	if l.poll, err = newPoller(); err != nil {
		return nil, err
	}
	if l.event, err = wakeFD(); err != nil {
		l.close()
		return nil, err
	}
	if err := l.poll.add(l.event, wakeSlot, 0); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *loop) close() {
	for _, fd := range []int{l.poll.fd, l.event} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	l.poll.fd, l.event = -1, -1
	for _, a := range l.arrivals() {
		a.s.close()
	}
}

// wake ends the loop's wait; any thread may call it.
func (l *loop) wake() { signalFD(l.event) }

// load returns the busy share and the lag's 99th percentile over the last run.
func (l *loop) load() (busy float64, lagP99 int64) {
	if wall := l.ended.Load() - l.began.Load(); wall > 0 {
		busy = float64(l.busy.Load()) / float64(wall)
	}
	return busy, l.lag.Percentile(99)
}

// run executes events on the loop's connections until all of them are idle.
func (l *loop) run(p *load.Phase) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sharpTimers(true)
	defer sharpTimers(false)
	if !l.e.s.Rate {
		defer batchThread()()
	}
	l.phase = p
	l.timers, l.ready = l.timers[:0], l.ready[:0]
	l.lag.Reset()
	l.busy.Store(0)
	polled := load.Now()
	l.began.Store(polled)
	l.begin()
	l.account(polled, load.Now())
	for l.active > 0 {
		polled = l.round(polled)
	}
	l.ended.Store(load.Now())
}

// begin starts the first event of every connection.
func (l *loop) begin() {
	l.group.Lock()
	defer l.group.Unlock()
	l.active = len(l.conns)
	for _, c := range l.conns {
		c.next(load.Now())
	}
}

// round waits for events and serves them. since is when the wait before it
// ended; the time at which this one did is returned.
func (l *loop) round(since int64) (polled int64) {
	asleep := load.Now()
	n := l.poll.wait(l.events[:], l.patience(asleep))
	woken := load.Now()
	if n == 0 && len(l.timers) == 0 && len(l.ready) == 0 && !l.e.killed.Load() {
		return woken // a signal
	}
	// A connection that was found ready may have been so since the wait before,
	// unless this wait slept until it was.
	ready := woken
	if woken-asleep < barelySlept {
		ready = since
	}
	l.group.Lock()
	for i := range n {
		l.serve(&l.events[i], ready)
	}
	l.wakeUps()
	if l.e.killed.Load() {
		l.kill()
	}
	end := load.Now()
	l.group.LoopBusyNS += end - woken
	l.group.Unlock()
	l.busy.Add(end - woken)
	return woken
}

// barelySlept is the length of a wait that did not sleep, in nanoseconds.
const barelySlept = 2000

func (l *loop) account(from, to int64) {
	l.group.Lock()
	l.group.LoopBusyNS += to - from
	l.group.Unlock()
	l.busy.Add(to - from)
}

// patience returns how long the loop may sleep, in nanoseconds.
func (l *loop) patience(now int64) int64 {
	switch {
	case len(l.ready) > 0:
		return 0
	case len(l.timers) > 0:
		return min(max(l.timers[0].at-now, 0), maxSleep)
	}
	return -1
}

// serve acts on one event of epoll.
func (l *loop) serve(ev *unix.EpollEvent, ready int64) {
	if ev.Fd == wakeSlot {
		drainFD(l.event)
		for _, a := range l.arrivals() {
			a.c.arrive(a)
		}
		return
	}
	c := l.e.conns[ev.Fd]
	if c.gen != uint32(ev.Pad) || c.fd < 0 {
		return // of a descriptor that was closed since
	}
	if ev.Events&unix.EPOLLOUT != 0 && len(c.unsent) > 0 {
		c.flush()
	}
	if ev.Events&^unix.EPOLLOUT == 0 {
		return
	}
	now := c.readable(ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	lag := now - ready
	l.lag.Record(lag)
	l.group.LoopLagNS = max(l.group.LoopLagNS, lag)
}

// wakeUps goes on with connections whose time has come and with those that
// yielded.
func (l *loop) wakeUps() {
	if len(l.timers) > 0 {
		now := load.Now()
		for len(l.timers) > 0 && (l.timers[0].at <= now || l.phase.Over(now)) {
			l.timers.pop().timeUp(load.Now())
		}
	}
	if len(l.ready) == 0 {
		return
	}
	// What yields again is for the next round.
	l.ready, l.going = l.going[:0], l.ready
	for _, c := range l.going {
		c.goOn()
	}
}

func (l *loop) arrivals() []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.arrived
	l.arrived = nil
	return a
}

// kill breaks all connections.
func (l *loop) kill() {
	for _, c := range l.conns {
		c.kill()
	}
	l.active = 0
	l.timers, l.ready = l.timers[:0], l.ready[:0]
}

// timers is a heap of connections by the time they wait for.
type timers []*conn

func (t *timers) push(c *conn) {
	h := append(*t, c)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
	*t = h
}

func (t *timers) pop() *conn {
	h := *t
	c := h[0]
	n := len(h) - 1
	h[0], h[n] = h[n], nil
	h = h[:n]
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && h[k+1].at < h[k].at {
			k++
		}
		if h[i].at <= h[k].at {
			break
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
	*t = h
	return c
}
