package workload

import (
	"fmt"
	"regexp"
	"strings"

	"cellbench/internal/workload/dataset"
	"cellbench/internal/workload/random"
)

// parseTables turns the tables of a workload file into a dataset. The rows of
// each are known to the expressions that come after it.
func parseTables(tables []fileTable, sc scope) (dataset.Spec, error) {
	var spec dataset.Spec
	for _, t := range tables {
		table, err := parseTable(t, sc)
		if err != nil {
			return spec, fmt.Errorf("table %s: %w", t.Name, err)
		}
		if _, ok := sc.rows[t.Name]; ok {
			return spec, fmt.Errorf("table %s: the name is there twice", t.Name)
		}
		sc.rows[t.Name] = table.Rows
		spec.Tables = append(spec.Tables, table)
		spec.Drifts = spec.Drifts || t.Drifts
	}
	return spec, nil
}

var (
	createPattern = regexp.MustCompile("(?i)^CREATE\\s+TABLE\\s+`?([A-Za-z0-9_]+)`?\\s*\\(")
	indexPattern  = regexp.MustCompile("(?i)^CREATE\\s+(?:UNIQUE\\s+|FULLTEXT\\s+|SPATIAL\\s+)?INDEX\\s+`?([A-Za-z0-9_]+)`?\\s+ON\\s")
)

func parseTable(t fileTable, sc scope) (dataset.Table, error) {
	var none dataset.Table
	create := strings.TrimRight(strings.TrimSpace(t.Create), "; \n")
	found := createPattern.FindStringSubmatch(create)
	switch {
	case !namePattern.MatchString(t.Name):
		return none, fmt.Errorf("%q is no name: give letters, digits and _", t.Name)
	case strings.EqualFold(t.Name, dataset.MarkerTable):
		return none, fmt.Errorf("the name is taken by cellbench itself")
	case found == nil || found[1] != t.Name:
		return none, fmt.Errorf("create must begin with CREATE TABLE %s (", t.Name)
	}
	rows := int64(0)
	if t.Rows != nil {
		var err error
		if rows, err = parseNumber(exprText(t.Rows), sc); err != nil {
			return none, fmt.Errorf("rows: %w", err)
		}
	}
	if rows < 0 {
		return none, fmt.Errorf("rows is %d", rows)
	}
	if rows > 0 && len(t.Columns) == 0 {
		return none, fmt.Errorf("columns is missing: say what the %d rows hold", rows)
	}
	table := dataset.Table{Name: t.Name, Create: create, Rows: rows}
	if err := parseColumns(&table, t, sc); err != nil {
		return none, err
	}
	for _, sql := range t.After {
		step := dataset.Step{SQL: strings.TrimRight(strings.TrimSpace(sql), "; \n")}
		if m := indexPattern.FindStringSubmatch(step.SQL); m != nil {
			step.Index = m[1]
		}
		table.After = append(table.After, step)
	}
	return table, nil
}

// parseColumns gives the table its rows.
func parseColumns(table *dataset.Table, t fileTable, sc scope) error {
	sc.inRow = true
	columns := make([]expr, 0, len(t.Columns))
	content := make([]string, 0, len(t.Columns))
	for _, item := range t.Columns {
		name := fmt.Sprint(item.Key)
		if !namePattern.MatchString(name) {
			return fmt.Errorf("columns: %q is no name: give letters, digits and _", name)
		}
		x, err := parseExpr(exprText(item.Value), sc)
		if err != nil {
			return fmt.Errorf("columns: %s: %w", name, err)
		}
		if x.op == exprRow && table.Key == "" {
			table.Key = name
		}
		columns = append(columns, x)
		table.Insert = append(table.Insert, name)
		content = append(content, name+"="+x.source)
	}
	// Expressions may speak of sizes and of the run's distribution.
	table.Content = fmt.Sprintf("file rows 1 %s size %d rows %v rand %s", strings.Join(content, ";"), sc.opt.TableSize, sc.rows, sc.opt.Rand)
	table.Row = func(dst []byte, src *random.Source, n int64) []byte {
		var memory [256]byte
		p := place{src: src, row: n, scratch: memory[:0]}
		dst = append(dst, '(')
		for i := range columns {
			if i > 0 {
				dst = append(dst, ',')
			}
			p.scratch = p.scratch[:0]
			dst = columns[i].make(&p, 0).appendSQL(dst)
		}
		return append(dst, ')')
	}
	return nil
}
