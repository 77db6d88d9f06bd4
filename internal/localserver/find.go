package localserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cellbench/internal/bench"
)

// ErrNone is in the chain of the error that [Find] and [Start] return when this
// machine has no server program.
var ErrNone = errors.New("no MySQL server program")

// Program is a MySQL-compatible server program found on this machine.
type Program struct {
	Path    string // absolute
	Flavour string // "MySQL" or "MariaDB"
	Version string // as the program says it: "9.7.4", "10.11.19-MariaDB-0+deb12u1"
}

// String names the program for people: "MariaDB 10.11.19-MariaDB-0+deb12u1".
func (p Program) String() string { return p.Flavour + " " + p.Version }

// versionTimeout bounds `mysqld --version`, which answers in milliseconds.
const versionTimeout = 15 * time.Second

// Find looks for a server program: mysqld, then mariadbd, on PATH and then in
// the folders where distributions put servers outside a plain user's PATH.
//
// When there is none the error has class bench.ExitConfig, wraps ErrNone and
// says what to install and which variables name a target instead. A program that
// is there but does not run is an error only if no other one runs.
func Find() (Program, error) {
	return findIn(searchPath(os.Getenv("PATH")))
}

// searchPath returns the folders to look in: those of path, then the usual ones.
func searchPath(path string) []string {
	dirs := filepath.SplitList(path)
	return append(dirs,
		"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin", "/usr/local/bin",
		"/usr/local/mysql/bin", "/opt/mysql/bin", "/opt/mariadb/bin",
		"/opt/homebrew/bin", "/opt/homebrew/opt/mysql/bin", "/opt/homebrew/opt/mariadb/bin",
		"/usr/local/opt/mysql/bin", "/usr/local/opt/mariadb/bin")
}

// findIn returns the first program in dirs that runs. All folders are searched
// for mysqld before any is for mariadbd: both names exist where MariaDB is
// installed, mysqld alone where MySQL is.
func findIn(dirs []string) (Program, error) {
	var broken error
	for _, name := range []string{"mysqld", "mariadbd"} {
		for _, dir := range dirs {
			if !filepath.IsAbs(dir) {
				continue // a relative PATH entry: as os/exec, do not run what the folder holds
			}
			path := filepath.Join(dir, name)
			if fi, err := os.Stat(path); err != nil || fi.IsDir() || fi.Mode()&0o111 == 0 {
				continue
			}
			p, err := identify(path)
			if err == nil {
				return p, nil
			}
			if broken == nil {
				broken = err
			}
		}
	}
	if broken != nil {
		return Program{}, bench.Errorf(bench.ExitConfig, "find server: %w: %w", ErrNone, broken)
	}
	return Program{}, bench.Errorf(bench.ExitConfig,
		"find server: %w: neither mysqld nor mariadbd is on PATH or in /usr/sbin: install one "+
			"(Debian, Ubuntu: apt-get install mariadb-server-core; RHEL, Fedora: dnf install mariadb-server; "+
			"macOS: brew install mysql) or name a target with BENCH_DSN or BENCH_MYSQL_HOST", ErrNone)
}

// versionLine is what both programs print:
//
//	/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))
//	mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
var versionLine = regexp.MustCompile(`\bVer ([0-9]+\.[0-9]+\.[0-9]+\S*)`)

// identify runs the program's --version.
func identify(path string) (Program, error) {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	// --no-defaults first, else a broken /etc/mysql/my.cnf would stop it.
	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").CombinedOutput()
	if err != nil {
		return Program{}, fmt.Errorf("run %s --version: %w: %s", path, err, oneLine(string(out)))
	}
	return parseVersion(path, string(out))
}

// parseVersion reads the output of --version.
func parseVersion(path, out string) (Program, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		return Program{}, fmt.Errorf("run %s --version: no version in %q", path, oneLine(out))
	}
	p := Program{Path: path, Flavour: "MySQL", Version: m[1]}
	if strings.Contains(out, "MariaDB") {
		p.Flavour = "MariaDB"
	}
	return p, nil
}

// oneLine joins the non-empty lines of s with " | " and cuts it to what fits an
// error.
func oneLine(s string) string {
	var lines []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	s = strings.Join(lines, " | ")
	if len(s) > 1500 {
		s = "... " + strings.ToValidUTF8(s[len(s)-1500:], "")
	}
	return s
}
