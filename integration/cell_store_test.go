package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// TestResultInBucket has the result in a bucket, the same as on stdout.
func TestResultInBucket(t *testing.T) {
	srv, gw := mysqlServer(t), s3Gateway(t)
	bucket := gw.Bucket(t)
	env := append(base(srv, srv.Database(t)), append(gw.Env(), "BENCH_RESULTS=s3://"+bucket+"/a/b", "BENCH_RUN_ID=run-1", "BENCH_TARGET=server")...)
	run := runTask(t, env).Want(t, bench.ExitOK)
	keys := gw.Keys(t, bucket, "a/b/run-1/cells/")
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "a/b/run-1/cells/server-oltp_read_write-asis-t1/r1/") {
		t.Fatalf("keys %q, want one result of the cell", keys)
	}
	if body := gw.Object(t, bucket, keys[0]); string(body) != run.Stdout {
		t.Errorf("the object is not what stands on stdout:\n%s\n%s", body, run.Stdout)
	}
	run.Result(t)
}

// TestStoreDies ends the store between the check and the put: the result stays on
// disk and on stdout, and the exit code says that a retry may help.
func TestStoreDies(t *testing.T) {
	t.Parallel()
	requireImage(t, gatewayImage)
	gw, err := startGateway(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminate(gw.Container) })
	bucket := gw.Bucket(t)
	srv := mariadbServer(t)
	env := append(base(srv, srv.Database(t), "BENCH_EVENTS=0", "BENCH_TIME=3"), append(gw.Env(), "BENCH_RESULTS=s3://"+bucket)...)
	p := startTask(t, env)
	intervals(p, 1)
	if err := gw.Container.Stop(t.Context(), new(time.Duration)); err != nil {
		t.Fatal(err)
	}
	run := p.Wait().Want(t, bench.ExitStore)
	within(t, run, 3*time.Minute)
	if r := run.Result(t); r.Status != bench.StatusOK || r.Counts.Events == 0 {
		t.Errorf("status %s (%s); the measurement itself was fine", r.Status, because(r))
	}
	kept, err := filepath.Glob(filepath.Join(run.Dir, "cellbench-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept files %q, %v; want one", kept, err)
	}
	if body, err := os.ReadFile(kept[0]); err != nil || string(body) != run.Stdout {
		t.Errorf("the kept file is not what stands on stdout: %v", err)
	}
	if lines := complaints(run.Stderr); len(lines) != 1 || !strings.Contains(lines[0], kept[0]) {
		t.Errorf("complaints %q, want one that names %s", lines, kept[0])
	}
}

// TestStoreComesBack has the store away when the result is put, and back while the
// task tries again.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	requireImage(t, gatewayImage)
	gw, err := startGateway(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminate(gw.Container) })
	bucket := gw.Bucket(t)
	srv := mariadbServer(t)
	env := append(base(srv, srv.Database(t), "BENCH_EVENTS=0", "BENCH_TIME=2"), append(gw.Env(), "BENCH_RESULTS=s3://"+bucket)...)
	p := startTask(t, env)
	intervals(p, 1)
	frozen := &server{Flavour: "gateway", Container: gw.Container}
	resume := frozen.pause(t) // it does not answer, and its port stays the same
	intervals(p, 2)
	time.Sleep(2 * time.Second)
	resume()
	run := p.Wait().Want(t, bench.ExitOK)
	keys := bucketKeys(t, gw.client, bucket, "")
	results := 0
	for _, key := range keys {
		if _, ok := bench.ParseResultKey(key); ok {
			results++
			if body := bucketObject(t, gw.client, bucket, key); string(body) != run.Stdout {
				t.Errorf("%s is not what stands on stdout", key)
			}
		}
	}
	if results != 1 {
		t.Errorf("%d results among %q, want 1", results, keys)
	}
}
