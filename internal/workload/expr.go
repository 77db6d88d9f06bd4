package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cellbench/internal/workload/random"
)

// expr makes the values of a parameter or of a column of a workload file. It is
// immutable and may be shared.
type expr struct {
	op      exprOp
	dist    random.Dist
	n       int64  // number, start of a sequence
	text    string // of a string or a pattern
	choices []expr
	source  string
}

type exprOp uint8

const (
	exprNumber exprOp = iota
	exprString
	exprNull
	exprRow
	exprConnection
	exprSequence
	exprDist
	exprPattern
	exprDigits
	exprChoice
)

// value is one value that an expr has made.
type value struct {
	typ ArgType
	n   int64
	s   []byte // valid until the next value is made with the same scratch
}

// place is where a value is made: the stream it draws from and what is known there.
type place struct {
	src     *random.Source
	row     int64  // of a table being loaded, from 1
	conn    int64  // connection, from 0
	conns   int64  // connections
	scratch []byte // memory of the strings made
	counts  []int64
}

// make makes the next value. id numbers the expr within its workload, for the
// sequences.
func (x *expr) make(p *place, id int) value {
	switch x.op {
	case exprNumber:
		return value{n: x.n}
	case exprString:
		return p.keep(x.text)
	case exprNull:
		return value{typ: ArgNull}
	case exprRow:
		return value{n: p.row}
	case exprConnection:
		return value{n: p.conn + 1}
	case exprSequence:
		v := x.n + p.conn + p.counts[id]*p.conns
		p.counts[id]++
		return value{n: v}
	case exprDist:
		return value{n: x.dist.Draw(p.src)}
	case exprPattern:
		return p.pattern(x.text)
	case exprDigits:
		start := len(p.scratch)
		p.scratch = append(p.scratch, x.text...)
		p.src.Digits(p.scratch[start:])
		return value{typ: ArgString, s: p.scratch[start:]}
	}
	return x.choices[p.src.Range(0, int64(len(x.choices)-1))].make(p, id)
}

func (p *place) keep(text string) value {
	start := len(p.scratch)
	p.scratch = append(p.scratch, text...)
	return value{typ: ArgString, s: p.scratch[start:]}
}

// pattern replaces each # by a digit and each @ by a lower-case letter.
func (p *place) pattern(text string) value {
	v := p.keep(text)
	for i, b := range v.s {
		switch b {
		case '#':
			v.s[i] = byte('0' + p.src.Range(0, 9))
		case '@':
			v.s[i] = byte('a' + p.src.Range(0, 25))
		}
	}
	return v
}

// put adds the value as an argument of the last call.
func (v value) put(ev *Event) {
	switch v.typ {
	case ArgNull:
		ev.Null()
	case ArgInt:
		ev.Int(v.n)
	default:
		copy(ev.String(len(v.s)), v.s)
	}
}

// appendSQL appends the value as a literal.
func (v value) appendSQL(dst []byte) []byte {
	switch v.typ {
	case ArgNull:
		return append(dst, "NULL"...)
	case ArgInt:
		return strconv.AppendInt(dst, v.n, 10)
	}
	return appendQuoted(dst, v.s)
}

// scope is what an expression may speak of.
type scope struct {
	opt   Options
	rows  map[string]int64 // rows of the tables declared so far
	inRow bool             // the expression makes a column's values
}

// parseExpr reads an expression of a workload file:
//
//	42  10k  'text'  null  row  connection  sequence(1)  digits(20)
//	uniform(a, b)  special(a, b)  gaussian(a, b)  pareto(a, b)  zipfian(a, b)
//	random(a, b)      the distribution of BENCH_RAND_TYPE
//	pattern('##-@@')  # is a digit, @ a letter
//	choice(x, y, ...) one of several expressions
//
// Numbers may be sums and products of numbers, table_size, tables, threads and
// rows(table).
func parseExpr(text string, sc scope) (expr, error) {
	p := &exprParser{rest: text, scope: sc}
	x, err := p.expr()
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("%q is left over", p.rest)
	}
	if err != nil {
		return expr{}, fmt.Errorf("expression %q: %w", clip(text), err)
	}
	x.source = text
	return x, nil
}

