package sysbench

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// translator turns the options that were found into variables.
type translator struct {
	*reader
	env    []Pair
	verb   string
	script string
	master bool // an option that 1.0.20 doesn't have is there
}

func (t *translator) translate() *Translation {
	t.command()
	for _, o := range options() {
		if _, ok := t.found[o.name]; ok && o.master {
			t.master = true
		}
	}
	if v, ok := t.found["mysql-ssl"]; ok && !v.bare && !isBoolean(v.value) {
		t.master = true
	}
	if t.found["rand-type"].value == "zipfian" {
		t.master = true
	}
	t.add("WORKLOAD", t.script)
	t.address()
	for _, o := range options() {
		g, ok := t.found[o.name]
		if handler := t.special(o.name); handler != nil {
			handler(g, ok)
			continue
		}
		if !ok {
			continue
		}
		value, valid := t.value(o, g)
		switch {
		case !valid:
		case o.variable != "":
			t.add(o.variable, value)
			if o.note != "" {
				t.note("--%s: %s", o.name, o.note)
			}
		case o.kind == boolean && value == "off": // off is what cellbench does anyway
		case o.note != "":
			t.note("--%s: %s", o.name, o.note)
		}
	}
	return &Translation{Env: t.env, Verb: t.verb, Notes: t.notes}
}

func (t *translator) add(name, value string) {
	if value == "" { // an empty variable is an unset one
		return
	}
	t.env = append(t.env, Pair{Name: "BENCH_" + name, Value: value, Secret: name == "MYSQL_PASSWORD"})
}

// special returns the handler of an option whose meaning is not that of one
// variable. Handlers also run for options that are not there, for their defaults.
func (t *translator) special(name string) func(g given, ok bool) {
	switch name {
	case "mysql-host", "mysql-port", "mysql-socket", "test":
		return func(given, bool) {} // done elsewhere
	case "mysql-ssl":
		return t.tls
	case "db-driver":
		return t.driver
	case "threads":
		return t.threads
	case "time":
		return t.time
	case "warmup-time":
		return t.warmup
	case "events":
		return func(given, bool) {} // with time
	case "rate":
		return t.rate
	case "forced-shutdown":
		return t.forcedShutdown
	case "rand-type":
		return t.randType
	case "mysql-ignore-errors":
		return t.ignoreErrors
	case "percentile":
		return t.percentile
	}
	return nil
}

// command reads test name and command from the words that are no options.
func (t *translator) command() {
	words := t.args
	if g, ok := t.found["test"]; ok {
		words = append([]string{g.value}, words...)
		t.note("--test is deprecated: the name alone is enough")
	}
	if len(words) > 2 {
		t.bad("read command line: %q is one word too many; options are written --name=value", words[2])
		words = words[:2]
	}
	if len(words) == 0 {
		t.bad("read command line: no test named, e.g. oltp_read_only")
		return
	}
	t.script = strings.TrimSuffix(path.Base(words[0]), ".lua")
	switch {
	case !slices.Contains(workloads(), t.script):
		if slices.Contains([]string{"fileio", "cpu", "memory", "threads", "mutex"}, t.script) {
			t.bad("read command line: sysbench's %s test measures this machine, not a server; cellbench has no counterpart", t.script)
		} else {
			t.bad("read command line: no workload %q, %s; a script of your own becomes a file for BENCH_WORKLOAD_FILE", t.script, bench.DidYouMean(t.script, workloads()))
		}
	case strings.ContainsRune(words[0], '/') || strings.HasSuffix(words[0], ".lua"):
		t.note("%s: taken for sysbench's own script; changes made in that file are not seen", words[0])
	}
	if len(words) == 1 {
		t.bad("read command line: the command is missing: prepare, run or cleanup")
		return
	}
	switch words[1] {
	case "prepare", "run", "cleanup":
		t.verb = words[1]
	case "prewarm", "warmup":
		t.verb = "run"
		t.note("%s: no counterpart; BENCH_WARMUP_TIME loads the server before the window in the same run", words[1])
	default:
		t.bad("read command line: no command %q, %s", words[1], bench.DidYouMean(words[1], []string{"prepare", "run", "cleanup"}))
	}
}

// address: sockets win over hosts, the host "localhost" is the socket of the
// client library, and lists are taken in turn by sysbench's threads.
func (t *translator) address() {
	first := func(name string) string {
		g := t.found[name]
		one, rest, isList := strings.Cut(g.value, ",")
		if isList {
			t.note("--%s: a list (%s): sysbench spreads its threads over it, a cell has one target: the first is taken; make the others targets of a study", name, one+","+rest)
		}
		return strings.TrimSpace(one)
	}
	if socket := first("mysql-socket"); socket != "" {
		t.add("MYSQL_SOCKET", socket)
		if _, ok := t.found["mysql-host"]; ok {
			t.note("--mysql-host: ignored by sysbench when there is a socket: left out")
		}
		return
	}
	host := first("mysql-host")
	if g, ok := t.found["mysql-host"]; ok && g.value == "" {
		t.bad("read option --mysql-host: empty")
	}
	if host == "" {
		host = "localhost"
	}
	if host == "localhost" {
		t.note("mysql-host: sysbench reaches localhost by the client library's Unix socket, cellbench by TCP; set BENCH_MYSQL_SOCKET instead of the host for the same way")
	}
	t.add("MYSQL_HOST", host)
	port, err := strconv.Atoi(first("mysql-port"))
	switch g, ok := t.found["mysql-port"]; {
	case !ok:
	case err != nil || port < 1 || port > 65535:
		t.bad("read option --mysql-port: %q, allowed are 1 to 65535", g.value)
	default:
		t.add("MYSQL_PORT", strconv.Itoa(port))
	}
}

