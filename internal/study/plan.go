package study

import (
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// aaLabel marks the cell that measures the baseline a second time.
const aaLabel = "aa"

// Options narrow a plan.
type Options struct {
	Only    map[string][]string // by axis: only these of its values (`--only threads=1,8`)
	Seed    *uint64             // of the shuffles, instead of the file's
	Repeats int                 // instead of the file's; 0 keeps it
	Environ []string            // the container's own environment, `NAME=value`
}

// Cell is one measurement of a study: its place in the plan and the variables
// that make a process measure it.
type Cell struct {
	Index    int    // position in the plan, from 0
	ID       string // bench.CellID; equal for all repeats
	Repeat   int    // from 1
	Target   string // as the study or BENCH_TARGET names it, else "local" or its address
	Workload string
	Scenario string
	Threads  int
	Labels   map[string]string // further axes, the target's labels and the study's
	Env      map[string]string // axes and target, by variable; win over the container's own
	Shared   map[string]string // study settings, by variable; the container's own win over these

	axisLabels map[string]string // labels that the container cannot change
}

// Bench returns the cell in the words of a result.
func (c Cell) Bench() bench.Cell {
	index := c.Index
	return bench.Cell{
		ID: c.ID, Target: c.Target, Workload: c.Workload, Scenario: c.Scenario,
		Threads: c.Threads, Repeat: c.Repeat, Index: &index, Labels: maps.Clone(c.Labels),
	}
}

// combo is one combination of axis values, before repeats.
type combo struct {
	values map[string]string
	aa     bool
}

// Cells lists the study's cells in the order they should be measured. The same
// study and options give the same list everywhere. Errors carry ExitConfig.
func (s *Study) Cells(o Options) ([]Cell, error) {
	only := s.fullNames(o.Only)
	if err := s.checkOnly(only); err != nil {
		return nil, err
	}
	combos := s.combos(only)
	if len(combos) == 0 {
		return nil, bench.Errorf(bench.ExitConfig, "plan %s: no cell is left after exclude and the narrowing options", s.Name)
	}
	repeats := s.Repeats
	if o.Repeats > 0 {
		repeats = o.Repeats
	}
	if len(combos)*repeats > maxCells {
		return nil, bench.Errorf(bench.ExitConfig, "plan %s: %d cells, allowed are %d", s.Name, len(combos)*repeats, maxCells)
	}
	cells := make([]Cell, 0, len(combos)*repeats)
	for _, at := range s.arrange(combos, repeats, s.seed(o)) {
		c, err := s.cell(at.combo, parseEnviron(o.Environ))
		if err != nil {
			return nil, err
		}
		c.Index, c.Repeat = len(cells), at.repeat
		c.Env["BENCH_REPEAT"] = strconv.Itoa(c.Repeat)
		c.Env["BENCH_CELL_INDEX"] = strconv.Itoa(c.Index)
		c.Env["BENCH_CELL_ID"] = c.ID
		cells = append(cells, c)
	}
	return cells, nil
}

func (s *Study) seed(o Options) uint64 {
	if o.Seed != nil {
		return *o.Seed
	}
	return s.Order.Seed
}

// fullNames lets a label's axis be named without `label.`.
func (s *Study) fullNames(only map[string][]string) map[string][]string {
	out := make(map[string][]string, len(only))
	for axis, values := range only {
		if s.axis(axis) == nil && s.axis(labelPrefix+axis) != nil {
			axis = labelPrefix + axis
		}
		out[axis] = values
	}
	return out
}

// checkOnly refuses axes and values that the study doesn't have.
func (s *Study) checkOnly(only map[string][]string) error {
	for _, axis := range slices.Sorted(maps.Keys(only)) {
		if s.axis(axis) == nil {
			return bench.Errorf(bench.ExitConfig, "narrow %s: no axis %q, %s", s.Name, axis, bench.DidYouMean(axis, s.axisNames()))
		}
		if len(only[axis]) == 0 {
			return bench.Errorf(bench.ExitConfig, "narrow %s: axis %s: no values given", s.Name, axis)
		}
		for _, v := range only[axis] {
			if !slices.Contains(s.valuesOf(axis), v) {
				return bench.Errorf(bench.ExitConfig, "narrow %s: axis %s has no value %q, it has %s",
					s.Name, axis, v, strings.Join(s.valuesOf(axis), ", "))
			}
		}
	}
	return nil
}

// combos is the product of the axes, without exclude, with include, narrowed,
// each combination once, in the order of the file; the A/A cells follow theirs.
func (s *Study) combos(only map[string][]string) []combo {
	product := s.product(nil)
	product = slices.DeleteFunc(product, func(v map[string]string) bool {
		return slices.ContainsFunc(s.Exclude, func(m Match) bool { return m.matches(v) })
	})
	for _, m := range s.Include {
		product = append(product, s.product(m)...)
	}
	seen := map[string]bool{}
	var out []combo
	for _, values := range product {
		key := s.comboKey(values)
		if seen[key] || !Match(only).matches(values) {
			continue
		}
		seen[key] = true
		out = append(out, combo{values: values})
		if s.AA && s.valueOf(values, s.Baseline.Axis) == s.Baseline.Value {
			out = append(out, combo{values: values, aa: true})
		}
	}
	return out
}

// product combines all values of all axes, the first axis changing slowest;
// values in instead replace those of their axis.
func (s *Study) product(instead Match) []map[string]string {
	out := []map[string]string{{}}
	for _, a := range s.Axes {
		values := a.Values
		if v, ok := instead[a.Name]; ok {
			values = v
		}
		next := make([]map[string]string, 0, len(out)*len(values))
		for _, before := range out {
			for _, v := range values {
				one := maps.Clone(before)
				one[a.Name] = v
				next = append(next, one)
			}
		}
		out = next
	}
	return out
}

func (s *Study) comboKey(values map[string]string) string {
	var b strings.Builder
	for _, a := range s.Axes {
		b.WriteString(strconv.Quote(values[a.Name]))
	}
	return b.String()
}

// matches reports whether values agrees with m on every axis that m names.
func (m Match) matches(values map[string]string) bool {
	for axis, allowed := range m {
		if !slices.Contains(allowed, values[axis]) {
			return false
		}
	}
	return true
}

// valueOf is the value a combination has on an axis, or the label its target
// or the study gives it.
func (s *Study) valueOf(values map[string]string, axis string) string {
	if v, ok := values[axis]; ok {
		return v
	}
	label, ok := strings.CutPrefix(axis, labelPrefix)
	if !ok {
		return ""
	}
	if v, ok := s.Targets[values[axisTarget]].Labels[label]; ok {
		return v
	}
	return s.Labels[label]
}

type placed struct {
	combo  combo
	repeat int // from 1
}

// arrange puts the combinations in the order of measurement.
func (s *Study) arrange(combos []combo, repeats int, seed uint64) []placed {
	var out []placed
	if s.Order.Mode == OrderSequential {
		for _, c := range combos {
			for r := 1; r <= repeats; r++ {
				out = append(out, placed{c, r})
			}
		}
		return out
	}
	groups := s.groups(combos)
	for r := 1; r <= repeats; r++ {
		// One stream per block, so that a block is the same however many follow.
		stream := rand.New(rand.NewPCG(seed, uint64(r)))
		for _, g := range groups {
			for _, i := range stream.Perm(len(g)) {
				out = append(out, placed{g[i], r})
			}
		}
	}
	return out
}

// groups splits one block into groups of cells that differ only in what is
// compared; the groups come in the order of rank. Inside a group the cells are
// neighbours in time, so that slow drift of the machine hits all of them alike.
func (s *Study) groups(combos []combo) [][]combo {
	type ranked struct {
		rank []int
		c    combo
	}
	list := make([]ranked, len(combos))
	compared := s.compared()
	for i, c := range combos {
		list[i] = ranked{s.rank(c.values, compared), c}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return slices.Compare(a.rank, b.rank) })
	var out [][]combo
	for i, r := range list {
		if i == 0 || !slices.Equal(r.rank, list[i-1].rank) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r.c)
	}
	return out
}

