package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// The most bytes that are read of a file: one that a person writes (a study, a
// scenario, a password, certificates), and one that a program writes (a result,
// reference data).
const (
	MaxWritten  = 1 << 20
	MaxProduced = 64 << 20
)

// ErrTooLarge is what ReadFile and ReadAll say of more bytes than they may read.
var ErrTooLarge = errors.New("it is too large")

// ReadFile is os.ReadFile for a file that somebody names, which may be anything: a
// file larger than most, or a device without end, is an error.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(path, f, most)
}

// ReadAll reads r to its end; more than most bytes are an error. name stands in it.
func ReadAll(name string, r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("read %s: %w: more than the %d bytes that are read at most", name, ErrTooLarge, most)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
