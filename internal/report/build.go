package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/report/stats"
)

// Options says how to read the documents. The zero value takes everything from
// the manifests.
type Options struct {
	Baseline    string      // "axis=value"; empty takes the study's
	At          []string    // "threads=32" or "32"; empty takes the study's, else 32, else the most
	Metric      string      // "qps" or "tps"; empty takes the study's, else qps
	MaxOverhead string      // "25%" or "25": the gate; empty sets none
	RequireAll  bool        // the gate: every planned cell has a usable result
	References  []Reference // published tables to stand beside the measured ones
	Title       string      // empty takes the study's name
}

// Reference is a published table: a CSV file as bytes.
type Reference struct {
	Name string
	Body []byte
}

// Build computes the report of docs. Documents that cannot be read are listed in
// it; only options that cannot be understood, references that cannot be read,
// and an input without a single result are errors, with ExitConfig.
func Build(docs []Document, o Options) (*Report, error) {
	entries, manifests, unread := read(docs)
	entries, twice := dedupe(entries)
	unread = append(unread, twice...)
	if len(entries) == 0 && len(o.References) == 0 {
		return nil, noResults(docs, unread)
	}
	entries = append(entries, missingCells(entries, manifests)...)
	r := &Report{Schema: Schema, Unread: unread}
	if err := r.settle(o, entries, manifests); err != nil {
		return nil, err
	}
	r.Panels = buildPanels(entries, manifests, r.Axis, r.Baseline)
	r.compare()
	if err := r.chooseAt(manifests); err != nil {
		return nil, err
	}
	r.measureLatency()
	r.Subject = describe(entries)
	r.listCells(entries)
	for _, ref := range o.References {
		t, err := ReadReference(ref.Name, ref.Body)
		if err != nil {
			return nil, err
		}
		t.measure(r)
		r.References = append(r.References, t)
	}
	r.Findings = r.find()
	var err error
	r.Broken, err = r.gate(o)
	return r, err
}

func noResults(docs []Document, unread []Unread) error {
	if len(unread) > 0 {
		return bench.Errorf(bench.ExitConfig, "build report: none of %d documents is a result; the first, %s: %s", len(docs), unread[0].Key, unread[0].Why)
	}
	return bench.Errorf(bench.ExitConfig, "build report: no results among %d documents", len(docs))
}

// settle decides title, metric, axis and baseline, from the options first and
// the manifests second.
func (r *Report) settle(o Options, entries []*entry, manifests []*manifest) error {
	baseline, metric := o.Baseline, o.Metric
	r.Title, r.Runs = o.Title, runsOf(entries)
	for _, m := range manifests {
		r.Title = cmp.Or(r.Title, m.Study.Report.Title, m.Study.Name)
		r.Description = cmp.Or(r.Description, unwrap(m.Study.Description))
		metric = cmp.Or(metric, m.Study.Report.Metric)
		if baseline == "" && m.Study.Baseline != nil {
			baseline = m.Study.Baseline.Axis + "=" + m.Study.Baseline.Value
		}
	}
	r.Title = cmp.Or(r.Title, "cellbench report")
	r.Metric = strings.ToLower(cmp.Or(metric, "qps"))
	if r.Metric != "qps" && r.Metric != "tps" {
		return bench.Errorf(bench.ExitConfig, "read metric: %q, allowed are qps and tps", metric)
	}
	var err error
	if r.At, err = readAt(o.At); err != nil {
		return err
	}
	if baseline == "" {
		setDims(entries, "")
		r.Axis = chooseAxis(entries)
		setDims(entries, r.Axis)
		return nil
	}
	axis, value, err := splitBaseline(baseline)
	if err != nil {
		return err
	}
	r.Axis, r.Baseline = axis, &value
	setDims(entries, axis)
	found := distinct(entries, axis)
	if o.Baseline != "" && len(entries) > 0 && !found[value] {
		return bench.Errorf(bench.ExitConfig, "read baseline: no cell has %s=%s, the values are %s", axis, value, quoted(found))
	}
	return nil
}

