package localserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// programs returns the server programs to test with: all that Find can find, by
// flavour, and those in the list of folders CELLBENCH_TEST_SERVERS. A machine
// without one is a skip, under CI a failure.
func programs(t *testing.T) []Program {
	t.Helper()
	var found []Program
	lists := [][]string{searchPath(os.Getenv("PATH"))}
	for _, dir := range filepath.SplitList(os.Getenv("CELLBENCH_TEST_SERVERS")) {
		lists = append(lists, []string{dir})
	}
	for _, dirs := range lists {
		p, err := findIn(dirs)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(q Program) bool { return q.Path == p.Path }) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("no server program to test with")
		}
		t.Skip("no server program to test with")
	}
	return found
}

// eachProgram runs a test with each server program.
func eachProgram(t *testing.T, test func(*testing.T, Program)) {
	t.Helper()
	for _, p := range programs(t) {
		t.Run(p.Flavour, func(t *testing.T) { test(t, p) })
	}
}

// start starts a server that ends with the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestStartServesSocketAndPort(t *testing.T) {
	eachProgram(t, func(t *testing.T, p Program) {
		var said []string
		began := time.Now()
		s := start(t, Options{
			Program: &p, Database: "sb`test", BufferPoolBytes: 256 << 20,
			Args:     []string{"--performance-schema=ON"},
			Progress: func(m string) { said = append(said, m) },
		})
		t.Logf("%s started in %s", p, time.Since(began).Round(time.Millisecond))
		for _, network := range []string{"unix", "tcp"} {
			for query, want := range map[string]string{
				"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'sb`test'": "1",
				"SELECT @@global.performance_schema":                                             "1",
				"SELECT @@global.max_connections":                                                "4096",
				"SELECT @@global.max_prepared_stmt_count":                                        "1048576",
				"SELECT @@global.innodb_buffer_pool_size":                                        "268435456",
				"SELECT @@global.innodb_flush_log_at_trx_commit":                                 "1",
				"SELECT @@global.secure_file_priv":                                               s.folder.path("files") + "/",
				"CREATE TABLE IF NOT EXISTS `sb``test`.t (a INT PRIMARY KEY)":                    "",
				"SET GLOBAL max_connections = 4096":                                              "",
			} {
				if got := mustValue(t, s, network, query); got != want {
					t.Errorf("%s: %s = %q, want %q", network, query, got, want)
				}
			}
		}
		if len(said) == 0 {
			t.Error("progress was told nothing")
		}
		stopAndLook(t, s)
	})
}

// stopAndLook stops s and looks that nothing of it is left.
func stopAndLook(t *testing.T, s *Server) {
	t.Helper()
	began := time.Now()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	select {
	case <-s.Exited():
	default:
		t.Error("not exited after Stop")
	}
	for _, dir := range s.dirs() {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("folder after Stop: %v", err)
		}
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestStartLetsNobodyElseIn(t *testing.T) {
	eachProgram(t, func(t *testing.T, p Program) {
		s := start(t, Options{Program: &p})
		address := fmt.Sprintf("127.0.0.1:%d", s.Port())
		for _, account := range []struct{ user, password string }{
			{"root", ""}, {"", ""}, {"nobody", ""}, {s.User(), ""}, {s.User(), "wrong"},
		} {
			if c, err := dial("tcp", address, account.user, account.password); err == nil {
				c.close()
				t.Errorf("logged in as %q with password %q", account.user, account.password)
			}
		}
		fi, err := os.Stat(s.Dir())
		if err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("folder: %v, %v; want mode 0700", fi.Mode(), err)
		}
		for _, ip := range otherAddresses(t) {
			if c, err := net.DialTimeout("tcp", net.JoinHostPort(ip, fmt.Sprint(s.Port())), time.Second); err == nil {
				_ = c.Close()
				t.Errorf("listens at %s too", ip)
			}
		}
	})
}

// otherAddresses returns this machine's addresses that are not loopback.
func otherAddresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var ips []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}

func TestTwoServersAtOnce(t *testing.T) {
	p := programs(t)[0]
	var servers [2]*Server
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := Start(t.Context(), Options{Program: &p, Database: "db"})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	for _, s := range servers {
		if s == nil {
			continue
		}
		defer func() { _ = s.Stop(context.Background()) }()
		mustValue(t, s, "unix", "CREATE TABLE db.t (a INT)")
	}
}

