package study

import (
	"slices"
	"strings"

	"cellbench/internal/bench"
)

// maxCells bounds a plan: AWS Batch and Cloud Run take no larger array.
const maxCells = 10_000

// crossCheck finds what is wrong between the parts of a study.
func (p *fileParser) crossCheck(s *Study, root *node) {
	at := func(path ...string) position { return root.find(path) }
	for name := range s.Settings {
		if s.axis(name) != nil {
			p.bad(at("settings", name), "setting %q is an axis too: keep one of the two", name)
		}
	}
	p.checkSections(s, at)
	for i, m := range s.Exclude {
		p.checkMatch(s, m, root.item("exclude", i), true)
	}
	for i, m := range s.Include {
		p.checkMatch(s, m, root.item("include", i), false)
	}
	p.checkBaseline(s, at)
	for _, v := range s.Report.At {
		if s.axis(v.Axis) == nil {
			p.bad(at("report", "at"), "at: no axis %q, %s", v.Axis, bench.DidYouMean(v.Axis, s.axisNames()))
		} else if !slices.Contains(s.valuesOf(v.Axis), v.Value) {
			p.bad(at("report", "at"), "at: axis %s has no value %q, %s", v.Axis, v.Value, bench.DidYouMean(v.Value, s.valuesOf(v.Axis)))
		}
	}
	for i := -1; i < len(s.Include); i++ {
		var instead Match
		if i >= 0 {
			instead = s.Include[i]
		}
		if s.tooMany(instead) {
			p.bad(at("axes"), "axes: more than %d cells, the most a scheduler's array takes", maxCells)
			return
		}
	}
}

// tooMany bounds a product before it is made.
func (s *Study) tooMany(instead Match) bool {
	cells := s.Repeats
	for _, a := range s.Axes {
		values := a.Values
		if v, ok := instead[a.Name]; ok {
			values = v
		}
		if cells *= max(1, len(values)); cells > maxCells {
			return true
		}
	}
	return false
}

// checkSections compares targets, workloads and scenarios with their axes: a
// section for a value that no cell has is a typing error, and a target named on
// the axis without a section is one too, if the others have one.
func (p *fileParser) checkSections(s *Study, at func(...string) position) {
	sections := []struct {
		key, axis string
		settings  map[string]map[string]string
	}{
		{"targets", axisTarget, targetSettings(s.Targets)},
		{"workloads", axisWorkload, s.Workloads},
		{"scenarios", axisScenario, s.Scenarios},
	}
	for _, sec := range sections {
		values := s.valuesOf(sec.axis)
		if one, ok := s.Settings[sec.axis]; ok {
			values = append(values, one)
		}
		for name, settings := range sec.settings {
			if !slices.Contains(values, name) {
				p.bad(at(sec.key, name), "%s: no cell has %s %q: add it to the axis %s", sec.key, sec.axis, name, sec.axis)
			}
			for setting := range settings {
				if s.axis(setting) != nil {
					p.bad(at(sec.key, name, setting), "%s: %s sets %q, which is an axis: keep one of the two", sec.key, name, setting)
				}
			}
		}
		if sec.axis != axisTarget || len(sec.settings) == 0 {
			continue
		}
		for _, v := range values {
			if _, ok := sec.settings[v]; !ok {
				p.bad(at("axes", axisTarget), "axis target: %q has no entry in targets", v)
			}
		}
	}
}

func targetSettings(targets map[string]Target) map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, t := range targets {
		out[name] = t.Settings
	}
	return out
}

// checkMatch checks the axes of a combination and, where mustExist says so, its
// values against those of the axis.
func (p *fileParser) checkMatch(s *Study, m Match, n *node, mustExist bool) {
	for _, f := range n.pairs {
		if s.axis(f.key) == nil {
			p.bad(f.pos, "no axis %q, %s", f.key, bench.DidYouMean(f.key, s.axisNames()))
			continue
		}
		for _, v := range m[f.key] {
			if mustExist && !slices.Contains(s.valuesOf(f.key), v) {
				p.bad(f.val.pos, "axis %s has no value %q, %s", f.key, v, bench.DidYouMean(v, s.valuesOf(f.key)))
			}
			if !mustExist {
				p.axisValue(f.key, v, nil, f.val.pos)
			}
		}
	}
}

// checkBaseline: an axis of the study must have the value. `target` and labels
// may be the baseline without being an axis, because separate runs, one per
// target, are compared by them.
func (p *fileParser) checkBaseline(s *Study, at func(...string) position) {
	if s.Baseline == nil {
		if s.AA {
			p.bad(at("aa"), "aa: needs a baseline to repeat")
		}
		return
	}
	b := *s.Baseline
	pos := at("baseline", b.Axis)
	switch {
	case s.axis(b.Axis) != nil:
		if !slices.Contains(s.valuesOf(b.Axis), b.Value) {
			p.bad(pos, "baseline: axis %s has no value %q, %s", b.Axis, b.Value, bench.DidYouMean(b.Value, s.valuesOf(b.Axis)))
		}
	case b.Axis != axisTarget && !strings.HasPrefix(b.Axis, labelPrefix):
		p.bad(pos, "baseline: no axis %q, %s", b.Axis, bench.DidYouMean(b.Axis, append(s.axisNames(), axisTarget, labelPrefix+"NAME")))
	case s.AA && b.Axis == axisTarget:
		p.bad(at("aa"), "aa: needs a baseline that is an axis of this study")
	}
}

// valuesOf lists the values an axis can have: its own and those that include adds.
func (s *Study) valuesOf(axis string) []string {
	values := slices.Clone(s.axis(axis))
	for _, m := range s.Include {
		for _, v := range m[axis] {
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// find returns the place of the key at the end of path, or of the last key on
// the way that exists.
func (n *node) find(path []string) position {
	pos := n.pos
	for _, key := range path {
		i := slices.IndexFunc(n.pairs, func(f pair) bool { return f.key == key })
		if i < 0 {
			return pos
		}
		pos, n = n.pairs[i].pos, n.pairs[i].val
	}
	return pos
}

// item returns the i-th item of the list under key.
func (n *node) item(key string, i int) *node {
	for _, f := range n.pairs {
		if f.key == key && i < len(f.val.items) {
			return f.val.items[i]
		}
	}
	return &node{}
}
