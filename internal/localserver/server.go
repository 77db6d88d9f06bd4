package localserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"cellbench/internal/bench"
)

// userName is the account a Server is reached with; it may do everything.
const userName = "cellbench"

const (
	startTimeout = 2 * time.Minute       // of initialising plus starting, without a nearer deadline
	stopTimeout  = 10 * time.Second      // from SIGTERM to SIGKILL
	readyPoll    = 10 * time.Millisecond // between two tries to connect
	portTries    = 3                     // a free port can be taken by another before the server binds it
)

// Options say how a throwaway server is started. The zero value is fine.
type Options struct {
	// Program is the server program to run; nil means the one that Find finds.
	Program *Program
	// Args are extra server options, after and so stronger than those of this
	// room, e.g. "--performance-schema=ON".
	Args []string
	// Database is created when it is not empty.
	Database string
	// BufferPoolBytes is innodb_buffer_pool_size; 0 means an eighth of the memory
	// (cgroup limit included), at least 128 MiB and at most 2 GiB.
	BufferPoolBytes int64
	// Progress is told in a few words what is being done; nil means nobody.
	Progress func(string)

	port func() (int, error) // of the next try; nil means freePort
}

// Server is a running throwaway server. Its methods may be called from several
// goroutines.
type Server struct {
	program  Program
	folder   *folder
	guard    *guard
	child    *child
	port     int
	password string
	stop     sync.Mutex
	stopped  bool
}

// Start starts a throwaway server and returns when it answers. ctx bounds the
// start only; the server then runs until Stop, or until this process ends.
//
// Folders and servers that killed processes left behind are removed first.
// Errors hold the end of the server's log. Their class is bench.ExitConfig when
// there is no server program (ErrNone is in the chain), when TMPDIR cannot be
// written to or when the server refuses an option, bench.ExitInterrupted when ctx
// was cancelled, else bench.ExitInternal.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	sweep()
	f, err := newFolder()
	if err != nil {
		return nil, bench.Errorf(bench.CodeOf(err), "start local server: %w", err)
	}
	s := &Server{program: program, folder: f, password: rand.Text()}
	if err := s.start(ctx, o); err != nil {
		err = s.classify(err)
		_ = s.Stop(context.Background())
		return nil, err
	}
	return s, nil
}

// program returns the program to run.
func (o Options) program() (Program, error) {
	if o.Program != nil {
		return *o.Program, nil
	}
	return Find()
}

// unknownOption is what both servers log for an option they do not know or a
// value they do not take.
var unknownOption = regexp.MustCompile(`(?i)\[ERROR\].*(unknown (variable|option|suffix)|ambiguous option|while setting value)`)

// classify adds the server's log and the exit class to an error of start.
func (s *Server) classify(err error) error {
	code, log := bench.ExitInternal, s.LogTail(40)
	switch {
	case errors.Is(err, context.Canceled):
		code = bench.ExitInterrupted
	case unknownOption.MatchString(log):
		code = bench.ExitConfig
	}
	hint := ""
	if strings.Contains(log, "rrno: 13") || strings.Contains(log, "OS errno 13") {
		hint = " (a security profile such as AppArmor may keep the server out of " + s.folder.dir + "; set TMPDIR to a folder it may use)"
	}
	if log = oneLine(complaints(log)); log != "" {
		log = ": server log: " + log
	}
	return bench.Errorf(code, "start local server (%s): %w%s%s", s.program.Path, err, hint, log)
}

// complaints returns the lines of a log that are marked as errors, all lines if
// there are none.
func complaints(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, "[ERROR]") {
			b.WriteString(line)
		}
	}
	if b.Len() == 0 {
		return log
	}
	return b.String()
}

// start initialises the data directory and runs the server on it.
func (s *Server) start(ctx context.Context, o Options) error {
	progress := o.Progress
	if progress == nil {
		progress = func(string) {}
	}
	if err := s.prepare(o.Database); err != nil {
		return err
	}
	progress("initialising a throwaway " + s.program.String())
	if err := s.initialise(ctx); err != nil {
		return err
	}
	progress("starting the throwaway " + s.program.Flavour)
	return s.runOnFreePort(ctx, o)
}

// prepare starts the guard and fills the folder with what is no data.
func (s *Server) prepare(database string) error {
	var err error
	if s.guard, err = newGuard(s.dirs()...); err != nil {
		return err
	}
	for _, d := range []string{"data", "tmp", "files"} {
		if err := os.Mkdir(s.folder.path(d), 0o700); err != nil {
			return fmt.Errorf("create server folder: %w", err)
		}
	}
	if err := os.WriteFile(s.folder.path("init.sql"), s.initSQL(database), 0o600); err != nil {
		return fmt.Errorf("write init file: %w", err)
	}
	return nil
}

