package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms says what each room may import: rooms of this module, and packages from
// outside it. A package from outside has one room, so that it can be replaced in
// one place; go-sql-driver/mysql has two doors, control and load, of which the
// load's needs the standard library's driver interface only.
var rooms = map[string]struct{ inside, outside []string }{
	"internal/bench":            {},
	"internal/latency":          {[]string{"internal/bench"}, []string{"github.com/HdrHistogram/hdrhistogram-go"}},
	"internal/config":           {[]string{"internal/bench"}, []string{"github.com/kelseyhightower/envconfig"}},
	"internal/mysql":            {[]string{"internal/bench"}, []string{"github.com/go-sql-driver/mysql"}},
	"internal/localserver":      {[]string{"internal/bench"}, nil},
	"internal/yamlfile":         {[]string{"internal/bench"}, []string{"github.com/goccy/go-yaml"}},
	"internal/workload":         {[]string{"internal/bench", "internal/workload/random", "internal/workload/dataset", "internal/yamlfile"}, []string{"github.com/goccy/go-yaml"}},
	"internal/workload/random":  {[]string{"internal/bench"}, nil},
	"internal/workload/dataset": {[]string{"internal/bench", "internal/workload/random"}, nil},
	"internal/scenario":         {[]string{"internal/bench", "internal/mysql", "internal/yamlfile"}, nil},
	"internal/load":             {[]string{"internal/bench", "internal/latency", "internal/workload"}, nil},
	"internal/load/driver":      {[]string{"internal/load", "internal/workload"}, nil},
	"internal/load/wire":        {[]string{"internal/load", "internal/workload", "internal/latency"}, []string{"golang.org/x/sys"}},
	"internal/sink":             {[]string{"internal/bench"}, []string{"github.com/aws/"}},
	"internal/study":            {[]string{"internal/bench", "internal/config", "infra/studies"}, []string{"github.com/goccy/go-yaml"}},
	"internal/sysbench":         {[]string{"internal/bench"}, nil},
	"internal/report":           {[]string{"internal/bench", "internal/latency", "internal/report/stats"}, []string{"golang.org/x/perf", "github.com/go-analyze/charts"}},
	"internal/report/stats":     {nil, []string{"golang.org/x/perf"}},
	"internal/cell": {[]string{
		"internal/bench", "internal/config", "internal/latency", "internal/load", "internal/load/driver", "internal/load/wire",
		"internal/localserver", "internal/mysql", "internal/scenario", "internal/workload", "internal/workload/dataset", "internal/workload/random",
	}, nil},
	"infra/studies":   {},
	"infra/workloads": {},
}

// TestLaws holds the rooms to their imports, and all but task to not reading
// arguments, exiting or printing.
func TestLaws(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		room := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		// Helpers of tests that several packages share stand outside the laws.
		if room == "task" || room == "integration" || strings.HasSuffix(room, "test") || strings.HasPrefix(room, "scripts") {
			return nil
		}
		law, known := rooms[room]
		if !known {
			t.Errorf("%s: a room that the laws do not know", room)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if inside, ok := strings.CutPrefix(name, "cellbench/"); ok {
				if !slices.Contains(law.inside, inside) {
					t.Errorf("%s imports %s", path, inside)
				}
			} else if strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !slices.ContainsFunc(law.outside, func(p string) bool { return strings.HasPrefix(name, p) }) {
				t.Errorf("%s imports %s", path, name)
			}
		}
		forbidden(t, path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func forbidden(t *testing.T, path string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch name := x.Name + "." + s.Sel.Name; name {
		case "os.Exit", "os.Args", "os.Stdout", "fmt.Print", "fmt.Println", "fmt.Printf", "log.Fatal", "log.Fatalf", "flag.Parse":
			t.Errorf("%s uses %s, which is task's alone", path, name)
		}
		return true
	})
}
