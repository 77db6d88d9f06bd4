package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"cellbench/internal/bench"
)

// Document is one stored object as it was read.
type Document struct {
	Key    string // `<run_id>/cells/<cell_id>/r<repeat>/<attempt>.json` or `<run_id>/manifest.json`
	Source string // the folder or bucket it came from, for messages
	Body   []byte
}

// Unread is a document that could not be used, and why.
type Unread struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

// entry is one result with what the report derives from it.
type entry struct {
	key      string
	res      *bench.Result
	settings map[string]string // config by lower-case name without BENCH_
	dims     map[string]string // every dimension but threads and repeat
	body     []byte            // to tell a repeated document from a conflicting one
}

// manifest is what the report needs of a run's plan. The study room defines the
// document; members that are not named here are skipped.
type manifest struct {
	RunID string        `json:"run_id"`
	Study manifestStudy `json:"study"`
	Cells []bench.Cell  `json:"cells"`
}

// manifestStudy is the study a run was planned from.
type manifestStudy struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Baseline    *axisValue          `json:"baseline"`
	Axes        map[string][]string `json:"axes"` // values in the order of the file
	Report      struct {
		Title  string   `json:"title"`
		At     []string `json:"at"` // "threads=32"
		Metric string   `json:"metric"`
	} `json:"report"`
}

// axisValue is one value of an axis.
type axisValue struct {
	Axis  string `json:"axis"`
	Value string `json:"value"`
}

// read sorts documents into results, manifests and unread ones. It never fails:
// what cannot be used is listed.
func read(docs []Document) (entries []*entry, manifests []*manifest, unread []Unread) {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b Document) int { return strings.Compare(a.Key, b.Key) })
	for _, d := range docs {
		var head struct {
			Schema string `json:"schema"`
		}
		err := json.Unmarshal(d.Body, &head)
		switch {
		case err != nil:
			unread = append(unread, Unread{d.Key, "not a JSON document: " + err.Error()})
		case head.Schema == bench.ResultSchema:
			e, err := readResult(d)
			if err != nil {
				unread = append(unread, Unread{d.Key, err.Error()})
				continue
			}
			entries = append(entries, e)
		case strings.HasPrefix(head.Schema, "cellbench.manifest/"):
			m := new(manifest)
			if err := json.Unmarshal(d.Body, m); err != nil {
				unread = append(unread, Unread{d.Key, "manifest: " + err.Error()})
				continue
			}
			manifests = append(manifests, m)
		default:
			unread = append(unread, Unread{d.Key, fmt.Sprintf("schema %q, this version reads %q", head.Schema, bench.ResultSchema)})
		}
	}
	return entries, manifests, unread
}

// readResult decodes one result. A result that says ok without usable numbers
// is turned into an invalid one, never into a zero.
func readResult(d Document) (*entry, error) {
	r := new(bench.Result)
	if err := json.Unmarshal(d.Body, r); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if r.Cell.Threads < 1 || r.Cell.Workload == "" {
		return nil, fmt.Errorf("result: cell %q names no workload or no threads", r.Cell.ID)
	}
	if r.Cell.Repeat < 1 {
		r.Cell.Repeat = 1
	}
	if c := r.Cell; c.ID == "" {
		r.Cell.ID = bench.CellID(c.Target, c.Workload, c.Scenario, c.Threads, c.Labels)
	}
	switch r.Status {
	case bench.StatusOK, bench.StatusInvalid, bench.StatusFailed, bench.StatusInterrupted:
	default:
		invalidate(r, fmt.Sprintf("status %q is not known", r.Status))
	}
	if r.Status == bench.StatusOK {
		if why := unusable(r); why != "" {
			invalidate(r, why)
		}
	}
	e := &entry{key: d.Key, res: r, settings: make(map[string]string), body: d.Body}
	for k, v := range r.Config {
		e.settings[settingName(k)] = v
	}
	return e, nil
}

func invalidate(r *bench.Result, why string) {
	if r.Reason != nil && *r.Reason != "" {
		why += "; " + *r.Reason
	}
	r.Status, r.Reason = bench.StatusInvalid, &why
}

// unusable says why the numbers of a result cannot be a measurement's, or nothing.
func unusable(r *bench.Result) string {
	t, c, w := r.Throughput, r.Counts, r.Window
	if t == nil {
		return "the result holds no throughput"
	}
	for _, v := range []float64{t.QPS, t.TPS} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprintf("throughput %v is not a rate", v)
		}
	}
	if c != nil {
		if min(c.Reads, c.Writes, c.Others, c.Events, c.Errors) < 0 || c.Queries != c.Reads+c.Writes+c.Others {
			return fmt.Sprintf("the counts do not add up: %d reads, %d writes and %d others, %d queries", c.Reads, c.Writes, c.Others, c.Queries)
		}
	}
	if w != nil && w.ElapsedS <= 0 {
		return fmt.Sprintf("the window lasted %v s", w.ElapsedS)
	}
	if c != nil && w != nil {
		// The rates are quotients of the two, so this is more than rounding allows.
		const slack = 1e-3
		for _, one := range []struct {
			name string
			n    int64
			rate float64
		}{{"qps", c.Queries, t.QPS}, {"tps", c.Events, t.TPS}} {
			if want := float64(one.n) / w.ElapsedS; math.Abs(one.rate-want) > slack*(1+want) {
				return fmt.Sprintf("%s is %v, but the counts over the window make %v", one.name, one.rate, want)
			}
		}
	}
	return ""
}

// settingName turns BENCH_RAND_TYPE into rand_type.
func settingName(variable string) string {
	return strings.ToLower(strings.TrimPrefix(variable, "BENCH_"))
}

// axisName is the dimension an axis of a plan or an option names: a label may be
// written label.NAME, a setting BENCH_NAME.
func axisName(axis string) string {
	if label, ok := strings.CutPrefix(axis, "label."); ok {
		return label
	}
	if strings.HasPrefix(axis, "BENCH_") {
		return settingName(axis)
	}
	return axis
}

// dedupe drops entries that are the same document found twice and gives the
// notes for attempts that exist twice with different content (both are kept).
func dedupe(entries []*entry) (kept []*entry, unread []Unread) {
	seen := make(map[string]*entry)
	for _, e := range entries {
		id := fmt.Sprintf("%q %q %d %q", e.res.RunID, e.res.Cell.ID, e.res.Cell.Repeat, e.res.Attempt)
		first, twice := seen[id]
		if !twice {
			seen[id] = e
		} else if bytes.Equal(first.body, e.body) {
			continue
		} else {
			unread = append(unread, Unread{e.key, "another document has the same run, cell, repeat and attempt and other content: " + first.key})
		}
		kept = append(kept, e)
	}
	for _, e := range kept {
		e.body = nil
	}
	return kept, unread
}
