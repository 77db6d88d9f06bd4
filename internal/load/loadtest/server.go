// Package loadtest is the conformance suite of the load engines: what every
// engine must do alike, on a real server.
//
// Run is called once for each engine and server; Compare runs two engines side
// by side and compares what the server saw. It is a test helper: nothing outside
// tests imports it.
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cellbench/internal/localserver"
	"cellbench/internal/mysql"
)

// Server is a server of its own to test on; its global state is the suite's.
type Server struct {
	Name     string         // "MariaDB" or "MySQL"
	Settings mysql.Settings // of an account that may do everything
}

// image is the MySQL image of the tests (infra/images has a stand-in).
const image = "mysql:8.4"

// options lets statements of more than one packet pass and lets the suite see
// every statement.
var options = []string{"--max-allowed-packet=64M", "--max-connections=200", "--log-output=TABLE"}

// Local starts a throwaway server of this machine. Without one the test is
// skipped, or fails where CI is set.
func Local(t *testing.T) Server {
	t.Helper()
	s, err := localserver.Start(t.Context(), localserver.Options{
		Database: "sbtest", BufferPoolBytes: 128 << 20, Args: options,
	})
	if errors.Is(err, localserver.ErrNone) {
		missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return Server{Name: "local", Settings: mysql.Settings{
		Host: "127.0.0.1", Port: s.Port(), User: s.User(), Password: s.Password(), DB: "sbtest",
	}}
}

// Container starts MySQL in a container. Without Docker or the image the test is
// skipped, or fails where CI is set.
func Container(t *testing.T) Server {
	t.Helper()
	if out, err := docker("image", "inspect", "-f", "{{.Id}}", image); err != nil {
		missing(t, fmt.Errorf("no image %s: %w: %s", image, err, out))
	}
	args := append([]string{
		"run", "-d", "--rm", "-p", "127.0.0.1::3306",
		"-e", "MYSQL_ROOT_PASSWORD=secret", "-e", "MYSQL_ROOT_HOST=%", "-e", "MYSQL_DATABASE=sbtest", image,
	}, options...)
	id, err := docker(args...)
	if err != nil {
		t.Fatalf("start %s: %v: %s", image, err, id)
	}
	t.Cleanup(func() { _, _ = docker("rm", "-f", "-v", id) })
	address, err := docker("port", id, "3306/tcp")
	if err != nil {
		t.Fatalf("find the port of %s: %v: %s", image, err, address)
	}
	address, _, _ = strings.Cut(address, "\n")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Name: "MySQL", Settings: mysql.Settings{Host: "127.0.0.1", Port: n, User: "root", Password: "secret", DB: "sbtest"}}
	s.await(t)
	return s
}

// await returns when the server answers.
func (s Server) await(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		c, err := s.Door(t).Conn(t.Context())
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s does not answer: %v", s.Name, err)
		}
	}
}

// Door is the way into the server.
func (s Server) Door(t *testing.T) *mysql.Door {
	t.Helper()
	d, err := mysql.NewDoor(s.Settings)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// admin opens a control connection for the length of the test.
func (s Server) admin(t *testing.T) *mysql.Conn {
	t.Helper()
	c, err := s.Door(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func docker(args ...string) (string, error) {
	out, err := exec.Command("docker", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}
