package scenario

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cellbench/internal/bench"
)

//go:embed catalogue.yaml
var catalogue []byte

// AsIs is the name of the scenario that demands and changes nothing.
const AsIs = "asis"

// Scenario is a named server state.
type Scenario struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"` // one line
	Require     map[string]scalar `yaml:"require"`     // global variable -> value
	Apply       []string          `yaml:"apply"`       // statements that change the server
	Verify      Verify            `yaml:"verify"`
	Undo        []string          `yaml:"undo"`  // statements for what is not undone by itself
	Local       []string          `yaml:"local"` // options of a throwaway server
}

// Verify is what must be read back after Apply.
type Verify struct {
	SetupConsumers   []ConsumerRule   `yaml:"setup_consumers"`
	SetupInstruments []InstrumentRule `yaml:"setup_instruments"`
	Queries          []Check          `yaml:"queries"`
}

// ConsumerRule says what rows of setup_consumers must be.
type ConsumerRule struct {
	Name    string `yaml:"name"`    // % stands for any characters
	Enabled flag   `yaml:"enabled"` // YES or NO
}

// InstrumentRule says what rows of setup_instruments must be; an empty flag is
// not looked at.
type InstrumentRule struct {
	Name    string `yaml:"name"`    // % stands for any characters
	Enabled flag   `yaml:"enabled"` // YES or NO
	Timed   flag   `yaml:"timed"`   // YES or NO
}

// Check is a query with its expected answer: the first column of every row.
type Check struct {
	Query  string `yaml:"query"`
	Expect answer `yaml:"expect"`
}

// Builtin returns the built-in scenarios in the order of the catalogue.
func Builtin() []Scenario {
	all, err := parse(catalogue, "catalogue.yaml")
	if err != nil {
		panic(err) // the catalogue is part of the program, and a test reads it
	}
	return all
}

// All returns the built-in scenarios followed by those of the user's file, which
// there is if it has a name. A broken file or a name that is taken is bench.ExitConfig.
func All(userFile []byte, userFileName string) ([]Scenario, error) {
	all := Builtin()
	if userFileName == "" {
		return all, nil
	}
	own, err := parse(userFile, userFileName)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		if slices.ContainsFunc(all, func(b Scenario) bool { return b.Name == s.Name }) {
			return nil, bench.Errorf(bench.ExitConfig, "read %s: the scenario %q is there already: give it another name", userFileName, s.Name)
		}
		all = append(all, s)
	}
	return all, nil
}

// Find returns the scenario called name, built in or from the user's file. An
// unknown name is bench.ExitConfig with the nearest one.
func Find(name string, userFile []byte, userFileName string) (Scenario, error) {
	all, err := All(userFile, userFileName)
	if err != nil {
		return Scenario{}, err
	}
	names := make([]string, 0, len(all))
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := ""
	if near := bench.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Scenario{}, bench.Errorf(bench.ExitConfig, "no scenario %q%s: there are %s; BENCH_SCENARIO_FILE adds others", name, hint, strings.Join(names, ", "))
}

// Demands reports whether the scenario demands or changes anything.
func (s Scenario) Demands() bool {
	return len(s.Require)+len(s.Apply)+len(s.Verify.SetupConsumers)+len(s.Verify.SetupInstruments)+len(s.Verify.Queries) > 0
}

// LocalArgs returns the options with which a throwaway server is started for the
// scenario; they are the same for MySQL and MariaDB.
func (s Scenario) LocalArgs() []string { return slices.Clone(s.Local) }

// SQL returns what the scenario would run, a line for each statement, with what
// is demanded, verified and undone as SQL comments.
func (s Scenario) SQL() []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(s.Require)) {
		say("-- require: %s = %s", name, s.Require[name])
	}
	for _, stmt := range s.Apply {
		say("%s;", oneLine(stmt))
	}
	for _, r := range s.Verify.SetupConsumers {
		say("-- verify: setup_consumers %s: enabled %s", r.Name, r.Enabled)
	}
	for _, r := range s.Verify.SetupInstruments {
		say("-- verify: setup_instruments %s: enabled %s, timed %s", r.Name, orAny(r.Enabled), orAny(r.Timed))
	}
	for _, q := range s.Verify.Queries {
		say("-- verify: %s: %s", oneLine(q.Query), strings.Join(q.Expect, ", "))
	}
	for _, stmt := range s.Undo {
		say("-- undo: %s;", oneLine(stmt))
	}
	if touchesSetup(s.Apply) {
		say("-- undo: both setup tables are put back as they were found")
	}
	if len(lines) == 0 {
		say("-- nothing is demanded, nothing changed")
	}
	return lines
}

func orAny(f flag) string {
	if f == "" {
		return "any"
	}
	return string(f)
}

func oneLine(stmt string) string { return strings.Join(strings.Fields(stmt), " ") }

// touchesSetup reports whether a statement names a setup table.
func touchesSetup(stmts []string) bool {
	return slices.ContainsFunc(stmts, func(stmt string) bool {
		low := strings.ToLower(stmt)
		return strings.Contains(low, "setup_consumers") || strings.Contains(low, "setup_instruments")
	})
}
