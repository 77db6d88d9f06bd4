package random

import (
	"fmt"
	"math"
	"testing"
)

// chiSquare compares counts with probabilities, lumping cells until each expects
// at least 10, and returns the statistic and its degrees of freedom.
func chiSquare(counts []int, p []float64, draws int) (x2 float64, df int) {
	obs, want := 0.0, 0.0
	df = -1
	flush := func() {
		x2 += (obs - want) * (obs - want) / want
		obs, want = 0, 0
		df++
	}
	for i := range counts {
		obs += float64(counts[i])
		want += p[i] * float64(draws)
		if want >= 10 {
			flush()
		}
	}
	if want >= 1 {
		flush()
	}
	return x2, df
}

// critical is the chi-square value exceeded with a probability of about 10^-5
// (Wilson and Hilferty's approximation).
func critical(df int) float64 {
	v := 2 / (9 * float64(df))
	return float64(df) * math.Pow(1-v+4.265*math.Sqrt(v), 3)
}

// bates is the distribution function of the mean of n uniform numbers.
func bates(n int, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	sum, y := 0.0, x*float64(n)
	choose := 1.0
	for k := 0; float64(k) <= y; k++ {
		term := choose * math.Pow(y-float64(k), float64(n))
		if k%2 == 1 {
			term = -term
		}
		sum += term
		choose = choose * float64(n-k) / float64(k+1)
	}
	lg, _ := math.Lgamma(float64(n + 1))
	return sum / math.Exp(lg)
}

// between turns a distribution function of the offset into probabilities of the
// n values.
func between(n int, cdf func(x float64) float64) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = cdf(float64(i+1)) - cdf(float64(i))
	}
	return p
}

// formula returns the probabilities of the values of a range of n, written from
// the definitions and not from the code under test.
func formula(o Options, n int) []float64 {
	N, T := float64(n), float64(n-1)
	switch o.Type {
	case Gaussian:
		return between(n, func(x float64) float64 { return bates(o.SpecIter, x/N) })
	case Pareto:
		p := math.Log(o.ParetoH) / math.Log(1-o.ParetoH)
		return between(n, func(x float64) float64 { return math.Pow(x/N, 1/p) })
	case Zipfian:
		p, sum := make([]float64, n), 0.0
		for i := range p {
			p[i] = math.Pow(float64(i+1), -o.ZipfianExp)
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	case Special:
		cold := 1 - o.SpecRes/100
		d := T * o.SpecPct / 100
		return between(n, func(x float64) float64 {
			u := (x - T/2 + d/2) / (d + 1) // hot part: the draw that leads to x
			inHot := min(max(u, cold), 1) - cold
			return cold*bates(o.SpecIter, x/T) + inHot
		})
	}
	return between(n, func(x float64) float64 { return x / N })
}

// with returns the default parameters of a distribution with changes.
func with(typ string, changes ...func(*Options)) Options {
	o := Defaults()
	o.Type = typ
	for _, c := range changes {
		c(&o)
	}
	return o
}

func iter(n int) func(*Options) { return func(o *Options) { o.SpecIter = n } }
func hot(pct, res float64) func(*Options) {
	return func(o *Options) { o.SpecPct, o.SpecRes = pct, res }
}
func share(h float64) func(*Options)    { return func(o *Options) { o.ParetoH = h } }
func exponent(e float64) func(*Options) { return func(o *Options) { o.ZipfianExp = e } }

var shapes = []Options{
	with(Uniform), with(Special), with(Special, iter(3), hot(20, 40)), with(Special, hot(1, 100)), with(Special, hot(1, 0)),
	with(Gaussian), with(Gaussian, iter(1)), with(Gaussian, iter(4)),
	with(Pareto), with(Pareto, share(0.45)),
	with(Zipfian), with(Zipfian, exponent(0)), with(Zipfian, exponent(1)), with(Zipfian, exponent(1.3)), with(Zipfian, exponent(3)),
}

func TestShapes(t *testing.T) {
	t.Parallel()
	const draws = 300_000
	for i, o := range shapes {
		for _, n := range []int{1, 2, 7, 100, 1000} {
			t.Run(fmt.Sprintf("%s/%d", o, n), func(t *testing.T) {
				t.Parallel()
				const a = 5
				d := o.Over(a, int64(a+n-1))
				s := NewSource(20, uint64(i))
				counts := make([]int, n)
				for range draws {
					counts[d.Draw(&s)-a]++ // a value outside the range panics
				}
				if n == 1 {
					return
				}
				x2, df := chiSquare(counts, formula(o, n), draws)
				if df > 0 && x2 > critical(df) {
					t.Errorf("chi-square %.1f with %d degrees of freedom, want below %.1f", x2, df, critical(df))
				}
			})
		}
	}
}

// The figures of sysbench's probes: 76.1 % of special in the middle 1 %, 80 % of
// pareto in the first 20 %, and zipfian's hottest row.
func TestKnownShares(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o       Options
		n, from int64
		to      int64
		want    float64
	}{
		{with(Special), 100_000, 49_500, 50_500, 0.762},
		{with(Pareto), 100_000, 1, 20_000, 0.80},
		{with(Zipfian), 10_000, 1, 1, 0.0369},
		{with(Zipfian), 10_000, 1, 100, 0.300},
		{with(Zipfian), 10_000, 1, 2000, 0.680},
	} {
		t.Run(fmt.Sprintf("%s/%d-%d", tc.o, tc.from, tc.to), func(t *testing.T) {
			t.Parallel()
			d, s, in := tc.o.Over(1, tc.n), NewSource(1, 0), 0
			const draws = 500_000
			for range draws {
				if v := d.Draw(&s); v >= tc.from && v <= tc.to {
					in++
				}
			}
			if got := float64(in) / draws; math.Abs(got-tc.want) > 0.003 {
				t.Errorf("share %.4f, want %.4f", got, tc.want)
			}
		})
	}
}

