package load_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"cellbench/internal/bench"
	"cellbench/internal/load"
)

// sum checks that the intervals add up to the counts and returns the events.
func sum(t *testing.T, o *load.Outcome) int64 {
	t.Helper()
	var queries, events, errs int64
	for _, iv := range o.Intervals {
		queries += iv.Queries
		events += iv.Events
		errs += iv.Errors
	}
	if queries != o.Counts.Queries() || events != o.Counts.Events || errs != o.Counts.Errors {
		t.Errorf("intervals add up to %d queries, %d events, %d errors; counts are %+v", queries, events, errs, o.Counts)
	}
	if o.Event != nil && o.Event.Count() != o.Counts.Events {
		t.Errorf("latency has %d events, counts %d", o.Event.Count(), o.Counts.Events)
	}
	return events
}

func TestWindowByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newFake(4, false, always(10*time.Millisecond))
		var warm int
		o := load.Measure(context.Background(), e, load.Plan{
			Warmup: 3 * time.Second, Time: 10 * time.Second, Interval: time.Second, Drain: time.Second,
		}, load.Hooks{Warmup: func(time.Duration) { warm++ }})
		if o.Err != nil || o.Killed {
			t.Fatalf("error %v, killed %v", o.Err, o.Killed)
		}
		// 4 connections, 100 events a second each; those that end exactly at the
		// closing of the window may fall to either side.
		if n := sum(t, o); n < 3996 || n > 4000 {
			t.Errorf("%d events, want 4000 less at most 4 at the closing edge", n)
		}
		if got := o.End - o.Begin; got != int64(10*time.Second) {
			t.Errorf("window of %v", time.Duration(got))
		}
		if len(o.Intervals) != 10 {
			t.Errorf("%d intervals, want 10", len(o.Intervals))
		}
		if warm < 2 || o.Warmup < 3*time.Second {
			t.Errorf("warm-up took %v and was told %d times", o.Warmup, warm)
		}
		if p := o.Event.Percentile(99); p < int64(10*time.Millisecond)*999/1000 || p > int64(10*time.Millisecond)*1001/1000 {
			t.Errorf("p99 %v, want 10 ms", time.Duration(p))
		}
		if s := load.Steadiness(o.Intervals); s == nil || s.Verdict != "steady" {
			t.Errorf("steadiness %+v", s)
		}
	})
}

// TestNothingOfWarmupReachesTheWindow has slow events in warm-up only; one of
// them ends late, and the window waits for it.
func TestNothingOfWarmupReachesTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := load.Now()
		e := newFake(2, false, func(_ int, started int64) time.Duration {
			if started-begin < int64(time.Second) {
				return 1700 * time.Millisecond
			}
			return time.Millisecond
		})
		o := load.Measure(context.Background(), e, load.Plan{Warmup: time.Second, Time: time.Second, Drain: 5 * time.Second}, load.Hooks{})
		if o.Event.Max() > int64(2*time.Millisecond) {
			t.Errorf("slowest event in the window took %v", time.Duration(o.Event.Max()))
		}
		if o.Warmup != 1700*time.Millisecond {
			t.Errorf("warm-up took %v, want 1.7 s: until the last event was done", o.Warmup)
		}
		sum(t, o)
	})
}

func TestWindowByEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newFake(3, false, always(7*time.Millisecond))
		o := load.Measure(context.Background(), e, load.Plan{Warmup: time.Second, Events: 100, Interval: 50 * time.Millisecond, Drain: time.Second}, load.Hooks{})
		if n := sum(t, o); n != 100 || o.Counts.Unfinished != 0 {
			t.Errorf("%d events and %d unfinished, want exactly 100 and 0", n, o.Counts.Unfinished)
		}
	})
}

func TestWhicheverEndsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newFake(1, false, always(100*time.Millisecond))
		o := load.Measure(context.Background(), e, load.Plan{Time: time.Second, Events: 1000, Drain: time.Second}, load.Hooks{})
		if n := sum(t, o); n < 9 || n > 10 {
			t.Errorf("%d events in a second, want 10", n)
		}
	})
}

