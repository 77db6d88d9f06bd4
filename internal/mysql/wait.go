package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"cellbench/internal/bench"
)

const (
	waitFirst   = 100 * time.Millisecond // pause after the first failed attempt
	waitMost    = 2 * time.Second        // longest pause between two attempts
	waitUnknown = 15 * time.Second       // how long an unknown host name may stay unknown
	waitSay     = 5 * time.Second        // how often the same reason is told again
)

// Wait returns when the server accepts a statement of this account. It tries
// again only after what time can mend: nobody listens, no greeting, starting up,
// shutting down, too many connections, and, for at most 15 s, a host name that
// does not resolve (a container network learns names as containers start). What
// it waits for is told to progress, which may be nil. After timeout it returns
// the last error with bench.ExitUnreachable; any other failure comes at once.
func (d *Door) Wait(ctx context.Context, timeout time.Duration, progress func(string)) error {
	start := time.Now()
	tell := teller(progress)
	for pause := waitFirst; ; pause = min(2*pause, waitMost) {
		err := d.try(ctx)
		if err == nil {
			return nil
		}
		waited := time.Since(start)
		switch {
		case ctx.Err() != nil:
			return Classify(err)
		case !mends(err, waited):
			return err
		case waited+pause > timeout:
			return bench.Errorf(bench.CodeOf(err), "waited %s for the server: %w", waited.Round(time.Millisecond), err)
		}
		tell(fmt.Sprintf("waiting for the server (%s of %s): %v", waited.Round(time.Second), timeout, err))
		if err := sleep(ctx, pause); err != nil {
			return Classify(err)
		}
	}
}

// try connects once and runs a statement, which a server that is still starting
// may refuse after a good handshake.
func (d *Door) try(ctx context.Context) error {
	c, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Query(ctx, "SELECT 1"); err != nil {
		return Classify(err)
	}
	return nil
}

// mends reports whether trying again can help.
func mends(err error, waited time.Duration) bool {
	if bench.CodeOf(err).Retryable() {
		return true
	}
	var dns *net.DNSError
	return errors.As(err, &dns) && waited < waitUnknown
}

// teller passes a message on when it is due, so that a long wait does not fill
// the log.
func teller(progress func(string)) func(string) {
	var last time.Time
	return func(message string) {
		if progress == nil || (!last.IsZero() && time.Since(last) < waitSay) {
			return
		}
		last = time.Now()
		progress(message)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
