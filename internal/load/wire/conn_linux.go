package wire

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"cellbench/internal/load"
	"cellbench/internal/workload"
)

// activity is what a connection is doing.
type activity uint8

const (
	idle        activity = iota // nothing, for the rest of the phase
	waiting                     // for the scheduled begin of its event (timer)
	yielding                    // until the loop's next round
	executing                   // a statement is outstanding
	preparing                   // a COM_STMT_PREPARE is outstanding
	rollingBack                 // the ROLLBACK of an abandoned event is outstanding
	pausing                     // before an event is started anew (timer)
	dialing                     // a goroutine opens the connection anew
	redialing                   // before the next try of that (timer)
)

const (
	// patience is how many times an event is started anew without a pause.
	patience = 10
	minPause = int64(time.Millisecond)
	maxPause = int64(100 * time.Millisecond)
	minDial  = int64(10 * time.Millisecond) // first pause between tries to connect
	maxDial  = int64(time.Second)

	// maxReads bounds how often one connection is read before others have their
	// turn.
	maxReads = 16
	// maxKept is the size above which a buffer is given up after use.
	maxKept = 16 << 10
)

// MySQL error numbers that the engine acts on.
const (
	unsupportedPrepared = 1295 // the statement cannot be prepared
	unknownStatement    = 1243 // the server does not know the prepared statement
)

// handle is a prepared statement of one connection.
type handle struct {
	id    uint32
	state handleState
	types uint64 // signature of the argument types sent last
}

type handleState uint8

const (
	unprepared handleState = iota
	prepared
	textOnly // the server does not prepare it
)

// conn is one connection: its socket, the answer that is being read and the
// event that is being executed. It belongs to its loop's thread.
type conn struct {
	e      *engine
	l      *loop
	index  int
	number int // in the group

	fd           int    // -1: lost
	gen          uint32 // counts descriptors, to tell late events of a closed one
	capabilities uint32
	secure       *secure // nil without TLS
	answer       answer
	unsent       []byte // rest of a command that the socket did not take
	unread       bool   // the socket may hold more: reading goes on in the next round
	hup          bool   // the peer has closed its side
	handles      []handle
	lost         serverError // why fd is -1

	gener     workload.Generator
	event     workload.Event
	call      int   // the statement that is outstanding or next
	begin     int64 // intended start of the event
	start     int64 // actual start
	sent      int64 // start of the statement
	retries   int   // of this event
	events    int   // since the connection was opened
	finishing bool  // the event is what the generator had left at its end

	doing    activity
	at       int64 // when the timer of waiting, pausing or redialing is due
	dialWait int64 // the pause after the next failure to connect
	complete bool  // the event is complete but for the connection being opened anew
}

func newConn(e *engine, i int) *conn {
	l := e.loops[i%len(e.loops)]
	c := &conn{e: e, l: l, index: i, number: l.group.Connection(), fd: -1, gener: e.s.Workload.Generator(i, e.s.Threads)}
	if e.s.Prepared {
		c.handles = make([]handle, len(e.s.Workload.Statements()))
	}
	l.conns = append(l.conns, c)
	return c
}

// attach takes over an opened socket.
func (c *conn) attach(s *socket) error {
	if err := c.l.poll.add(s.fd, c.index, c.gen); err != nil {
		s.close()
		return fmt.Errorf("watch the socket: %w", err)
	}
	c.fd, s.fd = s.fd, -1
	c.capabilities, c.secure = s.capabilities, s.secure
	c.answer.init(s.capabilities, s.mariaDB)
	c.answer.expect(awaitNothing, 0)
	c.unsent, c.unread, c.hup = c.unsent[:0], false, false
	clear(c.handles)
	c.events = 0
	c.e.ids[c.index].Store(uint64(s.id) + 1)
	return nil
}

// next takes the next event of the phase.
func (c *conn) next(now int64) {
	if c.fd < 0 && (c.e.killed.Load() || !c.e.s.IgnoreErrors.Has(c.lost.code)) {
		c.rest()
		return
	}
	begin, ok := c.l.phase.Take(now)
	if !ok {
		c.finish(now)
		return
	}
	c.begin = begin
	if begin > now {
		c.sleep(waiting, begin)
		return
	}
	c.startEvent(now)
}

