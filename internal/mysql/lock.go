package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cellbench/internal/bench"
)

// LockName is the name of the server-wide user lock. It is the same for all
// targets and databases of a server, since two cells disturb each other whatever
// they are called.
const LockName = "cellbench.cell"

const (
	lockPoll     = 2 * time.Second  // longest wait inside one GET_LOCK
	lockCheck    = time.Second      // how often the lock's connection is checked
	lockPatience = 30 * time.Second // how long a busy server may leave a check unanswered
)

// Lock is the one-cell-at-a-time lock of a server, held by a connection of its
// own for as long as the cell lives.
type Lock struct {
	conn *Conn
	stop chan struct{}      // tells the keeper to end after the ping under way
	kill context.CancelFunc // ends that ping too, and with it the connection
	done chan struct{}      // the keeper has ended
	lost chan struct{}

	mu  sync.Mutex // guards conn's statements and err
	err error
}

// AcquireLock waits up to timeout for the lock and keeps it. target names the
// server in messages; progress, which may be nil, hears who holds the lock.
// Busy after the timeout is bench.ExitBusy, a server without GET_LOCK
// bench.ExitConfig.
func AcquireLock(ctx context.Context, d *Door, target string, timeout time.Duration, progress func(string)) (*Lock, error) {
	conn, err := d.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := takeLock(ctx, conn, target, timeout, progress); err != nil {
		_ = conn.Close()
		return nil, err
	}
	// The keeper outlives the caller's set-up context: the lock must be held until
	// Release, also while the cell is winding down after a signal.
	keep, kill := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lock{conn: conn, stop: make(chan struct{}), kill: kill, done: make(chan struct{}), lost: make(chan struct{})}
	go l.keep(keep)
	return l, nil
}

// takeLock asks for the lock in short turns, so that it can say who holds it.
func takeLock(ctx context.Context, conn *Conn, target string, timeout time.Duration, progress func(string)) error {
	start, tell := time.Now(), teller(progress)
	for {
		left := timeout - time.Since(start)
		turn := max(min(left, lockPoll), 0)
		got, null, err := conn.Value(ctx, "SELECT GET_LOCK(?, ?)", LockName, turn.Seconds())
		switch {
		case err != nil && ctx.Err() != nil:
			return Classify(ctx.Err())
		case err != nil && !IsLost(err):
			return bench.Errorf(bench.ExitConfig, "lock %s: %w: set BENCH_LOCK_TIMEOUT=off for a service without GET_LOCK", target, err)
		case err != nil:
			return Classify(err)
		case null:
			return bench.Errorf(bench.ExitUnreachable, "lock %s: the server gave no answer to GET_LOCK (the statement was killed)", target)
		case got == "1":
			return nil
		}
		holder := lockHolder(ctx, conn)
		if time.Since(start) >= timeout {
			return bench.Errorf(bench.ExitBusy, "lock %s: waited %s, but another cell is running there%s: wait for it, or raise BENCH_LOCK_TIMEOUT", target, timeout, holder)
		}
		tell(fmt.Sprintf("waiting for another cell on %s%s (%s of %s)", target, holder, time.Since(start).Round(time.Second), timeout))
	}
}

// lockHolder describes the connection that holds the lock, as far as the account
// may see it; "" when it is free again.
func lockHolder(ctx context.Context, conn *Conn) string {
	id, null, err := conn.Value(ctx, "SELECT IS_USED_LOCK(?)", LockName)
	if err != nil || null {
		return ""
	}
	rows, err := conn.Query(ctx, "SELECT user, host FROM information_schema.processlist WHERE id = ?", id)
	if err != nil || len(rows.Rows) == 0 {
		return fmt.Sprintf(" (connection %s)", id)
	}
	return fmt.Sprintf(" (connection %s, %s from %s)", id, rows.Rows[0][0].String, rows.Rows[0][1].String)
}

// keep pings the lock's connection. A user lock lives exactly as long as its
// connection (MySQL manual, "Locking Functions"), and a ping, unlike a query,
// counts neither in Questions nor in Com_select, so it does not show in the
// counters of the measured window. It also keeps wait_timeout from closing the
// connection. [Lock.Check] asks for the lock itself.
func (l *Lock) keep(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(lockCheck)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		err := l.ask(func() error {
			ctx, cancel := context.WithTimeout(ctx, lockPatience)
			defer cancel()
			return l.conn.Ping(ctx)
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.fail(err)
			return
		}
	}
}

// ask runs f while nobody else uses the connection.
func (l *Lock) ask(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return f()
}

func (l *Lock) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("keep the lock of the target: %w", err)
		close(l.lost)
	}
}

// Check asks the server whether the lock is still this cell's, and marks it lost
// if not. It costs one statement, so it belongs before and after the window.
func (l *Lock) Check(ctx context.Context) error {
	var mine string
	err := l.ask(func() (err error) {
		mine, _, err = l.conn.Value(ctx, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()", LockName)
		return err
	})
	if err == nil && mine != "1" {
		err = errors.New("it is no longer held by this cell")
	}
	if err != nil && ctx.Err() == nil {
		l.fail(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.Err()
}

// Lost returns a channel that is closed when the lock's connection dies or the
// lock is no longer this cell's. Another cell may be running then.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Err returns why the lock was lost, nil while it is held.
func (l *Lock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Release gives the lock back and closes its connection. It must be called once.
func (l *Lock) Release(ctx context.Context) error {
	close(l.stop)
	defer l.kill()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.kill()
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { _ = l.conn.Close() }()
	if l.err != nil {
		return nil // lost is told by Err; there is nothing to give back
	}
	if _, err := l.conn.Exec(ctx, "DO RELEASE_LOCK(?)", LockName); err != nil {
		return fmt.Errorf("release the lock of the target: %w", err)
	}
	return nil
}
