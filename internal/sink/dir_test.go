package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cellbench/internal/bench"
)

func TestDirectoryModesAndLeftovers(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "results")
	s := mustOpen(t, root+"/")
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "run/a.json", []byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "run/a.json", []byte("b")); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, err := s.Overwrite(t.Context(), "run/report/r.html", []byte("b")); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o755, false: 0o644}[e.IsDir()]; fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode().Perm(), want)
		}
		if !e.IsDir() {
			names = append(names, strings.TrimPrefix(name, root))
		}
		return nil
	})
	if err != nil || strings.Join(names, " ") != "/run/a.json /run/report/r.html" {
		t.Errorf("files %q, %v", names, err)
	}
}

func TestDirectoryErrors(t *testing.T) {
	top, err := os.MkdirTemp("/tmp", "sink-test-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(top, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, results string
		code          bench.ExitCode
		text          string
	}{
		{"is a file", file, bench.ExitConfig, "must be a directory"},
		{"below a file", file + "/sub", bench.ExitConfig, "must be a directory"},
		{"may not write", locked, bench.ExitUnsafe, "must be allowed to write"},
		{"may not create", locked + "/sub", bench.ExitUnsafe, "must be allowed to write"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustOpen(t, test.results)
			asPlainUser(t, func() {
				wantError(t, s.Check(t.Context()), test.code, test.text)
				_, err := s.Put(t.Context(), "a.json", nil)
				wantError(t, err, test.code, test.text)
			})
		})
	}
}

func TestDirectoryListSkipsWhatIsNoResult(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"run/.tmp-123", "run/a.json", accessDir + "/probe"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.json", filepath.Join(root, "run/link.json")); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root)
	if got, err := s.List(t.Context(), ""); err != nil || strings.Join(got, " ") != "run/a.json" {
		t.Errorf("List = %q, %v", got, err)
	}
	for _, prefix := range []string{"/", "..", "a/../../b"} {
		if _, err := s.List(t.Context(), prefix); err == nil {
			t.Errorf("List(%q) succeeded", prefix)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "a", "run-1/cells/x/r1/1.json", "../a", "/a", "a//b", "a/..", ".tmp-1", "ä", "a\x00b"} {
		f.Add(key)
	}
	d := &dirSink{root: "/root/of/results"}
	s := &s3Sink{bucket: "b", prefix: "p/q"}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey(key) != nil {
			return
		}
		if got, want := d.file(key), d.root+"/"+key; got != want {
			t.Errorf("file %q, want %q", got, want)
		}
		if got, want := *s.object(key), "p/q/"+key; got != want {
			t.Errorf("object %q, want %q", got, want)
		}
	})
}
