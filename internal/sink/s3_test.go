package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"cellbench/internal/bench"
)

func TestS3PutThroughFaults(t *testing.T) {
	g := startGateway(t, false)
	for i, test := range []struct {
		name     string
		fault    fault
		requests int32  // PUTs seen
		warning  string // part of the only warning
	}{
		{"none", refuse(0, 0, ""), 1, ""},
		{"busy twice", refuse(2, http.StatusServiceUnavailable, "SlowDown"), 3, ""},
		{"throttled", refuse(1, http.StatusTooManyRequests, "TooManyRequests"), 2, ""},
		{"conflicting writers", refuse(1, http.StatusConflict, "ConditionalRequestConflict"), 2, ""},
		{"bad gateway", refuse(1, http.StatusBadGateway, ""), 2, ""},
		{"answer lost", loseAnswer, 2, ""},
		{"failed after storing", failAfterwards, 2, ""},
		{"stalled", stall, 2, ""},
		{"no conditions: 501", unknownCondition(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented"), 2, warnUnconditional},
		{"no conditions: 400", unknownCondition(http.StatusBadRequest, "InvalidArgument", "If-None-Match is not supported"), 2, warnUnconditional},
	} {
		t.Run(test.name, func(t *testing.T) {
			count := startProxy(t, g, isPut, test.fault)
			s := openFast(t, fmt.Sprintf("s3://%s/faults/%d", bucket, i))
			if _, err := s.Put(t.Context(), "r.json", []byte("mine")); err != nil {
				t.Fatal(err)
			}
			if got := count.Load(); got != test.requests {
				t.Errorf("%d PUT requests, want %d", got, test.requests)
			}
			if got, err := s.Get(t.Context(), "r.json"); err != nil || string(got) != "mine" {
				t.Errorf("content %q, %v", got, err)
			}
			if w := strings.Join(s.Warnings(), "; "); w != test.warning {
				t.Errorf("warnings %q, want %q", w, test.warning)
			}
			if _, err := s.Put(t.Context(), "r.json", []byte("other")); !errors.Is(err, ErrExists) {
				t.Errorf("other content: %v, want ErrExists", err)
			}
		})
	}
}

// openFast opens a sink that gives up on a request soon.
func openFast(t *testing.T, results string) Sink {
	t.Helper()
	s, err := Open(t.Context(), results, Options{Backoff: time.Millisecond, AttemptTimeout: 700 * time.Millisecond, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestS3GivesUpInTime(t *testing.T) {
	g := startGateway(t, false)
	for _, test := range []struct {
		name  string
		fault fault
		text  string
	}{
		{"always busy", refuse(1000, http.StatusServiceUnavailable, "SlowDown"), "the store fails (503 SlowDown: injected)"},
		{"always silent", func(_ int, _ http.ResponseWriter, r *http.Request, _ http.Handler) { silence(r) }, "no answer within 50ms"},
		{"always hangs up", func(int, http.ResponseWriter, *http.Request, http.Handler) { hangUp() }, "no connection (EOF)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			count := startProxy(t, g, isPut, test.fault)
			s, err := Open(t.Context(), "s3://"+bucket, Options{Retries: 2, Backoff: time.Millisecond, AttemptTimeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Put(t.Context(), "r.json", nil)
			wantError(t, err, bench.ExitUnreachable, test.text)
			if got := count.Load(); got != 3 {
				t.Errorf("%d requests, want 3", got)
			}
		})
	}
	t.Run("total time", func(t *testing.T) {
		startProxy(t, g, isPut, refuse(1000, http.StatusServiceUnavailable, "SlowDown"))
		s, err := Open(t.Context(), "s3://"+bucket, Options{Retries: 1 << 20, Backoff: time.Millisecond, Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Put(t.Context(), "r.json", nil)
		wantError(t, err, bench.ExitUnreachable, "")
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		startProxy(t, g, isPut, func(int, http.ResponseWriter, *http.Request, http.Handler) { cancel(); hangUp() })
		_, err := openFast(t, "s3://"+bucket).Put(ctx, "r.json", nil)
		wantError(t, err, bench.ExitInterrupted, "stopped")
	})
}

// wantError looks at the class and the one line of an error.
func wantError(t *testing.T, err error, code bench.ExitCode, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want class %d with %q", code, text)
	}
	if bench.CodeOf(err) != code || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		t.Errorf("class %d, %q; want class %d, one line with %q", bench.CodeOf(err), err, code, text)
	}
	for _, secret := range []string{rootSecret, "anothersecret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the secret is in %q", err)
		}
	}
}

func TestS3GetThroughFaults(t *testing.T) {
	g := startGateway(t, false)
	body := strings.Repeat("x", 1<<20)
	if _, err := mustOpen(t, "s3://"+bucket).Put(t.Context(), "r.json", []byte(body)); err != nil {
		t.Fatal(err)
	}
	cut := func(n int, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = io.WriteString(w, body[:1000])
			hangUp()
		}
		next.ServeHTTP(w, r)
	}
	for name, f := range map[string]fault{"body cut": cut, "busy": refuse(1, http.StatusServiceUnavailable, "SlowDown"), "stalled": stall} {
		t.Run(name, func(t *testing.T) {
			startProxy(t, g, isGet, f)
			got, err := openFast(t, "s3://"+bucket).Get(t.Context(), "r.json")
			if err != nil || string(got) != body {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	t.Run("too large", func(t *testing.T) { // is read once, and not to its end
		f, err := os.Create(filepath.Join(g.dir, bucket, "large.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(bench.MaxProduced+1), f.Close()); err != nil {
			t.Fatal(err)
		}
		count := startProxy(t, g, isGet, refuse(0, 0, ""))
		s, err := Open(t.Context(), "s3://"+bucket, Options{Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), "large.json")
		wantError(t, err, bench.ExitStore, "read large.json from s3://"+bucket+": it is too large: more than 67108864 bytes")
		if n := count.Load(); n != 1 {
			t.Errorf("%d GET requests, want 1", n)
		}
	})
	t.Run("corrupt", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(g.dir, bucket, "r.json"), []byte("y"+body[1:]), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := openFast(t, "s3://"+bucket).Get(t.Context(), "r.json")
		wantError(t, err, bench.ExitStore, "does not match its SHA-256")
	})
}

func TestS3ListPages(t *testing.T) {
	g := startGateway(t, false)
	dir := filepath.Join(g.dir, bucket, "many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const n = 2345 // pages have 1000 keys at most
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.json", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	count := startProxy(t, g, isGet, refuse(1, http.StatusServiceUnavailable, "SlowDown"))
	got, err := mustOpen(t, "s3://"+bucket+"/many").List(t.Context(), "")
	if err != nil || len(got) != n || got[0] != "00000.json" || got[n-1] != fmt.Sprintf("%05d.json", n-1) {
		t.Errorf("%d keys, %v; want %d", len(got), err, n)
	}
	if c := count.Load(); c != 4 {
		t.Errorf("%d requests, want 3 pages and a retry", c)
	}
}

func TestS3CheckSeesIgnoredConditions(t *testing.T) {
	g := startGateway(t, false)
	startProxy(t, g, isPut, func(_ int, w http.ResponseWriter, r *http.Request, next http.Handler) {
		_ = os.Remove(filepath.Join(g.dir, r.URL.Path)) // so that the new object replaces it
		next.ServeHTTP(w, r)
	})
	s := mustOpen(t, "s3://"+bucket+"/p")
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(s.Warnings(), "; "); w != warnIgnored {
		t.Errorf("warnings %q", w)
	}
}

// TestS3SmallestRights runs with s3:PutObject alone.
func TestS3SmallestRights(t *testing.T) {
	g := startGateway(t, false)
	g.addUser(t, "writer", "anothersecret")
	root := mustOpen(t, "s3://"+bucket).(*s3Sink)
	_, err := root.client.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: aws.String(bucket), Policy: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["writer"]},"Action":["s3:PutObject"],"Resource":["arn:aws:s3:::` + bucket + `/*"]}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "writer")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "anothersecret")
	for range 2 {
		if err := mustOpen(t, "s3://"+bucket+"/p").Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(g.dir, bucket, "p", accessDir)); err != nil || len(left) != 1 {
		t.Errorf("probes left: %v, %v; want one", left, err)
	}
	s := mustOpen(t, "s3://"+bucket+"/p")
	if _, err := s.Put(t.Context(), "r.json", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "r.json", []byte("second")); !errors.Is(err, ErrExists) {
		t.Errorf("other content: %v, want ErrExists", err)
	}
	_, err = s.List(t.Context(), "")
	wantError(t, err, bench.ExitUnsafe, "access denied: needed are s3:PutObject")

	startProxy(t, g, isPut, loseAnswer)
	s = mustOpen(t, "s3://"+bucket+"/p")
	if _, err := s.Put(t.Context(), "lost.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(s.Warnings(), "; "); w != warnUnread {
		t.Errorf("warnings %q", w)
	}
}

func TestS3CheckErrors(t *testing.T) {
	g := startGateway(t, false)
	g.addUser(t, "stranger", "anothersecret")
	secure := startGateway(t, true)
	setAWS(t, g.url, rootKey, rootSecret)
	for _, test := range []struct {
		name    string
		results string
		env     map[string]string
		code    bench.ExitCode
		text    string
	}{
		{"no such bucket", "s3://missing/p", nil, bench.ExitConfig, `bucket "missing" does not exist`},
		{"wrong secret", "", map[string]string{"AWS_SECRET_ACCESS_KEY": "anothersecret"}, bench.ExitConfig, "credentials or the region are wrong"},
		{"unknown key", "", map[string]string{"AWS_ACCESS_KEY_ID": "nobody"}, bench.ExitConfig, "credentials or the region are wrong"},
		{"no rights", "", map[string]string{"AWS_ACCESS_KEY_ID": "stranger", "AWS_SECRET_ACCESS_KEY": "anothersecret"}, bench.ExitUnsafe, "access denied"},
		{"no credentials", "", map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, bench.ExitConfig, "no credentials: set AWS_ACCESS_KEY_ID"},
		{"closed port", "", map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + freeAddress(t)}, bench.ExitUnreachable, "connection refused"},
		{"unknown host", "", map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3.cellbench.invalid"}, bench.ExitUnreachable, "(endpoint http://s3.cellbench.invalid)"},
		{"unknown authority", "", map[string]string{"AWS_ENDPOINT_URL_S3": secure.url}, bench.ExitConfig, "set AWS_CA_BUNDLE"},
		{"TLS to HTTP", "", map[string]string{"AWS_ENDPOINT_URL_S3": strings.Replace(g.url, "http:", "https:", 1)}, bench.ExitConfig, "does not speak TLS"},
		{"wrong region", "", map[string]string{"AWS_REGION": "eu-west-1"}, bench.ExitConfig, "region"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			if test.results == "" {
				test.results = "s3://" + bucket + "/p"
			}
			err := mustOpen(t, test.results).Check(t.Context())
			wantError(t, err, test.code, test.text)
			t.Log(err)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	setAWS(t, "http://127.0.0.1:1", "k", "s")
	for _, test := range []struct {
		name, results string
		env           map[string]string
		o             Options
		text          string
	}{
		{"empty", "", nil, Options{}, "neither a directory nor"},
		{"one slash", "s3:/bucket/p", nil, Options{}, "two slashes"},
		{"no bucket", "s3:///p", nil, Options{}, "3 to 63"},
		{"short bucket", "s3://ab", nil, Options{}, "3 to 63"},
		{"capitals", "s3://Bucket/p", nil, Options{}, "only a-z"},
		{"strange prefix", "s3://bucket/a b", nil, Options{}, "prefix"},
		{"double slash", "s3://bucket/a//b", nil, Options{}, "prefix"},
		{"other scheme", "gs://bucket/p", nil, Options{}, "gs:// is not known"},
		{"file scheme", "file:///tmp/x", nil, Options{}, "file:// is not known"},
		{"endpoint without scheme", "s3://bucket", map[string]string{"AWS_ENDPOINT_URL_S3": "minio:9000"}, Options{}, "http://host"},
		{"no region", "s3://bucket", map[string]string{"AWS_ENDPOINT_URL_S3": ""}, Options{}, "set AWS_REGION"},
		{"no such profile", "s3://bucket", map[string]string{"AWS_PROFILE": "nobody"}, Options{}, "nobody"},
		{"path style", "s3://bucket", nil, Options{PathStyle: "yes"}, "auto, true or false"},
		{"no such CA bundle", "s3://bucket", map[string]string{"AWS_CA_BUNDLE": "/nowhere.pem"}, Options{}, "/nowhere.pem"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			_, err := Open(t.Context(), test.results, test.o)
			wantError(t, err, bench.ExitConfig, test.text)
		})
	}
}

func TestPathStyle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want, endpoint string
		path           bool
	}{
		{"", "", false},
		{"auto", "http://s3:9000", true},
		{"auto", "http://gateway", true},
		{"auto", "http://localhost", true},
		{"auto", "https://10.0.0.1", true},
		{"auto", "https://[::1]", true},
		{"auto", "https://s3.example.com:9000", true},
		{"auto", "https://oss-eu-central-1.aliyuncs.com", false},
		{"auto", "https://s3.eu-central-1.amazonaws.com", false},
		{"true", "https://s3.example.com", true},
		{"false", "http://s3:9000", false},
	} {
		t.Run(test.want+" "+test.endpoint, func(t *testing.T) {
			t.Parallel()
			if got, err := pathStyle(test.want, test.endpoint); err != nil || got != test.path {
				t.Errorf("%v, %v; want %v", got, err, test.path)
			}
		})
	}
}

// TestS3RequestShape looks at what is sent: over TLS the SDK's default is a body
// with a trailer that several stores refuse or store.
func TestS3RequestShape(t *testing.T) {
	for _, test := range []struct {
		name, calculation string
		trailer           bool
	}{{"custom endpoint", "", false}, {"asked for", "when_supported", true}} {
		t.Run(test.name, func(t *testing.T) {
			g := startGateway(t, true)
			t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", test.calculation)
			s := mustOpen(t, "s3://"+bucket).(*s3Sink)
			if _, err := s.Put(t.Context(), "r.json", []byte("{}")); err != nil {
				t.Fatal(err)
			}
			out, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("r.json"), ChecksumMode: "ENABLED"})
			if err != nil {
				t.Fatal(err)
			}
			if got := aws.ToString(out.ContentType); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if got := aws.ToString(out.ContentEncoding) != "" || aws.ToString(out.ChecksumCRC32) != ""; got != test.trailer {
				t.Errorf("encoding %q, CRC32 %q; want a trailer: %v", aws.ToString(out.ContentEncoding), aws.ToString(out.ChecksumCRC32), test.trailer)
			}
			if out.Metadata[sumName] == "" {
				t.Error("no SHA-256 in the metadata")
			}
			if b, err := os.ReadFile(filepath.Join(g.dir, bucket, "r.json")); err != nil || string(b) != "{}" {
				t.Errorf("stored %q, %v", b, err)
			}
		})
	}
}