// tls: 1.0.20 has a boolean with fixed file names, master has words.
func (t *translator) tls(g given, ok bool) {
	if !ok {
		return
	}
	if !t.master || g.bare || isBoolean(g.value) {
		if v, valid := t.value(option{name: "mysql-ssl", kind: boolean}, g); valid && v == "on" {
			t.add("MYSQL_TLS", "required")
			t.note("--mysql-ssl: sysbench 1.0.20 also takes client-key.pem, client-cert.pem and cacert.pem from the current folder; name such files by BENCH_MYSQL_TLS_KEY, BENCH_MYSQL_TLS_CERT and BENCH_MYSQL_TLS_CA")
		}
		return
	}
	word := strings.ReplaceAll(strings.ToLower(g.value), "_", "-")
	modes := []string{"disabled", "preferred", "required", "verify-ca", "verify-identity"}
	if !slices.Contains(modes, word) {
		t.bad("read option --mysql-ssl: %q, %s", g.value, bench.DidYouMean(word, modes))
		return
	}
	t.add("MYSQL_TLS", word)
}

func (t *translator) driver(g given, ok bool) {
	if ok && g.value != "mysql" {
		t.bad("read option --db-driver: %q, cellbench measures MySQL only", g.value)
	}
}

// threads are connections of the load, or of the loader in prepare.
func (t *translator) threads(g given, ok bool) {
	if !ok {
		return
	}
	value, valid := t.value(option{name: "threads", kind: integer}, g)
	if n, _ := strconv.Atoi(value); valid && n < 1 {
		t.bad("read option --threads: %q, allowed are 1 and more", g.value)
		return
	}
	if t.verb == "prepare" && t.script != "bulk_insert" {
		t.add("PREPARE_THREADS", value)
		return
	}
	t.add("THREADS", value)
}

// time goes with events: sysbench stops at whichever comes first, also when only
// events are given, and its default is 10 seconds.
func (t *translator) time(g given, ok bool) {
	if t.verb != "run" {
		return
	}
	seconds, limit := "10", "0"
	if ok {
		v, valid := t.value(option{name: "time", kind: integer}, g)
		if !valid {
			return
		}
		seconds = v
	}
	if e, found := t.found["events"]; found {
		v, valid := t.value(option{name: "events", kind: integer}, e)
		if !valid {
			return
		}
		limit = v
	}
	if n, _ := strconv.Atoi(seconds); n < 0 {
		seconds = "0" // as good as no limit
	}
	if n, _ := strconv.Atoi(limit); n < 0 {
		limit = "0"
	}
	if seconds == "0" && limit == "0" {
		t.note("--time=0 without --events runs until it is killed; a cell needs an end: set BENCH_TIME or BENCH_EVENTS")
		return
	}
	t.add("TIME", seconds)
	if limit != "0" {
		t.add("EVENTS", limit)
		if !ok {
			t.note("--events: sysbench also stops after its default of 10 seconds; leave BENCH_TIME out to run all events")
		}
	}
}

// warmup: none in sysbench unless asked for.
func (t *translator) warmup(g given, ok bool) {
	if t.verb != "run" {
		return
	}
	if !ok {
		t.add("WARMUP_TIME", "0")
		t.note("warm-up: sysbench has none unless asked, so BENCH_WARMUP_TIME is 0; leave it out for cellbench's default")
		return
	}
	if v, valid := t.value(option{name: "warmup-time", kind: integer}, g); valid {
		if n, _ := strconv.Atoi(v); n < 0 {
			t.bad("read option --warmup-time: %q, allowed are 0 and more", g.value)
			return
		}
		t.add("WARMUP_TIME", v)
	}
}

func (t *translator) rate(g given, ok bool) {
	if !ok {
		return
	}
	v, valid := t.value(option{name: "rate", kind: integer}, g)
	if n, _ := strconv.Atoi(v); !valid || n <= 0 {
		return
	}
	t.add("RATE", v)
	t.note("--rate: latency counts from the moment an event was due, and a target that cannot keep up makes a backlog instead of an abort")
}