// parseNumber reads an expression that is a number.
func parseNumber(text string, sc scope) (int64, error) {
	x, err := parseExpr(text, sc)
	if err != nil {
		return 0, err
	}
	if x.op != exprNumber {
		return 0, fmt.Errorf("expression %q: want a number", clip(text))
	}
	return x.n, nil
}

type exprParser struct {
	rest  string
	depth int
	scope scope
}

func (p *exprParser) peek() byte {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *exprParser) take(b byte) bool {
	if p.peek() != b {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// expr reads a sum, or something that is no number.
func (p *exprParser) expr() (expr, error) {
	if p.depth++; p.depth > 50 {
		return expr{}, fmt.Errorf("too deep")
	}
	defer func() { p.depth-- }()
	x, err := p.product()
	for err == nil && x.op == exprNumber {
		var y expr
		switch {
		case p.take('+'):
			y, err = p.numberOperand(p.product)
			x.n += y.n
		case p.take('-'):
			y, err = p.numberOperand(p.product)
			x.n -= y.n
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *exprParser) product() (expr, error) {
	x, err := p.operand()
	for err == nil && x.op == exprNumber {
		var y expr
		switch {
		case p.take('*'):
			if y, err = p.numberOperand(p.operand); err == nil && y.n != 0 && (x.n*y.n)/y.n != x.n {
				err = fmt.Errorf("the product is too large")
			}
			x.n *= y.n
		case p.take('/'):
			if y, err = p.numberOperand(p.operand); err == nil && y.n == 0 {
				return x, fmt.Errorf("division by 0")
			}
			if err == nil {
				x.n /= y.n
			}
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *exprParser) numberOperand(next func() (expr, error)) (expr, error) {
	x, err := next()
	if err == nil && x.op != exprNumber {
		err = fmt.Errorf("only numbers can be added and multiplied")
	}
	return x, err
}

func (p *exprParser) operand() (expr, error) {
	switch b := p.peek(); {
	case b == 0:
		return expr{}, fmt.Errorf("something is missing at the end")
	case b == '\'' || b == '"':
		return p.quoted(b)
	case b == '-':
		p.rest = p.rest[1:]
		x, err := p.numberOperand(p.operand)
		x.n = -x.n
		return x, err
	case b == '(':
		p.rest = p.rest[1:]
		x, err := p.expr()
		if err == nil && !p.take(')') {
			err = fmt.Errorf("a ) is missing")
		}
		return x, err
	case b >= '0' && b <= '9':
		return p.number()
	}
	return p.named()
}

func (p *exprParser) quoted(q byte) (expr, error) {
	end := strings.IndexByte(p.rest[1:], q)
	if end < 0 {
		return expr{}, fmt.Errorf("a closing %c is missing", q)
	}
	x := expr{op: exprString, text: p.rest[1 : end+1]}
	p.rest = p.rest[end+2:]
	return x, nil
}

func (p *exprParser) number() (expr, error) {
	end := 0
	for end < len(p.rest) && (p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end] == '_') {
		end++
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(p.rest[:end], "_", ""), 10, 64)
	if err != nil {
		return expr{}, fmt.Errorf("%q is no number of 64 bits", clip(p.rest[:end]))
	}
	p.rest = p.rest[end:]
	factor := int64(1)
	switch b := p.peek(); b {
	case 'k':
		factor = 1e3
	case 'M':
		factor = 1e6
	case 'G':
		factor = 1e9
	}
	if factor > 1 {
		p.rest = p.rest[1:]
	}
	if n > math.MaxInt64/factor {
		return expr{}, fmt.Errorf("%d times %d is too large", n, factor)
	}
	return expr{n: n * factor}, nil
}

// named reads a word, and its arguments if it has any.
func (p *exprParser) named() (expr, error) {
	word := p.word()
	if word == "" {
		return expr{}, fmt.Errorf("%q is not understood", clip(p.rest))
	}
	if word == "rows" {
		return p.rows()
	}
	var args []expr
	called := p.take('(')
	for called && !p.take(')') {
		if len(args) > 0 && !p.take(',') {
			return expr{}, fmt.Errorf("a , or ) is missing in %s(...)", word)
		}
		a, err := p.expr()
		if err != nil {
			return expr{}, err
		}
		args = append(args, a)
	}
	if called {
		return p.call(word, args)
	}
	return p.constant(word)
}

func (p *exprParser) word() string {
	p.peek()
	end := 0
	for end < len(p.rest) && isWordByte(p.rest[end]) {
		end++
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func isWordByte(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func (p *exprParser) rows() (expr, error) {
	if !p.take('(') {
		return expr{}, fmt.Errorf("rows needs a table: rows(table)")
	}
	table := p.word()
	n, ok := p.scope.rows[table]
	if !ok {
		return expr{}, fmt.Errorf("rows(%s): no such table above", table)
	}
	if !p.take(')') {
		return expr{}, fmt.Errorf("a ) is missing in rows(...)")
	}
	return expr{n: n}, nil
}

func (p *exprParser) constant(word string) (expr, error) {
	o := p.scope.opt
	switch word {
	case "null":
		return expr{op: exprNull}, nil
	case "table_size":
		return expr{n: o.TableSize}, nil
	case "tables":
		return expr{n: int64(o.Tables)}, nil
	case "threads":
		return expr{n: int64(max(o.Threads, 1))}, nil
	case "row":
		if p.scope.inRow {
			return expr{op: exprRow}, nil
		}
		return expr{}, fmt.Errorf("row is for columns only")
	case "connection":
		if !p.scope.inRow {
			return expr{op: exprConnection}, nil
		}
		return expr{}, fmt.Errorf("connection is for parameters only")
	}
	return expr{}, fmt.Errorf("%q is not known: give a number, 'text', null, row, connection, table_size, tables, threads, rows(), sequence(), digits(), pattern(), choice(), random() or a distribution", word)
}

func (p *exprParser) call(word string, args []expr) (expr, error) {
	switch word {
	case random.Uniform, random.Special, random.Gaussian, random.Pareto, random.Zipfian, "random":
		return p.distribution(word, args)
	case "pattern":
		if len(args) == 1 && args[0].op == exprString {
			return expr{op: exprPattern, text: args[0].text}, nil
		}
		return expr{}, fmt.Errorf("pattern needs one text: pattern('##-@@')")
	case "digits":
		if len(args) == 1 && args[0].op == exprNumber && args[0].n >= 1 && args[0].n <= 1<<20 {
			return expr{op: exprDigits, text: strings.Repeat("0", int(args[0].n))}, nil
		}
		return expr{}, fmt.Errorf("digits needs a number of 1 to 1048576: digits(20)")
	case "choice":
		if len(args) == 0 {
			return expr{}, fmt.Errorf("choice needs something to choose from")
		}
		for _, a := range args {
			if a.op == exprSequence {
				return expr{}, fmt.Errorf("a sequence cannot be chosen")
			}
		}
		return expr{op: exprChoice, choices: args}, nil
	case "sequence":
		if len(args) == 1 && args[0].op == exprNumber && !p.scope.inRow {
			return expr{op: exprSequence, n: args[0].n}, nil
		}
		return expr{}, fmt.Errorf("sequence is for parameters and needs its first number: sequence(1)")
	}
	return expr{}, fmt.Errorf("%s(...) is not known", word)
}

func (p *exprParser) distribution(word string, args []expr) (expr, error) {
	if len(args) != 2 || args[0].op != exprNumber || args[1].op != exprNumber {
		return expr{}, fmt.Errorf("%s needs two numbers: %s(1, 100)", word, word)
	}
	if args[0].n > args[1].n {
		return expr{}, fmt.Errorf("%s(%d, %d) is an empty range", word, args[0].n, args[1].n)
	}
	o := p.scope.opt.Rand
	if word != "random" {
		o.Type = word
	}
	return expr{op: exprDist, dist: o.Over(args[0].n, args[1].n)}, nil
}
