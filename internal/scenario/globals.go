package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	setStart     = regexp.MustCompile(`(?is)^SET\s+(.*)$`)
	scopeWord    = regexp.MustCompile(`(?is)^(GLOBAL|PERSIST_ONLY|PERSIST|SESSION|LOCAL)\s+(.*)$`)
	scopeAt      = regexp.MustCompile(`(?is)^@@(GLOBAL|PERSIST_ONLY|PERSIST|SESSION|LOCAL)\s*\.\s*(.*)$`)
	assignedName = regexp.MustCompile("(?is)^`?([A-Za-z0-9_.]+)`?\\s*:?=")
)

// globals returns the names of the global variables that the statements set, in
// order and once each. SET PERSIST is refused: it outlives the server and cannot
// be undone by setting the old value.
func globals(stmts []string) ([]string, error) {
	var names []string
	for _, stmt := range stmts {
		found, err := globalsOf(stmt)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// globalsOf returns the global variables that one statement sets. A scope word
// holds for the assignments after it that have none of their own (MySQL manual,
// "SET Syntax for Variable Assignment"); @@GLOBAL. holds for its own only.
func globalsOf(stmt string) ([]string, error) {
	m := setStart.FindStringSubmatch(stripComments(stmt))
	if m == nil {
		return nil, nil
	}
	var names []string
	scope := ""
	for _, part := range splitCommas(m[1]) {
		part = strings.TrimSpace(part)
		own := ""
		if w := scopeWord.FindStringSubmatch(part); w != nil {
			scope, part = strings.ToUpper(w[1]), w[2]
			own = scope
		} else if a := scopeAt.FindStringSubmatch(part); a != nil {
			own, part = strings.ToUpper(a[1]), a[2]
		} else if !strings.HasPrefix(part, "@") {
			own = scope
		}
		if strings.HasPrefix(own, "PERSIST") {
			return nil, fmt.Errorf("%q: SET %s outlives the server and is not undone: use SET GLOBAL", oneLine(stmt), own)
		}
		if name := assignedName.FindStringSubmatch(part); own == "GLOBAL" && name != nil {
			names = append(names, strings.ToLower(name[1]))
		}
	}
	return names, nil
}

// splitCommas splits at the commas outside quotes and parentheses.
func splitCommas(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); {
		n, _ := lexeme(text[i:])
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[start:i])
				start = i + 1
			}
		}
		i += n
	}
	return append(parts, text[start:])
}

// stripComments takes the comments out of a statement.
func stripComments(stmt string) string {
	var b strings.Builder
	for i := 0; i < len(stmt); {
		n, kind := lexeme(stmt[i:])
		if kind == lexComment {
			b.WriteByte(' ')
		} else {
			b.WriteString(stmt[i : i+n])
		}
		i += n
	}
	return strings.TrimSpace(b.String())
}