func (c *conn) startEvent(now int64) {
	c.start, c.retries = now, 0
	c.plan(now)
}

// plan draws the event's statements and sends the first one.
func (c *conn) plan(now int64) {
	c.gener.Next(&c.event)
	c.call = 0
	if c.fd < 0 {
		c.failed(c.lost, now)
		return
	}
	c.send(now)
}

// finish ends the connection's part of the phase, after what its generator has
// left to send.
func (c *conn) finish(now int64) {
	f, ok := c.gener.(workload.Finisher)
	if !ok || c.fd < 0 || c.l.phase.Err() != nil || !f.Finish(&c.event) {
		c.rest()
		return
	}
	c.finishing, c.call = true, 0
	c.send(now)
}

func (c *conn) rest() {
	c.doing, c.finishing, c.complete = idle, false, false
	c.l.active--
}

func (c *conn) sleep(a activity, until int64) {
	c.doing, c.at = a, until
	c.l.timers.push(c)
}

// timeUp goes on after a timer, which may be early if the phase is over.
func (c *conn) timeUp(now int64) {
	over := c.l.phase.Over(now)
	switch {
	case c.doing == waiting && over:
		c.finish(now)
	case c.doing == waiting:
		c.startEvent(now)
	case c.doing == redialing && !over:
		c.dial()
	default:
		c.again(now)
	}
}

// goOn goes on in the loop's next round.
func (c *conn) goOn() {
	if c.unread {
		c.unread = false
		if c.fd >= 0 {
			c.readable(c.hup)
		}
	}
	if c.doing == yielding {
		c.next(load.Now())
	}
}

// send sends the event's next statement, or ends the event after the last one.
func (c *conn) send(now int64) {
	if c.call == len(c.event.Calls) {
		c.allSent(now)
		return
	}
	c.sent = now
	call := c.event.Calls[c.call]
	st := &c.e.s.Workload.Statements()[call.Statement]
	out := c.l.out[:0]
	if c.e.s.Prepared && !st.Text && c.handles[call.Statement].state != textOnly {
		h := &c.handles[call.Statement]
		if h.state == unprepared {
			c.command(preparing, append(appendCommand(out, comStmtPrepare), st.SQL...), now)
			return
		}
		args := c.event.Args(call)
		types := signature(args)
		out = appendExecute(out, c.capabilities, h.id, &c.event, args, types == 0 || types != h.types)
		h.types = types
	} else {
		out = st.AppendText(appendQueryHead(out, c.capabilities), &c.event, call)
	}
	c.command(executing, out, now)
}

// command sends a packet that still lacks its header.
func (c *conn) command(a activity, out []byte, now int64) {
	c.doing = a
	if limit := c.e.o.MaxPacket; limit > 0 && len(out)-4 > limit {
		c.l.keep(out)
		c.failed(serverError{codePacketTooLarge, "HY000", fmt.Sprintf(
			"the statement is %d bytes long, max_allowed_packet is %d", len(out)-4, limit)}, now)
		return
	}
	packets := 1 + (len(out)-4)/maxPayload
	out = finishPacket(out)
	c.l.keep(out)
	if a == preparing {
		c.answer.expect(awaitPrepareOK, packets)
	} else {
		c.answer.expect(awaitHeader, packets)
	}
	c.write(out, now)
}

// keep keeps the memory of a packet for the next one, unless it is huge.
func (l *loop) keep(out []byte) {
	l.out = out[:0]
	if cap(out) > 64*maxKept {
		l.out = nil
	}
}

// write sends b, sealed if there is TLS.
func (c *conn) write(b []byte, now int64) {
	if c.secure != nil {
		var err error
		if b, err = c.secure.seal(b); err != nil {
			c.broken(err.Error(), now)
			return
		}
	}
	c.deliver(b, now)
}

