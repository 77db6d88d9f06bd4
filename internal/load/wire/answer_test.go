package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// stream builds what a server sends.
type stream struct {
	bytes.Buffer
	seq byte
}

func newStream() *stream { return &stream{seq: 1} }

// packet appends a payload, split as a server does it.
func (s *stream) packet(payload ...byte) *stream {
	for {
		n := min(len(payload), maxPayload)
		s.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), s.seq})
		s.seq++
		s.Write(payload[:n])
		payload = payload[n:]
		if n < maxPayload {
			return s
		}
	}
}

// client counts a packet that the client sends in between.
func (s *stream) client() *stream {
	s.seq++
	return s
}

func (s *stream) text(head []byte, text string) *stream {
	return s.packet(append(slices.Clone(head), text...)...)
}

func (s *stream) ok(header byte, affected uint64, status uint16, more ...byte) *stream {
	p := appendLenenc([]byte{header}, affected)
	p = append(p, 0, byte(status), byte(status>>8), 0, 0)
	return s.packet(append(p, more...)...)
}

func (s *stream) eof(status uint16) *stream {
	return s.packet(byteEOF, 0, 0, byte(status), byte(status>>8))
}

func (s *stream) err(code uint16, state, message string) *stream {
	p := binary.LittleEndian.AppendUint16([]byte{byteERR}, code)
	if state != "" {
		p = append(append(p, '#'), state...)
	}
	return s.text(p, message)
}

func (s *stream) definitions(n int) *stream {
	for range n {
		s.text(nil, "\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\xff\x00\xe0\x01\x00\x00\xfe\x00\x00\x00\x00\x00")
	}
	return s
}

// result is what a test looks at after an answer.
type result struct {
	sets           int
	rows, rowBytes int64
	changed        bool
	refused        bool
	err            serverError
	failed         bool
	stmtID         uint32
	params         int
}

func (a *answer) result() result {
	return result{a.sets, a.rows, a.rowBytes, a.changed, a.refused, a.err, a.failed, a.stmtID, a.params}
}

const eofs, deprecated = uint32(0), uint32(capDeprecateEOF)

