package load

import (
	"cmp"
	"maps"
	"slices"

	"cellbench/internal/bench"
)

func mergeErrors(into, from map[ErrorKey]*bench.ErrorCount) {
	for k, e := range from {
		if have, ok := into[k]; ok {
			have.Count += e.Count
			continue
		}
		c := *e
		into[k] = &c
	}
}

// sortErrors returns the errors, most frequent first.
func sortErrors(m map[ErrorKey]*bench.ErrorCount) []bench.ErrorCount {
	out := make([]bench.ErrorCount, 0, len(m))
	for e := range maps.Values(m) {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b bench.ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.SQLState, b.SQLState))
	})
	return out
}
