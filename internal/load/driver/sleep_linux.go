package driver

import (
	"syscall"
	"time"
)

// coarse is how late time.Sleep may be: the runtime waits for timers in
// epoll_wait, which counts milliseconds.
const coarse = 1500 * time.Microsecond

// sleep waits for d. The last stretch is slept by the thread itself, since a
// start that is late by the client's own timer would count as the server's
// latency. At any time few connections are that near to their start.
func sleep(d time.Duration) {
	if d > coarse {
		time.Sleep(d - coarse)
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	// Waking early is fine: the caller looks at the clock.
	_ = syscall.Nanosleep(&t, nil)
}
