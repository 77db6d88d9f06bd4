package study

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/config"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	const file = `
name: x
axes: {target: [a, b], threads: [8]}
settings: {time: 60, table_size: 100, mysql_user: shared, mysql_socket: /shared}
labels: {owner: study, team: t}
targets:
  a: {mysql_host: h1, mysql_password: "${A_PW}", labels: {spec: small}}
  b: {dsn: "u:${B_PW}@tcp(h2)/db"}
workloads: {}
order: sequential
`
	cases := map[string]struct {
		cell      int
		container []string
		want      []string
		never     []string // names
	}{
		"the study's settings": {0, []string{"A_PW=s"}, []string{"BENCH_TIME=60", "BENCH_TABLE_SIZE=100"}, nil},
		"the container wins over shared settings": {
			0,
			[]string{"A_PW=s", "BENCH_TIME=5", "BENCH_REPORT_INTERVAL=2"},
			[]string{"BENCH_TIME=5", "BENCH_REPORT_INTERVAL=2", "BENCH_TABLE_SIZE=100"},
			nil,
		},
		"empty is unset":                       {0, []string{"A_PW=s", "BENCH_TIME="}, []string{"BENCH_TIME=60"}, nil},
		"the last of a name counts":            {0, []string{"A_PW=s", "BENCH_TIME=1", "BENCH_TIME=2"}, []string{"BENCH_TIME=2"}, nil},
		"never over an axis":                   {0, []string{"A_PW=s", "BENCH_THREADS=1", "BENCH_TARGET=z"}, []string{"BENCH_THREADS=8", "BENCH_TARGET=a"}, nil},
		"never over the target":                {0, []string{"A_PW=s", "BENCH_MYSQL_HOST=z"}, []string{"BENCH_MYSQL_HOST=h1"}, nil},
		"references are read":                  {0, []string{"A_PW=s3cret"}, []string{"BENCH_MYSQL_PASSWORD=s3cret"}, nil},
		"a host drops other addresses":         {0, []string{"A_PW=s", "BENCH_DSN=u@/x"}, []string{"BENCH_MYSQL_USER=shared"}, []string{"BENCH_DSN", "BENCH_MYSQL_SOCKET"}},
		"a password drops a password file":     {0, []string{"A_PW=s", "BENCH_MYSQL_PASSWORD_FILE=/f"}, nil, []string{"BENCH_MYSQL_PASSWORD_FILE"}},
		"a DSN drops the single settings":      {1, []string{"B_PW=s", "BENCH_MYSQL_HOST=z", "BENCH_MYSQL_USER=u"}, []string{"BENCH_DSN=u:s@tcp(h2)/db"}, []string{"BENCH_MYSQL_HOST", "BENCH_MYSQL_USER", "BENCH_MYSQL_SOCKET"}},
		"labels of all sources":                {0, []string{"A_PW=s", "BENCH_LABELS=owner=me,x=1,spec=z"}, []string{"BENCH_LABELS=owner=me,spec=small,team=t,x=1"}, nil},
		"other variables pass":                 {0, []string{"A_PW=s", "AWS_REGION=r", "HOME="}, []string{"AWS_REGION=r", "HOME="}, nil},
		"study variables don't":                {0, []string{"A_PW=s", "BENCH_STUDY=x", "BENCH_ONLY=a=b"}, nil, []string{"BENCH_STUDY", "BENCH_ONLY"}},
		"the cell knows its name":              {1, []string{"B_PW=s"}, []string{"BENCH_CELL_INDEX=1", "BENCH_CELL_ID=b-oltp_read_write-asis-t8", "BENCH_REPEAT=1"}, nil},
		"dollars of the container stay":        {0, []string{"A_PW=s", "BENCH_INIT_SQL=${X}"}, []string{"BENCH_INIT_SQL=${X}"}, nil},
		"dollars inside a secret stay":         {0, []string{"A_PW=${B}$$"}, []string{"BENCH_MYSQL_PASSWORD=${B}$$"}, nil},
		"a container's index loses to its own": {0, []string{"A_PW=s", "BENCH_CELL_INDEX=1"}, []string{"BENCH_CELL_INDEX=0"}, nil},
	}
	s := parse(t, file)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cells := plan(t, s, Options{Environ: c.container})
			env, err := cells[c.cell].Environ(c.container)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !slices.Contains(env, want) {
					t.Errorf("no %s in\n%s", want, strings.Join(env, "\n"))
				}
			}
			names := map[string]int{}
			for _, entry := range env {
				name, _, _ := strings.Cut(entry, "=")
				names[name]++
				if names[name] > 1 {
					t.Errorf("%s is there twice", name)
				}
			}
			for _, name := range c.never {
				if names[name] > 0 {
					t.Errorf("%s is there", name)
				}
			}
		})
	}
	_, err := plan(t, s, Options{})[0].Environ(nil)
	if want := "read setting BENCH_MYSQL_PASSWORD of cell a-oltp_read_write-asis-t8: the environment has no variable A_PW"; err == nil || err.Error() != want || bench.CodeOf(err) != bench.ExitConfig {
		t.Errorf("missing reference: %v", err)
	}
}

func TestSettingsOfWorkloadsAndScenarios(t *testing.T) {
	t.Parallel()
	s := parse(t, `
