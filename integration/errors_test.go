package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// refusal is a run that must not measure: its environment, the exit code of the
// contract, and the words of each line that it ends with.
type refusal struct {
	env  []string
	args []string
	code bench.ExitCode
	says []string // what each "cellbench: " line holds, one line each
}

// complaints are the lines in which the task says what was wrong.
func complaints(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "cellbench: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func (c refusal) check(t *testing.T) taskRun {
	t.Helper()
	run := runTask(t, append([]string{"BENCH_CONNECT_TIMEOUT=1", "BENCH_TIME=1", "BENCH_WARMUP_TIME=0", "BENCH_TABLE_SIZE=100"}, c.env...), c.args...)
	run.Want(t, c.code)
	lines := complaints(run.Stderr)
	if len(lines) != len(c.says) {
		t.Errorf("%d lines of complaint, want %d:\n%s", len(lines), len(c.says), run.Stderr)
	}
	for i, words := range c.says {
		if i < len(lines) && !strings.Contains(lines[i], words) {
			t.Errorf("line %d does not say %q: %s", i+1, words, lines[i])
		}
	}
	if strings.Contains(run.Stderr, "goroutine ") {
		t.Errorf("a stack trace:\n%s", run.Stderr)
	}
	if run.Stdout != "" {
		r := run.Result(t)
		if r.Status != bench.StatusFailed || r.Reason == nil {
			t.Errorf("status %s (%s), want failed with a reason", r.Status, because(r))
		}
		if r.Window != nil || r.Counts != nil || r.Latency != nil {
			t.Errorf("a result that measured nothing has numbers: %s", run.Stdout)
		}
	}
	return run
}

