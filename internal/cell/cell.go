// Package cell is the life of one cell: from a configuration to a result.
//
//	target   a door to the server named, or a throwaway one
//	lock     one cell at a time on a server
//	dataset  the tables the workload needs, loaded if they are not there
//	scenario the server put into its state, and the state proved
//	load     connections, warm-up, the measured window, drain
//	proof    the scenario still true? the lock still held?
//	undo     the server put back as it was found
//	result   values only
//
// Every step says what it is doing, has a deadline and ends on a signal. Whatever
// happens there is a Result: one that measured nothing has the status failed and
// the reason.
package cell

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/mysql"
	"cellbench/internal/scenario"
	"cellbench/internal/workload"
	"cellbench/internal/workload/dataset"
)

// Progress hears how a cell is getting on. Methods are called from one goroutine
// at a time.
type Progress interface {
	// Step says what is being done now, in a few words.
	Step(text string)
	// Rows tells how far the dataset is.
	Rows(d dataset.Progress)
	// Warmup tells how much of the warm-up is left.
	Warmup(left time.Duration)
	// Interval tells of one report interval of the measured window.
	Interval(iv bench.Interval, window time.Duration)
	// Warn tells of something the user should know.
	Warn(text string)
}

// Options is what a cell needs beside its configuration.
type Options struct {
	Version  string // of cellbench
	RunID    string
	Attempt  string
	CellID   string
	Index    *int              // position in a study
	Labels   map[string]string // of the result, those of the configuration included
	Progress Progress
	// Token makes the password of BENCH_MYSQL_AUTH=rds-iam; nil without it.
	Token func(ctx context.Context, address, user string) (string, error)
}

// endTime bounds the undoing and reading that follow the load, also after a
// signal: a scheduler gives thirty seconds between SIGTERM and SIGKILL.
const endTime = 15 * time.Second

// run is one cell under way.
type run struct {
	cfg *config.Config
	o   Options
	res *bench.Result

	target   *target
	facts    *mysql.Facts
	control  *mysql.Conn // reads facts and status; not counted
	lock     *mysql.Lock
	workload workload.Workload
	data     dataset.Spec
	session  *scenario.Session
	seed     int64
	prepared bool
	demands  bool // the scenario wants the server in a state
}

// Run measures the cell of cfg. The result is never nil; the error says which
// exit code the process ends with, nil for a measurement, good or not.
func Run(ctx context.Context, cfg *config.Config, o Options) (*bench.Result, error) {
	r := &run{cfg: cfg, o: o, res: blank(cfg, o)}
	defer func() {
		// A fault of cellbench must not leave the server changed either.
		if p := recover(); p != nil {
			r.close()
			panic(p)
		}
	}()
	err := r.all(ctx)
	r.close()
	if err != nil && r.res.Status == bench.StatusOK {
		// The failure came before there was anything to judge.
		r.res.Status = bench.StatusFailed
		if bench.CodeOf(err) == bench.ExitInterrupted {
			r.res.Status = bench.StatusInterrupted
		}
		r.reason(err.Error())
	}
	return r.res, err
}

func (r *run) reason(text string) {
	if r.res.Reason == nil {
		r.res.Reason = &text
	}
}

func (r *run) warn(code, text string) {
	r.res.Warn(code, text)
	r.o.Progress.Warn(text)
}

// all goes through the steps up to the end of the load.
func (r *run) all(ctx context.Context) error {
	sc, err := r.plan()
	if err != nil {
		return err
	}
	if err := r.open(ctx, sc); err != nil {
		return cause(ctx, err)
	}
	if err := r.fit(); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return cause(ctx, err)
	}
	if err := r.apply(ctx, sc); err != nil {
		return cause(ctx, err)
	}
	return r.measure(ctx)
}

// plan settles what can be settled without a server.
func (r *run) plan() (scenario.Scenario, error) {
	sc, err := findScenario(r.cfg)
	if err != nil {
		return sc, err
	}
	r.demands = sc.Demands()
	r.seed = seedOf(r.cfg)
	r.workload, r.data, err = makeWorkload(r.cfg, r.seed, 0)
	return sc, err
}

// cause prefers the reason why ctx ended to the error that this led to, and gives
// an error of the server the exit code it leads to.
func cause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	if bench.CodeOf(err) != bench.ExitInternal {
		return err
	}
	classified := mysql.Classify(err)
	if bench.CodeOf(classified) == bench.ExitInternal && fromServer(err) {
		// The server refused a statement of the set-up: a storage engine it has not, a
		// table option it does not know, a full disk. Trying again does not help.
		return bench.Errorf(bench.ExitConfig, "%w", err)
	}
	return classified
}

// fromServer reports whether the server refused a statement, in contrast to errors
// of the connection, which have the client numbers 2000-2999.
func fromServer(err error) bool {
	number, _, _ := mysql.ErrorCode(err)
	return number >= 1000 && number < 2000 || number >= 3000
}

