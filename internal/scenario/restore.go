package scenario

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cellbench/internal/mysql"
)

// restoreState puts the server back to what was saved and proves it by reading.
func restoreState(ctx context.Context, c *mysql.Conn, v *saved) error {
	for _, stmt := range v.Undo {
		if _, err := c.Exec(ctx, stmt); err != nil {
			return err
		}
	}
	// The last one set is put back first, as one may bound another.
	for _, old := range slices.Backward(v.Variables) {
		now, _, err := globalValue(ctx, c, old.Name)
		if err != nil {
			return err
		}
		if now == old.Value {
			continue
		}
		if err := setGlobal(ctx, c, old); err != nil {
			return err
		}
	}
	want := v.state()
	if len(want.consumers)+len(want.instruments) == 0 {
		return confirm(ctx, c, want)
	}
	now, err := readState(ctx, c, nil)
	if err != nil {
		return err
	}
	for _, stmt := range repairs(now, want) {
		if _, err := c.Exec(ctx, stmt); err != nil {
			return err
		}
	}
	return confirm(ctx, c, want)
}

// confirm reads the state again and compares it with what was wanted.
func confirm(ctx context.Context, c *mysql.Conn, want *state) error {
	now, err := readState(ctx, c, slices.Sorted(maps.Keys(want.variables)))
	if err != nil {
		return err
	}
	want.pfs = now.pfs // a restart is not ours to undo
	if now.denied != nil {
		return now.denied
	}
	if diff := differences(want, now); len(diff) > 0 {
		return fmt.Errorf("it did not come back: %s", few(diff))
	}
	return nil
}

var numeric = regexp.MustCompile(`^-?\d+(\.\d+)?$`)

// setGlobal sets a variable to the text that was read of it.
func setGlobal(ctx context.Context, c *mysql.Conn, v variable) error {
	_, err := c.Exec(ctx, setGlobalSQL(v))
	if mysql.IsError(err, 1232) && numeric.MatchString(v.Value) {
		// A text variable whose value looks like a number.
		_, err = c.Exec(ctx, "SET GLOBAL "+v.Name+" = "+quoteText(v.Value))
	}
	return err
}

func setGlobalSQL(v variable) string {
	if numeric.MatchString(v.Value) {
		return "SET GLOBAL " + v.Name + " = " + v.Value
	}
	return "SET GLOBAL " + v.Name + " = " + quoteText(v.Value)
}

func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// repairs returns the UPDATEs that bring the setup tables from one state to
// another, changing only the rows that differ.
func repairs(now, want *state) []string {
	consumers := map[string]flag{}
	for _, c := range now.consumers {
		consumers[c.Name] = c.Enabled
	}
	sets := map[string][]string{}
	for _, c := range want.consumers {
		if was, ok := consumers[c.Name]; ok && was != c.Enabled {
			sets[c.set()] = append(sets[c.set()], c.Name)
		}
	}
	instruments := map[string]instrument{}
	for _, i := range now.instruments {
		instruments[i.Name] = i
	}
	for _, i := range want.instruments {
		if was, ok := instruments[i.Name]; ok && was != i {
			sets[i.set()] = append(sets[i.set()], i.Name)
		}
	}
	return updates(sets)
}

// set is the head of the UPDATE that makes a row like this one.
func (c consumer) set() string {
	return "UPDATE performance_schema.setup_consumers SET ENABLED = '" + string(c.Enabled) + "'"
}

func (i instrument) set() string {
	head := "UPDATE performance_schema.setup_instruments SET ENABLED = '" + string(i.Enabled) + "'"
	if i.Timed != "" {
		head += ", TIMED = '" + string(i.Timed) + "'"
	}
	return head
}

// updates writes UPDATEs with lists of names, some hundred in each.
func updates(sets map[string][]string) []string {
	const most = 200
	var stmts []string
	for _, head := range slices.Sorted(maps.Keys(sets)) {
		for names := range slices.Chunk(sets[head], most) {
			quoted := make([]string, 0, len(names))
			for _, name := range names {
				quoted = append(quoted, quoteText(name))
			}
			stmts = append(stmts, head+" WHERE NAME IN ("+strings.Join(quoted, ", ")+")")
		}
	}
	return stmts
}

// byHand returns SQL that puts a server back from any state, short enough to be
// run by a person: the commonest flags for all rows, then for whole classes, then
// the exceptions by name.
func (v *saved) byHand() []string {
	var stmts []string
	for _, stmt := range v.Undo {
		stmts = append(stmts, mysql.Redact(oneLine(stmt)))
	}
	for _, old := range slices.Backward(v.Variables) {
		stmts = append(stmts, setGlobalSQL(old))
	}
	s := v.state()
	if len(s.consumers) > 0 {
		head := consumer{Enabled: no}.set()
		stmts = append(stmts, head)
		sets := map[string][]string{}
		for _, c := range s.consumers {
			if c.Enabled != no {
				sets[c.set()] = append(sets[c.set()], c.Name)
			}
		}
		stmts = append(stmts, updates(sets)...)
	}
	return append(stmts, instrumentsByHand(s.instruments)...)
}

func instrumentsByHand(rows []instrument) []string {
	if len(rows) == 0 {
		return nil
	}
	all := commonest(rows)
	stmts := []string{all.set()}
	groups := map[string][]instrument{}
	for _, i := range rows {
		groups[group(i.Name)] = append(groups[group(i.Name)], i)
	}
	sets := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		usual := commonest(groups[name])
		if !usual.covers(all) && len(groups[name]) > 1 {
			stmts = append(stmts, usual.set()+" WHERE NAME LIKE "+quoteText(name+"/%"))
		} else {
			usual = all
		}
		for _, i := range groups[name] {
			if !i.covers(usual) {
				sets[i.set()] = append(sets[i.set()], i.Name)
			}
		}
	}
	return append(stmts, updates(sets)...)
}

// covers reports whether a row that was set like other is like i; a row without
// timer ignores TIMED.
func (i instrument) covers(other instrument) bool {
	return i.Enabled == other.Enabled && (i.Timed == "" || i.Timed == other.Timed)
}

// group is the first two words of a name.
func group(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// commonest returns a row with the commonest flags, without a name.
func commonest(rows []instrument) instrument {
	count := map[instrument]int{}
	best := instrument{Enabled: rows[0].Enabled, Timed: rows[0].Timed}
	for _, r := range rows {
		key := instrument{Enabled: r.Enabled, Timed: r.Timed}
		count[key]++
		if count[key] > count[best] {
			best = key
		}
	}
	return best
}
