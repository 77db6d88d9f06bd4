package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/load"
	"cellbench/internal/mysql"
	"cellbench/internal/workload"
)

func (s suite) counts(t *testing.T) {
	c := s.server.admin(t)
	do(t, c, "DROP TABLE IF EXISTS t", "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
		"INSERT INTO t VALUES (1,0),(2,0),(3,0)")
	w := &custom{
		statements: statements("BEGIN", "SELECT v FROM t WHERE id <= ?", "UPDATE t SET v = v + 1 WHERE id = ?",
			"SELECT v FROM t WHERE id = ?", "COMMIT", "DO ?", "SELECT ?, ?"),
		plan: func(conn, n int, ev *workload.Event) {
			ev.Call(0)
			ev.Call(1)
			ev.Int(2)
			ev.Call(2)
			ev.Int(int64(conn + 1))
			ev.Call(2)
			ev.Int(99) // changes nothing
			ev.Call(3)
			ev.Int(99) // no row
			ev.Call(4)
			ev.Call(5)
			ev.Int(int64(n))
			ev.Call(6)
			copy(ev.String(9), `a'b\c"d?`+"\x00")
			if n%2 == 0 {
				ev.Null()
			} else {
				ev.Int(-1)
			}
		},
	}
	for _, prepared := range []bool{true, false} {
		t.Run(fmt.Sprintf("prepared=%v", prepared), func(t *testing.T) {
			do(t, c, "UPDATE t SET v = 0")
			set := settings(w, 3)
			set.Prepared = prepared
			out := measure(t, s.open(t, set), load.Plan{Events: 60})
			noError(t, out)
			want(t, out.Counts, load.Counts{Reads: 3 * 60, Writes: 60, Others: 4 * 60, Events: 60, Rows: 3 * 60})
			if got := value(t, c, "SELECT SUM(v) FROM t"); got != "60" {
				t.Errorf("%s changes on the server, want 60", got)
			}
		})
	}
}

// unpreparable sends a statement that MySQL cannot prepare (error 1295).
func (s suite) unpreparable(t *testing.T) {
	do(t, s.server.admin(t), "CREATE TABLE IF NOT EXISTS locked (id INT)")
	w := one("LOCK TABLES locked READ")
	w.statements = append(w.statements, workload.NewStatement(0, "UNLOCK TABLES"))
	w.plan = func(_, _ int, ev *workload.Event) {
		ev.Call(0)
		ev.Call(1)
	}
	out := measure(t, s.open(t, settings(w, 2)), load.Plan{Events: 10})
	noError(t, out)
	want(t, out.Counts, load.Counts{Others: 20, Events: 10})
}

// results reads several result sets of one statement.
func (s suite) results(t *testing.T) {
	c := s.server.admin(t)
	do(t, c, "DROP PROCEDURE IF EXISTS p",
		"CREATE PROCEDURE p(n INT) BEGIN SELECT 1 UNION ALL SELECT 2; SELECT n; SELECT 3 FROM DUAL WHERE FALSE; END")
	w := one("CALL p(?)")
	w.statements[0].Rows = true
	w.plan = func(_, _ int, ev *workload.Event) {
		ev.Call(0)
		ev.Int(7)
	}
	for _, prepared := range []bool{true, false} {
		t.Run(fmt.Sprintf("prepared=%v", prepared), func(t *testing.T) {
			set := settings(w, 2)
			set.Prepared = prepared
			out := measure(t, s.open(t, set), load.Plan{Events: 20})
			noError(t, out)
			want(t, out.Counts, load.Counts{Reads: 20, Events: 20, Rows: 60})
		})
	}
}

