package mysql

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// The flavours of server that cellbench tells apart.
const (
	FlavourMySQL   = "MySQL"
	FlavourMariaDB = "MariaDB"
)

// variableTable lists the global variables that go into a result, with the
// reason why two results that differ in one of them may not be comparable. What
// is not here is not published: a server's variables also hold paths, host names
// and secrets.
var variableTable = []struct{ name, why string }{
	{"autocommit", "a commit for every statement or for every event"},
	{"binlog_format", "what a write logs"},
	{"binlog_group_commit_sync_delay", "latency of commits"},
	{"binlog_order_commits", "commits in a queue"},
	{"binlog_row_image", "size of what a write logs"},
	{"binlog_transaction_compression", "CPU for log volume"},
	{"character_set_server", "bytes for a character in new tables"},
	{"collation_server", "cost of comparing strings"},
	{"default_storage_engine", "the engine of new tables"},
	{"enforce_gtid_consistency", "part of the binary log's cost"},
	{"general_log", "a line for every statement"},
	{"gtid_mode", "part of the binary log's cost"},
	{"innodb_adaptive_hash_index", "point reads with or without the hash"},
	{"innodb_buffer_pool_chunk_size", "granularity of the buffer pool"},
	{"innodb_buffer_pool_instances", "contention in the buffer pool"},
	{"innodb_buffer_pool_size", "whether the data fits into memory"},
	{"innodb_change_buffering", "deferred writes to secondary indexes"},
	{"innodb_checksum_algorithm", "CPU for every page"},
	{"innodb_deadlock_detect", "cost of waiting for row locks"},
	{"innodb_dedicated_server", "sizes chosen by the server itself"},
	{"innodb_default_row_format", "bytes for a row"},
	{"innodb_doublewrite", "each page written once or twice"},
	{"innodb_fast_shutdown", "state after a restart"},
	{"innodb_file_per_table", "layout of the files"},
	{"innodb_flush_log_at_trx_commit", "durability of a commit"},
	{"innodb_flush_method", "with or without the page cache"},
	{"innodb_flush_neighbors", "how pages are written back"},
	{"innodb_io_capacity", "pace of writing back"},
	{"innodb_io_capacity_max", "pace of writing back"},
	{"innodb_lock_wait_timeout", "when waiting becomes an error"},
	{"innodb_log_buffer_size", "room for redo in memory"},
	{"innodb_log_file_size", "pace of checkpoints"},
	{"innodb_log_files_in_group", "pace of checkpoints"},
	{"innodb_log_writer_threads", "how redo is written"},
	{"innodb_max_dirty_pages_pct", "pace of writing back"},
	{"innodb_numa_interleave", "placement of memory"},
	{"innodb_page_cleaners", "pace of writing back"},
	{"innodb_page_size", "bytes for a read or write"},
	{"innodb_purge_threads", "cost of old row versions"},
	{"innodb_read_io_threads", "parallel reads"},
	{"innodb_redo_log_capacity", "pace of checkpoints"},
	{"innodb_rollback_on_timeout", "what a lock timeout undoes"},
	{"innodb_spin_wait_delay", "CPU spent waiting"},
	{"innodb_stats_persistent", "plans"},
	{"innodb_sync_spin_loops", "CPU spent waiting"},
	{"innodb_thread_concurrency", "how many threads may be inside"},
	{"innodb_undo_log_truncate", "background work"},
	{"innodb_use_native_aio", "how files are read and written"},
	{"innodb_write_io_threads", "parallel writes"},
	{"key_buffer_size", "memory for MyISAM"},
	{"large_pages", "cost of address translation"},
	{"log_bin", "with or without the binary log"},
	{"log_output", "where the logs go"},
	{"log_slave_updates", "what a replica logs"},
	{"log_replica_updates", "what a replica logs"},
	{"long_query_time", "what the slow log takes"},
	{"lower_case_table_names", "names of tables"},
	{"max_allowed_packet", "longest statement"},
	{"max_connections", "highest concurrency"},
	{"max_prepared_stmt_count", "highest number of prepared statements"},
	{"net_buffer_length", "size of network writes"},
	{"optimizer_switch", "plans"},
	{"performance_schema", "instrumentation, the axis of the first study"},
	{"performance_schema_digests_size", "with or without statement digests"},
	{"performance_schema_max_digest_length", "cost of a digest"},
	{"performance_schema_max_sql_text_length", "cost of a statement's text"},
	{"performance_schema_max_thread_instances", "how many sessions are instrumented"},
	{"query_cache_size", "answers without execution"},
	{"query_cache_type", "answers without execution"},
	{"read_only", "whether writes are allowed"},
	{"require_secure_transport", "TLS is demanded"},
	{"rpl_semi_sync_master_enabled", "a commit waits for a replica"},
	{"rpl_semi_sync_source_enabled", "a commit waits for a replica"},
	{"session_track_gtids", "bytes in every answer"},
	{"slow_query_log", "a line for slow statements"},
	{"sort_buffer_size", "sorts in memory"},
	{"sql_mode", "what statements mean"},
	{"super_read_only", "whether writes are allowed"},
	{"sync_binlog", "durability of a commit"},
	{"table_definition_cache", "opened tables kept"},
	{"table_open_cache", "opened tables kept"},
	{"table_open_cache_instances", "contention of opened tables"},
	{"thread_cache_size", "cost of a new connection"},
	{"thread_handling", "one thread for each connection or a pool"},
	{"thread_pool_size", "threads of the pool"},
	{"tls_version", "which TLS the load may use"},
	{"tmp_table_size", "temporary tables in memory"},
	{"transaction_isolation", "what readers see and lock"},
	{"tx_isolation", "what readers see and lock, on older servers"},
	{"userstat", "statistics by user"},
	{"version_compile_machine", "architecture of the server"},
	{"version_compile_os", "system of the server"},
	{"version_malloc_library", "allocator of the server"},
}

