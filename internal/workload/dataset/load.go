package dataset

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/workload/random"
)

// DefaultStatementBytes is the size of an INSERT where max_allowed_packet allows.
const DefaultStatementBytes = 512 << 10

// job is a run of rows of one table. A job with hi below lo only ends its table.
type job struct {
	table  int
	lo, hi int64
	auto   bool // the whole table, numbered by the server
}

// loader loads the tables of a spec over several connections.
type loader struct {
	spec    Spec
	o       Options
	actions []action
	limit   int            // bytes of a statement
	numbers bool           // AUTO_INCREMENT counts 1, 2, 3 here
	left    []atomic.Int64 // jobs of each table that are not done
	report  *report
}

// load makes and fills every table whose action is not accept. c is used before
// and after the connections that load.
func load(ctx context.Context, open Opener, c Conn, s Spec, o Options, actions []action) error {
	l := &loader{spec: s, o: o, actions: actions, left: make([]atomic.Int64, len(s.Tables))}
	if err := l.size(ctx, c); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, createMarker); err != nil {
		return fmt.Errorf("create table %s: %w", MarkerTable, err)
	}
	total := int64(0)
	for i, a := range actions {
		if a == accept {
			continue
		}
		total += s.Tables[i].Rows
		if err := l.make(ctx, c, i); err != nil {
			return err
		}
	}
	l.report = startReport(o.Progress, PhaseLoad, total)
	defer l.report.stop()
	jobs := l.jobs()
	q := newQueue(jobs)
	return parallel(ctx, l.opener(open), min(o.Threads, len(jobs)), q.taker, l.work)
}

// opener returns an opener of connections that load.
func (l *loader) opener(open Opener) Opener {
	for i, a := range l.actions {
		if a != accept && !l.spec.Tables[i].ASCII {
			return open
		}
	}
	return func(ctx context.Context) (Conn, error) {
		c, err := open(ctx)
		if err != nil {
			return nil, err
		}
		// A server that does not know it only works a little more.
		_, _ = c.Exec(ctx, "SET NAMES binary")
		return c, nil
	}
}

// size finds out how large a statement may be, and how the server counts ids.
func (l *loader) size(ctx context.Context, c Conn) error {
	rows, err := c.Query(ctx, "SELECT @@max_allowed_packet, @@auto_increment_increment, @@auto_increment_offset")
	if err != nil {
		return fmt.Errorf("read max_allowed_packet: %w", err)
	}
	packet, err := number(rows, 0)
	if err != nil {
		return err
	}
	if l.o.MaxPacket > 0 {
		packet = int64(l.o.MaxPacket)
	}
	l.limit = l.o.StatementBytes
	if l.limit <= 0 {
		l.limit = DefaultStatementBytes
	}
	l.limit = int(min(int64(l.limit), packet-1024)) // the command byte, and room to spare
	// The members of a cluster may count in steps, each from a place of its own.
	l.numbers = rows[0][1].String == "1" && rows[0][2].String == "1"
	return nil
}

// make brings a table into being and notes it in the marker. A new table is made
// first and noted then: should we die in between, a table too few is noted, never
// one too many.
func (l *loader) make(ctx context.Context, c Conn, i int) error {
	t := &l.spec.Tables[i]
	switch l.actions[i] {
	case resume:
		return nil
	case reload:
		if err := l.note(ctx, c, i, stateLoading, ""); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, "DROP TABLE "+Quote(t.Name)); err != nil {
			return fmt.Errorf("drop table %s: %w", t.Name, err)
		}
	}
	if _, err := c.Exec(ctx, t.Create); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	// From here on an interrupt must not leave a table that is not noted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	f, err := readTable(ctx, c, t.Name)
	if err != nil {
		return err
	}
	if f.columnNames() == "" {
		return bench.Errorf(bench.ExitConfig, "create table %s: the statement made no table of that name", t.Name)
	}
	return l.note(ctx, c, i, stateLoading, f.columnNames())
}