// large sends and receives packets of more than 16 MiB.
func (s suite) large(t *testing.T) {
	const size = 17_000_000
	w := &custom{statements: statements("SELECT REPEAT(?, ?), 'x'", "SELECT 1 FROM DUAL WHERE LENGTH(?) = ?")}
	w.plan = func(_, n int, ev *workload.Event) {
		ev.Call(n % 2)
		if n%2 == 0 {
			copy(ev.String(1), "y")
		} else {
			b := ev.String(size)
			copy(b, bytes.Repeat([]byte("z"), size))
		}
		ev.Int(size)
	}
	for _, prepared := range []bool{true, false} {
		t.Run(fmt.Sprintf("prepared=%v", prepared), func(t *testing.T) {
			set := settings(w, 1)
			set.Prepared = prepared
			out := measure(t, s.open(t, set), load.Plan{Events: 4})
			noError(t, out)
			want(t, out.Counts, load.Counts{Reads: 4, Events: 4, Rows: 4})
		})
	}
}

func (s suite) fatal(t *testing.T) {
	w := &custom{
		statements: statements("SELECT 1", "INSERT INTO missing_table VALUES (1)"),
		plan: func(_, n int, ev *workload.Event) {
			ev.Call(0)
			if n >= 5 {
				ev.Call(1)
			}
		},
	}
	set := settings(w, 2)
	set.Prepared = false
	out := measure(t, s.open(t, set), load.Plan{})
	e := statementError(t, out)
	if e.Code != 1146 || e.SQLState != "42S02" || !strings.Contains(e.Message, "missing_table") || e.SQL != w.statements[1].SQL {
		t.Errorf("error %+v", e)
	}
	contains(t, e.Error(), "1146", "42S02", "missing_table", "INSERT INTO")
	if out.Counts.Events < 5 || out.Counts.Errors < 1 || out.Counts.Errors > 2 || out.Counts.Retries != 0 {
		t.Errorf("counts %+v", out.Counts)
	}
	if len(out.Errors) != 1 || out.Errors[0].Code != 1146 || out.Errors[0].Count != out.Counts.Errors {
		t.Errorf("errors %+v", out.Errors)
	}
}

func (s suite) fatalPrepare(t *testing.T) {
	out := measure(t, s.open(t, settings(one("SELECT * FROM missing_table"), 1)), load.Plan{})
	if e := statementError(t, out); e.Code != 1146 || e.SQL != "SELECT * FROM missing_table" {
		t.Errorf("error %+v", e)
	}
}

// ignored inserts a duplicate key in every third event, inside a transaction
// that must be rolled back.
func (s suite) ignored(t *testing.T) {
	c := s.server.admin(t)
	w := &custom{
		statements: statements("BEGIN", "INSERT INTO d VALUES (?, ?)", "COMMIT"),
		plan: func(conn, n int, ev *workload.Event) {
			id := int64(1000*conn + n)
			ev.Call(0)
			ev.Call(1)
			ev.Int(id)
			ev.Int(int64(n % 3))
			ev.Call(1)
			ev.Int(id + 1_000_000)
			ev.Int(0)
			if n%3 == 0 {
				ev.Call(1)
				ev.Int(-1) // there already
				ev.Int(0)
			}
			ev.Call(2)
		},
	}
	for _, prepared := range []bool{true, false} {
		t.Run(fmt.Sprintf("prepared=%v", prepared), func(t *testing.T) {
			do(t, c, "DROP TABLE IF EXISTS d", "CREATE TABLE d (id INT PRIMARY KEY, v INT)", "INSERT INTO d VALUES (-1, 0)")
			set := settings(w, 1)
			set.Prepared = prepared
			set.IgnoreErrors = load.ErrorSet{Codes: map[int]bool{1062: true}}
			out := measure(t, s.open(t, set), load.Plan{Events: 20})
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			// Two good events follow each bad one: 10 bad ones before the 20th.
			want(t, out.Counts, load.Counts{
				Writes: 2*20 + 2*10, Others: 2*20 + 10,
				Events: 20, Errors: 10, Retries: 10,
			})
			if len(out.Errors) != 1 || out.Errors[0].Code != 1062 || out.Errors[0].SQLState != "23000" {
				t.Errorf("errors %+v", out.Errors)
			}
			if got := value(t, c, "SELECT CONCAT(COUNT(*), ' ', SUM(v = 0 AND id BETWEEN 0 AND 999999)) FROM d"); got != "41 0" {
				t.Errorf("rows and rows of abandoned events: %s, want 41 0", got)
			}
		})
	}
}

