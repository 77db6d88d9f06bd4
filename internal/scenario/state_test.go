package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mixed is a state with every combination of flags.
func mixed() *state {
	s := &state{variables: map[string]string{"a": "1", "init_connect": "it's"}}
	s.consumers = []consumer{{"global_instrumentation", yes}, {"events_waits_current", no}, {"statements_digest", yes}}
	for i := range 40 {
		s.instruments = append(
			s.instruments,
			instrument{fmt.Sprintf("wait/synch/mutex/sql/m%02d", i), no, no},
			instrument{fmt.Sprintf("statement/sql/s%02d", i), yes, yes},
			instrument{fmt.Sprintf("memory/sql/m%02d", i), yes, ""},
			instrument{fmt.Sprintf("stage/sql/s%02d", i), no, yes},
		)
	}
	s.instruments = append(s.instruments, instrument{"idle", yes, no}, instrument{"statement/sql/odd", no, no}, instrument{"stage/innodb/x", yes, yes})
	s.sort()
	return s
}

func TestSavedRoundTrip(t *testing.T) {
	t.Parallel()
	found := mixed()
	v := save(Scenario{Name: "x", Undo: []string{"DO 1"}}, found, []string{"init_connect", "gone", "a"})
	text, err := v.encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeSaved(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Error(diff)
	}
	if got := back.state(); got.hash() != found.hash() || got.variables["init_connect"] != "it's" {
		t.Errorf("state %+v", got)
	}
	for _, bad := range []string{"", "%", "AAAA", text[:20]} {
		if _, err := decodeSaved(bad); err == nil {
			t.Errorf("%q was decoded", bad)
		}
	}
}

func TestByHandSQL(t *testing.T) {
	t.Parallel()
	v := save(Scenario{Undo: []string{"DO 1"}}, mixed(), []string{"a", "init_connect"})
	want := []string{
		"DO 1",
		"SET GLOBAL init_connect = 'it''s'",
		"SET GLOBAL a = 1",
		"UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'",
		"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ('global_instrumentation', 'statements_digest')",
		"UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'",
		"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'YES' WHERE NAME LIKE 'stage/sql/%'",
		"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'NO' WHERE NAME LIKE 'wait/synch/%'",
		"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'NO' WHERE NAME IN ('statement/sql/odd')",
		"UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'NO' WHERE NAME IN ('idle')",
	}
	if diff := cmp.Diff(want, v.byHand()); diff != "" {
		t.Error(diff)
	}
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	want, now := mixed(), mixed()
	if got := repairs(now, want); got != nil {
		t.Errorf("equal states are repaired: %q", got)
	}
	now.consumers[0].Enabled = yes
	now.instruments[0].Enabled = no // a memory instrument, without timer
	got := strings.Join(repairs(now, want), "\n")
	for _, part := range []string{
		"setup_consumers SET ENABLED = 'NO' WHERE NAME IN ('events_waits_current')",
		"setup_instruments SET ENABLED = 'YES', TIMED = 'NO' WHERE NAME IN ('idle')",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	if strings.Count(got, "UPDATE") != 2 {
		t.Errorf("more than the differences is changed:\n%s", got)
	}
}

func TestVerifyRules(t *testing.T) {
	t.Parallel()
	rows := []instrument{
		{"error", yes, ""},
		{"memory/performance_schema/mutex", yes, ""},
		{"memory/sql/x", no, ""},
		{"statement/sql/select", yes, yes},
		{"wait/io/table/sql/handler", yes, yes},
	}
	for _, tc := range []struct {
		name     string
		rules    []InstrumentRule
		problems []string
		notes    int
	}{
		{"last rule counts", []InstrumentRule{{"%", no, no}, {"statement/%", yes, yes}, {"wait/%", yes, ""}, {"wait/io/%", "", yes}, {"error", yes, ""}}, nil, 1},
		{"all on, no timers", []InstrumentRule{{"%", "", yes}}, nil, 2},
		{"a row of its own must be there", []InstrumentRule{{"stage/none", yes, yes}}, []string{"no instrument stage/none"}, 0},
		{"off", []InstrumentRule{{"statement/%", no, no}}, []string{
			"instrument statement/sql/select has ENABLED YES, not NO", "instrument statement/sql/select has TIMED YES, not NO",
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			problems, notes := verifyInstruments(tc.rules, rows)
			if diff := cmp.Diff(tc.problems, problems); diff != "" || len(notes) != tc.notes {
				t.Errorf("%s\nnotes %q", diff, notes)
			}
		})
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"%", "", true},
		{"a", "a", true},
		{"a", "ab", false},
		{"wait/%", "wait/io", true},
		{"wait/%", "await/io", false},
		{"%/sql/%", "wait/io/sql/x", true},
		{"%sql", "wait/sql", true},
		{"a%b%c", "a-b-c", true},
		{"a%b%c", "acb", false},
		{"a%a", "a", false},
		{"a_b", "axb", false},
	} {
		if got := like(tc.pattern, tc.name); got != tc.want {
			t.Errorf("like(%q, %q) = %v", tc.pattern, tc.name, got)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"ON", "1", true},
		{"off", "0", true},
		{"ON", "OFF", false},
		{"10", "10.000000", true},
		{"FILE", "file", true},
		{"FILE", "TABLE", false},
		{"", "0", false},
	} {
		if same(tc.a, tc.b) != tc.want {
			t.Errorf("same(%q, %q) is not %v", tc.a, tc.b, tc.want)
		}
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	s := &state{instruments: []instrument{{"wait/synch/mutex/x", yes, no}, {"wait/io/file/x", no, no}, {"memory/sql/x", yes, ""}, {"idle", yes, yes}}}
	r := s.report()
	for name, want := range map[string][3]int{"wait/synch": {1, 1, 0}, "wait/io": {1, 0, 0}, "memory": {1, 1, 0}, "idle": {1, 1, 1}} {
		got := r.Instruments[name]
		if [3]int{got.Total, got.Enabled, got.Timed} != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	other := &state{instruments: append([]instrument{}, s.instruments...)}
	other.instruments[1].Timed = yes
	if s.hash() == other.hash() {
		t.Error("one flag does not change the hash")
	}
}