// note writes a table's row of the marker. Empty columns leave those noted.
func (l *loader) note(ctx context.Context, c Conn, i int, state, columns string) error {
	t := &l.spec.Tables[i]
	values := fmt.Sprintf("fingerprint = %s, state = %s, made_rows = %d, made_by = %s",
		literal(l.spec.tableFingerprint(i)), literal(state), t.Rows, literal("cellbench "+l.o.Version))
	made := ", made_columns = " + literal(columns)
	insert := "INSERT INTO " + MarkerTable + " SET table_name = " + literal(t.Name) + ", " + values + made
	if columns != "" {
		values += made
	}
	_, err := c.Exec(ctx, insert+" ON DUPLICATE KEY UPDATE "+values)
	if err != nil {
		return fmt.Errorf("note table %s in %s: %w", t.Name, MarkerTable, err)
	}
	return nil
}

// jobs divides the rows into jobs. Where each connection can have tables of its
// own, those are loaded whole; of the others, every table is divided into several
// jobs for each connection, so that all of them end at about the same time.
func (l *loader) jobs() []job {
	var jobs []job
	whole := l.whole()
	for i, a := range l.actions {
		if a == accept {
			continue
		}
		rows := l.spec.Tables[i].Rows
		before := len(jobs)
		switch {
		case whole[i]:
			jobs = append(jobs, job{table: i, lo: 1, hi: rows, auto: true})
		case rows == 0:
			jobs = append(jobs, job{table: i, lo: 1})
		default:
			step := l.step(rows)
			for lo := int64(1); lo <= rows; lo += step {
				jobs = append(jobs, job{table: i, lo: lo, hi: min(lo+step-1, rows)})
			}
		}
		l.left[i].Store(int64(len(jobs) - before))
	}
	return jobs
}

// whole returns the tables that one connection loads alone: as many as come to
// the same number for each connection.
func (l *loader) whole() map[int]bool {
	var fresh []int
	for i, a := range l.actions {
		if t := &l.spec.Tables[i]; l.numbers && (a == create || a == reload) && t.RowAuto != nil && t.Rows > 0 {
			fresh = append(fresh, i)
		}
	}
	whole := map[int]bool{}
	for _, i := range fresh[:len(fresh)-len(fresh)%l.o.Threads] {
		whole[i] = true
	}
	return whole
}

func (l *loader) step(rows int64) int64 {
	const least = 5000
	return max(rows/int64(4*l.o.Threads)+1, least)
}

// work does one job, and completes the table after its last one.
func (l *loader) work(ctx context.Context, c Conn, j job) error {
	t := &l.spec.Tables[j.table]
	if l.actions[j.table] == resume {
		var err error
		if j.lo, err = l.missing(ctx, c, t, j); err != nil {
			return err
		}
	}
	if err := l.fill(ctx, c, j); err != nil {
		return fmt.Errorf("load table %s: %w", t.Name, err)
	}
	if l.left[j.table].Add(-1) > 0 {
		return nil
	}
	l.report.indexing.Add(1)
	defer l.report.indexing.Add(-1)
	return l.complete(ctx, c, j.table)
}

// missing returns the first row of a job that is not there yet. A connection
// loads its rows in order, so those there are the first of the job; what another
// division into jobs has left is deleted.
func (l *loader) missing(ctx context.Context, c Conn, t *Table, j job) (int64, error) {
	if j.hi < j.lo {
		return j.lo, nil
	}
	where := fmt.Sprintf(" WHERE %s BETWEEN %d AND %d", Quote(t.Key), j.lo, j.hi)
	rows, err := c.Query(ctx, fmt.Sprintf("SELECT COUNT(*), COALESCE(MAX(%s), %d) FROM %s", Quote(t.Key), j.lo-1, Quote(t.Name))+where)
	if err != nil {
		return 0, fmt.Errorf("look for missing rows of %s: %w", t.Name, err)
	}
	n, err := number(rows, 0)
	if err != nil {
		return 0, err
	}
	last, err := number(rows, 1)
	if err != nil {
		return 0, err
	}
	if last-j.lo+1 == n {
		l.report.found(n)
		return last + 1, nil
	}
	if _, err := c.Exec(ctx, "DELETE FROM "+Quote(t.Name)+where); err != nil {
		return 0, fmt.Errorf("clear rows of %s: %w", t.Name, err)
	}
	return j.lo, nil
}

