package driver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"cellbench/internal/load"
	"cellbench/internal/workload"
)

// rawConn is the part of go-sql-driver's connection that sends a statement
// without a context. With one, the driver hands every statement to a watcher
// goroutine; a stalled statement is broken by its socket instead.
type rawConn interface {
	driver.Conn
	Query(query string, args []driver.Value) (driver.Rows, error)
	Exec(query string, args []driver.Value) (driver.Result, error)
}

type rawStmt interface {
	driver.Stmt
	Query(args []driver.Value) (driver.Rows, error)
	Exec(args []driver.Value) (driver.Result, error)
}

// worker is one connection and the goroutine that drives it.
type worker struct {
	e      *Engine
	group  *load.Group
	number int // in the group
	gen    workload.Generator
	stmts  []workload.Statement

	event    workload.Event
	prepared []rawStmt // by statement index; nil until first used
	refused  []bool    // the server does not prepare this statement
	args     []driver.Value
	dest     []driver.Value
	text     []byte
	done     int // events since the connection was opened

	conn rawConn
	id   atomic.Uint64
	live atomic.Bool

	mu  sync.Mutex // guards net, which Kill uses
	net net.Conn
}

func newWorker(e *Engine, i int) *worker {
	stmts := e.s.Workload.Statements()
	group := e.groups[i%len(e.groups)]
	return &worker{
		e: e, group: group, number: group.Connection(), gen: e.s.Workload.Generator(i, e.s.Threads), stmts: stmts,
		prepared: make([]rawStmt, len(stmts)), refused: make([]bool, len(stmts)),
	}
}

func (w *worker) connect(ctx context.Context) error {
	if w.e.s.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.e.s.ConnectTimeout)
		defer cancel()
	}
	c, err := w.e.dial(ctx)
	if err != nil {
		return err
	}
	raw, ok := c.Driver.(rawConn)
	if !ok {
		_ = c.Driver.Close()
		return fmt.Errorf("the driver's connection is a %T, which cannot send without a context", c.Driver)
	}
	if d, ok := ctx.Deadline(); ok {
		_ = c.Net.SetDeadline(d)
	}
	for _, q := range w.e.s.SessionSQL {
		if _, err := raw.Exec(q, nil); err != nil {
			_ = raw.Close()
			return fmt.Errorf("session statement %q: %w", q, err)
		}
	}
	id, err := connectionID(raw)
	if err != nil {
		_ = raw.Close()
		return fmt.Errorf("read connection id: %w", err)
	}
	w.id.Store(id)
	_ = c.Net.SetDeadline(time.Time{})
	w.mu.Lock()
	w.net = c.Net
	w.mu.Unlock()
	w.conn = raw
	w.done = 0
	clear(w.prepared)
	w.live.Store(true)
	return nil
}

func (w *worker) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
	w.live.Store(false)
}

func (w *worker) breakConn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.net != nil {
		_ = w.net.SetDeadline(time.Unix(1, 0))
	}
}

// run executes events until the phase is over.
func (w *worker) run(p *load.Phase) {
	for w.live.Load() {
		begin, ok := p.Take(load.Now())
		if !ok {
			break
		}
		if !wait(p, begin) {
			break
		}
		if !w.runEvent(p, begin) {
			return
		}
	}
	if f, ok := w.gen.(workload.Finisher); ok && w.live.Load() && f.Finish(&w.event) {
		if err := w.send(); err != nil {
			w.fail(p, err)
		}
	}
}

// wait sleeps until begin and reports whether the event may still start. It
// looks at the phase now and then, since a phase may be stopped early.
func wait(p *load.Phase, begin int64) bool {
	for {
		now := load.Now()
		if begin <= now {
			return !p.Over(now) || !p.Rate()
		}
		if p.Over(now) {
			return false
		}
		sleep(time.Duration(min(begin-now, int64(50*time.Millisecond))))
	}
}

// patience is how many times an event is tried anew before the worker pauses
// between tries, so that an error that stays does not spin.
const patience = 10

// runEvent executes one event, again after errors that allow it. It returns
// false when the worker must stop.
func (w *worker) runEvent(p *load.Phase, begin int64) bool {
	started := load.Now()
	for try := 0; ; try++ {
		w.gen.Next(&w.event)
		err := w.send()
		if err == nil {
			err = w.reconnectIfDue(p)
		}
		if err == nil {
			now := load.Now()
			w.group.Lock()
			w.group.EventDone(w.number, now-begin, now-started)
			w.group.Unlock()
			return true
		}
		again := w.recover(p, err)
		if again && try >= patience {
			// The shift is bounded, or after some fifty tries there would be no pause.
			time.Sleep(min(time.Millisecond<<min(try-patience, 10), 100*time.Millisecond))
		}
		if !again || p.Over(load.Now()) {
			w.group.Lock()
			w.group.EventAbandoned()
			w.group.Unlock()
			return again
		}
		w.group.Lock()
		w.group.Retry()
		w.group.Unlock()
	}
}

func (w *worker) reconnectIfDue(p *load.Phase) error {
	w.done++
	if w.e.s.Reconnect == 0 || w.done < w.e.s.Reconnect {
		return nil
	}
	return w.reopen(p, false)
}

// reopen opens the connection anew. Where the user ignores the loss of a
// connection (patient) or the error of a try, it tries again with growing pauses
// while the phase lasts; otherwise a server that is gone ends the phase, which may
// have no limit of time.
func (w *worker) reopen(p *load.Phase, patient bool) error {
	w.close()
	pause := 10 * time.Millisecond
	for {
		err := w.connect(context.Background())
		if err == nil {
			w.group.Lock()
			w.group.Reconnect()
			w.group.Unlock()
			return nil
		}
		if code, _, _ := w.e.s.ErrorCode(err); !patient && !w.e.s.IgnoreErrors.Has(code) {
			return err
		}
		if w.e.killed.Load() || p.Over(load.Now()+int64(pause)) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, time.Second)
	}
}

