package integration

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// flavour is one of the two server families.
type flavour string

const (
	mysqlFlavour   flavour = "mysql"
	mariadbFlavour flavour = "mariadb"
)

// image returns the image a flavour's servers are started from.
func (f flavour) image() string {
	name, fallback := "MYSQL_IMAGE", "mysql:8.4"
	if f == mariadbFlavour {
		name, fallback = "MARIADB_IMAGE", "mariadb:10.11"
	}
	if image := os.Getenv(name); image != "" {
		return image
	}
	return fallback
}

// rootPassword has the characters that a careless DSN or shell would trip over.
const rootPassword = `r00t@:/?#'"$%\x`

// server is a database server in a container, reachable on loopback.
type server struct {
	Flavour   flavour
	Host      string
	Port      int
	Password  string // of root
	Container *testcontainers.DockerContainer
}

// mysqlServer returns the MySQL that all tests share.
func mysqlServer(t *testing.T) *server {
	t.Helper()
	return sharedServer(t, &shared.mysql, mysqlFlavour)
}

// mariadbServer returns the MariaDB that all tests share, performance_schema on
// as it is on MySQL.
func mariadbServer(t *testing.T) *server {
	t.Helper()
	return sharedServer(t, &shared.mariadb, mariadbFlavour, "--performance-schema=ON")
}

func sharedServer(t *testing.T, slot *lazy[*server], f flavour, options ...string) *server {
	t.Helper()
	requireImage(t, f.image())
	return slot.get(t, func() (*server, error) {
		srv, err := startServer(context.Background(), f, options...)
		if err == nil {
			shared.atExit(func() { terminate(srv.Container) })
		}
		return srv, err
	})
}

// eachServer runs one subtest on the shared MySQL and one on the shared MariaDB.
func eachServer(t *testing.T, test func(t *testing.T, srv *server)) {
	t.Helper()
	t.Run("MySQL", func(t *testing.T) { test(t, mysqlServer(t)) })
	t.Run("MariaDB", func(t *testing.T) { test(t, mariadbServer(t)) })
}

// newServer starts a server of the test's own with the given server options.
func newServer(t *testing.T, f flavour, options ...string) *server {
	t.Helper()
	requireImage(t, f.image())
	srv, err := startServer(t.Context(), f, options...)
	if err != nil {
		t.Fatalf("start %s: %v", f, err)
	}
	t.Cleanup(func() { terminate(srv.Container) })
	return srv
}

// startServer starts a container and waits until root can log in over TCP, which
// is late enough for every image: while one sets itself up, it has no TCP port.
func startServer(ctx context.Context, f flavour, options ...string) (*server, error) {
	srv := &server{Flavour: f, Password: rootPassword}
	// Durability off: the tests look at what is sent and counted, not at disks.
	args := append([]string{
		"--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--max-connections=2000",
	}, options...)
	url := func(host string, port network.Port) string {
		return dsn(host, int(port.Num()), "root", srv.Password, "")
	}
	container, err := testcontainers.Run(ctx, f.image(), owned(),
		testcontainers.WithEnv(map[string]string{"MYSQL_ROOT_PASSWORD": srv.Password}),
		testcontainers.WithExposedPorts("3306/tcp"),
		testcontainers.WithCmd(args...),
		testcontainers.WithWaitStrategyAndDeadline(3*time.Minute,
			wait.ForSQL("3306/tcp", "mysql", url).WithStartupTimeout(3*time.Minute).WithPollInterval(200*time.Millisecond)),
	)
	if err != nil {
		terminate(container)
		return nil, fmt.Errorf("run %s: %w", f.image(), err)
	}
	srv.Container = container
	if srv.Host, err = container.Host(ctx); err != nil {
		terminate(container)
		return nil, fmt.Errorf("find host: %w", err)
	}
	port, err := container.MappedPort(ctx, "3306/tcp")
	if err != nil {
		terminate(container)
		return nil, fmt.Errorf("find port: %w", err)
	}
	srv.Port = int(port.Num())
	return srv, nil
}

