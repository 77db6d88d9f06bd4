package integration

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// TestCompose runs `up` as a user would, in a fresh copy of what the image is made
// of, with both generations of compose: one cell is measured, its result is in the
// bucket and in ./results, and the task's exit code is compose's.
func TestCompose(t *testing.T) {
	requireImage(t, mysqlFlavour.image())
	requireImage(t, gatewayImage)
	for generation := 1; generation <= 2; generation++ {
		t.Run(fmt.Sprintf("compose %d", generation), func(t *testing.T) {
			p := newComposeProject(t, generation)
			p.env["BENCH_WORKLOAD"] = "oltp_read_only"
			p.env["BENCH_RUN_ID"] = "compose"
			if code := p.run("up", "--build", "--exit-code-from", "task"); code != bench.ExitOK {
				t.Fatalf("up ended with %d:\n%s", code, p.output.String())
			}
			p.checkResult()
			// A mistake in the settings is the task's exit code, and compose's.
			p.env["BENCH_WORKLOAD"] = "oltp_readonly"
			if code := p.run("up", "--exit-code-from", "task"); code != bench.ExitConfig {
				t.Errorf("a wrong workload ended with %d, want %d:\n%s", code, bench.ExitConfig, p.output.String())
			}
			if !strings.Contains(p.output.String(), "oltp_read_only") {
				t.Errorf("the nearest name is not suggested:\n%s", p.output.String())
			}
		})
	}
}

// TestComposeMariaDB runs the same file on the other family of servers, in
// a state that the server must be started in, as another owner of the results.
func TestComposeMariaDB(t *testing.T) {
	requireImage(t, mariadbFlavour.image())
	requireImage(t, gatewayImage)
	p := newComposeProject(t, 1)
	p.env["MYSQL_IMAGE"] = mariadbFlavour.image()
	p.env["MYSQL_PERFORMANCE_SCHEMA"] = "OFF"
	p.env["BENCH_SCENARIO"] = "pfsoff"
	p.env["BENCH_RUN_ID"] = "compose"
	results := filepath.Join(p.dir, "results")
	if err := os.Mkdir(results, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // else they are ours already
		p.env["CELLBENCH_USER"] = "12345:12345"
		if err := os.Chown(results, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.run("up", "--build", "--exit-code-from", "task"); code != bench.ExitOK {
		t.Fatalf("up ended with %d:\n%s", code, p.output.String())
	}
	result := p.checkResult()
	if result.Server == nil || result.Server.Flavour != "MariaDB" {
		t.Errorf("server = %+v, want MariaDB", result.Server)
	}
	if s := result.Scenario; s == nil || s.Verified == nil || !*s.Verified {
		t.Errorf("scenario = %+v, want pfsoff verified", s)
	}
}

// composeProject is a copy of the build's context with a project of its own.
type composeProject struct {
	t       *testing.T
	command []string
	dir     string
	port    int // of the bucket, on this machine
	env     map[string]string
	output  bytes.Buffer // of the last command
}

func newComposeProject(t *testing.T, generation int) *composeProject {
	t.Helper()
	p := &composeProject{t: t, dir: t.TempDir(), port: freePort(t)}
	p.command = composeCommand(t, generation)
	copyContext(t, p.dir)
	p.env = map[string]string{
		"COMPOSE_PROJECT_NAME": fmt.Sprintf("cellbench-it-%d-%d", os.Getpid(), names.Add(1)),
		"CELLBENCH_IMAGE":      taskImage,
		"CELLBENCH_S3_PORT":    strconv.Itoa(p.port),
		"BENCH_TIME":           "2", "BENCH_WARMUP_TIME": "1", "BENCH_TABLE_SIZE": "1000", "BENCH_THREADS": "4",
		"VERSION": "it",
		// Both generations build with the same builder and so with the same cache.
		"DOCKER_BUILDKIT": "0",
	}
	t.Cleanup(func() {
		if code := p.run("down", "-v", "--remove-orphans"); code != 0 {
			t.Errorf("down ended with %d:\n%s", code, p.output.String())
		}
	})
	return p
}

// run runs one compose command and returns its exit code.
func (p *composeProject) run(args ...string) bench.ExitCode {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command[0], append(p.command[1:], args...)...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+host)
	}
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p.output.Reset()
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Errorf("run %s: %v", p.command, err)
		return -1
	}
	return bench.ExitCode(cmd.ProcessState.ExitCode())
}

// checkResult reads the one result back from the bucket with a client of its own,
// and compares it with the file in ./results.
func (p *composeProject) checkResult() bench.Result {
	p.t.Helper()
	if code := p.run("up", "-d", "s3"); code != 0 {
		p.t.Fatalf("starting the gateway again ended with %d:\n%s", code, p.output.String())
	}
	endpoint := "http://127.0.0.1:" + strconv.Itoa(p.port)
	waitForAnswer(p.t, endpoint)
	client := s3Client(endpoint, "cellbench", "cellbench-secret")
	var keys []string
	for _, key := range bucketKeys(p.t, client, "cellbench", "compose/") {
		if _, ok := bench.ParseResultKey(key); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) != 1 {
		p.t.Fatalf("results in the bucket: %v, want one", keys)
	}
	object := bucketObject(p.t, client, "cellbench", keys[0])
	file, err := os.ReadFile(filepath.Join(p.dir, "results", filepath.FromSlash(keys[0])))
	if err != nil {
		p.t.Fatal(err)
	}
	if !bytes.Equal(object, file) {
		p.t.Errorf("the object in the bucket and the file in ./results differ")
	}
	result := validateResult(p.t, object)
	if result.Status != bench.StatusOK || result.Counts == nil || result.Counts.Events == 0 {
		p.t.Errorf("status %q, counts %+v: want a measured cell", result.Status, result.Counts)
	}
	if result.Version != "it" || result.Cell.Threads != 4 {
		p.t.Errorf("version %q, threads %d: want what the shell said, it and 4", result.Version, result.Cell.Threads)
	}
	return result
}

// composeCommand returns the command of one generation of compose.
func composeCommand(t *testing.T, generation int) []string {
	t.Helper()
	script, err := filepath.Abs("../infra/images/compose2.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"docker-compose"}, {"docker", "compose"}, {script}} {
		if generation == composeGeneration(t, command) {
			return command
		}
	}
	missing(t, "no docker compose %d is here (apt-get install docker-compose; make images)", generation)
	return nil
}

func composeGeneration(t *testing.T, command []string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "version", "--short")...)
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	generation, _ := strconv.Atoi(major)
	return min(generation, 2) // what came after 2 speaks the same language
}

// copyContext copies what the image is made of, as a clone would have it.
func copyContext(t *testing.T, to string) {
	t.Helper()
	for _, name := range []string{"Dockerfile", "docker-compose.yml", ".dockerignore", "go.mod", "go.sum", "task", "internal", "infra"} {
		from := filepath.Join("..", name)
		info, err := os.Stat(from)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			copyTree(t, from, filepath.Join(to, name))
			continue
		}
		copyFile(t, from, filepath.Join(to, name))
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if entry.Type().IsRegular() && !strings.HasSuffix(rel, "_test.go") {
			copyFile(t, path, filepath.Join(to, rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	mode := fs.FileMode(0o644)
	if slices.Contains([]string{".sh", ""}, filepath.Ext(from)) {
		mode = 0o755
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		t.Fatal(err)
	}
}

// freePort returns a port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// waitForAnswer waits until a web server answers there, with whatever. That the port
// accepts connections says little: Docker's proxy does so before the server.
func waitForAnswer(t *testing.T, endpoint string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody answers on %s: %v", endpoint, err)
		}
	}
}
