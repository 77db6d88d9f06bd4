package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// maxRepeats and maxThreads bound what a typing error can ask for.
const (
	maxRepeats = 1000
	maxThreads = 100_000
)

var (
	topKeys = []string{
		"name", "description", "axes", "settings", "labels", "targets", "workloads", "scenarios",
		"exclude", "include", "repeats", "order", "baseline", "aa", "report",
	}
	// reserved settings belong to a run or are written by the study itself.
	reserved = map[string]string{
		"study": "", "cell_index": "", "cell_id": "", "run_id": "", "results": "", "only": "", "seed": "",
		"repeat": "write `repeats:` at the top of the study", "repeats": "write `repeats:` at the top of the study",
		"labels": "write `labels:` at the top of the study or of a target",
	}
	settingName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	labelName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// fileParser collects everything that is wrong with one file.
type fileParser struct {
	known    Known
	problems []problem
}

// Parse reads a study file. name stands in error messages (usually the file's
// name); known decides which settings exist. All problems are reported in one
// error, a line each, as `name:line:column: what is wrong`; its exit code is
// ExitConfig.
func Parse(name string, data []byte, known Known) (*Study, error) {
	root, bad := readTree(data)
	if bad != nil {
		return nil, bench.Errorf(bench.ExitConfig, "%s", bench.Printable(bad.at(name).Error()))
	}
	p := &fileParser{known: known}
	s := p.study(root)
	if len(p.problems) == 0 {
		p.crossCheck(s, root)
	}
	if len(p.problems) > 0 {
		return nil, p.failure(name)
	}
	sum := sha256.Sum256(data)
	s.SHA256 = hex.EncodeToString(sum[:])
	return s, nil
}

// failure makes one error of all problems, in the order of the file.
func (p *fileParser) failure(name string) error {
	slices.SortStableFunc(p.problems, func(a, b problem) int {
		if a.pos.line != b.pos.line {
			return a.pos.line - b.pos.line
		}
		return a.pos.col - b.pos.col
	})
	lines := make(bench.Problems, 0, len(p.problems))
	for _, one := range p.problems {
		lines = append(lines, bench.Printable(one.at(name).Error()))
	}
	return &bench.Error{Code: bench.ExitConfig, Err: lines}
}

func (p *fileParser) bad(pos position, format string, args ...any) {
	p.problems = append(p.problems, problem{pos: pos, msg: fmt.Sprintf(format, args...)})
}

func (p *fileParser) study(root *node) *Study {
	s := &Study{
		Repeats: 1, Order: Order{Mode: OrderInterleaved, Seed: 1},
		Settings: map[string]string{}, Labels: map[string]string{}, Targets: map[string]Target{},
		Workloads: map[string]map[string]string{}, Scenarios: map[string]map[string]string{},
	}
	for _, f := range p.pairs(root, "study", topKeys) {
		p.member(s, f)
	}
	if s.Name == "" && len(p.problems) == 0 {
		p.bad(root.pos, "name: missing, a study needs one")
	}
	return s
}

// member reads one key of the top level.
func (p *fileParser) member(s *Study, f pair) {
	switch f.key {
	case "name":
		s.Name = p.text(f.val, f.key)
		if !labelName.MatchString(s.Name) {
			p.bad(f.val.pos, "name: %q, allowed are letters, digits, '.', '_' and '-'", s.Name)
		}
	case "description":
		s.Description = strings.TrimSpace(p.text(f.val, f.key))
	case "axes":
		s.Axes = p.axes(f.val)
	case "settings":
		s.Settings = p.settings(f.val, f.key)
	case "labels":
		s.Labels = p.labels(f.val)
	case "targets":
		s.Targets = p.targets(f.val)
	case "workloads":
		s.Workloads = p.settingsOf(f.val, f.key)
	case "scenarios":
		s.Scenarios = p.settingsOf(f.val, f.key)
	case "exclude":
		s.Exclude = p.matches(f.val, f.key)
	case "include":
		s.Include = p.matches(f.val, f.key)
	case "repeats":
		s.Repeats = p.count(f.val, f.key, maxRepeats)
	case "order":
		s.Order = p.order(f.val)
	case "baseline":
		s.Baseline = p.baseline(f.val)
	case "aa":
		s.AA = p.flag(f.val, f.key)
	case "report":
		s.Report = p.report(f.val)
	}
}

// pairs returns the members of a mapping; with keys given, only those of that
// list, the others being problems.
func (p *fileParser) pairs(n *node, what string, keys []string) []pair {
	if n.kind == null {
		return nil
	}
	if n.kind != mapping {
		p.bad(n.pos, "%s: expected a mapping (name: value), found %s", what, n.kind)
		return nil
	}
	if keys == nil {
		return n.pairs
	}
	var out []pair
	for _, f := range n.pairs {
		if !slices.Contains(keys, f.key) {
			p.bad(f.pos, "unknown key %q in %s: %s", f.key, what, bench.DidYouMean(f.key, keys))
			continue
		}
		out = append(out, f)
	}
	return out
}

func (p *fileParser) text(n *node, what string) string {
	if n.kind != scalar {
		p.bad(n.pos, "%s: expected a value, found %s", what, n.kind)
		return ""
	}
	if strings.ContainsRune(n.text, 0) {
		p.bad(n.pos, "%s: holds a NUL character, which no environment variable can", what)
		return ""
	}
	return n.text
}

func (p *fileParser) count(n *node, what string, most int) int {
	text := p.text(n, what)
	v, err := strconv.Atoi(text)
	if n.kind == scalar && (err != nil || v < 1 || v > most) {
		p.bad(n.pos, "%s: %q, allowed are whole numbers from 1 to %d", what, text, most)
		return 1
	}
	return v
}

func (p *fileParser) flag(n *node, what string) bool {
	switch text := p.text(n, what); strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return true
	case "false", "off", "no", "0":
	default:
		if n.kind == scalar {
			p.bad(n.pos, "%s: %q, allowed are true and false", what, text)
		}
	}
	return false
}

