package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cellbench/internal/bench"
	"cellbench/internal/workload/random"
)

// Options are the settings of the built-in workloads, by the meaning of
// sysbench's options of the same names. Defaults returns sysbench's defaults; a
// zero count means none of that statement.
type Options struct {
	Tables    int   // tables sbtest1..sbtestN
	TableSize int64 // rows in each; ids are drawn from 1..TableSize

	PointSelects   int // per event of oltp_read_only and oltp_read_write
	SimpleRanges   int
	SumRanges      int
	OrderRanges    int
	DistinctRanges int
	RangeSelects   bool  // false: none of the four range kinds
	RangeSize      int64 // rows of a range

	IndexUpdates    int // per event of oltp_update_index, _write_only, _read_write
	NonIndexUpdates int
	DeleteInserts   int

	SkipTrx         bool   // no BEGIN and COMMIT
	AutoInc         bool   // ids of oltp_insert come from the server
	Secondary       bool   // KEY xid instead of a primary key
	CreateSecondary bool   // index k_N on column k
	StorageEngine   string // engine of CREATE TABLE, default innodb
	TableOptions    string // text put at the end of CREATE TABLE

	RandomPoints   int // values of select_random_points
	NumberOfRanges int // ranges of select_random_ranges
	Delta          int // width of those ranges, less one

	HotspotHint string // text between UPDATE and the table in hotspot_update
	HotspotRow  int64  // id that hotspot_update changes, 1..100

	Rand random.Options // distribution of ids and k, and the seed

	Threads int // connections; bulk_insert has a table for each
	// MaxPacket is the server's max_allowed_packet in bytes; bulk_insert's
	// statements stay below it and below 512 KiB. 0: not known.
	MaxPacket int
}

// HotspotRows is the number of rows in the table of hotspot_update.
const HotspotRows = 100

// Defaults returns sysbench's defaults with one table of 10,000 rows and the
// distribution of sysbench 1.1, uniform.
func Defaults() Options {
	return Options{
		Tables: 1, TableSize: 10_000,
		PointSelects: 10, SimpleRanges: 1, SumRanges: 1, OrderRanges: 1, DistinctRanges: 1,
		RangeSelects: true, RangeSize: 100,
		IndexUpdates: 1, NonIndexUpdates: 1, DeleteInserts: 1,
		AutoInc: true, CreateSecondary: true, StorageEngine: "innodb",
		RandomPoints: 10, NumberOfRanges: 10, Delta: 5,
		HotspotRow: HotspotRows, Threads: 1, Rand: random.Defaults(),
	}
}

// Validate returns an error of exit code 64 that names every option outside what
// is allowed, by the names of the environment.
func (o Options) Validate() error {
	var wrong []string
	for _, c := range o.bounds() {
		if c.value < c.low || c.value > c.high {
			wrong = append(wrong, fmt.Sprintf("BENCH_%s=%d: give %d to %d", c.name, c.value, c.low, c.high))
		}
	}
	if err := o.Rand.Validate(); err != nil {
		wrong = append(wrong, err.Error())
	}
	if s := NewStatement(0, o.HotspotHint); s.Params() > 0 || strings.Contains(o.HotspotHint, ";") {
		wrong = append(wrong, fmt.Sprintf("BENCH_HOTSPOT_HINT=%q: give a hint comment such as /*+ ... */, without ; and ? outside comments", o.HotspotHint))
	}
	if len(wrong) > 0 {
		return bench.Errorf(bench.ExitConfig, "%s", strings.Join(wrong, "; "))
	}
	return nil
}

type bound struct {
	name             string
	value, low, high int64
}

// bounds lists the whole-number options with what is allowed. The upper ends keep
// one event within a packet and a dataset within 64-bit ids.
func (o Options) bounds() []bound {
	const most = 1_000_000
	return []bound{
		{"TABLES", int64(o.Tables), 1, most},
		{"TABLE_SIZE", o.TableSize, 1, math.MaxInt64 / 4},
		{"POINT_SELECTS", int64(o.PointSelects), 0, most},
		{"SIMPLE_RANGES", int64(o.SimpleRanges), 0, most},
		{"SUM_RANGES", int64(o.SumRanges), 0, most},
		{"ORDER_RANGES", int64(o.OrderRanges), 0, most},
		{"DISTINCT_RANGES", int64(o.DistinctRanges), 0, most},
		{"RANGE_SIZE", o.RangeSize, 1, math.MaxInt64 / 4},
		{"INDEX_UPDATES", int64(o.IndexUpdates), 0, most},
		{"NON_INDEX_UPDATES", int64(o.NonIndexUpdates), 0, most},
		{"DELETE_INSERTS", int64(o.DeleteInserts), 0, most},
		{"RANDOM_POINTS", int64(o.RandomPoints), 1, 65_535},
		{"NUMBER_OF_RANGES", int64(o.NumberOfRanges), 1, 32_767},
		{"DELTA", int64(o.Delta), 0, math.MaxInt32},
		{"HOTSPOT_ROW", o.HotspotRow, 1, HotspotRows},
		{"THREADS", int64(max(o.Threads, 1)), 1, most},
	}
}

// Names lists the built-in workloads.
func Names() []string {
	return []string{
		"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select",
		"oltp_update_index", "oltp_update_non_index", "oltp_insert", "oltp_delete",
		"bulk_insert", "select_random_points", "select_random_ranges", "hotspot_update",
	}
}

// New returns a built-in workload. An unknown name or an option outside what is
// allowed is an error of exit code 64.
func New(name string, o Options) (Workload, error) {
	if !slices.Contains(Names(), name) {
		return nil, unknownWorkload(name)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	switch name {
	case "bulk_insert":
		return newBulkInsert(o), nil
	case "select_random_points", "select_random_ranges":
		return newRandomSelect(name, o), nil
	case "hotspot_update":
		return newHotspot(o), nil
	}
	return newOLTP(name, o)
}

func unknownWorkload(name string) error {
	hint := ""
	if n := bench.Nearest(name, Names()); n != "" {
		hint = fmt.Sprintf(", did you mean %s?", n)
	}
	return bench.Errorf(bench.ExitConfig, "unknown workload %q%s (known: %s; your own: set BENCH_WORKLOAD_FILE)",
		name, hint, strings.Join(Names(), ", "))
}