// runOnFreePort runs the server, on another port if somebody else took the one
// that was free a moment ago.
func (s *Server) runOnFreePort(ctx context.Context, o Options) error {
	if o.port == nil {
		o.port = freePort
	}
	for try := 1; ; try++ {
		err := s.run(ctx, o)
		if err == nil || try == portTries || !portTaken.MatchString(s.LogTail(50)) {
			return err
		}
		_ = os.Remove(s.folder.path("error.log"))
	}
}

// portTaken is what both servers log when somebody else got the port first.
var portTaken = regexp.MustCompile(`(?i)bind on tcp/ip port`)

// dirs lists the folders of the server.
func (s *Server) dirs() []string {
	if s.folder.socketDir != s.folder.dir {
		return []string{s.folder.dir, s.folder.socketDir}
	}
	return []string{s.folder.dir}
}

// initSQL is run by the server before it takes connections, one statement a line.
// MariaDB's system tables come with accounts that TCP could use without a
// password; they go. root@localhost has none either, but only who can enter the
// folder reaches the socket, and that is this user.
func (s *Server) initSQL(database string) []byte {
	var b bytes.Buffer
	b.WriteString("DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1', ''@'localhost';\n")
	fmt.Fprintf(&b, "CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s';\n", userName, s.password)
	fmt.Fprintf(&b, "GRANT ALL ON *.* TO '%s'@'%%' WITH GRANT OPTION;\n", userName)
	if database != "" {
		fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS `%s`;\n", strings.ReplaceAll(database, "`", "``"))
	}
	return b.Bytes()
}

// run starts the server on a free port and waits until it answers.
func (s *Server) run(ctx context.Context, o Options) error {
	var err error
	if s.port, err = o.port(); err != nil {
		return err
	}
	early, err := os.Create(s.folder.path("stderr.log"))
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	defer early.Close()
	cmd := exec.Command(s.program.Path, s.serverArgs(o)...)
	cmd.Dir = s.folder.dir
	cmd.Stdout, cmd.Stderr = early, early // what it says before --log-error is open
	if s.child, err = launch(cmd, s.guard); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	return s.waitReady(ctx)
}

// waitReady waits for the server's greeting on the socket and on the port.
func (s *Server) waitReady(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if greets("unix", s.Socket()) && greets("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for server: %w", context.Cause(ctx))
		case <-s.child.exited:
			return fmt.Errorf("start server: it ended by itself (%s)", s.child.ending())
		case <-tick.C:
		}
	}
}

// greets reports whether a MySQL server says its greeting there: protocol
// version 10 after the four bytes of a packet header.
func greets(network, address string) bool {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	var b [5]byte
	_, err = io.ReadFull(c, b[:])
	return err == nil && b[4] == 10
}

// freePort returns a TCP port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Socket returns the path of the server's Unix socket, at most 103 bytes long.
func (s *Server) Socket() string { return s.folder.socket() }

// Port returns the server's TCP port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// User returns the name of an account that may do everything.
func (s *Server) User() string { return userName }

// Password returns the password of User, drawn at random for this server.
func (s *Server) Password() string { return s.password }

// PID returns the process id of the server, for reading its CPU time.
func (s *Server) PID() int { return s.child.proc.Pid }

// Program returns what is running.
func (s *Server) Program() Program { return s.program }

// Dir returns the folder of the server, removed by Stop.
func (s *Server) Dir() string { return s.folder.dir }

// Free returns the bytes that are free where the server's data lies, 0 if that is
// not known.
func (s *Server) Free() int64 { return int64(min(freeBytes(s.folder.dir), math.MaxInt64)) }

// Exited is closed when the server process has ended, by Stop or by itself.
func (s *Server) Exited() <-chan struct{} { return s.child.exited }

// Stop ends the server (SIGTERM; SIGKILL after ten seconds or at the end of ctx)
// and removes its folder. Calling it again does nothing. The error, of class
// bench.ExitInternal, says what of the folder could not be removed.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Lock()
	defer s.stop.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	if s.child != nil {
		s.child.end(ctx, stopTimeout)
	}
	err := s.folder.remove()
	if s.guard != nil {
		s.guard.dismiss()
	}
	if err != nil {
		return bench.Errorf(bench.ExitInternal, "remove server folder: %w", err)
	}
	return nil
}

// LogTail returns the last n lines of what the server and the initialising run
// before it have said, oldest first; "" after Stop.
func (s *Server) LogTail(n int) string {
	var lines []string
	for _, name := range []string{"init.log", "stderr.log", "error.log"} {
		b, err := os.ReadFile(s.folder.path(name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