func TestAnswer(t *testing.T) {
	long := strings.Repeat("x", 700)
	tests := []struct {
		name     string
		caps     uint32
		maria    uint32
		await    await
		stream   *stream
		want     result
		wantLeft int // bytes that are not part of the answer
	}{
		{"ok", deprecated, 0, awaitHeader, newStream().ok(byteOK, 0, 2), result{}, 0},
		{"ok with changes", deprecated, 0, awaitHeader, newStream().ok(byteOK, 300, 2), result{changed: true}, 0},
		{"ok with session state", deprecated, 0, awaitHeader, newStream().ok(byteOK, 1, 0x4000, append([]byte{0}, long+long...)...), result{changed: true}, 0},
		{"error", deprecated, 0, awaitHeader, newStream().err(1213, "40001", "Deadlock found"), result{failed: true, err: serverError{1213, "40001", "Deadlock found"}}, 0},
		{"error without state", deprecated, 0, awaitHeader, newStream().err(1040, "", "Too many"), result{failed: true, err: serverError{1040, "HY000", "Too many"}}, 0},
		{"long error", deprecated, 0, awaitHeader, newStream().err(1064, "42000", long), result{failed: true, err: serverError{1064, "42000", long}}, 0},
		{
			"rows", deprecated, 0, awaitHeader, newStream().packet(2).definitions(2).text(nil, "\x01a\x01b").text(nil, "\x01c\xfb").ok(byteEOF, 0, 2),
			result{sets: 1, rows: 2, rowBytes: 7},
			0,
		},
		{
			"rows with EOF packets", eofs, 0, awaitHeader, newStream().packet(1).definitions(1).eof(2).text(nil, "\x03abc").eof(2),
			result{sets: 1, rows: 1, rowBytes: 4},
			0,
		},
		{"no rows", deprecated, 0, awaitHeader, newStream().packet(1).definitions(1).ok(byteEOF, 0, 2), result{sets: 1}, 0},
		{"no rows with EOF packets", eofs, 0, awaitHeader, newStream().packet(1).definitions(1).eof(2).eof(2), result{sets: 1}, 0},
		{
			"binary rows", deprecated, 0, awaitHeader, newStream().packet(1).definitions(1).packet(0, 0, 1, 2).packet(0, 4).ok(byteEOF, 0, 2),
			result{sets: 1, rows: 2, rowBytes: 6},
			0,
		},
		{
			"error in the middle of rows", deprecated, 0, awaitHeader, newStream().packet(1).definitions(1).text(nil, "\x01a").err(1317, "70100", "interrupted"),
			result{sets: 1, rows: 1, rowBytes: 2, failed: true, err: serverError{1317, "70100", "interrupted"}},
			0,
		},
		{
			"several results", deprecated, 0, awaitHeader, newStream().packet(1).definitions(1).text(nil, "\x01a").ok(byteEOF, 0, 2|moreSets).
				ok(byteOK, 3, 2|moreSets).packet(1).definitions(1).text(nil, "\x01b").text(nil, "\x01c").ok(byteEOF, 0, 2),
			result{sets: 2, rows: 3, rowBytes: 6, changed: true},
			0,
		},
		{
			"several results with EOF packets", eofs, 0, awaitHeader, newStream().packet(1).definitions(1).eof(2).text(nil, "\x01a").eof(2|moreSets).ok(byteOK, 0, 2),
			result{sets: 1, rows: 1, rowBytes: 2},
			0,
		},
		{
			"metadata left out", deprecated, mariaCacheMetadata, awaitHeader, newStream().packet(2, 0).packet(0, 0, 1).ok(byteEOF, 0, 2),
			result{sets: 1, rows: 1, rowBytes: 3},
			0,
		},
		{
			"metadata left out with EOF packets", eofs, mariaCacheMetadata, awaitHeader, newStream().packet(2, 0).eof(2).packet(0, 0, 1).eof(2),
			result{sets: 1, rows: 1, rowBytes: 3},
			0,
		},
		{
			"metadata sent", deprecated, mariaCacheMetadata, awaitHeader, newStream().packet(1, 1).definitions(1).packet(0, 0, 1).ok(byteEOF, 0, 2),
			result{sets: 1, rows: 1, rowBytes: 3},
			0,
		},
		{
			"progress reports", deprecated, mariaProgress, awaitHeader, newStream().err(0xffff, "", "\x01\x01\x02").err(0xffff, "", "\x01\x02\x02").ok(byteOK, 1, 2),
			result{changed: true},
			0,
		},
		{"local infile", deprecated, 0, awaitHeader, newStream().text([]byte{byteInfile}, "/etc/passwd").client().ok(byteOK, 0, 2), result{refused: true}, 0},
		{
			"out of band error", deprecated, 0, awaitHeader, (&stream{seq: 0}).err(4031, "HY000", "idle"),
			result{failed: true, err: serverError{4031, "HY000", "idle"}},
			0,
		},
		{"prepare", deprecated, 0, awaitPrepareOK, newStream().packet(0, 7, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0).definitions(3), result{stmtID: 7, params: 1}, 0},
		{"prepare with EOF packets", eofs, 0, awaitPrepareOK, newStream().packet(0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0).definitions(2).eof(2).definitions(1).eof(2), result{stmtID: 7, params: 2}, 0},
		{"prepare without parameters", eofs, 0, awaitPrepareOK, newStream().packet(0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0).definitions(1).eof(2), result{stmtID: 7}, 0},
		{"prepare of nothing", deprecated, 0, awaitPrepareOK, newStream().packet(0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), result{stmtID: 9}, 0},
		{"prepare refused", deprecated, 0, awaitPrepareOK, newStream().err(1295, "HY000", "no"), result{failed: true, err: serverError{1295, "HY000", "no"}}, 0},
		{"more than the answer", deprecated, 0, awaitHeader, newStream().ok(byteOK, 0, 2).ok(byteOK, 0, 2), result{}, 11},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole := tt.stream.Bytes()
			for chunk := range whole {
				var a answer
				a.init(tt.caps, tt.maria)
				a.expect(tt.await, 1)
				left, err := feedAll(&a, whole, chunk+1)
				if err != nil {
					t.Fatalf("in pieces of %d: %v", chunk+1, err)
				}
				if a.skip != 0 {
					t.Errorf("in pieces of %d: %d bytes still to skip", chunk+1, a.skip)
				}
				if left != tt.wantLeft || a.result() != tt.want {
					t.Fatalf("in pieces of %d: left %d, got %+v, want %+v", chunk+1, left, a.result(), tt.want)
				}
			}
		})
	}
}

