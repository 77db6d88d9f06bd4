package cell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/load"
	"cellbench/internal/load/driver"
	"cellbench/internal/load/wire"
	"cellbench/internal/mysql"
	"cellbench/internal/scenario"
)

// errLockLost is the cause of a window that closed because another cell may be
// running on the target.
var errLockLost = errors.New("the lock on the target was lost")

const (
	// connectParallel is how many connections are opened at once: enough to hide
	// the round trips, few enough not to fill the server's queue.
	connectParallel = 64
	// connectAll bounds the opening of all connections.
	connectAll = 5 * time.Minute
)

// measure opens the connections, measures and judges.
func (r *run) measure(ctx context.Context) error {
	e, name, err := r.engine()
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	if err := r.connect(ctx, e); err != nil {
		return cause(ctx, err)
	}
	r.res.Engine = r.engineOf(e, name)
	r.checkThreads(ctx, e)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.lock != nil {
		go func() {
			select {
			case <-r.lock.Lost():
				cancel(errLockLost)
			case <-ctx.Done():
			}
		}()
	}
	edges := newEdges(r)
	out := load.Measure(ctx, e, load.Plan{
		Warmup: r.cfg.WarmupTime.Std(), Time: r.cfg.Time.Std(), Events: int64(r.cfg.Events), Rate: float64(r.cfg.Rate),
		Seed: uint64(r.seed), Interval: r.cfg.ReportInterval.Std(), Drain: r.drain(),
	}, load.Hooks{
		Warmup: r.o.Progress.Warmup, Opening: edges.open, Closed: edges.close,
		Interval: func(iv bench.Interval) { r.o.Progress.Interval(iv, r.cfg.Time.Std()) },
	})
	return r.judge(out, edges)
}

// drain is how long events in flight may take once the load must end.
func (r *run) drain() time.Duration { return r.cfg.DrainTimeout.Std() }

// engine makes the engine that BENCH_ENGINE asks for.
func (r *run) engine() (load.Engine, string, error) {
	session, err := scenario.ParseStatements(r.cfg.SessionSQL)
	if err != nil {
		return nil, "", bench.Errorf(bench.ExitConfig, "BENCH_SESSION_SQL: %w", err)
	}
	s := load.Settings{
		Workload: r.workload, Threads: r.cfg.Threads, Prepared: r.prepared, SessionSQL: session,
		IgnoreErrors: ignore(r.cfg.MysqlIgnoreErrors.All, r.cfg.MysqlIgnoreErrors.Codes),
		Reconnect:    r.cfg.Reconnect, Rate: r.cfg.Rate > 0, ErrorCode: mysql.ErrorCode,
		ConnectParallel: connectParallel, ConnectTimeout: 30 * time.Second,
	}
	door := r.target.door
	if r.cfg.Engine != "driver" {
		e, err := wire.New(s, wireDial(door), wire.Options{Loops: r.cfg.Loops, MaxPacket: int(r.facts.MaxAllowedPacket)})
		if err == nil {
			return e, "wire", nil
		}
		if r.cfg.Engine == "wire" {
			return nil, "", bench.Errorf(bench.ExitConfig, "BENCH_ENGINE=wire: %w", err)
		}
	}
	return driver.New(s, func(ctx context.Context) (driver.Conn, error) {
		c, n, err := door.DriverConn(ctx)
		return driver.Conn{Driver: c, Net: n}, err
	}), "driver", nil
}

func wireDial(door *mysql.Door) wire.Dial {
	return func(ctx context.Context) (wire.Conn, error) {
		c, err := door.RawConn(ctx)
		if err != nil {
			return wire.Conn{}, err
		}
		return wire.Conn{Net: c.Conn, Capabilities: c.Capabilities, MariaDBCapabilities: c.ExtendedCapabilities, ConnectionID: c.ConnectionID}, nil
	}
}

func ignore(all bool, codes []int) load.ErrorSet {
	s := load.ErrorSet{All: all, Codes: map[int]bool{}}
	for _, c := range codes {
		s.Codes[c] = true
	}
	return s
}

func (r *run) connect(ctx context.Context, e load.Engine) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectAll, bench.Errorf(bench.ExitUnreachable, "open %d connections: not done after %s", r.cfg.Threads, connectAll))
	defer cancel()
	r.o.Progress.Step(sprintf("opening %d connections", r.cfg.Threads))
	err := e.Connect(ctx, func(int) {})
	if err == nil {
		return nil
	}
	// Errors of the connection itself have their code; what is left is about the
	// session statements.
	var refused *wire.SessionError
	if errors.As(err, &refused) || fromServer(err) && bench.CodeOf(err) == bench.ExitInternal {
		return bench.Errorf(bench.ExitConfig, "BENCH_SESSION_SQL: %s", mysql.Redact(err.Error()))
	}
	return mysql.Classify(err)
}

