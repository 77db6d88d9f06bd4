package sink

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestDirectoryConformance(t *testing.T) {
	t.Parallel()
	runConformance(t, func(t *testing.T) Sink {
		return mustOpen(t, filepath.Join(t.TempDir(), "not", "yet"))
	})
}

func TestDirectoryWithoutHardLinksConformance(t *testing.T) {
	t.Parallel()
	runConformance(t, func(t *testing.T) Sink {
		return &dirSink{root: t.TempDir(), publish: reserve}
	})
}

func TestS3ConformanceHTTP(t *testing.T) {
	startGateway(t, false)
	runConformance(t, uniquePrefix(t))
}

func TestS3ConformanceHTTPS(t *testing.T) {
	startGateway(t, true)
	runConformance(t, uniquePrefix(t))
}

func TestS3ConformanceBucketRoot(t *testing.T) {
	startGateway(t, false)
	runConformanceOnce(t, mustOpen(t, "s3://"+bucket+"/"))
}

// uniquePrefix gives each subtest a prefix of its own in one bucket, beside a
// longer one that it must not see.
func uniquePrefix(t *testing.T) func(*testing.T) Sink {
	n := 0
	return func(t *testing.T) Sink {
		n++
		name := fmt.Sprintf("s3://%s/team/p%d-", bucket, n) // p1-0 is nobody's, p10 would be
		if _, err := mustOpen(t, name+"0").Put(t.Context(), "neighbour.json", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, name)
	}
}

// runConformance holds a sink to the contract of Sink.
func runConformance(t *testing.T, newSink func(*testing.T) Sink) {
	for name, test := range map[string]func(*testing.T, Sink){
		"round trip":         conformRoundTrip,
		"create only":        conformCreateOnly,
		"one of many wins":   conformOneWins,
		"same content":       conformSameContent,
		"overwrite":          conformOverwrite,
		"not found":          conformNotFound,
		"list":               conformList,
		"check leaves none":  conformCheck,
		"keys that are none": conformBadKeys,
		"large and empty":    conformSizes,
	} {
		t.Run(name, func(t *testing.T) { test(t, newSink(t)) })
	}
}

// runConformanceOnce runs the parts that can share one sink.
func runConformanceOnce(t *testing.T, s Sink) {
	t.Run("check leaves none", func(t *testing.T) { conformCheck(t, s) })
	t.Run("list", func(t *testing.T) { conformList(t, s) })
	t.Run("not found", func(t *testing.T) { conformNotFound(t, s) })
}

func conformRoundTrip(t *testing.T, s Sink) {
	const key = "run-1/cells/local.oltp_read_only.asis.t8/r1/20260101T000000Z-ab12.json"
	location, err := s.Put(t.Context(), key, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := s.String() + "/" + key; location != want {
		t.Errorf("location %q, want %q", location, want)
	}
	got, err := s.Get(t.Context(), key)
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("Get = %q, %v", got, err)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
}

func conformCreateOnly(t *testing.T, s Sink) {
	if _, err := s.Put(t.Context(), "a/b.json", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "a/b.json", []byte("second")); !errors.Is(err, ErrExists) {
		t.Errorf("second Put: %v, want ErrExists", err)
	}
	if got, _ := s.Get(t.Context(), "a/b.json"); string(got) != "first" {
		t.Errorf("content %q after a refused Put", got)
	}
}

func conformOneWins(t *testing.T, s Sink) {
	const writers = 16
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { _, errs[i] = s.Put(t.Context(), "race.json", fmt.Appendf(nil, "writer %d", i)) })
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won < 0:
			won = i
		case err == nil:
			t.Errorf("writers %d and %d both won", won, i)
		case !errors.Is(err, ErrExists):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	got, err := s.Get(t.Context(), "race.json")
	if want := fmt.Sprintf("writer %d", won); err != nil || string(got) != want {
		t.Errorf("content %q, %v; want %q", got, err, want)
	}
}

func conformSameContent(t *testing.T, s Sink) {
	for range 2 {
		if _, err := s.Put(t.Context(), "same.json", []byte("same")); err != nil {
			t.Fatal(err)
		}
	}
}

func conformOverwrite(t *testing.T, s Sink) {
	for _, body := range []string{"old and longer", "new"} {
		if _, err := s.Overwrite(t.Context(), "run/report/report.html", []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), "run/report/report.html"); err != nil || string(got) != body {
			t.Errorf("content %q, %v; want %q", got, err, body)
		}
	}
}

func conformNotFound(t *testing.T, s Sink) {
	if _, err := s.Put(t.Context(), "there/x.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"no.json", "there", "there/y.json", "there/x.json/z"} {
		if _, err := s.Get(t.Context(), key); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%s): %v, want ErrNotFound", key, err)
		}
	}
}

func conformList(t *testing.T, s Sink) {
	want := []string{"run-1/cells/a-b/r1/1.json", "run-1/cells/a/r1/1.json", "run-1/cells/a/r2/1.json", "run-1/manifest.json", "run-10/manifest.json"}
	for _, key := range want {
		if _, err := s.Put(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, count := range map[string]int{
		"run-1": 5, "run-1/": 4, "run-1/cells/a": 3, "run-1/cells/a/": 2, "run-1/manifest.json": 1, "run-2/": 0, "run-1/none/none/": 0,
	} {
		got, err := s.List(t.Context(), prefix)
		if err != nil || len(got) != count {
			t.Errorf("List(%q) = %q, %v; want %d keys", prefix, got, err, count)
		}
		if !slices.IsSorted(got) {
			t.Errorf("List(%q) is not sorted: %q", prefix, got)
		}
		for _, key := range got {
			if b, err := s.Get(t.Context(), key); err != nil || string(b) != key {
				t.Errorf("Get(%q) of a listed key = %q, %v", key, b, err)
			}
		}
	}
	if got, err := s.List(t.Context(), "run-1"); err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %q, %v; want %q", got, err, want)
	}
}

func conformCheck(t *testing.T, s Sink) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
	if got, err := s.List(t.Context(), ""); err != nil || len(got) != 0 {
		t.Errorf("List after Check = %q, %v", got, err)
	}
}

func conformBadKeys(t *testing.T, s Sink) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../../b", ".", "a b", "a\x00", "ä", "a\\b", "a?b", strings.Repeat("k", maxKey+1)} {
		if _, err := s.Put(t.Context(), key, nil); err == nil {
			t.Errorf("Put(%q) succeeded", key)
		}
		if _, err := s.Overwrite(t.Context(), key, nil); err == nil {
			t.Errorf("Overwrite(%q) succeeded", key)
		}
		if _, err := s.Get(t.Context(), key); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q): %v", key, err)
		}
	}
}

func conformSizes(t *testing.T, s Sink) {
	for name, body := range map[string]string{"empty.txt": "", "large.json": strings.Repeat("0123456789abcdef", 1<<18)} {
		if _, err := s.Put(t.Context(), name, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), name); err != nil || string(got) != body {
			t.Errorf("Get(%s): %d bytes, %v; want %d", name, len(got), err, len(body))
		}
	}
}
