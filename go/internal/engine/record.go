package engine

import (
	"encoding/binary"
	"errors"
)

// Record is a decoded copy of one llingr_record.
type Record struct {
	Key, Value  []byte
	Headers     []Header
	Offset      int64
	TimestampMs int64
	Kind        uint32
}

var errRecord = errors.New("the record's lengths do not fit its bytes")

// DecodeRecord copies a record out of the host's memory. Lengths are checked
// against the bytes that are there.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if len(b) < recordHead {
		return r, errRecord
	}
	size := binary.NativeEndian.Uint32(b)
	if size < recordHead || int64(size) > int64(len(b)) {
		return r, errRecord
	}
	b = b[:size]
	keyLen := int32(binary.NativeEndian.Uint32(b[4:]))
	valueLen := int32(binary.NativeEndian.Uint32(b[8:]))
	headers := binary.NativeEndian.Uint32(b[12:])
	r.Offset = int64(binary.NativeEndian.Uint64(b[16:]))
	r.TimestampMs = int64(binary.NativeEndian.Uint64(b[24:]))
	r.Kind = binary.NativeEndian.Uint32(b[32:])
	rest := b[recordHead:]
	take := func(n int32) ([]byte, bool) {
		if n < 0 {
			return nil, n == -1
		}
		if int(n) > len(rest) {
			return nil, false
		}
		out := append(make([]byte, 0, n), rest[:n]...)
		rest = rest[n:]
		return out, true
	}
	var ok1, ok2 bool
	r.Key, ok1 = take(keyLen)
	r.Value, ok2 = take(valueLen)
	if !ok1 || !ok2 {
		return r, errRecord
	}
	if int64(headers)*headerHead > int64(len(rest)) {
		return r, errRecord
	}
	for range headers {
		if len(rest) < headerHead {
			return r, errRecord
		}
		nameLen := binary.NativeEndian.Uint32(rest)
		valueLen := int32(binary.NativeEndian.Uint32(rest[4:]))
		rest = rest[headerHead:]
		if int64(nameLen) > int64(len(rest)) {
			return r, errRecord
		}
		h := Header{Key: string(rest[:nameLen])}
		rest = rest[nameLen:]
		var ok bool
		if h.Value, ok = take(valueLen); !ok {
			return r, errRecord
		}
		r.Headers = append(r.Headers, h)
	}
	return r, nil
}
