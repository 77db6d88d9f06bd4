package scenario

import (
	"strings"
	"testing"

	"cellbench/internal/bench"
)

// FuzzFile holds that no scenario file makes the parser panic, and that what it
// refuses is told on one line with the code for configuration.
func FuzzFile(f *testing.F) {
	f.Add("scenarios:\n  - name: a\n    apply: [DO 1]\n    verify:\n      setup_consumers: [{name: x, enabled: NO}]\n")
	f.Add("scenarios: [{name: a, require: {x: on}, verify: {queries: [{query: q, expect: [1, null]}]}}]")
	f.Add("scenarios:\n  - &x {name: a}\n  - *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse([]byte(text), "f.yaml")
		if err != nil {
			if bench.CodeOf(err) != bench.ExitConfig || strings.Contains(err.Error(), "\n") {
				t.Fatalf("code %d: %q", bench.CodeOf(err), err)
			}
			return
		}
		for _, s := range all {
			_ = s.SQL()
		}
	})
}