// feedAll feeds b in pieces until the answer is complete and its last packet
// passed, and returns how much of b was left over then, or -1 if it never was.
func feedAll(a *answer, b []byte, piece int) (left int, err error) {
	done := false
	for len(b) > 0 {
		p := b[:min(piece, len(b))]
		if done && a.skip == 0 {
			return len(b), nil
		}
		if done {
			p = p[:min(a.skip, len(p))]
		}
		n, s, err := a.feed(p)
		if err != nil {
			return 0, err
		}
		b = b[n:]
		done = done || s == stepDone
	}
	if !done {
		return -1, nil
	}
	return 0, nil
}

func TestAnswerOver16MiB(t *testing.T) {
	row := append([]byte{byteEOF, 0, 0, 0, 1, 0, 0, 0, 0}, make([]byte, 1<<24)...)
	exact := append([]byte{0xfd}, make([]byte, maxPayload-1)...)
	for _, caps := range []uint32{eofs, deprecated} {
		s := newStream().packet(1).definitions(1)
		if caps == eofs {
			s.eof(2)
		}
		s.packet(row...).packet(exact...).text(nil, "\x01a")
		if caps == eofs {
			s.eof(2)
		} else {
			s.ok(byteEOF, 0, 2)
		}
		for _, piece := range []int{4093, 1 << 16, s.Len()} {
			var a answer
			a.init(caps, 0)
			a.expect(awaitHeader, 1)
			left, err := feedAll(&a, s.Bytes(), piece)
			want := result{sets: 1, rows: 3, rowBytes: int64(len(row) + len(exact) + 2)}
			if err != nil || left != 0 || a.result() != want {
				t.Errorf("capabilities %#x in pieces of %d: %v, left %d, got %+v, want %+v", caps, piece, err, left, a.result(), want)
			}
			if cap(a.stash) > 2*maxHead {
				t.Errorf("capabilities %#x in pieces of %d: %d bytes were kept", caps, piece, cap(a.stash))
			}
		}
	}
}

func TestAnswerMalformed(t *testing.T) {
	tests := []struct {
		name   string
		caps   uint32
		await  await
		stream *stream
	}{
		{"wrong number", deprecated, awaitHeader, (&stream{seq: 3}).ok(byteOK, 0, 2)},
		{"empty packet", deprecated, awaitHeader, newStream().packet()},
		{"short ok", deprecated, awaitHeader, newStream().packet(byteOK, 0, 0, 2)},
		{"ok without numbers", deprecated, awaitHeader, newStream().packet(byteOK)},
		{"ok cut in a number", deprecated, awaitHeader, newStream().packet(byteOK, 0xfe, 1, 2)},
		{"short error", deprecated, awaitHeader, newStream().packet(byteERR, 1)},
		{"eof as header", deprecated, awaitHeader, newStream().packet(byteEOF, 0, 0, 2, 0)},
		{"too many columns", deprecated, awaitHeader, newStream().packet(0xfd, 0, 0, 1)},
		{"no eof after definitions", eofs, awaitHeader, newStream().packet(1).definitions(1).text(nil, "\x01a")},
		{"short eof", eofs, awaitHeader, newStream().packet(1).definitions(1).eof(0).packet(byteEOF, 0, 0)},
		{"short end of rows", deprecated, awaitHeader, newStream().packet(1).definitions(1).packet(byteEOF, 0, 0)},
		{"empty row", deprecated, awaitHeader, newStream().packet(1).definitions(1).packet()},
		{"short prepare", deprecated, awaitPrepareOK, newStream().packet(0, 1, 0, 0, 0)},
		{"prepare with a result set", deprecated, awaitPrepareOK, newStream().packet(1).definitions(1)},
		{"packet without a command", deprecated, awaitNothing, newStream().ok(byteOK, 0, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for piece := range tt.stream.Len() {
				var a answer
				a.init(tt.caps, 0)
				a.expect(tt.await, 1)
				if _, err := feedAll(&a, tt.stream.Bytes(), piece+1); err == nil {
					t.Errorf("in pieces of %d: no error, got %+v", piece+1, a.result())
				}
			}
		})
	}
}