// list returns the texts of a list, or of a single value standing for one.
func (p *fileParser) list(n *node, what string) []string {
	items := []*node{n}
	if n.kind == sequence {
		items = n.items
	}
	var out []string
	for _, item := range items {
		out = append(out, p.text(item, what))
	}
	return out
}

func (p *fileParser) axes(n *node) []Axis {
	var out []Axis
	for _, f := range p.pairs(n, "axes", nil) {
		p.axisName(f.key, f.pos)
		before := len(p.problems)
		values := p.list(f.val, "axis "+f.key)
		if len(values) == 0 {
			p.bad(f.val.pos, "axis %s: has no values", f.key)
		}
		for i, v := range values {
			at := f.val.pos
			if f.val.kind == sequence {
				at = f.val.items[i].pos
			}
			if len(p.problems) == before {
				p.axisValue(f.key, v, values[:i], at)
			}
		}
		out = append(out, Axis{Name: f.key, Values: values})
	}
	return out
}

func (p *fileParser) axisName(name string, pos position) {
	if label, ok := strings.CutPrefix(name, labelPrefix); ok {
		if !labelName.MatchString(label) || isCore(label) || label == aaLabel {
			p.bad(pos, "axis %q: %q cannot be a label", name, label)
		}
		return
	}
	if secretName(name) {
		p.bad(pos, "axis %q: a secret cannot be an axis, give each target its own", name)
		return
	}
	if !isCore(name) {
		p.settingName(name, pos, "; an axis that is only a label is written `label."+name+"`")
	}
}

func (p *fileParser) axisValue(axis, value string, before []string, pos position) {
	switch {
	case strings.TrimSpace(value) == "":
		p.bad(pos, "axis %s: empty value", axis)
	case slices.Contains(before, value):
		p.bad(pos, "axis %s: %q is there twice", axis, value)
	case axis == axisThreads:
		if v, err := strconv.Atoi(value); err != nil || v < 1 || v > maxThreads || strconv.Itoa(v) != value {
			p.bad(pos, "axis threads: %q, allowed are whole numbers from 1 to %d", value, maxThreads)
		}
	case strings.Contains(value, "${"):
		p.bad(pos, "axis %s: %q, a ${VARIABLE} is for settings and targets only", axis, value)
	case !isCore(axis):
		p.labelText(axis, value, pos)
	}
}

// labelText refuses what BENCH_LABELS (k=v,...) cannot hold.
func (p *fileParser) labelText(name, value string, pos position) {
	if strings.ContainsAny(value, ",\n\r") {
		p.bad(pos, "label %s: %q, a label holds no comma and no line break", name, value)
	}
}

// settingName checks a setting; hint ends the message about an unknown one.
func (p *fileParser) settingName(name string, pos position, hint string) {
	if why, ok := reserved[name]; ok {
		if why == "" {
			why = "it belongs to the run, set " + variable(name) + " on the container"
		}
		p.bad(pos, "setting %q cannot be in a study: %s", name, why)
		return
	}
	suggestion, ok := "", settingName.MatchString(name)
	if p.known != nil {
		suggestion, ok = p.known(name)
	}
	switch {
	case ok:
	case suggestion != "":
		p.bad(pos, "unknown setting %q: did you mean %s?%s", name, suggestion, hint)
	default:
		p.bad(pos, "unknown setting %q: names are the environment's without BENCH_ in lower case, e.g. table_size%s", name, hint)
	}
}

