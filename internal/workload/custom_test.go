package workload

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cellbench/internal/bench"
	"cellbench/internal/workload/random"
)

const sampleFile = `
name: shop
tables:
  - name: items
    create: "CREATE TABLE items (id INT PRIMARY KEY, code CHAR(5), note TEXT);"
    rows: 2 * table_size
    columns:
      id: row
      code: pattern('@@-##')
      note: choice('it''s', null, digits(3))
    after: ["CREATE INDEX items_code ON items (code)"]
params:
  item: uniform(1, rows(items))
statements:
  - name: look
    sql: SELECT ':no', code FROM items WHERE id IN (:item, :other, :other) -- :no
    params: {other: 'uniform(1, 10)'}
  - name: note
    sql: UPDATE items SET note = :text WHERE id = :item;
    params: {text: "choice('a', 5, null)"}
  - name: number
    sql: INSERT INTO items VALUES (:n, :by, 'x')
    text: true
    params: {n: sequence(1M), by: connection}
events:
  - weight: 3
    transaction: true
    send: [{look: 2}, note]
  - name: add
    send: [number]
`

func sample(t *testing.T, change func(*Options)) (Workload, error) {
	t.Helper()
	o := testOptions()
	if change != nil {
		change(&o)
	}
	// YAML has no way to put a single quote into a quoted word of ours.
	w, _, err := Parse("", []byte(strings.ReplaceAll(sampleFile, "'it''s'", `"it's"`)), o)
	return w, err
}

func TestCustomEvents(t *testing.T) {
	t.Parallel()
	w, err := sample(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "custom.sql", render(w, 1, 4, 8))
	if got := strings.Join(w.Kinds(), " "); got != "look note number begin commit" {
		t.Errorf("kinds %s", got)
	}
	if s := w.Statements()[2]; !s.Text || s.Rows {
		t.Errorf("statement number: text %v rows %v", s.Text, s.Rows)
	}
	if again, _ := sample(t, nil); !bytes.Equal(render(w, 1, 4, 50), render(again, 1, 4, 50)) {
		t.Error("the same seed gives other events")
	}
	without, err := sample(t, func(o *Options) { o.SkipTrx = true })
	if err != nil || strings.Contains(strings.Join(without.Kinds(), " "), "begin") {
		t.Errorf("skip_trx: %v, %v", without, err)
	}
}

