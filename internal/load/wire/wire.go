package wire

import (
	"context"
	"fmt"
	"net"
)

// Conn is an authenticated connection whose socket is handed over: no command
// is outstanding on it, and the next packet is a command.
type Conn struct {
	// Net is the socket: a *net.TCPConn, a *net.UnixConn or another connection
	// with a SyscallConn method; or a *tls.Conn over a [Replaceable]. The engine
	// closes it.
	Net net.Conn
	// Capabilities are the negotiated capability flags (MySQL source
	// documentation, "Capabilities Flags").
	Capabilities uint32
	// MariaDBCapabilities are the negotiated extended flags of MariaDB (bits 32
	// to 63 of its capabilities), 0 elsewhere.
	MariaDBCapabilities uint32
	// ConnectionID is the server's id of the connection.
	ConnectionID uint32
}

// Dial opens one connection; ctx bounds it.
type Dial func(ctx context.Context) (Conn, error)

// Options tune the engine; the zero value is fine.
type Options struct {
	// Loops is the number of event loops; 0 means one for every 8 connections, at
	// most one per CPU that this process may use. There are never more loops than
	// connections.
	Loops int
	// MaxPacket is the largest statement in bytes that is sent
	// (max_allowed_packet); a longer one fails with client error 2020. 0 leaves
	// the judgement to the server.
	MaxPacket int
}

// SessionError is a session statement that the server refused.
type SessionError struct {
	Code      int    // MySQL error number
	SQLState  string // five characters
	Message   string // the server's text
	Statement string
}

// Error names the statement, the number and the server's text.
func (e *SessionError) Error() string {
	return fmt.Sprintf("session statement %q: error %d (%s): %s", e.Statement, e.Code, e.SQLState, e.Message)
}

// Capability flags that change the layout of packets (MySQL source
// documentation, "Capabilities Flags").
const (
	capCompress         = 1 << 5
	capDeprecateEOF     = 1 << 24
	capOptionalMetadata = 1 << 25
	capZstd             = 1 << 26
	capQueryAttributes  = 1 << 27
)

// Extended capability flags of MariaDB, counted from bit 32.
const (
	mariaProgress      = 1 << 0
	mariaCacheMetadata = 1 << 4
)

// supported returns an error that names a negotiated capability that this
// engine does not speak.
func (c Conn) supported() error {
	for _, f := range []struct {
		flag uint32
		name string
	}{
		{capCompress, "compression"},
		{capZstd, "zstd compression"},
		{capOptionalMetadata, "optional result set metadata"},
	} {
		if c.Capabilities&f.flag != 0 {
			return fmt.Errorf("engine wire does not speak %s: use engine driver", f.name)
		}
	}
	return nil
}
