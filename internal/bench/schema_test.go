package bench_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cellbench/internal/bench"
)

// TestSchemaHasTheFieldsOfResult holds result.schema.json and Result together:
// the same members at every level. That results are valid by it is tested on
// every result of the integration tests.
func TestSchemaHasTheFieldsOfResult(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	compare(t, "result", reflect.TypeFor[bench.Result](), schema, defs)
}

func compare(t *testing.T, path string, typ reflect.Type, schema, defs map[string]any) {
	t.Helper()
	schema = resolve(schema, defs)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
	case typ.Kind() == reflect.Struct:
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			t.Errorf("%s: the schema has no properties", path)
			return
		}
		var fields []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
			sub, ok := properties[name].(map[string]any)
			if !ok {
				t.Errorf("%s.%s: not in the schema", path, name)
				continue
			}
			compare(t, path+"."+name, typ.Field(i).Type, sub, defs)
		}
		for name := range properties {
			if !slices.Contains(fields, name) {
				t.Errorf("%s.%s: in the schema only", path, name)
			}
		}
	case typ.Kind() == reflect.Slice:
		compare(t, path+"[]", typ.Elem(), schema["items"].(map[string]any), defs)
	case typ.Kind() == reflect.Map:
		if sub, ok := schema["additionalProperties"].(map[string]any); ok {
			compare(t, path+"{}", typ.Elem(), sub, defs)
		}
	}
}

// resolve follows a $ref, also one that may be null.
func resolve(schema, defs map[string]any) map[string]any {
	if choices, ok := schema["anyOf"].([]any); ok {
		schema = choices[0].(map[string]any)
	}
	if ref, ok := schema["$ref"].(string); ok {
		return defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	return schema
}
