package latency_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/latency"
)

func TestPercentilesAgainstSortedValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	h := latency.New()
	values := make([]int64, 20_000)
	for i := range values {
		values[i] = int64(math.Exp(r.NormFloat64()*2+12)) + 1 // about 160 us, four decades wide
		h.Record(values[i])
	}
	slices.Sort(values)
	for _, p := range []float64{1, 50, 95, 99, 99.9, 100} {
		want := float64(values[int(math.Ceil(p*float64(len(values))/100))-1])
		if got := float64(h.Percentile(p)); math.Abs(got-want)/want > 0.001 {
			t.Errorf("p%v = %v, want %v within 0.1 %%", p, got, want)
		}
	}
	if h.Min() != values[0] || h.Max() != values[len(values)-1] {
		t.Errorf("min, max = %d, %d, want %d, %d", h.Min(), h.Max(), values[0], values[len(values)-1])
	}
}

func TestMergeEqualsRecordingAll(t *testing.T) {
	t.Parallel()
	all, a, b := latency.New(), latency.New(), latency.New()
	for i := int64(1); i <= 1000; i++ {
		all.Record(i * 1000)
		if i%3 == 0 {
			a.Record(i * 1000)
		} else {
			b.Record(i * 1000)
		}
	}
	a.Merge(b)
	a.Merge(latency.New())
	for _, p := range []float64{0, 50, 99, 100} {
		if a.Percentile(p) != all.Percentile(p) {
			t.Errorf("p%v = %d, want %d", p, a.Percentile(p), all.Percentile(p))
		}
	}
	if a.Count() != all.Count() || a.Mean() != all.Mean() || a.Min() != all.Min() || a.Max() != all.Max() {
		t.Errorf("merged count, mean, min, max differ: %d %v %d %d", a.Count(), a.Mean(), a.Min(), a.Max())
	}
}

func TestOutOfRangeIsClampedAndCounted(t *testing.T) {
	t.Parallel()
	h := latency.New()
	h.Record(-5)
	h.Record(int64(3 * time.Hour))
	s, err := h.Summary([]float64{50, 100})
	if err != nil {
		t.Fatal(err)
	}
	if s.Count != 2 || s.Histogram.OutOfRange != 1 || s.MinMS != 0 || s.MaxMS != 3*3600*1000 {
		t.Errorf("got %+v", s)
	}
}

func TestSummaryRoundTrip(t *testing.T) {
	t.Parallel()
	h := latency.New()
	for i := int64(1); i < 5000; i++ {
		h.Record(i * i)
	}
	s, err := h.Summary([]float64{50, 95, 99.9})
	if err != nil {
		t.Fatal(err)
	}
	back, err := latency.Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Summary([]float64{50, 95, 99.9})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range s.Percentiles {
		if again.Percentiles[k] != v {
			t.Errorf("p%s = %v after the round trip, was %v", k, again.Percentiles[k], v)
		}
	}
	if again.Count != s.Count || math.Abs(again.MeanMS-s.MeanMS) > 1e-9 || again.MinMS != s.MinMS || again.MaxMS != s.MaxMS {
		t.Errorf("round trip: %+v, was %+v", again, s)
	}
}

func TestEmptyHasNoSummary(t *testing.T) {
	t.Parallel()
	h := latency.New()
	if s, err := h.Summary(nil); s != nil || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	h.Record(7)
	h.Reset()
	if h.Count() != 0 || h.Percentile(50) != 0 || h.Min() != 0 || h.Max() != 0 {
		t.Error("reset left something behind")
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := latency.New()
	if n := testing.AllocsPerRun(1000, func() { h.Record(123_456) }); n != 0 {
		t.Errorf("%v allocations per Record, want 0", n)
	}
}

func FuzzDecode(f *testing.F) {
	h := latency.New()
	h.Record(1000)
	s, _ := h.Summary([]float64{50})
	f.Add(s.Histogram.Data, int64(1))
	f.Add("", int64(0))
	f.Add("AAAA", int64(3))
	f.Fuzz(func(t *testing.T, data string, count int64) {
		l := &bench.Latency{Count: count, Histogram: bench.Histogram{Encoding: latency.Encoding, Unit: latency.Unit, Data: data}}
		d, err := latency.Decode(l)
		if err == nil && d.Count() != count {
			t.Errorf("count %d, want %d", d.Count(), count)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	h := latency.New()
	for i := range b.N {
		h.Record(int64(i & 0xfffff))
	}
}
