package workload

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"cellbench/internal/bench"
	"cellbench/internal/workload/dataset"
	"cellbench/internal/workload/random"
	"cellbench/internal/yamlfile"
)

// file is a workload file as it is written.
type file struct {
	Name        string          `yaml:"name"`
	Description string          `yaml:"description"`
	Tables      []fileTable     `yaml:"tables"`
	Params      yaml.MapSlice   `yaml:"params"`     // drawn once an event
	Statements  []fileStatement `yaml:"statements"` // in report order
	Events      []fileEvent     `yaml:"events"`
}

type fileTable struct {
	Name    string        `yaml:"name"`
	Create  string        `yaml:"create"`
	Rows    any           `yaml:"rows"`    // number or expression
	Columns yaml.MapSlice `yaml:"columns"` // column: expression
	After   []string      `yaml:"after"`
	Drifts  bool          `yaml:"drifts"` // the number of rows changes on purpose
}

type fileStatement struct {
	Name   string        `yaml:"name"`
	SQL    string        `yaml:"sql"`
	Params yaml.MapSlice `yaml:"params"` // drawn for each execution
	Text   bool          `yaml:"text"`   // never prepared
}

type fileEvent struct {
	Name        string `yaml:"name"`
	Weight      *int64 `yaml:"weight"` // default 1
	Transaction bool   `yaml:"transaction"`
	Send        []any  `yaml:"send"` // statement, or {statement: count}
}

// custom is a workload of a file.
type custom struct {
	name       string
	kinds      []string
	statements []Statement
	args       [][]param // of each statement
	params     []expr    // drawn once an event, when an event needs it
	exprs      int       // number of all parameter expressions
	events     []customEvent
	weights    int64 // sum of the events' weights
	opt        Options
}

// param is where an argument comes from.
type param struct {
	shared int  // index into custom.params, -1: own
	own    expr // drawn for each argument list
	id     int  // of own, for sequences
	same   int  // index of an earlier argument of the same name, -1: none
}

type customEvent struct {
	name   string
	weight int64
	shared []int // indexes into custom.params, in order of drawing
	sends  []send
}

type send struct {
	statement int
	count     int64
}

// maxName bounds a workload's name, which is a part of keys.
const maxName = 64

// clip shortens a text of the file for a message.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// Parse reads a workload file (YAML) and returns the workload and the tables it
// needs. name, when it is not empty, must be the file's own. All mistakes of the
// file are found here, before anything is sent; they are errors of exit code 64
// that name the place.
func Parse(name string, text []byte, o Options) (Workload, dataset.Spec, error) {
	w, spec, err := parse(name, text, o)
	if err != nil {
		return nil, dataset.Spec{}, bench.Errorf(bench.ExitConfig, "read workload file: %s", bench.Printable(err.Error()))
	}
	return w, spec, nil
}

func parse(name string, text []byte, o Options) (*custom, dataset.Spec, error) {
	var none dataset.Spec
	var f file
	if err := yamlfile.Decode(text, &f, yaml.UseOrderedMap()); err != nil {
		return nil, none, err
	}
	if err := o.Validate(); err != nil {
		return nil, none, err
	}
	if f.Name == "" {
		return nil, none, fmt.Errorf("name is missing")
	}
	if !bench.ValidKeyPart(f.Name) || len(f.Name) > maxName {
		return nil, none, fmt.Errorf("name %q: give at most %d letters, digits, '.', '_' and '-', the first one no '.' or '-'", clip(f.Name), maxName)
	}
	if slices.Contains(Names(), f.Name) {
		return nil, none, fmt.Errorf("name %s is that of a built-in workload", f.Name)
	}
	if name != "" && name != f.Name {
		return nil, none, fmt.Errorf("it is named %s but BENCH_WORKLOAD is %s", f.Name, name)
	}
	sc := scope{opt: o, rows: map[string]int64{}}
	spec, err := parseTables(f.Tables, sc)
	if err != nil {
		return nil, none, err
	}
	w := &custom{name: f.Name, opt: o}
	if err := w.parse(f, sc); err != nil {
		return nil, none, err
	}
	return w, spec, nil
}

func (w *custom) parse(f file, sc scope) error {
	b := builder{w: w, scope: sc, shared: map[string]int{}, byName: map[string]int{}, used: map[string]bool{}}
	for _, item := range f.Params {
		name, x, err := b.param(item)
		if err != nil {
			return fmt.Errorf("params: %w", err)
		}
		b.shared[name] = len(w.params)
		w.params = append(w.params, x)
	}
	w.exprs = len(w.params)
	for _, s := range f.Statements {
		if err := b.statement(s); err != nil {
			return fmt.Errorf("statement %s: %w", s.Name, err)
		}
	}
	for i, e := range f.Events {
		if err := b.event(e); err != nil {
			return fmt.Errorf("event %d %s: %w", i+1, e.Name, err)
		}
	}
	if len(w.events) == 0 {
		return fmt.Errorf("events is missing: list what is sent")
	}
	return b.unused()
}

