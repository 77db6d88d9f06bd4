package dataset

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// MarkerTable is the table in which cellbench notes the tables it has made.
const MarkerTable = "cellbench_dataset"

const createMarker = "CREATE TABLE IF NOT EXISTS " + MarkerTable + " (" +
	"table_name VARCHAR(64) NOT NULL, " +
	"fingerprint CHAR(16) NOT NULL, " +
	"state VARCHAR(16) NOT NULL, " + // loading or complete
	"made_rows BIGINT NOT NULL, " +
	"made_columns VARCHAR(2000) NOT NULL, " + // to know the table again
	"made_by VARCHAR(64) NOT NULL, " +
	"PRIMARY KEY (table_name))"

const (
	stateLoading  = "loading"
	stateComplete = "complete"
)

// mark is one row of the marker table.
type mark struct {
	fingerprint, state, columns string
	rows                        int64
}

// found is what the server has of one table of a Spec.
type found struct {
	exists  bool
	shape   Shape
	mark    *mark // nil: not made by cellbench
	rows    int64 // -1 until counted
	matches bool  // the marker's fingerprint is the wanted one
}

// columnNames is how a table is known again.
func (f *found) columnNames() string {
	names := make([]string, 0, len(f.shape.Columns))
	for _, c := range f.shape.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ",")
}

// inspect looks at all tables of a spec, without counting rows.
func inspect(ctx context.Context, c Conn, s Spec) ([]found, error) {
	marks, err := readMarks(ctx, c)
	if err != nil {
		return nil, err
	}
	shapes, err := readShapes(ctx, c, "")
	if err != nil {
		return nil, err
	}
	all := make([]found, len(s.Tables))
	for i := range s.Tables {
		f := &all[i]
		f.rows = -1
		name := s.Tables[i].Name
		if shape, ok := shapes[name]; ok {
			f.exists, f.shape = true, *shape
		}
		if m, ok := marks[name]; ok {
			f.mark, f.matches = &m, m.fingerprint == s.tableFingerprint(i)
		}
		if f.exists && f.mark != nil && f.columnNames() != f.mark.columns {
			return nil, bench.Errorf(bench.ExitUnsafe,
				"table %s has columns (%s) but cellbench made it with (%s): somebody changed or replaced it; drop or rename it, or choose another database",
				name, f.columnNames(), f.mark.columns)
		}
	}
	return all, nil
}

// readMarks returns the marker table by table name; none if there is no marker.
func readMarks(ctx context.Context, c Conn) (map[string]mark, error) {
	exists, err := c.Query(ctx, "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+MarkerTable+"'")
	if err != nil {
		return nil, fmt.Errorf("look for table %s: %w", MarkerTable, err)
	}
	marks := map[string]mark{}
	if len(exists) == 0 {
		return marks, nil
	}
	rows, err := c.Query(ctx, "SELECT table_name, fingerprint, state, made_columns, made_rows FROM "+MarkerTable)
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", MarkerTable, err)
	}
	for _, r := range rows {
		n, err := strconv.ParseInt(r[4].String, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", MarkerTable, err)
		}
		marks[r[0].String] = mark{fingerprint: r[1].String, state: r[2].String, columns: r[3].String, rows: n}
	}
	return marks, nil
}

// readTable returns what the server has of one table.
func readTable(ctx context.Context, c Conn, name string) (found, error) {
	shapes, err := readShapes(ctx, c, " AND table_name = "+literal(name))
	f := found{rows: -1}
	if s := shapes[name]; s != nil {
		f.exists, f.shape = true, *s
	}
	return f, err
}

