package stats

import (
	"math"
	"testing"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	if Summarize(nil) != nil {
		t.Error("Summarize(nil) is not nil")
	}
	for _, tc := range []struct {
		name     string
		values   []float64
		median   float64
		interval bool
		spread   float64 // negative: none
	}{
		{"one value", []float64{7}, 7, false, -1},
		{"two values", []float64{110, 90}, 100, false, 10},
		{"five values", []float64{5, 1, 4, 2, 3}, 3, false, 100 * 2.0 / 3},
		{"six values", []float64{1, 2, 3, 4, 5, 6}, 3.5, true, 100 * 2.5 / 3.5},
		{"zeros", []float64{0, 0}, 0, false, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := Summarize(tc.values)
			if s.Center != tc.median || s.N != len(tc.values) {
				t.Errorf("median %v of %d, want %v of %d", s.Center, s.N, tc.median, len(tc.values))
			}
			if got := s.Lo != nil && s.Hi != nil; got != tc.interval {
				t.Errorf("has an interval: %v, want %v", got, tc.interval)
			}
			if !tc.interval && len(s.Warnings) == 0 {
				t.Error("no interval and no warning")
			}
			p := s.Spread()
			if (p != nil) != (tc.spread >= 0) || (p != nil && math.Abs(*p-tc.spread) > 1e-9) {
				t.Errorf("spread %v, want %v", p, tc.spread)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		base, v []float64
		percent float64 // NaN: none
		verdict Verdict
		p       float64 // NaN: none
	}{
		{"single", []float64{200}, []float64{150}, -25, Single, math.NaN()},
		{"one side single", []float64{200, 200}, []float64{150}, -25, Single, math.NaN()},
		{"three and three", []float64{10, 11, 12}, []float64{20, 21, 22}, 100 * 10.0 / 11, TooFew, 0.1},
		{"four and four apart", []float64{10, 11, 12, 13}, []float64{20, 21, 22, 23}, 100 * 10.0 / 11.5, Significant, 2.0 / 70},
		{"four and four mixed", []float64{10, 20, 30, 40}, []float64{11, 21, 31, 41}, 4, Same, 0.6857},
		{"all equal", []float64{5, 5, 5, 5}, []float64{5, 5, 5, 5}, 0, Same, 1},
		{"unequal counts", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{20, 21}, 100 * (20.5/4.5 - 1), Significant, 2.0 / 45},
		{"zero baseline", []float64{0}, []float64{5}, math.NaN(), Single, math.NaN()},
		{"became zero", []float64{5}, []float64{0}, -100, Single, math.NaN()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Compare(Summarize(tc.base), Summarize(tc.v))
			if c.Verdict != tc.verdict {
				t.Errorf("verdict %s, want %s", c.Verdict, tc.verdict)
			}
			near(t, "percent", c.Percent, tc.percent, 1e-9)
			near(t, "p", c.P, tc.p, 1e-4)
		})
	}
	if Compare(nil, Summarize([]float64{1})) != nil || Compare(Summarize([]float64{1}), nil) != nil {
		t.Error("a missing side has a comparison")
	}
}

func near(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(want) {
		if got != nil {
			t.Errorf("%s %v, want none", what, *got)
		}
		return
	}
	if got == nil || math.Abs(*got-want) > tolerance {
		t.Errorf("%s %v, want %v", what, got, want)
	}
}
