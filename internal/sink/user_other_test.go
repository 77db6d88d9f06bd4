//go:build !linux

package sink

import (
	"os"
	"testing"
)

// asPlainUser skips the test for root, whom no mode stops.
func asPlainUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("runs as root")
	}
	f()
}
