package study

import (
	"slices"
	"strings"

	"cellbench/infra/studies"
)

// Builtin returns the file of a built-in study.
func Builtin(name string) (data []byte, ok bool) {
	if !slices.Contains(BuiltinNames(), name) {
		return nil, false
	}
	data, err := studies.Files.ReadFile(name + ".yaml")
	return data, err == nil
}

// BuiltinNames lists the built-in studies, sorted.
func BuiltinNames() []string {
	entries, err := studies.Files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder is always there
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			names = append(names, name)
		}
	}
	return names
}
