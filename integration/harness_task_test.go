package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// taskDeadline ends a task that hangs: every step of it has a deadline of its
// own, so reaching this one is a failure.
const taskDeadline = 4 * time.Minute

// taskBinary returns the path of the task, built once for all tests.
func taskBinary(t *testing.T) string {
	t.Helper()
	return shared.binary.get(t, func() (string, error) {
		dir, err := os.MkdirTemp("", "cellbench-task-")
		if err != nil {
			return "", fmt.Errorf("make folder: %w", err)
		}
		shared.atExit(func() { _ = os.RemoveAll(dir) })
		path := filepath.Join(dir, "task")
		build := exec.CommandContext(context.Background(), "go", "build", "-o", path, "cellbench/task")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build ./task: %w: %s", err, out)
		}
		// The binary may be run as another user than the one who built it.
		return path, errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o755))
	})
}

// taskRun is a task that has ended.
type taskRun struct {
	Stdout, Stderr string
	Code           bench.ExitCode
	Elapsed        time.Duration
	Dir            string // its working directory; results are in Dir/results by default
}

// Result returns the result printed on stdout, validated.
func (r taskRun) Result(t *testing.T) bench.Result {
	t.Helper()
	if r.Stdout == "" {
		t.Fatalf("no result on stdout; exit %d, stderr:\n%s", r.Code, r.Stderr)
	}
	return validateResult(t, []byte(r.Stdout))
}

// Want fails the test unless the task ended with this code.
func (r taskRun) Want(t *testing.T, code bench.ExitCode) taskRun {
	t.Helper()
	if r.Code != code {
		t.Fatalf("exit code %d, want %d; stderr:\n%s", r.Code, code, r.Stderr)
	}
	return r
}

// runTask runs the task to its end with PATH, HOME, TMPDIR and env for an
// environment, in a folder of its own. Later entries of env win.
func runTask(t *testing.T, env []string, args ...string) taskRun {
	t.Helper()
	return startTask(t, env, args...).Wait()
}

// taskProcess is a task that runs.
type taskProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	stdout  syncBuffer
	stderr  syncBuffer
	started time.Time
	done    chan struct{}
	run     taskRun
}

// startTask starts the task and returns at once. The test's end kills it.
func startTask(t *testing.T, env []string, args ...string) *taskProcess {
	t.Helper()
	binary := taskBinary(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), taskDeadline)
	p := &taskProcess{t: t, cmd: exec.CommandContext(ctx, binary, args...), cancel: cancel, done: make(chan struct{})}
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 5 * time.Second
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("start task: %v", err)
	}
	go p.reap()
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	return p
}

func (p *taskProcess) reap() {
	defer close(p.done)
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	p.run = taskRun{
		Stdout: p.stdout.String(), Stderr: p.stderr.String(), Code: bench.ExitCode(code),
		Elapsed: time.Since(p.started), Dir: p.cmd.Dir,
	}
}

// Pid returns the process id.
func (p *taskProcess) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal, e.g. syscall.SIGTERM.
func (p *taskProcess) Signal(signal os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("signal task: %v", err)
	}
}

// Wait waits for the end. A task killed by a signal has 128 + its number for a code.
func (p *taskProcess) Wait() taskRun {
	p.t.Helper()
	<-p.done
	if p.run.Elapsed >= taskDeadline {
		p.t.Fatalf("task did not end in %s; stderr:\n%s", taskDeadline, p.run.Stderr)
	}
	return p.run
}

// Stderr returns what the task has written there so far.
func (p *taskProcess) Stderr() string { return p.stderr.String() }

// WaitFor waits until stderr holds text; it fails when the task ends before.
func (p *taskProcess) WaitFor(text string) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !bytes.Contains([]byte(p.stderr.String()), []byte(text)) {
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("task ended (exit %d) before it said %q; stderr:\n%s", p.run.Code, text, p.run.Stderr)
		}
	}
}

// syncBuffer may be read while a process writes to it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
