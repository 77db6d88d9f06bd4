package mysql

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomysql "github.com/go-sql-driver/mysql"

	"cellbench/internal/bench"
)

// Defaults of the settings that may be left empty.
const (
	DefaultPort           = 3306             // as in mysqld
	DefaultDB             = "sbtest"         // sysbench's --mysql-db
	DefaultConnectTimeout = 10 * time.Second // dial, TLS and authentication together
)

// The TLS modes, in the words of the mysql client's --ssl-mode.
const (
	TLSDisabled       = "disabled"
	TLSPreferred      = "preferred"
	TLSRequired       = "required"
	TLSVerifyCA       = "verify-ca"
	TLSVerifyIdentity = "verify-identity"
)

// The ways to authenticate.
const (
	AuthPassword = "password"
	AuthRDSIAM   = "rds-iam"
)

// Settings say where a server is and who asks. A field left empty takes its
// default, so a caller passes only what the user has set: a DSN together with a
// host, a socket, a user or another value for the same thing is a contradiction.
type Settings struct {
	DSN      string // go-sql-driver form: user:password@tcp(host:port)/db?options
	Host     string // name or address; not with Socket
	Port     int    // 0: 3306
	Socket   string // path of a Unix socket; not with Host
	User     string
	Password string // may complete a DSN that has none
	DB       string // empty: that of the DSN, else sbtest
	TLS      string // disabled (also when empty), preferred, required, verify-ca, verify-identity
	TLSCA    string // PEM file of the authorities to trust; empty: those of the system
	TLSCert  string // PEM file of the client certificate
	TLSKey   string // PEM file of its key
	Auth     string // password (also when empty) or rds-iam
	// ConnectTimeout bounds one attempt to connect, authentication included; 0: 10 s.
	ConnectTimeout time.Duration
	// Token returns the password for rds-iam. It is asked before every connection,
	// since such a token is valid for minutes only.
	Token func(ctx context.Context) (string, error)
}

// dsnFixed lists the DSN options that change what is measured or how it is
// counted, with the value that cellbench uses and the reason. Another value in
// BENCH_DSN is refused rather than ignored.
var dsnFixed = map[string]struct{ value, why string }{
	"interpolateParams": {"false", "BENCH_DB_PS_MODE decides between prepared and text statements"},
	"clientFoundRows":   {"false", "changed rows are what makes a statement a write"},
	"multiStatements":   {"false", "one statement is one query"},
	"compress":          {"false", "compression would be part of every latency"},
	"checkConnLiveness": {"false", "it adds a system call to every statement"},
	"rejectReadOnly":    {"false", "a read-only error is an error to count, not a reconnect"},
	"allowAllFiles":     {"false", "no workload loads local files"},
	"allowOldPasswords": {"false", "the method is insecure and gone from all supported servers"},
	"columnsWithAlias":  {"false", "column names are not looked at"},
	"readTimeout":       {"0s", "a slow statement is a latency to measure, deadlines are cellbench's"},
	"writeTimeout":      {"0s", "a slow statement is a latency to measure, deadlines are cellbench's"},
}

// dsnClientOnly lists the DSN options that only shape values in a program's own
// memory. They are common in copied DSNs and have no effect here.
var dsnClientOnly = map[string]bool{"parseTime": true, "loc": true, "timeTruncate": true}

// dsnKept lists the DSN options handed to the driver as they are.
var dsnKept = map[string]bool{
	"allowNativePasswords": true, "allowCleartextPasswords": true, "collation": true,
	"connectionAttributes": true, "maxAllowedPacket": true, "timeout": true,
}

// dsnRest is what a DSN says beyond the driver's own options.
type dsnRest struct {
	tls     string   // a TLS mode, empty when the DSN has none
	session []string // SET statements for every connection
}

