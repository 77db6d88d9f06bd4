package bench

import (
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

// maxRunID bounds a run id, in bytes.
const maxRunID = 128

// NewRunID makes a run id that sorts by time: `20060102-150405-<6 hex digits>`,
// in UTC. random gives the last part (crypto/rand.Reader); its error is returned.
func NewRunID(now time.Time, random io.Reader) (string, error) {
	tail, err := randomHex(random, 3)
	if err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	return now.UTC().Format("20060102-150405") + "-" + tail, nil
}

// NewAttempt makes the name of one attempt at a cell, sortable by time to the
// millisecond and unique: `20060102T150405.000Z-<8 hex digits>`, in UTC.
func NewAttempt(now time.Time, random io.Reader) (string, error) {
	tail, err := randomHex(random, 4)
	if err != nil {
		return "", fmt.Errorf("make attempt name: %w", err)
	}
	return now.UTC().Format("20060102T150405.000Z") + "-" + tail, nil
}

func randomHex(random io.Reader, n int) (string, error) {
	raw := make([]byte, n)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw), nil
}

// CheckRunID says whether id may be part of a key: 1 to 128 characters of
// [A-Za-z0-9._-], the first one a letter or a digit. The error carries ExitConfig.
func CheckRunID(id string) error {
	if id == "" || len(id) > maxRunID {
		return Errorf(ExitConfig, "check run id: %q has %d characters, allowed are 1 to %d", id, len(id), maxRunID)
	}
	if !ValidKeyPart(id) {
		return Errorf(ExitConfig, "check run id: %q, allowed are letters, digits, '.', '_' and '-', the first one a letter or a digit", id)
	}
	return nil
}

// ValidKeyPart reports whether s is one safe component of a key: [A-Za-z0-9._-],
// the first character no . or -.
func ValidKeyPart(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 && r != '_' || r != '.' && r != '_' && r != '-') {
			return false
		}
	}
	return s != ""
}

// ManifestKey is the key of a run's plan, below the prefix of the store.
func ManifestKey(runID string) string { return path.Join(runID, "manifest.json") }

// ReportKey is the key of one file of a run's report, e.g. "report.html".
func ReportKey(runID, name string) string { return path.Join(runID, "report", name) }

// ResultKey is the key of one attempt's result, below the prefix of the store:
// `<run_id>/cells/<cell_id>/r<repeat>/<attempt>.json`. repeat counts from 1.
func ResultKey(runID, cellID string, repeat int, attempt string) string {
	return path.Join(CellPrefix(runID, cellID, repeat), attempt+".json")
}

// CellPrefix is what the keys of all attempts at one cell and repeat begin
// with, without a trailing slash.
func CellPrefix(runID, cellID string, repeat int) string {
	return path.Join(runID, "cells", cellID, "r"+strconv.Itoa(repeat))
}

// ResultAddress is a result key taken apart.
type ResultAddress struct {
	Prefix  string // what stood before the run id, without a trailing slash
	RunID   string
	CellID  string
	Repeat  int // from 1
	Attempt string
}

// ParseResultKey takes a key of ResultKey's form apart, with or without a
// prefix before it. ok is false for any other key (manifest, report, foreign
// object).
func ParseResultKey(key string) (a ResultAddress, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 5 {
		return ResultAddress{}, false
	}
	head, tail := parts[:len(parts)-5], parts[len(parts)-5:]
	attempt, isJSON := strings.CutSuffix(tail[4], ".json")
	number, isRepeat := strings.CutPrefix(tail[3], "r")
	repeat, err := strconv.Atoi(number)
	switch {
	case !isJSON, !isRepeat, err != nil, repeat < 1, strconv.Itoa(repeat) != number, tail[1] != "cells":
		return ResultAddress{}, false
	case !ValidKeyPart(tail[0]), !ValidKeyPart(tail[2]), !ValidKeyPart(attempt):
		return ResultAddress{}, false
	}
	return ResultAddress{
		Prefix: strings.Join(head, "/"), RunID: tail[0], CellID: tail[2], Repeat: repeat, Attempt: attempt,
	}, true
}