// compared lists the axes whose values are shuffled next to each other: the
// scenario and the baseline's axis (or the target, if the baseline is a label
// of targets). An axis that needs another dataset is never among them, for each
// change of it means loading anew.
func (s *Study) compared() []string {
	axes := []string{axisScenario}
	if s.Baseline != nil {
		axis := s.Baseline.Axis
		if s.axis(axis) == nil && strings.HasPrefix(axis, labelPrefix) {
			axis = axisTarget
		}
		if !datasetSetting(axis) {
			axes = append(axes, axis)
		}
	}
	return axes
}

// rank orders the groups of a block: by target, by dataset, reads before
// writes (which change the dataset), by workload, by the further axes in file
// order, by threads. Compared axes do not count.
func (s *Study) rank(values map[string]string, compared []string) []int {
	var rank []int
	add := func(axis string) {
		if !slices.Contains(compared, axis) {
			rank = append(rank, slices.Index(s.valuesOf(axis), values[axis]))
		}
	}
	workloads := s.valuesOf(axisWorkload)
	add(axisTarget)
	for _, a := range s.Axes {
		if datasetSetting(a.Name) {
			add(a.Name)
		}
	}
	family := slices.IndexFunc(workloads, func(w string) bool { return datasetOf(w) == datasetOf(values[axisWorkload]) })
	phase := 1
	if readsOnly(values[axisWorkload]) {
		phase = 0
	}
	rank = append(rank, family, phase)
	add(axisWorkload)
	for _, a := range s.Axes {
		if !isCore(a.Name) && !datasetSetting(a.Name) {
			add(a.Name)
		}
	}
	add(axisThreads)
	return rank
}

// readsOnly reports whether a workload leaves the dataset as it is. A workload
// that is not known here counts as writing.
func readsOnly(workload string) bool {
	switch workload {
	case "oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges":
		return true
	}
	return false
}