// deliver hands b to the socket and keeps the rest until it takes that too.
func (c *conn) deliver(b []byte, now int64) {
	n := 0
	if len(c.unsent) == 0 {
		var e unix.Errno
		if n, e = send(c.fd, b); e != 0 && e != unix.EAGAIN {
			c.broken(e.Error(), now)
			return
		}
	}
	if n == len(b) {
		return
	}
	first := len(c.unsent) == 0
	c.unsent = append(c.unsent, b[n:]...)
	if first {
		if err := c.l.poll.wantWrite(c.fd, c.index, c.gen, true); err != nil {
			c.broken(err.Error(), now)
		}
	}
}

// flush sends what the socket did not take before.
func (c *conn) flush() {
	n, e := send(c.fd, c.unsent)
	if e == unix.EAGAIN {
		return
	}
	if e != 0 {
		c.broken(e.Error(), load.Now())
		return
	}
	c.unsent = c.unsent[:copy(c.unsent, c.unsent[n:])]
	if len(c.unsent) > 0 {
		return
	}
	if cap(c.unsent) > maxKept {
		c.unsent = nil
	}
	if err := c.l.poll.wantWrite(c.fd, c.index, c.gen, false); err != nil {
		c.broken(err.Error(), load.Now())
	}
}

// readable reads what the socket holds and returns when the first bytes were
// served. The epoll is edge-triggered: a read that leaves the buffer with room
// has emptied the socket, unless the peer has closed its side.
func (c *conn) readable(hup bool) (served int64) {
	gen := c.gen
	c.hup = c.hup || hup
	for i := range maxReads {
		n, e := recv(c.fd, c.l.in)
		now := load.Now()
		if i == 0 {
			served = now
		}
		switch {
		case e == unix.EAGAIN:
			return served
		case e != 0:
			c.broken(e.Error(), now)
			return served
		case n == 0:
			c.broken("the server closed the connection", now)
			return served
		}
		if c.secure != nil {
			c.consumeSecure(c.l.in[:n], now)
		} else {
			c.consume(c.l.in[:n], now)
		}
		if c.gen != gen || (n < len(c.l.in) && !c.hup) {
			return served
		}
	}
	if !c.unread {
		c.unread = true
		c.l.ready = append(c.l.ready, c)
	}
	return served
}

// consume reads the answer out of b.
func (c *conn) consume(b []byte, now int64) {
	gen := c.gen
	for len(b) > 0 && c.gen == gen {
		n, s, err := c.answer.feed(b)
		b = b[n:]
		switch {
		case err != nil:
			c.gone(serverError{codeMalformed, "HY000", "malformed packet: " + err.Error()}, now)
		case s == stepEmpty:
			c.write([]byte{0, 0, 0, c.answer.emptySeq}, now)
		case s == stepDone:
			c.answered(now)
			if c.gen == gen && len(b) > 0 && !goodbye(b) {
				// It came before the next command was sent, so it is no answer.
				c.gone(serverError{codeMalformed, "HY000", "malformed packet: more than the answer came"}, now)
			}
		}
	}
}

// goodbye reports whether b is an ERR packet, by which a server says on its own
// that it ends the connection.
func goodbye(b []byte) bool { return len(b) < 5 || b[4] == byteERR }

// answered acts on a complete answer.
func (c *conn) answered(now int64) {
	a := &c.answer
	if len(c.unsent) > 0 {
		// Refused before it was sent: the rest of the command would be read as
		// another one.
		c.drop()
	}
	switch c.doing {
	case executing:
		c.executed(now)
	case preparing:
		c.prepared(now)
	case rollingBack:
		if a.failed && (c.fd < 0 || load.LostConnection(a.err.code)) {
			c.gone(a.err, now)
			return
		}
		c.retry(now)
	default: // the server says on its own that it ends the connection
		c.gone(a.err, now)
	}
}

