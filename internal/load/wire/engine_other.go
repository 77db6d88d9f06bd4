//go:build !linux

package wire

import (
	"errors"

	"cellbench/internal/load"
)

// New returns an error: the event loop needs epoll.
func New(load.Settings, Dial, Options) (load.Engine, error) {
	return nil, errors.New("engine wire needs Linux")
}