// fill sends the rows of a job in multi-row INSERTs, each a transaction of its own.
func (l *loader) fill(ctx context.Context, c Conn, j job) error {
	t := &l.spec.Tables[j.table]
	seed := l.spec.Seed ^ int64(j.table+1)<<32
	row := t.Row
	if j.auto {
		row = t.RowAuto
	}
	buf := append(make([]byte, 0, l.limit+l.limit/8), l.insert(j)...)
	prefix, rows := len(buf), int64(0)
	for n := j.lo; n <= j.hi; n++ {
		src := random.NewSource(seed, uint64(n))
		end := len(buf)
		if rows > 0 {
			buf = append(buf, ',')
		}
		buf = row(buf, &src, n)
		if rows++; len(buf) > l.limit && rows > 1 {
			if err := l.send(ctx, c, buf[:end], rows-1); err != nil {
				return err
			}
			buf = append(buf[:prefix], buf[end+1:]...)
			rows = 1
		}
	}
	if rows == 0 {
		return nil
	}
	return l.send(ctx, c, buf, rows)
}

// insert returns the head of the INSERTs of a job.
func (l *loader) insert(j job) string {
	t := &l.spec.Tables[j.table]
	columns := make([]string, 0, len(t.Insert))
	for _, name := range t.Insert {
		if !j.auto || name != t.Key {
			columns = append(columns, Quote(name))
		}
	}
	verb := "INSERT"
	if l.actions[j.table] == resume {
		// A statement of the load that was broken off may still be on its way in the
		// server. Its rows are the same as ours, so whoever comes second gives way.
		verb = "INSERT IGNORE"
	}
	return verb + " INTO " + Quote(t.Name) + " (" + strings.Join(columns, ", ") + ") VALUES "
}

func (l *loader) send(ctx context.Context, c Conn, statement []byte, rows int64) error {
	if _, err := c.Exec(ctx, string(statement)); err != nil {
		return err
	}
	l.report.rows.Add(rows)
	return nil
}

// complete makes a table's indexes, counts its rows and notes it as complete.
func (l *loader) complete(ctx context.Context, c Conn, i int) error {
	t := &l.spec.Tables[i]
	var f found
	if l.actions[i] == resume {
		var err error
		if f, err = readTable(ctx, c, t.Name); err != nil {
			return err
		}
	}
	for _, step := range t.After {
		if step.Index != "" && f.shape.hasIndex(step.Index) {
			continue
		}
		if _, err := c.Exec(ctx, step.SQL); err != nil {
			return fmt.Errorf("complete table %s: %w", t.Name, err)
		}
	}
	if l.actions[i] == resume && t.Key != "" {
		// What was on its way may also have been numbered by the server, behind our rows.
		if _, err := c.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s > %d", Quote(t.Name), Quote(t.Key), t.Rows)); err != nil {
			return fmt.Errorf("complete table %s: %w", t.Name, err)
		}
	}
	n, err := l.countMade(ctx, c, t)
	if err != nil {
		return err
	}
	if n != t.Rows {
		return bench.Errorf(bench.ExitInternal, "table %s has %d rows after loading instead of %d: is another client writing to it?", t.Name, n, t.Rows)
	}
	// Fresh statistics now, so that the server does not gather them by itself while
	// the load is measured. A server that cannot do it needs none.
	_, _ = c.Query(ctx, "ANALYZE TABLE "+Quote(t.Name))
	return l.note(ctx, c, i, stateComplete, "")
}

// countMade returns how many of a table's rows are there, by number if they have one.
func (l *loader) countMade(ctx context.Context, c Conn, t *Table) (int64, error) {
	if t.Key == "" {
		return count(ctx, c, t.Name)
	}
	// The ends of the key cost two reads; with all rows between them, none is out of place.
	rows, err := c.Query(ctx, fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 1), COALESCE(MAX(%[1]s), 0) FROM %[2]s", Quote(t.Key), Quote(t.Name)))
	if err != nil {
		return 0, fmt.Errorf("look for the first and last row of %s: %w", t.Name, err)
	}
	first, err := number(rows, 0)
	if err != nil {
		return 0, err
	}
	last, err := number(rows, 1)
	if err != nil {
		return 0, err
	}
	if first != 1 || last != t.Rows {
		return 0, bench.Errorf(bench.ExitInternal, "table %s is numbered from %d to %d after loading instead of 1 to %d: is another client writing to it?", t.Name, first, last, t.Rows)
	}
	return count(ctx, c, t.Name)
}