func (c *conn) executed(now int64) {
	a := &c.answer
	switch {
	case a.failed:
		c.failed(a.err, now)
		return
	case a.refused:
		c.failed(serverError{codeInfileForbidden, "HY000", "LOAD DATA LOCAL INFILE is refused"}, now)
		return
	case c.fd < 0:
		c.failed(serverError{codeMalformed, "HY000", "malformed packet: an answer before the statement was sent"}, now)
		return
	}
	class := load.Other
	switch {
	case a.sets > 0:
		class = load.Read
	case a.changed:
		class = load.Write
	}
	st := &c.e.s.Workload.Statements()[c.event.Calls[c.call].Statement]
	c.l.group.Statement(st.Kind, class, now-c.sent, a.rows, a.rowBytes)
	c.call++
	c.send(now)
}

func (c *conn) prepared(now int64) {
	a := &c.answer
	call := c.event.Calls[c.call]
	h := &c.handles[call.Statement]
	switch {
	case a.failed && a.err.code == unsupportedPrepared:
		h.state = textOnly
	case a.failed:
		c.failed(a.err, now)
		return
	case a.params != len(c.event.Args(call)):
		c.failed(serverError{codeMalformed, "HY000", fmt.Sprintf(
			"the server counts %d parameters, the workload gives %d", a.params, len(c.event.Args(call)))}, now)
		return
	default:
		*h = handle{id: a.stmtID, state: prepared}
	}
	c.send(now)
}

// allSent ends the event after its last statement.
func (c *conn) allSent(now int64) {
	if c.finishing {
		c.rest()
		return
	}
	c.events++
	if n := c.e.s.Reconnect; n > 0 && c.events >= n {
		c.quit()
		c.lost = serverError{code: codeServerGone, state: "08S01", message: "closed by --reconnect"}
		c.complete, c.dialWait = true, minDial
		c.dial()
		return
	}
	c.eventDone(now)
}

func (c *conn) eventDone(now int64) {
	c.complete = false
	c.l.group.EventDone(c.number, now-c.begin, now-c.start)
	if len(c.event.Calls) == 0 {
		// Nothing was waited for: others must have their turn.
		c.doing = yielding
		c.l.ready = append(c.l.ready, c)
		return
	}
	c.next(now)
}

// failed acts on a failed statement.
func (c *conn) failed(e serverError, now int64) {
	if e.code == unknownStatement {
		clear(c.handles) // whoever is there now knows none of them
	}
	c.l.group.Error(e.code, e.state, e.message)
	c.recoverFrom(e, now)
}

// recoverFrom starts the event anew after an error that allows it, or ends the
// phase.
func (c *conn) recoverFrom(e serverError, now int64) {
	if c.fd >= 0 && load.LostConnection(e.code) {
		c.drop()
	}
	if c.fd < 0 {
		c.lost = e
	}
	switch {
	case !c.e.s.IgnoreErrors.Has(e.code):
		c.fail(e)
	case c.finishing:
		c.rest()
	case c.fd < 0:
		c.reconnect(now)
	case e.code == codePacketTooLarge:
		// Nothing was sent, so without a pause this would not end.
		c.sleep(pausing, now+minPause)
	case c.inTransaction():
		c.command(rollingBack, append(appendQueryHead(c.l.out[:0], c.capabilities), "ROLLBACK"...), now)
	default:
		c.retry(now)
	}
}

// inTransaction reports whether the event opens a transaction.
func (c *conn) inTransaction() bool {
	st := c.e.s.Workload.Statements()
	for _, call := range c.event.Calls {
		if st[call.Statement].Begin {
			return true
		}
	}
	return false
}

// fail ends the phase because of a statement that no retry can mend.
func (c *conn) fail(e serverError) {
	sql := ""
	if c.call < len(c.event.Calls) {
		sql = c.e.s.Workload.Statements()[c.event.Calls[c.call].Statement].SQL
	}
	if !c.finishing {
		c.l.group.EventAbandoned()
	}
	c.l.phase.Fail(&load.StatementError{Code: e.code, SQLState: e.state, Message: e.message, SQL: sql})
	c.rest()
}

// retry starts the event anew, after a pause if it was tried often.
func (c *conn) retry(now int64) {
	c.retries++
	if n := c.retries - patience; n > 0 {
		c.sleep(pausing, now+min(minPause<<min(n-1, 10), maxPause))
		return
	}
	c.again(now)
}

