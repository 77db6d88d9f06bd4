package workload

import (
	"fmt"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/workload/random"
)

// Statement kinds of the built-in workloads, as they appear in results.
const (
	kindBegin          = "begin"
	kindCommit         = "commit"
	kindPoint          = "point_select"
	kindSimpleRange    = "simple_range"
	kindSumRange       = "sum_range"
	kindOrderRange     = "order_range"
	kindDistinctRange  = "distinct_range"
	kindIndexUpdate    = "index_update"
	kindNonIndexUpdate = "non_index_update"
	kindDelete         = "delete"
	kindInsert         = "insert"
	kindRandomPoints   = "random_points"
	kindRandomRanges   = "random_ranges"
	kindBulkInsert     = "bulk_insert"
	kindHotspot        = "hotspot_update"
)

// The statement texts of sysbench's oltp_* scripts; %d is the table's number.
const (
	sqlPoint          = "SELECT c FROM sbtest%d WHERE id=?"
	sqlSimpleRange    = "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?"
	sqlSumRange       = "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?"
	sqlOrderRange     = "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"
	sqlDistinctRange  = "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"
	sqlIndexUpdate    = "UPDATE sbtest%d SET k=k+1 WHERE id=?"
	sqlNonIndexUpdate = "UPDATE sbtest%d SET c=? WHERE id=?"
	sqlDelete         = "DELETE FROM sbtest%d WHERE id=?"
	sqlInsert         = "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)"
)

type op uint8

const (
	opFixed op = iota // no table, no arguments: BEGIN, COMMIT
	opPoint
	opRange
	opIndexUpdate
	opNonIndexUpdate
	opDelete
	opDeleteInsert
	opInsert
)

// part is one group of an event: a table is drawn, then the group's statements
// are sent count times to it.
type part struct {
	op    op
	count int
	base  int // statement for table 1; table n is base+n-1
}

// oltp is any of sysbench's oltp_* scripts: a list of parts.
type oltp struct {
	name       string
	kinds      []string
	statements []Statement
	parts      []part
	opt        Options
	ids        random.Dist // of ids and of k
	unique     random.Unique
}

func newOLTP(name string, o Options) (Workload, error) {
	w := &oltp{name: name, opt: o, ids: o.Rand.Over(1, o.TableSize), unique: random.NewUnique(o.Rand.Seed)}
	trx := !o.SkipTrx
	switch name {
	case "oltp_point_select":
		w.add(opPoint, 1, kindPoint, sqlPoint)
		trx = false
	case "oltp_read_only":
		w.begin(trx)
		w.reads()
	case "oltp_read_write":
		w.begin(trx)
		w.reads()
		w.writes()
	case "oltp_write_only":
		w.begin(trx)
		w.writes()
	case "oltp_update_index":
		w.add(opIndexUpdate, o.IndexUpdates, kindIndexUpdate, sqlIndexUpdate)
		trx = false
	case "oltp_update_non_index":
		w.add(opNonIndexUpdate, o.NonIndexUpdates, kindNonIndexUpdate, sqlNonIndexUpdate)
		trx = false
	case "oltp_delete":
		w.add(opDelete, 1, kindDelete, sqlDelete)
		trx = false
	case "oltp_insert":
		w.add(opInsert, 1, kindInsert, sqlInsert)
		// sysbench writes this one out in every mode.
		for i := range w.statements {
			w.statements[i].Text = true
		}
		trx = false
	}
	w.commit(trx)
	if !w.sendsAnything() {
		return nil, bench.Errorf(bench.ExitConfig, "workload %s with these counts sends no statement: raise one of them above 0", name)
	}
	return w, nil
}

func (w *oltp) reads() {
	o := w.opt
	w.add(opPoint, o.PointSelects, kindPoint, sqlPoint)
	if !o.RangeSelects {
		return
	}
	w.add(opRange, o.SimpleRanges, kindSimpleRange, sqlSimpleRange)
	w.add(opRange, o.SumRanges, kindSumRange, sqlSumRange)
	w.add(opRange, o.OrderRanges, kindOrderRange, sqlOrderRange)
	w.add(opRange, o.DistinctRanges, kindDistinctRange, sqlDistinctRange)
}

func (w *oltp) writes() {
	o := w.opt
	w.add(opIndexUpdate, o.IndexUpdates, kindIndexUpdate, sqlIndexUpdate)
	w.add(opNonIndexUpdate, o.NonIndexUpdates, kindNonIndexUpdate, sqlNonIndexUpdate)
	w.add(opDeleteInsert, o.DeleteInserts, kindDelete, sqlDelete)
	w.tables(kindInsert, sqlInsert) // right behind the deletes, see plan
}

