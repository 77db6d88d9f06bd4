package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"cellbench/internal/bench"
)

// tlsMode returns the TLS mode that the settings and a DSN's tls option ask for.
func (s Settings) tlsMode(dsn string) (string, error) {
	mode := strings.ToLower(s.TLS)
	switch {
	case mode == "" && dsn == "" && s.Auth == AuthRDSIAM:
		mode = TLSRequired
	case mode == "" && dsn == "":
		mode = TLSDisabled
	case mode == "":
		mode = dsn
	case dsn != "" && dsn != mode:
		return "", bench.Errorf(bench.ExitConfig, "BENCH_DSN asks for TLS %s and BENCH_MYSQL_TLS for %s: say it once", dsn, mode)
	}
	switch mode {
	case TLSDisabled, TLSPreferred, TLSRequired, TLSVerifyCA, TLSVerifyIdentity:
	default:
		return "", bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_TLS is %q: allowed are %s, %s, %s, %s and %s", s.TLS,
			TLSDisabled, TLSPreferred, TLSRequired, TLSVerifyCA, TLSVerifyIdentity)
	}
	if mode == TLSDisabled && (s.TLSCA != "" || s.TLSCert != "" || s.TLSKey != "") {
		return "", bench.Errorf(bench.ExitConfig, "a TLS file is set and TLS is disabled: set BENCH_MYSQL_TLS=%s", TLSVerifyCA)
	}
	return mode, nil
}

// tlsConfig makes the client's TLS configuration; host is what the certificate
// must name in mode verify-identity.
func (s Settings) tlsConfig(mode, host string) (*tls.Config, error) {
	if mode == TLSDisabled {
		return nil, nil
	}
	// The modes preferred, required and verify-ca do not look at the host name (MySQL
	// manual, "Command Options for Encrypted Connections"), which Go can only be told
	// by switching its own check off and adding one.
	conf := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: host,
		InsecureSkipVerify: mode != TLSVerifyIdentity,
	}
	if err := s.tlsFiles(conf); err != nil {
		return nil, err
	}
	if mode == TLSVerifyCA {
		conf.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, conf.RootCAs) }
	}
	return conf, nil
}

// tlsFiles reads the PEM files of the settings into conf.
func (s Settings) tlsFiles(conf *tls.Config) error {
	if s.TLSCA != "" {
		pem, err := bench.ReadFile(s.TLSCA, bench.MaxWritten)
		if err != nil {
			return bench.Errorf(bench.ExitConfig, "read BENCH_MYSQL_TLS_CA: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return bench.Errorf(bench.ExitConfig, "read BENCH_MYSQL_TLS_CA: %s holds no PEM certificate", s.TLSCA)
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_TLS_CERT and BENCH_MYSQL_TLS_KEY need each other: set both or none")
	}
	if s.TLSCert != "" {
		cert, err := keyPair(s.TLSCert, s.TLSKey)
		if err != nil {
			return bench.Errorf(bench.ExitConfig, "read BENCH_MYSQL_TLS_CERT and BENCH_MYSQL_TLS_KEY: %w", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return nil
}

// keyPair reads a client's certificate and key.
func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := bench.ReadFile(certFile, bench.MaxWritten)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := bench.ReadFile(keyFile, bench.MaxWritten)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// verifyChain checks the server's certificate against roots, whatever host it names.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("verify server certificate: the server sent none")
	}
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, cert := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	_, err := state.PeerCertificates[0].Verify(opts)
	return err
}

// describeTLS names version and cipher, e.g. "TLS 1.3 TLS_AES_128_GCM_SHA256".
func describeTLS(state tls.ConnectionState) string {
	return tls.VersionName(state.Version) + " " + tls.CipherSuiteName(state.CipherSuite)
}
