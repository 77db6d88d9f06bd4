package workload

import (
	"strconv"

	"cellbench/internal/workload/random"
)

// randomSelect is select_random_points or select_random_ranges: one SELECT on
// sbtest1 by many values of k.
//
// Each connection draws from a slice of 1..TableSize of its own. sysbench's
// slices overlap by one value and the first begins at 0, which k never holds;
// here they divide 1..TableSize without gap or overlap.
type randomSelect struct {
	name       string
	kinds      []string
	statements []Statement
	opt        Options
	values     int
	delta      int64 // -1: single values
}

func newRandomSelect(name string, o Options) *randomSelect {
	w := &randomSelect{name: name, opt: o}
	sql := ""
	if name == "select_random_points" {
		w.kinds, w.values, w.delta = []string{kindRandomPoints}, o.RandomPoints, -1
		sql = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" + join("?", ", ", w.values) + ")"
	} else {
		w.kinds, w.values, w.delta = []string{kindRandomRanges}, o.NumberOfRanges, int64(o.Delta)
		sql = "SELECT count(k) FROM sbtest1 WHERE " + join("k BETWEEN ? AND ?", " OR ", w.values)
	}
	w.statements = []Statement{NewStatement(0, sql)}
	return w
}

// Name returns the workload's name.
func (w *randomSelect) Name() string { return w.name }

// Kinds returns the one kind.
func (w *randomSelect) Kinds() []string { return w.kinds }

// Statements returns the one statement.
func (w *randomSelect) Statements() []Statement { return w.statements }

// Generator returns the stream of one connection.
func (w *randomSelect) Generator(conn, conns int) Generator {
	low, high := slice(w.opt.TableSize, int64(conn), int64(max(conns, 1)))
	return &randomSelectStream{
		w: w, src: random.NewSource(w.opt.Rand.Seed, uint64(conn)),
		values: w.opt.Rand.Over(low, high),
	}
}

// slice returns part i of n of the range 1..size. With more parts than values
// every part is the whole range.
func slice(size, i, n int64) (low, high int64) {
	if n > size {
		return 1, size
	}
	q, r := size/n, size%n // the first r parts have one value more
	low = i*q + min(i, r) + 1
	high = low + q - 1
	if i < r {
		high++
	}
	return low, high
}

type randomSelectStream struct {
	w      *randomSelect
	src    random.Source
	values random.Dist
}

// Next plans one event.
func (g *randomSelectStream) Next(ev *Event) {
	ev.Reset()
	ev.Call(0)
	for range g.w.values {
		v := g.values.Draw(&g.src)
		ev.Int(v)
		if g.w.delta >= 0 {
			ev.Int(v + g.w.delta)
		}
	}
}

// bulkInsert is bulk_insert: each event adds the row (n,n) to a statement that is
// sent when it is full. Connection c fills table sbtest<c+1>.
type bulkInsert struct {
	statements []Statement
	limit      int
}

// bulkBuffer is the size in bytes of sysbench's statement buffer, of which the
// last byte is never used.
const bulkBuffer = 512 << 10

const bulkPrefix = "INSERT INTO sbtest" + " VALUES"

func newBulkInsert(o Options) *bulkInsert {
	s := NewStatement(0, "INSERT INTO sbtest? VALUES?")
	s.Text = true
	limit := bulkBuffer - 1
	if o.MaxPacket > 0 {
		limit = min(limit, o.MaxPacket-1) // the packet holds a command byte too
	}
	return &bulkInsert{statements: []Statement{s}, limit: max(limit, 1024)}
}

// Name returns "bulk_insert".
func (w *bulkInsert) Name() string { return "bulk_insert" }

// Kinds returns the one kind.
func (w *bulkInsert) Kinds() []string { return []string{kindBulkInsert} }

// Statements returns the one statement, whose two parameters are raw text: the
// table's number and the rows.
func (w *bulkInsert) Statements() []Statement { return w.statements }

// Generator returns the stream of one connection.
func (w *bulkInsert) Generator(conn, _ int) Generator {
	table := strconv.Itoa(conn + 1)
	limit := w.limit - len(bulkPrefix) - len(table)
	return &bulkStream{table: table, limit: limit, rows: make([]byte, 0, limit)}
}

type bulkStream struct {
	table string
	rows  []byte
	limit int
	n     int64
	row   [48]byte
}

// Next adds a row and plans the statement that was full without it, if it was.
func (g *bulkStream) Next(ev *Event) {
	ev.Reset()
	g.n++
	row := append(g.row[:0], '(')
	row = strconv.AppendInt(row, g.n, 10)
	row = append(row, ',')
	row = strconv.AppendInt(row, g.n, 10)
	row = append(row, ')')
	if len(g.rows) > 0 && len(g.rows)+1+len(row) > g.limit {
		g.Finish(ev)
	}
	if len(g.rows) > 0 {
		g.rows = append(g.rows, ',')
	}
	g.rows = append(g.rows, row...)
}

// Finish plans the statement with the rows that are left.
func (g *bulkStream) Finish(ev *Event) bool {
	ev.Reset()
	if len(g.rows) == 0 {
		return false
	}
	ev.Call(0)
	copy(ev.Raw(len(g.table)), g.table)
	copy(ev.Raw(len(g.rows)), g.rows)
	g.rows = g.rows[:0]
	return true
}

// hotspot is hotspot_update: every event changes the same row in a transaction.
type hotspot struct {
	kinds      []string
	statements []Statement
}

func newHotspot(o Options) *hotspot {
	w := &oltp{}
	w.begin(!o.SkipTrx)
	sql := "UPDATE "
	if o.HotspotHint != "" {
		sql += o.HotspotHint + " "
	}
	sql += "sbtest1 SET k=k+1 WHERE id=" + strconv.FormatInt(o.HotspotRow, 10)
	w.fixed(kindHotspot, NewStatement(len(w.kinds), sql))
	w.commit(!o.SkipTrx)
	return &hotspot{kinds: w.kinds, statements: w.statements}
}

// Name returns "hotspot_update".
func (w *hotspot) Name() string { return "hotspot_update" }

// Kinds returns the kinds in the order of an event.
func (w *hotspot) Kinds() []string { return w.kinds }

// Statements returns the statements in the order of an event.
func (w *hotspot) Statements() []Statement { return w.statements }

// Generator returns a stream of equal events.
func (w *hotspot) Generator(int, int) Generator { return hotspotStream(len(w.statements)) }

type hotspotStream int

// Next plans one event: all statements in order.
func (g hotspotStream) Next(ev *Event) {
	ev.Reset()
	for i := range int(g) {
		ev.Call(i)
	}
}
