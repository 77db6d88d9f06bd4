// Package workload says what is sent: the statements of each workload and pure
// generators that plan its events.
//
// An event is planned, then executed: a Generator fills a reusable Event with
// statements and arguments drawn from a seeded stream of its connection, and an
// engine sends them. Nothing here opens a connection, so a workload can be
// tested without a server and every engine runs the same plan.
package workload

import "strings"

// Workload is what the connections of one cell send. It is immutable and may be
// shared.
type Workload interface {
	// Name is the workload's name, e.g. "oltp_read_write".
	Name() string
	// Kinds lists the kinds of statement, e.g. "point_select", in report order.
	Kinds() []string
	// Statements lists every statement that an event may call. The slice is
	// shared and must not be changed.
	Statements() []Statement
	// Generator returns the event stream of connection conn of conns (from 0).
	// The same seed, conn and conns give the same events.
	Generator(conn, conns int) Generator
}

// Generator plans the events of one connection. It is used by one goroutine at a
// time.
type Generator interface {
	// Next resets ev and plans the next event in it. An event without calls is
	// allowed; it counts as an event and sends nothing.
	Next(ev *Event)
}

// Finisher is a Generator that has something left to send when its connection
// ends, such as the last rows of a bulk insert.
type Finisher interface {
	// Finish plans the closing statements and reports whether there are any.
	Finish(ev *Event) bool
}

// Statement is one statement text with its parameters as `?`.
type Statement struct {
	Kind int    // index into Workload.Kinds
	SQL  string // the text, `?` for each parameter
	Text bool   // always sent as text, never prepared (BEGIN, COMMIT, literal statements)
	Rows bool   // answers with a result set
	// Begin and End mark the statements that open and close a transaction, so
	// that an engine knows when an abandoned event needs a ROLLBACK.
	Begin, End bool

	segments []string // SQL cut at its parameters
}

// NewStatement returns a Statement whose text is cut at its `?` marks once. A
// question mark inside quotes or comments is text.
func NewStatement(kind int, sql string) Statement {
	return Statement{Kind: kind, SQL: sql, Rows: answersWithRows(sql), segments: cut(sql)}
}

// Params returns how many parameters the statement has.
func (s *Statement) Params() int { return len(s.segments) - 1 }

// AppendText appends the statement with its arguments written out, as text mode
// sends it: integers in decimal, strings in single quotes with ' doubled and \
// escaped, NULL as NULL, raw pieces as they are.
func (s *Statement) AppendText(dst []byte, e *Event, c Call) []byte {
	args := e.Args(c)
	for i, seg := range s.segments {
		dst = append(dst, seg...)
		if i < len(args) && i < len(s.segments)-1 {
			dst = appendArg(dst, e, args[i])
		}
	}
	return dst
}

// answersWithRows judges by the first word. A SELECT ... INTO puts its rows
// elsewhere.
func answersWithRows(sql string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(skipComments(sql), "( \t\r\n"), " ")
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "SELECT", "WITH":
		return !hasWord(sql, "INTO")
	case "SHOW", "VALUES", "TABLE", "DESCRIBE", "DESC", "EXPLAIN", "CHECK", "ANALYZE", "OPTIMIZE", "CHECKSUM":
		return true
	}
	return false
}
