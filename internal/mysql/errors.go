package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	gomysql "github.com/go-sql-driver/mysql"

	"cellbench/internal/bench"
)

// The client error codes of libmysqlclient (MySQL manual, "Client Error Message
// Reference"), given to failures that carry no server error.
const (
	codeConnSocket = 2002
	codeConnHost   = 2003
	codeUnknown    = 2005
	codeServerGone = 2006
	codeOutOfSync  = 2014
	codeLost       = 2013
	codeTooLarge   = 2020
	codeSSL        = 2026
	codeMalformed  = 2027
)

// meaning is what one server error means for the cell and what to do about it.
type meaning struct {
	code bench.ExitCode
	hint string
}

// meanings of server errors that can end a connection attempt or a set-up
// statement (MySQL manual, "Server Error Message Reference").
var meanings = map[int]meaning{
	1040: {bench.ExitUnreachable, "the server has no free connection: wait, or raise max_connections above the cell's threads plus 3"},
	1042: {bench.ExitUnreachable, "the server cannot resolve this client's name"},
	1043: {bench.ExitUnreachable, "the handshake failed"},
	1044: {bench.ExitUnsafe, "the account has no right on this database: GRANT it (infra/mysql/grants.sql), or set BENCH_MYSQL_DB"},
	1045: {bench.ExitConfig, "wrong user or password: check BENCH_MYSQL_USER and BENCH_MYSQL_PASSWORD (or BENCH_DSN), or set BENCH_MYSQL_TLS=required if the account demands TLS"},
	1046: {bench.ExitConfig, "no database is selected: set BENCH_MYSQL_DB"},
	1049: {bench.ExitConfig, "no such database: create it, or set BENCH_MYSQL_DB"},
	1053: {bench.ExitUnreachable, "the server is shutting down"},
	1129: {bench.ExitUnsafe, "the server has blocked this client after failed attempts: run FLUSH HOSTS there"},
	1130: {bench.ExitUnsafe, "the server has no account for this client's address"},
	1142: {bench.ExitUnsafe, "the account lacks a right (infra/mysql/grants.sql)"},
	1143: {bench.ExitUnsafe, "the account lacks a right (infra/mysql/grants.sql)"},
	1203: {bench.ExitUnreachable, "the account has all the connections that max_user_connections allows"},
	1226: {bench.ExitUnreachable, "the account has used up a limit of its own"},
	1227: {bench.ExitUnsafe, "the account lacks a right (infra/mysql/grants.sql)"},
	1251: {bench.ExitConfig, "the account's authentication method is not supported: use caching_sha2_password, mysql_native_password or ed25519"},
	1290: {bench.ExitUnsafe, "the server is read-only or was started with an option that forbids this"},
	1298: {bench.ExitConfig, "the server does not know this time zone"},
	1524: {bench.ExitConfig, "the server has not loaded the account's authentication plugin"},
	1820: {bench.ExitConfig, "the account's password has expired: set a new one"},
	1862: {bench.ExitConfig, "the account's password has expired: set a new one"},
	1927: {bench.ExitUnreachable, "the connection was killed"},
	3032: {bench.ExitUnreachable, "the server is offline (offline_mode)"},
	3118: {bench.ExitUnsafe, "the account is locked"},
	3159: {bench.ExitConfig, "the server demands TLS: set BENCH_MYSQL_TLS=required (or verify-identity with BENCH_MYSQL_TLS_CA)"},
	3168: {bench.ExitUnreachable, "the server is not ready"},
	4031: {bench.ExitUnreachable, "the server closed the idle connection"},
	4151: {bench.ExitUnsafe, "the account is locked"},
}