// parseDSN reads a DSN. The options that the driver would turn into statements
// of its own at connect time come back as session statements, so that all kinds
// of connections run the same ones.
func parseDSN(dsn string) (*gomysql.Config, dsnRest, error) {
	base, query, _ := cutDSN(dsn)
	kept, rest, err := sortOptions(query)
	if err != nil {
		return nil, rest, err
	}
	if kept != "" {
		base += "?" + kept
	}
	cfg, err := gomysql.ParseDSN(base)
	if err != nil {
		// The driver's text may quote parts of the DSN but never the password.
		return nil, rest, bench.Errorf(bench.ExitConfig, "read BENCH_DSN: %w; the form is user:password@tcp(host:3306)/database", err)
	}
	if cfg.MaxAllowedPacket <= 0 {
		return nil, rest, bench.Errorf(bench.ExitConfig, "BENCH_DSN sets maxAllowedPacket=%d: it must be above 0, else every connection begins with a statement of the driver", cfg.MaxAllowedPacket)
	}
	return cfg, rest, nil
}

// cutDSN splits a DSN at the question mark that follows its last slash.
func cutDSN(dsn string) (base, query string, found bool) {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return dsn, "", false
	}
	// A slash may stand in an option's value; the options begin at the first
	// question mark after the database's slash, which follows ")" or "@" or begins
	// the DSN. The driver takes the last slash, so slashes in values are escaped.
	mark := strings.IndexByte(dsn[slash:], '?')
	if mark < 0 {
		return dsn, "", false
	}
	return dsn[:slash+mark], dsn[slash+mark+1:], true
}

// sortOptions divides the options of a DSN into those kept for the driver and
// the rest, and refuses those that would change what is measured.
func sortOptions(query string) (kept string, rest dsnRest, err error) {
	var keep, charsets []string
	collation := ""
	for opt := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(opt, "=")
		if key == "" {
			continue
		}
		if fixed, ok := dsnFixed[key]; ok {
			if !sameOption(value, fixed.value) {
				return "", rest, bench.Errorf(bench.ExitConfig, "BENCH_DSN sets %s=%s: cellbench needs %s (%s)", key, value, fixed.value, fixed.why)
			}
			continue
		}
		switch {
		case dsnClientOnly[key]:
		case key == "tls":
			if rest.tls, err = dsnTLS(value); err != nil {
				return "", rest, err
			}
		case key == "allowFallbackToPlaintext", key == "serverPubKey", key == "strict":
			return "", rest, bench.Errorf(bench.ExitConfig, "BENCH_DSN sets %s, which cellbench does not use: set BENCH_MYSQL_TLS instead", key)
		case key == "charset":
			charsets = strings.Split(value, ",")
		case dsnKept[key]:
			if key == "collation" {
				collation = value
			}
			keep = append(keep, opt)
		default:
			v, err := url.QueryUnescape(value)
			if err != nil {
				return "", rest, bench.Errorf(bench.ExitConfig, "read BENCH_DSN option %s: %w", key, err)
			}
			rest.session = append(rest.session, "SET "+key+" = "+v)
		}
	}
	if len(charsets) > 0 {
		rest.session = append([]string{setNames(charsets[0], collation)}, rest.session...)
	}
	return strings.Join(keep, "&"), rest, nil
}

func setNames(charset, collation string) string {
	if collation == "" {
		return "SET NAMES " + charset
	}
	return "SET NAMES " + charset + " COLLATE " + collation
}

// sameOption compares an option's value with a wanted boolean or duration.
func sameOption(value, want string) bool {
	if b, err := strconv.ParseBool(value); err == nil {
		return strconv.FormatBool(b) == want
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return false
	}
	return d.String() == want
}

// dsnTLS translates go-sql-driver's tls option into a TLS mode.
func dsnTLS(value string) (string, error) {
	switch strings.ToLower(value) {
	case "true", "1":
		return TLSVerifyIdentity, nil
	case "false", "0":
		return TLSDisabled, nil
	case "skip-verify":
		return TLSRequired, nil
	case "preferred":
		return TLSPreferred, nil
	}
	return "", bench.Errorf(bench.ExitConfig, "BENCH_DSN sets tls=%s: allowed are true, false, skip-verify and preferred; for an own authority set BENCH_MYSQL_TLS=verify-ca and BENCH_MYSQL_TLS_CA", value)
}