func TestStartRetriesTakenPort(t *testing.T) {
	eachProgram(t, func(t *testing.T, p Program) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		calls := 0
		s := start(t, Options{Program: &p, port: func() (int, error) {
			if calls++; calls == 1 {
				return taken.Addr().(*net.TCPAddr).Port, nil
			}
			return freePort()
		}})
		if calls != 2 {
			t.Errorf("%d ports were tried, want 2", calls)
		}
		mustValue(t, s, "tcp", "SET @a = 1")
	})
}

func TestStartUnderLongTMPDIR(t *testing.T) {
	p := programs(t)[0]
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	s := start(t, Options{Program: &p})
	if !strings.HasPrefix(s.Dir(), long) {
		t.Errorf("data in %s, want it under TMPDIR", s.Dir())
	}
	if len(s.Socket()) > socketLimit {
		t.Errorf("socket path has %d bytes", len(s.Socket()))
	}
	mustValue(t, s, "unix", "SET @a = 1")
	stopAndLook(t, s)
}

func TestStartRefusals(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	eachProgram(t, func(t *testing.T, p Program) {
		for _, test := range []struct {
			name string
			ctx  context.Context
			o    Options
			code bench.ExitCode
			text string
		}{
			{"unknown option", t.Context(), Options{Args: []string{"--no-such-option=1"}}, bench.ExitConfig, "no-such-option"},
			{"stopped meanwhile", canceled, Options{}, bench.ExitInterrupted, "canceled"},
			{"does not run", t.Context(), Options{Program: &Program{Path: "/bin/false", Flavour: p.Flavour, Version: "1"}}, bench.ExitInternal, "exit status 1"},
			{"is not there", t.Context(), Options{Program: &Program{Path: "/nowhere/mysqld", Flavour: "MySQL", Version: "1"}}, bench.ExitInternal, "no such file"},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir())
				if test.o.Program == nil {
					test.o.Program = &p
				}
				s, err := Start(test.ctx, test.o)
				if err == nil {
					_ = s.Stop(context.Background())
					t.Fatal("started")
				}
				if bench.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n") {
					t.Errorf("class %d, %q; want class %d, one line with %q", bench.CodeOf(err), err, test.code, test.text)
				}
				if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	})
}

func TestServerThatEndsByItself(t *testing.T) {
	eachProgram(t, func(t *testing.T, p Program) {
		s := start(t, Options{Program: &p})
		if err := kill(s.PID()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Exited():
		case <-time.After(20 * time.Second):
			t.Fatal("Exited is not closed")
		}
		if s.LogTail(3) == "" {
			t.Error("no log to look at")
		}
		stopAndLook(t, s)
	})
}

func TestNothingIsLeftOpen(t *testing.T) {
	p := programs(t)[0]
	s := start(t, Options{Program: &p}) // whatever the first one opens for good
	_ = s.Stop(context.Background())
	files, routines := countOpenFiles(t), runtime.NumGoroutine()
	for range 2 {
		s := start(t, Options{Program: &p})
		if err := s.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := countOpenFiles(t); got > files {
		t.Errorf("%d open files after Stop, %d before", got, files)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > routines; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines after Stop, %d before", runtime.NumGoroutine(), routines)
		}
	}
}

// countOpenFiles counts this process's open files.
func countOpenFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

func TestInitialiseByScript(t *testing.T) {
	for _, p := range programs(t) {
		if p.Flavour != "MariaDB" {
			continue
		}
		f, err := newFolder()
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{program: p, folder: f, password: "secret"}
		defer func() { _ = s.Stop(context.Background()) }()
		for _, step := range []func() error{
			func() error { return s.prepare("db") },
			func() error { return s.initialiseByScript(t.Context()) },
			func() error { return s.runOnFreePort(t.Context(), Options{}) },
		} {
			if err := step(); err != nil {
				t.Fatalf("%v: %s", err, s.LogTail(20))
			}
		}
		mustValue(t, s, "tcp", "CREATE TABLE db.t (a INT)")
		if c, err := dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port()), "root", ""); err == nil {
			c.close()
			t.Error("root can log in without a password")
		}
		return
	}
	t.Skip("no MariaDB here")
}
