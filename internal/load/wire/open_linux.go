package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// socket is an opened connection on its way to a loop.
type socket struct {
	fd                    int
	capabilities, mariaDB uint32
	id                    uint32
	secure                *secure // nil without TLS
}

func (s *socket) close() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}

// open dials, runs the session statements and takes the socket out of Go's
// hands.
func (e *engine) open(ctx context.Context) (socket, error) {
	if e.s.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.s.ConnectTimeout)
		defer cancel()
	}
	c, err := e.dial(ctx)
	if err != nil {
		return socket{fd: -1}, err
	}
	under, over, err := below(c.Net)
	if err != nil {
		_ = c.Net.Close()
		return socket{fd: -1}, err
	}
	// Closing the TLS connection would tell the server that it is over.
	defer func() { _ = under.Close() }()
	if err := c.supported(); err != nil {
		return socket{fd: -1}, err
	}
	if err := session(ctx, c, e.s.SessionSQL); err != nil {
		return socket{fd: -1}, err
	}
	s := socket{capabilities: c.Capabilities, mariaDB: c.MariaDBCapabilities, id: c.ConnectionID}
	if s.fd, err = adopt(under); err != nil {
		return s, fmt.Errorf("take over the socket: %w", err)
	}
	if over != nil {
		s.secure = &secure{tls: over}
		under.(Replaceable).Replace(s.secure)
	}
	return s, nil
}

// session runs the session statements on a connection that is still Go's.
func session(ctx context.Context, c Conn, statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Net.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var a answer
	a.init(c.Capabilities, c.MariaDBCapabilities)
	buf := make([]byte, 4096)
	for _, q := range statements {
		out := finishPacket(append(appendQueryHead(nil, c.Capabilities), q...))
		if err := exchange(c.Net, &a, out, buf); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = errors.Join(cause, err)
			}
			return fmt.Errorf("session statement %q: %w", q, err)
		}
		if a.failed {
			return &SessionError{Code: a.err.code, SQLState: a.err.state, Message: a.err.message, Statement: q}
		}
	}
	return nil
}

// exchange sends one command and reads its answer, blocking.
func exchange(c net.Conn, a *answer, out, buf []byte) error {
	a.expect(awaitHeader, 1)
	if _, err := c.Write(out); err != nil {
		return err
	}
	for done := false; !done || a.skip > 0; {
		n, err := c.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			k, s, err := a.feed(b)
			if err != nil {
				return fmt.Errorf("malformed packet: %w", err)
			}
			b = b[k:]
			done = done || s == stepDone
			if s == stepEmpty {
				if _, err := c.Write([]byte{0, 0, 0, a.emptySeq}); err != nil {
					return err
				}
			}
		}
		if err != nil && !done {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
