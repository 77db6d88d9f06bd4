package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"cellbench/internal/config"
)

// TestComposePassesSettings holds docker-compose.yml to the configuration: every
// setting can be given from the shell, unless it names a file or a socket, which
// would have to be mounted, or another way to say what the file says already.
func TestComposePassesSettings(t *testing.T) {
	text, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	file := string(text)
	pass := func(name string) bool { return strings.Contains(file, "\n      "+name+":") }
	elsewhere := []string{"BENCH_DSN", "BENCH_MYSQL_SOCKET", "BENCH_S3_PATH_STYLE"}
	for _, name := range config.VariableNames() {
		mounted := strings.HasSuffix(name, "_FILE") || strings.HasPrefix(name, "BENCH_MYSQL_TLS_")
		if want := !mounted && !slices.Contains(elsewhere, name); pass(name) != want {
			t.Errorf("%s is passed on: %v, want %v", name, pass(name), want)
		}
	}
	for line := range strings.Lines(file) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && strings.HasPrefix(name, "BENCH_") && !slices.Contains(config.VariableNames(), name) {
			t.Errorf("%s is passed on, but is no setting", name)
		}
	}
}
