package loadtest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"

	"cellbench/internal/load"
	"cellbench/internal/load/loadtest"
	"cellbench/internal/load/wire"
	"cellbench/internal/mysql"
)

// Capability flags that the driver does not ask for, or always does.
const (
	sessionTrack    = 1 << 23
	deprecateEOF    = 1 << 24
	queryAttributes = 1 << 27

	progress, cacheMetadata = 1 << 0, 1 << 4 // MariaDB's
)

// testCapabilities runs the suite's statements over connections with other
// capabilities than the driver's.
func testCapabilities(t *testing.T, server loadtest.Server) {
	const base = 1<<0 | 1<<2 | 1<<3 | 1<<9 | 1<<13 | 1<<15 | 1<<17 | 1<<18 | 1<<19 // as any client of 4.1 and later
	admin, err := server.Door(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	for _, q := range []string{
		"CREATE USER IF NOT EXISTS 'plain'@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO 'plain'@'%'",
		"CREATE USER IF NOT EXISTS 'plain'@'localhost' IDENTIFIED BY ''", "GRANT ALL ON *.* TO 'plain'@'localhost'",
	} {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		flags    uint32
		extended uint32
	}{
		{"EOF packets", base, 0},
		{"EOF packets and cached metadata", base &^ 1, cacheMetadata},
		{"no EOF packets and no cached metadata", base | deprecateEOF, 0},
		{"session state", base | deprecateEOF | sessionTrack, 0},
		{"query attributes", base | deprecateEOF | queryAttributes, 0},
		{"progress reports", base&^1 | deprecateEOF, progress | cacheMetadata},
	} {
		t.Run(c.name, func(t *testing.T) {
			loadtest.RunProtocol(t, server, func(t *testing.T, s load.Settings, _ *mysql.Door) load.Engine {
				e, err := wire.New(s, func(ctx context.Context) (wire.Conn, error) {
					return handshake(ctx, server.Settings, c.flags, c.extended)
				}, wire.Options{Loops: 1})
				if err != nil {
					t.Fatal(err)
				}
				return e
			})
		})
	}
}

// handshake logs the account "plain" in, asking for the given flags as far as
// the server has them.
func handshake(ctx context.Context, s mysql.Settings, flags, extended uint32) (c wire.Conn, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	p, err := packet(conn)
	if err != nil {
		return c, err
	}
	end := 1 + bytes.IndexByte(p[1:], 0) + 1
	c.Net, c.ConnectionID = conn, binary.LittleEndian.Uint32(p[end:])
	has := uint32(binary.LittleEndian.Uint16(p[end+13:])) | uint32(binary.LittleEndian.Uint16(p[end+18:]))<<16
	c.Capabilities = flags & has
	if has&1 == 0 && flags&1 == 0 {
		c.MariaDBCapabilities = extended & binary.LittleEndian.Uint32(p[end+27:])
	}
	r := binary.LittleEndian.AppendUint32(nil, c.Capabilities|1<<3)
	r = append(r, 0, 0, 0, 1, 45) // packet size; utf8mb4_general_ci
	r = append(r, make([]byte, 19)...)
	r = binary.LittleEndian.AppendUint32(r, c.MariaDBCapabilities)
	r = append(r, "plain\x00\x00"+"sbtest\x00mysql_native_password\x00"...)
	for seq := byte(1); ; seq += 2 {
		if _, err := conn.Write(append([]byte{byte(len(r)), 0, 0, seq}, r...)); err != nil {
			return c, err
		}
		if p, err = packet(conn); err != nil {
			return c, err
		}
		switch p[0] {
		case 0:
			return c, nil
		case 0xfe: // another plugin: an empty password is an empty answer everywhere
			r = nil
		default:
			return c, fmt.Errorf("log in: %q", p)
		}
	}
}

func packet(c net.Conn) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, err
	}
	p := make([]byte, int(head[0])|int(head[1])<<8)
	if _, err := io.ReadFull(c, p); err != nil {
		return nil, err
	}
	if len(p) == 0 {
		return nil, errors.New("log in: empty packet")
	}
	return p, nil
}
