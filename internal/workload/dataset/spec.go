// Package dataset makes, checks and drops the tables that a workload runs on.
//
// It opens no connection: an Opener is given to it. A small table of its own,
// MarkerTable, names every table it has made, with a fingerprint of what was
// asked for and whether the load was completed. Only tables named there are ever
// dropped or filled again; any other table in the way is an error of exit code 66
// that names it.
//
// Rows are pure functions of (seed, table, row number), so that a load that was
// broken off can be taken up at any row and leads to the same data.
package dataset

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"cellbench/internal/workload/random"
)

// Conn is a connection to the server with the dataset's database selected.
type Conn interface {
	// Exec runs one statement and returns the number of changed rows.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
	// Query runs one statement and returns its whole result set as text.
	Query(ctx context.Context, sql string, args ...any) ([][]sql.NullString, error)
	Close() error
}

// Opener opens a connection. Errors should carry their exit class, as everything
// that fails here is a failed set-up.
type Opener func(ctx context.Context) (Conn, error)

// Spec says what a workload needs.
type Spec struct {
	Tables []Table
	// Seed of the rows. The built-in datasets leave it at 0: it is no seed of the
	// run, since another seed would mean another load.
	Seed int64
	// Drifts says that the workload changes the number of rows on purpose, so that
	// a wrong number is loaded anew by auto and accepted by never.
	Drifts bool
}

// Bytes estimates what the tables take on disk: the text of the rows and a quarter
// more, which is what pages and one secondary index add on InnoDB.
func (s Spec) Bytes() int64 {
	var sum float64
	for _, t := range s.Tables {
		if t.Rows > 0 && t.Row != nil {
			src := random.NewSource(s.Seed, uint64(t.Rows))
			row := t.Row(nil, &src, t.Rows) // the last has the longest number
			sum += 1.25 * float64(t.Rows) * float64(len(row))
		}
	}
	return int64(min(sum, math.MaxInt64/2))
}

// Table is one table of a dataset.
type Table struct {
	Name   string
	Create string // the CREATE TABLE statement
	After  []Step // statements after the rows, in order
	Rows   int64  // numbered from 1
	// Insert lists the columns that Row gives values for.
	Insert []string
	// Row appends row n as a parenthesised tuple, drawing from src, which is seeded
	// for this row alone.
	Row func(dst []byte, src *random.Source, n int64) []byte
	// ASCII says that Row writes nothing but ASCII into columns of text and numbers.
	// Such rows are sent without a character set, which spares the server the
	// conversion of each string, a quarter of its work in loading a latin1 table.
	ASCII bool
	// Content names what Row makes. It is part of the fingerprint, so it must
	// change when the rows do.
	Content string
	// RowAuto is Row without the value of Key, which the server then counts up by
	// itself; nil if it does not. It is used for a table that one connection loads
	// alone, as it spares the server the reading of a number for each row.
	RowAuto func(dst []byte, src *random.Source, n int64) []byte
	// Key is a column that holds the row's number; empty if there is none. A broken
	// load can only be taken up with it.
	Key string
	// Shape is what the finished table looks like; nil if it is not known, and then
	// only a table made by cellbench is accepted.
	Shape *Shape
}

// Step is a statement that completes a table.
type Step struct {
	Index string // the index it makes; empty if it makes none
	SQL   string
}

// Shape is what can be seen of a table's definition.
type Shape struct {
	Columns []Column
	Indexes []Index
	Engine  string // empty: any
}

// Column is a column as information_schema.columns shows it.
type Column struct {
	Name    string
	Type    string // lower case, integers without display width, e.g. "char(120)"
	NotNull bool
	AutoInc bool
}

// Index is an index as information_schema.statistics shows it. The primary key's
// name is "PRIMARY".
type Index struct {
	Name    string
	Columns string // joined by commas
}

// version is part of every fingerprint; it changes when loading does something
// else with the same spec.
const version = "1"

// Fingerprint returns 16 hexadecimal digits that are equal for equal datasets.
func (s Spec) Fingerprint() string {
	parts := make([]string, 0, len(s.Tables))
	for i := range s.Tables {
		parts = append(parts, s.Tables[i].Name, s.tableFingerprint(i))
	}
	return fingerprint(parts...)
}

// tableFingerprint is that of one table, so that a dataset with more tables of
// the same kind only loads those that are missing.
func (s Spec) tableFingerprint(i int) string {
	t := &s.Tables[i]
	parts := []string{version, t.Create, t.Content, fmt.Sprint(t.Rows), fmt.Sprint(s.Seed), strings.Join(t.Insert, ",")}
	for _, step := range t.After {
		parts = append(parts, step.SQL)
	}
	return fingerprint(parts...)
}

func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Rows returns the number of rows of all tables.
func (s Spec) Rows() int64 {
	n := int64(0)
	for i := range s.Tables {
		n += s.Tables[i].Rows
	}
	return n
}
