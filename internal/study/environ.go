package study

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// The variables that choose a study and narrow it, as the verbs' options do; a
// cell's own environment doesn't hold them.
const (
	varStudy   = "BENCH_STUDY"
	varOnly    = "BENCH_ONLY"    // `threads=1,8 scenario=pfsoff`
	varSeed    = "BENCH_SEED"    // instead of the file's
	varRepeats = "BENCH_REPEATS" // instead of the file's
)

func ofStudy(name string) bool {
	return name == varStudy || name == varOnly || name == varSeed || name == varRepeats
}

// OptionsFromEnv reads the narrowing options of a container: BENCH_ONLY
// (`threads=1,8 scenario=pfsoff`), BENCH_SEED and BENCH_REPEATS.
// Every container of a fan-out needs the same. Errors carry ExitConfig.
func OptionsFromEnv(environ []string) (Options, error) {
	env := parseEnviron(environ)
	o := Options{Environ: environ}
	only, err := ParseOnly(env[varOnly])
	if err != nil {
		return Options{}, err
	}
	if len(only) > 0 {
		o.Only = only
	}
	if text := env[varSeed]; text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return Options{}, bench.Errorf(bench.ExitConfig, "read %s: %q, allowed are whole numbers from 0", varSeed, text)
		}
		o.Seed = &seed
	}
	if text := env[varRepeats]; text != "" {
		o.Repeats, err = strconv.Atoi(text)
		if err != nil || o.Repeats < 1 || o.Repeats > maxRepeats {
			return Options{}, bench.Errorf(bench.ExitConfig, "read %s: %q, allowed are whole numbers from 1 to %d", varRepeats, text, maxRepeats)
		}
	}
	return o, nil
}

// rivals lists variables that say the same thing in different words: where a
// stronger source sets the key, a weaker source's rivals are dropped, because
// together they would be refused or, worse, mean another server.
var rivals = map[string][]string{
	"BENCH_DSN": {
		"BENCH_MYSQL_HOST", "BENCH_MYSQL_PORT", "BENCH_MYSQL_SOCKET", "BENCH_MYSQL_USER",
		"BENCH_MYSQL_PASSWORD", "BENCH_MYSQL_PASSWORD_FILE", "BENCH_MYSQL_DB",
	},
	"BENCH_MYSQL_HOST":          {"BENCH_DSN", "BENCH_MYSQL_SOCKET"},
	"BENCH_MYSQL_SOCKET":        {"BENCH_DSN", "BENCH_MYSQL_HOST", "BENCH_MYSQL_PORT"},
	"BENCH_MYSQL_PASSWORD":      {"BENCH_MYSQL_PASSWORD_FILE"},
	"BENCH_MYSQL_PASSWORD_FILE": {"BENCH_MYSQL_PASSWORD"},
}

// reference is `${NAME}`; a `$` before it makes it literal text.
var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

var referenceName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkReferences says what is wrong with the references in a setting.
func checkReferences(value string) error {
	for _, ref := range reference.FindAllString(value, -1) {
		if strings.HasPrefix(ref, "$$") {
			continue
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
		if !closed || !referenceName.MatchString(name) {
			return fmt.Errorf("%q is no reference to a variable: write ${NAME}, or $${ for the text itself", ref)
		}
	}
	return nil
}

// expand replaces each `${NAME}` by the container's variable NAME.
func expand(value string, container map[string]string) (string, error) {
	var missing []string
	out := reference.ReplaceAllStringFunc(value, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		name := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		found, ok := container[name]
		if !ok || found == "" {
			missing = append(missing, name)
		}
		return found
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no variable %s", strings.Join(missing, ", "))
	}
	return out, nil
}

// Environ returns the environment of the process that measures the cell:
// everything the container has, with the BENCH_ variables merged, sorted by
// name at the end. Weakest first: the study's settings, the container's own
// variables, the cell's axes and its target's settings. A container's variable
// that is set but empty counts as unset.
//
// `${NAME}` in a setting is replaced by the container's variable NAME; when
// there is none the error (ExitConfig) names the setting and the variable.
func (c Cell) Environ(container []string) ([]string, error) {
	own := parseEnviron(container)
	result, err := c.effective(own)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(container)+len(result))
	for _, entry := range container {
		if !strings.HasPrefix(entry, "BENCH_") {
			out = append(out, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result)) {
		out = append(out, name+"="+result[name])
	}
	return out, nil
}

// effective merges the BENCH_ variables of all sources, references replaced.
func (c Cell) effective(container map[string]string) (map[string]string, error) {
	out := c.layered(container)
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if own, ok := container[name]; ok && out[name] == own {
			continue // the container's own text is not ours to interpret
		}
		value, err := expand(out[name], container)
		if err != nil {
			return nil, bench.Errorf(bench.ExitConfig, "read setting %s of cell %s: %w", name, c.ID, err)
		}
		out[name] = value
	}
	return out, nil
}

// layered merges the BENCH_ variables of all sources, references kept.
func (c Cell) layered(container map[string]string) map[string]string {
	out := map[string]string{}
	own := map[string]string{}
	for name, value := range container {
		if strings.HasPrefix(name, "BENCH_") && value != "" && !ofStudy(name) {
			own[name] = value
		}
	}
	dropped := map[string]bool{} // rivals of what a stronger source set
	for _, layer := range []map[string]string{c.Env, own, c.Shared} {
		var rivalsOfLayer []string
		for name, value := range layer {
			if _, stronger := out[name]; !stronger && !dropped[name] {
				out[name] = value
				rivalsOfLayer = append(rivalsOfLayer, rivals[name]...)
			}
		}
		for _, name := range rivalsOfLayer {
			dropped[name] = true
		}
	}
	labels := merged(parseLabels(c.Shared["BENCH_LABELS"]), parseLabels(own["BENCH_LABELS"]), c.axisLabels)
	if len(labels) > 0 {
		out["BENCH_LABELS"] = formatLabels(labels)
	}
	return out
}

// parseEnviron makes a map of `NAME=value` entries; the last of a name counts.
func parseEnviron(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			out[name] = value
		}
	}
	return out
}

// parseLabels reads BENCH_LABELS (`k=v,...`); what isn't of that form is left
// to the configuration, which reports it.
func parseLabels(text string) map[string]string {
	out := map[string]string{}
	for _, one := range strings.Split(text, ",") {
		if k, v, ok := strings.Cut(one, "="); ok {
			out[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return out
}

func formatLabels(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ",")
}
