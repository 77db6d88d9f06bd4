package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
)

// study1 turns the published QPS of the performance_schema study into results.
func study1(t testing.TB) []Document {
	t.Helper()
	var list []made
	for _, r := range publishedRows(t, "performance_schema_overhead.csv") {
		list = append(list, made{target: r["target"], workload: r["workload"], scenario: r["scenario"], threads: atoi(t, r["threads"]), qps: atof(t, r["qps"])})
	}
	return append(docs(t, list...), Document{Key: "run/manifest.json", Body: study1Manifest})
}

var study1Manifest = []byte(`{"schema":"cellbench.manifest/v1","run_id":"run","study":{"name":"performance-schema-overhead",
"description":"What performance_schema costs, by what it observes.","baseline":{"axis":"scenario","value":"pfsoff"},
"axes":{"scenario":["pfsoff","pfson_conoff_insoff","pfson_conon_insoff","pfson_conon_ins_sqlon","pfson_conoff_inson","pfson_conon_inson"],
"target":["rds","polardb"],"workload":["oltp_read_only","oltp_write_only","oltp_read_write"]},
"report":{"at":["threads=32"]}},"cells":[]}`)

func publishedRows(t testing.TB, name string) []map[string]string {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(published(t, name))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, rec := range records[1:] {
		row := make(map[string]string)
		for i, h := range records[0] {
			row[h] = rec[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func atof(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStudy1(t *testing.T) {
	t.Parallel()
	r := build(t, study1(t), Options{References: []Reference{{"performance_schema_overhead", published(t, "performance_schema_overhead.csv")}}})
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "study1.md", files["report.md"])
	golden(t, "study1.csv", files["report.csv"])
	golden(t, "study1.bench", files["report.bench"])
	golden(t, "study1.txt", []byte(r.Summary()))

	wrong, right := 0, 0
	for _, row := range publishedRows(t, "performance_schema_overhead.csv") {
		text := row["published_percent_vs_pfsoff"]
		if text == "" {
			continue
		}
		p := r.at(t, row["target"]+", "+workloadName(row["workload"]), row["scenario"], atoi(t, row["threads"]))
		base := r.at(t, row["target"]+", "+workloadName(row["workload"]), "pfsoff", atoi(t, row["threads"]))
		want := 100 * (atof(t, row["qps"])/base.QPS.Center - 1)
		if math.Abs(*p.Delta.Percent-want) > 1e-9 {
			t.Errorf("%v: %v %%, want %v", row, *p.Delta.Percent, want)
		}
		if math.Abs(*p.Delta.Percent-atof(t, text)) > 0.015 {
			wrong++
		} else {
			right++
		}
	}
	if wrong != 58 || right != 272 {
		t.Errorf("%d published percentages do not follow and %d do, want 58 and 272", wrong, right)
	}
	ref := r.References[0]
	if ref.Wrong != 58 || ref.Checked != 330 {
		t.Errorf("the report marks %d of %d percentages, want 58 of 330", ref.Wrong, ref.Checked)
	}
	for _, row := range ref.Rows {
		if row.Measured == nil || *row.Measured != row.Number {
			t.Fatalf("%v has no measured number beside it or another one", row)
		}
	}
}

func TestStudy3Peaks(t *testing.T) {
	t.Parallel()
	body := published(t, "polardbx_sysbench.csv")
	var list []made
	for _, r := range publishedRows(t, "polardbx_sysbench.csv") {
		labels := map[string]string{"mysql_version": r["mysql_version"], "instance_spec": r["instance_spec"]}
		m := made{target: "px-" + r["mysql_version"] + "-" + r["instance_spec"], workload: r["workload"], scenario: "asis", threads: atoi(t, r["threads"]), qps: atof(t, r["qps"]), labels: labels}
		list = append(list, m)
		m.threads, m.qps = 100, m.qps/2 // not the peak
		list = append(list, m)
	}
	r := build(t, docs(t, list...), Options{Baseline: "instance_spec=4C32G*2", References: []Reference{{"polardbx_sysbench", body}}})
	if len(r.Panels) != 12 {
		t.Fatalf("%d panels, want one for each of 2 engines and 6 workloads", len(r.Panels))
	}
	for _, row := range publishedRows(t, "polardbx_sysbench.csv") {
		for _, p := range r.Panels {
			if p.Title != "mysql_version "+row["mysql_version"]+", "+workloadName(row["workload"]) {
				continue
			}
			peak := p.column(row["instance_spec"]).Peak
			if fmt.Sprint(peak.QPSThreads) != row["threads"] || peak.QPS != atof(t, row["qps"]) {
				t.Errorf("%v: peak %v at %d threads", row, peak.QPS, peak.QPSThreads)
			}
		}
	}
	ref := r.References[0]
	if !ref.Peaks || ref.Axis != "instance_spec" || ref.Metric != "qps" || len(ref.tables(0)) != 12 {
		t.Errorf("peaks %v of %s by %s in %d tables", ref.Peaks, ref.Metric, ref.Axis, len(ref.tables(0)))
	}
	for _, row := range ref.Rows {
		if row.Measured == nil || *row.Measured != row.Number {
			t.Fatalf("%v has no measured peak beside it or another one", row)
		}
	}
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "study3.md", files["report.md"])
}

func TestStudy4Peaks(t *testing.T) {
	t.Parallel()
	var list []made
	for _, r := range publishedRows(t, "hotspot_update.csv") {
		for _, threads := range []int{16, 64} {
			tps := atof(t, r["peak_tps"])
			if threads == 16 {
				tps /= 3
			}
			list = append(list, made{target: r["target"], workload: "hotspot_update", scenario: "asis", threads: threads, qps: 16 * tps})
		}
	}
	r := build(t, docs(t, list...), Options{
		Baseline: "target=rds_high_availability", Metric: "tps",
		References: []Reference{{"hotspot_update", published(t, "hotspot_update.csv")}},
	})
	if len(r.Panels) != 1 {
		t.Fatalf("%d panels, want 1", len(r.Panels))
	}
	for value, want := range map[string]float64{"rds_high_availability": 12000, "rds_enterprise": 31000} {
		if peak := r.Panels[0].column(value).Peak; peak.TPS != want || peak.TPSThreads != 64 {
			t.Errorf("%s: peak %+v, want %v TPS at 64 threads", value, peak, want)
		}
	}
	for _, row := range r.References[0].Rows {
		if row.Measured == nil || *row.Measured != row.Number {
			t.Errorf("%v has no measured peak beside it or another one", row)
		}
	}
	want := "hotspot-update at 64 threads: rds_enterprise gains 158.33 % of TPS (31,000 against 12,000; a single measurement)"
	if r.Findings[0].Text != want {
		t.Errorf("finding %q, want %q", r.Findings[0].Text, want)
	}
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "study4.md", files["report.md"])
}

func TestReferencesAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"performance_schema_overhead.csv", "polardbx_sysbench.csv", "hotspot_update.csv"} {
		r := build(t, nil, Options{References: []Reference{{name, published(t, name)}}})
		if _, err := r.Files(); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}
