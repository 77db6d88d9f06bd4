package config

//go:generate go test . -run TestReadmeHasTheTable -update

import (
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	minInterval = 10 * time.Millisecond
	maxRate     = 1e8
)

// fields yields the fields of Config that are variables.
func fields() iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		t := reflect.TypeFor[Config]()
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("config") != "-" && !yield(f) {
				return
			}
		}
	}
}

// The pattern by which envconfig cuts a field's name into words; a test holds
// the outcome against envconfig itself.
var (
	words    = regexp.MustCompile(`[^A-Z]+|[A-Z]+[^A-Z]+|[A-Z]+`)
	acronyms = regexp.MustCompile(`^([A-Z]+)([A-Z][^A-Z]+)$`)
)

// variable returns the name of a field's variable, e.g. BENCH_TABLE_SIZE.
func variable(f reflect.StructField) string {
	parts := []string{Prefix}
	for _, w := range words.FindAllString(f.Name, -1) {
		if m := acronyms.FindStringSubmatch(w); m != nil {
			parts = append(parts, m[1], m[2])
			continue
		}
		parts = append(parts, w)
	}
	return strings.ToUpper(strings.Join(parts, "_"))
}

// VariableNames returns every variable in the order of the documentation.
func VariableNames() []string {
	var names []string
	for f := range fields() {
		names = append(names, variable(f))
	}
	return names
}

// SettingNames returns the names as a study writes them: lower case without the
// prefix, e.g. table_size.
func SettingNames() []string {
	names := VariableNames()
	for i, n := range names {
		names[i] = strings.ToLower(strings.TrimPrefix(n, Prefix+"_"))
	}
	return names
}

// Secret reports whether a variable (BENCH_...) holds a secret.
func Secret(name string) bool {
	for f := range fields() {
		if variable(f) == name {
			return f.Tag.Get("secret") != ""
		}
	}
	return false
}

// Public returns the settings that describe what was measured, by variable:
// those of the cell, the dataset and the load, never a secret.
func (c *Config) Public() map[string]string {
	out := map[string]string{}
	v := reflect.ValueOf(c).Elem()
	for f := range fields() {
		if f.Tag.Get("local") != "" || f.Tag.Get("secret") != "" {
			continue
		}
		if text := fmt.Sprint(v.FieldByIndex(f.Index).Interface()); text != "" {
			out[variable(f)] = text
		}
	}
	return out
}

// Table returns the variables as Markdown tables, one for each group; the README
// holds them and a test keeps it so.
func Table() string {
	var b strings.Builder
	var groups []string
	for f := range fields() {
		if g := f.Tag.Get("group"); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "**%s**\n\n| variable | default | meaning |\n|---|---|---|\n", g)
		for f := range fields() {
			if f.Tag.Get("group") == g {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", variable(f), code(f.Tag.Get("default")), describe(f))
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func describe(f reflect.StructField) string {
	d := f.Tag.Get("desc")
	if choice := f.Tag.Get("choice"); choice != "" {
		d += " (`" + strings.ReplaceAll(choice, "|", "`, `") + "`)"
	}
	return strings.ReplaceAll(d, "|", `\|`)
}
