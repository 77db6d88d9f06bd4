package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

// restoreTime bounds putting a server back after a failed Apply.
const restoreTime = 30 * time.Second

// Session is a server in a scenario, from Apply to Restore. It is not safe for
// concurrent use.
type Session struct {
	door *mysql.Door
	conn *mysql.Conn
	s    Scenario
	log  func(string)

	watched  []string // global variables that are read each time
	set      []string // those among them that are set
	saved    *saved   // nil: nothing was changed
	stored   bool     // the saved state lies on the server
	lost     map[string]int64
	warnings []bench.Warning
	before   *state
	applied  *state
	after    *state
	report   bench.ScenarioReport
}

// Apply puts the server behind d into the scenario and proves it; initSQL
// (BENCH_INIT_SQL) runs after the scenario's own statements and is undone the same
// way. What a killed cell left behind is restored first. log, which may be nil,
// hears what is done.
//
// The server cannot be in the scenario: bench.ExitScenario before anything is
// changed, or after everything was put back. Missing rights: bench.ExitUnsafe with
// the GRANT. Another cell at work: bench.ExitBusy. With an error the session is
// either nil or already restored, and of use for its Report only.
func Apply(ctx context.Context, d *mysql.Door, s Scenario, initSQL []string, log func(string)) (*Session, error) {
	if log == nil {
		log = func(string) {}
	}
	p := &Session{door: d, s: s, log: log, report: bench.ScenarioReport{Requested: s.Name, Changes: []string{}, Notes: []string{}}}
	stmts := slices.Concat(s.Apply, initSQL)
	var err error
	if p.set, err = globals(stmts); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read BENCH_INIT_SQL: %w", err)
	}
	p.watched = slices.Clone(p.set)
	for _, name := range slices.Sorted(maps.Keys(s.Require)) {
		if !slices.Contains(p.watched, name) {
			p.watched = append(p.watched, name)
		}
	}
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	if err := p.find(ctx); err != nil {
		_ = p.conn.Close()
		return nil, p.explain(ctx, err)
	}
	if err := p.enter(ctx, stmts); err != nil {
		err = p.explain(ctx, err)
		return p, p.leave(ctx, err)
	}
	return p, nil
}

// connect opens the session's connection. It stays open until Restore: as long as
// it lives, the state it saved is known to belong to a living cell.
func (p *Session) connect(ctx context.Context) error {
	c, err := p.door.Conn(ctx)
	if err != nil {
		return err
	}
	// A global autocommit of 0 would leave the saved state uncommitted, and a short
	// wait_timeout would close the connection during the window.
	if _, err := c.Exec(ctx, "SET SESSION autocommit = 1, SESSION wait_timeout = 604800"); err != nil {
		_ = c.Close()
		return mysql.Classify(err)
	}
	p.conn = c
	return nil
}

// find deals with left-over states and reads the state found.
func (p *Session) find(ctx context.Context) error {
	if err := p.recover(ctx); err != nil {
		return err
	}
	var err error
	if p.before, err = readState(ctx, p.conn, p.watched); err != nil {
		return err
	}
	p.report.Before = p.before.report()
	return nil
}

