package sink

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// asPlainUser runs f without root's power over files: the file system user id of
// one thread is changed, and the thread ends with f.
func asPlainUser(t *testing.T, f func()) {
	t.Helper()
	if syscall.Geteuid() != 0 {
		f()
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread is not used again
		const nobody = 65534
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		f()
	})
	wg.Wait()
}
