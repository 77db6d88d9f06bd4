package sysbench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

func noFile(string) ([]byte, error) { return nil, errors.New("no such file") }

func translate(t *testing.T, line string) *Translation {
	t.Helper()
	out, err := FromCommandLine([]string{line}, noFile)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (t *Translation) text() string {
	var words []string
	for _, p := range t.Env {
		words = append(words, strings.TrimPrefix(p.Name, "BENCH_")+"="+p.Value)
	}
	return strings.Join(words, " ")
}

func TestFromCommandLine(t *testing.T) {
	t.Parallel()
	const host = "MYSQL_HOST=h "
	cases := map[string]struct{ line, want, note string }{
		"defaults": {
			"sysbench oltp_read_only run", "WORKLOAD=oltp_read_only MYSQL_HOST=localhost TIME=10 WARMUP_TIME=0 RAND_TYPE=special",
			"--rand-type: not given; the default of sysbench 1.0.20 is special (three quarters of the accesses go to 1 % of the rows)",
		},
		"path of the program and the script": {
			"/usr/bin/sysbench /usr/share/sysbench/oltp_read_only.lua --mysql-host=h run",
			"WORKLOAD=oltp_read_only " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=special", "taken for sysbench's own script",
		},
		"underscores, options anywhere, the last wins": {
			"sysbench --mysql_host=h --threads=2 oltp_read_only --table_size=5 run --threads=4",
			"WORKLOAD=oltp_read_only " + host + "THREADS=4 TABLE_SIZE=5 TIME=10 WARMUP_TIME=0 RAND_TYPE=special", "",
		},
		"numbers of scripts have no suffix": {
			"sysbench --mysql-host=h oltp_read_only --table-size=10M --tables=1e1 --range-size=2.7 --point-selects=abc run",
			"WORKLOAD=oltp_read_only " + host + "TABLES=10 TABLE_SIZE=10 TIME=10 WARMUP_TIME=0 RAND_TYPE=special RANGE_SIZE=2 POINT_SELECTS=0",
			"--table-size=10M: sysbench reads it as 10 because",
		},
		"events alone still end after ten seconds": {
			"sysbench --mysql-host=h --rand-type=uniform oltp_delete --events=100 run",
			"WORKLOAD=oltp_delete " + host + "TIME=10 EVENTS=100 WARMUP_TIME=0 RAND_TYPE=uniform", "sysbench also stops after its default of 10 seconds",
		},
		"no limit of time": {
			"sysbench --mysql-host=h --rand-type=uniform oltp_delete --time=0 --events=100 run",
			"WORKLOAD=oltp_delete " + host + "TIME=0 EVENTS=100 WARMUP_TIME=0 RAND_TYPE=uniform", "",
		},
		"no limit at all": {
			"sysbench --mysql-host=h --rand-type=uniform oltp_delete --time=0 run", "WORKLOAD=oltp_delete " + host + "WARMUP_TIME=0 RAND_TYPE=uniform", "a cell needs an end",
		},
		"deprecated names": {
			"sysbench --test=oltp_delete --mysql-host=h --num-threads=3 --max-time=5 --max-requests=7 --tx-rate=9 --rand-type=uniform run",
			"WORKLOAD=oltp_delete " + host + "THREADS=3 TIME=5 EVENTS=7 WARMUP_TIME=0 RATE=9 RAND_TYPE=uniform", "--max-time is a deprecated name of --time",
		},
		"master's options tell its defaults": {
			"sysbench --mysql-host=h --warmup-time=3 oltp_delete run", "WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=3 RAND_TYPE=uniform",
			"the default of sysbench's master, whose options are used here, is uniform",
		},
		"gaussian of master": {
			"sysbench --mysql-host=h --reconnect=5 --rand-type=gaussian oltp_delete run", "WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=gaussian RECONNECT=5",
			"draws the lowest id every time",
		},
		"hosts and ports": {
			"sysbench --mysql-host=h,h2 --mysql-port=3307,3308 --rand-type=uniform oltp_delete run",
			"WORKLOAD=oltp_delete " + host + "MYSQL_PORT=3307 TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "--mysql-host: a list (h,h2)",
		},
		"a socket wins over a host": {
			"sysbench --mysql-host=h --mysql-port=1 --mysql-socket=/s --rand-type=uniform oltp_delete run",
			"WORKLOAD=oltp_delete MYSQL_SOCKET=/s TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "ignored by sysbench when there is a socket",
		},
		"TLS of 1.0.20": {
			"sysbench --mysql-host=h --mysql-ssl --rand-type=uniform oltp_delete run", "WORKLOAD=oltp_delete " + host + "MYSQL_TLS=required TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform",
			"client-key.pem",
		},
		"TLS off": {
			"sysbench --mysql-host=h --mysql-ssl=off --rand-type=uniform oltp_delete run", "WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "",
		},
		"TLS of master": {
			"sysbench --mysql-host=h --mysql-ssl=VERIFY_CA --mysql-ssl-ca=/ca --rand-type=uniform oltp_delete run",
			"WORKLOAD=oltp_delete " + host + "MYSQL_TLS=verify-ca MYSQL_TLS_CA=/ca TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "",
		},
		"no errors ignored": {
			"sysbench --mysql-host=h --mysql-ignore-errors= --rand-type=uniform oltp_delete run",
			"WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform MYSQL_IGNORE_ERRORS=none", "",
		},
		"switches": {
			"sysbench --mysql-host=h --rand-type=uniform oltp_read_write --skip-trx --auto-inc=off --secondary=false --range-selects=1 run",
			"WORKLOAD=oltp_read_write " + host + "AUTO_INC=off SECONDARY=off TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform RANGE_SELECTS=on SKIP_TRX=on", "",
		},
		"percentile": {
			"sysbench --mysql-host=h --rand-type=uniform --percentile=99 oltp_delete run", "WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform PERCENTILE=99", "",
		},
		"no percentile": {
			"sysbench --mysql-host=h --rand-type=uniform --percentile=0 oltp_delete run", "WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "--percentile=0:",
		},
		"forced shutdown": {
			"sysbench --mysql-host=h --rand-type=uniform --time=60 --forced-shutdown oltp_delete run",
			"WORKLOAD=oltp_delete " + host + "TIME=60 WARMUP_TIME=0 DRAIN_TIMEOUT=3 RAND_TYPE=uniform", "--forced-shutdown:",
		},
		"prepare": {
			"sysbench --mysql-host=h --threads=16 --tables=4 --rand-type=uniform oltp_delete prepare", "WORKLOAD=oltp_delete " + host + "PREPARE_THREADS=16 TABLES=4 RAND_TYPE=uniform", "",
		},
		"cleanup": {"sysbench --mysql-host=h --tables=4 oltp_delete cleanup", "WORKLOAD=oltp_delete " + host + "TABLES=4", ""},
		"no counterpart": {
			"sysbench --mysql-host=h --rand-type=uniform --histogram=on --report-checkpoints=1,2 --mysql-compression oltp_delete run",
			"WORKLOAD=oltp_delete " + host + "TIME=10 WARMUP_TIME=0 RAND_TYPE=uniform", "--mysql-compression: no counterpart",
		},
		"a password": {
			"sysbench --mysql-host=h --rand-type=uniform --mysql-password='a b' oltp_delete cleanup", "WORKLOAD=oltp_delete " + host + "MYSQL_PASSWORD=a b", "BENCH_MYSQL_PASSWORD_FILE",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := translate(t, c.line)
			if got := out.text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			notes := strings.Join(out.Notes, "\n")
			if !strings.Contains(notes, c.note) {
				t.Errorf("no note %q in\n%s", c.note, notes)
			}
			for _, p := range out.Env {
				if p.Secret != (p.Name == "BENCH_MYSQL_PASSWORD") {
					t.Errorf("%s: secret is %v", p.Name, p.Secret)
				}
			}
			if words, _ := Split(c.line); out.Verb != words[len(words)-1] && !strings.Contains(c.line, " "+out.Verb+" ") {
				t.Errorf("verb %q", out.Verb)
			}
		})
	}
}

func TestFromCommandLineErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ line, want string }{
		"nothing":             {"sysbench ", "no test named"},
		"no command":          {"sysbench oltp_delete", "the command is missing"},
		"unknown command":     {"sysbench oltp_delete rnu", `no command "rnu", did you mean run?`},
		"unknown test":        {"sysbench oltp_reed_only run", `no workload "oltp_reed_only", did you mean oltp_read_only?`},
		"own script":          {"sysbench ./tpcc.lua run", "a script of your own becomes a file for BENCH_WORKLOAD_FILE"},
		"not a server":        {"sysbench cpu run", "measures this machine"},
		"unknown option":      {"sysbench oltp_delete --tabel-size=3 run", "read option --tabel-size: sysbench has none of that name, did you mean table-size?"},
		"value in next word":  {"sysbench oltp_delete --tables 3 run", "read option --tables: the value is missing: write --tables=VALUE"},
		"not a number":        {"sysbench oltp_delete --threads=3K run", `read option --threads: "3K", sysbench takes whole numbers below 2^31 only`},
		"too big":             {"sysbench oltp_delete --events=3000000000 run", "whole numbers below 2^31"},
		"no threads":          {"sysbench oltp_delete --threads=0 run", "allowed are 1 and more"},
		"fraction percentile": {"sysbench oltp_delete --percentile=99.9 run", `read option --percentile: "99.9"`},
		"percentile":          {"sysbench oltp_delete --percentile=101 run", "allowed are 0 to 100"},
		"switch":              {"sysbench oltp_delete --skip-trx=maybe run", "allowed are on and off"},
		"rand type":           {"sysbench oltp_delete --rand-type=unifrom run", "did you mean uniform?"},
		"driver":              {"sysbench oltp_delete --db-driver=pgsql run", "cellbench measures MySQL only"},
		"TLS word":            {"sysbench oltp_delete --mysql-ssl=verify run", `read option --mysql-ssl: "verify"`},
		"port":                {"sysbench oltp_delete --mysql-port=99999 run", "allowed are 1 to 65535"},
		"file":                {"sysbench oltp_delete --config-file=x run", "read option --config-file: no such file"},
		"quote":               {"sysbench 'oltp_delete run", "a quote ' is not closed"},
		"backslash":           {`sysbench oltp_delete run\`, "ends in a backslash"},
		"shutdown":            {"sysbench oltp_delete --forced-shutdown=soon run", "allowed are seconds, N% and off"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := FromCommandLine([]string{c.line}, noFile)
			if err == nil || !strings.Contains(err.Error(), c.want) || bench.CodeOf(err) != bench.ExitConfig {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	_, err := FromCommandLine([]string{"sysbench", "--foo=1", "--threads=x", "oltp_delete", "run"}, nil)
	if n := strings.Count(err.Error(), "\n"); n != 1 {
		t.Errorf("%d problems, want both: %v", n+1, err)
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	const file = "# comment\n\nthreads=3\nevents=\"5\"\nrand_type='uniform' # c\npercentile=90 # x\nmysql-host=h\ntables=4\nreport-interval = 1\nbogus=1\nrate\n"
	read := func(name string) ([]byte, error) {
		if name != "c.cfg" {
			return nil, os.ErrNotExist
		}
		return []byte(file), nil
	}
	cases := map[string]struct{ line, threads string }{
		"what comes later wins":     {"sysbench --config-file=c.cfg --threads=2 oltp_delete run", "2"},
		"so does a file after that": {"sysbench --threads=2 --config-file=c.cfg oltp_delete run", "3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := FromCommandLine([]string{c.line}, read)
			if err != nil {
				t.Fatal(err)
			}
			want := "WORKLOAD=oltp_delete MYSQL_HOST=h THREADS=" + c.threads + " TIME=10 EVENTS=5 WARMUP_TIME=0 RAND_TYPE=uniform PERCENTILE=90"
			if got := out.text(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			notes := strings.Join(out.Notes, "\n")
			for _, want := range []string{
				"c.cfg:8: sysbench loses tables in a file, because its scripts set their defaults later: left out; set BENCH_TABLES if it was meant to count",
				`c.cfg:9: sysbench loses "report-interval" because of the space`,
				`c.cfg:10: sysbench has no option "bogus"`,
				`c.cfg:11: "rate" has no value`,
			} {
				if !strings.Contains(notes, want) {
					t.Errorf("no note %q in\n%s", want, notes)
				}
			}
		})
	}
}

func TestSplitAndShell(t *testing.T) {
	t.Parallel()
	got, err := Split("a  'b c'd \"e \\\" \\n f\" \\\n  g\\ h ''")
	if want := []string{"a", "b cd", `e " \n f`, "g h", ""}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	out := &Translation{Verb: "run", Notes: []string{"a note"}, Env: []Pair{{Name: "BENCH_A", Value: "x"}, {Name: "BENCH_B", Value: "it's $HOME"}}}
	if got, want := out.Shell(), "# a note\nBENCH_A=x \\\nBENCH_B='it'\\''s $HOME' \\\ntask run\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzFromCommandLine(f *testing.F) {
	f.Add("sysbench --tables=10 --mysql-ssl=on 'oltp_read_only' run", "threads=3\ntables=1")
	f.Add("--config-file=a --forced-shutdown=5% oltp_delete prepare", "=\n\"\n a = b")
	f.Fuzz(func(t *testing.T, line, file string) {
		args, err := Split(line)
		if err != nil {
			return
		}
		out, err := FromCommandLine(args, func(string) ([]byte, error) { return []byte(file), nil })
		if err != nil {
			if bench.CodeOf(err) != bench.ExitConfig {
				t.Fatal(err)
			}
			return
		}
		names := map[string]bool{}
		for _, p := range out.Env {
			if names[p.Name] || p.Value == "" {
				t.Fatalf("%s is there twice or empty: %+v", p.Name, out.Env)
			}
			names[p.Name] = true
		}
	})
}

// The real program refuses and accepts the same command lines. Nothing is sent:
// --mysql-dry-run.
func TestRefusalsAreSysbenchs(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sysbench")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("sysbench is not installed")
		}
		t.Skip("sysbench is not installed")
	}
	file := filepath.Join(t.TempDir(), "c.cfg")
	if err := os.WriteFile(file, []byte("threads=2\nrate = 5\nbogus=1\n# c\ntables=3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{
		"", "--threads=2", "--threads=0", "--threads=2K", "--table-size=10M", "--table_size=abc", "--skip-trx=true", "--skip-trx=maybe",
		"--percentile=99.9", "--percentile=0", "--rand-type=pareto", "--rand-type=unifrom", "--tabel-size=1", "--max-requests=1", "--forced-shutdown",
		"--mysql-ignore-errors=all", "--mysql-ssl=off", "--mysql-host=a,b", "--mysql-host=", "--events=3000000000", "--threads 2", "--config-file=" + file,
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"oltp_read_only", "--mysql-dry-run", "--events=1", "--time=5"}, strings.Fields(options)...)
			args = append(args, "run")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, theirs := exec.CommandContext(ctx, program, args...).CombinedOutput()
			_, ours := FromCommandLine(args, os.ReadFile)
			if (ours == nil) != (theirs == nil) {
				t.Errorf("here: %v; sysbench: %v\n%s", ours, theirs, out)
			}
		})
	}
}
