package mysql_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
)

// shared is the one throwaway server of this package's tests, with
// performance_schema and TLS, whose certificate names only "db.test".
var shared struct {
	once   sync.Once
	err    error
	dir    string
	server *localserver.Server
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		_ = shared.server.Stop(context.Background())
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// server returns the shared server; a machine without one fails the test.
func server(t *testing.T) *localserver.Server {
	t.Helper()
	shared.once.Do(func() {
		shared.dir, shared.err = os.MkdirTemp("", "cellbench-mysql-test")
		if shared.err != nil {
			return
		}
		if shared.err = writeCerts(shared.dir); shared.err != nil {
			return
		}
		shared.server, shared.err = localserver.Start(context.Background(), localserver.Options{
			Database: "sbtest", BufferPoolBytes: 64 << 20,
			Args: []string{
				"--performance-schema=ON", "--max-connections=50",
				"--ssl-ca=" + filepath.Join(shared.dir, "ca.pem"),
				"--ssl-cert=" + filepath.Join(shared.dir, "cert.pem"),
				"--ssl-key=" + filepath.Join(shared.dir, "key.pem"),
			},
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// tcp and unix are the settings of the shared server's administrator.
func tcp(t *testing.T) mysql.Settings {
	s := server(t)
	return mysql.Settings{Host: "127.0.0.1", Port: s.Port(), User: s.User(), Password: s.Password()}
}

func unix(t *testing.T) mysql.Settings {
	s := server(t)
	return mysql.Settings{Socket: s.Socket(), User: s.User(), Password: s.Password()}
}

func door(t *testing.T, s mysql.Settings) *mysql.Door {
	t.Helper()
	d, err := mysql.NewDoor(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func connect(t *testing.T, s mysql.Settings) *mysql.Conn {
	t.Helper()
	c, err := door(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// writeCerts makes an authority and a certificate of "db.test" for the server.
func writeCerts(dir string) error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "db.test"}, DNSNames: []string{"db.test"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem":   {Type: "CERTIFICATE", Bytes: caDER},
		"cert.pem": {Type: "CERTIFICATE", Bytes: leafDER},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		// Readable by the account that a root test runs the server under.
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o644); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o755)
}

// listen runs a peer that answers every connection with f, and returns its port.
func listen(t *testing.T, f func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { defer c.Close(); f(c) })
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}

// account makes an account with the grants and returns settings that use it.
func account(t *testing.T, base mysql.Settings, name, options string, grants ...string) mysql.Settings {
	t.Helper()
	c := connect(t, base)
	user := fmt.Sprintf("%s_%d", name, c.ID())
	run(t, c, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'pw' %s", user, options))
	for _, g := range grants {
		run(t, c, fmt.Sprintf("GRANT %s TO '%s'@'%%'", g, user))
	}
	t.Cleanup(func() {
		// The test's context has ended by now.
		_, _ = c.Exec(context.Background(), fmt.Sprintf("DROP USER '%s'@'%%'", user))
	})
	base.User, base.Password = user, "pw"
	return base
}

func run(t *testing.T, c *mysql.Conn, stmt string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), stmt, args...); err != nil {
		t.Fatal(err)
	}
}

func port(t *testing.T) string { return fmt.Sprint(server(t).Port()) }