func (p *fileParser) settings(n *node, what string) map[string]string {
	out := map[string]string{}
	for _, f := range p.pairs(n, what, nil) {
		p.settingName(f.key, f.pos, "")
		separator := ","
		if strings.HasSuffix(f.key, "_sql") {
			separator = "; " // a list of statements
		}
		value := strings.Join(p.list(f.val, f.key), separator)
		if err := checkReferences(value); err != nil {
			p.bad(f.val.pos, "%s: %v", f.key, err)
		}
		out[f.key] = value
	}
	return out
}

func (p *fileParser) labels(n *node) map[string]string {
	out := map[string]string{}
	for _, f := range p.pairs(n, "labels", nil) {
		if !labelName.MatchString(f.key) || isCore(f.key) || f.key == aaLabel {
			p.bad(f.pos, "label %q: allowed are letters, digits, '.', '_' and '-', and no name of an axis", f.key)
		}
		out[f.key] = p.text(f.val, "label "+f.key)
		p.labelText(f.key, out[f.key], f.val.pos)
	}
	return out
}

func (p *fileParser) targets(n *node) map[string]Target {
	out := map[string]Target{}
	for _, f := range p.pairs(n, "targets", nil) {
		t := Target{Labels: map[string]string{}}
		rest := &node{kind: f.val.kind, pos: f.val.pos}
		for _, member := range f.val.pairs {
			if member.key == "labels" {
				t.Labels = p.labels(member.val)
				continue
			}
			if isCore(member.key) {
				p.bad(member.pos, "target %s: %q is an axis, not a setting of a target", f.key, member.key)
				continue
			}
			rest.pairs = append(rest.pairs, member)
		}
		t.Settings = p.settings(rest, "target "+f.key)
		out[f.key] = t
	}
	return out
}

func (p *fileParser) settingsOf(n *node, what string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, f := range p.pairs(n, what, nil) {
		for _, member := range f.val.pairs {
			if isCore(member.key) {
				p.bad(member.pos, "%s: %q is an axis, not a setting of %s", what, member.key, f.key)
			}
		}
		out[f.key] = p.settings(f.val, what+": "+f.key)
	}
	return out
}

func (p *fileParser) matches(n *node, what string) []Match {
	if n.kind == null {
		return nil
	}
	if n.kind != sequence {
		p.bad(n.pos, "%s: expected a list of combinations, found %s", what, n.kind)
		return nil
	}
	var out []Match
	for _, item := range n.items {
		m := Match{}
		for _, f := range p.pairs(item, what, nil) {
			m[f.key] = p.list(f.val, f.key)
		}
		if len(m) == 0 && item.kind == mapping || item.kind == null {
			p.bad(item.pos, "%s: empty combination", what)
		}
		out = append(out, m)
	}
	return out
}

func (p *fileParser) order(n *node) Order {
	o := Order{Mode: OrderInterleaved, Seed: 1}
	modes := []string{OrderInterleaved, OrderSequential}
	mode := func(n *node) {
		o.Mode = p.text(n, "order")
		if n.kind == scalar && !slices.Contains(modes, o.Mode) {
			p.bad(n.pos, "order: %q, %s", o.Mode, bench.DidYouMean(o.Mode, modes))
		}
	}
	if n.kind == scalar {
		mode(n)
		return o
	}
	for _, f := range p.pairs(n, "order", []string{"mode", "seed"}) {
		if f.key == "mode" {
			mode(f.val)
			continue
		}
		seed, err := strconv.ParseUint(p.text(f.val, "seed"), 10, 64)
		if err != nil && f.val.kind == scalar {
			p.bad(f.val.pos, "seed: %q, allowed are whole numbers from 0", f.val.text)
		}
		o.Seed = seed
	}
	return o
}

func (p *fileParser) baseline(n *node) *Value {
	pairs := p.pairs(n, "baseline", nil)
	if n.kind == mapping && len(pairs) != 1 {
		p.bad(n.pos, "baseline: names %d axes, one is needed, e.g. `scenario: pfsoff`", len(pairs))
	}
	if len(pairs) == 0 {
		return nil
	}
	return &Value{Axis: pairs[0].key, Value: p.text(pairs[0].val, "baseline")}
}

func (p *fileParser) report(n *node) Report {
	var r Report
	for _, f := range p.pairs(n, "report", []string{"title", "at", "metric"}) {
		switch f.key {
		case "title":
			r.Title = p.text(f.val, f.key)
		case "metric":
			r.Metric = p.text(f.val, f.key)
			if f.val.kind == scalar && r.Metric != "qps" && r.Metric != "tps" {
				p.bad(f.val.pos, "metric: %q, allowed are qps and tps", r.Metric)
			}
		case "at":
			for _, text := range p.list(f.val, f.key) {
				axis, value, ok := strings.Cut(text, "=")
				if !ok {
					p.bad(f.val.pos, "at: %q, expected axis=value, e.g. threads=32", text)
				}
				r.At = append(r.At, Value{strings.TrimSpace(axis), strings.TrimSpace(value)})
			}
		}
	}
	return r
}
