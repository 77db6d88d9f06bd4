package mysql

import (
	"context"
	"strconv"
	"strings"
)

// gaugeNames are global status variables that hold a present value and not a
// count since the server's start, so their difference means nothing. A trailing
// "*" stands for any ending (MySQL manual, "Server Status Variables").
var gaugeNames = []string{
	"Acl_column_grants", "Acl_database_grants", "Acl_function_grants", "Acl_package*", "Acl_procedure_grants",
	"Acl_proxy_users", "Acl_role_grants", "Acl_roles", "Acl_table_grants", "Acl_users",
	"Aria_pagecache_blocks_*", "Binlog_gtid_index_*", "Binlog_snapshot_*", "Caching_sha2_password_*", "Component_*",
	"Current_tls_*", "Delayed_insert_threads", "Delayed_errors", "Error_log_*", "Gtid_*",
	"Innodb_adaptive_hash_hash_searches_ratio", "Innodb_available_undo_logs", "Innodb_buffer_pool_bytes_*",
	"Innodb_buffer_pool_dump_status", "Innodb_buffer_pool_load_status", "Innodb_buffer_pool_load_incomplete",
	"Innodb_buffer_pool_pages_data", "Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_free",
	"Innodb_buffer_pool_pages_latched", "Innodb_buffer_pool_pages_misc", "Innodb_buffer_pool_pages_old",
	"Innodb_buffer_pool_pages_total", "Innodb_buffer_pool_resize_*", "Innodb_checkpoint_age",
	"Innodb_checkpoint_max_age", "Innodb_current_row_locks", "Innodb_data_pending_*", "Innodb_defragment_*",
	"Innodb_have_*", "Innodb_history_list_length", "Innodb_ibuf_*", "Innodb_max_trx_id", "Innodb_mem_*",
	"Innodb_num_open_files", "Innodb_os_log_pending_*", "Innodb_page_size", "Innodb_redo_log_capacity_resized",
	"Innodb_redo_log_enabled", "Innodb_redo_log_flushed_to_disk_lsn", "Innodb_redo_log_logical_size",
	"Innodb_redo_log_physical_size", "Innodb_redo_log_read_only", "Innodb_redo_log_resize_status",
	"Innodb_redo_log_uuid", "Innodb_row_lock_current_waits", "Innodb_row_lock_time_avg", "Innodb_row_lock_time_max",
	"Innodb_undo_tablespaces_*", "Key_blocks_*", "Last_query_*", "Locked_connects", "Max_statement_time_*",
	"Max_used_connections", "Max_used_connections_time", "Memory_used*", "Mysqlx_port*", "Mysqlx_socket", "Mysqlx_worker_*",
	"Not_flushed_delayed_rows", "Open_files", "Open_streams", "Open_table_definitions", "Open_tables",
	"Ongoing_anonymous_*", "Performance_schema_session_connect_attrs_longest_seen", "Prepared_stmt_count",
	"Qcache_free_*", "Qcache_queries_in_cache", "Qcache_total_blocks", "Replica_open_temp_tables", "Resource_group_*",
	"Rpl_semi_sync_master_clients", "Rpl_semi_sync_master_status", "Rpl_semi_sync_source_clients",
	"Rpl_semi_sync_source_status", "Rpl_status", "Rsa_*", "Secondary_engine_*", "Server_id", "Slave_open_temp_tables",
	"Slave_running", "Slaves_*", "Ssl_cipher*", "Ssl_ctx_verify_*", "Ssl_default_timeout", "Ssl_server_not_*",
	"Ssl_session_cache_*", "Ssl_verify_*", "Ssl_version", "Subquery_cache_*", "Tc_log_page_size", "Tc_log_max_pages_used",
	"Threadpool_idle_threads", "Threadpool_threads", "Threads_cached", "Threads_connected", "Threads_running",
	"Tls_library_version", "Tls_sni_*", "Uptime", "Uptime_since_flush_status", "wsrep_*",
}

// isGauge reports whether name is in the table of gauges.
func isGauge(name string) bool {
	for _, g := range gaugeNames {
		if prefix, ok := strings.CutSuffix(g, "*"); ok && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return true
		}
		if strings.EqualFold(name, g) {
			return true
		}
	}
	return false
}

// ReadStatus reads the integer global status variables by SHOW GLOBAL STATUS,
// which works with performance_schema ON and OFF and needs no right. A service
// that hides it gives nil and no error.
func ReadStatus(ctx context.Context, c *Conn) (map[string]int64, error) {
	all, err := readStatusText(ctx, c)
	if err != nil || all == nil {
		return nil, err
	}
	status := make(map[string]int64, len(all))
	for name, value := range all {
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			status[name] = v
		}
	}
	return status, nil
}

func readStatusText(ctx context.Context, c *Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL STATUS")
	if IsDenied(err) {
		return nil, nil
	}
	if err != nil {
		return nil, Classify(err)
	}
	return pairs(rows), nil
}

// StatusDelta returns how much each counter has grown between two readings.
// Gauges are left out by a table, counters that did not move to keep results
// short. It is nil when a reading is missing or the server was restarted in
// between, and a counter that was reset (FLUSH STATUS) is left out.
func StatusDelta(before, after map[string]int64) map[string]int64 {
	if before == nil || after == nil || after["Uptime"] < before["Uptime"] {
		return nil
	}
	delta := make(map[string]int64)
	for name, now := range after {
		was, ok := before[name]
		if ok && now > was && !isGauge(name) {
			delta[name] = now - was
		}
	}
	return delta
}
