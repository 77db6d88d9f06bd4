package wire

import (
	"encoding/binary"
	"fmt"
)

// The client errors of libmysqlclient that this engine gives (MySQL manual,
// "Client Error Message Reference").
const (
	codeServerGone      = 2006 // lost while no statement was outstanding
	codeLost            = 2013 // lost during a statement
	codePacketTooLarge  = 2020
	codeMalformed       = 2027
	codeInfileForbidden = 2068
)

const (
	maxPayload = 1<<24 - 1 // of one packet; a longer payload goes on in the next one
	maxHead    = 1 << 10   // bytes of a control packet that are looked at
	maxColumns = 1<<16 - 1 // of one result set
	moreSets   = 0x0008    // SERVER_MORE_RESULTS_EXISTS
)

// The first byte of a packet.
const (
	byteOK     = 0x00
	byteInfile = 0xfb
	byteEOF    = 0xfe
	byteERR    = 0xff
)

// serverError is an ERR packet, or a client error of the same form.
type serverError struct {
	code    int
	state   string
	message string
}

// step says what the reader of an answer needs next.
type step uint8

const (
	stepMore  step = iota // more bytes
	stepDone              // nothing: the answer is complete
	stepEmpty             // an empty packet must be sent: a LOCAL INFILE request is refused
)

// await says which packet comes next.
type await uint8

const (
	awaitNothing    await = iota
	awaitHeader           // OK, ERR, LOCAL INFILE or column count
	awaitColumns          // column definitions
	awaitColumnsEOF       // the EOF packet after them
	awaitRows             // rows, or what ends them
	awaitPrepareOK        // the answer to COM_STMT_PREPARE
	awaitDefs             // parameter or column definitions of it
	awaitDefsEOF          // the EOF packet after them
)

// answer reads the server's answer to one command, split at any byte. It keeps
// what the engine counts and at most maxHead bytes of one packet. It must not be
// copied once in use.
type answer struct {
	eofs     bool // CLIENT_DEPRECATE_EOF was not negotiated: EOF packets come
	cached   bool // MARIADB_CLIENT_CACHE_METADATA: the column count says whether definitions follow
	progress bool // MARIADB_CLIENT_PROGRESS: ERR packets with code 0xffff are reports

	await    await
	seq      byte // expected sequence number
	emptySeq byte // that of the empty packet asked for by stepEmpty
	cont     bool // the packet before was maxPayload long: its payload goes on
	isRow    bool // it was a row
	skip     int  // payload bytes still to pass over
	stash    []byte
	small    [48]byte // backs stash for nearly all packets
	defs     int      // definitions still to come
	later    int      // column definitions of a prepared statement, after its parameters'

	sets     int   // result sets begun
	rows     int64 // of all result sets
	rowBytes int64 // payload bytes of those rows
	changed  bool  // an OK packet told of affected rows
	refused  bool  // a LOCAL INFILE request was refused
	failed   bool  // the answer ended with an ERR packet, in err
	err      serverError
	stmtID   uint32
	params   int
}

// init sets the reader up for a connection.
func (a *answer) init(capabilities, mariaDB uint32) {
	*a = answer{
		eofs:     capabilities&capDeprecateEOF == 0,
		cached:   mariaDB&mariaCacheMetadata != 0,
		progress: mariaDB&mariaProgress != 0,
	}
}

// expect prepares to read the answer to a command just sent, in the given number
// of packets.
func (a *answer) expect(w await, packets int) {
	a.await, a.seq = w, byte(packets)
	a.cont, a.isRow, a.stash = false, false, a.small[:0]
	a.sets, a.rows, a.rowBytes = 0, 0, 0
	a.changed, a.refused, a.failed = false, false, false
}

// feed reads from b and returns how many bytes it took. After stepDone the rest
// of b is not part of this answer; after stepEmpty an empty packet with sequence
// number emptySeq must be sent. An error means that the stream cannot be
// followed any more.
func (a *answer) feed(b []byte) (n int, s step, err error) {
	for n < len(b) {
		if a.skip > 0 {
			k := min(a.skip, len(b)-n)
			a.skip -= k
			n += k
			continue
		}
		if a.await == awaitRows && !a.cont && len(a.stash) == 0 {
			n += a.wholeRows(b[n:])
		}
		p, k := a.head(b[n:])
		n += k
		if p == nil {
			// What does not speak the protocol may never send as much as its "length"
			// says.
			return n, stepMore, a.inOrder(a.stash)
		}
		s, err = a.packet(p)
		a.stash = a.stash[:0]
		if err != nil || s != stepMore {
			return n, s, err
		}
	}
	return n, stepMore, nil
}