// unwrap makes one line of each paragraph of a text that was wrapped by hand.
func unwrap(s string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func quoted(values map[string]bool) string {
	var list []string
	for v := range values {
		list = append(list, strconv.Quote(v))
	}
	slices.SortFunc(list, natural)
	return strings.Join(list, ", ")
}

func runsOf(entries []*entry) []string {
	var runs []string
	for _, e := range entries {
		if !slices.Contains(runs, e.res.RunID) {
			runs = append(runs, e.res.RunID)
		}
	}
	slices.Sort(runs)
	return runs
}

// missingCells makes an entry with the status missing for every planned cell
// and repeat that left no document.
func missingCells(entries []*entry, manifests []*manifest) []*entry {
	type slot struct {
		run, id string
		repeat  int
	}
	have, same := make(map[slot]bool), make(map[string]*entry)
	for _, e := range entries {
		have[slot{e.res.RunID, e.res.Cell.ID, e.res.Cell.Repeat}] = true
		same[e.res.Cell.ID] = e
	}
	var missing []*entry
	for _, m := range manifests {
		for _, c := range m.Cells {
			s := slot{m.RunID, c.ID, max(c.Repeat, 1)}
			if have[s] {
				continue
			}
			have[s] = true
			c.Repeat = s.repeat
			e := &entry{settings: make(map[string]string), res: &bench.Result{Status: statusMissing, RunID: m.RunID, Cell: c}}
			if twin := same[c.ID]; twin != nil { // another repeat of the cell knows its settings
				e.settings = twin.settings
			}
			missing = append(missing, e)
		}
	}
	return missing
}

// buildPanels groups entries into panels and chooses what each point is made of.
func buildPanels(entries []*entry, manifests []*manifest, axis string, baseline *string) []*Panel {
	dims := panelDims(entries, axis)
	byKey := make(map[string]*Panel)
	groups := make(map[*Panel]map[spot][]*entry)
	var panels []*Panel
	for _, e := range entries {
		key, list := "", []Dim(nil)
		for _, d := range dims {
			list = append(list, Dim{d, e.dims[d]})
			key += fmt.Sprintf("%q ", e.dims[d])
		}
		p := byKey[key]
		if p == nil {
			p = &Panel{Dims: list, Workload: e.res.Cell.Workload, Title: panelTitle(list), points: make(map[spot]*Point)}
			byKey[key], groups[p] = p, make(map[spot][]*entry)
			panels = append(panels, p)
		}
		s := spot{columnName(e, axis), e.res.Cell.Threads}
		groups[p][s] = append(groups[p][s], e)
	}
	sortPanels(panels, manifests)
	columns := newOrder(manifests, axis)
	for i, p := range panels {
		p.ID = fmt.Sprintf("p%d", i+1)
		for s, g := range groups[p] {
			p.points[s] = newPoint(s.threads, g)
		}
		p.lay(columns, baseline)
	}
	return panels
}

// columnName is the compared value of e; an A/A cell stands in a column of its own.
func columnName(e *entry, axis string) string {
	name := e.dims[axis]
	if e.res.Cell.Labels[labelAA] != "" && axis != labelAA {
		name += aaSuffix
	}
	return name
}

// aaSuffix ends the column of a value's A/A repeat.
const aaSuffix = " (A/A)"

func panelTitle(dims []Dim) string {
	var parts []string
	for _, d := range dims {
		switch d.Name {
		case dimWorkload:
			parts = append(parts, workloadName(d.Value))
		case dimTarget, dimScenario:
			parts = append(parts, cmp.Or(d.Value, "(unnamed "+d.Name+")"))
		default:
			parts = append(parts, d.Name+" "+cmp.Or(d.Value, "(none)"))
		}
	}
	return strings.Join(parts, ", ")
}

// workloadName is how a sentence calls a workload: "oltp_read_only" is read-only.
func workloadName(w string) string {
	return strings.ReplaceAll(strings.TrimPrefix(w, "oltp_"), "_", "-")
}

func sortPanels(panels []*Panel, manifests []*manifest) {
	orders := make(map[string]order)
	for _, p := range panels {
		for _, d := range p.Dims {
			if _, ok := orders[d.Name]; !ok {
				orders[d.Name] = newOrder(manifests, d.Name)
			}
		}
	}
	slices.SortFunc(panels, func(a, b *Panel) int {
		for i, d := range a.Dims {
			if c := orders[d.Name].compare(d.Value, b.Dims[i].Value); c != 0 {
				return c
			}
		}
		return 0
	})
}

// lay orders threads and columns: the baseline first, its A/A repeat next.
func (p *Panel) lay(o order, baseline *string) {
	var values []string
	for s := range p.points {
		if !slices.Contains(p.Threads, s.threads) {
			p.Threads = append(p.Threads, s.threads)
		}
		if !slices.Contains(values, s.column) {
			values = append(values, s.column)
		}
	}
	slices.Sort(p.Threads)
	rank := func(v string) int {
		switch {
		case baseline != nil && v == *baseline:
			return 0
		case baseline != nil && v == *baseline+aaSuffix:
			return 1
		}
		return 2
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			o.compare(strings.TrimSuffix(a, aaSuffix), strings.TrimSuffix(b, aaSuffix)), strings.Compare(a, b))
	})
	for _, v := range values {
		c := &Column{Value: v, Baseline: rank(v) == 0, AA: rank(v) == 1}
		for _, t := range p.Threads {
			point := p.points[spot{v, t}]
			if point == nil { // in no plan, but its neighbours were measured
				point = &Point{Threads: t, State: statusMissing}
				p.points[spot{v, t}] = point
			}
			c.Points = append(c.Points, point)
		}
		p.Columns = append(p.Columns, c)
	}
	p.findAA()
}

