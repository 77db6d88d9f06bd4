package integration

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// sysbench runs the real program against a schema, as an account of its own with
// a plain password, and returns what it prints.
func sysbench(t *testing.T, srv *server, db string, args ...string) string {
	t.Helper()
	program := requireProgram(t, "sysbench")
	user, password := srv.User(t, "ALL ON "+db+".*")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := append([]string{
		"--db-driver=mysql", "--mysql-host=" + srv.Host, "--mysql-port=" + strconv.Itoa(srv.Port),
		"--mysql-user=" + user, "--mysql-password=" + password, "--mysql-db=" + db,
	}, args...)
	out, err := exec.CommandContext(ctx, program, all...).CombinedOutput()
	if err != nil {
		t.Fatalf("sysbench %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSysbenchTablesAreAccepted lets sysbench make the tables: a cell runs on them
// as they are, and nothing that would drop them is allowed.
func TestSysbenchTablesAreAccepted(t *testing.T) {
	options := map[string]struct{ sysbench, env []string }{
		"as by default":          {},
		"no auto_increment":      {[]string{"--auto_inc=off"}, []string{"BENCH_AUTO_INC=off"}},
		"key instead of primary": {[]string{"--secondary=on"}, []string{"BENCH_SECONDARY=on"}},
		"no index on k":          {[]string{"--create_secondary=off"}, []string{"BENCH_CREATE_SECONDARY=off"}},
	}
	eachServer(t, func(t *testing.T, srv *server) {
		for name, o := range options {
			t.Run(name, func(t *testing.T) {
				db := srv.Database(t)
				sysbench(t, srv, db, append([]string{"oltp_read_write", "--tables=2", "--table-size=500", "prepare"}, o.sysbench...)...)
				before := srv.column(t, db, "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()")
				definitions := srv.dump(t, db)
				env := base(srv, db, o.env...)
				r := runTask(t, append(env, "BENCH_WORKLOAD=oltp_read_only")).Want(t, bench.ExitOK).Result(t)
				if d := r.Dataset; d.Origin != "foreign" || d.Rows != 1000 || d.Tables != 2 {
					t.Errorf("dataset %+v, want 1000 rows in 2 foreign tables", *d)
				}
				if after := srv.dump(t, db); after != definitions {
					t.Errorf("a read-only cell changed the tables; before:\n%s\nafter:\n%s", definitions, after)
				}
				if name != "as by default" {
					return
				}
				w := runTask(t, append(env, "BENCH_WORKLOAD=oltp_read_write")).Want(t, bench.ExitOK).Result(t)
				if w.Status != bench.StatusOK || w.Counts.Queries != 2000 {
					t.Errorf("status %s (%s), %d queries; want ok, 2000", w.Status, because(w), w.Counts.Queries)
				}
				runTask(t, append(env, "BENCH_PREPARE=always")).Want(t, bench.ExitUnsafe)
				runTask(t, env, "cleanup").Want(t, bench.ExitUnsafe)
				runTask(t, append(env, "BENCH_TABLE_SIZE=501")).Want(t, bench.ExitUnsafe)
				if after := srv.column(t, db, "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"); after[0] != before[0] {
					t.Errorf("tables %s, before %s", after, before)
				}
			})
		}
	})
}

var sysbenchCounts = regexp.MustCompile(`(?s)read:\s+(\d+).*write:\s+(\d+).*other:\s+(\d+).*total:\s+(\d+).*transactions:\s+(\d+)`)

// TestSysbenchRunsOnOurTables lets cellbench make the tables and sysbench use and
// drop them; both count the same for the same number of events.
func TestSysbenchRunsOnOurTables(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		env := base(srv, db, "BENCH_EVENTS=50")
		ours := runTask(t, env).Want(t, bench.ExitOK).Result(t)
		if ours.Dataset.Origin != "loaded" {
			t.Errorf("origin %s, want loaded", ours.Dataset.Origin)
		}
		// One thread: two deadlock now and then, and sysbench counts what it does anew.
		out := sysbench(t, srv, db, "oltp_read_write", "--tables=2", "--table-size=500", "--events=50", "--time=0", "--threads=1", "run")
		m := sysbenchCounts.FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("sysbench prints no counts:\n%s", out)
		}
		var theirs [5]int64
		for i := range theirs {
			theirs[i], _ = strconv.ParseInt(m[i+1], 10, 64)
		}
		c := ours.Counts
		if mine := [5]int64{c.Reads, c.Writes, c.Others, c.Queries, c.Events}; mine != theirs {
			t.Errorf("reads, writes, others, queries, events: cellbench %v, sysbench %v", mine, theirs)
		}
		// Ours again after sysbench's writes, and sysbench's own cleanup.
		again := runTask(t, env).Want(t, bench.ExitOK).Result(t)
		if again.Dataset.Origin != "reused" {
			t.Errorf("origin %s after sysbench ran, want reused", again.Dataset.Origin)
		}
		sysbench(t, srv, db, "oltp_read_write", "--tables=2", "cleanup")
		if tables := srv.column(t, db, "SHOW TABLES LIKE 'sbtest%'"); len(tables) != 0 {
			t.Errorf("tables %v are left", tables)
		}
		// The marker is left and names tables that are gone: they are made anew.
		if r := runTask(t, env).Want(t, bench.ExitOK).Result(t); r.Dataset.Origin != "loaded" {
			t.Errorf("origin %s after sysbench's cleanup, want loaded", r.Dataset.Origin)
		}
	})
}
