package config

import (
	"math"
	"os"
	"strings"

	"cellbench/internal/bench"
)

// maxCellID bounds a cell's name in bytes; a file system takes 255.
const maxCellID = 200

// check holds the settings against each other and completes them.
func (l *loader) check(c *Config) {
	l.checkTarget(c)
	l.checkLoad(c)
	if c.TableSize == 0 {
		l.add("BENCH_TABLE_SIZE", "0", "allowed is 1 or more")
	}
	if c.TableSize > math.MaxInt64/2 {
		l.add("BENCH_TABLE_SIZE", c.TableSize.String(), "allowed is %d at most", int64(math.MaxInt64/2))
	}
	if c.RunID != "" {
		if err := bench.CheckRunID(c.RunID); err != nil {
			l.add("BENCH_RUN_ID", "", "%s", strings.TrimPrefix(err.Error(), "check run id: "))
		}
	}
	if c.CellID != "" {
		// It is a folder of the run, and must not lead out of it.
		if !bench.ValidKeyPart(c.CellID) || len(c.CellID) > maxCellID {
			l.add("BENCH_CELL_ID", c.CellID, "allowed are %d letters, digits, '.', '_' and '-' at most, the first one no '.' or '-'", maxCellID)
		}
	}
	for _, file := range []struct{ name, path string }{
		{"BENCH_WORKLOAD_FILE", c.WorkloadFile},
		{"BENCH_SCENARIO_FILE", c.ScenarioFile},
		{"BENCH_MYSQL_TLS_CA", c.MysqlTLSCa},
		{"BENCH_MYSQL_TLS_CERT", c.MysqlTLSCert},
		{"BENCH_MYSQL_TLS_KEY", c.MysqlTLSKey},
	} {
		if file.path == "" {
			continue
		}
		if info, err := os.Stat(file.path); err != nil {
			l.add(file.name, file.path, "%s", reason(err))
		} else if info.IsDir() {
			l.add(file.name, file.path, "is a directory, a file is needed")
		}
	}
}

func (l *loader) checkTarget(c *Config) {
	ways := 0
	for _, w := range []string{c.DSN, c.MysqlHost, c.MysqlSocket} {
		if w != "" {
			ways++
		}
	}
	c.Local = ways == 0
	if ways > 1 {
		l.add("BENCH_DSN", "", "set only one of BENCH_DSN, BENCH_MYSQL_HOST and BENCH_MYSQL_SOCKET")
	}
	if c.DSN != "" {
		for _, other := range []string{"PORT", "USER", "PASSWORD", "PASSWORD_FILE", "DB"} {
			if l.set["BENCH_MYSQL_"+other] {
				l.add("BENCH_MYSQL_"+other, "", "BENCH_DSN already says it; set one of the two")
			}
		}
	}
	if c.MysqlSocket != "" && l.set["BENCH_MYSQL_PORT"] {
		l.add("BENCH_MYSQL_PORT", "", "a socket has no port; set one of BENCH_MYSQL_SOCKET and BENCH_MYSQL_PORT")
	}
	if c.Local {
		for lone, set := range map[string]bool{
			"PORT": l.set["BENCH_MYSQL_PORT"], "USER": l.set["BENCH_MYSQL_USER"],
			"PASSWORD": c.MysqlPassword != "", "PASSWORD_FILE": c.MysqlPasswordFile != "",
			"TLS": c.MysqlTLS != "disabled", "AUTH": c.MysqlAuth != "password",
		} {
			if set {
				l.add("BENCH_MYSQL_"+lone, "", "no target is named to use it for; set BENCH_MYSQL_HOST, BENCH_MYSQL_SOCKET or BENCH_DSN")
			}
		}
	}
	if (c.MysqlTLSCert == "") != (c.MysqlTLSKey == "") {
		l.add("BENCH_MYSQL_TLS_CERT", c.MysqlTLSCert, "a client certificate needs its key and the other way round; set BENCH_MYSQL_TLS_CERT and BENCH_MYSQL_TLS_KEY")
	}
	if c.MysqlTLS == "disabled" {
		for _, file := range []string{"CA", "CERT", "KEY"} {
			if l.set["BENCH_MYSQL_TLS_"+file] {
				l.add("BENCH_MYSQL_TLS_"+file, "", "BENCH_MYSQL_TLS is disabled; set it to preferred, required, verify-ca or verify-identity")
			}
		}
	}
	if c.MysqlAuth == "rds-iam" && c.MysqlTLS == "disabled" && c.DSN == "" {
		l.add("BENCH_MYSQL_AUTH", c.MysqlAuth, "a token is sent in clear text, so TLS is needed; set BENCH_MYSQL_TLS to required or verify-identity")
	}
	l.password(c)
}

// password settles which password is used.
func (l *loader) password(c *Config) {
	c.Password = c.MysqlPassword
	if c.MysqlPasswordFile == "" {
		return
	}
	if c.MysqlPassword != "" {
		l.add("BENCH_MYSQL_PASSWORD_FILE", c.MysqlPasswordFile, "set only one of BENCH_MYSQL_PASSWORD and BENCH_MYSQL_PASSWORD_FILE")
		return
	}
	text, err := bench.ReadFile(c.MysqlPasswordFile, bench.MaxWritten)
	if err != nil {
		l.add("BENCH_MYSQL_PASSWORD_FILE", c.MysqlPasswordFile, "%s (uid %d must be able to read it)", reason(err), os.Getuid())
		return
	}
	c.Password = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// reason is the cause of a file error without the path, which stands before it.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}

func (l *loader) checkLoad(c *Config) {
	if c.Events > 0 && !l.set["BENCH_TIME"] {
		c.Time = 0
	}
	if c.Time == 0 && c.Events == 0 {
		l.add("BENCH_TIME", "0", "the window would never end; set BENCH_TIME or BENCH_EVENTS above 0")
	}
	if c.ReportInterval > 0 && c.ReportInterval.Std() < minInterval {
		l.add("BENCH_REPORT_INTERVAL", c.ReportInterval.String(), "allowed is 0 or %s and more", minInterval)
	}
	if !(c.RandParetoH > 0 && c.RandParetoH < 1) {
		l.add("BENCH_RAND_PARETO_H", c.RandParetoH.String(), "allowed is a number over 0 and below 1")
	}
	if c.HotspotRow < 1 || c.HotspotRow > 100 {
		l.add("BENCH_HOTSPOT_ROW", c.HotspotRow.String(), "the table has the ids 1 to 100")
	}
	if c.RangeSize < 1 {
		l.add("BENCH_RANGE_SIZE", c.RangeSize.String(), "allowed is 1 or more")
	}
	if strings.Contains(c.HotspotHint, "?") {
		l.add("BENCH_HOTSPOT_HINT", c.HotspotHint, "a question mark would be taken for a parameter")
	}
	if c.Rate > maxRate {
		l.add("BENCH_RATE", c.Rate.String(), "allowed is %s at most", Float(maxRate).String())
	}
}
