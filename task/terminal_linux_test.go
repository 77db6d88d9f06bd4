package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestIsTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	if isTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is a terminal")
	}
	for _, name := range []string{os.DevNull, "/dev/zero", "/dev/full"} { // devices for characters, too
		if f := open(t, name); isTerminal(f) {
			t.Errorf("%s is a terminal", name)
		}
	}
	master := open(t, "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen := open(t, fmt.Sprintf("/dev/pts/%d", n))
	if !isTerminal(screen) {
		t.Errorf("%s is no terminal", screen.Name())
	}
	t.Setenv("TERM", "dumb")
	if isTerminal(screen) {
		t.Error("a dumb terminal is drawn on")
	}
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