// lost kills connections while they work; all come back.
func (s suite) lost(t *testing.T) {
	const threads, rounds = 4, 3
	c := s.server.admin(t)
	set := settings(one("SELECT SLEEP(0.002)"), threads)
	set.IgnoreErrors = lostCodes()
	e := s.open(t, set)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan *load.Outcome, 1)
	go func() {
		result <- load.Measure(ctx, e, load.Plan{Drain: 20 * time.Second, Interval: time.Second}, load.Hooks{})
	}()
	old := map[uint64]bool{}
	for range rounds {
		ids := fresh(t, e, threads, old)
		time.Sleep(100 * time.Millisecond)
		for _, id := range ids {
			old[id] = true
			do(t, c, "KILL "+strconv.FormatUint(id, 10))
		}
	}
	fresh(t, e, threads, old)
	cancel()
	out := <-result
	if n := out.Counts; n.Reconnects != threads*rounds || n.Errors < n.Reconnects || n.Retries < n.Reconnects || n.Events < threads {
		t.Errorf("counts %+v", n)
	}
	if e.Live() != threads {
		t.Errorf("%d connections live, want %d", e.Live(), threads)
	}
}

// fresh waits until all connections are open and none of them is an old one.
func fresh(t *testing.T, e load.Engine, threads int, old map[uint64]bool) []uint64 {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		ids := e.ConnectionIDs()
		stale := slices.ContainsFunc(ids, func(id uint64) bool { return old[id] })
		if len(ids) == threads && !stale {
			return ids
		}
		if time.Now().After(until) {
			t.Fatalf("%d of %d connections are back: ids %v", len(ids), threads, ids)
		}
	}
}

func (s suite) lostFatal(t *testing.T) {
	c := s.server.admin(t)
	e := s.open(t, settings(one("SELECT SLEEP(0.01)"), 2))
	result := make(chan *load.Outcome, 1)
	go func() { result <- measure(t, e, load.Plan{}) }()
	time.Sleep(300 * time.Millisecond)
	do(t, c, "KILL "+strconv.FormatUint(e.ConnectionIDs()[0], 10))
	out := <-result
	if err := statementError(t, out); !load.LostConnection(err.Code) && err.Code != 1317 {
		t.Errorf("error %+v", err)
	}
	if out.Counts.Errors != 1 || out.Counts.Reconnects != 0 {
		t.Errorf("counts %+v", out.Counts)
	}
}

// killedQuery kills the statement but not the connection.
func (s suite) killedQuery(t *testing.T) {
	c := s.server.admin(t)
	// A join that runs for long and fails when it is killed; SLEEP only wakes up.
	w := &custom{statements: statements(
		"SELECT COUNT(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b, information_schema.COLLATIONS c, information_schema.COLLATIONS d, information_schema.COLLATIONS e",
		"SELECT 1")}
	w.plan = func(_, n int, ev *workload.Event) { ev.Call(min(n, 1)) }
	set := settings(w, 1)
	set.IgnoreErrors = load.ErrorSet{Codes: map[int]bool{1317: true}}
	e := s.open(t, set)
	result := make(chan *load.Outcome, 1)
	go func() { result <- measure(t, e, load.Plan{Events: 5}) }()
	time.Sleep(500 * time.Millisecond)
	do(t, c, "KILL QUERY "+strconv.FormatUint(e.ConnectionIDs()[0], 10))
	out := <-result
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	want(t, out.Counts, load.Counts{Reads: 5, Events: 5, Rows: 5, Errors: 1, Retries: 1})
}

