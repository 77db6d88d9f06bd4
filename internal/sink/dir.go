package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cellbench/internal/bench"
)

// tempPrefix begins the names of files that are not whole yet.
const tempPrefix = ".tmp-"

// dirSink stores results as files under a directory.
type dirSink struct {
	root string
	// publish gives a file a name that must be free: see the function publish.
	publish func(from, to string) error
}

var _ Sink = (*dirSink)(nil)

// String returns the directory.
func (d *dirSink) String() string { return d.root }

// Warnings returns nil: a directory has nothing to warn of.
func (d *dirSink) Warnings() []string { return nil }

// file returns the path of key.
func (d *dirSink) file(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// Check creates the directory and writes and removes a file in it.
func (d *dirSink) Check(context.Context) error {
	if err := os.MkdirAll(d.root, 0o755); err != nil {
		return d.fail("create results directory", err)
	}
	name, err := writeTemp(d.root, []byte("cellbench\n"))
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		return d.fail("write to results directory", err)
	}
	return nil
}

// Put stores body in a new file.
func (d *dirSink) Put(_ context.Context, key string, body []byte) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	return d.store(key, body, d.publish)
}

// Overwrite stores body in a file, new or not.
func (d *dirSink) Overwrite(_ context.Context, key string, body []byte) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	return d.store(key, body, os.Rename)
}

// store writes a file beside its place and has put give it its name.
func (d *dirSink) store(key string, body []byte, put func(from, to string) error) (string, error) {
	to := d.file(key)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", d.fail("create results directory", err)
	}
	from, err := writeTemp(filepath.Dir(to), body)
	if err != nil {
		return "", d.fail("store "+key, err)
	}
	defer os.Remove(from) //nolint:errcheck // gone already after a rename
	err = put(from, to)
	if errors.Is(err, fs.ErrExist) {
		if old, e := os.ReadFile(to); e == nil && bytes.Equal(old, body) {
			return to, nil
		}
		return "", bench.Errorf(bench.ExitStore, "store %s: %w", to, ErrExists)
	}
	if err != nil {
		return "", d.fail("store "+key, err)
	}
	syncDir(filepath.Dir(to))
	return to, nil
}

// writeTemp writes body to a new file in dir and onto the disk.
func writeTemp(dir string, body []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return "", err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(body); err != nil {
		return "", err
	}
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return "", err // file systems without modes refuse; that is no loss
	}
	return f.Name(), f.Sync()
}

// publish gives the file from the name to, unless there is one already. A hard
// link does so in one step; some network and FUSE file systems have none.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return reserve(from, to)
}

// reserve claims the name with an empty file, which only one can create, and
// moves the file from over it. Between the two, readers see an empty file.
func reserve(from, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := os.Rename(from, to); err != nil {
		_ = os.Remove(to)
		return err
	}
	return nil
}

// syncDir brings a directory's names onto the disk, where the system can.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// Get reads a file.
func (d *dirSink) Get(_ context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	b, err := bench.ReadFile(d.file(key), bench.MaxProduced)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return nil, bench.Errorf(bench.ExitStore, "read %s: %w", d.file(key), ErrNotFound)
	case err != nil:
		return nil, d.fail("read "+key, err)
	}
	return b, nil
}

// List walks the directory.
func (d *dirSink) List(ctx context.Context, prefix string) ([]string, error) {
	if strings.HasPrefix(prefix, "/") || slices.Contains(strings.Split(prefix, "/"), "..") {
		return nil, bench.Errorf(bench.ExitInternal, `list %q: a prefix does not begin with "/" and has no ".."`, prefix)
	}
	top := d.file(path.Dir(prefix + "x")) // the deepest directory that all keys are in
	var keys []string
	err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // also a file that went away during the walk
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), tempPrefix) {
			return err
		}
		rel, err := filepath.Rel(d.root, name)
		if err != nil {
			return err
		}
		if key := filepath.ToSlash(rel); strings.HasPrefix(key, prefix) && !hidden(key) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, d.fail("list results directory", err)
	}
	slices.Sort(keys) // WalkDir sorts by part, not by byte
	return keys, nil
}

// fail gives an error its class and says what the user can do.
func (d *dirSink) fail(verb string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", verb, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return bench.Errorf(bench.ExitUnsafe, "%s: %w (user id %d must be allowed to write to BENCH_RESULTS=%s)", verb, err, os.Getuid(), d.root)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENAMETOOLONG):
		return bench.Errorf(bench.ExitConfig, "%s: %w (BENCH_RESULTS=%s must be a directory)", verb, err, d.root)
	}
	return bench.Errorf(bench.ExitStore, "%s: %w", verb, err)
}
