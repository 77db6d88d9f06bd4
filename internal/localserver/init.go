package localserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// initialise fills the data directory with the server's system tables.
func (s *Server) initialise(ctx context.Context) error {
	if s.program.Flavour != "MariaDB" {
		// Half of its time is waiting for a disk that need not remember any of it.
		return s.runTool(ctx, s.program.Path, nil, append(s.baseArgs(),
			"--initialize-insecure", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF")...)
	}
	if sql := systemSQL(s.program.Path); sql != nil {
		return s.runTool(ctx, s.program.Path, bytes.NewReader(sql), append(s.baseArgs(), "--bootstrap")...)
	}
	return s.initialiseByScript(ctx)
}

// initialiseByScript does so with MariaDB's own script, for where its SQL files
// lie somewhere else.
func (s *Server) initialiseByScript(ctx context.Context) error {
	script, err := installScript(s.program.Path)
	if err != nil {
		return err
	}
	args := append(s.baseArgs(), "--skip-test-db", "--auth-root-authentication-method=normal")
	return s.runTool(ctx, script, nil, args...)
}

// runTool runs a program to its end in the server's folder. Its output is part
// of LogTail.
func (s *Server) runTool(ctx context.Context, path string, stdin io.Reader, args ...string) error {
	out, err := os.Create(s.folder.path("init.log"))
	if err != nil {
		return fmt.Errorf("initialise server: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.folder.dir, stdin, out, out
	c, err := launch(cmd, s.guard)
	if err != nil {
		return fmt.Errorf("initialise server: %w", err)
	}
	select {
	case <-ctx.Done():
		_ = c.proc.Kill()
		<-c.exited
		return fmt.Errorf("initialise server: %w", context.Cause(ctx))
	case <-c.exited:
	}
	if c.err != nil {
		return fmt.Errorf("initialise server: %w", c.err)
	}
	_ = os.Remove(out.Name()) // it went well: not part of the server's log
	return nil
}

// systemFiles make MariaDB's system tables, in the order of its own
// mariadb-install-db. Help texts and time zones are left out, and the sys schema
// is there only where it is (10.6 and newer).
var systemFiles = []struct {
	name     string
	required bool
}{
	{"system_tables.sql", true},
	{"performance_tables.sql", true},
	{"system_tables_data.sql", true},
	{"sys_schema.sql", false},
}

// systemSQL returns what MariaDB must read in bootstrap mode, nil when the files
// are not found. It needs no mariadb-install-db, which some packages leave out or
// write for a root user only, and takes a third of a second.
func systemSQL(program string) []byte {
	var b bytes.Buffer
	b.WriteString("CREATE DATABASE mysql;\nUSE mysql;\n") // bootstrap reads a statement until a ; at a line's end
	dir, prefix := shareDir(program)
	if dir == "" {
		return nil
	}
	for _, f := range systemFiles {
		sql, err := os.ReadFile(filepath.Join(dir, prefix+f.name))
		if err != nil && f.required {
			return nil
		}
		b.Write(sql)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// shareDir returns the folder of MariaDB's SQL files and the beginning of their
// names, which 11.0 changed from mysql_ to mariadb_.
func shareDir(program string) (dir, prefix string) {
	roots := []string{"/usr/share", "/usr/local/share"}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		base := filepath.Dir(filepath.Dir(real))
		roots = append([]string{filepath.Join(base, "share")}, roots...)
	}
	for _, root := range roots {
		for _, sub := range []string{"mysql", "mariadb", ""} {
			for _, prefix := range []string{"mariadb_", "mysql_"} {
				dir := filepath.Join(root, sub)
				if _, err := os.Stat(filepath.Join(dir, prefix+systemFiles[0].name)); err == nil {
					return dir, prefix
				}
			}
		}
	}
	return "", ""
}

// installScript finds MariaDB's own script.
func installScript(program string) (string, error) {
	for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
		for _, dir := range []string{filepath.Dir(program), "/usr/bin", "/usr/local/bin"} {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("initialise server: neither MariaDB's SQL files (mysql_system_tables.sql) "+
		"nor mariadb-install-db are installed beside %s", program)
}
