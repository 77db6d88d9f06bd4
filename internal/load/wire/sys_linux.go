package wire

import (
	"errors"
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of a loop are raw: the thread keeps its scheduler slot (P)
// during them, since handing it over and taking it back costs more than most of
// these calls. None of them blocks but epoll_wait, and that one is ended by the
// runtime's preemption signals whenever the world must stop.

// recv reads what the socket holds. Zero bytes without an error is the end of
// the stream.
func recv(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		if e == 0 {
			return int(n), 0
		}
		if e != unix.EINTR {
			return 0, e
		}
	}
}

// send writes as much of b as the socket takes.
func send(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
		if e == 0 {
			return int(n), 0
		}
		if e != unix.EINTR {
			return 0, e
		}
	}
}

// poller is an epoll and the best way to wait on it with a timeout finer than a
// millisecond.
type poller struct {
	fd     int
	coarse bool // no epoll_pwait2 here (before Linux 5.11, or forbidden)
}

func newPoller() (poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return poller{fd: fd}, err
}

// wait returns how many events are ready, after at most timeout nanoseconds
// (negative: no limit). A signal ends it with none.
func (p *poller) wait(events []unix.EpollEvent, timeout int64) int {
	for !p.coarse {
		var ts *unix.Timespec
		if timeout >= 0 {
			t := unix.NsecToTimespec(timeout)
			ts = &t
		}
		n, e := p.pwait2(events, ts)
		if e == 0 {
			return n
		}
		if e != unix.ENOSYS && e != unix.EPERM {
			return 0
		}
		p.coarse = true
	}
	if timeout > 0 && timeout < int64(math.MaxInt32)*1e6 {
		// ppoll takes nanoseconds and is everywhere; the epoll is readable when it
		// has events.
		ts := unix.NsecToTimespec(timeout)
		fds := unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}
		_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1,
			uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		timeout = 0
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(timeout), 0, 0)
	if e != 0 {
		return 0
	}
	return int(n)
}

func (p *poller) pwait2(events []unix.EpollEvent, ts *unix.Timespec) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(ts)), 0, 0)
	return int(n), e
}

// add registers a socket, edge-triggered, under a slot and its generation.
func (p *poller) add(fd, slot int, gen uint32) error {
	return p.ctl(unix.EPOLL_CTL_ADD, fd, slot, gen, 0)
}

// wantWrite asks to be told when the socket takes bytes again, or no more.
func (p *poller) wantWrite(fd, slot int, gen uint32, want bool) error {
	if want {
		return p.ctl(unix.EPOLL_CTL_MOD, fd, slot, gen, unix.EPOLLOUT)
	}
	return p.ctl(unix.EPOLL_CTL_MOD, fd, slot, gen, 0)
}

func (p *poller) ctl(op, fd, slot int, gen, more uint32) error {
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET | more,
		Fd:     int32(slot), Pad: int32(gen),
	}
	return unix.EpollCtl(p.fd, op, fd, &ev)
}

// adopt duplicates the descriptor of a connection. A duplicate is unknown to
// Go's network poller; the caller closes the original, which takes that one out
// of the poller.
func adopt(c any) (int, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return -1, errors.New("the connection has no descriptor of its own: use engine driver")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		if fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0); dupErr == nil {
			dupErr = unix.SetNonblock(fd, true)
		}
	})
	if err = errors.Join(err, dupErr); err != nil && fd >= 0 {
		_ = unix.Close(fd)
		fd = -1
	}
	return fd, err
}

// sharpTimers lets the sleeps of this thread end when they should rather than up
// to 50 microseconds later, or as before.
func sharpTimers(on bool) {
	slack := uintptr(0) // the default of the thread
	if on {
		slack = 1
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, slack, 0)
}

// Scheduling policies, of sched(7).
const (
	schedOther = 0
	schedBatch = 3
)

// batchThread gives this thread the policy SCHED_BATCH if it has the default one,
// and returns what puts that back. A thread of that policy gets its share of the
// CPU as before but, when it is woken, does not interrupt another one: see "What
// it costs" in the package's documentation. A system that refuses goes on without.
func batchThread() (undo func()) {
	policy, _, e := syscall.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	if e != 0 || policy != schedOther || setPolicy(schedBatch) != 0 {
		return func() {}
	}
	return func() { _ = setPolicy(schedOther) }
}

func setPolicy(policy uintptr) syscall.Errno {
	var param struct{ priority int32 }
	_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&param)))
	return e
}

// wakeFD makes the descriptor by which other threads wake a loop.
func wakeFD() (int, error) {
	return unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
}

func signalFD(fd int) {
	one := [8]byte{1}
	_, _ = unix.Write(fd, one[:])
}

func drainFD(fd int) {
	var b [8]byte
	_, _ = unix.Read(fd, b[:])
}
