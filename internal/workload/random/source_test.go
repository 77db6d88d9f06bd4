package random

import (
	"math"
	"testing"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	a, b := NewSource(7, 3), NewSource(7, 3)
	for range 100 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("the same seed and stream differ")
		}
	}
	seen := map[uint64]bool{}
	for seed := range int64(50) {
		for stream := range uint64(200) {
			s := NewSource(seed, stream)
			w := s.Uint64()
			if seen[w] {
				t.Fatalf("seed %d stream %d begins as another one does", seed, stream)
			}
			seen[w] = true
		}
	}
}

// Fixed values: a change of the generator changes every statement of every seed.
func TestSourceIsStable(t *testing.T) {
	t.Parallel()
	s := NewSource(1, 0)
	got := [3]uint64{s.Uint64(), s.Uint64(), s.Uint64()}
	want := [3]uint64{0x5923af2781b5b98f, 0xfabaeb15d7ffe228, 0xdb361f6767d47e35}
	if got != want {
		t.Errorf("stream (1, 0) begins with %#x, want %#x", got, want)
	}
	c := make([]byte, 23)
	s.Groups(c)
	if string(c) != "48119765199-76641216930" {
		t.Errorf("groups %q", c)
	}
}

func TestRangeEnds(t *testing.T) {
	t.Parallel()
	s := NewSource(1, 1)
	for _, tc := range [][2]int64{{1, 1}, {-3, 3}, {0, 1}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 1, math.MaxInt64}} {
		for range 1000 {
			if v := s.Range(tc[0], tc[1]); v < tc[0] || v > tc[1] {
				t.Fatalf("drew %d outside %v", v, tc)
			}
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	s := NewSource(2, 0)
	c := make([]byte, CLen)
	var counts [CLen][10]int
	var pairs [100]int // the digits on both sides of where halves of words meet
	const rows = 20_000
	for range rows {
		s.Groups(c)
		for i, ch := range c {
			if i%12 == 11 {
				if ch != '-' {
					t.Fatalf("byte %d of %q is not a dash", i, c)
				}
				continue
			}
			counts[i][ch-'0']++
		}
		pairs[int(c[2]-'0')*10+int(c[3]-'0')]++
	}
	p10, p100 := make([]float64, 10), make([]float64, 100)
	for i := range p10 {
		p10[i] = 0.1
	}
	for i := range p100 {
		p100[i] = 0.01
	}
	for i := range counts {
		if i%12 == 11 {
			continue
		}
		if x2, df := chiSquare(counts[i][:], p10, rows); x2 > critical(df) {
			t.Errorf("digits at byte %d: chi-square %.1f, %d degrees of freedom", i, x2, df)
		}
	}
	if x2, df := chiSquare(pairs[:], p100, rows); x2 > critical(df) {
		t.Errorf("neighbouring digits: chi-square %.1f, %d degrees of freedom", x2, df)
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	s := NewSource(2, 0)
	for n := range 40 {
		b := make([]byte, n)
		s.Digits(b)
		for _, ch := range b {
			if ch < '0' || ch > '9' {
				t.Fatalf("%q holds something else than digits", b)
			}
		}
	}
}

func TestEight(t *testing.T) {
	t.Parallel()
	for v := uint64(0); v < 1e8; v += 7919 {
		checkEight(t, v)
	}
	for _, v := range []uint64{0, 9, 99, 9999, 10000, 99999999, 10099, 99009900} {
		checkEight(t, v)
	}
}

func checkEight(t *testing.T, v uint64) {
	t.Helper()
	w, rest := eight(v), v
	for i := 7; i >= 0; i-- {
		if byte(w>>(8*i)) != '0'+byte(rest%10) {
			t.Fatalf("digit %d of %d is %q", i, v, byte(w>>(8*i)))
		}
		rest /= 10
	}
}

func TestUnique(t *testing.T) {
	t.Parallel()
	u := NewUnique(5)
	seen := make(map[uint32]bool, 200_000)
	for i := range uint32(100_000) {
		seen[u.At(i)] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d distinct numbers of 100000", len(seen))
	}
	if NewUnique(5).At(9) != u.At(9) || NewUnique(6).At(9) == u.At(9) {
		t.Error("the sequence does not follow from the seed")
	}
	low, high := uint32(math.MaxUint32), uint32(0)
	for v := range seen {
		low, high = min(low, v), max(high, v)
	}
	if low > 1<<20 || high < math.MaxUint32-1<<20 {
		t.Errorf("numbers span %d to %d only", low, high)
	}
}

func TestNoAllocations(t *testing.T) {
	s, c := NewSource(1, 0), make([]byte, CLen)
	dists := make([]Dist, 0, len(shapes))
	for _, o := range shapes {
		dists = append(dists, o.Over(1, 1000))
	}
	if n := testing.AllocsPerRun(100, func() {
		for i := range dists {
			dists[i].Draw(&s)
		}
		s.Groups(c)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGroups(b *testing.B) {
	s, c := NewSource(1, 0), make([]byte, CLen)
	b.SetBytes(CLen)
	for b.Loop() {
		s.Groups(c)
	}
}
