package mysql

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Capability flags of the protocol that this room looks at (MySQL source
// documentation, "Capabilities Flags").
const (
	capMySQL = 1 << 0 // clear on MariaDB, which then has extended flags
	capSSL   = 1 << 11
)

// errNotMySQL is what a peer that speaks another protocol leads to.
var errNotMySQL = errors.New("what answers there is not a MySQL server")

// errNoGreeting is a connection that was accepted and closed or left silent:
// typical of a proxy or port mapping whose server is not there yet.
var errNoGreeting = errors.New("the connection was accepted, but no MySQL greeting came")

// greeting is the server's first packet (Protocol::HandshakeV10).
type greeting struct {
	version      string
	connectionID uint32
	capabilities uint32
	refused      bool // an error packet instead: the driver reports it
}

// parseGreeting reads the payload of the server's first packet.
func parseGreeting(payload []byte) (greeting, error) {
	var g greeting
	if len(payload) == 0 {
		return g, errNotMySQL
	}
	switch payload[0] {
	case 0xff:
		g.refused = true
		if len(payload) < 3 {
			return g, errNotMySQL
		}
		return g, nil
	case 10:
	default:
		return g, errNotMySQL
	}
	end := bytes.IndexByte(payload[1:], 0)
	// id 4, scramble 8, filler 1, capabilities 2, charset 1, status 2,
	// capabilities 2, scramble length 1, reserved 10, scramble 13 at least.
	if end < 0 || len(payload) < 1+end+1+4+8+1+2+1+2+2+1+10+13 {
		return g, fmt.Errorf("%w (or one older than 4.1)", errNotMySQL)
	}
	g.version = string(payload[1 : 1+end])
	rest := payload[1+end+1:]
	g.connectionID = binary.LittleEndian.Uint32(rest)
	g.capabilities = uint32(binary.LittleEndian.Uint16(rest[13:])) | uint32(binary.LittleEndian.Uint16(rest[18:]))<<16
	return g, nil
}

// readGreeting reads the server's first packet whole and returns its bytes too.
func readGreeting(r io.Reader) (greeting, []byte, error) {
	packet := make([]byte, 4, 128)
	if _, err := io.ReadFull(r, packet); err != nil {
		return greeting{}, nil, noGreeting(err)
	}
	size := int(packet[0]) | int(packet[1])<<8 | int(packet[2])<<16
	// A greeting is some 80 bytes; other protocols' first bytes read as a length
	// are millions (SSH: 4.7 million).
	if packet[3] != 0 || size == 0 || size > 4096 {
		return greeting{}, nil, errNotMySQL
	}
	packet = append(packet, make([]byte, size)...)
	if _, err := io.ReadFull(r, packet[4:]); err != nil {
		return greeting{}, nil, noGreeting(err)
	}
	g, err := parseGreeting(packet[4:])
	return g, packet, err
}

func noGreeting(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoGreeting
	}
	return fmt.Errorf("%w: %w", errNoGreeting, err)
}

// link is a socket whose first packet was already read and is given out again.
type link struct {
	net.Conn
	greeting greeting
	replay   []byte
	instead  io.ReadWriter // of the socket, once replaced
}

// Replace makes rw what is read and written from now on. The socket stays open,
// and Close and SyscallConn stay its own.
func (l *link) Replace(rw io.ReadWriter) { l.instead = rw }

// SyscallConn gives access to the socket's descriptor.
func (l *link) SyscallConn() (syscall.RawConn, error) {
	c, ok := l.Conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T has no descriptor", l.Conn)
	}
	return c.SyscallConn()
}

// Write sends p.
func (l *link) Write(p []byte) (int, error) {
	if l.instead != nil {
		return l.instead.Write(p)
	}
	return l.Conn.Write(p)
}

// Read gives the greeting first, then what the socket holds.
func (l *link) Read(p []byte) (int, error) {
	if l.instead != nil {
		return l.instead.Read(p)
	}
	if len(l.replay) == 0 {
		return l.Conn.Read(p)
	}
	n := copy(p, l.replay)
	l.replay = l.replay[n:]
	return n, nil
}
