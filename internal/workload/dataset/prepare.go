package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cellbench/internal/bench"
)

// The modes of Prepare.
const (
	Auto   = "auto"   // load what is not there as needed
	Always = "always" // load anew
	Never  = "never"  // use what is there
)

// Options say how Prepare works.
type Options struct {
	Mode    string // Auto when empty
	Threads int    // connections that load and count; 0: DefaultThreads
	// MaxPacket is the server's max_allowed_packet in bytes; 0: ask the server.
	MaxPacket int
	// StatementBytes bounds the size of an INSERT; 0: DefaultStatementBytes.
	StatementBytes int
	// Version of cellbench, for the marker table.
	Version string
	// Progress is told now and then how far the work is, by one goroutine at a
	// time; nil means nobody.
	Progress func(Progress)
}

// DefaultThreads loads as fast as servers of a few cores can take it.
const DefaultThreads = 4

// The phases of Prepare.
const (
	PhaseCheck = "check" // counting the rows of tables that are there
	PhaseLoad  = "load"  // filling tables and making their indexes
)

// Progress is how far Prepare is.
type Progress struct {
	Phase     string
	Rows      int64         // done, those found by a load taken up again included
	Total     int64         // wanted
	PerSecond float64       // rows loaded per second so far
	Elapsed   time.Duration // since the phase began
	Remaining time.Duration // at this speed; 0 when it is not known
	Indexing  int           // tables whose indexes are being made
	Done      bool          // the last report of its phase
}

// action is what is to be done with a table.
type action uint8

const (
	accept action = iota // use as it is, once its rows are counted
	create               // make and load
	reload               // drop, make and load
	resume               // load the rows that are missing
)

// Prepare makes sure that the dataset of a spec is there and returns what is
// there. Errors carry their exit class: 64 when mode Never finds a table missing,
// 66 for tables in the way that cellbench did not make, 75 when ctx ends, else
// that of the connection's error.
//
// A load that was broken off is taken up by the next Prepare of the same spec, or
// started clean when that is not possible.
func Prepare(ctx context.Context, open Opener, s Spec, o Options) (*bench.Dataset, error) {
	d, err := prepare(ctx, open, s, o)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, bench.Errorf(bench.ExitInterrupted, "prepare dataset: interrupted, the next run takes it up: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare dataset: %w", err)
	}
	return d, nil
}

func prepare(ctx context.Context, open Opener, s Spec, o Options) (*bench.Dataset, error) {
	if o.Mode == "" {
		o.Mode = Auto
	}
	if !slices.Contains([]string{Auto, Always, Never}, o.Mode) {
		return nil, bench.Errorf(bench.ExitConfig, "BENCH_PREPARE=%s: give %s, %s or %s", o.Mode, Auto, Always, Never)
	}
	if o.Threads <= 0 {
		o.Threads = DefaultThreads
	}
	c, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	all, err := inspect(ctx, c, s)
	if err != nil {
		return nil, err
	}
	actions := make([]action, len(all))
	for i := range all {
		if actions[i], err = decide(&s.Tables[i], &all[i], o.Mode); err != nil {
			return nil, err
		}
	}
	if err := verify(ctx, open, s, o, all, actions); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(actions, func(a action) bool { return a != accept }) {
		if err := load(ctx, open, c, s, o, actions); err != nil {
			return nil, err
		}
	}
	return describe(ctx, c, s, all, actions)
}

// decide says what to do with a table, before any rows are counted.
func decide(t *Table, f *found, mode string) (action, error) {
	switch {
	case !f.exists && mode == Never:
		return 0, bench.Errorf(bench.ExitConfig, "table %s is missing and BENCH_PREPARE=never forbids loading it: set BENCH_PREPARE=auto", t.Name)
	case !f.exists:
		return create, nil
	case mode == Never:
		return accept, acceptable(t, f)
	case f.mark == nil && mode == Always:
		return 0, bench.Errorf(bench.ExitUnsafe, "table %s was not made by cellbench, so BENCH_PREPARE=always does not drop it: drop it yourself, set BENCH_PREPARE=auto, or choose another database", t.Name)
	case f.mark == nil:
		return accept, acceptable(t, f)
	case mode == Always, !f.matches:
		return reload, nil
	case f.mark.state == stateComplete && f.complete(t):
		return accept, nil
	case f.mark.state == stateLoading && t.resumable():
		return resume, nil
	}
	return reload, nil
}