// FuzzAnswer holds that no bytes of a server make the reader panic, read past
// the end, stand still or depend on how the bytes were split.
func FuzzAnswer(f *testing.F) {
	for _, s := range []*stream{
		newStream().ok(byteOK, 300, 2), newStream().err(1213, "40001", "Deadlock found"),
		newStream().packet(2).definitions(2).text(nil, "\x01a\x01b").ok(byteEOF, 0, 10).ok(byteOK, 1, 2),
		newStream().packet(1).definitions(1).eof(2).text(nil, "\x03abc").eof(2),
		newStream().packet(0, 7, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0).definitions(3),
		newStream().packet(2, 0).packet(0, 0, 1).ok(byteEOF, 0, 2),
		newStream().text([]byte{byteInfile}, "/etc/passwd").client().ok(byteOK, 0, 2),
	} {
		for mode := range byte(8) {
			f.Add(s.Bytes(), mode, uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, mode byte, piece uint16) {
		run := func(piece int) (result, int, bool, string) {
			var a answer
			a.init(uint32(mode&1)*capDeprecateEOF, uint32(mode>>1&1)*mariaCacheMetadata|uint32(mode>>2&1)*mariaProgress)
			if mode&8 != 0 {
				a.expect(awaitPrepareOK, 1)
			} else {
				a.expect(awaitHeader, 1)
			}
			taken := 0
			for rest := b; len(rest) > 0; {
				p := rest[:min(piece, len(rest))]
				n, s, err := a.feed(p)
				if n < 0 || n > len(p) || (n == 0 && err == nil) {
					t.Fatalf("took %d of %d bytes", n, len(p))
				}
				if err != nil {
					return a.result(), 0, false, err.Error()
				}
				taken += n
				rest = rest[n:]
				if s == stepDone {
					return a.result(), taken + a.skip, true, ""
				}
				if len(a.stash) > maxHead+4 {
					t.Fatalf("%d bytes kept", len(a.stash))
				}
			}
			return a.result(), 0, false, ""
		}
		r1, n1, done1, err1 := run(len(b) + 1)
		r2, n2, done2, err2 := run(int(piece) + 1)
		if done1 != done2 || err1 != err2 || (done1 && (r1 != r2 || n1 != n2)) {
			t.Fatalf("whole: %+v %d %v %q\nin pieces: %+v %d %v %q", r1, n1, done1, err1, r2, n2, done2, err2)
		}
	})
}

func TestFinishPacket(t *testing.T) {
	for _, size := range []int{0, 1, maxPayload - 1, maxPayload, maxPayload + 1, 2 * maxPayload, 2*maxPayload + 5} {
		payload := make([]byte, size)
		for i := range payload {
			payload[i] = byte(i * 7)
		}
		got := finishPacket(append(make([]byte, 4), payload...))
		want := (&stream{}).packet(payload...).Bytes()
		if !bytes.Equal(got, want) {
			t.Errorf("payload of %d bytes: packets differ (%d and %d bytes)", size, len(got), len(want))
		}
	}
}

func BenchmarkAnswerRows(b *testing.B) {
	s := newStream().packet(1).definitions(1)
	for range 100 {
		s.text([]byte{120}, strings.Repeat("x", 120))
	}
	s.ok(byteEOF, 0, 2)
	var a answer
	a.init(deprecated, 0)
	b.SetBytes(int64(s.Len()))
	b.ReportAllocs()
	for b.Loop() {
		a.expect(awaitHeader, 1)
		if _, st, err := a.feed(s.Bytes()); err != nil || st != stepDone {
			b.Fatal(st, err)
		}
	}
}