func dsn(host string, port int, user, password, db string) string {
	cfg := mysqldriver.NewConfig()
	cfg.Net, cfg.Addr = "tcp", fmt.Sprintf("%s:%d", host, port)
	cfg.User, cfg.Passwd, cfg.DBName = user, password, db
	cfg.Timeout = 5 * time.Second
	return cfg.FormatDSN()
}

// Env returns the settings that lead the task to schema db as root.
func (s *server) Env(db string) []string { return s.EnvAs(db, "root", s.Password) }

// EnvAs returns the settings that lead the task to schema db as somebody.
func (s *server) EnvAs(db, user, password string) []string {
	return []string{
		"BENCH_MYSQL_HOST=" + s.Host,
		"BENCH_MYSQL_PORT=" + strconv.Itoa(s.Port),
		"BENCH_MYSQL_USER=" + user,
		"BENCH_MYSQL_PASSWORD=" + password,
		"BENCH_MYSQL_DB=" + db,
	}
}

// Open returns a handle of root on schema db ("" for none), closed with the test.
func (s *server) Open(t *testing.T, db string) *sql.DB {
	t.Helper()
	handle, err := sql.Open("mysql", dsn(s.Host, s.Port, "root", s.Password, db))
	if err != nil {
		t.Fatalf("open %s: %v", s.Flavour, err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// Exec runs statements one after another as root, on one connection.
func (s *server) Exec(t *testing.T, db string, statements ...string) {
	t.Helper()
	if err := s.exec(t.Context(), db, statements...); err != nil {
		t.Fatal(err)
	}
}

func (s *server) exec(ctx context.Context, db string, statements ...string) error {
	handle, err := sql.Open("mysql", dsn(s.Host, s.Port, "root", s.Password, db))
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Flavour, err)
	}
	defer func() { _ = handle.Close() }()
	conn, err := handle.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.Flavour, err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("run %q on %s: %w", statement, s.Flavour, err)
		}
	}
	return nil
}

// names numbers what tests create on shared servers.
var names atomic.Int64

// Database creates an empty schema and drops it when the test ends.
func (s *server) Database(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("it_%d", names.Add(1))
	s.Exec(t, "", "CREATE DATABASE "+name)
	t.Cleanup(func() { s.undo(t, "DROP DATABASE IF EXISTS "+name) })
	return name
}

// User creates an account with exactly the given grants, each without GRANT and TO
// ("SELECT, INSERT ON it_1.*"), and drops it when the test ends.
func (s *server) User(t *testing.T, grants ...string) (name, password string) {
	t.Helper()
	name, password = fmt.Sprintf("user_%d", names.Add(1)), "pass_"+strconv.FormatInt(names.Add(1), 10)
	account := "'" + name + "'@'%'"
	statements := []string{"CREATE USER " + account + " IDENTIFIED BY '" + password + "'"}
	for _, grant := range grants {
		statements = append(statements, "GRANT "+grant+" TO "+account)
	}
	s.Exec(t, "", statements...)
	t.Cleanup(func() { s.undo(t, "DROP USER IF EXISTS "+account) })
	return name, password
}

// undo runs a clean-up statement; a server that the test has killed is no fault.
func (s *server) undo(t *testing.T, statement string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.exec(ctx, "", statement); err != nil && s.running(ctx) {
		t.Errorf("clean up: %v", err)
	}
}

func (s *server) running(ctx context.Context) bool {
	state, err := s.Container.State(ctx)
	return err == nil && state.Running
}

// Kill ends the server of newServer the hard way.
func (s *server) Kill(t *testing.T) {
	t.Helper()
	if err := s.Container.Stop(t.Context(), new(time.Duration)); err != nil {
		t.Fatalf("kill %s: %v", s.Flavour, err)
	}
}

// Status returns the global status counters whose names begin with prefix.
func (s *server) Status(t *testing.T, prefix string) map[string]int64 {
	t.Helper()
	rows, err := s.Open(t, "").QueryContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+strings.ReplaceAll(prefix, "_", `\_`)+"%'")
	if err != nil {
		t.Fatalf("read status: %v", err)
	}
	defer func() { _ = rows.Close() }()
	status := make(map[string]int64)
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatalf("read status: %v", err)
		}
		if value, err := strconv.ParseInt(text, 10, 64); err == nil {
			status[name] = value
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("read status: %v", err)
	}
	return status
}