// findAA marks columns that are the baseline under another name: the server was
// read back in exactly the state it was in for the baseline.
func (p *Panel) findAA() {
	var base *Column
	for _, c := range p.Columns {
		if c.Baseline {
			base = c
		}
	}
	if base == nil {
		return
	}
	state := serverState(base)
	for _, c := range p.Columns {
		if !c.Baseline && state != "" && serverState(c) == state && strings.HasPrefix(c.Value, base.Value) {
			c.AA = true
		}
	}
}

// serverState is the proven performance_schema state of all results of a
// column, "" when it is unknown or not the same in all.
func serverState(c *Column) string {
	state := ""
	for _, p := range c.Points {
		for _, e := range p.used {
			if e.res.Scenario == nil || e.res.Scenario.Applied == nil || e.res.Scenario.Applied.PerformanceSchema == nil {
				return ""
			}
			a := e.res.Scenario.Applied
			s := fmt.Sprintf("%v %q %q", *a.PerformanceSchema, a.Hash, sortedPairs(a.Variables))
			if state != "" && s != state {
				return ""
			}
			state = s
		}
	}
	return state
}

// newPoint chooses, for each repeat, the newest valid attempt, and of those the
// ones that may be put together.
func newPoint(threads int, group []*entry) *Point {
	type slot struct {
		run    string
		repeat int
	}
	slots := make(map[slot][]*entry)
	for _, e := range group {
		s := slot{e.res.RunID, e.res.Cell.Repeat}
		slots[s] = append(slots[s], e)
	}
	p := &Point{Threads: threads, Planned: true, repeats: len(slots), State: statusMissing}
	var chosen []*entry
	for _, attempts := range slots {
		e := newestValid(attempts)
		if e.res.Status == bench.StatusOK {
			chosen = append(chosen, e)
		}
		p.State = worse(p.State, e.res.Status)
	}
	if len(chosen) > 0 {
		p.State = bench.StatusOK
		p.use(chosen)
	}
	return p
}

// worse picks the state to print for a point without any usable result: the one
// that says the most about what happened.
func worse(a, b bench.Status) bench.Status {
	rank := []bench.Status{statusMissing, bench.StatusInterrupted, bench.StatusFailed, bench.StatusInvalid}
	if slices.Index(rank, b) > slices.Index(rank, a) {
		return b
	}
	return a
}

// newestValid returns the newest attempt that is ok, else the newest.
func newestValid(attempts []*entry) *entry {
	slices.SortFunc(attempts, func(a, b *entry) int {
		return cmp.Or(strings.Compare(b.res.Attempt, a.res.Attempt), strings.Compare(b.key, a.key))
	})
	for _, e := range attempts {
		if e.res.Status == bench.StatusOK {
			return e
		}
	}
	return attempts[0]
}

