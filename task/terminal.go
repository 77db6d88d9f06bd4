package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether somebody watches w on a terminal.
func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