// driverConfig turns the settings into the driver's configuration.
func (s Settings) driverConfig() (*gomysql.Config, dsnRest, error) {
	cfg, rest := gomysql.NewConfig(), dsnRest{}
	if s.DSN != "" {
		var err error
		if err = s.contradiction(); err != nil {
			return nil, rest, err
		}
		if cfg, rest, err = parseDSN(s.DSN); err != nil {
			return nil, rest, err
		}
	}
	if err := s.place(cfg); err != nil {
		return nil, rest, err
	}
	if err := s.identify(cfg); err != nil {
		return nil, rest, err
	}
	cfg.Logger = &gomysql.NopLogger{}
	cfg.CheckConnLiveness = false
	cfg.TLSConfig, cfg.TLS = "", nil
	return cfg, rest, nil
}

// contradiction names a setting that says again what the DSN says.
func (s Settings) contradiction() error {
	for _, other := range []struct {
		name string
		set  bool
	}{
		{"BENCH_MYSQL_HOST", s.Host != ""},
		{"BENCH_MYSQL_PORT", s.Port != 0},
		{"BENCH_MYSQL_SOCKET", s.Socket != ""},
		{"BENCH_MYSQL_USER", s.User != ""},
	} {
		if other.set {
			return bench.Errorf(bench.ExitConfig, "BENCH_DSN and %s are both set: say it once", other.name)
		}
	}
	return nil
}

// place sets the network and the address.
func (s Settings) place(cfg *gomysql.Config) error {
	switch {
	case s.DSN != "":
	case s.Host != "" && s.Socket != "":
		return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_HOST and BENCH_MYSQL_SOCKET are both set: a server is reached by one of them")
	case s.Socket != "":
		cfg.Net, cfg.Addr = "unix", s.Socket
	case s.Host == "":
		return bench.Errorf(bench.ExitConfig, "no server named: set BENCH_MYSQL_HOST, BENCH_MYSQL_SOCKET or BENCH_DSN")
	default:
		port := s.Port
		if port == 0 {
			port = DefaultPort
		}
		if port < 1 || port > 65535 {
			return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_PORT is %d: allowed are 1 to 65535", port)
		}
		cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(strings.Trim(s.Host, "[]"), strconv.Itoa(port))
	}
	if cfg.Net != "tcp" && cfg.Net != "tcp4" && cfg.Net != "tcp6" && cfg.Net != "unix" {
		return bench.Errorf(bench.ExitConfig, "BENCH_DSN names the network %q: allowed are tcp, tcp4, tcp6 and unix", cfg.Net)
	}
	return nil
}

// identify sets user, password and database.
func (s Settings) identify(cfg *gomysql.Config) error {
	if s.User != "" {
		cfg.User = s.User
	}
	switch {
	case s.Password == "":
	case cfg.Passwd != "" && cfg.Passwd != s.Password:
		return bench.Errorf(bench.ExitConfig, "BENCH_DSN holds a password and another one is set beside it: say it once")
	default:
		cfg.Passwd = s.Password
	}
	switch {
	case cfg.DBName != "" && s.DB != "" && s.DB != cfg.DBName:
		return bench.Errorf(bench.ExitConfig, "BENCH_DSN names the database %q and BENCH_MYSQL_DB %q: say it once", cfg.DBName, s.DB)
	case s.DB != "":
		cfg.DBName = s.DB
	case cfg.DBName == "":
		cfg.DBName = DefaultDB
	}
	return nil
}

// auth checks the way to authenticate against the TLS mode.
func (s Settings) auth(mode string) error {
	switch s.Auth {
	case "", AuthPassword:
		return nil
	case AuthRDSIAM:
	default:
		return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_AUTH is %q: allowed are %s and %s", s.Auth, AuthPassword, AuthRDSIAM)
	}
	switch {
	case s.Token == nil:
		return bench.Errorf(bench.ExitInternal, "make door: rds-iam without a source of tokens")
	case s.Password != "":
		return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_AUTH is rds-iam and BENCH_MYSQL_PASSWORD is set: the token is the password")
	case mode == TLSDisabled || mode == TLSPreferred:
		return bench.Errorf(bench.ExitConfig, "BENCH_MYSQL_AUTH is rds-iam and BENCH_MYSQL_TLS is %s: the token travels in clear text, set BENCH_MYSQL_TLS=verify-identity (or required)", mode)
	}
	return nil
}
