package yamlfile

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type file struct {
	Title string        `yaml:"title"`
	Count int           `yaml:"count"`
	Share float64       `yaml:"share"`
	Parts []part        `yaml:"parts"`
	Free  yaml.MapSlice `yaml:"free"`
}

type part struct {
	Name string `yaml:"name"`
	On   bool   `yaml:"on"`
}

func TestDecode(t *testing.T) {
	var f file
	if err := Decode([]byte("title: x\ncount: 3\nparts: [{name: a, on: true}]\nfree: {b: 1, a: 2}\n"), &f, yaml.UseOrderedMap()); err != nil {
		t.Fatal(err)
	}
	if f.Title != "x" || f.Count != 3 || len(f.Parts) != 1 || !f.Parts[0].On || len(f.Free) != 2 || f.Free[0].Key != "b" {
		t.Errorf("got %+v", f)
	}
	if err := Decode(nil, &file{}); err != nil {
		t.Errorf("empty: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"titel: x":                    `line 1, column 1: unknown key "titel", did you mean "title"?`,
		"a: 1":                        `line 1, column 1: unknown key "a"`,
		"title: x\nname: y":           `line 2, column 1: key "name" is not for this place`,
		"title: [1]":                  "line 1, column 8: text is needed, found a list",
		"count: {a: 1}":               "a whole number is needed, found a mapping",
		"parts: [{on: maybe}]":        "true or false is needed, found text",
		"share: [x]":                  "a number is needed, found a list",
		"title: x\n---\ntitle: y":     "it holds more than one YAML document",
		"title: \"a\\u001b[31m\":":    "line 1",
		"parts:\n  !\n    a: 0\n":     "stray !",
		"title: x\ntitle: y":          "line 2, column 1:",
		"\"a\\n\\e[31mb\": 1":         `unknown key "a\n\x1b[31mb"`,
		"title: 'never ends":          "line 1",
		"a: &a [*a]\ntitle: [*a]":     "",
		"count: 99999999999999999999": "line 1, column 8: 99999999999999999999 is too large",
	} {
		err := Decode([]byte(text), &file{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("title: x\nparts: [{name: a}]")
	f.Add("parts:\n  !\n    a: 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if err := Decode([]byte(text), &file{}); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: an error of several lines", err)
		}
	})
}
