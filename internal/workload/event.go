package workload

// Event is the plan of one event: the statements to send, in order, with their
// arguments. A Generator fills it, an engine sends it; the same Event is used
// again and again, so that planning allocates nothing in steady state.
type Event struct {
	Calls []Call
	args  []Arg
	buf   []byte
}

// Call is one statement of an event: an index into Workload.Statements and the
// arguments it takes.
type Call struct {
	Statement  int
	first, end int
}

// ArgType says how an argument is sent.
type ArgType uint8

// The types of argument.
const (
	ArgInt    ArgType = iota // signed 64-bit integer
	ArgString                // bytes, sent as a string
	ArgNull                  // NULL
	ArgRaw                   // bytes put into the text of a Text statement as they are
)

// Arg is one argument. Int is its value when Type is ArgInt; the bytes of
// ArgString and ArgRaw come from Event.Bytes.
type Arg struct {
	Type       ArgType
	Int        int64
	start, end int
}

// Reset empties the event and keeps its memory.
func (e *Event) Reset() {
	e.Calls, e.args, e.buf = e.Calls[:0], e.args[:0], e.buf[:0]
}

// Call appends a statement; the arguments added next belong to it.
func (e *Event) Call(statement int) {
	n := len(e.args)
	e.Calls = append(e.Calls, Call{Statement: statement, first: n, end: n})
}

// Int appends an integer argument to the last call.
func (e *Event) Int(v int64) { e.add(Arg{Type: ArgInt, Int: v}) }

// Null appends a NULL argument to the last call.
func (e *Event) Null() { e.add(Arg{Type: ArgNull}) }

// String appends a string argument of n bytes to the last call and returns them
// for the caller to fill. The slice is valid until the next method call.
func (e *Event) String(n int) []byte { return e.bytes(ArgString, n) }

// Raw appends a piece of statement text of n bytes to the last call, as String
// does.
func (e *Event) Raw(n int) []byte { return e.bytes(ArgRaw, n) }

// Args returns the arguments of a call of this event.
func (e *Event) Args(c Call) []Arg { return e.args[c.first:c.end] }

// Bytes returns the bytes of a string or raw argument of this event, valid until
// the next Reset.
func (e *Event) Bytes(a Arg) []byte { return e.buf[a.start:a.end] }

func (e *Event) bytes(t ArgType, n int) []byte {
	start := len(e.buf)
	for cap(e.buf)-start < n {
		e.buf = append(e.buf[:cap(e.buf)], 0)
	}
	e.buf = e.buf[:start+n]
	e.add(Arg{Type: t, start: start, end: start + n})
	return e.buf[start:]
}

func (e *Event) add(a Arg) {
	e.args = append(e.args, a)
	e.Calls[len(e.Calls)-1].end = len(e.args)
}