// TestConfigurationErrors needs no server: each problem is one line, all at once,
// before anything is touched.
func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := "BENCH_MYSQL_HOST=127.0.0.1"
	cases := map[string]refusal{
		"misspelt variable":     {env: []string{"BENCH_THREDS=4"}, code: 64, says: []string{"BENCH_THREDS: unknown variable, did you mean BENCH_THREADS?"}},
		"both password forms":   {env: []string{host, "BENCH_MYSQL_PASSWORD=a", "BENCH_MYSQL_PASSWORD_FILE=" + secret}, code: 64, says: []string{"set only one of BENCH_MYSQL_PASSWORD and BENCH_MYSQL_PASSWORD_FILE"}},
		"no password file":      {env: []string{host, "BENCH_MYSQL_PASSWORD_FILE=/no/such/file"}, code: 64, says: []string{"BENCH_MYSQL_PASSWORD_FILE=/no/such/file"}},
		"no end":                {env: []string{"BENCH_TIME=0", "BENCH_EVENTS=0"}, code: 64, says: []string{"BENCH_TIME=0: the window would never end; set BENCH_TIME or BENCH_EVENTS"}},
		"unknown workload":      {env: []string{host, "BENCH_WORKLOAD=oltp_read_wrote"}, code: 64, says: []string{"did you mean oltp_read_write?"}},
		"unknown scenario":      {env: []string{host, "BENCH_SCENARIO=pfsof"}, code: 64, says: []string{`did you mean "pfsoff"?`}},
		"unknown verb":          {args: []string{"stduy"}, code: 64, says: []string{"did you mean study?"}},
		"an argument":           {args: []string{"run", "now"}, code: 64, says: []string{`got "now"`}},
		"unknown engine":        {env: []string{"BENCH_ENGINE=fast"}, code: 64, says: []string{"BENCH_ENGINE=fast: allowed are auto, wire, driver"}},
		"two targets":           {env: []string{host, "BENCH_MYSQL_SOCKET=/x"}, code: 64, says: []string{"set only one of BENCH_DSN, BENCH_MYSQL_HOST and BENCH_MYSQL_SOCKET"}},
		"password for nobody":   {env: []string{"BENCH_MYSQL_PASSWORD=a"}, code: 64, says: []string{"BENCH_MYSQL_PASSWORD: no target is named to use it for"}},
		"cleanup without a DB":  {args: []string{"cleanup"}, code: 64, says: []string{"a local target lives for one cell only"}},
		"results elsewhere":     {env: []string{"BENCH_RESULTS=ftp://host/x"}, code: 64, says: []string{"use a directory or s3://bucket/prefix"}},
		"results without a key": {env: []string{"BENCH_RESULTS=s3:/bucket"}, code: 64, says: []string{"write s3://bucket/prefix, with two slashes"}},
		"a broken DSN":          {env: []string{"BENCH_DSN=root:x@tcp(127.0.0.1/db"}, code: 64, says: []string{"read BENCH_DSN"}},
		"no temporary folder":   {env: []string{"TMPDIR=/no/such/folder"}, code: 64, says: []string{"create its folder in /no/such/folder"}},
		"more data than disk":   {env: []string{"BENCH_TABLES=1000", "BENCH_TABLE_SIZE=1G"}, code: 64, says: []string{"lower BENCH_TABLES or BENCH_TABLE_SIZE, or set TMPDIR"}},
		"several at once": {
			env: []string{"BENCH_THREADS=0", "BENCH_TIME=soon", "BENCH_TABLEZ=4"}, code: 64,
			says: []string{"BENCH_TABLEZ: unknown variable, did you mean BENCH_TABLES?", "BENCH_THREADS=0: allowed is 1 to 100000", "BENCH_TIME=soon: allowed is seconds (60) or a duration (90s, 5m)"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

// TestTargetErrors asks for what a real server cannot give.
func TestTargetErrors(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		stranger, strangerPassword := srv.User(t)
		encrypted, encryptedPassword := srv.User(t, "ALL ON "+db+".*")
		srv.Exec(t, "", "ALTER USER '"+encrypted+"'@'%' REQUIRE SSL")
		with := func(env []string, more ...string) []string { return slices.Concat(env, more) }
		wrong := "SET no_such_variable = 1"
		cases := map[string]refusal{
			"wrong password":                    {env: srv.EnvAs(db, "root", "wrong"), code: 64, says: []string{"wrong user or password"}},
			"unknown user":                      {env: srv.EnvAs(db, "nobody", "x"), code: 64, says: []string{"wrong user or password"}},
			"missing database":                  {env: srv.Env("no_such_db"), code: 64, says: []string{"no such database: create it, or set BENCH_MYSQL_DB"}},
			"no right on it":                    {env: srv.EnvAs(db, stranger, strangerPassword), code: 66, says: []string{"the account has no right on this database"}},
			"account wants TLS":                 {env: srv.EnvAs(db, encrypted, encryptedPassword), code: 64, says: []string{"BENCH_MYSQL_TLS=required"}},
			"too many connections":              {env: with(srv.Env(db), "BENCH_THREADS=5000"), code: 64, says: []string{"max_connections"}},
			"tables missing and not to be made": {env: with(srv.Env(srv.Database(t)), "BENCH_PREPARE=never"), code: 64, says: []string{"table sbtest1 is missing and BENCH_PREPARE=never"}},
			"session SQL that fails":            {env: with(srv.Env(db), "BENCH_SESSION_SQL="+wrong), code: 64, says: []string{"BENCH_SESSION_SQL: "}},
			"session SQL that fails, driver":    {env: with(srv.Env(db), "BENCH_SESSION_SQL="+wrong, "BENCH_ENGINE=driver"), code: 64, says: []string{"BENCH_SESSION_SQL: "}},
			"storage engine unknown":            {env: with(srv.Env(srv.Database(t)), "BENCH_MYSQL_STORAGE_ENGINE=fast", "BENCH_SESSION_SQL=SET sql_mode=''"), code: 64, says: []string{"fast"}},
			"table options wrong":               {env: with(srv.Env(srv.Database(t)), "BENCH_CREATE_TABLE_OPTIONS=no option"), code: 64, says: []string{"create table sbtest1"}},
			"init SQL that fails":               {env: with(srv.Env(db), "BENCH_INIT_SQL=SET GLOBAL no_such_variable = 1"), code: 65, says: []string{"no_such_variable"}},
		}
		// In a database where nobody has loaded the tables yet.
		empty := srv.Database(t)
		reader, password := srv.User(t, "SELECT ON "+empty+".*")
		cases["may only read"] = refusal{env: srv.EnvAs(empty, reader, password), code: 66, says: []string{"the account lacks a right"}}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				c.check(t)
				srv.nothingLeft(t, db)
			})
		}
	})
}

