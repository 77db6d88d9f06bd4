package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// canary is a password that nothing else looks like.
const canary = "c4n4ry-Zq9xW"

// canaryUser makes an account with the canary for a password.
func canaryUser(t *testing.T, srv *server, db string) string {
	t.Helper()
	user, _ := srv.User(t, "ALL ON "+db+".*")
	srv.Exec(t, "", "ALTER USER '"+user+"'@'%' IDENTIFIED BY '"+canary+"'")
	return user
}

// family returns a process and its descendants.
func family(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pids[i]) + "/task/*/children")
		for _, path := range tasks {
			text, _ := os.ReadFile(path)
			for word := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(word); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}

// watchArguments looks at the arguments of a task and its children until it ends,
// and returns how many looks it took and the arguments that hold secret.
func watchArguments(p *taskProcess, secret func(line string) bool) (seen map[string]bool, leaks []string) {
	seen = map[string]bool{}
	for {
		for _, pid := range family(p.Pid()) {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if err != nil || len(text) == 0 {
				continue
			}
			line := strings.ReplaceAll(string(text), "\x00", " ")
			if !seen[line] && secret(line) {
				leaks = append(leaks, line)
			}
			seen[line] = true
		}
		select {
		case <-p.done:
			return seen, leaks
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func holdsCanary(line string) bool { return strings.Contains(line, canary) }

// around cuts the surroundings of the canary out of a long text.
func around(text string) string {
	at := max(strings.Index(text, canary), 0)
	return text[max(0, at-200):min(len(text), at+200)]
}

// noCanary searches everything that a run leaves behind.
func noCanary(t *testing.T, run taskRun) {
	t.Helper()
	for name, text := range map[string]string{"stdout": run.Stdout, "stderr": run.Stderr} {
		if holdsCanary(text) {
			t.Errorf("%s holds the password: %s", name, around(text))
		}
	}
	files := 0
	err := filepath.WalkDir(run.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if holdsCanary(string(text)) || holdsCanary(path) {
			t.Errorf("%s holds the password: %s", path, around(string(text)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("the run left no file: the test looks at nothing")
	}
}

// TestPasswordStaysSecret plants a password in each way that one can be given and
// looks for it wherever a run can be seen: streams, stored results, arguments.
func TestPasswordStaysSecret(t *testing.T) {
	eachServer(t, func(t *testing.T, srv *server) {
		db := srv.Database(t)
		user := canaryUser(t, srv, db)
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		place := slices.Clip(base(srv, db)[:2]) // host and port
		load := []string{"BENCH_WARMUP_TIME=0", "BENCH_EVENTS=100", "BENCH_TABLE_SIZE=500", "BENCH_CONNECT_TIMEOUT=1"}
		address := "tcp(" + srv.Host + ":" + strconv.Itoa(srv.Port) + ")/"
		set := "SET PASSWORD = '" + canary + "'"
		if srv.Flavour == mariadbFlavour {
			set = "SET PASSWORD = PASSWORD('" + canary + "')"
		}
		ways := map[string]struct {
			env  []string
			code bench.ExitCode
		}{
			"variable":               {append(place, "BENCH_MYSQL_USER="+user, "BENCH_MYSQL_DB="+db, "BENCH_MYSQL_PASSWORD="+canary), 0},
			"file":                   {append(place, "BENCH_MYSQL_USER="+user, "BENCH_MYSQL_DB="+db, "BENCH_MYSQL_PASSWORD_FILE="+file), 0},
			"DSN":                    {[]string{"BENCH_DSN=" + user + ":" + canary + "@" + address + db}, 0},
			"DSN that is wrong":      {[]string{"BENCH_DSN=" + user + ":" + canary + "@" + address + db + "?tls=maybe"}, 64},
			"session SQL that fails": {append(place, "BENCH_MYSQL_USER="+user, "BENCH_MYSQL_DB="+db, "BENCH_MYSQL_PASSWORD="+canary, "BENCH_SESSION_SQL="+set+" EXTRA"), 64},
			"wrong user":             {append(place, "BENCH_MYSQL_USER=nobody", "BENCH_MYSQL_PASSWORD="+canary), 64},
			"wrong database":         {[]string{"BENCH_DSN=" + user + ":" + canary + "@" + address + "no_such_db"}, 66},
			"closed port":            {[]string{"BENCH_DSN=" + user + ":" + canary + "@tcp(127.0.0.1:1)/" + db}, 71},
			"session SQL":            {append(place, "BENCH_MYSQL_USER="+user, "BENCH_MYSQL_DB="+db, "BENCH_MYSQL_PASSWORD="+canary, "BENCH_SESSION_SQL="+set), 0},
		}
		for name, way := range ways {
			t.Run(name, func(t *testing.T) {
				p := startTask(t, append(load, way.env...))
				seen, leaks := watchArguments(p, holdsCanary)
				run := p.Wait().Want(t, way.code)
				if len(leaks) > 0 {
					t.Errorf("arguments hold the password: %q", leaks)
				}
				if len(seen) == 0 {
					t.Error("no arguments were seen: the test looks at nothing")
				}
				if name == "DSN that is wrong" {
					run.Dir = t.TempDir()
					_ = os.WriteFile(run.Dir+"/none", nil, 0o600) // it leaves no result
				}
				noCanary(t, run)
			})
		}
		t.Run("misspelt variable", func(t *testing.T) {
			run := runTask(t, append(place, "BENCH_MYSQL_PASWORD="+canary)).Want(t, bench.ExitConfig)
			if holdsCanary(run.Stderr + run.Stdout) {
				t.Errorf("stderr holds the password:\n%s", run.Stderr)
			}
		})
	})
}

// TestLocalServerHasNoSecretArguments looks at the arguments of the throwaway server
// and of what starts and guards it.
func TestLocalServerHasNoSecretArguments(t *testing.T) {
	t.Parallel()
	requireLocalServer(t)
	dir := scratch(t)
	p := startTask(t, []string{"TMPDIR=" + dir, "BENCH_TABLE_SIZE=500", "BENCH_WARMUP_TIME=0", "BENCH_EVENTS=100"})
	seen, leaks := watchArguments(p, func(line string) bool {
		return strings.Contains(strings.ToLower(line), "password") || strings.Contains(strings.ToUpper(line), "IDENTIFIED BY")
	})
	p.Wait().Want(t, bench.ExitOK)
	if len(leaks) > 0 {
		t.Errorf("arguments that speak of a password: %q", leaks)
	}
	if len(seen) < 2 {
		t.Errorf("seen only %v: no child was looked at", seen)
	}
}

// TestStudyKeepsSecrets runs a study whose targets have passwords, one written into
// the file and one from the environment, and reads its manifest and results.
func TestStudyKeepsSecrets(t *testing.T) {
	srv := mariadbServer(t)
	db := srv.Database(t)
	user := canaryUser(t, srv, db)
	file := filepath.Join(t.TempDir(), "study.yaml")
	text := `name: secrets
axes:
  target: [written, referred]
targets:
  written: {mysql_host: ` + srv.Host + `, mysql_port: ` + strconv.Itoa(srv.Port) + `, mysql_user: ` + user + `, mysql_db: ` + db + `, mysql_password: ` + canary + `}
  referred: {dsn: "` + user + `:${THE_SECRET}@tcp(` + srv.Host + `:` + strconv.Itoa(srv.Port) + `)/` + db + `"}
settings:
  events: 100
  warmup_time: 0
  table_size: 500
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startTask(t, []string{"THE_SECRET=" + canary}, "study", file)
	seen, leaks := watchArguments(p, holdsCanary)
	run := p.Wait().Want(t, bench.ExitOK)
	if len(leaks) > 0 {
		t.Errorf("arguments hold the password: %q", leaks)
	}
	if len(seen) < 1 {
		t.Error("no arguments were seen")
	}
	noCanary(t, run)
	if stored := storedResults(t, run.Dir+"/results"); len(stored) != 2 {
		t.Errorf("%d stored results, want 2", len(stored))
	}
	if manifests, _ := filepath.Glob(run.Dir + "/results/*/manifest.json"); len(manifests) != 1 {
		t.Errorf("manifests %q, want one", manifests)
	}
	plan := runTask(t, []string{"THE_SECRET=" + canary}, "plan", file, "--format", "json").Want(t, bench.ExitOK)
	if holdsCanary(plan.Stdout + plan.Stderr) {
		t.Errorf("the plan holds the password:\n%s", plan.Stdout)
	}
}
