package main

import "syscall"

// childAttributes puts a child into a process group of its own and has the
// kernel end it when this process is gone, however it went.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