// checkThreads asks performance_schema whether it watches the load's
// connections as the scenario means it to.
func (r *run) checkThreads(ctx context.Context, e load.Engine) {
	if on := r.facts.PerformanceSchema; on == nil || !*on || !r.demands {
		return
	}
	if err := scenario.CheckThreads(ctx, r.control, e.ConnectionIDs()); err != nil {
		// Such a cell measures less than its scenario says.
		r.invalid(err.Error())
	}
}

// judge turns an outcome into the result's numbers and verdict. Why the load ended
// is the first reason; what is found besides becomes a warning then.
func (r *run) judge(out *load.Outcome, edges *edges) error {
	if out.Opened {
		if err := r.fill(out, edges); err != nil {
			return err
		}
	}
	// A server that answers nobody has stalled or is gone, whatever was noticed first:
	// events that had to be broken off may have waited for a row's lock, errors may be
	// ignored, at a low rate no statement may have been under way, and the lock's
	// connection dies with the server.
	if out.Err == nil && edges.after.failed || errors.Is(out.Err, errLockLost) {
		if err := r.answers(); err != nil {
			out.Err = fmt.Errorf("%w at the end of the load: %w", load.ErrHung, err)
		}
	}
	err := r.verdict(out)
	if !out.Opened {
		return err
	}
	r.findings(out)
	if bench.CodeOf(err) == bench.ExitUnreachable {
		return err // nobody is there to be asked
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if r.session != nil {
		if err := r.session.CheckAfter(ctx); err != nil {
			r.invalid(err.Error())
		}
		for _, w := range r.session.Warnings() {
			r.warn(w.Code, w.Message)
		}
	}
	if r.lock != nil && out.Err == nil {
		if err := r.lock.Check(ctx); err != nil {
			r.invalid(sprintf("%s: another cell may have run beside this one: %s", errLockLost, err))
		}
	}
	return err
}

// answers tries to open a connection, for a few seconds: the end must come within
// what a scheduler gives.
func (r *run) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := r.target.door.Conn(ctx)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func (r *run) invalid(reason string) {
	if r.res.Status == bench.StatusOK {
		r.res.Status = bench.StatusInvalid
		r.reason(reason)
		return
	}
	r.warn("invalid", reason)
}

// verdict derives status and exit code from why the load ended.
func (r *run) verdict(out *load.Outcome) error {
	var stmt *load.StatementError
	switch {
	case out.Err == nil:
		return nil
	case bench.CodeOf(out.Err) == bench.ExitInterrupted:
		r.res.Status = bench.StatusInterrupted
		r.reason(out.Err.Error())
		return out.Err
	case errors.Is(out.Err, errLockLost):
		r.invalid(sprintf("%s during the load: another cell may have run beside this one", errLockLost))
		return nil
	case !errors.As(out.Err, &stmt):
		r.notMeasured(out, out.Err.Error())
		return bench.Errorf(bench.ExitUnreachable, "load: %w", out.Err)
	case load.LostConnection(stmt.Code), stmt.Code == 2002, stmt.Code == 2003: // and it could not be opened anew
		r.notMeasured(out, sprintf("the connection to the server was lost: %s%s", stmt, r.serverDied()))
		return bench.Errorf(bench.ExitUnreachable, "load: the connection to the server was lost: %w", out.Err)
	case out.Opened && out.Counts.Events > 0:
		r.invalid(sprintf("the load stopped after %.1f s: %s", float64(out.End-out.Begin)/1e9, stmt))
		return nil
	}
	// Not one event could be done, as a rule because of the account's rights.
	r.notMeasured(out, out.Err.Error())
	return bench.Errorf(statementCode(stmt.Code), "load: %w", out.Err)
}

// serverDied adds the last words of a local server that has ended.
func (r *run) serverDied() string {
	srv := r.target.server
	if srv == nil {
		return ""
	}
	select {
	case <-srv.Exited():
		const lines = 5
		return "; the local server ended, its log: " + strings.Join(strings.Fields(srv.LogTail(lines)), " ")
	case <-time.After(time.Second):
		return ""
	}
}

// notMeasured sets the status of a load that ended against its will.
func (r *run) notMeasured(out *load.Outcome, reason string) {
	if out.Opened {
		r.invalid(reason)
		return
	}
	r.res.Status = bench.StatusFailed
	r.reason(reason)
}

// statementCode is the exit code of a workload whose statements fail from the
// start: missing rights are 66, everything else is something to configure.
func statementCode(code int) bench.ExitCode {
	switch code {
	case 1044, 1142, 1143, 1227, 1370, 1290, 1836:
		return bench.ExitUnsafe
	}
	return bench.ExitConfig
}
