package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"

	"cellbench/internal/bench"
	"cellbench/internal/config"
)

// load reads a configuration from just these variables.
func load(t *testing.T, env map[string]string) (*config.Config, error) {
	t.Helper()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "BENCH_") {
			t.Setenv(name, "") // restored by the test's end; Load drops it
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	return config.Load()
}

func mustLoad(t *testing.T, env map[string]string) *config.Config {
	t.Helper()
	c, err := load(t, env)
	if err != nil {
		t.Fatalf("load %v: %v", env, err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, nil)
	if !c.Local || c.Workload != "oltp_read_write" || c.Scenario != "asis" || c.Threads != 1 || c.Tables != 1 || c.TableSize != 10000 ||
		c.Time.Std() != time.Minute || c.WarmupTime.Std() != 5*time.Second || c.Events != 0 || c.Rate != 0 || c.RandType != "uniform" ||
		c.ReportInterval.Std() != time.Second || c.Engine != "auto" || c.DbPsMode != "auto" || c.Results != "./results" || c.Prepare != "auto" ||
		!bool(c.AutoInc) || bool(c.Secondary) || !bool(c.RangeSelects) || c.MysqlPort != 3306 || c.MysqlDb != "sbtest" || c.MysqlTLS != "disabled" {
		t.Errorf("defaults are not the contract's: %+v", c)
	}
	if !slices.Equal([]float64(c.Percentile), []float64{50, 95, 99, 99.9}) {
		t.Errorf("percentile = %v", c.Percentile)
	}
	if c.MysqlIgnoreErrors.All || !slices.Equal(c.MysqlIgnoreErrors.Codes, []int{1213, 1020, 1205}) {
		t.Errorf("ignore errors = %v", c.MysqlIgnoreErrors)
	}
}

// TestNamesAreEnvconfigs holds the names in documentation and suggestions
// against those that envconfig really reads.
func TestNamesAreEnvconfigs(t *testing.T) {
	typ := reflect.TypeFor[config.Config]()
	var want []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Tag.Get("config") == "-" {
			continue
		}
		if f.Tag.Get("envconfig") != "" {
			t.Errorf("%s has an envconfig name: envconfig would then read the variable without the prefix too", f.Name)
		}
		f.Tag += ` split_words:"true" required:"true"`
		f.Tag = reflect.StructTag(strings.Replace(string(f.Tag), "default:", "nodefault:", 1))
		one := reflect.New(reflect.StructOf([]reflect.StructField{{Name: f.Name, Type: f.Type, Tag: f.Tag}}))
		err := envconfig.Process(config.Prefix, one.Interface())
		_, after, ok := strings.Cut(err.Error(), "required key ")
		if !ok {
			t.Fatalf("%s: %v", f.Name, err)
		}
		name, _, _ := strings.Cut(after, " ")
		want = append(want, name)
	}
	if got := config.VariableNames(); !slices.Equal(got, want) {
		t.Errorf("names:\n got %v\nwant %v", got, want)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(t, map[string]string{
		"BENCH_THREADS": "0", "BENCH_TABLE_SIZE": "10Q", "BENCH_TIME": "-1", "BENCH_ENGINE": "fast", "BENCH_THREDS": "8",
		"BENCH_SKIP_TRX": "perhaps", "BENCH_PERCENTILE": "50,101", "BENCH_RAND_PARETO_H": "1.5", "BENCH_MYSQL_TLS_CERT": "cert.pem",
		"BENCH_LABELS": "a=1,b", "BENCH_MYSQL_IGNORE_ERRORS": "1213;1205", "BENCH_CELL_INDEX": "-3",
	})
	if bench.CodeOf(err) != bench.ExitConfig {
		t.Fatalf("exit code %d, want 64: %v", bench.CodeOf(err), err)
	}
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("a %T", err)
	}
	text := err.Error()
	for _, want := range []string{
		"BENCH_THREDS: unknown variable, did you mean BENCH_THREADS?",
		"BENCH_THREADS=0: allowed is 1 to 100000",
		"BENCH_TABLE_SIZE=10Q: allowed is a whole number (10000, 10k, 10M)",
		"BENCH_TIME=-1: allowed is seconds (60) or a duration (90s, 5m)",
		"BENCH_ENGINE=fast: allowed are auto, wire, driver",
		"BENCH_SKIP_TRX=perhaps: allowed is on or off",
		`BENCH_PERCENTILE=50,101: "101" is not a percentile; allowed is a list`,
		"BENCH_RAND_PARETO_H=1.5: allowed is a number over 0 and below 1",
		"BENCH_MYSQL_TLS_CERT=cert.pem: a client certificate needs its key",
		`BENCH_LABELS=a=1,b: "b" has no name before an =`,
		`BENCH_MYSQL_IGNORE_ERRORS=1213;1205: "1213;1205" is not an error number`,
		"BENCH_CELL_INDEX=-3: allowed is a whole number from 0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in:\n%s", want, text)
		}
	}
}

