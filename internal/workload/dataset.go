package workload

import "cellbench/internal/workload/dataset"

// Dataset returns what a built-in workload needs to run on.
func Dataset(name string, o Options) (dataset.Spec, error) {
	if _, err := New(name, o); err != nil {
		return dataset.Spec{}, err
	}
	tables := dataset.Sbtest{
		Tables: o.Tables, Rows: o.TableSize, AutoInc: o.AutoInc, Secondary: o.Secondary,
		CreateSecondary: o.CreateSecondary, Engine: o.StorageEngine, TableOptions: o.TableOptions, K: o.Rand,
	}
	drifts := false
	switch name {
	case "bulk_insert":
		return dataset.Bulk(max(o.Threads, 1)), nil
	case "hotspot_update":
		tables.Tables, tables.Rows = 1, HotspotRows
	case "oltp_insert":
		// Own ids would collide with those of loaded rows, so sysbench loads none.
		tables.Empty, drifts = !o.AutoInc, true
	case "oltp_delete":
		drifts = true
	}
	s := tables.Spec()
	s.Drifts = drifts
	return s, nil
}