// readShapes returns the definition of every table of the database for which the
// condition holds.
func readShapes(ctx context.Context, c Conn, and string) (map[string]*Shape, error) {
	shapes := map[string]*Shape{}
	read := func(query string, add func(s *Shape, r []sql.NullString)) error {
		rows, err := c.Query(ctx, query)
		if err != nil {
			return fmt.Errorf("read table definitions: %w", err)
		}
		for _, r := range rows {
			if s := shapes[r[0].String]; s != nil {
				add(s, r)
			}
		}
		return nil
	}
	rows, err := c.Query(ctx, "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE()"+and)
	if err != nil {
		return nil, fmt.Errorf("read table definitions: %w", err)
	}
	for _, r := range rows {
		shapes[r[0].String] = &Shape{Engine: strings.ToLower(r[1].String)}
	}
	if err := read("SELECT table_name, column_name, column_type, is_nullable, extra FROM information_schema.columns"+
		" WHERE table_schema = DATABASE()"+and+" ORDER BY table_name, ordinal_position", addColumn); err != nil {
		return nil, err
	}
	return shapes, read("SELECT table_name, index_name, column_name FROM information_schema.statistics"+
		" WHERE table_schema = DATABASE()"+and+" ORDER BY table_name, index_name, seq_in_index", addIndex)
}

// displayWidth is what MariaDB and MySQL 5.7 write behind integer types.
var displayWidth = regexp.MustCompile(`int\(\d+\)`)

func addColumn(s *Shape, r []sql.NullString) {
	s.Columns = append(s.Columns, Column{
		Name:    r[1].String,
		Type:    displayWidth.ReplaceAllString(strings.ToLower(r[2].String), "int"),
		NotNull: strings.EqualFold(r[3].String, "NO"),
		AutoInc: strings.Contains(strings.ToLower(r[4].String), "auto_increment"),
	})
}

func addIndex(s *Shape, r []sql.NullString) {
	if n := len(s.Indexes); n > 0 && s.Indexes[n-1].Name == r[1].String {
		s.Indexes[n-1].Columns += "," + r[2].String
		return
	}
	s.Indexes = append(s.Indexes, Index{Name: r[1].String, Columns: r[2].String})
}

func (s *Shape) hasIndex(name string) bool {
	return slices.ContainsFunc(s.Indexes, func(i Index) bool { return i.Name == name })
}

// differences says in words where a table differs from what is wanted.
func (s *Shape) differences(got *Shape) []string {
	var diff []string
	if s.Engine != "" && got.Engine != "" && !strings.EqualFold(s.Engine, got.Engine) {
		diff = append(diff, fmt.Sprintf("its engine is %s instead of %s", got.Engine, s.Engine))
	}
	for _, want := range s.Columns {
		i := slices.IndexFunc(got.Columns, func(c Column) bool { return strings.EqualFold(c.Name, want.Name) })
		if i < 0 {
			diff = append(diff, "column "+want.Name+" is missing")
		} else if have := got.Columns[i]; have != want {
			diff = append(diff, fmt.Sprintf("column %s is %s instead of %s", want.Name, have.describe(), want.describe()))
		}
	}
	if extra := len(got.Columns) - len(s.Columns); extra > 0 && len(diff) == 0 {
		diff = append(diff, fmt.Sprintf("it has %d columns more", extra))
	}
	for _, want := range s.Indexes {
		if !slices.Contains(got.Indexes, want) {
			diff = append(diff, fmt.Sprintf("index %s(%s) is missing", want.Name, want.Columns))
		}
	}
	for _, have := range got.Indexes {
		if !slices.Contains(s.Indexes, have) {
			diff = append(diff, fmt.Sprintf("index %s(%s) is not expected", have.Name, have.Columns))
		}
	}
	return diff
}

func (c Column) describe() string {
	text := c.Type
	if c.NotNull {
		text += " NOT NULL"
	}
	if c.AutoInc {
		text += " AUTO_INCREMENT"
	}
	return text
}

// count returns the exact number of rows of a table.
func count(ctx context.Context, c Conn, table string) (int64, error) {
	rows, err := c.Query(ctx, "SELECT COUNT(*) FROM "+Quote(table))
	if err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", table, err)
	}
	return number(rows, 0)
}

// number reads column i of the one row of a result set.
func number(rows [][]sql.NullString, i int) (int64, error) {
	if len(rows) != 1 || len(rows[0]) <= i || !rows[0][i].Valid {
		return 0, fmt.Errorf("read a number: the server answered with %v", rows)
	}
	n, err := strconv.ParseInt(rows[0][i].String, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read a number: %w", err)
	}
	return n, nil
}

// Quote returns a name as a quoted identifier.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