// complete reports whether a table that cellbench made still has its indexes. The
// rest of its shape is not looked at: what a server makes of our own CREATE TABLE
// is right.
func (f *found) complete(t *Table) bool {
	for _, step := range t.After {
		if step.Index != "" && !f.shape.hasIndex(step.Index) {
			return false
		}
	}
	return true
}

// resumable reports whether a broken load of the table can be taken up: its rows
// must be known by number, its steps by what they make.
func (t *Table) resumable() bool {
	return t.Key != "" && !slices.ContainsFunc(t.After, func(s Step) bool { return s.Index == "" })
}

// acceptable returns an error of code 66 unless a table that cellbench did not
// make, or must not touch, is one that the workload can run on.
func acceptable(t *Table, f *found) error {
	if t.Shape == nil {
		if f.mark != nil {
			return nil
		}
		return bench.Errorf(bench.ExitUnsafe, "table %s is there but was not made by cellbench: drop or rename it, or choose another database", t.Name)
	}
	if diff := t.Shape.differences(&f.shape); len(diff) > 0 {
		return bench.Errorf(bench.ExitUnsafe, "table %s is not the one that the workload needs: %s; change the options, drop or rename it, or choose another database",
			t.Name, strings.Join(diff, ", "))
	}
	return nil
}

// verify counts the rows of the tables to accept, several at a time, and turns to
// reload what cellbench made and is not as it should be.
func verify(ctx context.Context, open Opener, s Spec, o Options, all []found, actions []action) error {
	var todo []int
	total := int64(0)
	for i, a := range actions {
		if a == accept {
			todo = append(todo, i)
			total += s.Tables[i].Rows
		}
	}
	if len(todo) == 0 {
		return nil
	}
	r := startReport(o.Progress, PhaseCheck, total)
	defer r.stop()
	return parallel(ctx, open, min(o.Threads, len(todo)), each(todo), func(ctx context.Context, c Conn, i int) error {
		n, err := count(ctx, c, s.Tables[i].Name)
		if err != nil {
			return err
		}
		all[i].rows = n
		r.rows.Add(s.Tables[i].Rows)
		actions[i], err = judge(&s.Tables[i], &all[i], o.Mode, s.Drifts)
		return err
	})
}

// judge says what to do with a table whose rows have been counted.
func judge(t *Table, f *found, mode string, drifts bool) (action, error) {
	if f.rows == t.Rows {
		return accept, nil
	}
	switch {
	case mode == Never && drifts:
		return accept, nil
	case mode == Never:
		return 0, bench.Errorf(bench.ExitUnsafe, "table %s has %d rows instead of %d: set BENCH_TABLE_SIZE to what is there, or BENCH_PREPARE=auto", t.Name, f.rows, t.Rows)
	case f.mark == nil:
		return 0, bench.Errorf(bench.ExitUnsafe, "table %s, which was not made by cellbench, has %d rows instead of %d: set BENCH_TABLE_SIZE to what is there, drop it, or choose another database", t.Name, f.rows, t.Rows)
	}
	return reload, nil
}

// describe returns what is there now.
func describe(ctx context.Context, c Conn, s Spec, all []found, actions []action) (*bench.Dataset, error) {
	d := &bench.Dataset{Fingerprint: s.Fingerprint(), Tables: len(s.Tables), Origin: "reused"}
	if len(s.Tables) == 0 {
		d.Origin = "none"
	}
	for i := range all {
		switch {
		case actions[i] != accept:
			d.Origin = "loaded"
			d.Rows += s.Tables[i].Rows
		default:
			if all[i].mark == nil && d.Origin == "reused" {
				d.Origin = "foreign"
			}
			d.Rows += all[i].rows
		}
	}
	d.Bytes = size(ctx, c, s)
	return d, nil
}

// size returns the data and index length as the server estimates it, nil when it
// does not say.
func size(ctx context.Context, c Conn, s Spec) *int64 {
	names := make([]string, 0, len(s.Tables))
	for i := range s.Tables {
		names = append(names, literal(s.Tables[i].Name))
	}
	if len(names) == 0 {
		return nil
	}
	// MySQL 8 shows lengths up to a day old unless it is told otherwise; other
	// servers do not know the variable, and need not.
	_, _ = c.Exec(ctx, "SET SESSION information_schema_stats_expiry = 0")
	rows, err := c.Query(ctx, "SELECT SUM(data_length + index_length) FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return nil
	}
	n, err := number(rows, 0)
	if err != nil {
		return nil
	}
	return &n
}

// literal returns s as a string literal for any sql_mode; table names and our own
// words hold no backslash.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
