package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written as seconds (`60`, `0.5`) or with a unit
// (`90s`, `5m`, `100ms`).
type Duration time.Duration

// Decode reads a duration; it is envconfig's way in.
func (d *Duration) Decode(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if math.IsNaN(f) || f < 0 || f > math.MaxInt64/1e9 {
			return fmt.Errorf("out of range")
		}
		*d = Duration(f * float64(time.Second))
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("not a duration")
	}
	*d = Duration(v)
	return nil
}

// String writes the duration as Decode reads it.
func (d Duration) String() string {
	if time.Duration(d)%time.Second == 0 {
		return strconv.FormatInt(int64(time.Duration(d)/time.Second), 10)
	}
	return time.Duration(d).String()
}

// Std returns the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Count is a number of things, written `10000000`, `10M` or `10k` (decimal: k is
// 1,000 and M 1,000,000, G 1,000,000,000).
type Count int64

// Decode reads a count; it is envconfig's way in.
func (c *Count) Decode(s string) error {
	unit := int64(1)
	digits := s
	if n := len(s); n > 1 {
		switch s[n-1] {
		case 'k', 'K':
			unit, digits = 1_000, s[:n-1]
		case 'm', 'M':
			unit, digits = 1_000_000, s[:n-1]
		case 'g', 'G':
			unit, digits = 1_000_000_000, s[:n-1]
		}
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64/unit {
		return fmt.Errorf("not a count")
	}
	*c = Count(v * unit)
	return nil
}

// String writes the count in digits.
func (c Count) String() string { return strconv.FormatInt(int64(c), 10) }

// Switch is a boolean, written as sysbench takes it: on, off, true, false, 1, 0,
// yes, no.
type Switch bool

// Decode reads a switch; it is envconfig's way in.
func (b *Switch) Decode(s string) error {
	switch strings.ToLower(s) {
	case "on", "true", "1", "yes":
		*b = true
	case "off", "false", "0", "no":
		*b = false
	default:
		return fmt.Errorf("not a switch")
	}
	return nil
}

// String writes on or off.
func (b Switch) String() string {
	if b {
		return "on"
	}
	return "off"
}

// Float is a number with a fraction.
type Float float64

// Decode reads a finite number; it is envconfig's way in.
func (f *Float) Decode(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("not a number")
	}
	*f = Float(v)
	return nil
}

// String writes the number in its shortest form.
func (f Float) String() string { return strconv.FormatFloat(float64(f), 'f', -1, 64) }

// Percentiles is a comma-separated list of percentiles over 0, 100 at most.
type Percentiles []float64

// Decode reads the list; it is envconfig's way in.
func (p *Percentiles) Decode(s string) error {
	var out Percentiles
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v <= 100) {
			return fmt.Errorf("%q is not a percentile", part)
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	*p = out
	return nil
}

// String writes the list as Decode reads it.
func (p Percentiles) String() string {
	parts := make([]string, len(p))
	for i, v := range p {
		parts[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(parts, ",")
}

// IgnoreErrors is a set of MySQL error numbers, or all of them.
type IgnoreErrors struct {
	All   bool
	Codes []int
}

// Decode reads `all`, `none` or a comma-separated list; it is envconfig's way in.
func (e *IgnoreErrors) Decode(s string) error {
	switch strings.ToLower(s) {
	case "all":
		*e = IgnoreErrors{All: true}
		return nil
	case "none":
		*e = IgnoreErrors{}
		return nil
	}
	var out IgnoreErrors
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || v <= 0 || v > 65535 {
			return fmt.Errorf("%q is not an error number", part)
		}
		out.Codes = append(out.Codes, v)
	}
	*e = out
	return nil
}

// String writes the set as Decode reads it.
func (e IgnoreErrors) String() string {
	if e.All {
		return "all"
	}
	if len(e.Codes) == 0 {
		return "none"
	}
	parts := make([]string, len(e.Codes))
	for i, c := range e.Codes {
		parts[i] = strconv.Itoa(c)
	}
	return strings.Join(parts, ",")
}

// Labels are names and values for the report, written `k=v,k2=v2`.
type Labels map[string]string

// Decode reads the labels; it is envconfig's way in. envconfig's own maps are
// written k:v, which would cut an address or a time in two.
func (l *Labels) Decode(s string) error {
	out := Labels{}
	for part := range strings.SplitSeq(s, ",") {
		k, v, ok := strings.Cut(part, "=")
		k = strings.TrimSpace(k)
		if !ok || k == "" {
			return fmt.Errorf("%q has no name before an =", part)
		}
		if _, twice := out[k]; twice {
			return fmt.Errorf("label %q stands twice", k)
		}
		out[k] = strings.TrimSpace(v)
	}
	*l = out
	return nil
}

// String writes the labels in order of their names.
func (l Labels) String() string {
	parts := make([]string, 0, len(l))
	for k, v := range l {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// LockTimeout is how long to wait for the target's lock; Off means to take none.
type LockTimeout struct {
	Off  bool
	Wait time.Duration
}

// Decode reads a duration or `off`; it is envconfig's way in.
func (t *LockTimeout) Decode(s string) error {
	if strings.EqualFold(s, "off") {
		*t = LockTimeout{Off: true}
		return nil
	}
	var d Duration
	if err := d.Decode(s); err != nil {
		return err
	}
	*t = LockTimeout{Wait: d.Std()}
	return nil
}

// String writes the timeout as Decode reads it.
func (t LockTimeout) String() string {
	if t.Off {
		return "off"
	}
	return Duration(t.Wait).String()
}

// CellIndex is a position in a study's plan; nil when none was given.
type CellIndex struct{ N *int }

// Decode reads the index; it is envconfig's way in.
func (i *CellIndex) Decode(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 0 {
		return fmt.Errorf("not an index")
	}
	i.N = &v
	return nil
}

// String writes the index, or nothing.
func (i CellIndex) String() string {
	if i.N == nil {
		return ""
	}
	return strconv.Itoa(*i.N)
}

// allowedByType words what a variable of each type may hold.
var allowedByType = map[string]string{
	"Duration": "seconds (60) or a duration (90s, 5m)", "Count": "a whole number (10000, 10k, 10M)", "Switch": "on or off",
	"Float": "a number", "Percentiles": "a list of numbers over 0 up to 100 (50,95,99.9)",
	"IgnoreErrors": "all, none or a list of error numbers (1213,1205)", "Labels": "k=v,k2=v2",
	"LockTimeout": "off, seconds (600) or a duration (10m)", "CellIndex": "a whole number from 0", "int": "a whole number", "int64": "a whole number",
}