// head returns the next packet from its header on, as far as it is needed, and
// how many bytes of b were taken; a.skip is set to what remains of the packet.
// Without enough bytes it keeps them and returns nil.
func (a *answer) head(b []byte) (p []byte, n int) {
	if len(a.stash) == 0 {
		if need := a.need(b); len(b) >= need {
			whole := 4 + length(b)
			n = min(whole, len(b))
			a.skip = whole - n
			return b[:need], n
		}
	}
	for {
		need := a.need(a.stash)
		if len(a.stash) >= need {
			a.skip = 4 + length(a.stash) - len(a.stash)
			return a.stash, n
		}
		if n == len(b) {
			return nil, n
		}
		k := min(need-len(a.stash), len(b)-n)
		a.stash = append(a.stash, b[n:n+k]...)
		n += k
	}
}

// need returns how many bytes of the packet that begins with p must be there
// before it can be judged.
func (a *answer) need(p []byte) int {
	if len(p) < 4 {
		return 4
	}
	size := length(p)
	if a.cont || size == 0 {
		return 4
	}
	switch a.await {
	case awaitColumns, awaitDefs:
		if len(p) < 5 || p[4] != byteERR {
			return 5
		}
	case awaitRows:
		if len(p) < 5 || (p[4] != byteERR && !a.endsRows(p[4], size)) {
			return 5
		}
	}
	return 4 + min(size, maxHead)
}

// endsRows reports whether a packet ends a result set rather than being a row:
// a row may begin with the same byte when its first column is over 16 MiB.
func (a *answer) endsRows(first byte, size int) bool {
	if a.eofs {
		return first == byteEOF && size < 9
	}
	return first == byteEOF && size < maxPayload
}

// wholeRows counts the rows that lie in b as a whole: nearly all bytes of large
// answers pass here. Whatever is not such a row is left to packet.
func (a *answer) wholeRows(b []byte) int {
	i, seq, rows := 0, a.seq, int64(0)
	for len(b)-i > 4 {
		size := int(b[i]) | int(b[i+1])<<8 | int(b[i+2])<<16
		if size == 0 || size == maxPayload || b[i+3] != seq || b[i+4] >= byteEOF || len(b)-i-4 < size {
			break
		}
		seq++
		rows++
		i += 4 + size
	}
	a.seq = seq
	a.rows += rows
	a.rowBytes += int64(i) - 4*rows
	return i
}

// packet acts on one packet, of which p holds the header and as much of the
// payload as need asked for.
func (a *answer) packet(p []byte) (step, error) {
	if err := a.inOrder(p); err != nil {
		return stepMore, err
	}
	size, body := length(p), p[4:]
	a.seq = p[3] + 1
	continues := a.cont
	a.cont = size == maxPayload
	if continues {
		if a.isRow {
			a.rowBytes += int64(size)
		}
		return stepMore, nil
	}
	a.isRow = false
	if len(body) == 0 {
		return stepMore, fmt.Errorf("empty packet")
	}
	if body[0] == byteERR && a.await != awaitColumnsEOF && a.await != awaitDefsEOF {
		return a.errPacket(body)
	}
	switch a.await {
	case awaitHeader:
		return a.header(body)
	case awaitColumns:
		a.definition(awaitColumnsEOF)
	case awaitRows:
		if a.endsRows(body[0], size) {
			return a.endOfRows(body)
		}
		a.isRow = true
		a.rows++
		a.rowBytes += int64(size)
	case awaitPrepareOK:
		return a.prepareOK(body)
	case awaitDefs:
		a.definition(awaitDefsEOF)
		return a.prepared()
	case awaitColumnsEOF, awaitDefsEOF:
		return a.endOfDefs(body, size)
	default:
		return stepMore, fmt.Errorf("packet without a command")
	}
	return stepMore, nil
}

// inOrder checks the sequence number of the packet that begins with p. An ERR
// packet may carry any where an answer begins: the server sent it on its own
// (shutdown, killed, idle for too long) before it read the command.
func (a *answer) inOrder(p []byte) error {
	if len(p) < 4 || p[3] == a.seq {
		return nil
	}
	switch a.await {
	case awaitHeader, awaitPrepareOK, awaitNothing:
		if length(p) > 0 && (len(p) == 4 || p[4] == byteERR) {
			return nil
		}
	}
	return fmt.Errorf("packet %d came where %d was due", p[3], a.seq)
}

