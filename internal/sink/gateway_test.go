package sink

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	rootKey    = "cellbenchroot"
	rootSecret = "cellbenchrootsecret"
	bucket     = "results"
)

// gateway is a real S3 server, versitygw, over a directory.
type gateway struct {
	url string
	dir string // the buckets
	ca  string // file of its certificate, "" over HTTP
	log *bytes.Buffer
	bin string
}

// findGateway returns the versitygw program. A machine without it is a skip,
// under CI a failure.
func findGateway(t *testing.T) string {
	t.Helper()
	if p, err := exec.LookPath("versitygw"); err == nil {
		return p
	}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{os.Getenv("GOBIN"), filepath.Join(os.Getenv("GOPATH"), "bin"), filepath.Join(home, "go", "bin")} {
		p := filepath.Join(dir, "versitygw")
		if fi, err := os.Stat(p); err == nil && !fi.IsDir() && filepath.IsAbs(p) {
			return p
		}
	}
	const help = "no versitygw: go install github.com/versity/versitygw/cmd/versitygw@latest"
	if os.Getenv("CI") != "" {
		t.Fatal(help)
	}
	t.Skip(help)
	return ""
}

// startGateway starts a gateway with one bucket and sets the AWS variables of
// this test to it.
func startGateway(t *testing.T, useTLS bool) *gateway {
	t.Helper()
	g := &gateway{bin: findGateway(t), dir: t.TempDir(), log: &bytes.Buffer{}}
	if err := os.Mkdir(filepath.Join(g.dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	args := []string{"--port", address, "--iam-dir", t.TempDir(), "--quiet"}
	g.url = "http://" + address
	if useTLS {
		cert, key := selfSigned(t)
		args = append(args, "--cert", cert, "--key", key)
		g.url, g.ca = "https://"+address, cert
	}
	cmd := exec.Command(g.bin, append(args, "posix", g.dir)...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+rootKey, "ROOT_SECRET_KEY="+rootSecret)
	cmd.Stdout, cmd.Stderr = g.log, g.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("gateway: %s", g.log)
		}
	})
	waitFor(t, address)
	setAWS(t, g.url, rootKey, rootSecret)
	if g.ca != "" {
		t.Setenv("AWS_CA_BUNDLE", g.ca)
	}
	return g
}

// setAWS sets all AWS variables that matter, so that none of the machine counts.
func setAWS(t *testing.T, endpoint, key, secret string) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere,
		"AWS_ENDPOINT_URL": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_REQUEST_CHECKSUM_CALCULATION": "", "AWS_RESPONSE_CHECKSUM_VALIDATION": "", "AWS_MAX_ATTEMPTS": "",
		"HTTP_PROXY": "", "HTTPS_PROXY": "", "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
}

// freeAddress returns a loopback address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func waitFor(t *testing.T, address string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
	}
	t.Fatalf("nothing listens at %s", address)
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cellbench test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	kder, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: kder}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// mustOpen opens a sink with short waits.
func mustOpen(t *testing.T, results string) Sink {
	t.Helper()
	s, err := Open(t.Context(), results, Options{Backoff: 5 * time.Millisecond, AttemptTimeout: 5 * time.Second, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// addUser makes an account without any right of its own.
func (g *gateway) addUser(t *testing.T, key, secret string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.bin, "admin", "--access", rootKey, "--secret", rootSecret, "--endpoint-url", g.url,
		"create-user", "--access", key, "--secret", secret, "--role", "user")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("create user: %v: %s", err, out)
	}
}
