package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// maxIDPart bounds each readable part of a cell id, so that a key stays under
// the 255 bytes a file name may have.
const maxIDPart = 48

// CellID names a cell: `<target>-<workload>-<scenario>-t<threads>`, of
// [A-Za-z0-9._-] only, so that it is a folder name and a part of an object key
// everywhere. Empty parts are left out.
//
// extra holds the cell's further axes by name (nil for none). They, and every
// cell whose readable parts alone could be mistaken for another's (a character
// had to be replaced, a part is missing, long, has a dash in it or differs from
// another only by case), add eight hexadecimal digits of a hash over the exact
// values: equal ids mean equal cells. The repeat is no part of the id; it has
// its own place in the key.
func CellID(target, workload, scenario string, threads int, extra map[string]string) string {
	exact := len(extra) == 0
	var parts []string
	for _, raw := range []string{target, workload, scenario} {
		part, same := idPart(raw)
		exact = exact && same
		if part != "" {
			parts = append(parts, part)
		}
	}
	parts = append(parts, "t"+strconv.Itoa(threads))
	if !exact {
		parts = append(parts, cellHash(target, workload, scenario, threads, extra))
	}
	return strings.Join(parts, "-")
}

// idPart makes raw safe for a file name and reports whether the outcome stands
// for raw alone.
func idPart(raw string) (part string, same bool) {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, raw)
	if strings.HasPrefix(clean, ".") || strings.HasPrefix(clean, "-") { // hidden files, options
		clean = "_" + clean[1:]
	}
	if len(clean) > maxIDPart {
		clean = clean[:maxIDPart]
	}
	same = clean == raw && raw != "" && !strings.Contains(raw, "-") && strings.ToLower(raw) == raw
	return clean, same
}

func cellHash(target, workload, scenario string, threads int, extra map[string]string) string {
	tuple := []string{target, workload, scenario, strconv.Itoa(threads)}
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tuple = append(tuple, name, extra[name])
	}
	text, _ := json.Marshal(tuple) // strings always marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}
