package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Replaceable is what has to lie below a *tls.Conn that the engine takes over:
// after Replace it reads from rw and writes to rw, not to the socket, which the
// engine serves itself then. Close still closes the socket that it had.
type Replaceable interface {
	net.Conn
	syscall.Conn
	Replace(rw io.ReadWriter)
}

// secure is TLS between a connection and its socket: crypto/tls seals and opens
// the records, the loop moves them.
type secure struct {
	tls *tls.Conn
	in  []byte // arrived, not yet read by tls: a part of the loop's buffer
	out []byte // sealed by tls, to be sent
}

// errNoBytes makes a read of tls wait: it is a temporary error, after which tls
// goes on where it was, even within a record.
var errNoBytes = os.ErrDeadlineExceeded

// Read gives tls what has arrived.
func (s *secure) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, errNoBytes
	}
	n := copy(b, s.in)
	s.in = s.in[n:]
	return n, nil
}

// Write takes a record of tls.
func (s *secure) Write(b []byte) (int, error) {
	s.out = append(s.out, b...)
	return len(b), nil
}

// seal returns the records of b; they are valid until the next call.
func (s *secure) seal(b []byte) ([]byte, error) {
	if cap(s.out) > maxKept {
		s.out = nil
	}
	s.out = s.out[:0]
	_, err := s.tls.Write(b)
	return s.out, err
}

// below returns what has the socket of c, and the TLS over it or nil.
func below(c net.Conn) (net.Conn, *tls.Conn, error) {
	t, ok := c.(*tls.Conn)
	if !ok {
		return c, nil, nil
	}
	r, ok := t.NetConn().(Replaceable)
	if !ok {
		return nil, nil, errors.New("what lies below TLS cannot be replaced: use engine driver")
	}
	return r, t, nil
}

// consumeSecure opens the records in b and reads the answers in them.
func (c *conn) consumeSecure(b []byte, now int64) {
	gen, s := c.gen, c.secure
	s.in = b
	for c.gen == gen {
		s.out = s.out[:0]
		n, err := s.tls.Read(c.l.plain)
		if len(s.out) > 0 { // the answer to a change of keys
			c.deliver(s.out, now)
		}
		switch {
		case c.gen != gen:
		case n > 0:
			c.consume(c.l.plain[:n], now)
		case errors.Is(err, errNoBytes):
			return
		case errors.Is(err, io.EOF):
			c.broken("the server closed the connection", now)
		default:
			c.gone(serverError{codeLost, "08S01", "lost connection during the statement: " + err.Error()}, now)
		}
	}
}
