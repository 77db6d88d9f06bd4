package cell

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cellbench/internal/mysql"
)

// edges reads every counter at both edges of the window, so that all of them
// speak of the same time.
type edges struct {
	r             *run
	before, after snapshot
}

type snapshot struct {
	taken     bool
	status    map[string]int64 // the server's counters; nil if they could not be read
	failed    bool             // the server did not answer the reading
	clientCPU float64          // seconds
	serverCPU *float64         // seconds; nil unless the server is local
	throttled throttling
	gcPause   uint64 // nanoseconds
	maxRSS    int64  // bytes
}

// statusTime bounds one reading of the server's counters.
const statusTime = 10 * time.Second

func newEdges(r *run) *edges { return &edges{r: r} }

func (e *edges) open()  { e.before = e.take(true) }
func (e *edges) close() { e.after = e.take(false) }

// take reads the server's counters as the one nearer to the load: first the
// client's at the opening edge, last at the closing one, so that the cost of the
// reading itself stays outside the client's figures.
func (e *edges) take(opening bool) snapshot {
	var s snapshot
	if opening {
		e.readStatus(&s)
		e.client(&s)
	} else {
		e.client(&s)
		e.readStatus(&s)
	}
	s.taken = true
	return s
}

func (e *edges) readStatus(s *snapshot) {
	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	var err error
	if s.status, err = mysql.ReadStatus(ctx, e.r.control); err != nil {
		s.status, s.failed = nil, true
	}
}

func (e *edges) client(s *snapshot) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		s.clientCPU = seconds(ru.Utime) + seconds(ru.Stime)
		s.maxRSS = ru.Maxrss * rssUnit
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.gcPause = m.PauseTotalNs
	s.throttled = readThrottling()
	if srv := e.r.target.server; srv != nil {
		s.serverCPU = processCPU(srv.PID())
	}
}

func seconds(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }

// clockTick is the unit of the CPU times in /proc/<pid>/stat, a hundredth of a
// second on every Linux since 2.6 (sysconf(_SC_CLK_TCK)).
const clockTick = 0.01

// processCPU returns the CPU seconds a process has used, nil if that cannot be
// read (proc(5), fields 14 and 15).
func processCPU(pid int) *float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The second field, the program's name, may hold spaces and parentheses.
	i := strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[i+1:]))
	if i < 0 || len(fields) < 13 {
		return nil
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	cpu := float64(user+system) * clockTick
	return &cpu
}