// open reaches the server, waits for it and takes its lock.
func (r *run) open(ctx context.Context, sc scenario.Scenario) error {
	var err error
	if r.target, err = openTarget(ctx, r.cfg, sc, r.o); err != nil {
		return err
	}
	if r.res.Cell.Target == "" {
		r.res.Cell.Target = r.target.name
	}
	door := r.target.door
	if err := door.Wait(ctx, r.cfg.ConnectTimeout.Std(), r.o.Progress.Step); err != nil {
		return err
	}
	if !r.cfg.LockTimeout.Off {
		if r.lock, err = mysql.AcquireLock(ctx, door, door.Address(), r.cfg.LockTimeout.Wait, r.o.Progress.Step); err != nil {
			return err
		}
	}
	if r.control, err = door.Conn(ctx); err != nil {
		return err
	}
	if r.facts, err = mysql.ReadFacts(ctx, r.control); err != nil {
		return err
	}
	r.res.Server = serverOf(r.facts, r.target)
	return nil
}

// fit compares what the cell needs with what the server allows.
func (r *run) fit() error {
	f, threads := r.facts, int64(r.cfg.Threads)
	const own = 3 // lock, control and one to spare
	if f.MaxConnections > 0 && threads+own > f.MaxConnections {
		return bench.Errorf(bench.ExitConfig, "BENCH_THREADS=%d needs %d connections and the server's max_connections is %d: raise it (SET GLOBAL max_connections = %d) or lower BENCH_THREADS",
			threads, threads+own, f.MaxConnections, threads+own+10)
	}
	if f.MaxUserConnections > 0 && threads+own > f.MaxUserConnections {
		return bench.Errorf(bench.ExitConfig, "BENCH_THREADS=%d needs %d connections and the server's max_user_connections is %d: raise it or lower BENCH_THREADS",
			threads, threads+own, f.MaxUserConnections)
	}
	r.prepared = r.cfg.DbPsMode == "auto"
	need := threads * preparable(r.workload)
	if free := f.MaxPreparedStmtCount - f.PreparedStmtCount; r.prepared && f.MaxPreparedStmtCount > 0 && need > free {
		r.prepared = false
		r.warn("text_protocol", sprintf("the load may need %d prepared statements and the server has room for %d (max_prepared_stmt_count %d): text is sent instead; raise that variable, or set BENCH_DB_PS_MODE=disable to choose text",
			need, max(free, 0), f.MaxPreparedStmtCount))
	}
	return nil
}

// preparable counts the statements of a workload that are prepared.
func preparable(w workload.Workload) int64 {
	var n int64
	for _, s := range w.Statements() {
		if !s.Text {
			n++
		}
	}
	return n
}

// prepare makes the dataset ready.
func (r *run) prepare(ctx context.Context) error {
	// The packet size is known only now, and bulk_insert depends on it.
	var err error
	if r.workload, r.data, err = makeWorkload(r.cfg, r.seed, int(r.facts.MaxAllowedPacket)); err != nil {
		return err
	}
	if err := r.room(); err != nil {
		return err
	}
	r.o.Progress.Step("checking the dataset")
	r.res.Dataset, err = loadDataset(ctx, r.target.door, r.data, r.cfg, r.facts, r.o)
	return err
}

// room compares the dataset with the disk of a local server. A full one would be
// noticed only after minutes of loading.
func (r *run) room() error {
	if r.target.server == nil {
		return nil
	}
	need, free := r.data.Bytes(), r.target.server.Free()
	// Loading takes as much again in logs and in the sorting of the index, up to what
	// the logs hold.
	need += min(need, 128<<20)
	if free == 0 || need <= free {
		return nil
	}
	return bench.Errorf(bench.ExitConfig, "the dataset takes about %s and %s has %s free: lower BENCH_TABLES or BENCH_TABLE_SIZE, or set TMPDIR to a folder with more room",
		sizeText(need), filepath.Dir(r.target.server.Dir()), sizeText(free))
}

func sizeText(bytes int64) string {
	if bytes < 10e9 {
		return sprintf("%.0f MB", float64(bytes)/1e6)
	}
	return sprintf("%.0f GB", float64(bytes)/1e9)
}

// apply puts the server into the scenario's state.
func (r *run) apply(ctx context.Context, sc scenario.Scenario) error {
	init, err := scenario.ParseStatements(r.cfg.InitSQL)
	if err != nil {
		return bench.Errorf(bench.ExitConfig, "BENCH_INIT_SQL: %w", err)
	}
	r.session, err = scenario.Apply(ctx, r.target.door, sc, init, r.o.Progress.Step)
	if r.session != nil {
		r.res.Scenario = r.session.Report()
	}
	return err
}

// close puts everything back, in the reverse order.
func (r *run) close() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if r.session != nil {
		if err := r.session.Restore(ctx); err != nil {
			r.warn("not_restored", err.Error())
		}
		r.res.Scenario = r.session.Report()
	}
	if r.control != nil {
		_ = r.control.Close()
	}
	if r.lock != nil {
		// The lock goes with its connection; a failure to release is no news.
		_ = r.lock.Release(ctx)
	}
	if r.target != nil && r.target.server != nil {
		r.o.Progress.Step("stopping the local server")
		if err := r.target.server.Stop(ctx); err != nil {
			r.warn("server_left", err.Error())
		}
	}
}