// add appends a part and its statements, one for each table.
func (w *oltp) add(op op, count int, kind, sql string) {
	w.parts = append(w.parts, part{op: op, count: count, base: len(w.statements)})
	w.tables(kind, sql)
}

func (w *oltp) tables(kind, sql string) {
	k := len(w.kinds)
	w.kinds = append(w.kinds, kind)
	for t := 1; t <= w.opt.Tables; t++ {
		w.statements = append(w.statements, NewStatement(k, fmt.Sprintf(sql, t)))
	}
}

func (w *oltp) begin(trx bool) {
	if trx {
		s := NewStatement(len(w.kinds), "BEGIN")
		s.Text, s.Begin = true, true
		w.fixed(kindBegin, s)
	}
}

func (w *oltp) commit(trx bool) {
	if trx {
		s := NewStatement(len(w.kinds), "COMMIT")
		s.Text, s.End = true, true
		w.fixed(kindCommit, s)
	}
}

func (w *oltp) fixed(kind string, s Statement) {
	w.kinds = append(w.kinds, kind)
	w.parts = append(w.parts, part{op: opFixed, count: 1, base: len(w.statements)})
	w.statements = append(w.statements, s)
}

func (w *oltp) sendsAnything() bool {
	for _, p := range w.parts {
		if p.count > 0 {
			return true
		}
	}
	return false
}

// Name returns the workload's name.
func (w *oltp) Name() string { return w.name }

// Kinds returns the statement kinds in the order of an event.
func (w *oltp) Kinds() []string { return w.kinds }

// Statements returns the statements of all tables.
func (w *oltp) Statements() []Statement { return w.statements }

// Generator returns the stream of one connection.
func (w *oltp) Generator(conn, conns int) Generator {
	return &oltpStream{
		w: w, src: random.NewSource(w.opt.Rand.Seed, uint64(conn)),
		next: uint32(conn), step: uint32(max(conns, 1)),
	}
}

type oltpStream struct {
	w          *oltp
	src        random.Source
	next, step uint32 // place in the unique sequence that all connections share
}

// Next plans one event.
func (g *oltpStream) Next(ev *Event) {
	ev.Reset()
	for i := range g.w.parts {
		p := &g.w.parts[i]
		if p.op == opFixed {
			ev.Call(p.base)
			continue
		}
		// A part without statements draws its table all the same, as in sysbench, so
		// that a count does not change what the other parts draw.
		table := int(g.src.Range(0, int64(g.w.opt.Tables-1)))
		for range p.count {
			g.plan(ev, p.op, p.base+table)
		}
	}
}

// plan adds one statement, or a pair of them, in sysbench's order of draws.
func (g *oltpStream) plan(ev *Event, o op, statement int) {
	w := g.w
	switch o {
	case opPoint, opIndexUpdate, opDelete:
		ev.Call(statement)
		ev.Int(w.ids.Draw(&g.src))
	case opRange:
		ev.Call(statement)
		id := w.ids.Draw(&g.src)
		ev.Int(id)
		ev.Int(id + w.opt.RangeSize - 1)
	case opNonIndexUpdate:
		ev.Call(statement)
		g.src.Groups(ev.String(random.CLen))
		ev.Int(w.ids.Draw(&g.src))
	case opDeleteInsert:
		ev.Call(statement)
		id := w.ids.Draw(&g.src)
		ev.Int(id)
		g.insert(ev, statement+w.opt.Tables, id)
	case opInsert:
		g.insert(ev, statement, g.insertID())
	}
}

func (g *oltpStream) insert(ev *Event, statement int, id int64) {
	ev.Call(statement)
	ev.Int(id)
	ev.Int(g.w.ids.Draw(&g.src))
	g.src.Groups(ev.String(random.CLen))
	g.src.Groups(ev.String(random.PadLen))
}

// insertID returns the id for oltp_insert: 0 makes the server choose; without
// auto_inc it comes from a sequence of distinct 32-bit numbers that all
// connections share out among them.
func (g *oltpStream) insertID() int64 {
	if g.w.opt.AutoInc {
		return 0
	}
	u := g.w.unique.At(g.next)
	g.next += g.step
	return int64(u) - 1<<31
}

// join repeats a piece of SQL n times with a separator.
func join(piece, sep string, n int) string {
	return strings.TrimSuffix(strings.Repeat(piece+sep, n), sep)
}
