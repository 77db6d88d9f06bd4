// Package yamlfile reads the YAML files that people write: one document, known keys
// only, and mistakes told in their words with line and column.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"cellbench/internal/bench"
)

// Decode reads text into the struct that into points to. An empty text leaves it as
// it is. Errors are one line, "line 3, column 5: what is wrong" where the place is
// known.
func Decode(text []byte, into any, options ...yaml.DecodeOption) (err error) {
	defer func() {
		// The YAML package panics on some malformed tags and anchors.
		if recover() != nil {
			err = errors.New("it is no well-formed YAML: look for a stray !, & or *")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(text), append(options, yaml.Strict())...)
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return errors.New(bench.Printable(explain(err, reflect.TypeOf(into))))
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one YAML document")
	}
	return nil
}

// explain puts an error of the YAML package into words; t is what was read into.
func explain(err error, t reflect.Type) string {
	var at yaml.Error
	if !errors.As(err, &at) {
		return oneLine(err.Error())
	}
	message := oneLine(at.GetMessage())
	tok := at.GetToken()
	if tok == nil {
		return message
	}
	var unknown *yaml.UnknownFieldError
	var mismatch *yaml.TypeError
	var overflow *yaml.OverflowError
	switch {
	case errors.As(err, &unknown):
		message = fmt.Sprintf("unknown key %q", tok.Value)
		switch near := bench.Nearest(tok.Value, keys(t)); near {
		case "":
		case tok.Value:
			message = fmt.Sprintf("key %q is not for this place", tok.Value)
		default:
			message += fmt.Sprintf(", did you mean %q?", near)
		}
	case errors.As(err, &mismatch):
		message = fmt.Sprintf("%s is needed, found %s", kind(mismatch.DstType), kind(mismatch.SrcType))
	case errors.As(err, &overflow):
		message = fmt.Sprintf("%s is too large", overflow.SrcNum)
	}
	return fmt.Sprintf("line %d, column %d: %s", tok.Position.Line, tok.Position.Column, message)
}

// kind names a Go type as one who writes YAML would.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t == reflect.TypeFor[yaml.MapSlice]() {
			return "a mapping"
		}
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Pointer:
		return kind(t.Elem())
	}
	return "a whole number"
}

// keys lists the keys of a type and of the types in it.
func keys(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return keys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var all []string
	for f := range t.Fields() {
		if key := f.Tag.Get("yaml"); key != "" {
			all = append(all, key)
			all = append(all, keys(f.Type)...)
		}
	}
	return all
}

// oneLine makes one line of a message that may show the source below it.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
