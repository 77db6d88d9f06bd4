package localserver

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // the protocol's choice
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// client speaks just enough of the MySQL protocol to log in and read a value, so
// that this room proves its servers usable with nothing but the standard library.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	seq  byte
}

// dial logs in with the password, over the socket or over TCP. Over TCP it cannot
// finish caching_sha2_password's first login (that needs TLS or RSA); a login by
// the socket before fills the server's cache, after which the short form works.
func dial(network, address, user, password string) (*client, error) {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	c := &client{conn: conn, r: bufio.NewReader(conn)}
	if err := c.login(user, password, network == "unix"); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *client) read() ([]byte, error) {
	var h [4]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return nil, err
	}
	c.seq = h[3] + 1
	b := make([]byte, int(h[0])|int(h[1])<<8|int(h[2])<<16)
	if _, err := io.ReadFull(c.r, b); err != nil {
		return nil, err
	}
	if len(b) > 0 && b[0] == 0xff {
		return nil, fmt.Errorf("server error %d: %s", binary.LittleEndian.Uint16(b[1:]), b[3:])
	}
	return b, nil
}

func (c *client) write(b []byte) error {
	h := []byte{byte(len(b)), byte(len(b) >> 8), byte(len(b) >> 16), c.seq}
	_, err := c.conn.Write(append(h, b...))
	return err
}

func (c *client) login(user, password string, secure bool) error {
	g, err := c.read()
	if err != nil {
		return err
	}
	rest := g[1+bytes.IndexByte(g[1:], 0)+1+4:] // past protocol, version, thread id
	nonce := append([]byte{}, rest[:8]...)
	rest = rest[8+1+2+1+2+2+1+10:]
	nonce = append(nonce, rest[:12]...)
	plugin := string(bytes.TrimRight(rest[13:], "\x00"))
	auth := scramble(plugin, password, nonce)
	caps := uint32(0x1 | 0x200 | 0x8000 | 0x80000) // long password, protocol 41, secure connection, plugin auth
	b := binary.LittleEndian.AppendUint32(nil, caps)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, 45)
	b = append(b, make([]byte, 23)...)
	b = append(append(b, user...), 0)
	b = append(append(b, byte(len(auth))), auth...)
	b = append(append(b, plugin...), 0)
	if err := c.write(b); err != nil {
		return err
	}
	return c.finishLogin(password, secure)
}

func (c *client) finishLogin(password string, secure bool) error {
	for {
		b, err := c.read()
		if err != nil {
			return err
		}
		switch {
		case b[0] == 0:
			return nil
		case b[0] == 1 && b[1] == 3: // cached: the OK follows
		case b[0] == 1 && b[1] == 4 && secure:
			if err := c.write(append([]byte(password), 0)); err != nil {
				return err
			}
		case b[0] == 0xfe:
			i := bytes.IndexByte(b, 0)
			if err := c.write(scramble(string(b[1:i]), password, b[i+1:i+21])); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unexpected answer %x", b)
		}
	}
}

func scramble(plugin, password string, nonce []byte) []byte {
	if password == "" {
		return nil
	}
	if plugin == "caching_sha2_password" {
		a := sha256.Sum256([]byte(password))
		b := sha256.Sum256(a[:])
		d := sha256.Sum256(append(b[:], nonce...))
		return xor(a[:], d[:])
	}
	a := sha1.Sum([]byte(password)) //nolint:gosec // the protocol's choice
	b := sha1.Sum(a[:])             //nolint:gosec // the protocol's choice
	d := sha1.Sum(append(append([]byte{}, nonce...), b[:]...))
	return xor(a[:], d[:])
}

func xor(a, b []byte) []byte {
	for i := range a {
		a[i] ^= b[i]
	}
	return a
}

// value runs a query of one row and one column; "" for a statement without rows.
func (c *client) value(query string) (string, error) {
	c.seq = 0
	if err := c.write(append([]byte{3}, query...)); err != nil {
		return "", err
	}
	b, err := c.read()
	if err != nil || b[0] == 0 {
		return "", err
	}
	for range 2 { // the column and the EOF after it
		if _, err := c.read(); err != nil {
			return "", err
		}
	}
	row, err := c.read()
	if err != nil {
		return "", err
	}
	if row[0] == 0xfe {
		return "", errors.New("no row")
	}
	if _, err := c.read(); err != nil {
		return "", err
	}
	if row[0] == 0xfb {
		return "NULL", nil
	}
	return string(row[1 : 1+int(row[0])]), nil
}

func (c *client) close() { _ = c.conn.Close() }

// mustValue runs a query on a fresh connection to s.
func mustValue(t *testing.T, s *Server, network, query string) string {
	t.Helper()
	address := s.Socket()
	if network == "tcp" {
		mustValue(t, s, "unix", "SET @a = 1") // see dial
		address = fmt.Sprintf("127.0.0.1:%d", s.Port())
	}
	c, err := dial(network, address, s.User(), s.Password())
	if err != nil {
		t.Fatalf("log in by %s: %v", network, err)
	}
	defer c.close()
	v, err := c.value(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}
