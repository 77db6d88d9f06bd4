package scenario

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

// The values of the flags in the setup tables.
const (
	yes flag = "YES"
	no  flag = "NO"
)

// consumer is a row of performance_schema.setup_consumers.
type consumer struct {
	Name    string
	Enabled flag
}

// instrument is a row of performance_schema.setup_instruments. Timed is empty
// where the server has NULL (memory and error instruments of MySQL 8 and later).
type instrument struct {
	Name    string
	Enabled flag
	Timed   flag
}

// state is what was read of a server, rows sorted by name.
type state struct {
	pfs         *bool // nil: the server has no such variable
	consumers   []consumer
	instruments []instrument
	variables   map[string]string // global variables that the scenario names
	denied      error             // the setup tables could not be read
}

// errUnknownVariable is the server's "Unknown system variable".
const errUnknownVariable = 1193

// readState reads the state, with the global variables in names. Missing rights
// on the setup tables are kept in the state: not every scenario needs them.
func readState(ctx context.Context, c *mysql.Conn, names []string) (*state, error) {
	s := &state{variables: map[string]string{}}
	for _, name := range names {
		value, ok, err := globalValue(ctx, c, name)
		if err != nil {
			return nil, err
		}
		if ok {
			s.variables[name] = value
		}
	}
	value, ok, err := globalValue(ctx, c, "performance_schema")
	if err != nil || !ok {
		return s, err
	}
	on := same(value, "ON")
	s.pfs = &on
	err = s.readSetup(ctx, c)
	if mysql.IsDenied(err) {
		s.consumers, s.instruments, s.denied = nil, nil, err
		return s, nil
	}
	return s, err
}

func (s *state) readSetup(ctx context.Context, c *mysql.Conn) error {
	rows, err := c.Query(ctx, "SELECT NAME, ENABLED FROM performance_schema.setup_consumers")
	if err != nil {
		return err
	}
	for _, r := range rows.Rows {
		s.consumers = append(s.consumers, consumer{r[0].String, flag(r[1].String)})
	}
	// Columns by name: MariaDB and the versions of MySQL differ in the others.
	if rows, err = c.Query(ctx, "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments"); err != nil {
		return err
	}
	for _, r := range rows.Rows {
		s.instruments = append(s.instruments, instrument{r[0].String, flag(r[1].String), flag(r[2].String)})
	}
	s.sort()
	return nil
}

func (s *state) sort() {
	slices.SortFunc(s.consumers, func(a, b consumer) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.instruments, func(a, b instrument) int { return cmp.Compare(a.Name, b.Name) })
}

// globalValue reads a global variable as SHOW prints it, ON and OFF included; ok
// is false when the server has none of that name.
func globalValue(ctx context.Context, c *mysql.Conn, name string) (value string, ok bool, err error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = ?", name)
	if err != nil {
		return "", false, err
	}
	if len(rows.Rows) > 0 && len(rows.Rows[0][1].String) < showWidth {
		return rows.Rows[0][1].String, true, nil
	}
	// SHOW cuts long values and hides a few variables.
	value, _, err = c.Value(ctx, "SELECT @@GLOBAL."+name)
	if mysql.IsError(err, errUnknownVariable, 1238) {
		return "", false, nil
	}
	return value, err == nil, err
}

// showWidth is where SHOW VARIABLES begins to cut values (MySQL manual, "SHOW
// VARIABLES Statement").
const showWidth = 1000

// same reports whether two values of a variable mean the same: ON and 1, 16M is
// not known to the server and so not here, 10 and 10.000000.
func same(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if x, y := boolean(a), boolean(b); x != "" && x == y {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func boolean(v string) string {
	switch strings.ToUpper(v) {
	case "ON", "1", "YES", "TRUE":
		return "ON"
	case "OFF", "0", "NO", "FALSE":
		return "OFF"
	}
	return ""
}

// hash is a SHA-256 over both setup tables in full, sorted: equal hashes mean
// equal instrumentation.
func (s *state) hash() string {
	h := sha256.New()
	for _, c := range s.consumers {
		fmt.Fprintf(h, "consumer\t%s\t%s\n", c.Name, c.Enabled)
	}
	for _, i := range s.instruments {
		fmt.Fprintf(h, "instrument\t%s\t%s\t%s\n", i.Name, i.Enabled, i.Timed)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// class returns the class of an instrument: the first word of its name, for waits
// the first two.
func class(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first != "wait" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

// report turns the state into its part of the result. Tables that could not be
// read are null and have no hash.
func (s *state) report() *bench.ServerState {
	if s == nil {
		return nil
	}
	r := &bench.ServerState{PerformanceSchema: s.pfs, Variables: maps.Clone(s.variables)}
	if s.denied != nil {
		return r
	}
	r.Hash, r.Consumers, r.Instruments = s.hash(), map[string]bool{}, map[string]bench.ClassCount{}
	for _, c := range s.consumers {
		r.Consumers[c.Name] = c.Enabled == yes
	}
	for _, i := range s.instruments {
		n := r.Instruments[class(i.Name)]
		n.Total++
		if i.Enabled == yes {
			n.Enabled++
		}
		if i.Timed == yes {
			n.Timed++
		}
		r.Instruments[class(i.Name)] = n
	}
	return r
}

// differences says in a few words what is not the same in two states.
func differences(was, now *state) []string {
	var all []string
	if on(was.pfs) != on(now.pfs) {
		all = append(all, fmt.Sprintf("performance_schema was %s and is %s", on(was.pfs), on(now.pfs)))
	}
	for _, name := range slices.Sorted(maps.Keys(was.variables)) {
		if v, ok := now.variables[name]; !ok || v != was.variables[name] {
			all = append(all, fmt.Sprintf("%s was %s and is %s", name, was.variables[name], v))
		}
	}
	consumers := map[string]flag{}
	for _, c := range now.consumers {
		consumers[c.Name] = c.Enabled
	}
	for _, c := range was.consumers {
		if consumers[c.Name] != c.Enabled {
			all = append(all, fmt.Sprintf("consumer %s was %s and is %s", c.Name, c.Enabled, orGone(consumers[c.Name])))
		}
	}
	return append(all, instrumentDifferences(was, now)...)
}

func instrumentDifferences(was, now *state) []string {
	instruments := map[string]instrument{}
	for _, i := range now.instruments {
		instruments[i.Name] = i
	}
	var all []string
	for _, i := range was.instruments {
		// A component that was loaded meanwhile adds rows, which is no change of these.
		if n := instruments[i.Name]; n != i {
			all = append(all, fmt.Sprintf("instrument %s was %s/%s and is %s/%s", i.Name, i.Enabled, orNull(i.Timed), orGone(n.Enabled), orNull(n.Timed)))
		}
	}
	return all
}

func on(b *bool) string {
	switch {
	case b == nil:
		return "missing"
	case *b:
		return "ON"
	}
	return "OFF"
}

func orGone(f flag) string {
	if f == "" {
		return "gone"
	}
	return string(f)
}

func orNull(f flag) string {
	if f == "" {
		return "NULL"
	}
	return string(f)
}

// few joins the first items of a list and counts the others.
func few(items []string) string {
	const most = 4
	if len(items) <= most {
		return strings.Join(items, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(items[:most], "; "), len(items)-most)
}