// recover deals with a failed statement and reports whether the event may be
// tried anew.
func (w *worker) recover(p *load.Phase, err error) bool {
	code, _, _ := w.e.s.ErrorCode(err)
	switch {
	case w.e.killed.Load():
		w.close()
		return false
	case !w.e.s.IgnoreErrors.Has(code):
		w.fail(p, err)
		return false
	case w.conn == nil, load.LostConnection(code): // nil: it could not be opened anew
		if err := w.reopen(p, true); err != nil {
			if !w.e.killed.Load() {
				w.fail(p, err)
			}
			return false
		}
		return true
	}
	if code == unknownStatement {
		clear(w.prepared)
	}
	if !w.inTransaction() {
		return true
	}
	if _, err := w.conn.Exec("ROLLBACK", nil); err != nil {
		return w.recover(p, err)
	}
	return true
}

// inTransaction reports whether the event being executed opens a transaction.
func (w *worker) inTransaction() bool {
	for _, c := range w.event.Calls {
		if w.stmts[c.Statement].Begin {
			return true
		}
	}
	return false
}

func (w *worker) fail(p *load.Phase, err error) {
	code, state, message := w.e.s.ErrorCode(err)
	var s *statementError
	sql := ""
	if errors.As(err, &s) {
		sql = s.sql
	}
	if load.LostConnection(code) || w.e.killed.Load() {
		w.close()
	}
	if !w.e.killed.Load() {
		p.Fail(&load.StatementError{Code: code, SQLState: state, Message: message, SQL: sql})
	}
}

// statementError carries the statement that failed.
type statementError struct {
	err error
	sql string
}

func (e *statementError) Error() string { return e.err.Error() }
func (e *statementError) Unwrap() error { return e.err }

// MySQL error numbers that the engine acts on.
const (
	unsupportedPrepared = 1295 // this command is not supported in the prepared statement protocol
	unknownStatement    = 1243 // unknown prepared statement handler
)

// send executes the statements of the planned event, each recorded as it
// completes.
func (w *worker) send() error {
	for _, c := range w.event.Calls {
		if err := w.call(c); err != nil {
			code, state, message := w.e.s.ErrorCode(err)
			w.group.Lock()
			w.group.Error(code, state, message)
			w.group.Unlock()
			return &statementError{err: err, sql: w.stmts[c.Statement].SQL}
		}
	}
	return nil
}

func (w *worker) call(c workload.Call) error {
	s := &w.stmts[c.Statement]
	stmt, err := w.statement(c.Statement)
	if err != nil {
		return err
	}
	start := load.Now()
	var rows driver.Rows
	var res driver.Result
	switch {
	case stmt == nil:
		w.text = s.AppendText(w.text[:0], &w.event, c)
		if s.Rows {
			rows, err = w.conn.Query(string(w.text), nil)
		} else {
			res, err = w.conn.Exec(string(w.text), nil)
		}
	case s.Rows:
		rows, err = stmt.Query(w.values(c))
	default:
		res, err = stmt.Exec(w.values(c))
	}
	if err != nil {
		return err
	}
	class, n, err := w.consume(rows, res)
	if err != nil {
		return err
	}
	end := load.Now()
	w.group.Lock()
	w.group.Statement(s.Kind, class, end-start, n, 0)
	w.group.Unlock()
	return nil
}

// consume reads an answer to its end and classifies it.
func (w *worker) consume(rows driver.Rows, res driver.Result) (load.Class, int64, error) {
	if rows == nil {
		n, err := res.RowsAffected()
		if n > 0 {
			return load.Write, 0, err
		}
		return load.Other, 0, err
	}
	defer func() { _ = rows.Close() }()
	columns := len(rows.Columns())
	if columns == 0 {
		return load.Other, 0, nil
	}
	var n int64
	for {
		for len(w.dest) < len(rows.Columns()) {
			w.dest = append(w.dest, nil)
		}
		err := rows.Next(w.dest[:len(rows.Columns())])
		if err == nil {
			n++
			continue
		}
		if !errors.Is(err, io.EOF) {
			return load.Read, n, err
		}
		next, ok := rows.(driver.RowsNextResultSet)
		if !ok || !next.HasNextResultSet() {
			return load.Read, n, nil
		}
		if err := next.NextResultSet(); err != nil {
			if errors.Is(err, io.EOF) {
				return load.Read, n, nil
			}
			return load.Read, n, err
		}
	}
}

// statement returns the prepared form of a statement, preparing it on first use,
// or nil when it goes as text.
func (w *worker) statement(i int) (rawStmt, error) {
	if !w.e.s.Prepared || w.stmts[i].Text || w.refused[i] {
		return nil, nil
	}
	if w.prepared[i] != nil {
		return w.prepared[i], nil
	}
	st, err := w.conn.Prepare(w.stmts[i].SQL)
	if err != nil {
		if code, _, _ := w.e.s.ErrorCode(err); code == unsupportedPrepared {
			w.refused[i] = true
			return nil, nil
		}
		return nil, err
	}
	raw, ok := st.(rawStmt)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", st)
	}
	w.prepared[i] = raw
	return raw, nil
}

func (w *worker) values(c workload.Call) []driver.Value {
	w.args = w.args[:0]
	for _, a := range w.event.Args(c) {
		switch a.Type {
		case workload.ArgInt:
			w.args = append(w.args, a.Int)
		case workload.ArgNull:
			w.args = append(w.args, nil)
		default:
			w.args = append(w.args, w.event.Bytes(a))
		}
	}
	return w.args
}
