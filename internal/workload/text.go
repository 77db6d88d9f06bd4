package workload

import (
	"bytes"
	"strconv"
	"strings"
)

// cut splits sql at the `?` marks that stand outside quotes and comments.
func cut(sql string) []string {
	var segments []string
	start := 0
	for i := 0; i < len(sql); {
		if sql[i] == '?' {
			segments = append(segments, sql[start:i])
			i++
			start = i
			continue
		}
		i = skipToken(sql, i)
	}
	return append(segments, sql[start:])
}

// skipToken returns the index after the quoted text, comment or single byte that
// begins at i.
func skipToken(sql string, i int) int {
	rest := sql[i:]
	switch {
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
		return i + quoted(rest)
	case strings.HasPrefix(rest, "/*"):
		if n := strings.Index(rest[2:], "*/"); n >= 0 {
			return i + n + 4
		}
		return len(sql)
	case rest[0] == '#', strings.HasPrefix(rest, "-- "):
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			return i + n + 1
		}
		return len(sql)
	}
	return i + 1
}

// quoted returns the length of the quoted text that s begins with.
func quoted(s string) int {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q != '`':
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}

// hasWord reports whether a word stands in sql outside quotes and comments.
func hasWord(sql, word string) bool {
	for i := 0; i < len(sql); {
		end := i
		for end < len(sql) && isWordByte(sql[end]) {
			end++
		}
		if strings.EqualFold(sql[i:end], word) {
			return true
		}
		if i = end; i < len(sql) {
			i = skipToken(sql, i)
		}
	}
	return false
}

// skipComments returns sql from its first word on.
func skipComments(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n")
		if !strings.HasPrefix(sql, "/*") && !strings.HasPrefix(sql, "-- ") && !strings.HasPrefix(sql, "#") {
			return sql
		}
		// An executable comment is not skipped: its text is the statement.
		if strings.HasPrefix(sql, "/*!") {
			return sql
		}
		sql = sql[skipToken(sql, 0):]
	}
}

func appendArg(dst []byte, e *Event, a Arg) []byte {
	switch a.Type {
	case ArgInt:
		return strconv.AppendInt(dst, a.Int, 10)
	case ArgNull:
		return append(dst, "NULL"...)
	case ArgRaw:
		return append(dst, e.Bytes(a)...)
	}
	return appendQuoted(dst, e.Bytes(a))
}

// appendQuoted appends s as a string literal. A quote is doubled, which holds in
// every sql_mode; a backslash is escaped as the default mode needs it.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '\'')
	for {
		i := bytes.IndexAny(s, "'\\\x00")
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		switch s[i] {
		case '\'':
			dst = append(dst, "''"...)
		case 0:
			dst = append(dst, `\0`...)
		default:
			dst = append(dst, `\\`...)
		}
		s = s[i+1:]
	}
	dst = append(dst, s...)
	return append(dst, '\'')
}
