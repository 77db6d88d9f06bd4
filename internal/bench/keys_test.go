package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var keyTime = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("", 3600))

func TestNames(t *testing.T) {
	t.Parallel()
	run, err := NewRunID(keyTime, bytes.NewReader([]byte{1, 2, 255}))
	if err != nil || run != "20260304-040607-0102ff" {
		t.Errorf("NewRunID: %q, %v", run, err)
	}
	if err := CheckRunID(run); err != nil {
		t.Error(err)
	}
	attempt, err := NewAttempt(keyTime, bytes.NewReader([]byte{1, 2, 3, 4}))
	if err != nil || attempt != "20260304T040607.089Z-01020304" {
		t.Errorf("NewAttempt: %q, %v", attempt, err)
	}
	if _, err := NewAttempt(keyTime, bytes.NewReader(nil)); err == nil {
		t.Error("NewAttempt without randomness: no error")
	}
	later, _ := NewAttempt(keyTime.Add(time.Millisecond), bytes.NewReader(make([]byte, 4)))
	if later <= attempt {
		t.Errorf("%q does not sort after %q", later, attempt)
	}
}

func TestCheckRunID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		id string
		ok bool
	}{
		"made here":  {"20260304-040607-0102ff", true},
		"batch job":  {"876da822-4198-45f2-a252-6cea32512ea8", true},
		"empty":      {"", false},
		"dots":       {"..", false},
		"slash":      {"a/b", false},
		"leading -":  {"-a", false},
		"colon":      {"a:1", false},
		"too long":   {strings.Repeat("a", 129), false},
		"just right": {strings.Repeat("a", 128), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckRunID(c.id)
			if (err == nil) != c.ok {
				t.Fatalf("CheckRunID(%q) = %v", c.id, err)
			}
			if err != nil && CodeOf(err) != ExitConfig {
				t.Errorf("exit code %d", CodeOf(err))
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	key := ResultKey("run1", "local-w-s-t8", 2, "20260304T040607.089Z-01020304")
	if want := "run1/cells/local-w-s-t8/r2/20260304T040607.089Z-01020304.json"; key != want {
		t.Fatalf("got %q, want %q", key, want)
	}
	if !strings.HasPrefix(key, CellPrefix("run1", "local-w-s-t8", 2)+"/") {
		t.Error("CellPrefix is not a prefix of ResultKey")
	}
	if got := ManifestKey("run1"); got != "run1/manifest.json" {
		t.Error(got)
	}
	if got := ReportKey("run1", "report.html"); got != "run1/report/report.html" {
		t.Error(got)
	}
	for _, prefix := range []string{"", "a", "a/b"} {
		full := strings.TrimPrefix(prefix+"/"+key, "/")
		got, ok := ParseResultKey(full)
		want := ResultAddress{prefix, "run1", "local-w-s-t8", 2, "20260304T040607.089Z-01020304"}
		if !ok || got != want {
			t.Errorf("ParseResultKey(%q) = %+v, %v", full, got, ok)
		}
	}
}

func TestParseResultKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "run1/manifest.json", "run1/report/report.html", "run1/cells/c/r1", "run1/cells/c/r0/a.json", "run1/cells/c/r01/a.json",
		"run1/cells/c/rx/a.json", "run1/cells/c/r1/a.txt", "run1/cell/c/r1/a.json", "run1/cells//r1/a.json", "run1/cells/c/r1/.tmp.json", "/cells/c/r1/a.json",
	} {
		if a, ok := ParseResultKey(key); ok {
			t.Errorf("ParseResultKey(%q) = %+v, want a refusal", key, a)
		}
	}
}
