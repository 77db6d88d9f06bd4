package scenario

import (
	"strings"

	"cellbench/internal/bench"
)

// ParseStatements splits text at the semicolons outside quotes and comments, as
// BENCH_INIT_SQL and BENCH_SESSION_SQL are written. Comments between statements
// are dropped; executable comments (/*! ... */) belong to their statement. An
// open quote or comment is bench.ExitConfig.
func ParseStatements(text string) ([]string, error) {
	var (
		all   []string
		start int
		code  bool // the statement since start has something besides space and comments
	)
	add := func(end int) {
		if code {
			all = append(all, strings.Trim(text[start:end], spaces))
		}
		start, code = end+1, false
	}
	for i := 0; i < len(text); {
		n, kind := lexeme(text[i:])
		switch kind {
		case lexOpen:
			return nil, bench.Errorf(bench.ExitConfig, "read SQL: what begins with %q at character %d never ends", clip(text[i:]), i+1)
		case lexEnd:
			add(i)
		case lexCode:
			code = true
		case lexComment:
			if !code {
				start = i + n // a comment before the statement is not sent
			}
		}
		i += n
	}
	add(len(text))
	return all, nil
}

// spaces are what the server takes for white space.
const spaces = " \t\r\n\v\f"

type lexKind int

const (
	lexSpace   lexKind = iota
	lexCode            // anything that is part of a statement, a whole quoted text at once
	lexComment         // a comment that the server would skip
	lexEnd             // the semicolon
	lexOpen            // a quote or comment without its end
)

// lexeme returns the length and the kind of what text begins with.
func lexeme(text string) (int, lexKind) {
	switch c := text[0]; {
	case strings.IndexByte(spaces, c) >= 0:
		return 1, lexSpace
	case c == ';':
		return 1, lexEnd
	case c == '\'' || c == '"' || c == '`':
		return quoted(text)
	case c == '#', strings.HasPrefix(text, "--") && (len(text) == 2 || text[2] <= ' '):
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1, lexComment
		}
		return len(text), lexComment
	case strings.HasPrefix(text, "/*"):
		end := strings.Index(text[2:], "*/")
		if end < 0 {
			return len(text), lexOpen
		}
		if strings.HasPrefix(text, "/*!") || strings.HasPrefix(text, "/*M!") {
			return end + 4, lexCode
		}
		return end + 4, lexComment
	}
	return 1, lexCode
}

// quoted returns the length of the quoted text that text begins with. A doubled
// quote and, except in backticks, a backslash keep it open.
func quoted(text string) (int, lexKind) {
	q := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && q != '`':
			i++
		case text[i] == q && i+1 < len(text) && text[i+1] == q:
			i++
		case text[i] == q:
			return i + 1, lexCode
		}
	}
	return len(text), lexOpen
}

func clip(s string) string {
	if r := []rune(s); len(r) > 20 {
		return string(r[:20]) + "..."
	}
	return s
}
