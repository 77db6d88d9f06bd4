package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/mysql"
)

// stubborn lists the flags that a server keeps whatever an UPDATE says. They are
// noted in the result and no failure of a scenario.
var stubborn = []struct {
	pattern string
	timed   bool // the flag TIMED, else ENABLED
	why     string
}{
	{"memory/performance_schema/%", false, "the server always counts its own memory"},
	{"memory/%", true, "memory instruments have no timer"},
	{"error%", true, "error instruments have no timer"},
}

// hints say how a variable that only a restart changes is set.
var hints = map[string]string{
	"performance_schema": "on a self-managed server put performance_schema={value} under [mysqld] in my.cnf (or SET PERSIST_ONLY performance_schema={value}) and restart; " +
		"in the compose file add --performance-schema={value} to the server's command; on a managed service set the parameter performance_schema to {value} in the " +
		"instance's parameter group and reboot (RDS with Database Insights turns it on by itself unless the parameter is set by the user)",
}

const otherHint = "on a self-managed server SET GLOBAL {name}={value}, or put it under [mysqld] in my.cnf and restart; in the compose file add --{option}={value} to the " +
	"server's command; on a managed service set the parameter in the instance's parameter group"

// checkRequired compares the required variables with the state found.
func (s Scenario) checkRequired(found *state) error {
	for _, name := range slices.Sorted(maps.Keys(s.Require)) {
		want := string(s.Require[name])
		got, ok := found.variables[name]
		if ok && same(got, want) {
			continue
		}
		if !ok {
			return bench.Errorf(bench.ExitScenario, "scenario %s needs %s=%s, but the server has no such variable", s.Name, name, want)
		}
		hint, known := hints[strings.ToLower(name)]
		if !known {
			hint = otherHint
		}
		advice := strings.NewReplacer("{value}", want, "{name}", name, "{option}", strings.ReplaceAll(name, "_", "-")).Replace(hint)
		return bench.Errorf(bench.ExitScenario, "scenario %s needs %s=%s, but the server has %s: %s", s.Name, name, want, got, advice)
	}
	return nil
}

// verify compares the state that was read back with the scenario's rules and asks
// its queries. problems is empty when the server is in the scenario; notes tell
// which flags the server kept.
func (s Scenario) verify(ctx context.Context, c *mysql.Conn, now *state) (problems, notes []string, err error) {
	problems = verifyConsumers(s.Verify.SetupConsumers, now.consumers)
	more, notes := verifyInstruments(s.Verify.SetupInstruments, now.instruments)
	problems = append(problems, more...)
	for _, q := range s.Verify.Queries {
		rows, err := c.Query(ctx, q.Query)
		if err != nil {
			return nil, nil, err
		}
		var got []string
		for _, r := range rows.Rows {
			text := "NULL"
			if len(r) > 0 && r[0].Valid {
				text = r[0].String
			}
			got = append(got, text)
		}
		if !slices.EqualFunc(got, []string(q.Expect), same) {
			problems = append(problems, fmt.Sprintf("%q answers %q, not %q", oneLine(q.Query), got, []string(q.Expect)))
		}
	}
	return problems, notes, nil
}

func verifyConsumers(rules []ConsumerRule, rows []consumer) []string {
	var problems []string
	used := make([]bool, len(rules))
	for _, row := range rows {
		want := flag("")
		for i, r := range rules {
			if like(r.Name, row.Name) {
				used[i], want = true, r.Enabled
			}
		}
		if want != "" && row.Enabled != want {
			problems = append(problems, fmt.Sprintf("consumer %s is %s, not %s", row.Name, row.Enabled, want))
		}
	}
	for i, r := range rules {
		if !used[i] {
			problems = append(problems, "no consumer "+r.Name)
		}
	}
	return problems
}

func verifyInstruments(rules []InstrumentRule, rows []instrument) (problems, notes []string) {
	used := make([]bool, len(rules))
	kept := make([]int, len(stubborn))
	for _, row := range rows {
		var enabled, timed flag
		for i, r := range rules {
			if !like(r.Name, row.Name) {
				continue
			}
			used[i] = true
			if r.Enabled != "" {
				enabled = r.Enabled
			}
			if r.Timed != "" {
				timed = r.Timed
			}
		}
		if enabled != "" && row.Enabled != enabled && !keep(kept, row.Name, false) {
			problems = append(problems, fmt.Sprintf("instrument %s has ENABLED %s, not %s", row.Name, row.Enabled, enabled))
		}
		// NULL is not timed; only where YES is wanted does it differ.
		if wrong := row.Timed != timed && (row.Timed != "" || timed == yes); timed != "" && wrong && !keep(kept, row.Name, true) {
			problems = append(problems, fmt.Sprintf("instrument %s has TIMED %s, not %s", row.Name, orNull(row.Timed), timed))
		}
	}
	for i, r := range rules {
		if !used[i] {
			problems = append(problems, "no instrument "+r.Name)
		}
	}
	for i, n := range kept {
		if n > 0 {
			column := "ENABLED"
			if stubborn[i].timed {
				column = "TIMED"
			}
			notes = append(notes, fmt.Sprintf("%d instruments %s keep their %s: %s", n, stubborn[i].pattern, column, stubborn[i].why))
		}
	}
	return problems, notes
}

// keep counts a flag that the server is known to keep.
func keep(kept []int, name string, timed bool) bool {
	for i, s := range stubborn {
		if s.timed == timed && like(s.pattern, name) {
			kept[i]++
			return true
		}
	}
	return false
}

// like matches a pattern whose only wildcard is %.
func like(pattern, name string) bool {
	parts := strings.Split(pattern, "%")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
