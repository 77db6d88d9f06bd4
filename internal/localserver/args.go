package localserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// baseArgs are the options of every start, the initialising one included: what
// keeps the server inside its folder.
func (s *Server) baseArgs() []string {
	args := []string{
		"--no-defaults", // must be first: no option file of the machine is read
		"--datadir=" + s.folder.path("data"),
		"--tmpdir=" + s.folder.path("tmp"),
		// Written to at once by MariaDB; resizing it at the second start costs time.
		s.redoOption(),
	}
	if os.Geteuid() == 0 {
		// Both refuse to run as root unasked. Dropping to another user would need
		// one to exist, and would clear the parent death signal.
		args = append(args, "--user=root")
	}
	return args
}

// serverArgs are the options of the server proper.
//
// What decides speed and safety of writes stays at the server's own defaults, on
// purpose: innodb_flush_log_at_trx_commit=1, sync_binlog and whether there is a
// binary log at all. So a local figure is that of the server as it is shipped;
// Options.Args change it where a study wants something else. Only sizes that are
// too small for any load test are raised.
func (s *Server) serverArgs(o Options) []string {
	args := append(s.baseArgs(),
		"--log-error="+s.folder.path("error.log"),
		"--pid-file="+s.folder.path("mysqld.pid"),
		"--socket="+s.folder.socket(),
		"--secure-file-priv="+s.folder.path("files"),
		"--init-file="+s.folder.path("init.sql"),
		"--port="+strconv.Itoa(s.port),
		"--bind-address=127.0.0.1",
		"--skip-name-resolve", // no DNS in the time of a connect
		"--max-connections=4096",
		"--back-log=4096", // a thousand connects at once are not refused
		"--max-prepared-stmt-count=1048576",
		fmt.Sprintf("--open-files-limit=%d", openFiles(fileLimit())),
		fmt.Sprintf("--innodb-buffer-pool-size=%d", o.bufferPool(memory(os.ReadFile))),
		// The data is thrown away: do not load, dump or flush it at start and end.
		"--innodb-buffer-pool-load-at-startup=OFF",
		"--innodb-buffer-pool-dump-at-shutdown=OFF",
		"--innodb-fast-shutdown=2",
	)
	if s.program.Flavour != "MariaDB" {
		args = append(args, "--loose-mysqlx=OFF") // a second protocol, on every address by default
	}
	return append(args, o.Args...)
}

// redoOption makes the redo log large enough that a write load does not wait for
// checkpoints after seconds: 512 MiB where both have about 100 MB, unless the
// temporary folder has little room.
func (s *Server) redoOption() string {
	size := uint64(512 << 20)
	if free := freeBytes(s.folder.dir); free != 0 && free < 4<<30 {
		size = 96 << 20
	}
	if s.program.Flavour == "MariaDB" {
		return fmt.Sprintf("--innodb-log-file-size=%d", size)
	}
	return fmt.Sprintf("--loose-innodb-redo-log-capacity=%d", size) // since 8.0.30
}

// openFiles returns how many files the server may open: connections and table
// handles of 4096 sessions, within what this process may grant.
func openFiles(limit uint64) uint64 {
	const want = 65535
	if limit == 0 || limit > want {
		return want
	}
	return limit
}

const (
	minBufferPool = 128 << 20
	maxBufferPool = 2 << 30
)

// bufferPool returns innodb_buffer_pool_size for that much memory, 0 if it is not
// known. It follows from what does not change between two cells, since results of
// servers with different pools must not be compared.
func (o Options) bufferPool(memory int64) int64 {
	if o.BufferPoolBytes > 0 {
		return o.BufferPoolBytes
	}
	return min(max(memory/8, minBufferPool), maxBufferPool)
}

// memory returns how many bytes of memory there are for this process: those of
// the machine or what its cgroup allows, whichever is less; 0 if unknown. read is
// os.ReadFile.
func memory(read func(string) ([]byte, error)) int64 {
	var least int64
	note := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if b, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			var kb int64
			if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kb); n == 1 {
				note(kb << 10)
			}
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := read(name); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" means no limit
			note(n)
		}
	}
	return least
}
