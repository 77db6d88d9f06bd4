// Package sink stores results: in a directory or in S3-compatible storage, both
// behind [Sink] and both held by one conformance suite.
//
// What is stored under a key is there whole or not at all, and is never replaced
// by Put. A second Put of the very same content succeeds, so that a Put whose
// first try arrived without its answer being heard ends well.
//
// Error classes: bench.ExitConfig for a destination that cannot be right (bad
// form, no such bucket, wrong credentials or region), bench.ExitUnsafe for
// missing rights, bench.ExitUnreachable when the storage does not answer,
// bench.ExitStore for the rest. After the load the cell reports each of them as
// bench.ExitStore.
package sink

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"cellbench/internal/bench"
)

var (
	// ErrExists says that other content is stored under the key of a Put.
	ErrExists = errors.New("exists with other content")
	// ErrNotFound says that nothing is stored under the key of a Get.
	ErrNotFound = errors.New("not found")
)

// Sink is a place for results. A key is a relative path of the characters
// A-Z a-z 0-9 . _ - / without empty, "." or ".." parts. All methods may be called
// from several goroutines.
type Sink interface {
	// Check proves that Put can work, before the load: the place exists (a
	// directory is created), takes a new object and does not replace it. The probe
	// is removed again; where the right to remove is missing, one object of a fixed
	// name stays under .cellbench-access, which List does not show.
	Check(ctx context.Context) error
	// Put stores body under key and returns where it is, for people. It wraps
	// ErrExists if other content is there; the same content is success.
	Put(ctx context.Context, key string, body []byte) (location string, err error)
	// Overwrite is Put that replaces what is there: for report files, which can be
	// made again from the results.
	Overwrite(ctx context.Context, key string, body []byte) (location string, err error)
	// Get returns what is stored under key. It wraps ErrNotFound if nothing is.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns all keys that begin with prefix, sorted by bytes. The prefix may
	// end inside a name; "" lists all.
	List(ctx context.Context, prefix string) ([]string, error)
	// Warnings returns what was noticed so far and did not stop anything, each once,
	// e.g. that the store cannot refuse to overwrite.
	Warnings() []string
	// String returns the destination as it was given, without a trailing slash.
	String() string
}

// Options tune a Sink. The zero value means the defaults named.
type Options struct {
	// PathStyle is BENCH_S3_PATH_STYLE: "true" puts the bucket into the path,
	// "false" into the host name, "auto" or "" decides by the endpoint: a single
	// label, localhost, an IP address or an explicit port means path.
	PathStyle string
	// Retries is how often a failed request is sent again; 0 means 4 (or
	// AWS_MAX_ATTEMPTS less one), a negative number none.
	Retries int
	// Backoff is the wait before the first retry, doubled before each further one
	// up to 8 s; 0 means 500 ms.
	Backoff time.Duration
	// AttemptTimeout bounds one request; 0 means 20 s.
	AttemptTimeout time.Duration
	// Timeout bounds one call of a method, retries included; 0 means 90 s. List is
	// bounded by page.
	Timeout time.Duration
}

// withDefaults fills in the defaults.
func (o Options) withDefaults() Options {
	if o.Backoff == 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.AttemptTimeout == 0 {
		o.AttemptTimeout = 20 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 90 * time.Second
	}
	return o
}

// Open returns the sink that results names: a directory ("./results", "/abs") or
// "s3://bucket/prefix". It reads the AWS variables but sends nothing; Check does.
// A form that is neither has class bench.ExitConfig.
func Open(ctx context.Context, results string, o Options) (Sink, error) {
	scheme, rest, isURL := strings.Cut(results, "://")
	switch {
	case results == "":
		return nil, bench.Errorf(bench.ExitConfig, `open results: "" is neither a directory nor s3://bucket/prefix`)
	case !isURL && strings.HasPrefix(strings.ToLower(results), "s3:"):
		return nil, bench.Errorf(bench.ExitConfig, "open results: %q: write s3://bucket/prefix, with two slashes", results)
	case !isURL:
		return &dirSink{root: filepath.Clean(results), publish: publish}, nil
	case scheme != "s3":
		return nil, bench.Errorf(bench.ExitConfig, "open results: %q: %s:// is not known; use a directory or s3://bucket/prefix", results, scheme)
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	if err := checkBucket(bucket); err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "open results: %q: %w", results, err)
	}
	if prefix != "" {
		if err := checkKey(prefix); err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "open results: %q: prefix: %w", results, err)
		}
	}
	return openS3(ctx, bucket, prefix, o.withDefaults())
}

// checkBucket holds a bucket's name to the characters S3 allows.
func checkBucket(name string) error {
	if len(name) < 3 || len(name) > 63 {
		return errors.New("a bucket's name has 3 to 63 characters")
	}
	for _, c := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-", c) {
			return errors.New("a bucket's name has only a-z, 0-9, . and -")
		}
	}
	return nil
}

// maxKey keeps prefix and key together under the 1024 bytes of S3.
const maxKey = 500

// checkKey holds a key to what every store and file system takes unchanged.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return bench.Errorf(bench.ExitInternal, "key %q: 1 to %d characters are allowed", key, maxKey)
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-/", c) {
			return bench.Errorf(bench.ExitInternal, "key %q: only A-Z a-z 0-9 . _ - / are allowed", key)
		}
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return bench.Errorf(bench.ExitInternal, `key %q: a part is empty, "." or ".."`, key)
		}
	}
	return nil
}

// accessDir holds the probe of Check; no key of a result begins with it.
const accessDir = ".cellbench-access"

// hidden reports whether List leaves key out.
func hidden(key string) bool { return strings.HasPrefix(key, accessDir+"/") }
