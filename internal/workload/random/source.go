// Package random draws the numbers of a workload: seeded streams, one for each
// connection, and the distributions of sysbench's --rand-type over them.
//
// The same seed and stream number give the same draws on every machine. Nothing
// here allocates after a Dist has been made.
package random

import (
	"encoding/binary"
	"math/bits"
)

// Source is a stream of random words: xoroshiro128++ of Blackman and Vigna, whose
// period is 2^128-1. The zero value is not usable; NewSource makes one. A Source
// is used by one goroutine at a time.
type Source struct{ a, b uint64 }

// NewSource returns stream number stream of a seed. Streams of one seed start at
// unrelated points of the period.
func NewSource(seed int64, stream uint64) Source {
	m := mix(uint64(seed)) ^ mix(stream+0x632be59bd9b4e019)
	s := Source{a: mix(m + golden), b: mix(m + golden + golden)}
	if s.a == 0 && s.b == 0 {
		s.a = golden // the all-zero state is the one that never leaves itself
	}
	return s
}

const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of splitmix64, a bijection that spreads every input bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns the next 64 random bits.
func (s *Source) Uint64() uint64 {
	a, b := s.a, s.b
	out := bits.RotateLeft64(a+b, 17) + a
	b ^= a
	s.a = bits.RotateLeft64(a, 49) ^ b ^ b<<21
	s.b = bits.RotateLeft64(b, 28)
	return out
}

// Float64 returns a number in [0, 1) with 53 random bits.
func (s *Source) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Range returns a whole number uniform over [a, b], both included. The bias is
// below (b-a+1)/2^64. It needs a <= b.
func (s *Source) Range(a, b int64) int64 {
	n := uint64(b) - uint64(a) + 1
	if n == 0 { // all 2^64 values
		return int64(s.Uint64())
	}
	hi, _ := bits.Mul64(s.Uint64(), n)
	return int64(uint64(a) + hi)
}

// Lengths of the two strings of sysbench's rows, in bytes.
const (
	CLen   = 119 // column c: 10 groups of 11 digits joined by '-'
	PadLen = 59  // column pad: 5 groups
)

const groupLen = 11

// Groups fills dst with groups of 11 decimal digits joined by '-', as sysbench
// fills c and pad: len(dst) is 12 times the number of groups, less one. Digits
// are uniform and independent.
//
// One word gives 16 digits by fixed-point multiplication. A group takes its first
// eight from one half and its last eight from the other; the five in the middle
// are written twice, which is cheaper than splitting words at 11 digits.
func (s *Source) Groups(dst []byte) {
	for len(dst) >= groupLen {
		hi, lo := bits.Mul64(s.Uint64(), 1e8)
		binary.LittleEndian.PutUint64(dst[0:8], eight(hi))
		hi, _ = bits.Mul64(lo, 1e8)
		binary.LittleEndian.PutUint64(dst[3:11], eight(hi))
		if len(dst) == groupLen {
			return
		}
		dst[groupLen] = '-'
		dst = dst[groupLen+1:]
	}
}

// Digits fills dst with uniform decimal digits.
func (s *Source) Digits(dst []byte) {
	var word [8]byte
	for len(dst) > 0 {
		hi, _ := bits.Mul64(s.Uint64(), 1e8)
		binary.LittleEndian.PutUint64(word[:], eight(hi))
		dst = dst[copy(dst, word[:]):]
	}
}

// eight returns the eight decimal digits of v < 10^8 as ASCII, first digit in the
// lowest byte. It halves the number three times, in parallel lanes of one word.
func eight(v uint64) uint64 {
	q := v / 10000
	lanes := q | (v-q*10000)<<32             // two lanes of four digits
	q = (lanes * 10486 >> 20) & 0x7f0000007f // each / 100
	lanes = q | (lanes-q*100)<<16            // four lanes of two digits
	q = (lanes * 103 >> 10) & 0xf000f000f000f
	return 0x3030303030303030 + (q | (lanes-q*10)<<8)
}