func TestCustomWeights(t *testing.T) {
	t.Parallel()
	w, err := sample(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := counts(w, 4000)
	if got["number"] < 900 || got["number"] > 1100 || got["look"] != 2*got["note"] || got["note"]+got["number"] != 4000 || got["begin"] != got["note"] {
		t.Errorf("counts of 4000 events %v", got)
	}
}

func TestCustomSequencesAreDistinct(t *testing.T) {
	t.Parallel()
	w, err := sample(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for conn := range 3 {
		g, ev := w.Generator(conn, 3), &Event{}
		for range 400 {
			g.Next(ev)
			for _, c := range ev.Calls {
				if c.Statement == 2 {
					n, by := ev.Args(c)[0].Int, ev.Args(c)[1].Int
					if seen[n] || n < 1_000_000 || by != int64(conn+1) {
						t.Fatalf("number %d by %d", n, by)
					}
					seen[n] = true
				}
			}
		}
	}
	if len(seen) < 200 {
		t.Errorf("%d numbers", len(seen))
	}
}

func TestCustomDataset(t *testing.T) {
	t.Parallel()
	_, spec, err := Parse("shop", []byte(strings.ReplaceAll(sampleFile, "'it''s'", `"it's"`)), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	table := spec.Tables[0]
	if table.Rows != 2000 || table.Key != "id" || strings.Join(table.Insert, ",") != "id,code,note" ||
		table.After[0].Index != "items_code" || strings.HasSuffix(table.Create, ";") {
		t.Errorf("table %+v", table)
	}
	src := random.NewSource(1, 1)
	row := regexp.MustCompile(`^\(\d+,'[a-z]{2}-[0-9]{2}',('it''s'|NULL|'[0-9]{3}')\)$`)
	kinds := map[string]bool{}
	for n := range int64(100) {
		text := string(table.Row(nil, &src, n))
		if !row.MatchString(text) {
			t.Fatalf("row %s", text)
		}
		kinds[text[strings.LastIndexByte(text, ',')+1:][:2]] = true
	}
	if len(kinds) < 3 {
		t.Errorf("kinds of notes %v", kinds)
	}
}

func TestCustomMistakes(t *testing.T) {
	t.Parallel()
	const events = "\nevents: [{send: [a]}]"
	const statement = "\nstatements: [{name: a, sql: SELECT 1}]"
	for name, tc := range map[string]struct{ file, want string }{
		"empty":              {"", "name is missing"},
		"no yaml":            {"name: [", "sequence end token"},
		"unknown key":        {"name: x\nstatments: []", `line 2, column 1: unknown key "statments", did you mean "statements"?`},
		"built-in name":      {"name: oltp_insert", "name oltp_insert is that of a built-in workload"},
		"another name":       {"name: y" + statement + events, "it is named y but BENCH_WORKLOAD is x"},
		"no events":          {"name: x" + statement, "events is missing"},
		"nothing sent":       {"name: x" + statement + "\nevents: [{weight: 2}]", "send is missing"},
		"weight":             {"name: x" + statement + "\nevents: [{weight: 0, send: [a]}]", "weight 0: give 1 to"},
		"unknown statement":  {"name: x" + statement + "\nevents: [{send: [a, b]}]", "event 1 : send: there is no statement b"},
		"count":              {"name: x" + statement + "\nevents: [{send: [{a: 0}]}]", "send a: 0 times"},
		"count is text":      {"name: x" + statement + "\nevents: [{send: [{a: many}]}]", `"many" is not known`},
		"name":               {"name: ../x" + statement + events, `name "../x": give at most 64 letters`},
		"not the type":       {"name: [1]" + statement + events, "line 1, column 7: text is needed, found a list"},
		"two documents":      {"name: x" + statement + events + "\n---\nname: y\n", "it holds more than one YAML document"},
		"broken tag":         {"name: 0\ntables:\n  !\n    a: 0\nb: 0\n", "stray !"},
		"unused statement":   {"name: x\nstatements: [{name: a, sql: SELECT 1}, {name: b, sql: SELECT 2}]" + events, "statement b is in no event"},
		"unused parameter":   {"name: x\nparams: {p: 5}" + statement + events, "parameter p is in no statement"},
		"undeclared":         {"name: x\nstatements: [{name: a, sql: 'SELECT :p'}]" + events, "statement a: parameter :p is not declared"},
		"not in the sql":     {"name: x\nstatements: [{name: a, sql: SELECT 1, params: {p: 1}}]" + events, ":p does not occur in the sql"},
		"question mark":      {"name: x\nstatements: [{name: a, sql: 'SELECT ?'}]" + events, "write :name"},
		"two statements":     {"name: x\nstatements: [{name: a, sql: 'SELECT 1; SELECT 2'}]" + events, "one statement only"},
		"no sql":             {"name: x\nstatements: [{name: a}]" + events, "sql is missing"},
		"statement twice":    {"name: x\nstatements: [{name: a, sql: SELECT 1}, {name: a, sql: SELECT 2}]" + events, "the name is there twice"},
		"reserved name":      {"name: x\nstatements: [{name: begin, sql: SELECT 1}]" + events, "is no name for a statement"},
		"table's create":     {"name: x\ntables: [{name: t, create: CREATE TABLE u (a INT)}]" + statement + events, "table t: create must begin with CREATE TABLE t ("},
		"columns":            {"name: x\ntables: [{name: t, create: CREATE TABLE t (a INT), rows: 5}]" + statement + events, "columns is missing"},
		"rows":               {"name: x\ntables: [{name: t, create: CREATE TABLE t (a INT), rows: 'uniform(1,2)', columns: {a: 1}}]" + statement + events, "want a number"},
		"marker":             {"name: x\ntables: [{name: cellbench_dataset, create: CREATE TABLE cellbench_dataset (a INT)}]" + statement + events, "taken by cellbench itself"},
		"expression":         {"name: x\nparams: {p: 'unifrom(1, 2)'}" + statement + events, "params: p: expression \"unifrom(1, 2)\": unifrom(...) is not known"},
		"row in a parameter": {"name: x\nparams: {p: row}" + statement + events, "row is for columns only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Parse("x", []byte(tc.file), testOptions())
			if err == nil || !strings.Contains(err.Error(), tc.want) || bench.CodeOf(err) != bench.ExitConfig || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	sc := scope{opt: testOptions(), rows: map[string]int64{"t": 70}}
	for text, want := range map[string]string{
		"42": "42", "-3": "-3", "10k": "10000", "2M": "2000000", "1_000": "1000", "1G": "1000000000",
		"2 + 3 * 4": "14", "(2 + 3) * 4": "20", "10 - 4 - 3": "3", "100 / 7": "14", "-(1 + 1)": "-2",
		"table_size": "1000", "tables": "3", "threads": "1", "rows(t) / 2": "35",
		"'text'": "'text'", `"it's"`: "'it''s'", "null": "NULL", "connection": "5", "sequence(10)": "14",
		"uniform(7, 7)": "7", "pattern('x-y')": "'x-y'", "choice(9)": "9", "random(rows(t), 70)": "70",
	} {
		x, err := parseExpr(text, sc)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		src := random.NewSource(1, 1)
		p := place{src: &src, conn: 4, conns: 8, counts: make([]int64, 1)}
		if got := string(x.make(&p, 0).appendSQL(nil)); got != want {
			t.Errorf("%s makes %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "something is missing at the end",
		"1 +":                   "something is missing",
		"1 2":                   `"2" is left over`,
		"(1":                    "a ) is missing",
		"'a":                    "a closing ' is missing",
		"1 / 0":                 "division by 0",
		"uniform(1)":            "needs two numbers",
		"uniform(5, 1)":         "uniform(5, 1) is an empty range",
		"uniform(1 2)":          "a , or ) is missing",
		"'a' + 1":               `"+ 1" is left over`,
		"1 + 'a'":               "only numbers can be added",
		"rows(u)":               "no such table above",
		"rows":                  "rows(table)",
		"digits(0)":             "digits needs a number",
		"digits('a')":           "digits needs a number",
		"pattern(5)":            "pattern needs one text",
		"choice()":              "needs something to choose from",
		"choice(sequence(1))":   "a sequence cannot be chosen",
		"sequence('a')":         "needs its first number",
		"99999999999999999999":  "no number of 64 bits",
		"99999999999G":          "too large",
		"9223372036854775807*9": "the product is too large",
		"$":                     `"$" is not understood`,
	} {
		if _, err := parseExpr(text, sc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{"uniform(1, 10k)", "choice('a', pattern('#@'), null)", "2 * (rows(t) + 1)", "((((", "sequence(1)", "-"} {
		f.Add(s)
	}
	o := testOptions()
	f.Fuzz(func(_ *testing.T, text string) {
		x, err := parseExpr(text, scope{opt: o, rows: map[string]int64{"t": 70}})
		if err != nil {
			return
		}
		src := random.NewSource(1, 1)
		p := place{src: &src, conns: 1, counts: make([]int64, 1)}
		x.make(&p, 0).appendSQL(nil)
	})
}

func FuzzParse(f *testing.F) {
	f.Add(sampleFile)
	f.Add("name: x\nstatements: [{name: a, sql: 'SELECT :p'}]\nparams: {p: 1}\nevents: [{send: [{a: 2}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		o := testOptions()
		w, _, err := Parse("", []byte(text), o)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: an error of several lines", err)
			}
			return
		}
		g, ev := w.Generator(0, 1), &Event{}
		if len(fmt.Sprint(w.Statements())) < 1<<16 && !strings.Contains(text, "00") {
			g.Next(ev)
		}
	})
}

func TestDatasetOfWorkloads(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Options)
		tables int
		rows   int64
		drifts bool
	}{
		"oltp_read_write":      {nil, 3, 3000, false},
		"select_random_points": {nil, 3, 3000, false},
		"oltp_delete":          {nil, 3, 3000, true},
		"oltp_insert":          {nil, 3, 3000, true},
		"oltp_insert own ids":  {func(o *Options) { o.AutoInc = false }, 3, 0, true},
		"bulk_insert":          {func(o *Options) { o.Threads = 5 }, 5, 0, true},
		"hotspot_update":       {nil, 1, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions()
			if tc.change != nil {
				tc.change(&o)
			}
			s, err := Dataset(strings.Fields(name)[0], o)
			if err != nil || len(s.Tables) != tc.tables || s.Rows() != tc.rows || s.Drifts != tc.drifts {
				t.Errorf("%d tables, %d rows, drifts %v, %v", len(s.Tables), s.Rows(), s.Drifts, err)
			}
		})
	}
	if _, err := Dataset("nonsense", testOptions()); bench.CodeOf(err) != bench.ExitConfig {
		t.Errorf("unknown workload: %v", err)
	}
}