// recover restores what killed cells have left behind.
func (p *Session) recover(ctx context.Context) error {
	found, err := leftovers(ctx, p.conn)
	if err != nil {
		return err
	}
	for _, l := range found {
		if err := p.recoverOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (p *Session) recoverOne(ctx context.Context, l leftover) error {
	place := l.schema + "." + StateTable
	if l.restarted {
		p.note("the server was restarted since a cell left its saved state in %s, so there was nothing to put back", place)
		return forget(ctx, p.conn, l.schema)
	}
	gone, err := ownerGone(ctx, p.conn, l.owner)
	if err != nil {
		return err
	}
	if !gone {
		return bench.Errorf(bench.ExitBusy, "another cell (connection %s) has this server in a scenario, saved in %s: wait for it", l.owner, place)
	}
	v, err := decodeSaved(l.text)
	if err != nil {
		return bench.Errorf(bench.ExitScenario, "restore the state saved in %s: %w: put the server back by hand and drop that table", place, err)
	}
	p.log(fmt.Sprintf("restoring what a killed cell (scenario %s, %s ago) left behind", v.Scenario, l.age))
	if err := restoreState(ctx, p.conn, v); err != nil {
		if mysql.IsDenied(err) {
			return err
		}
		return bench.Errorf(bench.ExitScenario, "restore the state saved in %s: %w: run by hand, then drop that table: %s", place, err, strings.Join(v.byHand(), "; "))
	}
	p.note("restored what a killed cell (scenario %s) had left behind, saved in %s", v.Scenario, place)
	return forget(ctx, p.conn, l.schema)
}

// enter brings the server into the scenario and proves it.
func (p *Session) enter(ctx context.Context, stmts []string) error {
	if err := p.s.checkRequired(p.before); err != nil {
		return err
	}
	if p.needsSetup() && p.before.denied != nil {
		return p.before.denied
	}
	if len(stmts) > 0 {
		if err := p.change(ctx, stmts); err != nil {
			return err
		}
	}
	if err := p.prove(ctx); err != nil {
		return err
	}
	var err error
	// Connections come after this: an instrumented session that finds no room is
	// lost while it connects.
	p.lost, err = readLost(ctx, p.conn)
	return err
}

// needsSetup reports whether the scenario reads or writes the setup tables.
func (p *Session) needsSetup() bool {
	return touchesSetup(p.s.Apply) || len(p.s.Verify.SetupConsumers)+len(p.s.Verify.SetupInstruments) > 0
}

// change saves the state found and runs the statements.
func (p *Session) change(ctx context.Context, stmts []string) error {
	v := save(p.s, p.before, p.set)
	err := v.store(ctx, p.conn)
	switch {
	case err == nil:
		p.stored = true
	case mysql.IsError(err, 1290, 1836):
		p.warn("state_not_saved", fmt.Sprintf("the server is read-only, so the state found is not saved on it: if this cell is killed, put it back by hand: %s", strings.Join(v.byHand(), "; ")))
	default:
		return err
	}
	p.saved = v
	for _, stmt := range stmts {
		p.log("running " + mysql.Redact(oneLine(stmt)))
		if _, err := p.conn.Exec(ctx, stmt); err != nil {
			return p.refused(err)
		}
		p.report.Changes = append(p.report.Changes, mysql.Redact(oneLine(stmt)))
		if err := p.noteWarnings(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// refused gives a statement that the server did not take its exit code.
func (p *Session) refused(err error) error {
	if bench.CodeOf(mysql.Classify(err)) != bench.ExitInternal {
		return err
	}
	if mysql.IsError(err, 1238) {
		return bench.Errorf(bench.ExitScenario, "scenario %s: %w: it can only be changed at the server's start", p.s.Name, err)
	}
	return bench.Errorf(bench.ExitScenario, "scenario %s: %w", p.s.Name, err)
}

// noteWarnings keeps what the server says of a SET that it took in part, such as
// a value cut to its range.
func (p *Session) noteWarnings(ctx context.Context, stmt string) error {
	if found, _ := globalsOf(stmt); len(found) == 0 {
		return nil
	}
	rows, err := p.conn.Query(ctx, "SHOW WARNINGS")
	if err != nil {
		return err
	}
	for _, r := range rows.Rows {
		p.note("%s: %s %s: %s", mysql.Redact(oneLine(stmt)), strings.ToLower(r[0].String), r[1].String, r[2].String)
	}
	return nil
}

// prove reads the state back and compares it with what the scenario demands.
func (p *Session) prove(ctx context.Context) error {
	now, err := readState(ctx, p.conn, p.watched)
	if err != nil {
		return err
	}
	p.applied, p.report.Applied = now, now.report()
	if now.denied != nil {
		p.note("the setup tables of performance_schema are hidden from this account: %v", now.denied)
	}
	if now.pfs == nil {
		p.note("the server has no performance_schema")
	}
	if !p.s.Demands() {
		return nil
	}
	problems, notes, err := p.s.verify(ctx, p.conn, now)
	if err != nil {
		return p.refused(err)
	}
	p.report.Notes = append(p.report.Notes, notes...)
	p.noteRuntime()
	ok := len(problems) == 0
	p.report.Verified = &ok
	if !ok {
		return bench.Errorf(bench.ExitScenario, "scenario %s: the server took the changes, but reads back otherwise: %s", p.s.Name, few(problems))
	}
	return nil
}

// noteRuntime tells which instruments were switched while the server runs although
// the manual knows them as start-up options.
func (p *Session) noteRuntime() {
	was := map[string]instrument{}
	for _, i := range p.before.instruments {
		was[i.Name] = i
	}
	n := 0
	for _, i := range p.applied.instruments {
		if class(i.Name) == "wait/synch" && was[i.Name].Enabled != i.Enabled {
			n++
		}
	}
	if n > 0 {
		p.note("%d wait/synch instruments were switched at run time; the manual calls them effective at start-up only, the table shows them switched", n)
	}
}

func (p *Session) note(format string, args ...any) {
	p.report.Notes = append(p.report.Notes, fmt.Sprintf(format, args...))
}

func (p *Session) warn(code, message string) {
	p.warnings = append(p.warnings, bench.Warning{Code: code, Message: message})
	p.report.Notes = append(p.report.Notes, message)
	p.log(message)
}

// leave puts the server back after a failed Apply and returns err, with what went
// wrong in restoring.
func (p *Session) leave(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	if back := p.Restore(ctx); back != nil {
		return bench.Errorf(bench.CodeOf(err), "%w; and then %w", err, back)
	}
	return err
}

// explain gives err its exit code, with the GRANT when a right is missing.
func (p *Session) explain(ctx context.Context, err error) error {
	var done *bench.Error
	if errors.As(err, &done) {
		return err
	}
	if ctx.Err() != nil {
		return mysql.Classify(ctx.Err())
	}
	if grant := p.missing(ctx, err); grant != "" {
		return bench.Errorf(bench.ExitUnsafe, "scenario %s: %w: the account lacks a right: %s", p.s.Name, err, grant)
	}
	return mysql.Classify(err)
}

// CheckAfter reads the state again after the window. An error says why the cell
// is invalid: the state has changed, could not be read, or performance_schema lost
// what it should have counted. Losses that do not change the measured load, and
// those of a scenario that demands nothing, are only in Report and Warnings.
func (p *Session) CheckAfter(ctx context.Context) error {
	if err := p.ensure(ctx); err != nil {
		return fmt.Errorf("read the scenario again: %w", err)
	}
	now, err := readState(ctx, p.conn, p.watched)
	if err != nil {
		return fmt.Errorf("read the scenario again: %w", err)
	}
	p.after, p.report.After = now, now.report()
	if diff := differences(p.applied, now); len(diff) > 0 {
		return fmt.Errorf("the server's state changed during the window: %s", few(diff))
	}
	lost, err := readLost(ctx, p.conn)
	if err != nil {
		return fmt.Errorf("read the scenario again: %w", err)
	}
	p.report.Lost = map[string]int64{}
	var serious, other []string
	for _, name := range slices.Sorted(maps.Keys(lost)) {
		n := lost[name] - p.lost[name]
		if n <= 0 {
			continue
		}
		p.report.Lost[name] = n
		text := fmt.Sprintf("%s grew by %d", name, n)
		if isSerious(name) {
			serious = append(serious, text)
		} else {
			other = append(other, text)
		}
	}
	return p.judgeLost(serious, other)
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// ensure makes sure that the connection works and opens a fresh one otherwise.
func (p *Session) ensure(ctx context.Context) error {
	if p.conn != nil {
		if err := p.conn.Ping(ctx); err == nil {
			return nil
		}
		_ = p.conn.Close()
		p.conn = nil
	}
	return p.connect(ctx)
}

// Restore puts the server back, proves it, removes the saved state and closes the
// connection; a lost connection is replaced by a fresh one. The error says what
// remains to be done by hand. Calling it again does nothing.
func (p *Session) Restore(ctx context.Context) error {
	defer p.close()
	if p.saved == nil {
		return nil
	}
	v := p.saved
	p.saved = nil
	ok := false
	p.report.Restored = &ok
	err := p.ensure(ctx)
	if err == nil {
		err = restoreState(ctx, p.conn, v)
	}
	if err != nil {
		rest := ""
		if p.stored {
			rest = fmt.Sprintf("; the next cell will try again from %s.%s", p.door.Database(), StateTable)
		}
		return fmt.Errorf("put the server back after scenario %s: %w; run by hand: %s%s", p.s.Name, err, strings.Join(v.byHand(), "; "), rest)
	}
	ok = true
	if p.stored {
		if err := forget(ctx, p.conn, p.door.Database()); err != nil {
			return fmt.Errorf("remove the saved state after scenario %s: %w; the server is back, drop %s.%s by hand", p.s.Name, err, p.door.Database(), StateTable)
		}
	}
	return nil
}

func (p *Session) close() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

// Report returns the scenario's part of the result as it is known now.
func (p *Session) Report() *bench.ScenarioReport {
	r := p.report
	return &r
}

// Warnings returns the findings that do not make the cell invalid.
func (p *Session) Warnings() []bench.Warning { return slices.Clone(p.warnings) }
