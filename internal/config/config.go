// Package config turns the environment into a Config: every variable of the
// contract with its default, checked, with all problems reported at once.
//
// The struct below is the only list of variables: the README's table, the names
// a study may set and the suggestions for misspelt ones are made from it.
package config

// Prefix stands before every variable.
const Prefix = "BENCH"

// Config is the whole configuration of one cell. Each field's variable is its
// name in capitals with BENCH_ before it (MysqlHost: BENCH_MYSQL_HOST); no field
// has an explicit envconfig name, since envconfig then also reads the variable
// without the prefix. The tags:
//
//	default  the value when the variable is unset or empty
//	desc     one line for the README
//	group    the heading it stands under
//	choice   the words allowed, separated by |
//	min, max the numbers allowed
//	secret   never shown: not in messages, results, manifests or plans
//	local    where and how this process works; not in results' config
type Config struct {
	Target            string      `group:"target" desc:"name of the target in reports; the address if unset" local:"true"`
	DSN               string      `group:"target" desc:"target in go-sql-driver form: user:password@tcp(host:3306)/db?tls=true" secret:"true" local:"true"`
	MysqlHost         string      `group:"target" desc:"host name or address; localhost is TCP to this machine. Without a host, socket or DSN the target is local: a throwaway server" local:"true"`
	MysqlPort         int         `group:"target" default:"3306" min:"1" max:"65535" desc:"TCP port" local:"true"`
	MysqlSocket       string      `group:"target" desc:"path of a Unix socket, instead of host and port" local:"true"`
	MysqlUser         string      `group:"target" default:"sbtest" desc:"account" local:"true"`
	MysqlPassword     string      `group:"target" desc:"password" secret:"true" local:"true"`
	MysqlPasswordFile string      `group:"target" desc:"file that holds the password (one trailing newline is dropped), instead of the password" local:"true"`
	MysqlDb           string      `group:"target" default:"sbtest" desc:"database (schema) that holds or gets the tables; must exist"`
	MysqlTLS          string      `group:"target" default:"disabled" choice:"disabled|preferred|required|verify-ca|verify-identity" desc:"transport security"`
	MysqlTLSCa        string      `group:"target" desc:"file with the certificates (PEM) the server's is checked against; the system's if unset" local:"true"`
	MysqlTLSCert      string      `group:"target" desc:"file with the client certificate (PEM)" local:"true"`
	MysqlTLSKey       string      `group:"target" desc:"file with the client key (PEM)" local:"true"`
	MysqlAuth         string      `group:"target" default:"password" choice:"password|rds-iam" desc:"how to sign in; rds-iam makes a token with the AWS credentials and needs TLS"`
	ConnectTimeout    Duration    `group:"target" default:"10" desc:"how long to wait for a server that does not answer yet" local:"true"`
	LockTimeout       LockTimeout `group:"target" default:"10m" desc:"how long to wait while another cell holds the target; off takes no lock (services without GET_LOCK)" local:"true"`

	Workload     string `group:"cell" default:"oltp_read_write" desc:"what is sent: one of task workloads; with BENCH_WORKLOAD_FILE the name that the file gives"`
	WorkloadFile string `group:"cell" desc:"file with a workload of your own (YAML)"`
	Scenario     string `group:"cell" default:"asis" desc:"server state to measure under: one of task scenarios, or one of BENCH_SCENARIO_FILE"`
	ScenarioFile string `group:"cell" desc:"file with scenarios of your own (YAML)"`
	Threads      int    `group:"cell" default:"1" min:"1" max:"100000" desc:"connections, each with one statement outstanding"`
	Repeat       int    `group:"cell" default:"1" min:"1" max:"10000" desc:"which repeat of the cell this is"`

	Tables             int    `group:"dataset" default:"1" min:"1" max:"100000" desc:"number of tables sbtest1, sbtest2, ..."`
	TableSize          Count  `group:"dataset" default:"10000" desc:"rows in each table"`
	AutoInc            Switch `group:"dataset" default:"on" desc:"id is AUTO_INCREMENT"`
	Secondary          Switch `group:"dataset" default:"off" desc:"KEY on id instead of PRIMARY KEY"`
	CreateSecondary    Switch `group:"dataset" default:"on" desc:"secondary index on k"`
	MysqlStorageEngine string `group:"dataset" default:"innodb" desc:"storage engine of the tables"`
	CreateTableOptions string `group:"dataset" desc:"text after CREATE TABLE (...), e.g. dbpartition by hash(id)"`
	Prepare            string `group:"dataset" default:"auto" choice:"auto|always|never" desc:"load the dataset: when it is not there as needed, anew each time, or never"`
	PrepareThreads     int    `group:"dataset" default:"0" min:"0" max:"1024" desc:"connections that load; 0 chooses by itself" local:"true"`

	Time              Duration     `group:"load" default:"60" desc:"length of the measured window; 0 for no limit (then BENCH_EVENTS must be set; setting BENCH_EVENTS alone lifts this default)"`
	WarmupTime        Duration     `group:"load" default:"5" desc:"load before the window, in no number"`
	Events            Count        `group:"load" default:"0" desc:"events to measure; 0 for no limit"`
	Rate              Float        `group:"load" default:"0" min:"0" desc:"events per second over all connections, latency from the intended start; 0 is the closed loop"`
	RandType          string       `group:"load" default:"uniform" choice:"uniform|special|gaussian|pareto|zipfian" desc:"distribution of ids"`
	RandSeed          int64        `group:"load" default:"0" min:"0" desc:"seed of all random values; 0 chooses one and writes it into the result"`
	RandSpecIter      int          `group:"load" default:"12" min:"1" max:"1000" desc:"special, gaussian: number of uniform values added up"`
	RandSpecPct       int          `group:"load" default:"1" min:"1" max:"100" desc:"special: percent of the range that is hot"`
	RandSpecRes       int          `group:"load" default:"75" min:"1" max:"100" desc:"special: percent of the values that hit it"`
	RandParetoH       Float        `group:"load" default:"0.2" desc:"pareto: h, over 0 and below 1"`
	RandZipfianExp    Float        `group:"load" default:"0.8" min:"0" desc:"zipfian: exponent"`
	RangeSize         Count        `group:"load" default:"100" desc:"rows in a range query"`
	PointSelects      int          `group:"load" default:"10" min:"0" max:"100000" desc:"point selects in an event"`
	SimpleRanges      int          `group:"load" default:"1" min:"0" max:"100000" desc:"simple ranges in an event"`
	SumRanges         int          `group:"load" default:"1" min:"0" max:"100000" desc:"SUM() ranges in an event"`
	OrderRanges       int          `group:"load" default:"1" min:"0" max:"100000" desc:"ORDER BY ranges in an event"`
	DistinctRanges    int          `group:"load" default:"1" min:"0" max:"100000" desc:"DISTINCT ranges in an event"`
	RangeSelects      Switch       `group:"load" default:"on" desc:"off leaves out all four kinds of range"`
	IndexUpdates      int          `group:"load" default:"1" min:"0" max:"100000" desc:"updates of the indexed column in an event"`
	NonIndexUpdates   int          `group:"load" default:"1" min:"0" max:"100000" desc:"updates of an unindexed column in an event"`
	DeleteInserts     int          `group:"load" default:"1" min:"0" max:"100000" desc:"pairs of delete and insert in an event"`
	SkipTrx           Switch       `group:"load" default:"off" desc:"no BEGIN and COMMIT; each statement commits itself"`
	RandomPoints      int          `group:"load" default:"10" min:"1" max:"60000" desc:"select_random_points: values in the IN list"`
	NumberOfRanges    int          `group:"load" default:"10" min:"1" max:"30000" desc:"select_random_ranges: ranges in a query"`
	Delta             Count        `group:"load" default:"5" desc:"select_random_ranges: width of a range"`
	HotspotRow        Count        `group:"load" default:"100" desc:"hotspot_update: id of the row that every event updates, 100 at most"`
	HotspotHint       string       `group:"load" desc:"hotspot_update: text put after UPDATE, e.g. /*+ commit_on_success */"`
	DbPsMode          string       `group:"load" default:"auto" choice:"auto|disable" desc:"prepared statements (auto) or text (disable)"`
	MysqlIgnoreErrors IgnoreErrors `group:"load" default:"1213,1020,1205" desc:"server errors that roll back and start the event anew"`
	Reconnect         int          `group:"load" default:"0" min:"0" desc:"open the connection anew after that many events; 0 never"`
	ReportInterval    Duration     `group:"load" default:"1" desc:"length of a report interval; 0 for one over the whole window"`
	Percentile        Percentiles  `group:"load" default:"50,95,99,99.9" desc:"percentiles to write out (the whole histogram is always there)"`
	Engine            string       `group:"load" default:"auto" choice:"auto|wire|driver" desc:"what sends the load: event loop, goroutine per connection, or the better one that can"`
	Loops             int          `group:"load" default:"0" min:"0" max:"256" desc:"event loops of engine wire; 0 is one for every eight connections, at most one for each CPU"`
	DrainTimeout      Duration     `group:"load" default:"10" desc:"how long events in flight may take after the window; then they are broken off"`
	InitSQL           string       `group:"load" desc:"statements (separated by ;) for the server before the cell; SET GLOBAL is undone after it"`
	SessionSQL        string       `group:"load" desc:"statements (separated by ;) for each connection of the load"`

	Results     string `group:"results" default:"./results" desc:"where results go: a directory or s3://bucket/prefix" local:"true"`
	RunID       string `group:"results" desc:"name of the run that the result belongs to; made from the time if unset" local:"true"`
	Labels      Labels `group:"results" desc:"names and values to group by in reports: k=v,k2=v2" local:"true"`
	S3PathStyle string `group:"results" default:"auto" choice:"auto|true|false" desc:"bucket in the path instead of the host name; auto: for custom endpoints that look like one host" local:"true"`

	Study     string    `group:"fan-out" desc:"study to take the cell from: file, s3:// object or built-in name" local:"true"`
	CellIndex CellIndex `group:"fan-out" desc:"position of the cell in the study, from 0; found by itself from AWS_BATCH_JOB_ARRAY_INDEX, JOB_COMPLETION_INDEX, CLOUD_RUN_TASK_INDEX, BATCH_TASK_INDEX" local:"true"`

	Only    string `group:"fan-out" desc:"narrow the study's axes: threads=1,8;scenario=pfsoff" local:"true"`
	Seed    string `group:"fan-out" desc:"seed of the study's order, instead of the file's" local:"true"`
	Repeats string `group:"fan-out" desc:"repeats of each cell, instead of the file's" local:"true"`
	CellID  string `group:"fan-out" desc:"name of the cell in keys; a study sets it" local:"true"`

	// Password is the password in use, whichever of the three ways it came in by.
	Password string `config:"-"`
	// Local tells that no target was named.
	Local bool `config:"-"`
}