// VariableNames returns the allow-listed global variables, sorted.
func VariableNames() []string {
	names := make([]string, 0, len(variableTable))
	for _, v := range variableTable {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return names
}

// Facts is what is known about a server before the load.
type Facts struct {
	Flavour              string // FlavourMySQL, FlavourMariaDB or the vendor's word
	Version              string // @@version, e.g. "9.7.4"
	VersionComment       string // @@version_comment
	Variables            map[string]string
	UptimeS              *int64 // since the server's start
	MaxAllowedPacket     int64  // bytes
	MaxConnections       int64
	MaxPreparedStmtCount int64
	PreparedStmtCount    int64
	ThreadsConnected     int64
	PerformanceSchema    *bool // nil when the server has no such variable
	ReadOnly             bool  // read_only or super_read_only
	MaxUserConnections   int64 // 0: no limit
}

// ReadFacts reads version, allow-listed variables and a few counts. What the
// account may not see or the server does not have stays zero or nil.
func ReadFacts(ctx context.Context, c *Conn) (*Facts, error) {
	rows, err := c.Query(ctx, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, Classify(err)
	}
	all := pairs(rows)
	f := &Facts{Version: all["version"], VersionComment: all["version_comment"], Variables: map[string]string{}}
	f.Flavour = flavour(f.Version, f.VersionComment)
	for _, name := range VariableNames() {
		if v, ok := all[name]; ok {
			f.Variables[name] = v
		}
	}
	f.MaxAllowedPacket, f.MaxConnections = number(all["max_allowed_packet"]), number(all["max_connections"])
	f.MaxPreparedStmtCount, f.MaxUserConnections = number(all["max_prepared_stmt_count"]), number(all["max_user_connections"])
	f.ReadOnly = truth(all["read_only"]) || truth(all["super_read_only"])
	if v, ok := all["performance_schema"]; ok {
		on := truth(v)
		f.PerformanceSchema = &on
	}
	status, err := readStatusText(ctx, c)
	if err != nil {
		return nil, err
	}
	f.PreparedStmtCount, f.ThreadsConnected = number(status["Prepared_stmt_count"]), number(status["Threads_connected"])
	if v, err := strconv.ParseInt(status["Uptime"], 10, 64); err == nil {
		f.UptimeS = &v
	}
	return f, nil
}

// flavour tells MySQL from MariaDB and takes others by their own word.
func flavour(version, comment string) string {
	low := strings.ToLower(version + " " + comment)
	for _, known := range []struct{ mark, name string }{
		{"mariadb", FlavourMariaDB},
		{"tidb", "TiDB"},
		{"percona", "Percona Server"},
		{"oceanbase", "OceanBase"},
		{"polardb", "PolarDB"},
		{"vitess", "Vitess"},
	} {
		if strings.Contains(low, known.mark) {
			return known.name
		}
	}
	return FlavourMySQL
}

func pairs(rows *Rows) map[string]string {
	m := make(map[string]string, len(rows.Rows))
	for _, row := range rows.Rows {
		if len(row) >= 2 {
			m[row[0].String] = row[1].String
		}
	}
	return m
}

// number reads a decimal value; unknown reads as 0, values beyond int64 as the
// largest one.
func number(s string) int64 {
	v, _ := strconv.ParseInt(s, 10, 64)
	return v
}

// truth reads a boolean variable as any server writes it.
func truth(s string) bool {
	switch strings.ToUpper(s) {
	case "ON", "1", "YES", "TRUE":
		return true
	}
	return false
}