// use makes the point of the chosen results. Results of different fingerprints
// or engines are never put together: the largest group (the newest at a tie) is
// used, the others are listed.
func (p *Point) use(chosen []*entry) {
	groups := make(map[string][]*entry)
	for _, e := range chosen {
		groups[compat(e.res)] = append(groups[compat(e.res)], e)
	}
	newest := func(g []*entry) string {
		at := ""
		for _, e := range g {
			at = max(at, e.res.Attempt+e.key)
		}
		return at
	}
	for _, g := range groups {
		if len(g) > len(p.used) || len(g) == len(p.used) && newest(g) > newest(p.used) {
			p.used = g
		}
	}
	slices.SortFunc(p.used, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.res.RunID, b.res.RunID), cmp.Compare(a.res.Cell.Repeat, b.res.Cell.Repeat))
	})
	var qps, tps, cpu []float64
	for _, e := range p.used {
		qps, tps = append(qps, e.res.Throughput.QPS), append(tps, e.res.Throughput.TPS)
		if s := e.res.Server; s != nil && s.CPU != nil {
			cpu = append(cpu, s.CPU.USPerQuery)
		}
	}
	p.QPS, p.TPS = stats.Summarize(qps), stats.Summarize(tps)
	if len(cpu) == len(p.used) {
		p.CPU = &stats.Summarize(cpu).Center
	}
}

// compat is equal for results that may be put together.
func compat(r *bench.Result) string {
	s := ""
	if r.Fingerprint != nil {
		s = *r.Fingerprint
	}
	if r.Engine != nil {
		s += " " + r.Engine.Name + " " + r.Engine.Protocol
	}
	return s
}

// readAt reads "threads=32" or "32".
func readAt(list []string) ([]int, error) {
	var at []int
	var errs []error
	for _, item := range list {
		for s := range strings.SplitSeq(item, ",") {
			n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(s), "threads="))
			if err != nil || n < 1 {
				errs = append(errs, fmt.Errorf("read concurrency: %q, want threads=N, e.g. threads=32", s))
				continue
			}
			if !slices.Contains(at, n) {
				at = append(at, n)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "%w", err)
	}
	slices.Sort(at)
	return at, nil
}

// chooseAt picks the concurrency of summary and findings when none was asked
// for: the study's, else 32 when every panel has it, else the most that all
// panels have, else the most of any.
func (r *Report) chooseAt(manifests []*manifest) error {
	for _, n := range r.At {
		if len(r.Panels) > 0 && !r.measuredAt(n) {
			return bench.Errorf(bench.ExitConfig, "read concurrency: no cell has threads=%d", n)
		}
	}
	var asked []int
	for _, m := range manifests {
		for _, at := range m.Study.Report.At {
			// What the plan wants to see of other axes, or of a run that was narrowed,
			// is not in this report.
			axis, value, _ := strings.Cut(at, "=")
			n, err := strconv.Atoi(value)
			if axis == "threads" && err == nil && r.measuredAt(n) && !slices.Contains(asked, n) {
				asked = append(asked, n)
			}
		}
	}
	if len(r.At) == 0 {
		slices.Sort(asked)
		r.At = asked
	}
	if len(r.At) > 0 || len(r.Panels) == 0 {
		return nil
	}
	common := slices.Clone(r.Panels[0].Threads)
	most := 0
	for _, p := range r.Panels {
		common = slices.DeleteFunc(common, func(t int) bool { return !slices.Contains(p.Threads, t) })
		most = max(most, slices.Max(p.Threads))
	}
	switch {
	case slices.Contains(common, 32):
		r.At = []int{32}
	case len(common) > 0:
		r.At = []int{slices.Max(common)}
	default:
		r.At = []int{most}
	}
	return nil
}

func (r *Report) measuredAt(threads int) bool {
	return slices.ContainsFunc(r.Panels, func(p *Panel) bool { return slices.Contains(p.Threads, threads) })
}
