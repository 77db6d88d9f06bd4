// Package stats turns repeated measurements into numbers that may be published:
// a centre with its interval, and a signed difference that says whether it can
// be told from chance.
//
// It assumes nothing about how measurements are distributed: the centre is the
// median, the interval the 95 % confidence interval of the median and the test
// the Mann-Whitney U test at alpha 0.05, all by golang.org/x/perf/benchmath.
// What that library warns about travels with the number.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	// Confidence is the least confidence of the interval in a Summary.
	Confidence = 0.95
	// Alpha is the level of the U test below which a difference is significant.
	Alpha = 0.05
)

// Summary describes the repeats of one measurement.
type Summary struct {
	N      int     `json:"n"`      // how many repeats
	Center float64 `json:"median"` // in the unit of the measurements
	// Lo and Hi bound the 95 % confidence interval of the median; null when there
	// are too few repeats for one.
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	Min      float64  `json:"min"`
	Max      float64  `json:"max"`
	Warnings []string `json:"warnings,omitempty"`

	values []float64 // ascending
}

// Summarize returns the summary of values, nil when there are none. It keeps a
// copy, the order of values does not matter.
func Summarize(values []float64) *Summary {
	if len(values) == 0 {
		return nil
	}
	sample := benchmath.NewSample(slices.Clone(values), thresholds())
	m := benchmath.AssumeNothing.Summary(sample, Confidence)
	s := &Summary{
		N: len(values), Center: m.Center, values: sample.Values,
		Min: sample.Values[0], Max: sample.Values[len(values)-1],
		Warnings: texts(m.Warnings),
	}
	if !math.IsInf(m.Lo, 0) && !math.IsInf(m.Hi, 0) {
		s.Lo, s.Hi = &m.Lo, &m.Hi
	}
	return s
}

// Spread returns the largest distance of a repeat from the median in percent of
// the median, nil for a single measurement or a median of zero.
func (s *Summary) Spread() *float64 {
	if s == nil || s.N < 2 || s.Center == 0 {
		return nil
	}
	p := 100 * math.Max(s.Max-s.Center, s.Center-s.Min) / math.Abs(s.Center)
	return &p
}

// Verdict says what a difference is worth.
type Verdict string

// The verdicts on a difference between two sets of repeats.
const (
	Single      Verdict = "single"      // one side was measured once: no test is possible
	TooFew      Verdict = "too_few"     // no difference, however large, could pass the test
	Same        Verdict = "same"        // the test cannot tell the two apart
	Significant Verdict = "significant" // p is below Alpha
)

// Comparison is the difference of a measurement to its baseline.
type Comparison struct {
	// Percent is 100 * (center / baseline - 1), null when the baseline is zero.
	Percent  *float64 `json:"percent"`
	P        *float64 `json:"p"` // of the U test, null when a side is a single measurement
	N        int      `json:"n"`
	NBase    int      `json:"n_baseline"`
	Verdict  Verdict  `json:"verdict"`
	Warnings []string `json:"warnings,omitempty"`
}

// Compare returns how s differs from base, nil when either is missing.
func Compare(base, s *Summary) *Comparison {
	if base == nil || s == nil {
		return nil
	}
	c := &Comparison{Percent: Percent(base.Center, s.Center), N: s.N, NBase: base.N}
	if base.N < 2 || s.N < 2 {
		c.Verdict = Single
		return c
	}
	t := benchmath.AssumeNothing.Compare(sample(base), sample(s))
	c.P, c.Warnings = &t.P, texts(t.Warnings)
	switch {
	case t.P < Alpha:
		c.Verdict = Significant
	case leastP(base.N, s.N) >= Alpha:
		c.Verdict = TooFew
	default:
		c.Verdict = Same
	}
	return c
}

// Percent returns 100 * (v / base - 1), nil when the base is zero or either is
// not finite: a share of nothing is not a number.
func Percent(base, v float64) *float64 {
	if base == 0 {
		return nil
	}
	p := 100 * (v/base - 1)
	if math.IsNaN(p) || math.IsInf(p, 0) {
		return nil
	}
	return &p
}

// leastP is the smallest p the U test can give for samples of these sizes, two
// over the binomial coefficient of both and one.
func leastP(a, b int) float64 {
	ways := 1.0
	for i := 1; i <= a; i++ {
		ways = ways * float64(b+i) / float64(i)
	}
	return 2 / ways
}

func sample(s *Summary) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(s.values), thresholds())
}

func thresholds() *benchmath.Thresholds {
	t := benchmath.DefaultThresholds
	t.CompareAlpha = Alpha
	return &t
}

func texts(errs []error) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}
