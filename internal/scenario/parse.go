package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/yamlfile"
)

// scalar is a YAML scalar of any type as text.
type scalar string

// UnmarshalYAML takes any scalar.
func (s *scalar) UnmarshalYAML(unmarshal func(any) error) error {
	text, err := scalarText(unmarshal)
	*s = scalar(text)
	return err
}

// flag is YES, NO or empty for "any".
type flag string

// UnmarshalYAML takes YES and NO in the words of YAML too.
func (f *flag) UnmarshalYAML(unmarshal func(any) error) error {
	text, err := scalarText(unmarshal)
	if err != nil {
		return err
	}
	switch strings.ToUpper(text) {
	case "YES", "ON", "TRUE":
		*f = yes
	case "NO", "OFF", "FALSE":
		*f = no
	default:
		return fmt.Errorf("the flag %q is neither YES nor NO", text)
	}
	return nil
}

// answer is the expected first column of a query.
type answer []string

// UnmarshalYAML takes one scalar or a list of them.
func (a *answer) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		text, err := textOf(item)
		if err != nil {
			return err
		}
		*a = append(*a, text)
	}
	return nil
}

func scalarText(unmarshal func(any) error) (string, error) {
	var v any
	if err := unmarshal(&v); err != nil {
		return "", err
	}
	return textOf(v)
}

func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "NULL", nil
	case bool:
		if v {
			return "ON", nil
		}
		return "OFF", nil
	case string, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("a single value is wanted, not a %T", v)
}

// file is the form of a scenario file.
type file struct {
	Scenarios []Scenario `yaml:"scenarios"`
}

// parse reads a scenario file strictly: an unknown key is an error with its line
// and column and the nearest key that exists.
func parse(text []byte, name string) ([]Scenario, error) {
	var f file
	if err := yamlfile.Decode(text, &f); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "read %s: %w", name, err)
	}
	if len(f.Scenarios) == 0 {
		return nil, bench.Errorf(bench.ExitConfig, "read %s: it has no scenarios: the form is \"scenarios: [{name: ..., apply: [...]}]\"", name)
	}
	seen := map[string]bool{}
	for i := range f.Scenarios {
		s := &f.Scenarios[i]
		if err := s.check(); err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "read %s: scenario %d %q: %s", name, i+1, s.Name, bench.Printable(err.Error()))
		}
		if seen[s.Name] {
			return nil, bench.Errorf(bench.ExitConfig, "read %s: the scenario %q is there twice", name, s.Name)
		}
		seen[s.Name] = true
	}
	return f.Scenarios, nil
}

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z0-9_.]{1,128}$`)
)

// check refuses a scenario that could not work, and normalises its statements.
func (s *Scenario) check() error {
	if !nameForm.MatchString(s.Name) {
		return errors.New("its name must be 1 to 64 letters, digits, _ or -")
	}
	for name := range s.Require {
		if !variableForm.MatchString(name) {
			return fmt.Errorf("require: %q is no name of a variable", name)
		}
	}
	var err error
	if s.Apply, err = single("apply", s.Apply); err != nil {
		return err
	}
	if s.Undo, err = single("undo", s.Undo); err != nil {
		return err
	}
	if _, err := globals(s.Apply); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return s.checkRules()
}

func (s *Scenario) checkRules() error {
	for _, r := range s.Verify.SetupConsumers {
		if r.Name == "" || r.Enabled == "" {
			return errors.New("verify: a rule of setup_consumers needs name and enabled")
		}
	}
	for _, r := range s.Verify.SetupInstruments {
		if r.Name == "" || r.Enabled == "" && r.Timed == "" {
			return errors.New("verify: a rule of setup_instruments needs name and enabled or timed")
		}
	}
	for _, q := range s.Verify.Queries {
		if strings.TrimSpace(q.Query) == "" || q.Expect == nil {
			return errors.New("verify: a query needs query and expect")
		}
	}
	if i := slices.Index(s.Local, ""); i >= 0 {
		return errors.New("local: an option is empty")
	}
	return nil
}

// single splits entries into single statements.
func single(key string, entries []string) ([]string, error) {
	var all []string
	for _, entry := range entries {
		stmts, err := ParseStatements(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if len(stmts) == 0 {
			return nil, fmt.Errorf("%s: a statement is empty", key)
		}
		all = append(all, stmts...)
	}
	return all, nil
}
