package localserver

import (
	"fmt"
	"io"
	"os/exec"
)

// guardScript waits for lines from this process and acts when the pipe closes
// without a farewell: this process is gone, whatever ended it. "pid N" names the
// process to kill, "pid" none, "bye" ends the guard. A second try to remove
// covers files that a dying server was still creating.
const guardScript = `pid=
while read -r word arg; do
  case $word in
    pid) pid=$arg ;;
    bye) exit 0 ;;
  esac
done
[ -n "$pid" ] && kill -9 "$pid" 2>/dev/null
rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }
`

// guard is the shell that outlives this process by a moment to clean up after it.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// newGuard starts a guard over the folders.
func newGuard(dirs ...string) (*guard, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "cellbench-guard"}, dirs...)...)
	detach(cmd)
	cmd.Dir = "/" // not in the way of an unmount
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &guard{cmd: cmd, in: in}, nil
}

// watch tells the guard which process to kill; 0 for none.
func (g *guard) watch(pid int) {
	if pid == 0 {
		_, _ = io.WriteString(g.in, "pid\n")
		return
	}
	_, _ = fmt.Fprintf(g.in, "pid %d\n", pid)
}

// dismiss ends the guard without any action.
func (g *guard) dismiss() {
	_, _ = io.WriteString(g.in, "bye\n")
	_ = g.in.Close()
	_ = g.cmd.Wait()
}
