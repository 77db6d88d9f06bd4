//go:build unix

package localserver

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts a child into a process group of its own, so that Ctrl-C on the
// terminal reaches this program alone, which then stops the server in order.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// detach puts a child into a session of its own, where neither Ctrl-C nor the end
// of this process reaches it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate asks p to shut down.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// kill ends the process with that id.
func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// tryLock takes an exclusive lock on f and reports whether it was free. The
// kernel drops it when the process ends, however it ends.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isMine reports whether a file belongs to this user.
func isMine(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// fileLimit returns the highest number of open files a child can ask for, 0 if
// unknown.
func fileLimit() uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Max)
}

// freeBytes returns the room that is left in the file system of dir, 0 if unknown.
func freeBytes(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // the types differ between systems
}
