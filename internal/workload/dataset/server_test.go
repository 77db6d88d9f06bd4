package dataset_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
	"cellbench/internal/workload/dataset"
)

// shared is the one throwaway server of this package's tests.
var shared struct {
	once   sync.Once
	err    error
	server *localserver.Server
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		_ = shared.server.Stop(context.Background())
	}
	os.Exit(code)
}

// conn adapts the door's connection.
type conn struct{ *mysql.Conn }

func (c conn) Query(ctx context.Context, query string, args ...any) ([][]sql.NullString, error) {
	rows, err := c.Conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows.Rows, nil
}

// settings returns the way to an empty database of its own on the shared server;
// a machine without a server program fails the test.
func settings(tb testing.TB) mysql.Settings {
	tb.Helper()
	shared.once.Do(func() {
		shared.server, shared.err = localserver.Start(context.Background(), localserver.Options{
			BufferPoolBytes: 256 << 20, Args: []string{"--innodb-flush-log-at-trx-commit=2"},
		})
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	s := mysql.Settings{Socket: shared.server.Socket(), User: shared.server.User(), Password: shared.server.Password(), DB: "mysql"}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, tb.Name())
	admin := open(tb, s)
	run(tb, admin, "DROP DATABASE IF EXISTS "+name)
	run(tb, admin, "CREATE DATABASE "+name)
	s.DB = name
	return s
}

func opener(tb testing.TB, s mysql.Settings) dataset.Opener {
	tb.Helper()
	d, err := mysql.NewDoor(s)
	if err != nil {
		tb.Fatal(err)
	}
	return func(ctx context.Context) (dataset.Conn, error) {
		c, err := d.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

func open(tb testing.TB, s mysql.Settings) dataset.Conn {
	tb.Helper()
	c, err := opener(tb, s)(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func run(tb testing.TB, c dataset.Conn, statements ...string) {
	tb.Helper()
	for _, s := range statements {
		if _, err := c.Exec(tb.Context(), s); err != nil {
			tb.Fatal(err)
		}
	}
}

// value returns the first column of the first row.
func value(tb testing.TB, c dataset.Conn, query string) string {
	tb.Helper()
	rows, err := c.Query(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0][0].String
}

// checksum is a digest of all rows of a table.
func checksum(tb testing.TB, c dataset.Conn, table string) string {
	tb.Helper()
	return value(tb, c, fmt.Sprintf("SELECT CONCAT(COUNT(*), '/', SUM(CRC32(CONCAT_WS(',', id, k, c, pad)))) FROM %s", table))
}