func (a *answer) header(body []byte) (step, error) {
	switch body[0] {
	case byteOK:
		return a.okPacket(body)
	case byteInfile:
		a.refused = true
		a.emptySeq = a.seq
		a.seq++
		return stepEmpty, nil
	}
	count, n := lenenc(body)
	if n == 0 || count == 0 || count > maxColumns {
		return stepMore, fmt.Errorf("bad column count")
	}
	follow := true
	if a.cached {
		if len(body) <= n {
			return stepMore, fmt.Errorf("column count without the word on metadata")
		}
		follow = body[n] != 0
	}
	a.sets++
	a.defs, a.await = int(count), awaitColumns
	if !follow {
		a.defs, a.await = 0, awaitRows
		if a.eofs {
			a.await = awaitColumnsEOF
		}
	}
	return stepMore, nil
}

// definition counts one definition; eof is what comes after the last one when
// EOF packets are in use.
func (a *answer) definition(eof await) {
	if a.defs--; a.defs > 0 {
		return
	}
	switch {
	case a.eofs:
		a.await = eof
	case eof == awaitColumnsEOF:
		a.await = awaitRows
	}
}

func (a *answer) endOfDefs(body []byte, size int) (step, error) {
	if body[0] != byteEOF || size > 8 {
		return stepMore, fmt.Errorf("no EOF after the definitions")
	}
	if a.await == awaitColumnsEOF {
		a.await = awaitRows
		return stepMore, nil
	}
	a.await = awaitDefs
	return a.prepared()
}

// okPacket reads an OK packet, or an EOF packet of that form.
func (a *answer) okPacket(body []byte) (step, error) {
	affected, n := lenenc(body[1:])
	_, m := lenenc(body[1+n:])
	at := 1 + n + m
	if n == 0 || m == 0 || len(body) < at+2 {
		return stepMore, fmt.Errorf("short OK packet")
	}
	a.changed = a.changed || affected > 0
	return a.set(binary.LittleEndian.Uint16(body[at:]))
}

func (a *answer) endOfRows(body []byte) (step, error) {
	if !a.eofs {
		return a.okPacket(body)
	}
	if len(body) < 5 {
		return stepMore, fmt.Errorf("short EOF packet")
	}
	return a.set(binary.LittleEndian.Uint16(body[3:]))
}

// set ends one result; status says whether another one follows.
func (a *answer) set(status uint16) (step, error) {
	if status&moreSets != 0 {
		a.await = awaitHeader
		return stepMore, nil
	}
	a.await = awaitNothing
	return stepDone, nil
}

func (a *answer) errPacket(body []byte) (step, error) {
	if len(body) < 3 {
		return stepMore, fmt.Errorf("short ERR packet")
	}
	code := int(binary.LittleEndian.Uint16(body[1:]))
	if code == 0xffff && a.progress {
		return stepMore, nil
	}
	e, text := serverError{code: code, state: "HY000"}, body[3:]
	if len(text) >= 6 && text[0] == '#' {
		e.state, text = string(text[1:6]), text[6:]
	}
	e.message = string(text)
	a.failed, a.err, a.await = true, e, awaitNothing
	return stepDone, nil
}

func (a *answer) prepareOK(body []byte) (step, error) {
	if body[0] != byteOK || len(body) < 9 {
		return stepMore, fmt.Errorf("bad answer to a prepare")
	}
	a.stmtID = binary.LittleEndian.Uint32(body[1:])
	a.later = int(binary.LittleEndian.Uint16(body[5:]))
	a.params = int(binary.LittleEndian.Uint16(body[7:]))
	a.defs, a.await = a.params, awaitDefs
	return a.prepared()
}

// prepared goes on to the next list of definitions of a prepared statement.
func (a *answer) prepared() (step, error) {
	if a.await != awaitDefs || a.defs > 0 {
		return stepMore, nil
	}
	if a.later > 0 {
		a.defs, a.later = a.later, 0
		return stepMore, nil
	}
	a.await = awaitNothing
	return stepDone, nil
}

// length returns the payload length in a packet's header.
func length(p []byte) int { return int(p[0]) | int(p[1])<<8 | int(p[2])<<16 }

// lenenc reads a length-encoded integer and returns how many bytes it took, 0
// when b does not hold one.
func lenenc(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch b[0] {
	case 0xfc:
		n = 3
	case 0xfd:
		n = 4
	case 0xfe:
		n = 9
	case 0xfb, 0xff:
		return 0, 0
	default:
		return uint64(b[0]), 1
	}
	if len(b) < n {
		return 0, 0
	}
	for i := n - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, n
}