// TestMayNotWrite has an account that may read the tables somebody else has loaded
// and not write to them: the load itself fails, from its first event on.
func TestMayNotWrite(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		runTask(t, base(srv, db), "prepare").Want(t, bench.ExitOK)
		reader, password := srv.User(t, "SELECT ON "+db+".*")
		for _, warmup := range []string{"0", "1"} {
			for _, engine := range []string{"wire", "driver"} {
				t.Run("warm-up "+warmup+", "+engine, func(t *testing.T) {
					run := runTask(t, append(base(srv, db), append(srv.EnvAs(db, reader, password), "BENCH_WARMUP_TIME="+warmup, "BENCH_ENGINE="+engine)...))
					run.Want(t, bench.ExitUnsafe)
					r := run.Result(t)
					if r.Status == bench.StatusOK || !strings.Contains(because(r), "1142") || !strings.Contains(because(r), "UPDATE command denied") {
						t.Errorf("status %s (%s), want the server's refusal for a reason", r.Status, because(r))
					}
					if lines := complaints(run.Stderr); len(lines) != 1 || !strings.Contains(lines[0], "UPDATE command denied") {
						t.Errorf("complaints %q", lines)
					}
				})
			}
		}
		runTask(t, append(base(srv, db), append(srv.EnvAs(db, reader, password), "BENCH_WORKLOAD=oltp_read_only")...)).Want(t, bench.ExitOK)
	})
}

