package localserver

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// child is a process that ends when this one does.
type child struct {
	proc   *os.Process
	exited chan struct{} // closed when it has ended and was reaped
	err    error         // how it ended; read after exited
}

// launch starts cmd and reaps it, and has g watch over it meanwhile.
//
// PR_SET_PDEATHSIG fires when the thread that forked ends, not the process, and
// Go ends threads as it likes. So the goroutine that starts the child is locked
// to its thread and stays on it, waiting, for as long as the child runs.
func launch(cmd *exec.Cmd, g *guard) (*child, error) {
	isolate(cmd)
	c := &child{exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- err
			return
		}
		c.proc = cmd.Process
		g.watch(c.proc.Pid)
		started <- nil
		c.err = cmd.Wait()
		g.watch(0)
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// end asks the child to end, and kills it after grace or when ctx ends.
func (c *child) end(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = terminate(c.proc) // an error means it has ended
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.proc.Kill()
		<-c.exited
	}
}

// ending says how a child that has exited ended: "exit status 1".
func (c *child) ending() string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}
