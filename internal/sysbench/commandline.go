package sysbench

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cellbench/internal/bench"
)

// Pair is one variable of the translation.
type Pair struct {
	Name   string // BENCH_...
	Value  string
	Secret bool // a password
}

// Translation is what a sysbench command line means to cellbench.
type Translation struct {
	Env   []Pair
	Verb  string   // of `task`: prepare, run or cleanup
	Notes []string // options without a counterpart and why; differences in meaning
}

// given is an option as it was found.
type given struct {
	value    string
	bare     bool // no "=": a boolean
	fromFile bool
}

// reader collects the options of a command line.
type reader struct {
	known    map[string]option
	found    map[string]given
	args     []string // test name and command
	notes    []string
	problems []string
	readFile func(path string) ([]byte, error)
}

// FromCommandLine translates the arguments of a sysbench call. A leading
// `sysbench` (or a path that ends in it) is dropped; one single argument with
// spaces in it is taken for a whole line and split as a shell would. readFile
// reads the file of --config-file; nil makes that option an error.
//
// The error lists all that sysbench itself would have refused, or that is no
// MySQL benchmark; its exit code is ExitConfig.
func FromCommandLine(args []string, readFile func(path string) ([]byte, error)) (*Translation, error) {
	if len(args) == 1 && strings.ContainsAny(args[0], " \t\n") {
		split, err := Split(args[0])
		if err != nil {
			return nil, err
		}
		args = split
	}
	if len(args) > 0 && path.Base(args[0]) == "sysbench" {
		args = args[1:]
	}
	r := &reader{known: map[string]option{}, found: map[string]given{}, readFile: readFile}
	for _, o := range options() {
		r.known[o.name] = o
	}
	for _, arg := range args {
		r.argument(arg)
	}
	t := &translator{reader: r}
	out := t.translate()
	if len(r.problems) > 0 {
		return nil, bench.Errorf(bench.ExitConfig, "%s", strings.Join(r.problems, "\n"))
	}
	return out, nil
}

func (r *reader) bad(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *reader) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.notes, n) {
		r.notes = append(r.notes, n)
	}
}

func (r *reader) argument(arg string) {
	body, isOption := strings.CutPrefix(arg, "--")
	if !isOption || body == "" {
		r.args = append(r.args, arg)
		return
	}
	name, value, hasValue := strings.Cut(body, "=")
	name = strings.ReplaceAll(name, "_", "-")
	o, ok := r.known[name]
	if !ok {
		names := make([]string, 0, len(r.known))
		for n := range r.known {
			names = append(names, n)
		}
		r.bad("read option --%s: sysbench has none of that name, %s", name, bench.DidYouMean(name, names))
		return
	}
	if !hasValue && o.kind != boolean && name != "forced-shutdown" && name != "debug" {
		r.bad("read option --%s: the value is missing: write --%s=VALUE (sysbench doesn't take it from the next word)", name, name)
		return
	}
	if name == "config-file" {
		r.configFile(value)
		return
	}
	r.set(o, given{value: value, bare: !hasValue})
}

func (r *reader) set(o option, g given) {
	name := o.name
	if o.alias != "" {
		r.note("--%s is a deprecated name of --%s", name, o.alias)
		name = o.alias
	}
	r.found[name] = g // a later one replaces an earlier one
}

// configFile reads a file of `name=value` lines the way sysbench does, with its
// gaps: options that sysbench loses there are left out and named in a note. The
// file counts at the place of --config-file: what comes later wins.
func (r *reader) configFile(name string) {
	if r.readFile == nil {
		r.bad("read option --config-file: cannot read files here")
		return
	}
	data, err := r.readFile(name)
	if err != nil {
		r.bad("read option --config-file: %v", err)
		return
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		r.configLine(fmt.Sprintf("%s:%d", name, i+1), line)
	}
}

func (r *reader) configLine(at, line string) {
	if len(line) > 255 {
		r.note("%s: longer than 255 bytes, where sysbench cuts a line: check it", at)
	}
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		if strings.TrimSpace(line) != "" {
			first := strings.Fields(line)[0] // what follows may be a password
			r.note("%s: %q has no value and sysbench ignores it: left out", at, first)
		}
		return
	}
	if name != strings.TrimSpace(name) {
		r.note("%s: sysbench loses %q because of the space beside the name: left out", at, strings.TrimSpace(name))
		return
	}
	name = strings.ReplaceAll(name, "_", "-")
	o, known := r.known[name]
	switch {
	case !known || name == "config-file" || name == "test":
		r.note("%s: sysbench has no option %q and ignores it: left out", at, name)
	case o.script:
		r.note("%s: sysbench loses %s in a file, because its scripts set their defaults later: left out; set %s if it was meant to count", at, name, counterpart(o))
	default:
		r.set(o, given{value: unquote(value), fromFile: true})
	}
}

func counterpart(o option) string {
	if o.variable == "" {
		return "it"
	}
	return "BENCH_" + o.variable
}

// unquote takes a value out of its quotes and drops a comment behind it.
func unquote(value string) string {
	value = strings.TrimLeft(value, " \t")
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
	}
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimRight(value, " \t")
}

// Split cuts a command line into words as a shell does: quotes, backslashes and
// continued lines. Variables and other substitutions are left as they are.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i+1 == len(line) {
				return nil, bench.Errorf(bench.ExitConfig, "split command line: it ends in a backslash")
			}
			i++
			switch {
			case line[i] == '\n': // a continued line
			case quote == '"' && !strings.ContainsRune("\"\\$`", rune(line[i])):
				word.WriteByte('\\')
				word.WriteByte(line[i])
			default:
				word.WriteByte(line[i])
				inWord = true
			}
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, bench.Errorf(bench.ExitConfig, "split command line: a quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// Shell writes the translation as lines for a POSIX shell: notes as comments,
// then the variables, then the command.
func (t *Translation) Shell() string {
	var b strings.Builder
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(n, "\n", " "))
	}
	for _, p := range t.Env {
		fmt.Fprintf(&b, "%s=%s \\\n", p.Name, shellQuote(p.Value))
	}
	fmt.Fprintf(&b, "task %s\n", t.Verb)
	return b.String()
}

func shellQuote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:,@%+", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