// builder turns the parts of a file into a custom workload.
type builder struct {
	w      *custom
	scope  scope
	shared map[string]int  // parameters drawn once an event
	byName map[string]int  // statements
	used   map[string]bool // statements and shared parameters that something uses
	begin  int             // statement BEGIN plus one, 0: none yet
	commit int
}

func (b *builder) param(item yaml.MapItem) (string, expr, error) {
	name := fmt.Sprint(item.Key)
	if !namePattern.MatchString(name) {
		return "", expr{}, fmt.Errorf("%q is no name: give letters, digits and _", name)
	}
	x, err := parseExpr(exprText(item.Value), b.scope)
	if err != nil {
		return "", expr{}, fmt.Errorf("%s: %w", name, err)
	}
	return name, x, nil
}

// exprText is an expression as it was written: YAML reads 5 and null by itself.
func exprText(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (b *builder) statement(s fileStatement) error {
	w := b.w
	if !namePattern.MatchString(s.Name) || s.Name == kindBegin || s.Name == kindCommit {
		return fmt.Errorf("%q is no name for a statement: give letters, digits and _, but not begin or commit", s.Name)
	}
	if _, ok := b.byName[s.Name]; ok {
		return fmt.Errorf("the name is there twice")
	}
	sql, names, err := namedParams(s.SQL)
	if err != nil {
		return err
	}
	own := map[string]param{}
	for _, item := range s.Params {
		name, x, err := b.param(item)
		if err != nil {
			return fmt.Errorf("params: %w", err)
		}
		if !slices.Contains(names, name) {
			return fmt.Errorf("params: :%s does not occur in the sql", name)
		}
		own[name] = param{shared: -1, own: x, id: w.exprs, same: -1}
		w.exprs++
	}
	args := make([]param, 0, len(names))
	for i, name := range names {
		p, ok := own[name]
		if ok {
			p.same = slices.Index(names[:i], name)
		} else {
			shared, ok := b.shared[name]
			if !ok {
				return fmt.Errorf("parameter :%s is not declared, neither in the statement's params nor in those of the file", name)
			}
			p = param{shared: shared, same: -1}
			b.used["param "+name] = true
		}
		args = append(args, p)
	}
	st := NewStatement(len(w.kinds), sql)
	st.Text = s.Text
	mark(&st)
	b.byName[s.Name] = len(w.statements)
	w.kinds = append(w.kinds, s.Name)
	w.statements = append(w.statements, st)
	w.args = append(w.args, args)
	return nil
}

// mark finds the statements that open and close transactions. They are sent as
// text: not every server can prepare them.
func mark(s *Statement) {
	words := strings.Fields(strings.ToUpper(skipComments(s.SQL)))
	if len(words) == 0 {
		return
	}
	s.Begin = words[0] == "BEGIN" || words[0] == "START"
	s.End = words[0] == "COMMIT" || words[0] == "ROLLBACK" && !slices.Contains(words, "TO")
	s.Text = s.Text || s.Begin || s.End
}

// namedParams turns :name into ? and returns the names in order. Quotes and
// comments are left alone.
func namedParams(sql string) (string, []string, error) {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \t\r\n")
	if sql == "" {
		return "", nil, fmt.Errorf("sql is missing")
	}
	var out strings.Builder
	var names []string
	for i := 0; i < len(sql); {
		switch {
		case sql[i] == '?':
			return "", nil, fmt.Errorf("? is no parameter here: write :name")
		case sql[i] == ';':
			return "", nil, fmt.Errorf("one statement only: a ; is in the middle")
		case sql[i] == ':' && i+1 < len(sql) && isWordByte(sql[i+1]):
			end := i + 1
			for end < len(sql) && isWordByte(sql[end]) {
				end++
			}
			names = append(names, sql[i+1:end])
			out.WriteByte('?')
			i = end
		default:
			next := skipToken(sql, i)
			out.WriteString(sql[i:next])
			i = next
		}
	}
	return out.String(), names, nil
}

func (b *builder) event(e fileEvent) error {
	w := b.w
	ev := customEvent{name: e.Name, weight: 1}
	if e.Weight != nil {
		ev.weight = *e.Weight
	}
	if ev.weight < 1 || ev.weight > math.MaxInt32 {
		return fmt.Errorf("weight %d: give 1 to %d", ev.weight, math.MaxInt32)
	}
	for _, item := range e.Send {
		s, err := b.send(item)
		if err != nil {
			return err
		}
		ev.sends = append(ev.sends, s)
		for _, p := range w.args[s.statement] {
			if p.shared >= 0 && !slices.Contains(ev.shared, p.shared) {
				ev.shared = append(ev.shared, p.shared)
			}
		}
	}
	if len(ev.sends) == 0 {
		return fmt.Errorf("send is missing: list its statements")
	}
	slices.Sort(ev.shared)
	if e.Transaction && !w.opt.SkipTrx {
		begin := b.fixed(&b.begin, kindBegin, "BEGIN")
		commit := b.fixed(&b.commit, kindCommit, "COMMIT")
		ev.sends = append(append([]send{{begin, 1}}, ev.sends...), send{commit, 1})
	}
	w.weights += ev.weight
	w.events = append(w.events, ev)
	return nil
}

// fixed returns BEGIN or COMMIT, which are added when they are first needed.
func (b *builder) fixed(at *int, kind, sql string) int {
	w := b.w
	if *at == 0 {
		s := NewStatement(len(w.kinds), sql)
		mark(&s)
		w.kinds = append(w.kinds, kind)
		w.statements = append(w.statements, s)
		w.args = append(w.args, nil)
		*at = len(w.statements)
	}
	return *at - 1
}

// send reads one item of an event's list.
func (b *builder) send(item any) (send, error) {
	name, count := "", int64(1)
	switch v := item.(type) {
	case string:
		name = v
	case yaml.MapSlice:
		if len(v) != 1 {
			return send{}, fmt.Errorf("send: give a statement or {statement: count}")
		}
		name = fmt.Sprint(v[0].Key)
		var err error
		if count, err = parseNumber(exprText(v[0].Value), b.scope); err != nil {
			return send{}, fmt.Errorf("send %s: %w", name, err)
		}
	default:
		return send{}, fmt.Errorf("send: give a statement or {statement: count}")
	}
	i, ok := b.byName[name]
	if !ok {
		return send{}, fmt.Errorf("send: there is no statement %s", name)
	}
	if count < 1 || count > 1_000_000 {
		return send{}, fmt.Errorf("send %s: %d times: give 1 to 1000000", name, count)
	}
	b.used["statement "+name] = true
	return send{statement: i, count: count}, nil
}

// unused names what is declared and not used: most often a word mistyped.
func (b *builder) unused() error {
	for name := range b.byName {
		if !b.used["statement "+name] {
			return fmt.Errorf("statement %s is in no event", name)
		}
	}
	for name := range b.shared {
		if !b.used["param "+name] {
			return fmt.Errorf("parameter %s is in no statement", name)
		}
	}
	return nil
}

// Name returns the file's name.
func (w *custom) Name() string { return w.name }

// Kinds returns the names of the statements, then begin and commit.
func (w *custom) Kinds() []string { return w.kinds }

// Statements returns the statements of the file, then BEGIN and COMMIT.
func (w *custom) Statements() []Statement { return w.statements }

// Generator returns the stream of one connection.
func (w *custom) Generator(conn, conns int) Generator {
	g := &customStream{w: w, src: random.NewSource(w.opt.Rand.Seed, uint64(conn)), shared: make([]value, len(w.params))}
	g.place = place{src: &g.src, conn: int64(conn), conns: int64(max(conns, 1)), counts: make([]int64, w.exprs)}
	return g
}

type customStream struct {
	w      *custom
	src    random.Source
	place  place
	shared []value // of the current event
	own    []value // of the current statement
}

// Next plans one event.
func (g *customStream) Next(ev *Event) {
	ev.Reset()
	g.place.scratch = g.place.scratch[:0]
	e := g.choose()
	for _, i := range e.shared {
		g.shared[i] = g.w.params[i].make(&g.place, i)
	}
	for _, s := range e.sends {
		for range s.count {
			g.plan(ev, s.statement)
		}
	}
}

func (g *customStream) choose() *customEvent {
	w := g.w
	if len(w.events) == 1 {
		return &w.events[0]
	}
	n := g.src.Range(0, w.weights-1)
	for i := range w.events {
		if n -= w.events[i].weight; n < 0 {
			return &w.events[i]
		}
	}
	return &w.events[len(w.events)-1]
}

func (g *customStream) plan(ev *Event, statement int) {
	ev.Call(statement)
	g.own = g.own[:0]
	args := g.w.args[statement]
	for i := range args {
		a := &args[i]
		var v value
		switch {
		case a.shared >= 0:
			v = g.shared[a.shared]
		case a.same >= 0:
			v = g.own[a.same]
		default:
			v = a.own.make(&g.place, a.id)
		}
		g.own = append(g.own, v)
		v.put(ev)
	}
}
