package cell

import (
	"context"
	"database/sql"
	"path/filepath"

	"cellbench/internal/bench"
	"cellbench/internal/config"
	"cellbench/internal/mysql"
	"cellbench/internal/scenario"
	"cellbench/internal/workload"
	"cellbench/internal/workload/dataset"
	"cellbench/internal/workload/random"
)

// findScenario returns the scenario that cfg names.
func findScenario(cfg *config.Config) (scenario.Scenario, error) {
	text, name, err := ScenarioFile(cfg.ScenarioFile)
	if err != nil {
		return scenario.Scenario{}, err
	}
	return scenario.Find(cfg.Scenario, text, name)
}

// ScenarioFile reads BENCH_SCENARIO_FILE and returns its text and its name; both are
// empty when path is.
func ScenarioFile(path string) (text []byte, name string, err error) {
	if path == "" {
		return nil, "", nil
	}
	if text, err = bench.ReadFile(path, bench.MaxWritten); err != nil {
		return nil, "", bench.Errorf(bench.ExitConfig, "read BENCH_SCENARIO_FILE: %w", err)
	}
	return text, filepath.Base(path), nil
}

// makeWorkload returns the workload that cfg names and the dataset it needs.
func makeWorkload(cfg *config.Config, seed int64, maxPacket int) (workload.Workload, dataset.Spec, error) {
	o := workloadOptions(cfg, seed, maxPacket)
	if cfg.WorkloadFile != "" {
		text, err := bench.ReadFile(cfg.WorkloadFile, bench.MaxWritten)
		if err != nil {
			return nil, dataset.Spec{}, bench.Errorf(bench.ExitConfig, "read BENCH_WORKLOAD_FILE: %w", err)
		}
		w, spec, err := workload.Parse(cfg.Workload, text, o)
		if err != nil {
			err = bench.Errorf(bench.CodeOf(err), "BENCH_WORKLOAD_FILE=%s: %w", cfg.WorkloadFile, err)
		}
		return w, spec, err
	}
	w, err := workload.New(cfg.Workload, o)
	if err != nil {
		return nil, dataset.Spec{}, err
	}
	spec, err := workload.Dataset(cfg.Workload, o)
	return w, spec, err
}

// Complete settles what only a file that cfg names can say: the name of a
// workload of the user's own, which is part of the cell's name.
func Complete(cfg *config.Config) error {
	if cfg.WorkloadFile == "" {
		return nil
	}
	if !config.IsSet("BENCH_WORKLOAD") {
		cfg.Workload = "" // not the default of built-in workloads
	}
	w, _, err := makeWorkload(cfg, 1, 0)
	if err != nil {
		return err
	}
	cfg.Workload = w.Name()
	return nil
}

func workloadOptions(cfg *config.Config, seed int64, maxPacket int) workload.Options {
	return workload.Options{
		Tables: cfg.Tables, TableSize: int64(cfg.TableSize),
		PointSelects: cfg.PointSelects, SimpleRanges: cfg.SimpleRanges, SumRanges: cfg.SumRanges,
		OrderRanges: cfg.OrderRanges, DistinctRanges: cfg.DistinctRanges,
		RangeSelects: bool(cfg.RangeSelects), RangeSize: int64(cfg.RangeSize),
		IndexUpdates: cfg.IndexUpdates, NonIndexUpdates: cfg.NonIndexUpdates, DeleteInserts: cfg.DeleteInserts,
		SkipTrx: bool(cfg.SkipTrx), AutoInc: bool(cfg.AutoInc), Secondary: bool(cfg.Secondary),
		CreateSecondary: bool(cfg.CreateSecondary), StorageEngine: cfg.MysqlStorageEngine, TableOptions: cfg.CreateTableOptions,
		RandomPoints: cfg.RandomPoints, NumberOfRanges: cfg.NumberOfRanges, Delta: int(cfg.Delta),
		HotspotHint: cfg.HotspotHint, HotspotRow: int64(cfg.HotspotRow),
		Rand: random.Options{
			Type: cfg.RandType, Seed: seed, SpecIter: cfg.RandSpecIter, SpecPct: float64(cfg.RandSpecPct),
			SpecRes: float64(cfg.RandSpecRes), ParetoH: float64(cfg.RandParetoH), ZipfianExp: float64(cfg.RandZipfianExp),
		},
		Threads: cfg.Threads, MaxPacket: maxPacket,
	}
}

// loadDataset makes the dataset of spec ready on the server behind door.
func loadDataset(ctx context.Context, door *mysql.Door, spec dataset.Spec, cfg *config.Config, facts *mysql.Facts, o Options) (*bench.Dataset, error) {
	return dataset.Prepare(ctx, opener(door), spec, dataset.Options{
		Mode: cfg.Prepare, Threads: cfg.PrepareThreads, MaxPacket: int(facts.MaxAllowedPacket),
		Version: o.Version, Progress: o.Progress.Rows,
	})
}

// PrepareOnly loads the dataset of cfg's cell and measures nothing. The target
// must not be local.
func PrepareOnly(ctx context.Context, cfg *config.Config, o Options) (*bench.Dataset, error) {
	var d *bench.Dataset
	err := withDataset(ctx, cfg, o, func(c *run) error {
		var err error
		d, err = loadDataset(ctx, c.target.door, c.data, cfg, c.facts, o)
		return err
	})
	return d, err
}

// Cleanup drops the tables of cfg's dataset that cellbench made and returns
// their names.
func Cleanup(ctx context.Context, cfg *config.Config, o Options) (dropped []string, err error) {
	err = withDataset(ctx, cfg, o, func(c *run) error {
		dropped, err = dataset.Drop(ctx, conn{c.control}, c.data)
		return err
	})
	return dropped, err
}

// withDataset opens the target of cfg, locked, for work on its dataset.
func withDataset(ctx context.Context, cfg *config.Config, o Options, do func(*run) error) error {
	r := &run{cfg: cfg, o: o, res: blank(cfg, o)}
	defer r.close()
	sc, err := r.plan()
	if err != nil {
		return err
	}
	if err := r.open(ctx, sc); err != nil {
		return cause(ctx, err)
	}
	return cause(ctx, do(r))
}

// opener gives dataset its connections.
func opener(door *mysql.Door) dataset.Opener {
	return func(ctx context.Context) (dataset.Conn, error) {
		c, err := door.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

// conn is a control connection as dataset wants it.
type conn struct{ *mysql.Conn }

// Query returns the rows of a statement as text.
func (c conn) Query(ctx context.Context, stmt string, args ...any) ([][]sql.NullString, error) {
	rows, err := c.Conn.Query(ctx, stmt, args...)
	if err != nil {
		return nil, err
	}
	return rows.Rows, nil
}