// forcedShutdown is how long events in flight may overrun the time limit.
func (t *translator) forcedShutdown(g given, ok bool) {
	if !ok || t.verb != "run" || strings.EqualFold(g.value, "off") {
		return
	}
	limit := 10.0
	if v, found := t.found["time"]; found {
		limit, _ = strconv.ParseFloat(v.value, 64)
	}
	value := g.value
	if g.bare || value == "" {
		value = "5%"
	}
	percent, isPercent := strings.CutSuffix(value, "%")
	n, err := strconv.ParseFloat(percent, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		t.bad("read option --forced-shutdown: %q, allowed are seconds, N%% and off", g.value)
		return
	}
	if isPercent {
		n = limit * n / 100
	}
	t.add("DRAIN_TIMEOUT", strconv.FormatFloat(n, 'f', -1, 64))
	t.note("--forced-shutdown: events still in flight after BENCH_DRAIN_TIMEOUT are broken off; the result is complete and the exit code 0")
}

// randType always writes the distribution out, because the defaults of
// sysbench's versions and of cellbench differ.
func (t *translator) randType(g given, ok bool) {
	if t.verb == "cleanup" {
		return
	}
	value := g.value
	switch {
	case ok:
	case t.master:
		value = "uniform"
		t.note("--rand-type: not given; the default of sysbench's master, whose options are used here, is uniform")
	default:
		value = "special"
		t.note("--rand-type: not given; the default of sysbench 1.0.20 is special (three quarters of the accesses go to 1 %% of the rows); set BENCH_RAND_TYPE=uniform for what master does")
	}
	types := []string{"uniform", "gaussian", "special", "pareto", "zipfian"}
	if !slices.Contains(types, value) {
		t.bad("read option --rand-type: %q, %s", value, bench.DidYouMean(value, types))
		return
	}
	if value == "gaussian" && t.master {
		t.note("--rand-type=gaussian: sysbench's master draws the lowest id every time (a known fault); cellbench draws the distribution as 1.0.20 does")
	}
	t.add("RAND_TYPE", value)
}

func (t *translator) ignoreErrors(g given, ok bool) {
	switch {
	case !ok:
	case g.value == "":
		t.add("MYSQL_IGNORE_ERRORS", "none")
	default:
		t.add("MYSQL_IGNORE_ERRORS", g.value)
		if g.value == "all" {
			t.note("--mysql-ignore-errors=all hides failures; the result counts each by its code")
		}
	}
}

// percentile adds to what the result writes out.
func (t *translator) percentile(g given, ok bool) {
	if !ok {
		return
	}
	v, valid := t.value(option{name: "percentile", kind: integer}, g)
	n, _ := strconv.Atoi(v)
	switch {
	case !valid:
	case n < 0 || n > 100:
		t.bad("read option --percentile: %q, allowed are 0 to 100", g.value)
	case n == 0:
		t.note("--percentile=0: percentiles cost nothing here and are always recorded: left out")
	default:
		t.add("PERCENTILE", v)
	}
}

var leadingNumber = regexp.MustCompile(`^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)`)

// value reads an option's value the way sysbench does and writes it the way
// cellbench reads it.
func (t *translator) value(o option, g given) (string, bool) {
	switch o.kind {
	case integer:
		n, err := strconv.ParseInt(strings.TrimSpace(g.value), 10, 32)
		if err != nil {
			t.bad("read option --%s: %q, sysbench takes whole numbers below 2^31 only", o.name, g.value)
			return "", false
		}
		return strconv.FormatInt(n, 10), true
	case number:
		return t.number(o, g)
	case boolean:
		switch {
		case g.bare || slices.Contains([]string{"on", "true", "1"}, strings.ToLower(g.value)):
			return "on", true
		case slices.Contains([]string{"off", "false", "0"}, strings.ToLower(g.value)):
			return "off", true
		}
		t.bad("read option --%s: %q, allowed are on and off", o.name, g.value)
		return "", false
	}
	return g.value, true
}

// number reads what stands at the beginning of the text, as sysbench does with
// the options of its scripts: no suffixes, no errors.
func (t *translator) number(o option, g given) (string, bool) {
	lead := leadingNumber.FindString(g.value)
	v, err := strconv.ParseFloat(strings.TrimSpace(lead), 64)
	if lead == "" || err != nil {
		v = 0
	}
	whole := !strings.HasSuffix(o.name, "-h") && !strings.HasSuffix(o.name, "-exp")
	if whole {
		v = math.Trunc(v)
	}
	if math.Abs(v) > 1e18 {
		t.bad("read option --%s: %q is out of range", o.name, g.value)
		return "", false
	}
	out := strconv.FormatFloat(v, 'f', -1, 64)
	if rest := g.value[len(lead):]; rest != "" || lead == "" {
		t.note("--%s=%s: sysbench reads it as %s because the numbers of its scripts have no suffix; in %s k, M and G mean thousands, millions and so on", o.name, g.value, out, counterpart(o))
	}
	return out, true
}

func isBoolean(value string) bool {
	return slices.Contains([]string{"on", "true", "1", "off", "false", "0"}, strings.ToLower(value))
}
