package localserver

import "syscall"

// dieWithParent has the kernel kill the child when the thread that started it
// ends; see Server.launch for why that thread must live as long as the child.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
