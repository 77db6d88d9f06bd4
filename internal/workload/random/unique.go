package random

// Unique is a sequence of distinct 32-bit numbers in scattered order: a
// permutation of 0..2^32-1 by quadratic residues (Jeff Preshing, "How to generate
// a sequence of unique random integers", public domain). sysbench's oltp_insert
// takes its ids from such a sequence when auto_inc is off.
type Unique struct{ base, offset uint32 }

// NewUnique returns the sequence of a seed.
func NewUnique(seed int64) Unique {
	s := NewSource(seed, 1<<63)
	w := s.Uint64()
	return Unique{base: uint32(w), offset: uint32(w >> 32)}
}

// At returns number i of the sequence; distinct i give distinct numbers.
func (u Unique) At(i uint32) uint32 {
	return residue((residue(i+u.base) + u.offset) ^ 0x5bf03635)
}

// residue permutes 0..2^32-1: for a prime p = 3 mod 4 the squares of 0..p/2 are
// distinct mod p, and so are their complements. The five numbers from p on are
// left where they are.
func residue(x uint32) uint32 {
	const p = 4294967291
	if x >= p {
		return x
	}
	r := uint32(uint64(x) * uint64(x) % p)
	if x <= p/2 {
		return r
	}
	return p - r
}
