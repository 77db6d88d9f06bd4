package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"cellbench/internal/bench"
)

// Conn is a control connection of its own. It is not safe for concurrent use.
// A context that ends while a statement runs closes the connection.
type Conn struct {
	conn driver.Conn
	id   uint64
}

// Rows is a whole result set as text; a NULL has Valid false.
type Rows struct {
	Columns []string
	Rows    [][]sql.NullString
}

// Conn opens a control connection. Errors are those of [Classify].
func (d *Door) Conn(ctx context.Context) (*Conn, error) {
	// Interpolating here spares two round trips and leaves no prepared statement in
	// the server's counters.
	conn, _, err := d.open(ctx, true)
	if err != nil {
		return nil, err
	}
	c := &Conn{conn: conn}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	// The greeting's id has 32 bits only and behind a proxy it is the proxy's.
	text, _, err := c.Value(ctx, "SELECT CONNECTION_ID()")
	if err == nil {
		c.id, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		_ = c.Close()
		err = Classify(err)
		return nil, bench.Errorf(bench.CodeOf(err), "connect to %s: %w", d.Address(), err)
	}
	return c, nil
}

// ID returns the server's number of this connection.
func (c *Conn) ID() uint64 { return c.id }

// Exec runs one statement and returns the number of rows it changed. Arguments
// are put in the places of "?" on this side.
func (c *Conn) Exec(ctx context.Context, stmt string, args ...any) (affected int64, err error) {
	named, err := values(args)
	if err != nil {
		return 0, statementError(stmt, err)
	}
	res, err := c.conn.(driver.ExecerContext).ExecContext(ctx, stmt, named)
	if err != nil {
		return 0, statementError(stmt, err)
	}
	return res.RowsAffected()
}

// Query runs one statement and returns its whole result set.
func (c *Conn) Query(ctx context.Context, stmt string, args ...any) (*Rows, error) {
	named, err := values(args)
	if err != nil {
		return nil, statementError(stmt, err)
	}
	rows, err := c.conn.(driver.QueryerContext).QueryContext(ctx, stmt, named)
	if err != nil {
		return nil, statementError(stmt, err)
	}
	all, err := readAll(rows)
	if closing := rows.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, statementError(stmt, err)
	}
	return all, nil
}

// Value runs a statement that has one row and one column. No row reads as NULL.
func (c *Conn) Value(ctx context.Context, stmt string, args ...any) (text string, null bool, err error) {
	rows, err := c.Query(ctx, stmt, args...)
	if err != nil {
		return "", false, err
	}
	if len(rows.Rows) == 0 || len(rows.Rows[0]) == 0 {
		return "", true, nil
	}
	v := rows.Rows[0][0]
	return v.String, !v.Valid, nil
}

// Ping asks the server for a sign of life. It counts in no Com_* counter and not
// in Questions.
func (c *Conn) Ping(ctx context.Context) error { return c.conn.(driver.Pinger).Ping(ctx) }

// Close says good-bye and closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

func readAll(rows driver.Rows) (*Rows, error) {
	all := &Rows{Columns: append([]string(nil), rows.Columns()...)}
	dest := make([]driver.Value, len(all.Columns))
	for {
		err := rows.Next(dest)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		row := make([]sql.NullString, len(dest))
		for i, v := range dest {
			row[i] = text(v)
		}
		all.Rows = append(all.Rows, row)
	}
}

// text writes a value of the driver as the server's text protocol does.
func text(v driver.Value) sql.NullString {
	var s string
	switch v := v.(type) {
	case nil:
		return sql.NullString{}
	case []byte:
		s = string(v)
	case string:
		s = v
	case int64:
		s = strconv.FormatInt(v, 10)
	case uint64:
		s = strconv.FormatUint(v, 10)
	case float32:
		s = strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		s = v.Format("2006-01-02 15:04:05.999999")
	default:
		s = fmt.Sprint(v)
	}
	return sql.NullString{String: s, Valid: true}
}

func values(args []any) ([]driver.NamedValue, error) {
	named := make([]driver.NamedValue, 0, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		named = append(named, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return named, nil
}
