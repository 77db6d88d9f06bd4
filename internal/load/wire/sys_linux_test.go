package wire

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cellbench/internal/load"
	"cellbench/internal/workload"
)

func threadPolicy() uintptr {
	policy, _, _ := syscall.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	return policy
}

func TestBatchThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p := threadPolicy(); p != schedOther {
		t.Fatalf("the test runs under scheduling policy %d, start it under the default one", p)
	}
	undo := batchThread()
	if p := threadPolicy(); p != schedBatch {
		t.Errorf("policy %d, want %d", p, schedBatch)
	}
	// A policy that somebody chose is left alone.
	batchThread()()
	if p := threadPolicy(); p != schedBatch {
		t.Errorf("policy %d after a second call, want %d", p, schedBatch)
	}
	undo()
	if p := threadPolicy(); p != schedOther {
		t.Errorf("policy %d afterwards, want %d", p, schedOther)
	}
}

// watched reports the policy of the thread that asks for events.
type watched struct {
	plan
	policy atomic.Int64
}

func (w *watched) Generator(_, _ int) workload.Generator { return w }

func (w *watched) Next(ev *workload.Event) {
	w.policy.Store(int64(threadPolicy()))
	w.plan.Next(ev)
}

// TestLoopPolicy: only a closed loop gives up its right to interrupt others.
func TestLoopPolicy(t *testing.T) {
	for rate, want := range map[float64]int64{0: schedBatch, 1000: schedOther} {
		w := &watched{plan: *query("DO 1")}
		e := open(t, load.Settings{Workload: w, Threads: 2, Rate: rate > 0}, Options{}, serve(t, deprecated, 0, func(int, int, []byte) reply { return ok() }))
		out := measure(t, e, load.Plan{Time: 100 * time.Millisecond, Rate: rate, Seed: 1})
		if out.Err != nil || w.policy.Load() != want {
			t.Errorf("rate %g: policy %d, want %d (%v)", rate, w.policy.Load(), want, out.Err)
		}
	}
}
