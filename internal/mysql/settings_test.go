package mysql

import (
	"context"
	"strings"
	"testing"

	"cellbench/internal/bench"
)

func TestNewDoor(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "t", nil }
	for _, tc := range []struct {
		name    string
		s       Settings
		address string
		db      string
		mode    string
		session string
	}{
		{"host", Settings{Host: "db", User: "u"}, "db:3306", "sbtest", TLSDisabled, ""},
		{"IPv6", Settings{Host: "[::1]", Port: 3307, User: "u"}, "[::1]:3307", "sbtest", TLSDisabled, ""},
		{"socket", Settings{Socket: "/s.sock", DB: "b", TLS: "Preferred"}, "/s.sock", "b", TLSPreferred, ""},
		{"DSN", Settings{DSN: "u:p/w@tcp(db:1)/b?tls=skip-verify"}, "db:1", "b", TLSRequired, ""},
		{"DSN without database", Settings{DSN: "u@tcp(db)/"}, "db:3306", "sbtest", TLSDisabled, ""},
		{"DSN with harmless options", Settings{DSN: "u@unix(/a/b.sock)/b?parseTime=true&loc=UTC&interpolateParams=false&timeout=3s", Password: "p"}, "/a/b.sock", "b", TLSDisabled, ""},
		{"DSN with session variables", Settings{DSN: "u@tcp(db)/b?charset=utf8mb4,utf8&collation=utf8mb4_bin&sql_mode=%27ANSI%27"}, "db:3306", "b", TLSDisabled, "SET NAMES utf8mb4 COLLATE utf8mb4_bin; SET sql_mode = 'ANSI'"},
		{"token", Settings{Host: "db", Auth: AuthRDSIAM, Token: token}, "db:3306", "sbtest", TLSRequired, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := NewDoor(tc.s)
			if err != nil {
				t.Fatal(err)
			}
			if d.Address() != tc.address || d.Database() != tc.db || d.TLSMode() != tc.mode || strings.Join(d.session, "; ") != tc.session {
				t.Errorf("address %s, database %s, TLS %s, session %q", d.Address(), d.Database(), d.TLSMode(), d.session)
			}
			if d.cfg.InterpolateParams || d.cfg.CheckConnLiveness || d.cfg.MultiStatements || d.cfg.MaxAllowedPacket == 0 {
				t.Errorf("the driver would do more than asked: %+v", d.cfg)
			}
		})
	}
}

func TestNewDoorErrors(t *testing.T) {
	t.Parallel()
	const canary = "canary-secret"
	dsn := func(options string) Settings { return Settings{DSN: "u:" + canary + "@tcp(db:1)/b?" + options} }
	for _, tc := range []struct {
		name string
		s    Settings
		want string
	}{
		{"nothing", Settings{}, "no server named"},
		{"host and socket", Settings{Host: "a", Socket: "b"}, "BENCH_MYSQL_SOCKET"},
		{"port", Settings{Host: "a", Port: 70000}, "1 to 65535"},
		{"DSN and host", Settings{DSN: "u@tcp(db)/", Host: "a"}, "BENCH_MYSQL_HOST"},
		{"DSN and port", Settings{DSN: "u@tcp(db)/", Port: 1}, "BENCH_MYSQL_PORT"},
		{"DSN and user", Settings{DSN: "u@tcp(db)/", User: "a"}, "BENCH_MYSQL_USER"},
		{"DSN and database", Settings{DSN: "u@tcp(db)/x", DB: "y"}, "BENCH_MYSQL_DB"},
		{"DSN and password", Settings{DSN: "u:" + canary + "@tcp(db)/x", Password: "p"}, "password"},
		{"DSN without slash", Settings{DSN: "u:" + canary + "@tcp(db)"}, "user:password@tcp"},
		{"DSN with another network", Settings{DSN: "u@ssh(db)/x"}, "ssh"},
		{"interpolation", dsn("interpolateParams=true"), "interpolateParams=true"},
		{"found rows", dsn("clientFoundRows=1"), "clientFoundRows"},
		{"compression", dsn("compress=true"), "compress"},
		{"read timeout", dsn("readTimeout=5s"), "readTimeout"},
		{"strict, on which the driver panics", dsn("strict=true"), "strict"},
		{"packet size of the server", dsn("maxAllowedPacket=0"), "maxAllowedPacket"},
		{"TLS name", dsn("tls=custom"), "verify-ca"},
		{"TLS twice", Settings{DSN: "u@tcp(db)/?tls=true", TLS: TLSDisabled}, "say it once"},
		{"TLS mode", Settings{Host: "a", TLS: "on"}, "verify-identity"},
		{"TLS file without TLS", Settings{Host: "a", TLSCA: "x"}, "disabled"},
		{"TLS authority missing", Settings{Host: "a", TLS: TLSVerifyCA, TLSCA: "/nowhere"}, "BENCH_MYSQL_TLS_CA"},
		{"TLS authority without PEM", Settings{Host: "a", TLS: TLSVerifyCA, TLSCA: "settings_test.go"}, "no PEM"},
		{"certificate without key", Settings{Host: "a", TLS: TLSRequired, TLSCert: "x"}, "BENCH_MYSQL_TLS_KEY"},
		{"unknown auth", Settings{Host: "a", Auth: "ldap"}, "rds-iam"},
		{"token without TLS", Settings{Host: "a", TLS: TLSDisabled, Auth: AuthRDSIAM, Token: func(context.Context) (string, error) { return "", nil }}, "clear text"},
		{"token and password", Settings{Host: "a", Password: canary, Auth: AuthRDSIAM, Token: func(context.Context) (string, error) { return "", nil }}, "BENCH_MYSQL_PASSWORD"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewDoor(tc.s)
			if bench.CodeOf(err) != bench.ExitConfig || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "\n") {
				t.Errorf("a secret, or more than one line: %q", err)
			}
		})
	}
}

