package integration

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// taskImage is the name under which these tests build the image.
const taskImage = "cellbench-integration"

// buildImage builds the image of the task once for all tests.
func buildImage(t *testing.T) string {
	t.Helper()
	requireDocker(t)
	return shared.image.get(t, func() (string, error) {
		dir := t.TempDir()
		copyContext(t, dir)
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "docker", "build", "-q", "--build-arg", "VERSION=it", "-t", taskImage, dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.Join(err, errors.New(string(out)))
		}
		return taskImage, nil
	})
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, exit.Stderr)
		}
		t.Fatalf("docker %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// TestImage holds the image to what is promised of it: small, static, without root,
// with certificates, time zones and a place for results that any user can write to.
func TestImage(t *testing.T) {
	requireImage(t, "golang:1.26")
	image := buildImage(t)
	t.Run("size", func(t *testing.T) {
		size, err := strconv.ParseInt(docker(t, "image", "inspect", "-f", "{{.Size}}", image), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.1f MB", float64(size)/1e6)
		if size >= 30e6 {
			t.Errorf("the image has %d bytes, want less than 30 MB", size)
		}
	})
	t.Run("user", func(t *testing.T) {
		if user := docker(t, "image", "inspect", "-f", "{{.Config.User}}", image); user != "65532:65532" {
			t.Errorf("user %q, want 65532:65532", user)
		}
	})
	t.Run("version", func(t *testing.T) {
		if out := docker(t, "run", "--rm", "--read-only", image, "version"); !strings.HasPrefix(out, "cellbench it ") {
			t.Errorf("version prints %q, want the version of the build", out)
		}
	})
	files := imageFiles(t, image)
	t.Run("files", func(t *testing.T) {
		for name, file := range files {
			switch {
			case file.mode.IsDir(), name == "task", name == "etc/ssl/certs/ca-certificates.crt":
			case !file.mode.IsRegular(), len(file.body) == 0: // the engine's own: .dockerenv, etc/hosts ...
			default:
				t.Errorf("%s (%d bytes) is in the image", name, len(file.body))
			}
		}
		for _, name := range []string{"results/", "tmp/"} {
			if mode := files[name].mode; mode.Perm() != 0o777 || mode&os.ModeSticky == 0 {
				t.Errorf("%s has mode %v, want one that every user can write to", name, mode)
			}
		}
		if !bytes.Contains(files["etc/ssl/certs/ca-certificates.crt"].body, []byte("BEGIN CERTIFICATE")) {
			t.Error("no certificates in the image")
		}
	})
	t.Run("static", func(t *testing.T) {
		binary, err := elf.NewFile(bytes.NewReader(files["task"].body))
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range binary.Progs {
			if program.Type == elf.PT_INTERP || program.Type == elf.PT_DYNAMIC {
				t.Errorf("the binary has a segment %v: it is not static", program.Type)
			}
		}
		if bytes.Contains(files["task"].body, []byte("/src/internal/")) {
			t.Error("the binary names the folder it was built in: -trimpath is missing")
		}
	})
}

// TestImageStoresResults runs the image as it comes, against a shared server, once
// as its own user and once as somebody else.
func TestImageStoresResults(t *testing.T) {
	requireImage(t, "golang:1.26")
	image := buildImage(t)
	srv := mysqlServer(t)
	for _, test := range []struct{ name, user string }{{"own user", ""}, {"another user", "12345:12345"}} {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"run", "--rm", "--network", "host", "--read-only", "--tmpfs", "/results:mode=1777"}
			if test.user != "" {
				args = append(args, "--user", test.user)
			}
			env := append(srv.Env(srv.Database(t)), "BENCH_TIME=1", "BENCH_WARMUP_TIME=0", "BENCH_TABLE_SIZE=100", "TZ=Asia/Tokyo")
			for _, setting := range env {
				args = append(args, "-e", setting)
			}
			result := validateResult(t, []byte(docker(t, append(args, image)...)))
			if result.Host == nil || !result.Host.Container {
				t.Errorf("host = %+v, want one that says it is a container", result.Host)
			}
		})
	}
}

type imageFile struct {
	mode os.FileMode
	body []byte
}

// imageFiles returns every file of an image by name; directories end in a slash.
func imageFiles(t *testing.T, image string) map[string]imageFile {
	t.Helper()
	container := docker(t, "create", image)
	defer docker(t, "rm", container)
	var archive bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "docker", "export", container)
	cmd.Stdout = &archive
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker export: %v", err)
	}
	files := make(map[string]imageFile)
	for reader := tar.NewReader(&archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = imageFile{header.FileInfo().Mode(), body}
	}
}
