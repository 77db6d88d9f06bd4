package localserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cellbench/internal/bench"
)

// folderPrefix begins the name of every folder made here, so that a later Start
// recognises what an earlier one left behind.
const folderPrefix = "cellbench-mysqld-"

// socketLimit is the longest path of a Unix socket that every system takes:
// sun_path has 108 bytes on Linux, 104 on macOS and BSD, one of them the NUL.
const socketLimit = 103

// ownerlessAge is how old a folder without an owner file must be before it
// counts as left behind; a live one has its owner file within microseconds.
const ownerlessAge = time.Hour

// folder is the place of one server: all its files are under dir, except the
// socket when dir's name is too long for one.
type folder struct {
	dir       string
	socketDir string // dir, or a short folder of its own
	owner     *os.File
}

// newFolder makes an empty folder under TMPDIR, readable by this user alone and
// locked as ours.
func newFolder() (*folder, error) {
	dir, err := makeOwned(os.TempDir())
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir.path, socketDir: dir.path, owner: dir.owner}
	if len(f.socket()) <= socketLimit {
		return f, nil
	}
	// The data stays where the user wants temporary files, for there is the room;
	// the socket goes where its name fits.
	short, err := os.MkdirTemp("/tmp", folderPrefix)
	if err != nil {
		_ = f.remove()
		return nil, noFolder("/tmp", err)
	}
	f.socketDir = short
	if err := os.Symlink(f.dir, filepath.Join(short, "data")); err != nil {
		_ = f.remove()
		return nil, fmt.Errorf("create socket folder: %w", err)
	}
	return f, nil
}

type ownedDir struct {
	path  string
	owner *os.File
}

// makeOwned makes a folder in parent and locks its owner file. The file gets its
// name only once it is locked: an owner file that can be seen and is not locked
// belongs to a process that is gone.
func makeOwned(parent string) (_ ownedDir, err error) {
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return ownedDir{}, noFolder(parent, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(path)
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return ownedDir{}, noFolder(parent, err)
	}
	f, err := os.OpenFile(filepath.Join(path, "owner.new"), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return ownedDir{}, noFolder(parent, err)
	}
	tryLock(f) // where a file system has no locks, nobody can get this one and sweep the folder
	_, _ = fmt.Fprintln(f, os.Getpid())
	if err := os.Rename(f.Name(), filepath.Join(path, "owner")); err != nil {
		_ = f.Close()
		return ownedDir{}, noFolder(parent, err)
	}
	return ownedDir{path: path, owner: f}, nil
}

// noFolder says where the local server was to live; it is for the user to choose.
func noFolder(parent string, err error) error {
	return bench.Errorf(bench.ExitConfig, "create its folder in %s: %w: set TMPDIR to a folder that this user can write to", parent, err)
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }
func (f *folder) socket() string          { return filepath.Join(f.socketDir, "mysql.sock") }

// remove deletes the folder and gives up the lock.
func (f *folder) remove() error {
	err := os.RemoveAll(f.dir)
	if f.socketDir != f.dir {
		if e := os.RemoveAll(f.socketDir); err == nil {
			err = e
		}
	}
	_ = f.owner.Close()
	return err
}

// sweep removes the folders that dead processes left in the places where
// newFolder makes them, and kills the servers that still run in them. Errors are
// not reported: the folder of another user, for one, is none of our business.
func sweep() {
	parents := []string{os.TempDir()}
	if parents[0] != "/tmp" {
		parents = append(parents, "/tmp")
	}
	for _, parent := range parents {
		entries, _ := os.ReadDir(parent)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), folderPrefix) {
				sweepOne(filepath.Join(parent, e.Name()))
			}
		}
	}
}

// sweepOne removes dir if its owner is gone.
func sweepOne(dir string) {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || !isMine(fi) {
		return // nor is a link followed that somebody planted in /tmp
	}
	data := dir
	if target, err := os.Readlink(filepath.Join(dir, "data")); err == nil {
		data = target // a folder for the socket alone lives as long as its data folder
		if _, err := os.Stat(data); os.IsNotExist(err) {
			_ = os.RemoveAll(dir)
			return
		}
	}
	owner, err := os.OpenFile(filepath.Join(data, "owner"), os.O_RDWR, 0)
	if err != nil {
		if os.IsNotExist(err) && time.Since(fi.ModTime()) > ownerlessAge {
			_ = os.RemoveAll(dir)
		}
		return
	}
	defer owner.Close()
	if !tryLock(owner) {
		return
	}
	killServerIn(data)
	_ = os.RemoveAll(dir)
}

// killServerIn kills the server whose pid file is in dir, if that process still
// is the server: its command line names the folder.
func killServerIn(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "mysqld.pid"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(cmdline), dir+"/") {
		return
	}
	_ = kill(pid)
}
