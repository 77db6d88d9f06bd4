package mysql

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// RawConn is an authenticated connection whose socket belongs to the caller: no
// byte of the command phase has been sent or read on it, unless the DSN names
// session variables. The next packet is a command with sequence number 0.
type RawConn struct {
	// Conn is the socket, or a *tls.Conn. What lies below that one has the methods
	// of a socket and Replace(io.ReadWriter): from then on TLS reads and writes
	// there, and whoever replaced it serves the socket.
	Conn         net.Conn
	Capabilities uint32 // negotiated: client flags & server flags
	// ExtendedCapabilities are MariaDB's, negotiated, 0 elsewhere. Bit 4
	// (CACHE_METADATA) means that the header of a prepared statement's result
	// carries one more byte, and the column definitions may be left out.
	ExtendedCapabilities uint32
	ConnectionID         uint32 // of the greeting: the low 32 bits of CONNECTION_ID()
	ServerVersion        string // of the greeting, e.g. "9.7.4" or "5.5.5-10.11.19-MariaDB"
	TLS                  bool
}

// RawConn opens a connection for the wire engine: the driver shakes hands and
// authenticates over a conversation that cellbench listens to, then the driver
// is let go and the socket stays. Errors are those of [Classify].
func (d *Door) RawConn(ctx context.Context) (*RawConn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	l, err := d.dial(ctx)
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	raw, err := d.rawHandshake(ctx, l)
	if err != nil {
		_ = l.Close()
		return nil, d.failed(ctx, err)
	}
	return raw, nil
}

func (d *Door) rawHandshake(ctx context.Context, l *link) (*RawConn, error) {
	conf, err := d.tlsFor(l.greeting)
	if err != nil {
		return nil, err
	}
	talk := &conversation{Conn: l, ctx: ctx, server: l.greeting, tls: conf, transport: l}
	cfg := d.cfg.Clone()
	if conf != nil {
		// TLS is put under the driver here, not inside it, since a TLS connection that
		// the driver makes cannot be taken out of it. "unix" tells it that the way is
		// safe for a password in clear text, as caching_sha2_password asks for on TLS.
		cfg.Net = "unix"
	}
	conn, err := d.handshake(ctx, cfg, talk)
	if err != nil {
		return nil, talk.explain(err)
	}
	talk.shift = 0
	if err := d.runSession(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	// Closing ends the driver's watcher goroutine; its COM_QUIT and the closing of
	// the socket are kept from the server.
	talk.released.Store(true)
	_ = conn.Close()
	raw := &RawConn{
		Conn: talk.transport, TLS: conf != nil,
		Capabilities: talk.capabilities & l.greeting.capabilities, ExtendedCapabilities: talk.extended,
		ConnectionID: l.greeting.connectionID, ServerVersion: l.greeting.version,
	}
	if conf == nil {
		raw.Conn = l.Conn
	}
	return raw, nil
}

// conversation stands between the driver and the socket during the handshake.
// It notes the capabilities of the client's answer and, for TLS, inserts the
// TLS request before that answer, so that all later packets of the handshake
// have a sequence number that is one higher on the wire than in the driver.
type conversation struct {
	net.Conn  // the link, for addresses and deadlines
	ctx       context.Context
	server    greeting
	tls       *tls.Config // nil: no TLS
	transport net.Conn    // the link, or TLS over it

	answered     bool
	capabilities uint32
	extended     uint32
	shift        byte
	in           []byte
	failure      error
	// released: the driver has been let go. Its watcher goroutine closes the
	// conversation too when a context ends, hence atomic.
	released atomic.Bool
}

// requestSize is the payload of a TLS request: capabilities 4, packet size 4,
// character set 1, filler 23.
const requestSize = 32

// Write sends one packet of the driver; the driver writes whole packets.
func (c *conversation) Write(p []byte) (int, error) {
	if c.released.Load() {
		return len(p), nil
	}
	out := append([]byte(nil), p...)
	if !c.answered {
		c.answered = true
		if err := c.answer(out); err != nil {
			c.failure = err
			return 0, err
		}
	}
	if len(out) > 3 {
		out[3] += c.shift
	}
	if _, err := c.transport.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// answer reads the client's answer and, if TLS is wanted, switches to it first.
func (c *conversation) answer(packet []byte) error {
	if len(packet) < 4+requestSize {
		return fmt.Errorf("read the driver's handshake answer: %d bytes are too few", len(packet))
	}
	payload := packet[4:]
	c.capabilities = binary.LittleEndian.Uint32(payload)
	if c.tls != nil {
		c.capabilities |= capSSL
		binary.LittleEndian.PutUint32(payload, c.capabilities)
	}
	if c.capabilities&capMySQL == 0 {
		c.extended = binary.LittleEndian.Uint32(payload[requestSize-4:])
	}
	if c.tls == nil {
		return nil
	}
	request := append([]byte{requestSize, 0, 0, packet[3]}, payload[:requestSize]...)
	if _, err := c.Conn.Write(request); err != nil {
		return err
	}
	secure := tls.Client(c.Conn, c.tls)
	if err := secure.HandshakeContext(c.ctx); err != nil {
		return err
	}
	c.transport, c.shift = secure, 1
	return nil
}

// Read gives the driver what the server sent, packet by packet.
func (c *conversation) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		packet := make([]byte, 4)
		if _, err := io.ReadFull(c.transport, packet); err != nil {
			return 0, err
		}
		size := int(packet[0]) | int(packet[1])<<8 | int(packet[2])<<16
		packet[3] -= c.shift
		packet = append(packet, make([]byte, size)...)
		if _, err := io.ReadFull(c.transport, packet[4:]); err != nil {
			return 0, err
		}
		c.in = packet
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

// Close closes the socket while the driver still has it.
func (c *conversation) Close() error {
	if c.released.Load() {
		return nil
	}
	return c.Conn.Close()
}

// explain puts back the error that the driver replaced by its own.
func (c *conversation) explain(err error) error {
	if c.failure != nil {
		return fmt.Errorf("%w: %w", c.failure, err)
	}
	return err
}
