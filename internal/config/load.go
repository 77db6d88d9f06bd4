package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kelseyhightower/envconfig"

	"cellbench/internal/bench"
)

// Problem is one thing wrong with one variable.
type Problem struct {
	Name    string // BENCH_...
	Value   string // masked if the variable is a secret; empty when it does not matter
	Message string // what was wrong and what is allowed
}

// String is the problem as one line.
func (p Problem) String() string {
	if p.Value == "" {
		return p.Name + ": " + p.Message
	}
	return fmt.Sprintf("%s=%s: %s", p.Name, p.Value, p.Message)
}

// Problems is everything wrong with a configuration, as one error.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// masked stands in messages where a secret was.
const masked = "***"

// Load reads the environment of this process. Variables that are set but empty
// are unset by it, for envconfig takes them for values. The error is a Problems
// inside a bench.Error of class ExitConfig.
func Load() (*Config, error) {
	l := loader{set: map[string]bool{}}
	l.environment()
	c := &Config{}
	v := reflect.ValueOf(c).Elem()
	for f := range fields() {
		l.field(v.FieldByIndex(f.Index), f)
	}
	l.check(c)
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
		return nil, &bench.Error{Code: bench.ExitConfig, Err: l.problems}
	}
	return c, nil
}

type loader struct {
	set      map[string]bool // variables that have a value
	problems Problems
}

// add notes a problem, unless the variable has one already: what follows from a
// value that could not be read is no news.
func (l *loader) add(name, value, format string, args ...any) {
	if slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Name == name }) {
		return
	}
	if len(value) > 200 {
		value = value[:197] + "..."
	}
	l.problems = append(l.problems, Problem{Name: name, Value: value, Message: fmt.Sprintf(format, args...)})
}

// environment notes which variables are set, drops the empty ones and finds the
// unknown ones.
func (l *loader) environment() {
	known := VariableNames()
	var unknown []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, Prefix+"_") {
			continue
		}
		if value == "" {
			// Cannot fail: the name came from the environment.
			_ = os.Unsetenv(name)
			continue
		}
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
			continue
		}
		l.set[name] = true
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		// The value may be a misspelt password, so it is not shown.
		if n := bench.Nearest(name, known); n != "" {
			l.add(name, "", "unknown variable, did you mean %s?", n)
			continue
		}
		l.add(name, "", "unknown variable; the README lists all")
	}
}

// field fills one field. Each goes through envconfig alone, in a struct made of
// just that field, because envconfig stops at the first error it meets.
func (l *loader) field(v reflect.Value, f reflect.StructField) {
	name := variable(f)
	f.Tag += ` split_words:"true"`
	one := reflect.New(reflect.StructOf([]reflect.StructField{{Name: f.Name, Type: f.Type, Tag: f.Tag}}))
	if err := envconfig.Process(Prefix, one.Interface()); err != nil {
		l.add(name, l.show(f, os.Getenv(name)), "%s", refused(f, err))
		return
	}
	v.Set(one.Elem().Field(0))
	l.bounds(v, f)
}

// refused words a value that could not be read, without envconfig's own text:
// that one holds the value, and the value may be a secret.
func refused(f reflect.StructField, err error) string {
	allowed := allowedByType[f.Type.Name()]
	var pe *envconfig.ParseError
	if errors.As(err, &pe) && f.Tag.Get("secret") == "" && strings.HasPrefix(pe.Err.Error(), `"`) {
		return fmt.Sprintf("%s; allowed is %s", pe.Err, allowed)
	}
	return "allowed is " + allowed
}

func (l *loader) show(f reflect.StructField, value string) string {
	if f.Tag.Get("secret") != "" {
		return masked
	}
	return value
}

// bounds holds a value against its choice, min and max.
func (l *loader) bounds(v reflect.Value, f reflect.StructField) {
	name := variable(f)
	if choice := f.Tag.Get("choice"); choice != "" {
		words := strings.Split(choice, "|")
		value := strings.ToLower(strings.ReplaceAll(v.String(), "_", "-"))
		if !slices.Contains(words, value) {
			l.add(name, v.String(), "allowed are %s", strings.Join(words, ", "))
			return
		}
		v.SetString(value)
	}
	x, isNumber := number(v)
	if !isNumber {
		return
	}
	low, hasLow := limit(f, "min")
	high, hasHigh := limit(f, "max")
	switch {
	case hasLow && hasHigh && (x < low || x > high):
		l.add(name, os.Getenv(name), "allowed is %s to %s", f.Tag.Get("min"), f.Tag.Get("max"))
	case hasLow && x < low:
		l.add(name, os.Getenv(name), "allowed is %s or more", f.Tag.Get("min"))
	}
}

func number(v reflect.Value) (float64, bool) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return float64(v.Int()), true
	case reflect.Float64:
		return v.Float(), true
	}
	return 0, false
}

func limit(f reflect.StructField, tag string) (float64, bool) {
	x, err := strconv.ParseFloat(f.Tag.Get(tag), 64)
	return x, err == nil
}

// IsSet reports whether the variable has a value in this process's environment.
func IsSet(name string) bool { return os.Getenv(name) != "" }
