package loadtest

import (
	"cellbench/internal/workload"
)

// custom is a workload made for one test: plan fills the n-th event (from 0) of
// a connection.
type custom struct {
	statements []workload.Statement
	plan       func(conn, n int, ev *workload.Event)
	finish     func(conn int, ev *workload.Event) bool
}

func (w *custom) Name() string                     { return "custom" }
func (w *custom) Statements() []workload.Statement { return w.statements }

func (w *custom) Kinds() []string {
	var kinds []string
	for _, s := range w.statements {
		for len(kinds) <= s.Kind {
			kinds = append(kinds, "kind")
		}
	}
	return kinds
}

func (w *custom) Generator(conn, _ int) workload.Generator {
	g := &stream{w: w, conn: conn}
	if w.finish != nil {
		return &finisher{*g}
	}
	return g
}

type stream struct {
	w    *custom
	conn int
	n    int
}

func (g *stream) Next(ev *workload.Event) {
	ev.Reset()
	g.w.plan(g.conn, g.n, ev)
	g.n++
}

type finisher struct{ stream }

func (g *finisher) Finish(ev *workload.Event) bool {
	ev.Reset()
	return g.w.finish(g.conn, ev)
}

// one is a workload of one statement without arguments per event.
func one(sql string) *custom {
	return &custom{
		statements: []workload.Statement{workload.NewStatement(0, sql)},
		plan:       func(_, _ int, ev *workload.Event) { ev.Call(0) },
	}
}

// statements makes one statement of each text, each of a kind of its own; BEGIN
// and COMMIT are marked as such.
func statements(sql ...string) []workload.Statement {
	var out []workload.Statement
	for i, q := range sql {
		s := workload.NewStatement(i, q)
		s.Begin, s.End = q == "BEGIN", q == "COMMIT"
		s.Text = s.Begin || s.End
		out = append(out, s)
	}
	return out
}
