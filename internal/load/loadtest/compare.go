package loadtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cellbench/internal/load"
	"cellbench/internal/mysql"
	"cellbench/internal/workload"
)

const tableSize = 500

// Compare runs every built-in workload on two engines, in both modes, and holds
// that the server saw the same statements and the engines counted the same.
func Compare(t *testing.T, server Server, a, b NewEngine) {
	c := server.admin(t)
	for _, name := range workload.Names() {
		for _, prepared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/prepared=%v", name, prepared), func(t *testing.T) {
				countsA, logA := suite{server, a}.traced(t, c, name, prepared)
				countsB, logB := suite{server, b}.traced(t, c, name, prepared)
				if countsA != countsB {
					t.Errorf("counts differ\n%+v\n%+v", countsA, countsB)
				}
				sameLog(t, logA, logB)
			})
		}
	}
}

// traced runs 12 events of a workload on one connection and returns what was
// counted and what the server logged of that connection.
func (s suite) traced(t *testing.T, c *mysql.Conn, name string, prepared bool) (load.Counts, []string) {
	t.Helper()
	o := workload.Defaults()
	o.TableSize, o.Rand.Seed = tableSize, 42
	w, err := workload.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	tables(t, c, name)
	set := settings(w, 1)
	set.Prepared = prepared
	e := s.open(t, set)
	id := e.ConnectionIDs()[0]
	do(t, c, "SET GLOBAL general_log = 1")
	out := measure(t, e, load.Plan{Events: 12})
	do(t, c, "SET GLOBAL general_log = 0")
	noError(t, out)
	rows, err := c.Query(t.Context(), fmt.Sprintf(
		"SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE thread_id = %d ORDER BY event_time", id))
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for _, r := range rows.Rows {
		log = append(log, r[0].String+" "+r[1].String)
	}
	out.Counts.RowBytes = 0
	return out.Counts, log
}

// tables makes the table of a workload anew, with rows that follow from their
// ids.
func tables(t *testing.T, c *mysql.Conn, name string) {
	t.Helper()
	do(t, c, "SET GLOBAL general_log = 0", "TRUNCATE TABLE mysql.general_log", "DROP TABLE IF EXISTS sbtest1")
	if name == "bulk_insert" {
		do(t, c, "CREATE TABLE sbtest1 (id INT NOT NULL, k INT NOT NULL DEFAULT 0, PRIMARY KEY (id))")
		return
	}
	var rows []string
	for i := 1; i <= tableSize; i++ {
		rows = append(rows, fmt.Sprintf("(%d,%d,REPEAT('c',120),REPEAT('p',60))", i, (i*7)%tableSize+1))
	}
	do(t, c,
		"CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))",
		"INSERT INTO sbtest1 VALUES "+strings.Join(rows, ","))
}

// sameLog compares what the server logged. Preparing is left out of the order,
// since engines may choose when they do it, but not of the number.
func sameLog(t *testing.T, a, b []string) {
	t.Helper()
	prepares := func(l []string) (n int, rest []string) {
		for _, s := range l {
			if strings.HasPrefix(s, "Prepare ") {
				n++
			} else if !strings.HasPrefix(s, "Close stmt") {
				rest = append(rest, s)
			}
		}
		return n, rest
	}
	na, ra := prepares(a)
	nb, rb := prepares(b)
	if na != nb {
		t.Errorf("%d statements prepared by one engine, %d by the other", na, nb)
	}
	if len(ra) == 0 {
		t.Error("the server logged nothing")
	}
	if !slices.Equal(ra, rb) {
		t.Errorf("the server saw different statements:\n%s\n---\n%s", short(ra), short(rb))
	}
}

func short(l []string) string {
	var b strings.Builder
	for _, s := range l[:min(len(l), 60)] {
		fmt.Fprintf(&b, "%.120s\n", s)
	}
	return b.String()
}
