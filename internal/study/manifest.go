package study

import (
	"maps"
	"strings"
	"time"

	"cellbench/internal/bench"
)

// ManifestSchema names the version of the manifest document.
const ManifestSchema = "cellbench.manifest/v1"

// Manifest is the plan of one run as it is stored beside the results: which
// cells there should be and under which settings. It never holds a secret:
// references stay references, values are masked.
type Manifest struct {
	Schema    string              `json:"schema"`
	RunID     string              `json:"run_id"`
	Version   string              `json:"version"`    // of cellbench
	CreatedAt time.Time           `json:"created_at"` // UTC
	Study     ManifestStudy       `json:"study"`
	Only      map[string][]string `json:"only"`      // narrowing options of this run, by axis
	Overrides map[string]string   `json:"overrides"` // BENCH_ variables of the container
	Repeats   int                 `json:"repeats"`   // of this run
	Order     ManifestOrder       `json:"order"`
	EstimateS float64             `json:"estimate_s"` // of all cells, one after another
	Cells     []ManifestCell      `json:"cells"`      // in the order of measurement
}

// ManifestStudy is the study file. Axes go by the names that results have: a
// label's own, without `label.`.
type ManifestStudy struct {
	Name        string                       `json:"name"`
	Description string                       `json:"description"`
	SHA256      string                       `json:"sha256"` // of the file
	Axes        map[string][]string          `json:"axes"`   // values in file order
	Settings    map[string]string            `json:"settings"`
	Labels      map[string]string            `json:"labels"`
	Targets     map[string]ManifestTarget    `json:"targets"`
	Workloads   map[string]map[string]string `json:"workloads"` // settings of single workloads
	Scenarios   map[string]map[string]string `json:"scenarios"` // settings of single scenarios
	Baseline    *ManifestValue               `json:"baseline"`  // null without one
	AA          bool                         `json:"aa"`
	Report      ManifestReport               `json:"report"`
}

// ManifestValue is one value of one axis.
type ManifestValue struct {
	Axis  string `json:"axis"`
	Value string `json:"value"`
}

// ManifestReport is what the report should show; empty is the report's default.
type ManifestReport struct {
	Title  string   `json:"title,omitempty"`
	Metric string   `json:"metric,omitempty"`
	At     []string `json:"at,omitempty"` // "threads=32"
}

// ManifestTarget is one target without its secrets.
type ManifestTarget struct {
	Settings map[string]string `json:"settings"`
	Labels   map[string]string `json:"labels"`
}

// ManifestOrder is how the cells were ordered; Seed makes the same order again.
type ManifestOrder struct {
	Mode string `json:"mode"`
	Seed uint64 `json:"seed"`
}

// ManifestCell is one planned cell; Env are its axes, by variable.
type ManifestCell struct {
	bench.Cell
	Env map[string]string `json:"env"`
}

// Manifest describes a run of the cells that Cells(o) returned. version is
// cellbench's own, now the time of the plan.
func (s *Study) Manifest(cells []Cell, o Options, runID, version string, now time.Time) Manifest {
	container := parseEnviron(o.Environ)
	hide := s.masker(container)
	m := Manifest{
		Schema: ManifestSchema, RunID: runID, Version: version, CreatedAt: now.UTC(), Study: s.describe(hide),
		Only: copied(o.Only), Overrides: map[string]string{}, Repeats: s.Repeats, Order: ManifestOrder{s.Order.Mode, s.seed(o)},
		EstimateS: Estimate(cells, o.Environ).Seconds(), Cells: make([]ManifestCell, 0, len(cells)),
	}
	if o.Repeats > 0 {
		m.Repeats = o.Repeats
	}
	for name, value := range container {
		if strings.HasPrefix(name, "BENCH_") && value != "" {
			m.Overrides[name] = hide.value(name, value)
		}
	}
	for _, c := range cells {
		one := ManifestCell{Cell: c.Bench(), Env: map[string]string{}}
		one.Labels = hide.all(one.Labels)
		for _, a := range s.Axes {
			if name := variable(a.Name); c.Env[name] != "" {
				one.Env[name] = hide.value(name, c.Env[name])
			}
		}
		m.Cells = append(m.Cells, one)
	}
	return m
}

// describe is the file without its secrets.
func (s *Study) describe(hide masker) ManifestStudy {
	out := ManifestStudy{
		Name: s.Name, Description: hide.text(s.Description), SHA256: s.SHA256, Axes: map[string][]string{},
		Settings: hide.all(s.Settings), Labels: hide.all(s.Labels), Targets: map[string]ManifestTarget{},
		Workloads: map[string]map[string]string{}, Scenarios: map[string]map[string]string{}, AA: s.AA,
		Report: ManifestReport{Title: hide.text(s.Report.Title), Metric: s.Report.Metric},
	}
	for _, a := range s.Axes {
		out.Axes[strings.TrimPrefix(a.Name, labelPrefix)] = s.valuesOf(a.Name)
	}
	for name, t := range s.Targets {
		out.Targets[name] = ManifestTarget{hide.all(t.Settings), hide.all(t.Labels)}
	}
	for name, settings := range s.Workloads {
		out.Workloads[name] = hide.all(settings)
	}
	for name, settings := range s.Scenarios {
		out.Scenarios[name] = hide.all(settings)
	}
	if s.Baseline != nil {
		out.Baseline = &ManifestValue{strings.TrimPrefix(s.Baseline.Axis, labelPrefix), s.Baseline.Value}
	}
	for _, at := range s.Report.At {
		out.Report.At = append(out.Report.At, strings.TrimPrefix(at.Axis, labelPrefix)+"="+at.Value)
	}
	return out
}

// masker knows the secrets of the container and of every part of the study.
func (s *Study) masker(container map[string]string) masker {
	sets := []map[string]string{container, s.Settings}
	for _, t := range s.Targets {
		sets = append(sets, t.Settings)
	}
	for _, settings := range s.Workloads {
		sets = append(sets, settings)
	}
	for _, settings := range s.Scenarios {
		sets = append(sets, settings)
	}
	return newMasker(sets...)
}

// copied copies a map, so that nil becomes {} in JSON.
func copied(m map[string][]string) map[string][]string {
	out := map[string][]string{}
	maps.Copy(out, m)
	return out
}
