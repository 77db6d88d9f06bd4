package load

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Schedule hands out the intended start times of a Poisson process of a given
// rate, as sysbench's --rate does. Whoever is idle takes the next time, so the
// connections serve one first-in first-out queue. Time passing does not depend
// on the server: a stall is visible in the latency of every event that was due.
type Schedule struct {
	mu    sync.Mutex
	arr   arrivals
	taken int64

	due     arrivals // the same times again, to count those that are due
	dueSeen int64
}

type arrivals struct {
	r    *rand.Rand
	gap  float64 // mean gap in nanoseconds
	next float64
}

func (a *arrivals) advance() int64 {
	t := a.next
	a.next += -math.Log(1-a.r.Float64()) * a.gap
	return int64(t)
}

// NewSchedule returns a schedule of rate events per second that begins at time
// begin (of Now), the same for the same seed.
func NewSchedule(rate float64, begin int64, seed uint64) *Schedule {
	a := func() arrivals {
		return arrivals{r: rand.New(rand.NewPCG(seed, 0x5eed)), gap: 1e9 / rate, next: float64(begin)}
	}
	return &Schedule{arr: a(), due: a()}
}

// Next returns the next intended start time.
func (s *Schedule) Next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
	return s.arr.advance()
}

// Backlog returns how many events were due at time now and had not been taken.
func (s *Schedule) Backlog(now int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for int64(s.due.next) <= now {
		s.due.advance()
		s.dueSeen++
	}
	return max(0, s.dueSeen-s.taken)
}
