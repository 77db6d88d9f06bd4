package random

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// The distributions, by the words of sysbench's --rand-type.
const (
	Uniform  = "uniform"
	Special  = "special"
	Gaussian = "gaussian"
	Pareto   = "pareto"
	Zipfian  = "zipfian"
)

// Types lists the distributions.
func Types() []string { return []string{Uniform, Special, Gaussian, Pareto, Zipfian} }

// Options choose a distribution, its parameters and the seed. Defaults returns
// sysbench's parameters; a parameter of another distribution is not looked at.
type Options struct {
	Type string // one of Types
	Seed int64

	SpecIter   int     // gaussian, special: uniform draws that are averaged (--rand-spec-iter)
	SpecPct    float64 // special: the hot part of the range in percent (--rand-spec-pct)
	SpecRes    float64 // special: share of draws in the hot part in percent (--rand-spec-res)
	ParetoH    float64 // pareto: a share 1-h of draws falls in the first h of the range (--rand-pareto-h)
	ZipfianExp float64 // zipfian: the exponent (--rand-zipfian-exp); 0 is uniform
}

// Defaults returns uniform, as in sysbench 1.1, with sysbench's parameters for
// the other distributions and seed 0.
func Defaults() Options {
	return Options{Type: Uniform, SpecIter: 12, SpecPct: 1, SpecRes: 75, ParetoH: 0.2, ZipfianExp: 0.8}
}

// Validate returns an error of exit code 64 that names the first wrong option.
func (o Options) Validate() error {
	for _, c := range []struct {
		ok    bool
		name  string
		value string
		allow string
	}{
		{slices.Contains(Types(), o.Type), "BENCH_RAND_TYPE", o.Type, strings.Join(Types(), ", ")},
		{o.SpecIter >= 1 && o.SpecIter <= 1000, "BENCH_RAND_SPEC_ITER", strconv.Itoa(o.SpecIter), "1 to 1000"},
		{o.SpecPct >= 1 && o.SpecPct <= 100, "BENCH_RAND_SPEC_PCT", number(o.SpecPct), "1 to 100"},
		{o.SpecRes >= 0 && o.SpecRes <= 100, "BENCH_RAND_SPEC_RES", number(o.SpecRes), "0 to 100"},
		{o.ParetoH > 0 && o.ParetoH < 1, "BENCH_RAND_PARETO_H", number(o.ParetoH), "above 0 and below 1"},
		{o.ZipfianExp >= 0 && o.ZipfianExp <= 100, "BENCH_RAND_ZIPFIAN_EXP", number(o.ZipfianExp), "0 to 100"},
	} {
		if !c.ok {
			return bench.Errorf(bench.ExitConfig, "%s=%s is not allowed: give %s", c.name, c.value, c.allow)
		}
	}
	return nil
}

// String returns the distribution with its own parameters, e.g. "pareto(h=0.2)".
func (o Options) String() string {
	switch o.Type {
	case Special:
		return "special(iter=" + strconv.Itoa(o.SpecIter) + ",pct=" + number(o.SpecPct) + ",res=" + number(o.SpecRes) + ")"
	case Gaussian:
		return "gaussian(iter=" + strconv.Itoa(o.SpecIter) + ")"
	case Pareto:
		return "pareto(h=" + number(o.ParetoH) + ")"
	case Zipfian:
		return "zipfian(exp=" + number(o.ZipfianExp) + ")"
	}
	return o.Type
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

type kind uint8

const (
	kUniform kind = iota
	kSpecial
	kGaussian
	kPareto
	kZipfian
)

// Dist is a distribution over a range of whole numbers, prepared for drawing. It
// is immutable and may be shared. Ranges beyond 2^53 values are drawn exactly by
// uniform; the others then leave out values, as their draws have 53 bits.
type Dist struct {
	kind kind
	a, b int64
	n, t float64 // n = b-a+1, t = b-a
	iter int
	cut  float64 // special: 1/(1-res) ; pareto: the power
	hotN float64 // special: width of the hot part plus one
	hot0 float64 // special: its start
	zipf zipf
}

// Over returns the distribution over [a, b], both included. It needs a <= b and
// options that Validate accepts.
func (o Options) Over(a, b int64) Dist {
	t := float64(b) - float64(a)
	d := Dist{a: a, b: b, n: t + 1, t: t, iter: o.SpecIter}
	switch o.Type {
	case Special:
		hot := t * o.SpecPct / 100
		d.kind, d.cut, d.hotN, d.hot0 = kSpecial, 100/(100-o.SpecRes), hot+1, t/2-hot/2
	case Gaussian:
		d.kind = kGaussian
	case Pareto:
		d.kind, d.cut = kPareto, math.Log(o.ParetoH)/math.Log(1-o.ParetoH)
	case Zipfian:
		d.kind, d.zipf = kZipfian, newZipf(d.n, o.ZipfianExp)
	}
	return d
}

// Draw returns the next number of the distribution from a stream.
func (d *Dist) Draw(s *Source) int64 {
	switch d.kind {
	case kSpecial:
		return d.clamp(d.special(s))
	case kGaussian:
		return d.clamp(s.mean(d.iter) * d.n)
	case kPareto:
		return d.clamp(d.n * math.Pow(s.Float64(), d.cut))
	case kZipfian:
		return d.clamp(d.zipf.draw(s) - 1)
	}
	return s.Range(d.a, d.b)
}

// special draws the offset of sysbench's "special" distribution: a share 1-res of
// the draws has the shape of gaussian over the whole range, the others fall into
// its middle pct percent. The draw that decides is used again for the place in the
// middle, so that only the upper part of the middle is hit, as in sysbench.
func (d *Dist) special(s *Source) float64 {
	u := s.Float64()
	if u*d.cut < 1 {
		return d.t * s.mean(d.iter)
	}
	return u*d.hotN + d.hot0
}

func (s *Source) mean(n int) float64 {
	sum := 0.0
	for range n {
		sum += s.Float64()
	}
	return sum / float64(n)
}

// clamp turns an offset into a value. Rounding can lift an offset of the last
// value to n, hence the upper bound.
func (d *Dist) clamp(offset float64) int64 {
	if offset >= d.n || offset >= math.MaxInt64 {
		return d.b
	}
	if v := d.a + int64(offset); v <= d.b {
		return v
	}
	return d.b
}