// again starts the event anew unless the phase is over.
func (c *conn) again(now int64) {
	switch {
	case !c.l.phase.Over(now):
		c.l.group.Retry()
		c.plan(now)
	case c.complete:
		c.eventDone(now)
	default:
		c.l.group.EventAbandoned()
		c.next(now)
	}
}

// broken acts on a socket that failed or was closed by the peer.
func (c *conn) broken(why string, now int64) {
	e := serverError{codeLost, "08S01", "lost connection during the statement: " + why}
	if c.doing != executing && c.doing != preparing && c.doing != rollingBack {
		e = serverError{codeServerGone, "08S01", "server has gone away: " + why}
	} else if said, ok := c.lastWords(); ok {
		e = said
	}
	c.gone(e, now)
}

// lastWords reads the ERR packet that a server sends before it closes a
// connection, if the socket still holds it.
func (c *conn) lastWords() (serverError, bool) {
	b := make([]byte, maxHead)
	n, errno := recv(c.fd, b)
	if errno != 0 || n == 0 {
		return serverError{}, false
	}
	if c.secure != nil {
		c.secure.in = append(slices.Clip(c.secure.in), b[:n]...) // after what is left of the loop's buffer
		n, _ = c.secure.tls.Read(b)
	}
	_, s, err := c.answer.feed(b[:n])
	return c.answer.err, err == nil && s == stepDone && c.answer.failed
}

// gone gives up the connection; what it was doing fails.
func (c *conn) gone(e serverError, now int64) {
	c.drop()
	c.lost = e
	switch c.doing {
	case executing, preparing:
		c.failed(e, now)
	case rollingBack:
		c.recoverFrom(e, now)
	}
	// Otherwise it is noticed by the event that wants to begin.
}

// reconnect opens the connection anew for the event to be started anew.
func (c *conn) reconnect(now int64) {
	if c.l.phase.Over(now) {
		c.again(now)
		return
	}
	c.dialWait = minDial
	c.dial()
}

// dial opens the connection anew on another goroutine.
func (c *conn) dial() {
	c.doing = dialing
	e, l := c.e, c.l
	e.dials.Add(1)
	go func() {
		defer e.dials.Done()
		s, err := e.open(e.ctx)
		l.mu.Lock()
		l.arrived = append(l.arrived, arrival{c: c, s: s, err: err})
		l.mu.Unlock()
		l.wake()
	}()
}

// arrive goes on with the connection opened anew, or tries again later.
func (c *conn) arrive(a arrival) {
	if c.doing != dialing || c.e.ctx.Err() != nil {
		a.s.close()
		return
	}
	now := load.Now()
	if a.err == nil {
		a.err = c.attach(&a.s)
	}
	if a.err == nil {
		c.l.group.Reconnect()
		if c.complete {
			c.eventDone(now)
		} else {
			c.again(now)
		}
		return
	}
	// A planned reconnect (c.complete) has no lost connection that the user ignores.
	if e := c.explain(a.err); c.complete && !c.e.s.IgnoreErrors.Has(e.code) {
		c.fail(e)
		return
	}
	c.sleep(redialing, now+c.dialWait)
	c.dialWait = min(2*c.dialWait, maxDial)
}

// explain gives an error of Dial the number it is known by.
func (c *conn) explain(err error) serverError {
	var e serverError
	if c.e.s.ErrorCode != nil {
		e.code, e.state, e.message = c.e.s.ErrorCode(err)
	}
	if e.code == 0 {
		e = serverError{codeServerGone, "08S01", err.Error()}
	}
	if context.Cause(c.e.ctx) != nil {
		e.code = codeServerGone
	}
	return e
}

// kill breaks the connection and abandons its event.
func (c *conn) kill() {
	switch {
	case c.doing == idle, c.doing == waiting, c.doing == yielding, c.finishing:
	default:
		c.l.group.EventAbandoned()
	}
	if c.fd >= 0 {
		c.lost = serverError{codeServerGone, "08S01", "broken at the end of the phase"}
	}
	c.drop()
	c.doing, c.finishing, c.complete = idle, false, false
}
