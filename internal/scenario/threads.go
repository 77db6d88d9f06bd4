package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/mysql"
)

// CheckThreads checks that performance_schema instruments the workload's
// connections, which is decided when each of them starts: every id must have a row
// in performance_schema.threads with INSTRUMENTED = YES. It returns nil without a
// look when performance_schema is OFF or missing, and an error, which makes the
// cell invalid, with the number of connections that are not instrumented.
func CheckThreads(ctx context.Context, c *mysql.Conn, ids []uint64) error {
	value, ok, err := globalValue(ctx, c, "performance_schema")
	if err != nil {
		return fmt.Errorf("check the instrumented connections: %w", err)
	}
	if !ok || !same(value, "ON") {
		return nil
	}
	missing, off := 0, 0
	for chunk := range slices.Chunk(ids, 1000) {
		instrumented, err := readThreads(ctx, c, chunk)
		if err != nil {
			return fmt.Errorf("check the instrumented connections: %w", err)
		}
		for _, id := range chunk {
			if state, ok := instrumented[id]; !ok {
				missing++
			} else if state != yes {
				off++
			}
		}
	}
	if missing+off == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d connections are not instrumented: %d have no row in performance_schema.threads (raise performance_schema_max_thread_instances), %d are switched off (see performance_schema.setup_actors)",
		missing+off, len(ids), missing, off)
}

func readThreads(ctx context.Context, c *mysql.Conn, ids []uint64) (map[uint64]flag, error) {
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		list = append(list, strconv.FormatUint(id, 10))
	}
	rows, err := c.Query(ctx, "SELECT PROCESSLIST_ID, INSTRUMENTED FROM performance_schema.threads WHERE PROCESSLIST_ID IN ("+strings.Join(list, ",")+")")
	if err != nil {
		return nil, err
	}
	found := make(map[uint64]flag, len(rows.Rows))
	for _, r := range rows.Rows {
		if id, err := strconv.ParseUint(r[0].String, 10, 64); err == nil {
			found[id] = flag(r[1].String)
		}
	}
	return found, nil
}