// datasetOf names the dataset a workload runs on: all of sysbench's OLTP share
// one, any other workload has its own.
func datasetOf(workload string) string {
	if strings.HasPrefix(workload, "oltp_") || strings.HasPrefix(workload, "select_random_") {
		return "sbtest"
	}
	return workload
}

// datasetSetting reports whether another value of the setting needs another dataset.
func datasetSetting(name string) bool {
	switch name {
	case "tables", "table_size", "auto_inc", "secondary", "create_secondary", "mysql_storage_engine", "create_table_options", "mysql_db":
		return true
	}
	return false
}

// cell makes the variables of one combination.
func (s *Study) cell(c combo, container map[string]string) (Cell, error) {
	out := Cell{Env: map[string]string{}, Shared: map[string]string{}, axisLabels: map[string]string{}}
	for name, value := range s.Settings {
		out.Shared[variable(name)] = value
	}
	extra := map[string]string{}
	for axis, value := range c.values {
		if label, ok := strings.CutPrefix(axis, labelPrefix); ok {
			extra[label] = value
			continue
		}
		out.Env[variable(axis)] = value
		if !isCore(axis) {
			extra[axis] = value
		}
	}
	if c.aa {
		extra[aaLabel] = "baseline"
	}
	pick := func(axis, byDefault string) string {
		name := variable(axis)
		return firstSet(out.Env[name], container[name], out.Shared[name], byDefault)
	}
	out.Target, out.Workload, out.Scenario = pick(axisTarget, ""), pick(axisWorkload, "oltp_read_write"), pick(axisScenario, "asis")
	threads, err := strconv.Atoi(pick(axisThreads, "1"))
	if err != nil || threads < 1 {
		return Cell{}, bench.Errorf(bench.ExitConfig, "plan %s: threads %q, allowed are whole numbers from 1", s.Name, pick(axisThreads, "1"))
	}
	out.Threads = threads
	// What belongs to one workload or scenario only is a shared setting of its cells.
	for name, value := range merged(s.Workloads[out.Workload], s.Scenarios[out.Scenario]) {
		out.Shared[variable(name)] = value
	}
	target := s.Targets[out.Target]
	for name, value := range target.Settings {
		out.Env[variable(name)] = value
	}
	if out.Target == "" {
		out.Target = unnamedTarget(out.layered(container))
	}
	out.axisLabels = merged(target.Labels, extra)
	out.Labels = merged(s.Labels, parseLabels(container["BENCH_LABELS"]), out.axisLabels)
	if len(s.Labels) > 0 {
		out.Shared["BENCH_LABELS"] = formatLabels(s.Labels)
	}
	if len(out.axisLabels) > 0 {
		out.Env["BENCH_LABELS"] = formatLabels(merged(s.Labels, out.axisLabels))
	}
	out.ID = bench.CellID(out.Target, out.Workload, out.Scenario, out.Threads, extra)
	return out, nil
}

// unnamedTarget is what a target is called that has no name: its address, or
// "local" for the throwaway server that stands in when there is none.
func unnamedTarget(env map[string]string) string {
	switch {
	case env["BENCH_MYSQL_SOCKET"] != "":
		return env["BENCH_MYSQL_SOCKET"]
	case env["BENCH_MYSQL_HOST"] != "":
		return net.JoinHostPort(strings.Trim(env["BENCH_MYSQL_HOST"], "[]"), firstSet(env["BENCH_MYSQL_PORT"], "3306"))
	case env["BENCH_DSN"] != "":
		return dsnAddress(env["BENCH_DSN"])
	}
	return "local"
}

// dsnAddress is the address in a go-sql-driver DSN: `user:password@tcp(address)/db`.
func dsnAddress(dsn string) string {
	dsn = dsn[:max(0, strings.LastIndexByte(dsn, '/'))]
	network, address, ok := strings.Cut(strings.TrimSuffix(dsn[strings.LastIndexByte(dsn, '@')+1:], ")"), "(")
	switch {
	case !ok || address == "":
		return "127.0.0.1:3306" // the driver's default
	case network == "tcp" && !strings.Contains(address[strings.LastIndexByte(address, ']')+1:], ":"):
		return net.JoinHostPort(strings.Trim(address, "[]"), "3306")
	}
	return address
}

func firstSet(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// merged is the union of the maps, later ones winning.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// ParseOnly reads narrowing options of the form `axis=value,value`, several of
// them also in one text, separated by spaces or semicolons.
func ParseOnly(texts ...string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, text := range texts {
		for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ';' || r == '\n' || r == '\t' }) {
			axis, list, ok := strings.Cut(one, "=")
			if !ok || axis == "" || list == "" {
				return nil, bench.Errorf(bench.ExitConfig, "read narrowing option: %q, expected axis=value,value, e.g. threads=1,8", one)
			}
			for _, v := range strings.Split(list, ",") {
				if v != "" && !slices.Contains(out[axis], v) {
					out[axis] = append(out[axis], v)
				}
			}
		}
	}
	return out, nil
}
