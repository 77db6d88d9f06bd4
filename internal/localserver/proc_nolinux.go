//go:build unix && !linux

package localserver

import "syscall"

// dieWithParent has no counterpart here; the guard does it alone.
func dieWithParent(*syscall.SysProcAttr) {}
