package dataset

import "testing"

// Connections spread over the tables, go on where they are, and share the last.
func TestQueue(t *testing.T) {
	t.Parallel()
	var jobs []job
	for table := range 3 {
		for n := range int64(4) {
			jobs = append(jobs, job{table: table, lo: n})
		}
	}
	q := newQueue(jobs)
	a, b := q.taker(), q.taker()
	for i, step := range []struct {
		take  func() (job, bool)
		table int
		lo    int64
	}{
		{a, 0, 0},
		{b, 1, 0},
		{a, 0, 1},
		{a, 0, 2},
		{a, 0, 3},
		{b, 1, 1},
		{a, 2, 0},
		{a, 2, 1},
		{b, 1, 2},
		{b, 1, 3},
		{b, 2, 2},
		{a, 2, 3},
	} {
		if j, ok := step.take(); !ok || j.table != step.table || j.lo != step.lo {
			t.Fatalf("step %d took %+v, want table %d from %d", i, j, step.table, step.lo)
		}
	}
	for range 2 {
		if j, ok := a(); ok {
			t.Fatalf("took %+v from an empty queue", j)
		}
		if _, ok := b(); ok {
			t.Fatal("took from an empty queue")
		}
	}
}
