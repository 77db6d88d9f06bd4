package dataset

import (
	"context"
	"fmt"

	"cellbench/internal/bench"
)

// Drop drops the tables of a spec that cellbench has made and returns their
// names. A table of the spec that the marker does not name is an error of code
// 66, and then nothing is dropped. The marker goes with the last table it names.
func Drop(ctx context.Context, c Conn, s Spec) ([]string, error) {
	all, err := inspect(ctx, c, s)
	if err != nil {
		return nil, fmt.Errorf("drop dataset: %w", err)
	}
	for i := range all {
		if all[i].exists && all[i].mark == nil {
			return nil, bench.Errorf(bench.ExitUnsafe, "drop dataset: table %s was not made by cellbench: drop it yourself", s.Tables[i].Name)
		}
	}
	var dropped []string
	for i := range all {
		name := s.Tables[i].Name
		if all[i].mark == nil {
			continue
		}
		if all[i].exists {
			if _, err := c.Exec(ctx, "DROP TABLE "+Quote(name)); err != nil {
				return dropped, fmt.Errorf("drop table %s: %w", name, err)
			}
			dropped = append(dropped, name)
		}
		if _, err := c.Exec(ctx, "DELETE FROM "+MarkerTable+" WHERE table_name = "+literal(name)); err != nil {
			return dropped, fmt.Errorf("note that %s is dropped: %w", name, err)
		}
	}
	return dropped, dropMarker(ctx, c)
}

// dropMarker drops the marker if it names no table.
func dropMarker(ctx context.Context, c Conn) error {
	marks, err := readMarks(ctx, c)
	if err != nil || len(marks) > 0 {
		return err
	}
	if _, err := c.Exec(ctx, "DROP TABLE IF EXISTS "+MarkerTable); err != nil {
		return fmt.Errorf("drop table %s: %w", MarkerTable, err)
	}
	return nil
}

// TableState is what Check finds of one table.
type TableState struct {
	Name     string
	Exists   bool
	Ours     bool  // made by cellbench
	Complete bool  // made by cellbench for this spec, and the load was completed
	Rows     int64 // exact; -1 if the table does not exist
	// Differences say where it is not what the workload needs; empty for a table
	// that Prepare would use as it is.
	Differences []string
}

// Check looks at the tables of a spec and changes nothing.
func Check(ctx context.Context, c Conn, s Spec) ([]TableState, error) {
	all, err := inspect(ctx, c, s)
	if err != nil {
		return nil, fmt.Errorf("check dataset: %w", err)
	}
	states := make([]TableState, 0, len(all))
	for i := range all {
		t, f := &s.Tables[i], &all[i]
		st := TableState{Name: t.Name, Exists: f.exists, Ours: f.mark != nil, Rows: -1}
		st.Complete = f.exists && st.Ours && f.matches && f.mark.state == stateComplete
		if !f.exists {
			st.Differences = []string{"it is missing"}
			states = append(states, st)
			continue
		}
		if st.Rows, err = count(ctx, c, t.Name); err != nil {
			return nil, fmt.Errorf("check dataset: %w", err)
		}
		st.Differences = f.explain(t, st)
		states = append(states, st)
	}
	return states, nil
}

// explain says in words why a table would not be used as it is.
func (f *found) explain(t *Table, st TableState) []string {
	var diff []string
	switch {
	case st.Ours && !f.matches:
		diff = append(diff, "it was made with other options")
	case st.Ours && !st.Complete:
		diff = append(diff, "its load was not completed")
	case !st.Ours && t.Shape == nil:
		diff = append(diff, "it was not made by cellbench")
	case !st.Ours:
		diff = t.Shape.differences(&f.shape)
	case !f.complete(t):
		diff = append(diff, "an index is missing")
	}
	if st.Rows != t.Rows {
		diff = append(diff, fmt.Sprintf("it has %d rows instead of %d", st.Rows, t.Rows))
	}
	return diff
}
