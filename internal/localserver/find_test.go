package localserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cellbench/internal/bench"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, out, flavour, version string
	}{
		{"MariaDB of Debian", "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n", "MariaDB", "10.11.19-MariaDB-0+deb12u1"},
		{"MySQL of Debian", "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n", "MySQL", "9.7.4-2"},
		{"MySQL of Oracle", "mysqld  Ver 8.4.3 for Linux on aarch64 (MySQL Community Server - GPL)\n", "MySQL", "8.4.3"},
		{"Percona", "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)\n", "MySQL", "8.0.36-28"},
		{"after a warning", "2026-01-01T00:00:00Z 0 [Warning] something\nmysqld  Ver 8.4.3 for macos14 on arm64 (Homebrew)\n", "MySQL", "8.4.3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := parseVersion("/x/mysqld", test.out)
			if err != nil || p != (Program{"/x/mysqld", test.flavour, test.version}) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	if _, err := parseVersion("/x/mysqld", "hello"); err == nil {
		t.Error("no version, no error")
	}
}

func TestFindIn(t *testing.T) {
	t.Parallel()
	script := func(t *testing.T, dir, name, body string) {
		t.Helper()
		writeProgram(t, filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"))
	}
	const works = "echo 'mysqld  Ver 8.4.3 for Linux on x86_64 (x)'"
	for _, test := range []struct {
		name string
		fill func(t *testing.T, a, b string)
		want string // path below the two folders, "" for none
		text string
	}{
		{"none", func(*testing.T, string, string) {}, "", "apt-get install mariadb-server-core"},
		{"the variables", func(*testing.T, string, string) {}, "", "BENCH_DSN or BENCH_MYSQL_HOST"},
		{"mysqld before mariadbd", func(t *testing.T, a, b string) { script(t, a, "mariadbd", works); script(t, b, "mysqld", works) }, "b/mysqld", ""},
		{"mariadbd alone", func(t *testing.T, _, b string) { script(t, b, "mariadbd", works) }, "b/mariadbd", ""},
		{"first does not run", func(t *testing.T, a, b string) {
			script(t, a, "mysqld", "echo no libaio >&2; exit 127")
			script(t, b, "mariadbd", works)
		}, "b/mariadbd", ""},
		{"none runs", func(t *testing.T, a, _ string) { script(t, a, "mysqld", "echo no libaio >&2; exit 127") }, "", "no libaio"},
		{"a folder of that name", func(t *testing.T, a, _ string) {
			if err := os.Mkdir(filepath.Join(a, "mysqld"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "", "neither mysqld nor mariadbd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			a, b := filepath.Join(top, "a"), filepath.Join(top, "b")
			_, _ = os.Mkdir(a, 0o755), os.Mkdir(b, 0o755)
			test.fill(t, a, b)
			p, err := findIn([]string{".", "", a, b})
			if test.want != "" {
				if err != nil || p.Path != filepath.Join(top, test.want) {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			if !errors.Is(err, ErrNone) || bench.CodeOf(err) != bench.ExitConfig || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("class %d: %v", bench.CodeOf(err), err)
			}
		})
	}
}

func TestBufferPool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		asked           int64
		meminfo, cgroup string
		want            int64
	}{
		{"unknown", 0, "", "", 128 << 20},
		{"asked for", 5 << 20, "MemTotal: 8388608 kB\n", "", 5 << 20},
		{"an eighth", 0, "MemTotal:    4194304 kB\nMemAvailable: 9 kB\n", "max\n", 512 << 20},
		{"large machine", 0, "MemTotal: 268435456 kB\n", "max\n", 2 << 30},
		{"small container", 0, "MemTotal: 268435456 kB\n", "2147483648\n", 256 << 20},
		{"tiny container", 0, "MemTotal: 268435456 kB\n", "134217728\n", 128 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			read := func(name string) ([]byte, error) {
				switch {
				case name == "/proc/meminfo" && test.meminfo != "":
					return []byte(test.meminfo), nil
				case strings.HasSuffix(name, "memory.max") && test.cgroup != "":
					return []byte(test.cgroup), nil
				}
				return nil, os.ErrNotExist
			}
			if got := (Options{BufferPoolBytes: test.asked}).bufferPool(memory(read)); got != test.want {
				t.Errorf("%d MiB, want %d MiB", got>>20, test.want>>20)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := oneLine("a\n\n  b \r\nc"); got != "a | b | c" {
		t.Errorf("%q", got)
	}
	if got := oneLine(strings.Repeat("x", 5000)); len(got) > 1510 {
		t.Errorf("%d bytes", len(got))
	}
}