func TestValues(t *testing.T) {
	for _, tc := range []struct {
		name, variable, value string
		get                   func(*config.Config) any
		want                  any
	}{
		{"seconds", "BENCH_TIME", "90", func(c *config.Config) any { return c.Time.Std() }, 90 * time.Second},
		{"fraction of a second", "BENCH_REPORT_INTERVAL", "0.5", func(c *config.Config) any { return c.ReportInterval.Std() }, 500 * time.Millisecond},
		{"minutes", "BENCH_TIME", "5m", func(c *config.Config) any { return c.Time.Std() }, 5 * time.Minute},
		{"millions", "BENCH_TABLE_SIZE", "10M", func(c *config.Config) any { return int64(c.TableSize) }, int64(10_000_000)},
		{"thousands", "BENCH_TABLE_SIZE", "10k", func(c *config.Config) any { return int64(c.TableSize) }, int64(10_000)},
		{"digits", "BENCH_EVENTS", "10000000", func(c *config.Config) any { return int64(c.Events) }, int64(10_000_000)},
		{"switch as sysbench writes it", "BENCH_AUTO_INC", "off", func(c *config.Config) any { return bool(c.AutoInc) }, false},
		{"all errors", "BENCH_MYSQL_IGNORE_ERRORS", "all", func(c *config.Config) any { return c.MysqlIgnoreErrors.All }, true},
		{"no errors", "BENCH_MYSQL_IGNORE_ERRORS", "none", func(c *config.Config) any { return len(c.MysqlIgnoreErrors.Codes) }, 0},
		{"labels hold = and :", "BENCH_LABELS", "host=db:3306,q=a=b", func(c *config.Config) any { return c.Labels["host"] + " " + c.Labels["q"] }, "db:3306 a=b"},
		{"empty is unset", "BENCH_THREADS", "", func(c *config.Config) any { return c.Threads }, 1},
		{"case of a choice", "BENCH_RAND_TYPE", "Pareto", func(c *config.Config) any { return c.RandType }, "pareto"},
		{"sysbench's spelling of TLS", "BENCH_MYSQL_TLS", "VERIFY_CA", func(c *config.Config) any { return c.MysqlTLS }, "verify-ca"},
		{"no lock", "BENCH_LOCK_TIMEOUT", "off", func(c *config.Config) any { return c.LockTimeout.Off }, true},
		{"an event limit alone lifts the time", "BENCH_EVENTS", "100", func(c *config.Config) any { return c.Time.Std() }, time.Duration(0)},
		{"percentiles sorted, once each", "BENCH_PERCENTILE", "99.9,50,50", func(c *config.Config) any { return c.Percentile.String() }, "50,99.9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := map[string]string{tc.variable: tc.value}
			if strings.HasPrefix(tc.variable, "BENCH_MYSQL_TLS") {
				env["BENCH_MYSQL_HOST"] = "db"
			}
			if got := tc.get(mustLoad(t, env)); got != tc.want {
				t.Errorf("%s=%s gives %v, want %v", tc.variable, tc.value, got, tc.want)
			}
		})
	}
}

// TestUnprefixedVariablesAreNotRead guards envconfig's fallback to the name
// without prefix.
func TestUnprefixedVariablesAreNotRead(t *testing.T) {
	for _, name := range config.VariableNames() {
		t.Setenv(strings.TrimPrefix(name, "BENCH_"), "17")
	}
	if c := mustLoad(t, nil); c.Threads != 1 || c.MysqlHost != "" || c.DSN != "" || c.MysqlPassword != "" {
		t.Errorf("read a variable without its prefix: %+v", c)
	}
}