// TestRateMeasuresFromTheIntendedStart stalls the server for a second: every
// event that was due in it must show, as it would to a user.
func TestRateMeasuresFromTheIntendedStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := load.Now()
		e := newFake(8, true, func(_ int, started int64) time.Duration {
			at := time.Duration(started - begin)
			if at > 4*time.Second && at < 5*time.Second {
				return 5*time.Second - at + 5*time.Millisecond
			}
			return 5 * time.Millisecond
		})
		var backlog int64
		o := load.Measure(context.Background(), e, load.Plan{Time: 10 * time.Second, Rate: 1000, Seed: 7, Interval: 500 * time.Millisecond, Drain: time.Second},
			load.Hooks{Interval: func(iv bench.Interval) { backlog = max(backlog, *iv.Backlog) }})
		events := sum(t, o)
		if events < 9500 || events > 10500 {
			t.Errorf("%d events at 1000/s in 10 s", events)
		}
		// A tenth of the events was due during the stall and waited half a second on
		// average; serving them takes another while at 1600 events/s.
		if p95 := time.Duration(o.Event.Percentile(95)); p95 < 500*time.Millisecond {
			t.Errorf("p95 from the intended start is %v, the stall is hidden", p95)
		}
		if p90 := time.Duration(o.Service.Percentile(90)); p90 > 6*time.Millisecond {
			t.Errorf("p90 of the service time is %v, want 5 ms", p90)
		}
		if backlog < 800 {
			t.Errorf("largest backlog %d, want about 1000", backlog)
		}
	})
}

// TestRateStartsAnewAfterWarmup: what warm-up could not serve is no backlog of
// the window.
func TestRateStartsAnewAfterWarmup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := load.Now()
		e := newFake(1, true, func(_ int, started int64) time.Duration {
			if time.Duration(started-begin) < 2*time.Second {
				return 100 * time.Millisecond // 10/s for a rate of 100/s
			}
			return time.Millisecond
		})
		o := load.Measure(context.Background(), e, load.Plan{Warmup: 2 * time.Second, Time: 2 * time.Second, Rate: 100, Seed: 1, Drain: time.Second}, load.Hooks{})
		if m := time.Duration(o.Event.Max()); m > 50*time.Millisecond {
			t.Errorf("slowest event in the window %v: it has the warm-up's backlog", m)
		}
	})
}

func TestHungServerEndsInTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		hang time.Duration // after the beginning
		want func(t *testing.T, o *load.Outcome)
	}{
		{"in the window", 2 * time.Second, func(t *testing.T, o *load.Outcome) {
			if !o.Killed || o.Err != nil || o.Counts.Unfinished != 3 {
				t.Errorf("killed %v, error %v, unfinished %d; want true, nil, 3", o.Killed, o.Err, o.Counts.Unfinished)
			}
			if last := o.Intervals[len(o.Intervals)-1]; last.Queries != 0 || last.P95MS != nil {
				t.Errorf("the last interval shows %d queries of a dead server", last.Queries)
			}
		}},
		{"in warm-up", 500 * time.Millisecond, func(t *testing.T, o *load.Outcome) {
			if o.Opened || !errors.Is(o.Err, load.ErrHung) {
				t.Errorf("opened %v, error %v", o.Opened, o.Err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := load.Now()
				e := newFake(3, false, func(_ int, started int64) time.Duration {
					if time.Duration(started-begin) >= tc.hang {
						return 1000 * time.Hour
					}
					return time.Millisecond
				})
				o := load.Measure(context.Background(), e, load.Plan{Warmup: time.Second, Time: 5 * time.Second, Interval: time.Second, Drain: 2 * time.Second}, load.Hooks{})
				if took := time.Duration(load.Now() - begin); took > 9*time.Second {
					t.Errorf("it took %v", took)
				}
				tc.want(t, o)
			})
		})
	}
}

func TestSignalKeepsWhatWasCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		stop := errors.New("stopped")
		time.AfterFunc(2500*time.Millisecond, func() { cancel(stop) })
		o := load.Measure(ctx, newFake(2, false, always(10*time.Millisecond)), load.Plan{Time: time.Hour, Interval: time.Second, Drain: time.Second}, load.Hooks{})
		if !errors.Is(o.Err, stop) || !o.Opened {
			t.Fatalf("error %v", o.Err)
		}
		if n := sum(t, o); n < 496 || n > 500 {
			t.Errorf("%d events in 2.5 s of 2 connections, want 500", n)
		}
	})
}

func TestFatalErrorClosesTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newFake(2, false, always(10*time.Millisecond))
		broken := &load.StatementError{Code: 1146, SQLState: "42S02", Message: "no such table", SQL: "SELECT"}
		e.err = func(conn, event int) error {
			if conn == 0 && event == 50 {
				return broken
			}
			return nil
		}
		o := load.Measure(context.Background(), e, load.Plan{Time: time.Minute, Interval: time.Second, Drain: time.Second}, load.Hooks{})
		if !errors.Is(o.Err, broken) {
			t.Fatalf("error %v", o.Err)
		}
		if n := sum(t, o); n < 99 || n > 101 || o.Counts.Errors != 1 || len(o.Errors) != 1 {
			t.Errorf("%d events, %d errors %v", n, o.Counts.Errors, o.Errors)
		}
	})
}

// TestDeadServerEndsALoadWithoutTimeLimit: with every error ignored nothing but
// this ends it.
func TestDeadServerEndsALoadWithoutTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := load.Now()
		e := newFake(2, false, func(_ int, started int64) time.Duration {
			if time.Duration(started-begin) > 5*time.Second {
				return 1000 * time.Hour
			}
			return time.Millisecond
		})
		time.AfterFunc(5*time.Second, func() { e.live.Store(0) })
		o := load.Measure(context.Background(), e, load.Plan{Events: 1e9, Interval: time.Second, Drain: time.Second}, load.Hooks{})
		if !errors.Is(o.Err, load.ErrHung) {
			t.Errorf("error %v", o.Err)
		}
		if took := time.Duration(load.Now() - begin); took > 40*time.Second {
			t.Errorf("it took %v", took)
		}
		sum(t, o)
	})
}

func TestFairness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newFake(2, false, func(conn int, _ int64) time.Duration { return time.Duration(conn+1) * 10 * time.Millisecond })
		o := load.Measure(context.Background(), e, load.Plan{Warmup: time.Second, Time: 995 * time.Millisecond, Drain: time.Second}, load.Hooks{})
		// 99 events of 10 ms and 49 of 20 ms.
		want := bench.Fairness{EventsMean: 74, EventsStddev: 25, BusyMeanS: 0.985, BusyStddevS: 0.005}
		got := o.Fairness
		if got.EventsMean != want.EventsMean || got.EventsStddev != want.EventsStddev ||
			math.Abs(got.BusyMeanS-want.BusyMeanS) > 1e-9 || math.Abs(got.BusyStddevS-want.BusyStddevS) > 1e-9 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestScheduleIsPoisson(t *testing.T) {
	t.Parallel()
	const rate, n = 250.0, 50_000
	s, again := load.NewSchedule(rate, 1000, 42), load.NewSchedule(rate, 1000, 42)
	last, sum, squares := int64(1000), 0.0, 0.0
	for range n {
		next := s.Next()
		if next != again.Next() {
			t.Fatal("the same seed gives other times")
		}
		gap := float64(next-last) / 1e9
		last = next
		sum += gap
		squares += gap * gap
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean*rate-1) > 0.02 || math.Abs(deviation*rate-1) > 0.03 {
		t.Errorf("mean gap %v s and deviation %v s, want both 1/%v s", mean, deviation, rate)
	}
}

func TestParallelStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	calls := 0
	err := load.Parallel(context.Background(), 1000, 1, func(_ context.Context, i int) error {
		calls++
		if i == 5 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) || calls > 7 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

func TestSteadiness(t *testing.T) {
	t.Parallel()
	series := func(q ...float64) []bench.Interval {
		var out []bench.Interval
		for i, v := range q {
			out = append(out, bench.Interval{TS: float64(i + 1), LengthS: 1, QPS: v})
		}
		return out
	}
	for _, tc := range []struct {
		name string
		in   []bench.Interval
		want string
	}{
		{"too few", series(1, 1, 1, 1), ""},
		{"level", series(100, 101, 99, 100, 100), "steady"},
		{"falling", series(120, 115, 110, 105, 100, 95), "unsteady"},
		{"one stall", series(100, 100, 0, 100, 100, 100), "unsteady"},
		{"dead", series(0, 0, 0, 0, 0), "unsteady"},
		{"a short last one is left out", append(series(100, 100, 100, 100, 100), bench.Interval{TS: 5.1, LengthS: 0.1, QPS: 10}), "steady"},
	} {
		got := load.Steadiness(tc.in)
		if (got == nil) != (tc.want == "") || got != nil && got.Verdict != tc.want {
			t.Errorf("%s: %+v, want %q", tc.name, got, tc.want)
		}
	}
}
