//go:build !linux

package driver

import "time"

// sleep waits for d.
func sleep(d time.Duration) { time.Sleep(d) }
