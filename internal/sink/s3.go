package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"cellbench/internal/bench"
)

// sumName is the user metadata that holds the SHA-256 of an object's content in
// hexadecimal. Over TLS nothing else checks the body at stores that do not know
// S3's newer checksums.
const sumName = "sha256"

// probeBody is the content of the object that Check writes.
const probeBody = "cellbench tries whether it may write here; this may be deleted\n"

// s3Sink stores results as objects of a bucket.
type s3Sink struct {
	client   *s3.Client
	bucket   string
	prefix   string // without slashes at its ends; may be empty
	endpoint string // as configured, "" for AWS's own
	options  Options

	// unconditional is set once the store has said that it does not know
	// If-None-Match on PUT.
	unconditional atomic.Bool

	mu       sync.Mutex
	warnings []string
}

var _ Sink = (*s3Sink)(nil)

// String returns s3://bucket/prefix.
func (s *s3Sink) String() string { return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/") }

// Warnings returns what was noticed so far.
func (s *s3Sink) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

// warn notes a warning once.
func (s *s3Sink) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

const (
	warnUnconditional = "the store does not know conditional writes (If-None-Match): whether a result exists is asked before it is written"
	warnIgnored       = "the store ignores conditional writes (If-None-Match): it would replace a result of the same key"
	warnUnread        = "a result was stored by a try whose answer was lost, and may not be read back to compare it"
)

// object returns the full key of key.
func (s *s3Sink) object(key string) *string {
	return aws.String(strings.TrimPrefix(path.Join(s.prefix, key), "/"))
}

// location names an object for people.
func (s *s3Sink) location(key string) string { return s.String() + "/" + key }

// Check finds credentials, writes a probe and tries to write it again, which the
// store must refuse. The probe's name is fixed, so that at most one stays where
// removing is not allowed.
func (s *s3Sink) Check(ctx context.Context) error {
	if err := s.credentials(ctx); err != nil {
		return err
	}
	replaces, err := s.probe(ctx, "probe")
	if err == nil && replaces {
		// Another cell may have removed it between the two: ask with a name that
		// nobody else has.
		replaces, err = s.probe(ctx, rand.Text())
	}
	if err != nil {
		return s.explain("write to", err)
	}
	if replaces {
		s.warn(warnIgnored)
	}
	return nil
}

// probe writes an object twice and removes it; replaces tells that both were
// accepted as new.
func (s *s3Sink) probe(ctx context.Context, name string) (replaces bool, err error) {
	key := accessDir + "/" + name
	defer func() {
		_ = s.try(ctx, func(ctx context.Context) error { // without the right to, it stays
			_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.object(key)})
			return err
		})
	}()
	for range 2 {
		fresh, err := s.create(ctx, key, []byte(probeBody))
		if errors.Is(err, ErrExists) {
			return false, nil // an older probe that may be neither read nor removed
		}
		if err != nil || !fresh || s.unconditional.Load() {
			return false, err
		}
	}
	return true, nil
}

// Put stores body in a new object.
func (s *s3Sink) Put(ctx context.Context, key string, body []byte) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	if _, err := s.create(ctx, key, body); err != nil {
		return "", s.explain("store "+key+" in", err)
	}
	return s.location(key), nil
}

// create stores body under key if nothing is there; fresh tells that nothing
// was. The same content counts as stored, other content is ErrExists.
func (s *s3Sink) create(ctx context.Context, key string, body []byte) (fresh bool, err error) {
	unheard := false // a try ended without an answer and may have arrived
	err = s.try(ctx, func(ctx context.Context) error {
		fresh = false
		if s.unconditional.Load() {
			exists, err := s.compare(ctx, key, body, unheard)
			if exists || err != nil {
				return err
			}
			fresh = true
			return s.put(ctx, key, body, false)
		}
		err := s.put(ctx, key, body, true)
		switch {
		case isUnknownCondition(err):
			s.unconditional.Store(true)
			s.warn(warnUnconditional)
			return errAgain
		case isPreconditionFailed(err):
			_, err = s.compare(ctx, key, body, unheard)
			return err
		case err != nil:
			unheard = unheard || isUnheard(err)
			return err
		}
		fresh = true
		return nil
	})
	return fresh, err
}

