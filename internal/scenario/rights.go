package scenario

import (
	"context"
	"fmt"
	"strings"

	"cellbench/internal/mysql"
)

// missing returns the GRANT that err asks for, "" when err is not about rights.
func (p *Session) missing(ctx context.Context, err error) string {
	readOnly := mysql.IsError(err, 1290, 1836)
	if !mysql.IsDenied(err) && !readOnly {
		return ""
	}
	account := p.account(ctx)
	_, _, message := mysql.ErrorCode(err)
	low := strings.ToLower(message)
	switch {
	case readOnly:
		return "the server is read-only for this account: SET GLOBAL read_only=0 there, or on MariaDB GRANT READ_ONLY ADMIN ON *.* TO " + account
	case strings.Contains(low, "setup_consumers"), strings.Contains(low, "setup_instruments"):
		return fmt.Sprintf("GRANT SELECT, UPDATE ON performance_schema.setup_consumers TO %[1]s; GRANT SELECT, UPDATE ON performance_schema.setup_instruments TO %[1]s", account)
	case strings.Contains(low, "'threads'"):
		return "GRANT SELECT ON performance_schema.threads TO " + account
	case strings.Contains(low, StateTable), mysql.IsError(err, 1044):
		return fmt.Sprintf("GRANT SELECT, INSERT, DELETE, CREATE, DROP ON %s.* TO %s", quoteName(p.door.Database()), account)
	case strings.Contains(low, "system_variables_admin"):
		return "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO " + account
	case mysql.IsError(err, 1227):
		return "GRANT the privilege it names (SUPER or, on MySQL 8.0 and later, SYSTEM_VARIABLES_ADMIN) ON *.* TO " + account
	}
	return "GRANT it to " + account + " (infra/mysql/grants.sql)"
}

// account returns the account as GRANT wants it, e.g. 'bench'@'%'.
func (p *Session) account(ctx context.Context) string {
	text, null, err := p.conn.Value(ctx, "SELECT CURRENT_USER()")
	at := strings.LastIndexByte(text, '@')
	if err != nil || null || at < 0 {
		return quoteText(p.door.User()) + "@'%'"
	}
	return quoteText(text[:at]) + "@" + quoteText(text[at+1:])
}
