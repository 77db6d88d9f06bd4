package integration

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cellbench/internal/bench"
)

// schemaFile is the contract of the result document.
const schemaFile = "../internal/bench/result.schema.json"

// validateResult checks a result document: it is what the JSON Schema describes, it
// holds nothing that bench.Result does not know, and its numbers add up.
func validateResult(t *testing.T, document []byte) bench.Result {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatalf("compile %s: %v", schemaFile, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("result is no JSON: %v\n%s", err, document)
	}
	if err := schema.Validate(value); err != nil {
		t.Fatalf("result is not what %s describes: %v\n%s", schemaFile, err, document)
	}
	var result bench.Result
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&result); err != nil {
		t.Fatalf("result does not decode: %v", err)
	}
	addsUp(t, &result)
	return result
}

// addsUp checks the sums that the contract promises.
func addsUp(t *testing.T, r *bench.Result) {
	t.Helper()
	if (r.Status == bench.StatusOK) != (r.Reason == nil) {
		t.Errorf("status %q with reason %v: a reason is given exactly when the status is not ok", r.Status, r.Reason)
	}
	if c := r.Counts; c != nil {
		if sum := c.Reads + c.Writes + c.Others; sum != c.Queries {
			t.Errorf("reads + writes + others = %d, queries = %d", sum, c.Queries)
		}
		intervalsAddUp(t, r)
		rateIs(t, "qps", r, c.Queries, func(p *bench.Throughput) float64 { return p.QPS })
		rateIs(t, "tps", r, c.Events, func(p *bench.Throughput) float64 { return p.TPS })
		var failed int64
		for _, e := range r.Errors {
			failed += e.Count
		}
		if failed != c.Errors {
			t.Errorf("errors[] add up to %d, counts.errors = %d", failed, c.Errors)
		}
	}
	if l := r.Latency; l != nil {
		latencyOrdered(t, "event", l.Event)
		for kind, latency := range l.Statements {
			latencyOrdered(t, kind, latency)
		}
		if r.Counts != nil && l.Event != nil && l.Event.Count != r.Counts.Events {
			t.Errorf("latency.event.count = %d, counts.events = %d", l.Event.Count, r.Counts.Events)
		}
	}
}

func intervalsAddUp(t *testing.T, r *bench.Result) {
	t.Helper()
	if len(r.Intervals) == 0 {
		return
	}
	var queries, events, errors int64
	for _, interval := range r.Intervals {
		queries += interval.Queries
		events += interval.Events
		errors += interval.Errors
	}
	if queries != r.Counts.Queries || events != r.Counts.Events || errors != r.Counts.Errors {
		t.Errorf("intervals add up to %d queries, %d events, %d errors; counts say %d, %d, %d",
			queries, events, errors, r.Counts.Queries, r.Counts.Events, r.Counts.Errors)
	}
}

func rateIs(t *testing.T, name string, r *bench.Result, count int64, get func(*bench.Throughput) float64) {
	t.Helper()
	if r.Throughput == nil || r.Window == nil || r.Window.ElapsedS == 0 {
		return
	}
	want := float64(count) / r.Window.ElapsedS
	if got := get(r.Throughput); math.Abs(got-want) > 0.001*want+0.01 {
		t.Errorf("%s = %v, but %d in %v s are %v", name, got, count, r.Window.ElapsedS, want)
	}
}

func latencyOrdered(t *testing.T, name string, l *bench.Latency) {
	t.Helper()
	if l == nil || l.Count == 0 {
		return
	}
	if l.MinMS > l.MeanMS || l.MeanMS > l.MaxMS {
		t.Errorf("latency of %s: min %v, mean %v, max %v", name, l.MinMS, l.MeanMS, l.MaxMS)
	}
	for a, x := range l.Percentiles {
		if x > l.MaxMS {
			t.Errorf("latency of %s: p%s %v is above the maximum %v", name, a, x, l.MaxMS)
		}
		for b, y := range l.Percentiles {
			if number(t, a) < number(t, b) && x > y {
				t.Errorf("latency of %s: p%s %v is above p%s %v", name, a, x, b, y)
			}
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("percentile %q is no number", text)
	}
	return value
}

// storedResults returns every result below a results directory, validated, by key.
func storedResults(t *testing.T, dir string) map[string]bench.Result {
	t.Helper()
	results := make(map[string]bench.Result)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if _, ok := bench.ParseResultKey(filepath.ToSlash(key)); !ok {
			return nil // the manifest, the report
		}
		document, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		results[filepath.ToSlash(key)] = validateResult(t, document)
		return nil
	})
	if err != nil {
		t.Fatalf("read results in %s: %v", dir, err)
	}
	return results
}