// put sends one PutObject.
func (s *s3Sink) put(ctx context.Context, key string, body []byte, create bool) error {
	sum := sha256.Sum256(body)
	in := &s3.PutObjectInput{
		Bucket:      &s.bucket,
		Key:         s.object(key),
		Body:        bytes.NewReader(body), // must be seekable: it is signed, and sent again
		ContentType: aws.String(contentType(key)),
		Metadata:    map[string]string{sumName: hex.EncodeToString(sum[:])},
	}
	if create {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := s.client.PutObject(ctx, in)
	return err
}

// compare looks whether key exists: nil with exists for the same content,
// ErrExists for other content. Without the right to read, an object counts as
// ours if an earlier try of this call went unheard.
func (s *s3Sink) compare(ctx context.Context, key string, body []byte, unheard bool) (exists bool, err error) {
	old, err := s.get(ctx, key)
	switch {
	case isNotFound(err):
		return false, nil
	case isDenied(err) && unheard:
		s.warn(warnUnread)
		return true, nil
	case isDenied(err) && s.unconditional.Load():
		return false, nil // cannot be asked; the key holds a random part
	case isDenied(err):
		return true, ErrExists
	case err != nil:
		return false, err
	case !bytes.Equal(old, body):
		return true, ErrExists
	}
	return true, nil
}

// Overwrite stores body in an object, new or not.
func (s *s3Sink) Overwrite(ctx context.Context, key string, body []byte) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	err := s.try(ctx, func(ctx context.Context) error { return s.put(ctx, key, body, false) })
	if err != nil {
		return "", s.explain("store "+key+" in", err)
	}
	return s.location(key), nil
}

// Get reads an object and compares it with the sum that Put left in its
// metadata.
func (s *s3Sink) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	var b []byte
	err := s.try(ctx, func(ctx context.Context) (err error) {
		b, err = s.get(ctx, key)
		return err
	})
	if isNotFound(err) {
		return nil, bench.Errorf(bench.ExitStore, "read %s: %w", s.location(key), ErrNotFound)
	}
	if err != nil {
		return nil, s.explain("read "+key+" from", err)
	}
	return b, nil
}

// get sends one GetObject.
func (s *s3Sink) get(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.object(key)})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	b, err := bench.ReadAll(key, out.Body, bench.MaxProduced)
	if errors.Is(err, bench.ErrTooLarge) { // and would be the next time
		return nil, err
	}
	if err != nil {
		return nil, &bodyError{err}
	}
	sum := sha256.Sum256(b)
	if want := out.Metadata[sumName]; want != "" && want != hex.EncodeToString(sum[:]) {
		return nil, &corruptError{want}
	}
	return b, nil
}

// List pages through the keys.
func (s *s3Sink) List(ctx context.Context, prefix string) ([]string, error) {
	base := ""
	if s.prefix != "" {
		base = s.prefix + "/"
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(base + prefix)}
	var keys []string
	for {
		var out *s3.ListObjectsV2Output
		err := s.try(ctx, func(ctx context.Context) (err error) {
			out, err = s.client.ListObjectsV2(ctx, in)
			return err
		})
		if err != nil {
			return nil, s.explain("list", err)
		}
		for _, o := range out.Contents {
			key := strings.TrimPrefix(aws.ToString(o.Key), base)
			if key != "" && !strings.HasSuffix(key, "/") && !hidden(key) { // consoles make "folder/" objects
				keys = append(keys, key)
			}
		}
		if !aws.ToBool(out.IsTruncated) || aws.ToString(out.NextContinuationToken) == "" {
			slices.Sort(keys)
			return keys, nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// contentType returns the media type for a key's extension.
func contentType(key string) string {
	switch path.Ext(key) {
	case ".json":
		return "application/json"
	case ".html":
		return "text/html; charset=utf-8"
	case ".md":
		return "text/markdown; charset=utf-8"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".txt", ".bench", ".log":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// errAgain asks try for another go at once, without counting it as a failure.
var errAgain = errors.New("again")

// corruptError says that what was read is not what Put stored.
type corruptError struct{ want string }

func (e *corruptError) Error() string { return "content does not match its SHA-256 " + e.want }

// bodyError is a failure while reading an answer's body: it can be tried again.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }
