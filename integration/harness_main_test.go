package integration

import (
	"context"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// ownerLabel marks every container of these tests with the process that owns it.
const ownerLabel = "cellbench.integration.owner"

// shared is what all tests of a run use together: TestMain makes and ends it.
var shared = newFixtures()

// fixtures are started by the first test that asks for them.
type fixtures struct {
	mysql   lazy[*server]
	mariadb lazy[*server]
	gateway lazy[*gateway]
	binary  lazy[string]
	image   lazy[string]

	mu      sync.Mutex
	cleanup []func()
}

func newFixtures() *fixtures { return &fixtures{} }

// atExit registers f to run when all tests are done, the last one first.
func (f *fixtures) atExit(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanup = append(f.cleanup, fn)
}

func (f *fixtures) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.cleanup) - 1; i >= 0; i-- {
		f.cleanup[i]()
	}
	f.cleanup = nil
}

// lazy makes a value once; all who ask get it, or the error of the one attempt.
type lazy[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (l *lazy[T]) get(t *testing.T, build func() (T, error)) T {
	t.Helper()
	l.once.Do(func() { l.value, l.err = build() })
	if l.err != nil {
		t.Fatalf("shared fixture: %v", l.err)
	}
	return l.value
}

func TestMain(m *testing.M) {
	// Containers are reached through this machine's loopback, and no image is
	// needed for the library's own janitor: sweep does its work.
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	if os.Getenv("DOCKER_HOST") == "" {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	tclog.SetDefault(tclog.NewNoopLogger()) // its errors are returned as well
	_ = mysqldriver.SetLogger(log.New(io.Discard, "", 0))
	sweep()
	code := m.Run()
	shared.close()
	os.Exit(code)
}

func setDefault(name, value string) {
	if os.Getenv(name) == "" {
		_ = os.Setenv(name, value)
	}
}

// sweep removes containers whose owning process is gone: leftovers of a test run
// that was killed or timed out.
func sweep() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	format := `{{.ID}} {{.Label "` + ownerLabel + `"}}`
	out, err := exec.CommandContext(ctx, "docker", "ps", "-a", "--filter", "label="+ownerLabel, "--format", format).Output()
	if err != nil {
		return // no docker: requireDocker speaks of it
	}
	for line := range strings.Lines(string(out)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(owner); err == nil && !alive(pid) {
			_ = exec.CommandContext(ctx, "docker", "rm", "-f", "-v", id).Run()
		}
	}
}

// alive reports whether a process with this id exists.
func alive(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}

// owned labels a container with this process.
func owned() testcontainers.CustomizeRequestOption {
	return testcontainers.WithLabels(map[string]string{ownerLabel: strconv.Itoa(os.Getpid())})
}

// terminate removes a container and its volumes. It has its own deadline: the
// test's context is over when it is called.
func terminate(c testcontainers.Container) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = c.Terminate(ctx, testcontainers.StopTimeout(time.Second))
}