name: x
axes: {workload: [w1, w2], scenario: [s1, s2]}
settings: {range_size: 100}
workloads: {w1: {range_size: 5}}
scenarios: {s2: {time: 7}}
order: sequential
`)
	cells := plan(t, s, Options{})
	for i, want := range []string{"5 ", "5 7", "100 ", "100 7"} {
		env := parseEnviron(must(cells[i].Environ(nil)))
		if got := env["BENCH_RANGE_SIZE"] + " " + env["BENCH_TIME"]; got != want {
			t.Errorf("cell %d (%s): %q, want %q", i, cells[i].ID, got, want)
		}
	}
	env := parseEnviron(must(cells[0].Environ([]string{"BENCH_RANGE_SIZE=9"})))
	if env["BENCH_RANGE_SIZE"] != "9" {
		t.Error("the container doesn't win over a workload's setting")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const canary = "c4n4ry-s3cret"

func TestNoSecretInAManifestOrPlan(t *testing.T) {
	t.Parallel()
	s := parse(t, `
name: x
description: do not tell c4n4ry-s3cret
axes: {target: [a, b, c]}
settings: {init_sql: "ALTER USER x IDENTIFIED BY 'c4n4ry-s3cret'", session_sql: "SET @a = 'c4n4ry-s3cret'"}
labels: {note: c4n4ry-s3cret}
targets:
  a: {mysql_host: h1, mysql_password: c4n4ry-s3cret}
  b: {dsn: "user:c4n4ry-s3cret@tcp(h2:3306)/db?tls=true"}
  c: {mysql_host: h3, mysql_password: "${PROD_PASSWORD}"}
workloads: {}
`)
	container := []string{
		"PROD_PASSWORD=" + canary, "BENCH_MYSQL_PASSWORD=" + canary, "BENCH_DSN=u:" + canary + "@/db",
		"AWS_SECRET_ACCESS_KEY=" + canary, "BENCH_LABELS=a=" + canary, "BENCH_RESULTS=s3://" + canary + "/x",
	}
	o := Options{Environ: container}
	cells := plan(t, s, o)
	text := must(json.Marshal(s.Manifest(cells, o, "r", "v", time.Unix(0, 0))))
	if strings.Contains(string(text), canary) {
		t.Errorf("the manifest holds the secret: %s", text)
	}
	for _, want := range []string{`${PROD_PASSWORD}`, `user:***@tcp(h2:3306)/db?tls=true`, `"BENCH_MYSQL_PASSWORD":"***"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest doesn't hold %s: %s", want, text)
		}
	}
	found := false
	for _, c := range cells {
		shown := strings.Join(c.Show(container), "\n")
		if strings.Contains(shown, canary) {
			t.Errorf("the plan holds the secret: %s", shown)
		}
		env := strings.Join(must(c.Environ(container)), "\n")
		found = found || strings.Contains(env, "BENCH_MYSQL_PASSWORD="+canary)
	}
	if !found {
		t.Error("no cell's environment has the password: the test looks at nothing")
	}
}

func TestSplitDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string][2]string{
		"u:p@tcp(h)/db":          {"u:***@tcp(h)/db", "p"},
		"u:p@w:/x@tcp(h)/db?a=b": {"u:***@tcp(h)/db?a=b", "p@w:/x"},
		"u@tcp(h)/db":            {"u@tcp(h)/db", ""},
		"tcp(h)/db":              {"tcp(h)/db", ""},
		"/":                      {"/", ""},
		"junk":                   {"***", "junk"},
	} {
		if shown, password := splitDSN(dsn); shown != want[0] || password != want[1] {
			t.Errorf("splitDSN(%q) = %q, %q, want %q", dsn, shown, password, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	s := parse(t, "name: x\naxes: {threads: [1, 2]}\nsettings: {time: 10s, warmup_time: 1, tables: 2, table_size: 500k}\n")
	cells := plan(t, s, Options{})
	load := 10 * time.Second // 2 tables of 500,000 rows
	each := 11*time.Second + cellOverhead
	for name, c := range map[string]struct {
		container []string
		want      time.Duration
	}{
		"throwaway servers load each time": {nil, 2*each + 2*load + 2*localServer},
		"a server keeps the dataset":       {[]string{"BENCH_MYSQL_HOST=h"}, 2*each + load},
		"nothing to load":                  {[]string{"BENCH_MYSQL_HOST=h", "BENCH_PREPARE=never"}, 2 * each},
		"scaled down":                      {[]string{"BENCH_MYSQL_HOST=h", "BENCH_TIME=2", "BENCH_TABLE_SIZE=0"}, 2 * (3*time.Second + cellOverhead)},
	} {
		if got := Estimate(cells, c.container); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestEverySecretSettingIsMasked(t *testing.T) {
	t.Parallel()
	n := 0
	for _, name := range config.VariableNames() {
		if !config.Secret(name) {
			continue
		}
		n++
		value := canary
		if isDSN(name) {
			value = "u:" + canary + "@/db"
		}
		if shown := newMasker().value(name, value); strings.Contains(shown, canary) {
			t.Errorf("%s is shown as %s", name, shown)
		}
	}
	if n == 0 {
		t.Error("the configuration has no secrets: the test looks at nothing")
	}
}
