package random

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
)

// TestDrawsLikeSysbench lets the real sysbench draw ids, reads them in a server's
// general log, and compares them with the formulas and with our own draws. Its
// 1.0.20 has no zipfian.
func TestDrawsLikeSysbench(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no server")
	}
	if _, err := exec.LookPath("sysbench"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set, and sysbench is not installed")
		}
		t.Skip("sysbench is not installed")
	}
	log := filepath.Join(t.TempDir(), "general.log")
	server, err := localserver.Start(t.Context(), localserver.Options{
		Database: "sbtest", BufferPoolBytes: 32 << 20,
		Args: []string{"--general-log=ON", "--log-output=FILE", "--general-log-file=" + log},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	door, err := mysql.NewDoor(mysql.Settings{Socket: server.Socket(), User: server.User(), Password: server.Password(), DB: "sbtest"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := door.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Exec(t.Context(), "CREATE TABLE sbtest1 (id INT PRIMARY KEY, c CHAR(1))"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		o    Options
		args []string
	}{
		{with(Uniform), nil},
		{with(Special), nil},
		{with(Special, iter(3), hot(20, 40)), []string{"--rand-spec-iter=3", "--rand-spec-pct=20", "--rand-spec-res=40"}},
		{with(Gaussian), nil},
		{with(Pareto), nil},
		{with(Pareto, share(0.4)), []string{"--rand-pareto-h=0.4"}},
	} {
		t.Run(tc.o.String(), func(t *testing.T) {
			if err := os.Truncate(log, 0); err != nil {
				t.Fatal(err)
			}
			const n, draws = 200, 40_000
			theirs := sysbenchDraws(t, server, log, n, draws, append(tc.args, "--rand-type="+tc.o.Type))
			against(t, "sysbench's draws and the formula", theirs, formula(tc.o, n), draws)
			d, s, ours := tc.o.Over(1, n), NewSource(77, 0), make([]int, n)
			for range draws {
				ours[d.Draw(&s)-1]++
			}
			sameSource(t, ours, theirs)
		})
	}
}

// sysbenchDraws counts the ids that sysbench asks for.
func sysbenchDraws(t *testing.T, server *localserver.Server, log string, n, draws int, args []string) []int {
	t.Helper()
	args = append(args, "--mysql-socket="+server.Socket(), "--mysql-user="+server.User(), "--mysql-password="+server.Password(),
		"--table-size="+strconv.Itoa(n), "--db-ps-mode=disable", "--skip-trx=on", "--range-selects=off", "--point-selects=100",
		"--time=0", "--events="+strconv.Itoa(draws/100), "oltp_read_only", "run")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "sysbench", args...).CombinedOutput(); err != nil {
		t.Fatalf("sysbench: %v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	counts, total := make([]int, n), 0
	for _, found := range regexp.MustCompile(`WHERE id=(\d+)`).FindAllSubmatch(text, -1) {
		id, err := strconv.Atoi(string(found[1]))
		if err != nil || id < 1 || id > n {
			t.Fatalf("sysbench asked for id %s", found[1])
		}
		counts[id-1]++
		total++
	}
	if total != draws {
		t.Fatalf("%d draws in the log, want %d", total, draws)
	}
	return counts
}

func against(t *testing.T, what string, counts []int, p []float64, draws int) {
	t.Helper()
	if x2, df := chiSquare(counts, p, draws); x2 > critical(df) {
		t.Errorf("%s: chi-square %.1f with %d degrees of freedom, want below %.1f", what, x2, df, critical(df))
	}
}

// sameSource is the chi-square test that two samples of one size have the same
// distribution.
func sameSource(t *testing.T, a, b []int) {
	t.Helper()
	x2, df := 0.0, -1
	sumA, sumB := 0.0, 0.0
	for i := range a {
		sumA, sumB = sumA+float64(a[i]), sumB+float64(b[i])
		if sumA+sumB >= 20 || i == len(a)-1 && sumA+sumB > 0 {
			x2 += (sumA - sumB) * (sumA - sumB) / (sumA + sumB)
			sumA, sumB = 0, 0
			df++
		}
	}
	if x2 > critical(df) {
		t.Errorf("our draws and sysbench's: chi-square %.1f with %d degrees of freedom, want below %.1f", x2, df, critical(df))
	}
	t.Logf("chi-square of both samples %.1f, %d degrees of freedom", x2, df)
}
