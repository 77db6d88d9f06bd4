package wire

import (
	"encoding/binary"

	"cellbench/internal/workload"
)

// Commands (MySQL source documentation, "Command Phase").
const (
	comQuit        = 0x01
	comQuery       = 0x03
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
)

// Column types (MySQL source documentation, "enum_field_types").
const (
	typeNull     = 0x06
	typeLongLong = 0x08
	typeString   = 0xfe
)

// appendCommand begins a packet with room for its header and returns dst.
func appendCommand(dst []byte, command byte) []byte {
	return append(dst, 0, 0, 0, 0, command)
}

// appendQueryHead begins a COM_QUERY; the statement's text follows.
func appendQueryHead(dst []byte, capabilities uint32) []byte {
	dst = appendCommand(dst, comQuery)
	if capabilities&capQueryAttributes != 0 {
		dst = append(dst, 0, 1) // no attributes, in one set
	}
	return dst
}

// finishPacket writes the header of the packet that begins at dst[0], its
// payload being the rest. A payload of maxPayload or more is split into several
// packets.
func finishPacket(dst []byte) []byte {
	size := len(dst) - 4
	if size < maxPayload {
		putHeader(dst, size, 0)
		return dst
	}
	parts := size/maxPayload + 1
	dst = append(dst, make([]byte, 4*(parts-1))...)
	// From the last part to the first, so that nothing is overwritten.
	for i := parts - 1; i >= 0; i-- {
		from, to := i*maxPayload, min((i+1)*maxPayload, size)
		at := 4*i + from // of this part's header
		copy(dst[at+4:], dst[4+from:4+to])
		putHeader(dst[at:], to-from, byte(i))
	}
	return dst
}

func putHeader(p []byte, size int, seq byte) {
	p[0], p[1], p[2], p[3] = byte(size), byte(size>>8), byte(size>>16), seq
}

// signature tells lists of argument types apart, so that the types are sent
// only when they differ from the execution before. Lists too long for it have
// signature 0, which never equals.
func signature(args []workload.Arg) uint64 {
	if len(args) > 31 {
		return 0
	}
	s := uint64(1)
	for _, a := range args {
		s = s<<2 | uint64(a.Type&3)
	}
	return s
}

// appendExecute appends a COM_STMT_EXECUTE packet without its header's content.
// types says whether the types of the arguments are sent along.
func appendExecute(dst []byte, capabilities, id uint32, ev *workload.Event, args []workload.Arg, types bool) []byte {
	dst = appendCommand(dst, comStmtExecute)
	dst = binary.LittleEndian.AppendUint32(dst, id)
	dst = append(dst, 0, 1, 0, 0, 0) // no cursor; one iteration
	if len(args) == 0 {
		return dst
	}
	if capabilities&capQueryAttributes != 0 {
		dst = appendLenenc(dst, uint64(len(args)))
	}
	bitmap := len(dst)
	for range (len(args) + 7) / 8 {
		dst = append(dst, 0)
	}
	if types {
		dst = append(dst, 1)
		for _, a := range args {
			dst = append(dst, columnType(a.Type), 0)
			if capabilities&capQueryAttributes != 0 {
				dst = append(dst, 0) // without a name
			}
		}
	} else {
		dst = append(dst, 0)
	}
	for i, a := range args {
		switch a.Type {
		case workload.ArgInt:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(a.Int))
		case workload.ArgNull:
			dst[bitmap+i/8] |= 1 << (i % 8)
		default:
			b := ev.Bytes(a)
			dst = appendLenenc(dst, uint64(len(b)))
			dst = append(dst, b...)
		}
	}
	return dst
}

func columnType(t workload.ArgType) byte {
	switch t {
	case workload.ArgInt:
		return typeLongLong
	case workload.ArgNull:
		return typeNull
	}
	return typeString
}

func appendLenenc(dst []byte, v uint64) []byte {
	switch {
	case v < 251:
		return append(dst, byte(v))
	case v < 1<<16:
		return append(dst, 0xfc, byte(v), byte(v>>8))
	case v < 1<<24:
		return append(dst, 0xfd, byte(v), byte(v>>8), byte(v>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xfe), v)
}