func TestWideRanges(t *testing.T) {
	t.Parallel()
	for _, o := range shapes {
		for _, b := range []int64{1 << 31, 1 << 40, math.MaxInt64} {
			t.Run(fmt.Sprintf("%s/%d", o, b), func(t *testing.T) {
				t.Parallel()
				d, s, top := o.Over(1, b), NewSource(3, 0), int64(0)
				for range 2000 {
					v := d.Draw(&s)
					if v < 1 || v > b {
						t.Fatalf("drew %d outside [1, %d]", v, b)
					}
					top = max(top, v)
				}
				skewed := o.Type == Zipfian && o.ZipfianExp > 1
				if !skewed && top < b/3 {
					t.Errorf("highest of 2000 draws is %d, far below %d", top, b)
				}
			})
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"defaults":     {Defaults(), ""},
		"type":         {with("normal"), "BENCH_RAND_TYPE=normal is not allowed: give uniform, special, gaussian, pareto, zipfian"},
		"iter":         {with(Special, iter(-1)), "BENCH_RAND_SPEC_ITER=-1 is not allowed: give 1 to 1000"},
		"pct":          {with(Special, hot(101, 75)), "BENCH_RAND_SPEC_PCT=101 is not allowed: give 1 to 100"},
		"res":          {with(Special, hot(1, -5)), "BENCH_RAND_SPEC_RES=-5 is not allowed: give 0 to 100"},
		"h":            {with(Pareto, share(1)), "BENCH_RAND_PARETO_H=1 is not allowed: give above 0 and below 1"},
		"exponent":     {with(Zipfian, exponent(-1)), "BENCH_RAND_ZIPFIAN_EXP=-1 is not allowed: give 0 to 100"},
		"exponent nan": {with(Zipfian, exponent(math.NaN())), "BENCH_RAND_ZIPFIAN_EXP=NaN is not allowed: give 0 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.o.Validate()
			if got := fmt.Sprint(err); tc.want == "" && err != nil || tc.want != "" && got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, typ := range Types() {
		b.Run(typ, func(b *testing.B) {
			d, s := with(typ).Over(1, 10_000_000), NewSource(1, 0)
			b.ReportAllocs()
			for b.Loop() {
				d.Draw(&s)
			}
		})
	}
}