func (s suite) rate(t *testing.T) {
	set := settings(one("SELECT SLEEP(0.001)"), 4)
	set.Rate = true
	e := s.open(t, set)
	out := measure(t, e, load.Plan{Time: 2 * time.Second, Rate: 100, Seed: 1, Interval: 500 * time.Millisecond})
	noError(t, out)
	begin := load.Now()
	due := load.NewSchedule(100, begin, 1)
	n := int64(0)
	for due.Next() < begin+int64(2*time.Second) {
		n++
	}
	// Every scheduled event is done or in flight at the end.
	if c := out.Counts; c.Events > n || c.Events+c.Unfinished < n-4 || c.Events < n/2 {
		t.Errorf("%d events and %d unfinished of %d scheduled", c.Events, c.Unfinished, n)
	}
	if out.Service.Count() != out.Counts.Events || out.Service.Max() > out.Event.Max() {
		t.Errorf("service times: %d, longest %d; response times: %d, longest %d",
			out.Service.Count(), out.Service.Max(), out.Counts.Events, out.Event.Max())
	}
}

// deadline lets events be in flight when the window closes.
func (s suite) deadline(t *testing.T) {
	e := s.open(t, settings(one("SELECT SLEEP(0.7)"), 3))
	out := measure(t, e, load.Plan{Time: time.Second})
	noError(t, out)
	want(t, out.Counts, load.Counts{Reads: 3, Events: 3, Rows: 3, Unfinished: 3})
	if out.Killed || e.Live() != 3 {
		t.Errorf("killed %v, %d live", out.Killed, e.Live())
	}
}

// kill breaks statements that hang, in flight, asleep until their time and
// waiting to be opened anew.
func (s suite) kill(t *testing.T) {
	c := s.server.admin(t)
	set := settings(one("SELECT SLEEP(100)"), 3)
	set.IgnoreErrors = load.ErrorSet{All: true}
	e := s.open(t, set)
	ids := e.ConnectionIDs()
	out := measure(t, e, load.Plan{Time: 300 * time.Millisecond, Drain: 300 * time.Millisecond})
	if !out.Killed || out.Err != nil {
		t.Errorf("killed %v, error %v", out.Killed, out.Err)
	}
	want(t, out.Counts, load.Counts{Unfinished: 3})
	if e.Live() != 0 {
		t.Errorf("%d connections live after Kill", e.Live())
	}
	for _, id := range ids {
		_, _ = c.Exec(t.Context(), "KILL "+strconv.FormatUint(id, 10)) // the server sleeps on
	}
}

func (s suite) reconnect(t *testing.T) {
	set := settings(one("SELECT CONNECTION_ID()"), 1)
	set.Reconnect = 2
	e := s.open(t, set)
	before := e.ConnectionIDs()[0]
	out := measure(t, e, load.Plan{Events: 10})
	noError(t, out)
	want(t, out.Counts, load.Counts{Reads: 10, Rows: 10, Events: 10, Reconnects: 5})
	if e.Live() != 1 || e.ConnectionIDs()[0] == before {
		t.Errorf("%d connections live, id %v, before %d", e.Live(), e.ConnectionIDs(), before)
	}
}

// finisher has rows left at the end of a phase, as bulk_insert has.
func (s suite) finisher(t *testing.T) {
	c := s.server.admin(t)
	do(t, c, "DROP TABLE IF EXISTS f", "CREATE TABLE f (conn INT)")
	w := &custom{
		statements: statements("INSERT INTO f VALUES (?)"),
		plan:       func(_, _ int, _ *workload.Event) {},
		finish: func(conn int, ev *workload.Event) bool {
			ev.Call(0)
			ev.Int(int64(conn))
			return conn < 2
		},
	}
	out := measure(t, s.open(t, settings(w, 3)), load.Plan{Events: 10})
	noError(t, out)
	if out.Counts.Events != 10 {
		t.Errorf("counts %+v", out.Counts)
	}
	if got := value(t, c, "SELECT GROUP_CONCAT(conn ORDER BY conn) FROM f"); got != "0,1" {
		t.Errorf("rows of connections %s, want 0,1", got)
	}
}

