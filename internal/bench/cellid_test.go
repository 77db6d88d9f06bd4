package bench

import (
	"regexp"
	"strings"
	"testing"
)

func TestCellID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	cases := map[string]struct {
		target, workload, scenario string
		threads                    int
		extra                      map[string]string
		want                       string // exact, or a pattern when it starts with ^
	}{
		"plain":          {"local", "oltp_read_only", "pfsoff", 8, nil, "local-oltp_read_only-pfsoff-t8"},
		"no target":      {"", "oltp_read_only", "asis", 1, nil, `^oltp_read_only-asis-t1-[0-9a-f]{8}$`},
		"extra axis":     {"local", "w", "s", 1, map[string]string{"table_size": "10"}, `^local-w-s-t1-[0-9a-f]{8}$`},
		"dash inside":    {"a-b", "w", "s", 1, nil, `^a-b-w-s-t1-[0-9a-f]{8}$`},
		"capitals":       {"4C32G", "w", "s", 1, nil, `^4C32G-w-s-t1-[0-9a-f]{8}$`},
		"replaced":       {"4c32g*2", "w", "s", 1, nil, `^4c32g_2-w-s-t1-[0-9a-f]{8}$`},
		"not latin":      {"цель/x", "w", "s", 1, nil, `^_____x-w-s-t1-[0-9a-f]{8}$`},
		"path tricks":    {"../../etc", "w", "s", 1, nil, `^_._.._etc-w-s-t1-[0-9a-f]{8}$`},
		"option-like":    {"-rf", "w", "s", 1, nil, `^_rf-w-s-t1-[0-9a-f]{8}$`},
		"cut when long":  {long, "w", "s", 1, nil, `^x{48}-w-s-t1-[0-9a-f]{8}$`},
		"all parts long": {long, long, long, 1024, map[string]string{"a": "b"}, `^.{1,200}$`},
	}
	safe := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := CellID(c.target, c.workload, c.scenario, c.threads, c.extra)
			if strings.HasPrefix(c.want, "^") {
				if !regexp.MustCompile(c.want).MatchString(got) {
					t.Errorf("got %q, want a match of %s", got, c.want)
				}
			} else if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !safe.MatchString(got) {
				t.Errorf("%q is not a safe name", got)
			}
		})
	}
}

func TestCellIDTellsCellsApart(t *testing.T) {
	t.Parallel()
	type cell struct {
		target, workload, scenario string
		threads                    int
		extra                      map[string]string
	}
	cells := []cell{
		{"a-b", "c", "d", 1, nil},
		{"a", "b-c", "d", 1, nil},
		{"a", "b", "c-d", 1, nil},
		{"a", "b", "c", 1, nil},
		{"A", "b", "c", 1, nil},
		{"a*", "b", "c", 1, nil},
		{"a/", "b", "c", 1, nil},
		{"a_", "b", "c", 1, nil},
		{"", "a", "b", 1, nil},
		{"a", "", "b", 1, nil},
		{"a", "b", "", 1, nil},
		{"a", "b", "c", 1, map[string]string{"x": "1", "y": "2"}},
		{"a", "b", "c", 1, map[string]string{"x": "1y", "": "2"}},
		{"a", "b", "c", 1, map[string]string{"x": "12"}},
		{"a", "b", "c", 12, nil},
	}
	seen := map[string]cell{}
	for _, c := range cells {
		id := strings.ToLower(CellID(c.target, c.workload, c.scenario, c.threads, c.extra)) // some file systems fold case
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v are both %q", c, other, id)
		}
		seen[id] = c
	}
}

func FuzzCellID(f *testing.F) {
	f.Add("local", "oltp_read_only", "pfsoff", 8)
	f.Add("..", "-", "a/b", 0)
	safe := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	f.Fuzz(func(t *testing.T, target, workload, scenario string, threads int) {
		id := CellID(target, workload, scenario, threads, nil)
		if !safe.MatchString(id) || len(id) > 200 {
			t.Fatalf("%q is not a safe name", id)
		}
	})
}
