package study

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// masked stands in place of a secret.
const masked = "***"

// shortestScrubbed is the length in bytes from which a secret is also looked
// for inside other values; shorter ones ("sbtest") would shred innocent text.
const shortestScrubbed = 8

var (
	onlyReferences = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$`)
	secretSQL      = regexp.MustCompile(`(?i)identified|password`)
)

// secretName reports whether a setting or variable of that name holds a secret.
// The path of a password file is none.
func secretName(name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, "_file") {
		return false
	}
	for _, word := range []string{"password", "passwd", "_pwd", "secret", "token", "credential", "private_key", "access_key"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func isDSN(name string) bool {
	name = strings.ToLower(name)
	return name == "dsn" || strings.HasSuffix(name, "_dsn")
}

// masker hides secrets in what is shown or stored.
type masker struct{ secrets []string }

// newMasker learns the values of all secrets in the container's environment and
// in the study's own settings.
func newMasker(sets ...map[string]string) masker {
	var m masker
	for _, set := range sets {
		for name, value := range set {
			if isDSN(name) {
				_, value = splitDSN(value)
			} else if !secretName(name) {
				continue
			}
			if len(value) >= shortestScrubbed && !onlyReferences.MatchString(value) {
				m.secrets = append(m.secrets, value)
			}
		}
	}
	// Longest first, so that a secret inside another leaves no remainder.
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	return m
}

// value returns what may be shown of a setting's or variable's value.
func (m masker) value(name, value string) string {
	switch {
	case value == "" || onlyReferences.MatchString(value):
		return value
	case secretName(name):
		return masked
	case isDSN(name):
		value, _ = splitDSN(value)
	case strings.HasSuffix(strings.ToLower(name), "_sql") && secretSQL.MatchString(value):
		return masked
	}
	return m.text(value)
}

// text hides the known secrets inside free text.
func (m masker) text(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, masked)
	}
	return s
}

func (m masker) all(values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, value := range values {
		out[name] = m.value(name, value)
	}
	return out
}

// splitDSN takes the password out of a go-sql-driver DSN
// (`user:password@tcp(host)/db`). A text that is no DSN is hidden whole.
func splitDSN(dsn string) (shown, password string) {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 {
		return masked, dsn
	}
	at := strings.LastIndexByte(dsn[:slash], '@')
	if at < 0 {
		return dsn, "" // no credentials
	}
	colon := strings.IndexByte(dsn[:at], ':')
	if colon < 0 {
		return dsn, ""
	}
	return dsn[:colon+1] + masked + dsn[at:], dsn[colon+1 : at]
}

// Show returns the cell's BENCH_ variables as Environ would merge them, as
// `NAME=value` sorted by name, for people: secrets are masked and references
// (`${NAME}`) stay as written.
func (c Cell) Show(container []string) []string {
	own := parseEnviron(container)
	m := newMasker(own, c.Shared, c.Env)
	values := m.all(c.layered(own))
	out := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+values[name])
	}
	return out
}