func TestStatusDelta(t *testing.T) {
	t.Parallel()
	before := map[string]int64{"Uptime": 10, "Com_select": 5, "Threads_running": 1, "Questions": 9, "Innodb_rows_read": 7, "Com_insert": 3, "Key_blocks_used": 1, "wsrep_x": 1}
	after := map[string]int64{"Uptime": 12, "Com_select": 8, "Threads_running": 9, "Questions": 9, "Innodb_rows_read": 2, "Com_update": 4, "Com_insert": 4, "Key_blocks_used": 5, "wsrep_x": 2}
	got := StatusDelta(before, after)
	if len(got) != 2 || got["Com_select"] != 3 || got["Com_insert"] != 1 {
		t.Errorf("delta %v", got)
	}
	after["Uptime"] = 1
	if got := StatusDelta(before, after); got != nil {
		t.Errorf("a restarted server has a delta: %v", got)
	}
	if StatusDelta(nil, after) != nil {
		t.Error("a missing reading has a delta")
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"CREATE USER a IDENTIFIED BY 'canary' REQUIRE SSL":           "CREATE USER a IDENTIFIED BY '***' REQUIRE SSL",
		`alter user a identified with x by "can""ary"`:               "alter user a identified with x by '***'",
		"SET PASSWORD FOR 'a'@'%' = 'canary'":                        "SET PASSWORD FOR 'a'@'%' = '***'",
		"SET PASSWORD = PASSWORD('canary')":                          "SET PASSWORD = PASSWORD('***')",
		"CHANGE MASTER TO MASTER_PASSWORD='canary', MASTER_HOST='a'": "CHANGE MASTER TO MASTER_PASSWORD='***', MASTER_HOST='a'",
		"GRANT SELECT ON a.* TO b IDENTIFIED BY PASSWORD '*ABCDEF' ": "GRANT SELECT ON a.* TO b IDENTIFIED BY PASSWORD '***' ",
		"SELECT 'password', 'x'":                                     "SELECT 'password', 'x'",
		"UPDATE setup_consumers SET ENABLED = 'NO'":                  "UPDATE setup_consumers SET ENABLED = 'NO'",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFlavour(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ version, comment, want string }{
		{"9.7.4", "MySQL Community Server - GPL", "MySQL"},
		{"10.11.19-MariaDB-0+deb12u1", "Debian 12", "MariaDB"},
		{"8.0.36-28", "Percona Server (GPL), Release 28", "Percona Server"},
		{"8.0.11-TiDB-v7.5.0", "TiDB Server", "TiDB"},
	} {
		if got := flavour(tc.version, tc.comment); got != tc.want {
			t.Errorf("%s is %s, want %s", tc.version, got, tc.want)
		}
	}
}

// FuzzDSN holds that no text makes NewDoor panic or hand the driver an option
// that would change what is measured.
func FuzzDSN(f *testing.F) {
	for _, s := range []string{"u:p@tcp(h:1)/d?a=b", "/", "u@unix(/x)/?tls=true", "@tcp(", "u/d?strict=1&charset=a,b", "a/b?compress=1/c?interpolateParams=true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		d, err := NewDoor(Settings{DSN: dsn})
		if err != nil {
			if code := bench.CodeOf(err); code != bench.ExitConfig {
				t.Fatalf("%q: code %d: %v", dsn, code, err)
			}
			return
		}
		c := d.cfg
		if c.InterpolateParams || c.MultiStatements || c.ClientFoundRows || c.CheckConnLiveness || c.MaxAllowedPacket <= 0 || len(c.Params) > 0 || c.ReadTimeout != 0 {
			t.Fatalf("%q became %+v", dsn, c)
		}
	})
}

// FuzzGreeting holds that no packet makes the parser panic.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte("\x0a9.7.4\x00\x01\x00\x00\x00aaaaaaaa\x00\xff\xff\xff\x02\x00\xff\xdf\x15aaaaaaaaaaaaaaaaaaaaaaa\x00"))
	f.Add([]byte{0xff, 0x10, 0x04})
	f.Fuzz(func(t *testing.T, payload []byte) {
		g, err := parseGreeting(payload)
		if err == nil && !g.refused && g.version != string(payload[1:1+len(g.version)]) {
			t.Fatalf("version %q", g.version)
		}
	})
}

func TestTellerIsQuiet(t *testing.T) {
	t.Parallel()
	n := 0
	tell := teller(func(string) { n++ })
	for range 5 {
		tell("x")
	}
	teller(nil)("nobody listens")
	if n != 1 {
		t.Errorf("told %d times at once, want 1 in %s", n, waitSay)
	}
}
