package workloads_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cellbench/infra/workloads"
	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
	"cellbench/internal/workload"
	"cellbench/internal/workload/dataset"
)

type conn struct{ *mysql.Conn }

func (c conn) Query(ctx context.Context, query string, args ...any) ([][]sql.NullString, error) {
	rows, err := c.Conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows.Rows, nil
}

func start(t *testing.T) dataset.Opener {
	t.Helper()
	server, err := localserver.Start(t.Context(), localserver.Options{
		Database: "sbtest", BufferPoolBytes: 64 << 20, Args: []string{"--innodb-flush-log-at-trx-commit=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	door, err := mysql.NewDoor(mysql.Settings{Socket: server.Socket(), User: server.User(), Password: server.Password(), DB: "sbtest"})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) (dataset.Conn, error) {
		c, err := door.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

func read(t *testing.T, name string, o workload.Options) (workload.Workload, dataset.Spec) {
	t.Helper()
	text, err := fs.ReadFile(workloads.Files, name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, spec, err := workload.Parse(name, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return w, spec
}

// drive sends the events of all connections, as text, and counts statements by
// kind and by how many rows they changed.
func drive(t *testing.T, open dataset.Opener, w workload.Workload, conns, events int) map[string]int64 {
	t.Helper()
	total := map[string]int64{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			counts, err := driveOne(t.Context(), open, w, w.Generator(i, conns), events)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for k, n := range counts {
				total[k] += n
			}
		})
	}
	wg.Wait()
	return total
}

func driveOne(ctx context.Context, open dataset.Opener, w workload.Workload, g workload.Generator, events int) (map[string]int64, error) {
	c, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	counts, ev := map[string]int64{}, &workload.Event{}
	for range events {
		g.Next(ev)
		for _, call := range ev.Calls {
			s := &w.Statements()[call.Statement]
			kind := w.Kinds()[s.Kind]
			text := string(s.AppendText(nil, ev, call))
			counts[kind]++
			if s.Rows {
				rows, err := c.Query(ctx, text)
				if err != nil {
					return counts, err
				}
				counts[kind+" rows"] += int64(len(rows))
				continue
			}
			n, err := c.Exec(ctx, text)
			if err != nil {
				return counts, err
			}
			counts[kind+" changed"] += n
		}
	}
	return counts, nil
}

func value(t *testing.T, open dataset.Opener, query string) string {
	t.Helper()
	c, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	rows, err := c.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0][0].String
}

func TestExamplesOnAServer(t *testing.T) {
	open := start(t)
	prepare := func(t *testing.T, spec dataset.Spec) string {
		t.Helper()
		d, err := dataset.Prepare(t.Context(), open, spec, dataset.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		return d.Origin
	}
	o := workload.Defaults()
	o.TableSize, o.Rand.Seed = 250_000, 7

	t.Run("hot_row", func(t *testing.T) {
		w, spec := read(t, "hot_row", o)
		prepare(t, spec)
		got := drive(t, open, w, 3, 40)
		if got["update_hot changed"] != 120 || got["begin"] != 120 || got["commit"] != 120 {
			t.Errorf("counts %v", got)
		}
		if n := value(t, open, "SELECT CONCAT(SUM(k), ' ', MAX(k), ' ', COUNT(*)) FROM hot_row"); n != "120 120 100" {
			t.Errorf("sum, highest k and rows are %s", n)
		}
		if origin := prepare(t, spec); origin != "reused" {
			t.Errorf("prepared again: %s", origin)
		}
	})

	t.Run("bank", func(t *testing.T) {
		w, spec := read(t, "bank", o)
		prepare(t, spec)
		if n := value(t, open, "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM bank_branches), (SELECT COUNT(*) FROM bank_tellers), (SELECT COUNT(*) FROM bank_accounts))"); n != "3 30 250000" {
			t.Errorf("branches, tellers, accounts: %s", n)
		}
		got := drive(t, open, w, 4, 50)
		for _, kind := range []string{"account_update changed", "account_select rows", "teller_update changed", "branch_update changed", "history_insert changed"} {
			// An amount of 0 changes nothing.
			if got[kind] < 198 || got[kind] > 200 {
				t.Errorf("%s: %d, want 200", kind, got[kind])
			}
		}
		sums := "SELECT COUNT(DISTINCT s) FROM (SELECT SUM(balance) AS s FROM bank_accounts UNION ALL SELECT SUM(balance) FROM bank_tellers" +
			" UNION ALL SELECT SUM(balance) FROM bank_branches UNION ALL SELECT SUM(amount) FROM bank_history) AS x"
		if n := value(t, open, sums); n != "1" {
			t.Errorf("the four sums have %s values", n)
		}
		if value(t, open, "SELECT COUNT(*) FROM bank_history") != "200" {
			t.Error("the history is not complete")
		}
		if origin := prepare(t, spec); origin != "loaded" {
			t.Errorf("the history has grown, but prepared again: %s", origin)
		}
		if value(t, open, "SELECT COUNT(*) FROM bank_history") != "0" {
			t.Error("the history was not emptied")
		}
	})

	t.Run("queue", func(t *testing.T) {
		o := o
		o.TableSize = 1000
		w, spec := read(t, "queue", o)
		prepare(t, spec)
		got := drive(t, open, w, 4, 300)
		if got["produce changed"] < 500 || got["done changed"] < 400 || got["length rows"] == 0 {
			t.Errorf("counts %v", got)
		}
		left := 1000 + got["produce changed"] - got["done changed"]
		if n := value(t, open, "SELECT COUNT(*) = "+strconv.FormatInt(left, 10)+" FROM queue_jobs"); n != "1" {
			t.Errorf("%d jobs should be left; counts %v", left, got)
		}
	})
}

// The examples do not allocate in steady state either.
func TestExamplesDoNotAllocate(t *testing.T) {
	for _, name := range []string{"hot_row", "bank", "queue"} {
		w, _ := read(t, name, workload.Defaults())
		g, ev := w.Generator(0, 4), &workload.Event{}
		for range 1000 {
			g.Next(ev)
		}
		if n := testing.AllocsPerRun(500, func() { g.Next(ev) }); n != 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
	}
}

func TestEveryFileIsTested(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".yaml"); ok && name != "hot_row" && name != "bank" && name != "queue" {
			t.Errorf("%s has no test", f.Name())
		}
	}
}
