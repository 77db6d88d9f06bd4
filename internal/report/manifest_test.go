package report

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"cellbench/internal/study"
)

// The plan that the study room writes is understood by this one.
func TestManifestOfStudy(t *testing.T) {
	t.Parallel()
	data, ok := study.Builtin("demo")
	if !ok {
		t.Fatal("no built-in study demo")
	}
	s, err := study.Parse("demo", data, study.KnownNames([]string{"tables", "table_size", "warmup_time", "time", "report_interval"}))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells(study.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(s.Manifest(cells, study.Options{}, "run", "v1", time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	// One cell was measured, every other one of the plan is missing.
	c := cells[0]
	list := docs(t, made{target: c.Target, workload: c.Workload, scenario: c.Scenario, threads: c.Threads, repeat: c.Repeat, qps: 5, labels: c.Labels})
	r := build(t, append(list, Document{Key: "run/manifest.json", Body: body}), Options{})
	if r.Baseline == nil || r.Axis != "scenario" || *r.Baseline != "pfsoff" {
		t.Errorf("compares %s against %v, want scenario against pfsoff", r.Axis, r.Baseline)
	}
	if !slices.Equal(r.At, []int{8}) {
		t.Errorf("at %v, want 8", r.At)
	}
	if r.Title == "demo" || r.Title == "cellbench report" || r.Description == "" {
		t.Errorf("title %q and description %q, want the study's", r.Title, r.Description)
	}
	if r.count.missing != len(cells)-1 || r.count.ok != 1 {
		t.Errorf("%d missing and %d valid, want %d and 1", r.count.missing, r.count.ok, len(cells)-1)
	}
	if len(r.Panels) != 2 || len(r.Panels[0].Columns) != 3 || r.Panels[0].Columns[1].Value != "pfson_default" {
		t.Errorf("%d panels, want two with three scenarios in the plan's order", len(r.Panels))
	}
}
