package sysbench

// kind is how sysbench reads the value of an option.
type kind int

const (
	text    kind = iota // as it stands
	integer             // base 10, 32 bits, anything else is an error
	number              // floating point without validation: "10M" is 10, "abc" is 0
	boolean             // bare, on/true/1, off/false/0
)

// option is one sysbench option. variable is its counterpart; an option without
// one has a note that says why, or a handler of its own in translate.go.
type option struct {
	name     string // with dashes
	kind     kind
	variable string // without BENCH_
	note     string
	script   bool   // declared by the OLTP scripts, so lost in a configuration file
	master   bool   // not in 1.0.20
	alias    string // deprecated name of this option
}

// options lists sysbench's options in the order in which their counterparts are
// written out.
func options() []option {
	return []option{
		{name: "mysql-host"},
		{name: "mysql-port"},
		{name: "mysql-socket"},
		{name: "mysql-user", variable: "MYSQL_USER"},
		{name: "mysql-password", variable: "MYSQL_PASSWORD", note: "a password in a variable is seen by whoever may look at the process; BENCH_MYSQL_PASSWORD_FILE names a file instead"},
		{name: "mysql-db", variable: "MYSQL_DB"},
		{name: "mysql-ssl", kind: boolean}, // master takes words, see tls
		{name: "mysql-ssl-ca", variable: "MYSQL_TLS_CA", master: true},
		{name: "mysql-ssl-cert", variable: "MYSQL_TLS_CERT", master: true},
		{name: "mysql-ssl-key", variable: "MYSQL_TLS_KEY", master: true},
		{name: "mysql-ssl-cipher", note: "no counterpart: the ciphers of TLS 1.2 and 1.3 are negotiated"},
		{name: "mysql-compression", kind: boolean, note: "no counterpart: cellbench doesn't compress the protocol"},
		{name: "mysql-compression-algorithms", note: "no counterpart: cellbench doesn't compress the protocol", master: true},
		{name: "mysql-debug", kind: boolean, note: "no counterpart"},
		{name: "mysql-dry-run", kind: boolean, note: "no counterpart: cellbench always sends what it counts"},
		{name: "db-driver"},
		{name: "db-debug", kind: boolean, note: "no counterpart"},
		{name: "pgsql-host", note: "no counterpart: cellbench measures MySQL"},
		{name: "pgsql-port", note: "no counterpart: cellbench measures MySQL"},
		{name: "pgsql-user", note: "no counterpart: cellbench measures MySQL"},
		{name: "pgsql-password", note: "no counterpart: cellbench measures MySQL"},
		{name: "pgsql-db", note: "no counterpart: cellbench measures MySQL"},
		{name: "pgsql-variant", note: "no counterpart: cellbench measures MySQL", script: true},

		{name: "threads", kind: integer},
		{name: "num-threads", kind: integer, alias: "threads"},

		{name: "tables", kind: number, variable: "TABLES", script: true},
		{name: "table-size", kind: number, variable: "TABLE_SIZE", script: true},
		{name: "auto-inc", kind: boolean, variable: "AUTO_INC", script: true},
		{name: "secondary", kind: boolean, variable: "SECONDARY", script: true},
		{name: "create-secondary", kind: boolean, variable: "CREATE_SECONDARY", script: true},
		{name: "mysql-storage-engine", variable: "MYSQL_STORAGE_ENGINE", script: true},
		{name: "create-table-options", variable: "CREATE_TABLE_OPTIONS", script: true, master: true},

		{name: "time", kind: integer},
		{name: "max-time", kind: integer, alias: "time"},
		{name: "warmup-time", kind: integer, variable: "WARMUP_TIME", master: true},
		{name: "events", kind: integer},
		{name: "max-requests", kind: integer, alias: "events"},
		{name: "rate", kind: integer},
		{name: "tx-rate", kind: integer, alias: "rate"},
		{name: "forced-shutdown"},
		{name: "rand-type"},
		{name: "rand-seed", kind: integer, variable: "RAND_SEED"},
		{name: "rand-spec-iter", kind: integer, variable: "RAND_SPEC_ITER"},
		{name: "rand-spec-pct", kind: integer, variable: "RAND_SPEC_PCT"},
		{name: "rand-spec-res", kind: integer, variable: "RAND_SPEC_RES"},
		{name: "rand-pareto-h", kind: number, variable: "RAND_PARETO_H"},
		{name: "rand-zipfian-exp", kind: number, variable: "RAND_ZIPFIAN_EXP", master: true},
		{name: "range-size", kind: number, variable: "RANGE_SIZE", script: true},
		{name: "point-selects", kind: number, variable: "POINT_SELECTS", script: true},
		{name: "simple-ranges", kind: number, variable: "SIMPLE_RANGES", script: true},
		{name: "sum-ranges", kind: number, variable: "SUM_RANGES", script: true},
		{name: "order-ranges", kind: number, variable: "ORDER_RANGES", script: true},
		{name: "distinct-ranges", kind: number, variable: "DISTINCT_RANGES", script: true},
		{name: "range-selects", kind: boolean, variable: "RANGE_SELECTS", script: true},
		{name: "index-updates", kind: number, variable: "INDEX_UPDATES", script: true},
		{name: "non-index-updates", kind: number, variable: "NON_INDEX_UPDATES", script: true},
		{name: "delete-inserts", kind: number, variable: "DELETE_INSERTS", script: true},
		{name: "skip-trx", kind: boolean, variable: "SKIP_TRX", script: true},
		{name: "random-points", kind: number, variable: "RANDOM_POINTS", script: true},
		{name: "number-of-ranges", kind: number, variable: "NUMBER_OF_RANGES", script: true},
		{name: "delta", kind: number, variable: "DELTA", script: true},
		{name: "db-ps-mode", variable: "DB_PS_MODE"},
		{name: "mysql-ignore-errors"},
		{name: "reconnect", kind: number, variable: "RECONNECT", script: true, master: true},
		{name: "report-interval", kind: integer, variable: "REPORT_INTERVAL"},
		{name: "percentile", kind: integer},

		{name: "histogram", kind: boolean, note: "no counterpart needed: the whole histogram is always in the result"},
		{name: "report-checkpoints", note: "no counterpart: the result has every interval, so any part of the run can be looked at"},
		{name: "thread-init-timeout", kind: integer, note: "no counterpart: BENCH_CONNECT_TIMEOUT bounds the wait for the server", master: true},
		{name: "thread-stack-size", note: "no counterpart: connections need no stack of a set size"},
		{name: "luajit-cmd", note: "no counterpart: there is no Lua", master: true},
		{name: "validate", kind: boolean, note: "no counterpart: it has no effect on sysbench's OLTP scripts either"},
		{name: "debug", kind: boolean, note: "no counterpart"},
		{name: "verbosity", kind: integer, note: "no counterpart"},
		{name: "config-file"},
		{name: "test"},
	}
}

// workloads are the scripts of sysbench that have a counterpart of the same name.
func workloads() []string {
	return []string{
		"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_update_index", "oltp_update_non_index",
		"oltp_insert", "oltp_delete", "bulk_insert", "select_random_points", "select_random_ranges",
	}
}
