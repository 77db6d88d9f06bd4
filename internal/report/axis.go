package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cellbench/internal/bench"
)

// The dimensions every cell has, beside its labels and settings.
const (
	dimTarget   = "target"
	dimWorkload = "workload"
	dimScenario = "scenario"
	dimRun      = "run"
	// labelAA marks a cell that repeats the baseline under another name.
	labelAA = "aa"
)

// splitBaseline takes "axis=value" apart.
func splitBaseline(s string) (axis, value string, err error) {
	axis, value, ok := strings.Cut(s, "=")
	axis, value = strings.TrimSpace(axis), strings.TrimSpace(value)
	if !ok || axis == "" || value == "" {
		return "", "", bench.Errorf(bench.ExitConfig, "read baseline: %q, want axis=value, e.g. scenario=pfsoff", s)
	}
	if axis == "threads" || axis == "repeat" {
		return "", "", bench.Errorf(bench.ExitConfig, "read baseline: %q, threads and repeats are not compared; name a scenario, target, workload, run, label or setting", s)
	}
	return axisName(axis), value, nil
}

// volatile settings differ between results that are repeats of one cell.
func volatile(setting string) bool {
	switch setting {
	case "run_id", "repeat", "cell_index", "cell_id", "study", "results", "labels", "rand_seed", "threads", dimTarget, dimWorkload,
		dimScenario, "report_interval", "percentile", "prepare", "prepare_threads", "s3_path_style":
		return true
	}
	return false
}

// setDims fills dims of every entry: target, workload, scenario, labels, and the
// settings that separate cells whose other dimensions are equal.
func setDims(entries []*entry, axis string) {
	base := func(e *entry) string {
		c := e.res.Cell
		return fmt.Sprintf("%q %q %q %d %q", c.Target, c.Workload, c.Scenario, c.Threads, sortedPairs(c.Labels))
	}
	seen, varying := make(map[string]map[string]string), make(map[string]bool)
	for _, e := range entries {
		if e.res.Status == statusMissing {
			continue // its settings are as the plan writes them, not as a result does
		}
		first, ok := seen[base(e)]
		if !ok {
			seen[base(e)] = e.settings
			continue
		}
		for k, v := range e.settings {
			if old, ok := first[k]; ok && old != v && !volatile(k) {
				varying[k] = true
			}
		}
	}
	for _, e := range entries {
		c := e.res.Cell
		e.dims = map[string]string{dimTarget: c.Target, dimWorkload: c.Workload, dimScenario: c.Scenario}
		maps.Copy(e.dims, c.Labels)
		for k := range varying {
			e.dims[k] = e.settings[k]
		}
		if axis == dimRun {
			e.dims[dimRun] = e.res.RunID
		} else if _, ok := e.dims[axis]; !ok && axis != "" {
			e.dims[axis] = e.settings[axis]
		}
	}
}

// chooseAxis names what is compared when no baseline says so: scenario, else
// target, else the first label that varies, else scenario.
func chooseAxis(entries []*entry) string {
	var labels []string
	for _, e := range entries {
		for k := range e.res.Cell.Labels {
			if k != labelAA && !slices.Contains(labels, k) {
				labels = append(labels, k)
			}
		}
	}
	slices.Sort(labels)
	for _, dim := range append([]string{dimScenario, dimTarget}, labels...) {
		if len(distinct(entries, dim)) > 1 {
			return dim
		}
	}
	return dimScenario
}

func distinct(entries []*entry, dim string) map[string]bool {
	values := make(map[string]bool)
	for _, e := range entries {
		values[e.dims[dim]] = true
	}
	return values
}

// panelDims returns the dimensions that separate panels, workload last. A
// dimension that follows from the compared one (a label of each target, say)
// separates nothing.
func panelDims(entries []*entry, axis string) []string {
	all := make(map[string]bool)
	for _, e := range entries {
		for k := range e.dims {
			all[k] = true
		}
	}
	delete(all, axis)
	delete(all, labelAA)
	for dim := range all {
		if dim != dimTarget && dim != dimWorkload && len(distinct(entries, dim)) < 2 {
			delete(all, dim)
		}
	}
	var labels []string
	for dim := range all {
		if dim != dimTarget && dim != dimWorkload && dim != dimScenario {
			labels = append(labels, dim)
		}
	}
	slices.Sort(labels)
	if axis != dimTarget && len(distinct(entries, dimTarget)) > 1 && follows(entries, axis, dimTarget) && follows(entries, dimTarget, append(slices.Clone(labels), axis)...) {
		delete(all, dimTarget) // each target is one value of the compared axis
	}
	for _, dim := range append(labels, dimScenario) {
		if !all[dim] {
			continue
		}
		if follows(entries, dim, axis) || all[dimTarget] && follows(entries, dim, dimTarget) {
			delete(all, dim)
		}
	}
	var dims []string
	for _, dim := range append([]string{dimTarget, dimScenario}, labels...) {
		if all[dim] {
			dims = append(dims, dim)
		}
	}
	if all[dimWorkload] {
		dims = append(dims, dimWorkload)
	}
	return dims
}

// follows reports whether dim has one value for each combination of by.
func follows(entries []*entry, dim string, by ...string) bool {
	seen := make(map[string]string)
	for _, e := range entries {
		var key strings.Builder
		for _, b := range by {
			fmt.Fprintf(&key, "%q ", e.dims[b])
		}
		if old, ok := seen[key.String()]; ok && old != e.dims[dim] {
			return false
		}
		seen[key.String()] = e.dims[dim]
	}
	return true
}

func sortedPairs(m map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if k != labelAA {
			out = append(out, k+"="+m[k])
		}
	}
	if v, ok := m[labelAA]; ok {
		out = append(out, labelAA+"="+v)
	}
	return out
}

// order ranks the values of an axis as the plan lists them; values it does not
// list come after, in natural order.
type order struct{ rank map[string]int }

func newOrder(manifests []*manifest, axis string) order {
	o := order{rank: make(map[string]int)}
	for _, m := range manifests {
		for name, values := range m.Study.Axes {
			if axisName(name) != axis {
				continue
			}
			for _, v := range values {
				if o.rank[v] == 0 {
					o.rank[v] = len(o.rank) + 1
				}
			}
		}
	}
	if axis == dimWorkload && len(o.rank) == 0 {
		for i, w := range []string{"oltp_point_select", "oltp_read_only", "oltp_write_only", "oltp_read_write", "oltp_update_index", "oltp_update_non_index"} {
			o.rank[w] = i + 1
		}
	}
	return o
}

func (o order) compare(a, b string) int {
	ra, rb := o.rank[a], o.rank[b]
	switch {
	case ra > 0 && rb > 0:
		return cmp.Compare(ra, rb)
	case ra > 0:
		return -1
	case rb > 0:
		return 1
	}
	return natural(a, b)
}

// natural compares texts with the numbers in them by value, so that "t8" comes
// before "t16".
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx > 0 && ny > 0 {
			vx, _ := strconv.ParseFloat(x[:nx], 64)
			vy, _ := strconv.ParseFloat(y[:ny], 64)
			if c := cmp.Compare(vx, vy); c != 0 {
				return c
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if c := cmp.Compare(x[0], y[0]); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) || r > unicode.MaxASCII })
	if n < 0 {
		return len(s)
	}
	return n
}
