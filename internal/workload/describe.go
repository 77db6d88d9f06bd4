package workload

// Describe says in a line what a built-in workload sends in one event; empty for
// any other name.
func Describe(name string) string {
	return map[string]string{
		"oltp_read_write":       "BEGIN, the reads of oltp_read_only, the writes of oltp_write_only, COMMIT",
		"oltp_read_only":        "BEGIN, 10 point selects, simple, sum, order and distinct range, COMMIT",
		"oltp_write_only":       "BEGIN, index update, non-index update, delete and insert, COMMIT",
		"oltp_point_select":     "one point select",
		"oltp_update_index":     "one update of the indexed column",
		"oltp_update_non_index": "one update of an unindexed column",
		"oltp_insert":           "one insert",
		"oltp_delete":           "one delete",
		"bulk_insert":           "one row of a multi-row insert",
		"select_random_points":  "one select with an IN list over the indexed column",
		"select_random_ranges":  "one select with several ranges over the indexed column",
		"hotspot_update":        "BEGIN, an update of one and the same row, COMMIT",
	}[name]
}
