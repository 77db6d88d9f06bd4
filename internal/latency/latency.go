// Package latency keeps distributions of durations: recorded in place by one
// owner, merged at the end, encoded so that other programs can merge them too.
//
// The clock is the caller's; values are nanoseconds. A histogram tracks 1 ns to
// one hour with three significant digits (an error of at most 0.1 %); longer
// values are clamped to one hour and counted as out of range. It has no lock:
// one goroutine at a time.
package latency

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"cellbench/internal/bench"
)

const (
	highest = int64(time.Hour)
	digits  = 3

	// Encoding names the form of bench.Histogram.Data.
	Encoding = "hdr-v2-deflate-base64"
	// Unit is the unit of the values inside the encoded histogram.
	Unit = "ns"
)

// Histogram is one distribution of durations. Make it with New.
type Histogram struct {
	h          *hdrhistogram.Histogram
	count      int64
	min, max   int64
	sum        float64 // of nanoseconds; a float so that years of latency do not overflow
	outOfRange int64
}

// New returns an empty histogram. It holds about 270 kB, of which only the
// parts that are hit become resident.
func New() *Histogram {
	return &Histogram{h: hdrhistogram.New(1, highest, digits), min: math.MaxInt64}
}

// Record adds one duration in nanoseconds. Negative values (a clock that went
// backwards) count as 0, values over an hour as an hour and as out of range.
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		ns = 0
	}
	h.count++
	h.sum += float64(ns)
	h.min = min(h.min, ns)
	h.max = max(h.max, ns)
	if ns > highest {
		h.outOfRange++
		ns = highest
	}
	// In range by the lines above, so the error cannot happen.
	_ = h.h.RecordValue(ns)
}

// Merge adds all of o to h.
func (h *Histogram) Merge(o *Histogram) {
	if o.count == 0 {
		return
	}
	h.h.Merge(o.h)
	h.count += o.count
	h.sum += o.sum
	h.min = min(h.min, o.min)
	h.max = max(h.max, o.max)
	h.outOfRange += o.outOfRange
}

// Reset empties h.
func (h *Histogram) Reset() {
	if h.count == 0 {
		return
	}
	h.h.Reset()
	h.count, h.sum, h.min, h.max, h.outOfRange = 0, 0, math.MaxInt64, 0, 0
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.count }

// Min returns the shortest duration in nanoseconds, 0 when empty.
func (h *Histogram) Min() int64 {
	if h.count == 0 {
		return 0
	}
	return h.min
}

// Max returns the longest duration in nanoseconds, 0 when empty.
func (h *Histogram) Max() int64 { return h.max }

// Mean returns the mean in nanoseconds, 0 when empty.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// Percentile returns the duration in nanoseconds that p percent of the values
// do not exceed, kept inside [Min, Max]; 0 when empty.
func (h *Histogram) Percentile(p float64) int64 {
	if h.count == 0 {
		return 0
	}
	return min(max(h.h.ValueAtPercentile(p), h.min), h.max)
}

// Bar is a run of equivalent values in a histogram and how often it was hit.
type Bar struct {
	FromNS, ToNS, Count int64
}

// Bars returns the non-empty bars in ascending order.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			bars = append(bars, Bar{FromNS: b.From, ToNS: b.To, Count: b.Count})
		}
	}
	return bars
}

// Summary returns the histogram as it stands in a result, with the given
// percentiles, or nil when nothing was recorded.
func (h *Histogram) Summary(percentiles []float64) (*bench.Latency, error) {
	if h.count == 0 {
		return nil, nil
	}
	data, err := h.h.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	l := &bench.Latency{
		Count: h.count, MinMS: ms(float64(h.min)), MeanMS: ms(h.Mean()), MaxMS: ms(float64(h.max)),
		Percentiles: make(map[string]float64, len(percentiles)),
		Histogram:   bench.Histogram{Encoding: Encoding, Unit: Unit, Data: string(data), OutOfRange: h.outOfRange},
	}
	for _, p := range percentiles {
		l.Percentiles[strconv.FormatFloat(p, 'f', -1, 64)] = ms(float64(h.Percentile(p)))
	}
	return l, nil
}

// Decode reads back what Summary wrote. Minimum, mean and maximum are the exact
// ones of l, so merging decoded histograms loses nothing but the three digits.
func Decode(l *bench.Latency) (*Histogram, error) {
	if l.Histogram.Encoding != Encoding || l.Histogram.Unit != Unit {
		return nil, fmt.Errorf("decode histogram: encoding %q in unit %q, want %q in %q",
			l.Histogram.Encoding, l.Histogram.Unit, Encoding, Unit)
	}
	d, err := hdrhistogram.Decode([]byte(l.Histogram.Data))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if d.TotalCount() != l.Count {
		return nil, fmt.Errorf("decode histogram: it holds %d values, the summary says %d", d.TotalCount(), l.Count)
	}
	h := New()
	if dropped := h.h.Merge(d); dropped > 0 {
		return nil, fmt.Errorf("decode histogram: %d values are over one hour", dropped)
	}
	h.count, h.outOfRange = l.Count, l.Histogram.OutOfRange
	h.sum = l.MeanMS * 1e6 * float64(l.Count)
	if l.Count > 0 {
		h.min, h.max = int64(math.Round(l.MinMS*1e6)), int64(math.Round(l.MaxMS*1e6))
	}
	return h, nil
}

func ms(ns float64) float64 { return ns / 1e6 }
