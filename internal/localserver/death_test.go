//go:build linux

package localserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperVariable makes the test binary a program that starts a server and then
// ends in the way that the variable says.
const helperVariable = "CELLBENCH_TEST_HELPER"

func TestMain(m *testing.M) {
	if ending := os.Getenv(helperVariable); ending != "" {
		os.Exit(helper(ending))
	}
	os.Exit(m.Run())
}

// helper starts a server, says where it is, reads a line and ends.
func helper(ending string) int {
	p := Program{Path: os.Getenv("CELLBENCH_TEST_PROGRAM"), Flavour: os.Getenv("CELLBENCH_TEST_FLAVOUR"), Version: "?"}
	s, err := Start(context.Background(), Options{Program: &p, Database: "db"})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	// A login here, by this user, shows that it can be used, not only started.
	c, err := dial("unix", s.Socket(), s.User(), s.Password())
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	c.close()
	fmt.Println("ready", s.PID(), s.guard.cmd.Process.Pid, s.Dir())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	switch ending {
	case "stop":
		if err := s.Stop(context.Background()); err != nil {
			fmt.Println("error", err)
			return 1
		}
	case "panic":
		go panic("a fault somewhere")
		select {}
	case "wait":
		select {}
	}
	return 0
}

// parent is a running helper and its server.
type parent struct {
	cmd        *exec.Cmd
	in         io.Writer
	pid, guard int
	dir        string
}

// startParent runs the helper in a folder of its own, as this user or another.
func startParent(t *testing.T, p Program, ending string, as *syscall.Credential) *parent {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	tmp := t.TempDir()
	if as != nil {
		cmd.Path = copyForAll(t)
		tmp = filepath.Dir(cmd.Path)
		if err := os.Chmod(tmp, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Env = append(os.Environ(), helperVariable+"="+ending, "TMPDIR="+tmp,
		"CELLBENCH_TEST_PROGRAM="+p.Path, "CELLBENCH_TEST_FLAVOUR="+p.Flavour)
	cmd.Stderr = io.Discard // the panic
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("helper said %q, %v", line, err)
	}
	h := &parent{cmd: cmd, in: in}
	if _, err := fmt.Sscan(line[len("ready "):], &h.pid, &h.guard, &h.dir); err != nil {
		t.Fatal(err)
	}
	return h
}

// writeProgram makes a program file. Nobody forks meanwhile: a child would have the
// file open for writing for a moment, and it could not be run then (ETXTBSY).
func writeProgram(t *testing.T, path string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// copyForAll copies this test binary to where every user can run it.
func copyForAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lstest-") // t.TempDir lies under folders of mode 0700
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "helper")
	writeProgram(t, path, b)
	return path
}

// expectGone waits until the server's process and folder are no more.
func (h *parent) expectGone(t *testing.T, folder bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(h.dir)
		if !alive(h.pid) && (!folder || errors.Is(err, fs.ErrNotExist)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d alive: %v; folder: %v", h.pid, alive(h.pid), err)
		}
	}
}

// alive reports whether a process runs; one that only waits to be reaped does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	p := programs(t)[0]
	s := start(t, Options{Program: &p})
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil { // it cannot act on SIGTERM
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
}

func TestServerEndsWithItsParent(t *testing.T) {
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	for _, test := range []struct {
		name   string
		ending string
		signal syscall.Signal // 0: the helper is told to end
		as     *syscall.Credential
	}{
		{"stop", "stop", 0, nil},
		{"exit without stop", "exit", 0, nil},
		{"panic", "panic", 0, nil},
		{"SIGTERM", "wait", syscall.SIGTERM, nil},
		{"SIGKILL", "wait", syscall.SIGKILL, nil},
		{"stop as a plain user", "stop", 0, nobody},
		{"SIGKILL as a plain user", "wait", syscall.SIGKILL, nobody},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.as != nil && os.Geteuid() != 0 {
				t.Skip("only root can become another user")
			}
			eachProgram(t, func(t *testing.T, p Program) {
				h := startParent(t, p, test.ending, test.as)
				if test.signal != 0 {
					if err := h.cmd.Process.Signal(test.signal); err != nil {
						t.Fatal(err)
					}
				} else if _, err := io.WriteString(h.in, "end\n"); err != nil {
					t.Fatal(err)
				}
				h.expectGone(t, true)
			})
		})
	}
}

// TestServerEndsWithItsParentAlone kills the guard first: the kernel still ends
// the server, and the next start removes the folder.
func TestServerEndsWithItsParentAlone(t *testing.T) {
	p := programs(t)[0]
	h := startParent(t, p, "wait", nil)
	t.Setenv("TMPDIR", filepath.Dir(h.dir))
	sweep()
	if !alive(h.pid) {
		t.Fatal("a live server was swept away")
	}
	for _, pid := range []int{h.guard, h.cmd.Process.Pid} {
		if err := kill(pid); err != nil {
			t.Fatal(err)
		}
	}
	_ = h.cmd.Wait()
	h.expectGone(t, false)
	if _, err := os.Stat(h.dir); err != nil {
		t.Fatalf("nobody was left to remove the folder, yet: %v", err)
	}
	sweep()
	h.expectGone(t, true)
}

func TestSweepOne(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(t *testing.T, dir string)
		gone bool
	}{
		{"no owner yet", func(*testing.T, string) {}, false},
		{"no owner for hours", func(t *testing.T, dir string) {
			past := time.Now().Add(-2 * ownerlessAge)
			if err := os.Chtimes(dir, past, past); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"owner gone", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "owner")) }, true},
		{"owner there", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "owner"))
			f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR, 0)
			if err != nil || !tryLock(f) {
				t.Fatal("cannot lock", err)
			}
			t.Cleanup(func() { _ = f.Close() })
		}, false},
		{"socket folder without data", func(t *testing.T, dir string) {
			if err := os.Symlink("/nowhere/cellbench", filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"pid file of an innocent", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "owner"))
			if err := os.WriteFile(filepath.Join(dir, "mysqld.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), folderPrefix+"x")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			test.make(t, dir)
			sweepOne(dir)
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) != test.gone {
				t.Errorf("folder: %v; want gone %v", err, test.gone)
			}
		})
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSweepKillsOrphan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), folderPrefix+"x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "owner"))
	orphan := exec.Command("/bin/sh", "-c", "sleep 60; exit", "--datadir="+dir+"/data")
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	defer orphan.Process.Kill() //nolint:errcheck // it may be gone
	if err := os.WriteFile(filepath.Join(dir, "mysqld.pid"), []byte(fmt.Sprintln(orphan.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	sweepOne(dir)
	if err := orphan.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("orphan ended with %v, want it killed", err)
	}
}
