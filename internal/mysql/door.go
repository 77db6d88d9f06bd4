package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"fmt"
	"net"
	"sync"
	"time"

	gomysql "github.com/go-sql-driver/mysql"

	"cellbench/internal/bench"
)

// Door is the way into one server. It holds no connection and is safe for
// concurrent use.
type Door struct {
	cfg     *gomysql.Config // without TLS and dial function
	tls     *tls.Config     // nil: TLS disabled
	mode    string
	token   func(ctx context.Context) (string, error)
	session []string
	timeout time.Duration

	mu  sync.Mutex
	cip string // version and cipher of the latest connection
}

// NewDoor checks the settings and makes the way into their server; nothing is
// sent. Contradictions, unreadable TLS files and DSN options that would change
// what is measured are errors with bench.ExitConfig.
func NewDoor(s Settings) (*Door, error) {
	cfg, rest, err := s.driverConfig()
	if err != nil {
		return nil, err
	}
	d := &Door{cfg: cfg, session: rest.session, timeout: s.ConnectTimeout}
	if d.timeout == 0 {
		d.timeout = cfg.Timeout
	}
	if d.timeout <= 0 {
		d.timeout = DefaultConnectTimeout
	}
	cfg.Timeout = 0 // bounded by the context of the whole attempt
	if d.mode, err = s.tlsMode(rest.tls); err != nil {
		return nil, err
	}
	if err = s.auth(d.mode); err != nil {
		return nil, err
	}
	if s.Auth == AuthRDSIAM {
		d.token, cfg.AllowCleartextPasswords = s.Token, true
	}
	host, _, _ := net.SplitHostPort(cfg.Addr)
	if d.tls, err = s.tlsConfig(d.mode, host); err != nil {
		return nil, err
	}
	return d, nil
}

// Address returns host:port or the path of the socket.
func (d *Door) Address() string { return d.cfg.Addr }

// Transport returns "tcp" or "unix".
func (d *Door) Transport() string {
	if d.cfg.Net == "unix" {
		return "unix"
	}
	return "tcp"
}

// Database returns the name of the benchmark database.
func (d *Door) Database() string { return d.cfg.DBName }

// User returns the name of the account.
func (d *Door) User() string { return d.cfg.User }

// TLSMode returns the mode asked for, e.g. "verify-ca".
func (d *Door) TLSMode() string { return d.mode }

// TLS names version and cipher of the latest connection, e.g. "TLS 1.3
// TLS_AES_128_GCM_SHA256"; it is empty without TLS.
func (d *Door) TLS() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cip
}

// DriverConn opens a bare go-sql-driver connection for the driver engine: no
// pool, no ping, no liveness checks, no interpolation and no statement of the
// driver's own. It returns the socket below it too, on which deadlines may be
// set; both are closed by closing the driver.Conn. Errors are those of [Classify].
func (d *Door) DriverConn(ctx context.Context) (driver.Conn, net.Conn, error) {
	conn, l, err := d.open(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	return conn, l.Conn, nil
}

// open connects by the driver, its own TLS included, and runs the session
// statements of the DSN.
func (d *Door) open(ctx context.Context, interpolate bool) (driver.Conn, *link, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	l, err := d.dial(ctx)
	if err != nil {
		return nil, nil, d.failed(ctx, err)
	}
	cfg := d.cfg.Clone()
	cfg.InterpolateParams = interpolate
	if cfg.TLS, err = d.tlsFor(l.greeting); err == nil {
		var conn driver.Conn
		if conn, err = d.handshake(ctx, cfg, l); err == nil {
			if err = d.runSession(ctx, conn); err == nil {
				return conn, l, nil
			}
			_ = conn.Close()
		}
	}
	_ = l.Close() // the driver has closed it already, unless it was not reached
	return nil, nil, d.failed(ctx, err)
}

// tlsFor returns the TLS configuration for one connection, nil for none, and
// remembers what was negotiated.
func (d *Door) tlsFor(g greeting) (*tls.Config, error) {
	switch {
	case d.tls == nil, g.refused:
		return nil, nil
	case d.mode == TLSPreferred && (g.capabilities&capSSL == 0 || d.Transport() == "unix"):
		// As the mysql client does: "preferred" does not encrypt a Unix socket.
		return nil, nil
	case g.capabilities&capSSL == 0:
		return nil, gomysql.ErrNoTLS
	}
	conf := d.tls.Clone()
	verify := d.tls.VerifyConnection
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		if verify != nil {
			if err := verify(state); err != nil {
				return err
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cip = describeTLS(state)
		return nil
	}
	return conf, nil
}

// dial opens the socket and reads the greeting.
func (d *Door) dial(ctx context.Context) (*link, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, d.cfg.Net, d.cfg.Addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	g, packet, err := readGreeting(conn)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &link{Conn: conn, greeting: g, replay: packet}, nil
}

// handshake lets the driver authenticate over conn and runs the session
// statements.
func (d *Door) handshake(ctx context.Context, cfg *gomysql.Config, conn net.Conn) (driver.Conn, error) {
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	if d.token != nil {
		token, err := d.token(ctx)
		if err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "get a token for BENCH_MYSQL_AUTH=rds-iam: %w", err)
		}
		cfg.Passwd = token
	}
	connector, err := gomysql.NewConnector(cfg)
	if err != nil {
		return nil, bench.Errorf(bench.ExitConfig, "configure the driver: %w", err)
	}
	return connector.Connect(ctx)
}

// runSession runs the session statements of the DSN.
func (d *Door) runSession(ctx context.Context, conn driver.Conn) error {
	for _, stmt := range d.session {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, stmt, nil); err != nil {
			return bench.Errorf(bench.ExitConfig, "run %q of BENCH_DSN: %w", Redact(stmt), err)
		}
	}
	return nil
}

// failed says where it was that err happened and what it means.
func (d *Door) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	err = Classify(err)
	return bench.Errorf(bench.CodeOf(err), "connect to %s: %w", d.Address(), err)
}