func TestContradictions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"two targets", map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_DSN": "u:p@tcp(b)/c"}, "set only one of BENCH_DSN"},
		{"port without host", map[string]string{"BENCH_MYSQL_PORT": "3307"}, "no target is named"},
		{"user beside DSN", map[string]string{"BENCH_DSN": "u:p@tcp(b)/c", "BENCH_MYSQL_USER": "x"}, "BENCH_DSN already says it"},
		{"two passwords", map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_MYSQL_PASSWORD": "x", "BENCH_MYSQL_PASSWORD_FILE": file}, "set only one of BENCH_MYSQL_PASSWORD"},
		{"no password file", map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_MYSQL_PASSWORD_FILE": "/nowhere/at/all"}, "no such file"},
		{"socket with port", map[string]string{"BENCH_MYSQL_SOCKET": "/s", "BENCH_MYSQL_PORT": "3307"}, "a socket has no port"},
		{"endless", map[string]string{"BENCH_TIME": "0"}, "would never end"},
		{"token in clear text", map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_MYSQL_AUTH": "rds-iam"}, "TLS is needed"},
		{"files without TLS", map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_MYSQL_TLS_CA": file}, "BENCH_MYSQL_TLS is disabled"},
		{"hot row out of range", map[string]string{"BENCH_HOTSPOT_ROW": "101"}, "ids 1 to 100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.env)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
			if bench.CodeOf(err) != bench.ExitConfig {
				t.Errorf("exit code %d", bench.CodeOf(err))
			}
		})
	}
}

func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(" hush \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_MYSQL_PASSWORD_FILE": file})
	if c.Password != " hush " {
		t.Errorf("password %q: one trailing newline is dropped, nothing else", c.Password)
	}
}

// TestSecretsAreNowhere plants a password in every secret variable and looks for
// it in everything a configuration shows.
func TestSecretsAreNowhere(t *testing.T) {
	const canary = "c4n4ry"
	env := map[string]string{"BENCH_MYSQL_HOST": "a", "BENCH_DSN": "u:" + canary + "@tcp(b)/c", "BENCH_MYSQL_PASSWORD": canary, "BENCH_MYSQL_PASSWROD": canary}
	_, err := load(t, env)
	if err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("the error is %v", err)
	}
	delete(env, "BENCH_MYSQL_HOST")
	delete(env, "BENCH_MYSQL_PASSWORD")
	delete(env, "BENCH_MYSQL_PASSWROD")
	c := mustLoad(t, env)
	for name, value := range c.Public() {
		if strings.Contains(value, canary) {
			t.Errorf("%s shows the password", name)
		}
		if config.Secret(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}

func TestPublicRoundTrips(t *testing.T) {
	c := mustLoad(t, map[string]string{"BENCH_TIME": "2.5", "BENCH_TABLE_SIZE": "20k", "BENCH_SKIP_TRX": "on", "BENCH_RAND_ZIPFIAN_EXP": "1.1", "BENCH_PERCENTILE": "95"})
	again := mustLoad(t, c.Public())
	if !reflect.DeepEqual(c.Public(), again.Public()) {
		t.Errorf("a result's config does not give the same cell again:\n%v\n%v", c.Public(), again.Public())
	}
}

// TestReadmeHasTheTable keeps the README's variables equal to the struct's.
// Run with -update to write it.
func TestReadmeHasTheTable(t *testing.T) {
	const begin, end = "<!-- variables: made by `make generate` -->\n", "<!-- end of variables -->"
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(readme), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("README.md has no place for the table, between %q and %q", begin, end)
	}
	want := "\n" + config.Table() + "\n"
	if have == want {
		return
	}
	if *update {
		if err := os.WriteFile("../../README.md", []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the table of variables in README.md is not that of config.Config; run `make generate`")
}

func FuzzTypes(f *testing.F) {
	for _, s := range []string{"60", "1.5", "90s", "10M", "on", "1213,1205", "a=b", "off", "50,99.9", "-1", "NaN", "1e309", ",", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		roundTrip[config.Duration](t, s)
		roundTrip[config.Count](t, s)
		roundTrip[config.Switch](t, s)
		roundTrip[config.Float](t, s)
		roundTrip[config.Percentiles](t, s)
		roundTrip[config.IgnoreErrors](t, s)
		roundTrip[config.LockTimeout](t, s)
		roundTrip[config.CellIndex](t, s)
	})
}

// roundTrip checks that what a value writes is read back as the same value.
func roundTrip[T any, P interface {
	*T
	Decode(string) error
	String() string
}](t *testing.T, s string) {
	t.Helper()
	var a, b T
	if P(&a).Decode(s) != nil {
		return
	}
	text := P(&a).String()
	if err := P(&b).Decode(text); err != nil {
		t.Errorf("%T: %q is written %q, which cannot be read: %v", a, s, text, err)
	} else if P(&b).String() != text {
		t.Errorf("%T: %q is written %q and then %q", a, s, text, P(&b).String())
	}
}
