package integration

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// missing ends a test whose tool is not here: skipped on somebody's laptop, failed
// where CI is set, so that a green run means that everything ran.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI is set, and "+format, args...)
	}
	t.Skipf(format, args...)
}

// requireDocker ends the test when no Docker daemon answers.
func requireDocker(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no containers")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		missing(t, "no docker daemon answers: %v: %s", err, out)
	}
}

// requireImage ends the test when an image is neither here nor can be pulled.
func requireImage(t *testing.T, image string) {
	t.Helper()
	requireDocker(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if exec.CommandContext(ctx, "docker", "image", "inspect", image).Run() == nil {
		return
	}
	if out, err := exec.CommandContext(ctx, "docker", "pull", "-q", image).CombinedOutput(); err != nil {
		missing(t, "image %s is not here and cannot be pulled (make images builds it): %v: %s", image, err, out)
	}
}

// requireProgram ends the test when a program is not on PATH; it returns its path.
func requireProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "%s is not installed", name)
	}
	return path
}
