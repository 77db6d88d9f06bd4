package random

import "math"

// zipf draws k of 1..n with P(k) proportional to k^-e, by the rejection-inversion
// of Hörmann and Derflinger (ACM TOMACS 6, 1996). The hottest value is 1.
type zipf struct {
	n, e  float64
	start float64 // H(1.5) - 1, the lower end of the area drawn from
	end   float64 // H(n + 1/2), its upper end
	s     float64 // a distance within which every x is accepted
}

func newZipf(n, e float64) zipf {
	z := zipf{n: n, e: e}
	z.start = z.integral(1.5) - 1
	z.end = z.integral(n + 0.5)
	z.s = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

func (z *zipf) draw(s *Source) float64 {
	for {
		u := z.end + s.Float64()*(z.start-z.end)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.s || u >= z.integral(k+0.5)-z.density(k) {
			return k
		}
	}
}

func (z *zipf) density(x float64) float64 { return math.Exp(-z.e * math.Log(x)) }

// integral is H(x) = (x^(1-e) - 1)/(1-e), which is ln x for e = 1. Written with
// expm1 it is exact near e = 1 too.
func (z *zipf) integral(x float64) float64 {
	l := math.Log(x)
	t := (1 - z.e) * l
	if math.Abs(t) < 1e-8 {
		return l * (1 + t/2)
	}
	return l * math.Expm1(t) / t
}

// inverse is H's inverse.
func (z *zipf) inverse(y float64) float64 {
	t := max(y*(1-z.e), -1)
	if math.Abs(t) < 1e-8 {
		return math.Exp(y * (1 - t/2))
	}
	return math.Exp(y * math.Log1p(t) / t)
}
