package load

import (
	"math"

	"cellbench/internal/bench"
)

// Limits of the steadiness verdict. They are wide on purpose: on an idle machine
// the coefficient of variation of per-second QPS is 1-3 %.
const (
	steadyMinIntervals = 5
	steadyMaxCV        = 0.15
	steadyMaxSlope     = 0.10
)

// Steadiness judges the interval series: the coefficient of variation of qps and
// its drift over the window by a linear fit, relative to the mean. Intervals
// shorter than half the longest (the last one, as a rule) are left out. It
// returns nil when fewer than five intervals remain.
func Steadiness(intervals []bench.Interval) *bench.Steady {
	longest := 0.0
	for _, iv := range intervals {
		longest = max(longest, iv.LengthS)
	}
	var t, q []float64
	for _, iv := range intervals {
		if iv.LengthS >= longest/2 {
			t = append(t, iv.TS-iv.LengthS/2)
			q = append(q, iv.QPS)
		}
	}
	if len(q) < steadyMinIntervals {
		return nil
	}
	mt, mq := mean(t), mean(q)
	if mq == 0 {
		return &bench.Steady{Verdict: "unsteady"}
	}
	var variance, cov, spread float64
	for i := range q {
		variance += (q[i] - mq) * (q[i] - mq)
		cov += (t[i] - mt) * (q[i] - mq)
		spread += (t[i] - mt) * (t[i] - mt)
	}
	s := &bench.Steady{
		Verdict: "steady",
		CV:      math.Sqrt(variance/float64(len(q)-1)) / mq,
		Slope:   cov / spread * (t[len(t)-1] - t[0]) / mq,
	}
	if s.CV > steadyMaxCV || math.Abs(s.Slope) > steadyMaxSlope {
		s.Verdict = "unsteady"
	}
	return s
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