func (s suite) session(t *testing.T) {
	set := settings(one("SELECT 1 FROM DUAL WHERE @a = 1 AND @b = 2"), 2)
	set.SessionSQL = []string{"SET @a = 1", "SET @b = 2"}
	set.Reconnect = 3
	out := measure(t, s.open(t, set), load.Plan{Events: 20})
	noError(t, out)
	if out.Counts.Rows != 20 {
		t.Errorf("%d of 20 events saw the session statements", out.Counts.Rows)
	}
}

func (s suite) sessionFails(t *testing.T) {
	set := settings(one("SELECT 1"), 2)
	set.SessionSQL = []string{"SET no_such_variable = 1"}
	e := s.make(t, set, s.server.Door(t))
	err := e.Connect(t.Context(), func(int) {})
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "SET no_such_variable = 1", "1193")
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// empty holds that an event that sends nothing counts and ends in time.
func (s suite) empty(t *testing.T) {
	w := one("SELECT 1")
	w.plan = func(conn, _ int, ev *workload.Event) {
		if conn == 0 {
			ev.Call(0)
		}
	}
	out := measure(t, s.open(t, settings(w, 2)), load.Plan{Time: 300 * time.Millisecond})
	noError(t, out)
	if out.Counts.Events <= out.Counts.Reads || out.Counts.Reads == 0 {
		t.Errorf("counts %+v", out.Counts)
	}
}

// stateChanges sends statements whose OK packets tell of changed session state
// where that was negotiated.
func (s suite) stateChanges(t *testing.T) {
	c := s.server.admin(t)
	do(t, c, "DROP TABLE IF EXISTS l", "CREATE TABLE l (v CHAR(200))", "INSERT INTO l VALUES ('x'), ('y')")
	w := &custom{statements: statements("ALTER TABLE l ADD KEY (v), ALGORITHM=COPY", "ALTER TABLE l DROP KEY v, ALGORITHM=COPY", "USE sbtest", "SELECT 1")}
	for i := range w.statements {
		w.statements[i].Text = true
	}
	w.plan = func(_, _ int, ev *workload.Event) {
		for i := range w.statements {
			if i == 0 {
				ev.Call(2)
			}
			ev.Call(i)
		}
	}
	set := settings(w, 1)
	set.SessionSQL = []string{"SET progress_report_time = 1"}
	if value(t, c, "SELECT @@version_comment LIKE '%MariaDB%' OR VERSION() LIKE '%MariaDB%'") == "0" {
		set.SessionSQL = []string{"SET session_track_system_variables = '*'", "SET session_track_state_change = ON", "SET session_track_transaction_info = 'CHARACTERISTICS'"}
	}
	out := measure(t, s.open(t, set), load.Plan{Events: 2})
	noError(t, out)
	// ALTER TABLE tells of the rows that it copied.
	want(t, out.Counts, load.Counts{Reads: 2, Writes: 4, Others: 4, Events: 2, Rows: 2})
}

func (s suite) refused(t *testing.T) {
	wrong := s.server
	wrong.Settings.Password = "wrong"
	e := s.make(t, settings(one("SELECT 1"), 2), wrong.Door(t))
	err := e.Connect(t.Context(), func(int) {})
	if err == nil {
		t.Fatal("no error")
	}
	if code, _, _ := mysql.ErrorCode(err); code != 1045 {
		t.Errorf("error %v, want 1045", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// phases runs a warm-up before the window: nothing of it may be counted.
func (s suite) phases(t *testing.T) {
	c := s.server.admin(t)
	do(t, c, "DROP TABLE IF EXISTS ph", "CREATE TABLE ph (id INT AUTO_INCREMENT PRIMARY KEY)")
	e := s.open(t, settings(one("INSERT INTO ph VALUES ()"), 3))
	out := measure(t, e, load.Plan{Warmup: 200 * time.Millisecond, Events: 30})
	noError(t, out)
	want(t, out.Counts, load.Counts{Writes: 30, Events: 30})
	if n, err := strconv.Atoi(value(t, c, "SELECT COUNT(*) FROM ph")); err != nil || n <= 30 {
		t.Errorf("%d rows, want those of warm-up too", n)
	}
}
