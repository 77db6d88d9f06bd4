package bench

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ExitCode is what the process returns to its scheduler. Codes that begin with
// 6 must not be retried, codes that begin with 7 may be.
type ExitCode int

// The exit codes of the contract.
const (
	ExitOK          ExitCode = 0  // measured and stored; the result says how well
	ExitGate        ExitCode = 1  // a gate of `report` failed
	ExitConfig      ExitCode = 64 // bad configuration
	ExitScenario    ExitCode = 65 // the server cannot be in that scenario
	ExitUnsafe      ExitCode = 66 // foreign tables, missing rights
	ExitInternal    ExitCode = 67 // a fault of cellbench itself
	ExitUnreachable ExitCode = 71 // no server answers there, now
	ExitBusy        ExitCode = 72 // another cell holds the target
	ExitStore       ExitCode = 74 // measured, but the result could not be stored
	ExitInterrupted ExitCode = 75 // stopped by a signal; a partial result is stored
)

// Retryable reports whether running the same cell again can help.
func (c ExitCode) Retryable() bool { return c >= 70 && c < 80 }

// Error is an error that knows the exit code it leads to. Its text is one line:
// what was wrong and what the user can do.
type Error struct {
	Code ExitCode
	Err  error
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with the given exit code; format and args are those of
// fmt.Errorf, %w included.
func Errorf(code ExitCode, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Problems is an error of several mistakes in one file, each on a line of its own.
type Problems []string

// Error lists the problems, one a line.
func (p Problems) Error() string { return strings.Join(p, "\n") }

// Printable shows the control characters of s as Go writes them (\n, \x1b), so that
// what a file or a server says stays on its line and does not drive the terminal.
func Printable(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// CodeOf returns the exit code of err: that of the outermost *Error in its
// chain, ExitOK for nil and ExitInternal for an error that carries none.
func CodeOf(err error) ExitCode {
	if err == nil {
		return ExitOK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ExitInternal
}