// queue hands out jobs so that connections spread over the tables, and only share
// one when there are more connections than tables with jobs left: those of one
// table stand in each other's way, while one that goes on where it was appends.
type queue struct {
	mu     sync.Mutex
	tables [][]job // jobs left, by table, in order
	active []int   // connections at work on each
}

func newQueue(jobs []job) *queue {
	q := &queue{}
	for i, j := range jobs {
		if i == 0 || jobs[i-1].table != j.table {
			q.tables = append(q.tables, nil)
		}
		last := len(q.tables) - 1
		q.tables[last] = append(q.tables[last], j)
	}
	q.active = make([]int, len(q.tables))
	return q
}

// taker returns the function with which one connection takes its jobs.
func (q *queue) taker() func() (job, bool) {
	at := -1
	return func() (job, bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if at >= 0 {
			q.active[at]--
		}
		at = q.choose(at)
		if at < 0 {
			return job{}, false
		}
		q.active[at]++
		j := q.tables[at][0]
		q.tables[at] = q.tables[at][1:]
		return j, true
	}
}

// choose returns the table to work on after at: the same if no other connection
// is there, else the first of those with the fewest connections; -1 if none is left.
func (q *queue) choose(at int) int {
	if at >= 0 && len(q.tables[at]) > 0 && q.active[at] == 0 {
		return at
	}
	best := -1
	for i := range q.tables {
		if len(q.tables[i]) > 0 && (best < 0 || q.active[i] < q.active[best]) {
			best = i
		}
	}
	return best
}

// parallel runs do over n connections, each for the items that a function of its
// own hands out. The first error stops the others and is returned.
func parallel[T any](ctx context.Context, open Opener, n int, taker func() func() (T, bool), do func(context.Context, Conn, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := func() error {
		c, err := open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		take := taker()
		for {
			item, ok := take()
			if !ok {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := do(ctx, c, item); err != nil {
				return err
			}
		}
	}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := run(); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// each returns the taker of a plain list.
func each[T any](items []T) func() func() (T, bool) {
	var next atomic.Int64
	take := func() (T, bool) {
		if i := int(next.Add(1)) - 1; i < len(items) {
			return items[i], true
		}
		var none T
		return none, false
	}
	return func() func() (T, bool) { return take }
}

// report tells the caller how far a phase is.
type report struct {
	rows     atomic.Int64 // loaded or counted
	skipped  atomic.Int64 // found from an earlier load
	indexing atomic.Int64
	phase    string
	total    int64
	began    time.Time
	tell     func(Progress)
	done     chan struct{}
	ended    sync.WaitGroup
}

// reportEvery is the time between two reports of progress.
const reportEvery = 500 * time.Millisecond

func startReport(tell func(Progress), phase string, total int64) *report {
	r := &report{phase: phase, total: total, began: time.Now(), tell: tell, done: make(chan struct{})}
	if tell == nil {
		return r
	}
	r.ended.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(r.progress(false))
			case <-r.done:
				tell(r.progress(true))
				return
			}
		}
	})
	return r
}

func (r *report) stop() {
	close(r.done)
	r.ended.Wait()
}

func (r *report) found(n int64) { r.skipped.Add(n) }

func (r *report) progress(done bool) Progress {
	rows, elapsed := r.rows.Load(), time.Since(r.began)
	p := Progress{
		Phase: r.phase, Rows: rows + r.skipped.Load(), Total: r.total, Elapsed: elapsed,
		Indexing: int(r.indexing.Load()), Done: done,
	}
	p.PerSecond = float64(rows) / elapsed.Seconds()
	if left := r.total - p.Rows; rows > 0 && left > 0 {
		p.Remaining = time.Duration(float64(left) / p.PerSecond * float64(time.Second)).Round(time.Second)
	}
	return p
}