// Classify gives err the exit code it leads to and says what to do about it:
// configuration is 64, missing rights 66, and 71 only what a retry can help
// (unreachable, timed out, starting, shutting down, full). An error that has a
// code already comes back as it is; one that is no connection error becomes 67.
func Classify(err error) error {
	var done *bench.Error
	if err == nil || errors.As(err, &done) {
		return err
	}
	var server *gomysql.MySQLError
	if errors.As(err, &server) {
		m, ok := meanings[int(server.Number)]
		if !ok {
			return bench.Errorf(bench.ExitInternal, "%w", err)
		}
		return bench.Errorf(m.code, "%w: %s", err, m.hint)
	}
	if errors.Is(err, context.Canceled) {
		return bench.Errorf(bench.ExitInterrupted, "interrupted: %w", err)
	}
	for _, classify := range []func(error) error{classifyTLS, classifyPeer, classifyNet} {
		if e := classify(err); e != nil {
			return e
		}
	}
	return bench.Errorf(bench.ExitInternal, "%w", err)
}

// classifyTLS knows what goes wrong with TLS; all of it is configuration.
func classifyTLS(err error) error {
	hint := ""
	var (
		unknown *tls.CertificateVerificationError
		author  x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	switch {
	case errors.Is(err, gomysql.ErrNoTLS):
		hint = "the server offers no TLS: set BENCH_MYSQL_TLS=disabled or preferred"
	case errors.As(err, &host):
		hint = "the server's certificate is for another name: use that name in BENCH_MYSQL_HOST, or BENCH_MYSQL_TLS=verify-ca"
	case errors.As(err, &author), errors.As(err, &unknown):
		hint = "the server's certificate is not trusted: set BENCH_MYSQL_TLS_CA to its authority, or BENCH_MYSQL_TLS=required to encrypt without checking"
	case errors.As(err, &invalid):
		hint = "the server's certificate is not valid"
	case errors.As(err, &alert), errors.As(err, &record):
		hint = "the TLS handshake failed: the server may want a client certificate (BENCH_MYSQL_TLS_CERT) or an older TLS version"
	default:
		return nil
	}
	return bench.Errorf(bench.ExitConfig, "%w: %s", err, hint)
}

// classifyPeer knows a peer that speaks otherwise than expected.
func classifyPeer(err error) error {
	switch {
	case errors.Is(err, errNotMySQL), errors.Is(err, gomysql.ErrOldProtocol):
		return bench.Errorf(bench.ExitConfig, "%w: check host and port", err)
	case errors.Is(err, gomysql.ErrMalformPkt), errors.Is(err, gomysql.ErrPktSync), errors.Is(err, gomysql.ErrPktSyncMul):
		return bench.Errorf(bench.ExitConfig, "%w: what answers there does not speak MySQL's protocol as cellbench does", err)
	case errors.Is(err, gomysql.ErrUnknownPlugin), errors.Is(err, gomysql.ErrNativePassword), errors.Is(err, gomysql.ErrOldPassword):
		return bench.Errorf(bench.ExitConfig, "%w: use an account with caching_sha2_password, mysql_native_password or ed25519", err)
	case errors.Is(err, gomysql.ErrCleartextPassword):
		// The driver's text speaks of its own DSN option.
		return bench.Errorf(bench.ExitConfig, "the account sends its password in clear text: set BENCH_MYSQL_AUTH=rds-iam with TLS, or allowCleartextPasswords=true in BENCH_DSN")
	}
	return nil
}

// classifyNet knows what the network says; most of it may mend with time.
func classifyNet(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return bench.Errorf(bench.ExitConfig, "unknown host: check BENCH_MYSQL_HOST: %w", dns)
	}
	var network net.Error
	switch {
	case errors.Is(err, os.ErrPermission):
		return bench.Errorf(bench.ExitUnsafe, "%w: this user may not open the socket", err)
	case errors.Is(err, errNoGreeting):
		return bench.Errorf(bench.ExitUnreachable, "%w: is the server up, and is this its port?", err)
	case errors.Is(err, context.DeadlineExceeded):
		return bench.Errorf(bench.ExitUnreachable, "no answer in time: check host, port and firewall, or raise BENCH_CONNECT_TIMEOUT: %w", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return bench.Errorf(bench.ExitUnreachable, "%w: no server listens there", err)
	case errors.Is(err, os.ErrNotExist):
		return bench.Errorf(bench.ExitUnreachable, "%w: no server has made this socket", err)
	case lost(err), errors.As(err, &network):
		return bench.Errorf(bench.ExitUnreachable, "%w: the connection was lost", err)
	}
	return nil
}

// lost reports whether err means that an open connection is gone.
func lost(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, gomysql.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// ErrorCode returns the number, SQLSTATE and message of a failed statement: the
// server's own, or the client codes 2000-2999 of libmysqlclient for a lost
// connection and its like. The code is 0 for an error that is neither.
func ErrorCode(err error) (code int, sqlstate, message string) {
	var server *gomysql.MySQLError
	if errors.As(err, &server) {
		state := "HY000"
		if server.SQLState != [5]byte{} {
			state = string(server.SQLState[:])
		}
		return int(server.Number), state, server.Message
	}
	if err == nil {
		return 0, "", ""
	}
	code, state := clientCode(err), "HY000"
	switch code {
	case 0:
		state = ""
	case codeServerGone, codeLost:
		state = "08S01" // as the server's own 1158-1161 and 1053
	}
	return code, state, err.Error()
}

func clientCode(err error) int {
	var (
		dns *net.DNSError
		op  *net.OpError
		alt tls.AlertError
		nt  net.Error
	)
	switch {
	case errors.Is(err, driver.ErrBadConn):
		return codeServerGone
	case errors.Is(err, gomysql.ErrPktTooLarge):
		return codeTooLarge
	case errors.Is(err, gomysql.ErrMalformPkt):
		return codeMalformed
	case errors.Is(err, gomysql.ErrPktSync), errors.Is(err, gomysql.ErrPktSyncMul), errors.Is(err, gomysql.ErrBusyBuffer):
		return codeOutOfSync
	case errors.Is(err, gomysql.ErrNoTLS), errors.As(err, &alt):
		return codeSSL
	case errors.As(err, &dns):
		return codeUnknown
	case errors.As(err, &op) && op.Op == "dial" && op.Net == "unix":
		return codeConnSocket
	case errors.As(err, &op) && op.Op == "dial":
		return codeConnHost
	case lost(err), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &nt):
		return codeLost
	case bench.CodeOf(err) == bench.ExitUnreachable:
		// A connection that could not be opened for another reason, such as a proxy
		// that accepts and closes when no server is behind it (client error 2013 too:
		// "Lost connection ... reading initial communication packet").
		return codeLost
	}
	return 0
}

// IsError reports whether err is one of the server errors numbers.
func IsError(err error, numbers ...int) bool {
	var server *gomysql.MySQLError
	if !errors.As(err, &server) {
		return false
	}
	for _, n := range numbers {
		if int(server.Number) == n {
			return true
		}
	}
	return false
}

// IsDenied reports whether the server refused err's statement for missing rights.
func IsDenied(err error) bool { return IsError(err, 1044, 1142, 1143, 1227, 1370) }

// IsLost reports whether err means that the connection is gone.
func IsLost(err error) bool {
	code, _, _ := ErrorCode(err)
	return code == codeServerGone || code == codeLost || IsError(err, 1053, 1927, 4031)
}

// statementError is a failed statement of a control connection.
func statementError(stmt string, err error) error {
	return fmt.Errorf("run %q: %w", shorten(Redact(stmt)), err)
}

func shorten(stmt string) string {
	stmt = strings.Join(strings.Fields(stmt), " ")
	if r := []rune(stmt); len(r) > 120 {
		return string(r[:120]) + "..."
	}
	return stmt
}

// secretText finds the quoted text after the words that come before a secret.
var secretText = regexp.MustCompile(`(?i)(IDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS|USING)(?:\s+PASSWORD)?|PASSWORD\s+FOR\b[^=]*=|PASSWORD\s*[(=])(\s*(?:PASSWORD\s*\(\s*)?)('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")`)

// Redact replaces the passwords of account statements by '***', for texts that
// end up in a log or a result.
func Redact(stmt string) string {
	return secretText.ReplaceAllString(stmt, "$1$2'***'")
}
