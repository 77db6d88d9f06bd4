package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cellbench/internal/mysql"
)

// judgeLost decides what losses mean.
func (p *Session) judgeLost(serious, other []string) error {
	if len(serious) > 0 && p.s.Demands() {
		return fmt.Errorf("performance_schema measured less than it should: %s; raise the performance_schema_max_* size it names", few(serious))
	}
	if all := slices.Concat(serious, other); len(all) > 0 {
		p.warn("performance_schema_lost", "performance_schema lost data: "+few(all))
	}
	return nil
}

// seriousLosses are the objects whose loss makes the server do less work than the
// scenario says, e.g. a session without a row in threads is not instrumented.
var seriousLosses = []string{"thread", "mutex", "rwlock", "cond", "statement_classes", "socket", "file_instances", "file_classes"}

func isSerious(name string) bool {
	rest := strings.TrimPrefix(strings.ToLower(name), "performance_schema_")
	return slices.ContainsFunc(seriousLosses, func(s string) bool { return strings.HasPrefix(rest, s) })
}

func readLost(ctx context.Context, c *mysql.Conn) (map[string]int64, error) {
	rows, err := c.Query(ctx, `SHOW GLOBAL STATUS LIKE 'Performance\_schema\_%lost'`)
	if mysql.IsDenied(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lost := map[string]int64{}
	for _, r := range rows.Rows {
		lost[r[0].String] = number(r[1].String)
	}
	return lost, nil
}
