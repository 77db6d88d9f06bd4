package sysbench_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"cellbench/internal/config"
	"cellbench/internal/study"
	"cellbench/internal/sysbench"
)

// The published commands of two studies, one for each workload, must come to
// the settings of the built-in studies.
func TestPublishedCommandsAreTheBuiltinStudies(t *testing.T) {
	t.Parallel()
	const network = "sysbench --db-driver=mysql --mysql-host=h --mysql-port=3306 --mysql-user=u --mysql-password=p --mysql-db=sbtest " +
		"--table_size=10000000 --tables=10 --events=0 --time=300 --threads=%d --percentile=95 --report-interval=1 %s run"
	const polardbx = "sysbench --mysql-host='h' --mysql-port=3306 --mysql-user='u' --mysql-password='p' --mysql-db='sbtest' " +
		"--tables=16 --table-size=10000000 --db-driver=mysql --create-table-options='dbpartition by hash(id)' --auto_inc=off " +
		"--mysql-ignore-errors=all --db-ps-mode=disable --rand-type=uniform --histogram=on --percentile=95 --report-interval=1 --time=60 --threads=%d %s run"
	cases := map[string]struct {
		format  string
		options map[string]string
	}{
		"network-architecture": {network, map[string]string{"oltp_read_only": "--skip-trx=1"}},
		"polardbx-sysbench":    {polardbx, map[string]string{"oltp_read_only": "--range-size=5", "oltp_read_write": "--range-size=5"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, _ := study.Builtin(name)
			s, err := study.Parse(name, data, study.KnownNames(config.SettingNames()))
			if err != nil {
				t.Fatal(err)
			}
			address := []string{"BENCH_MYSQL_HOST=h", "BENCH_MYSQL_PORT=3306", "BENCH_MYSQL_USER=u", "BENCH_MYSQL_PASSWORD=p", "BENCH_MYSQL_DB=sbtest"}
			cells, err := s.Cells(study.Options{Environ: address})
			if err != nil {
				t.Fatal(err)
			}
			for _, cell := range cells {
				environ, err := cell.Environ(address)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]string{}
				for _, entry := range environ {
					k, v, _ := strings.Cut(entry, "=")
					want[k] = v
				}
				line := fmt.Sprintf(c.format, cell.Threads, cell.Workload+" "+c.options[cell.Workload])
				out, err := sysbench.FromCommandLine([]string{line}, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]string{}
				for _, p := range out.Env {
					got[p.Name] = p.Value
				}
				// The study's own: the cell's place in it, the warm-up (one long first run
				// in the publication), server statements sent by hand, threads of prepare.
				for _, own := range []string{"CELL_ID", "CELL_INDEX", "REPEAT", "WARMUP_TIME", "INIT_SQL", "PREPARE_THREADS", "EVENTS"} {
					delete(want, "BENCH_"+own)
					delete(got, "BENCH_"+own)
				}
				if !maps.Equal(got, want) {
					t.Errorf("cell %s:\ncommand %v\nstudy   %v", cell.ID, got, want)
				}
			}
		})
	}
}