// nothingLeft fails the test if the task's connections to a schema stay on the
// server, which may need a moment to notice that they are gone.
func (s *server) nothingLeft(t *testing.T, db string) {
	t.Helper()
	left := 0
	for range 100 {
		row := s.Open(t, "").QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '"+db+"'")
		if err := row.Scan(&left); err != nil {
			t.Fatalf("count connections: %v", err)
		}
		if left == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d connections are left on the server", left)
}

// TestUnreachable tells what a retry can help from what it cannot.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing, as a hung server does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	at := func(l net.Listener) []string {
		host, port, _ := net.SplitHostPort(l.Addr().String())
		return []string{"BENCH_MYSQL_HOST=" + host, "BENCH_MYSQL_PORT=" + port}
	}
	cases := map[string]refusal{
		"closed port":  {env: at(closed), code: 71, says: []string{"no server listens there"}},
		"silent peer":  {env: at(listener), code: 71, says: []string{"the connection was accepted, but no MySQL greeting came"}},
		"no socket":    {env: []string{"BENCH_MYSQL_SOCKET=/no/such.sock"}, code: 71, says: []string{"no server has made this socket"}},
		"unknown host": {env: []string{"BENCH_MYSQL_HOST=no-such-host.invalid"}, code: 64, says: []string{"unknown host: check BENCH_MYSQL_HOST"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

// TestTLSErrors has servers that demand TLS and that have none.
func TestTLSErrors(t *testing.T) {
	t.Run("server without TLS", func(t *testing.T) {
		srv := mariadbServer(t)
		env := append(srv.Env(srv.Database(t)), "BENCH_MYSQL_TLS=required")
		refusal{env: env, code: 64, says: []string{"the server offers no TLS"}}.check(t)
	})
	t.Run("server that demands TLS", func(t *testing.T) {
		srv := mysqlServer(t)
		db := srv.Database(t)
		// The way back must not need a new connection.
		conn, err := srv.Open(t, "").Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), "SET GLOBAL require_secure_transport = ON"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := conn.ExecContext(t.Context(), "SET GLOBAL require_secure_transport = OFF"); err != nil {
				t.Errorf("put the shared server back: %v", err)
			}
			_ = conn.Close()
		}()
		refusal{env: srv.Env(db), code: 64, says: []string{"the server demands TLS: set BENCH_MYSQL_TLS=required"}}.check(t)
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, []byte("none\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refusal{
			env: append(srv.Env(db), "BENCH_MYSQL_TLS=verify-identity"), code: 64, says: []string{"certificate"},
		}.check(t)
		refusal{
			env: append(srv.Env(db), "BENCH_MYSQL_TLS=verify-ca", "BENCH_MYSQL_TLS_CA="+ca), code: 64, says: []string{"holds no PEM certificate"},
		}.check(t)
		for _, engine := range []string{"wire", "driver"} {
			r := runTask(t, append(base(srv, db), "BENCH_MYSQL_TLS=required", "BENCH_RECONNECT=20", "BENCH_ENGINE="+engine)).Want(t, bench.ExitOK).Result(t)
			if e := r.Engine; e.Name != engine || !strings.HasPrefix(e.TLS, "TLS 1.") || r.Counts.Events != 100 {
				t.Errorf("engine %s, TLS %q, %d events; want %s with TLS, 100", e.Name, e.TLS, r.Counts.Events, engine)
			}
		}
	})
}

// TestForeignTables has tables in the way that cellbench did not make. They are
// named, and not touched.
func TestForeignTables(t *testing.T) {
	shapes := map[string]struct {
		create string
		says   string
	}{
		"a table of the user's": {
			"CREATE TABLE sbtest2 (id INT PRIMARY KEY, precious VARCHAR(20)) AS SELECT 1 AS id, 'data' AS precious",
			"table sbtest2 is not the one that the workload needs: column",
		},
		"another type of id": {
			"CREATE TABLE sbtest2 (id BIGINT NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_2 (k))",
			"table sbtest2 is not the one that the workload needs: column id is bigint",
		},
		"too few rows": {
			"CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_2 (k)) AS SELECT 1 AS id, 5 AS k, 'c' AS c, 'p' AS pad",
			"sbtest2",
		},
	}
	eachServer(t, func(t *testing.T, srv *server) {
		for name, shape := range shapes {
			t.Run(name, func(t *testing.T) {
				db := srv.Database(t)
				srv.Exec(t, db, shape.create)
				before := srv.dump(t, db)
				refusal{env: append(srv.Env(db), "BENCH_TABLES=3"), code: 66, says: []string{shape.says}}.check(t)
				refusal{env: append(srv.Env(db), "BENCH_TABLES=3", "BENCH_PREPARE=always"), code: 66, says: []string{"sbtest2"}}.check(t)
				refusal{env: append(srv.Env(db), "BENCH_TABLES=3"), args: []string{"cleanup"}, code: 66, says: []string{"sbtest2 was not made by cellbench"}}.check(t)
				if after := srv.dump(t, db); after != before {
					t.Errorf("the database was changed; before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	})
}

// dump writes down everything in a schema: its tables, their definitions and rows.
func (s *server) dump(t *testing.T, db string) string {
	t.Helper()
	handle := s.Open(t, db)
	defer func() { _ = handle.Close() }()
	var b strings.Builder
	for _, table := range s.column(t, db, "SHOW TABLES") {
		var name, create string
		if err := handle.QueryRowContext(t.Context(), "SHOW CREATE TABLE `"+table+"`").Scan(&name, &create); err != nil {
			t.Fatalf("dump %s.%s: %v", db, table, err)
		}
		fmt.Fprintln(&b, create)
		sum := s.column(t, db, "SELECT CONCAT_WS('|', COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', "+strings.Join(s.column(t, db,
			"SELECT CONCAT('`', column_name, '`') FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '"+table+"' ORDER BY ordinal_position"), ", ")+"))), 0)) FROM `"+table+"`")
		fmt.Fprintln(&b, sum)
	}
	return b.String()
}

// column returns the first column of a query's rows as text.
func (s *server) column(t *testing.T, db, query string) []string {
	t.Helper()
	handle := s.Open(t, db)
	defer func() { _ = handle.Close() }() // nothingLeft counts connections
	rows, err := handle.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	var values []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}

// TestResultsErrors has places that cannot take a result: that is found before
// the server is touched.
func TestResultsErrors(t *testing.T) {
	srv := mysqlServer(t)
	db := srv.Database(t)
	gw := s3Gateway(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wrongKey := append(slices.Clone(gw.Env()), "AWS_SECRET_ACCESS_KEY=wrong")
	cases := map[string]refusal{
		"a file in the way":      {env: []string{"BENCH_RESULTS=" + file + "/results"}, code: 64, says: []string{"must be a directory"}},
		"a folder under /proc":   {env: []string{"BENCH_RESULTS=/proc/results"}, code: 74, says: []string{"create results directory"}},
		"a bucket that is not":   {env: append(slices.Clone(gw.Env()), "BENCH_RESULTS=s3://no-such-bucket/x"), code: 64, says: []string{"no-such-bucket"}},
		"the wrong secret":       {env: append(wrongKey, "BENCH_RESULTS=s3://"+gw.Bucket(t)), code: 64, says: []string{"the credentials or the region are wrong"}},
		"a store that is not up": {env: append(slices.Clone(gw.Env()), "AWS_ENDPOINT_URL_S3=http://127.0.0.1:1", "BENCH_RESULTS=s3://bucket"), code: 71, says: []string{"127.0.0.1:1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.env = append(srv.Env(db), c.env...)
			if run := c.check(t); run.Stdout != "" {
				t.Errorf("a result, though the cell cannot have begun: %s", run.Stdout)
			}
			if tables := srv.column(t, db, "SHOW TABLES"); len(tables) != 0 {
				t.Errorf("tables %v were made before the store was known to take the result", tables)
			}
		})
	}
}
