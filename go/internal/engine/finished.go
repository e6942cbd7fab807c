package engine

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
	"strings"
)

// MetadataMax is what a broker accepts as commit metadata unless configured
// otherwise (offset.metadata.max.bytes).
const MetadataMax = 4096

// The finished map in a commit's metadata: the prefix, then base64url without
// padding of
//
//	position  uvarint   the committed offset the map belongs to
//	ranges    pairs of uvarint: gap since the previous range's end (the first:
//	          since position), length
//	crc       4 bytes, CRC-32C of all before
//
// The position makes a map that was left behind by a reset of the group's
// offsets recognisable, the checksum one that was cut.
const finishedPrefix = "llingr1:"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// offsetRange is [From, To).
type offsetRange struct{ From, To int64 }

// encodeFinished writes the map of what ended above the tracker's position,
// at most limit bytes of text. Where it does not fit, the ranges farthest from
// the position are left out: those records run again after a restart. Without
// any range the text is empty.
func encodeFinished(t *tracker, limit int) string {
	room := base64.RawURLEncoding.DecodedLen(limit-len(finishedPrefix)) - crc32.Size
	if t.open == t.span() || room < binary.MaxVarintLen64 {
		return ""
	}
	raw := binary.AppendUvarint(make([]byte, 0, 256), uint64(t.position))
	empty := len(raw)
	at := t.position
	t.endedAbove(func(from, to int64) bool {
		was := len(raw)
		raw = binary.AppendUvarint(raw, uint64(from-at))
		raw = binary.AppendUvarint(raw, uint64(to-from))
		if len(raw) > room {
			raw = raw[:was]
			return false
		}
		at = to
		return true
	})
	if len(raw) == empty {
		return ""
	}
	raw = binary.BigEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	return finishedPrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// decodeFinished reads the map. Empty metadata and metadata of somebody else's
// give none; the error says why a map was not usable.
func decodeFinished(metadata string, position int64) ([]offsetRange, error) {
	if metadata == "" {
		return nil, nil
	}
	text, ours := strings.CutPrefix(metadata, finishedPrefix)
	if !ours {
		return nil, errors.New("the commit's metadata was not written by this engine")
	}
	if len(metadata) > 1<<20 {
		return nil, fmt.Errorf("the finished map has %d bytes", len(metadata))
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the finished map is not base64: %w", err)
	}
	if len(raw) < crc32.Size {
		return nil, errors.New("the finished map is cut")
	}
	body, sum := raw[:len(raw)-crc32.Size], binary.BigEndian.Uint32(raw[len(raw)-crc32.Size:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("the finished map's checksum is wrong")
	}
	next := func() (int64, bool) {
		v, n := binary.Uvarint(body)
		if n <= 0 || v > 1<<62 {
			return 0, false
		}
		body = body[n:]
		return int64(v), true
	}
	of, ok := next()
	if !ok || of != position {
		return nil, fmt.Errorf("the finished map belongs to offset %d, the commit is of %d", of, position)
	}
	ranges := make([]offsetRange, 0, len(body)/2)
	at := position
	for len(body) > 0 {
		gap, ok1 := next()
		n, ok2 := next()
		if !ok1 || !ok2 || n == 0 || at+gap < at || at+gap+n < at+gap {
			return nil, errors.New("the finished map has a broken range")
		}
		ranges = append(ranges, offsetRange{at + gap, at + gap + n})
		at += gap + n
	}
	return ranges, nil
}

// skipper answers whether an offset had ended before the restart. Offsets are
// asked for in ascending order.
type skipper struct{ ranges []offsetRange }

func (s *skipper) ended(offset int64) bool {
	for len(s.ranges) > 0 && s.ranges[0].To <= offset {
		s.ranges = s.ranges[1:]
	}
	return len(s.ranges) > 0 && s.ranges[0].From <= offset
}

// reset drops ranges below offset in one step, for a start far above them.
func (s *skipper) reset(offset int64) {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].To > offset })
	s.ranges = s.ranges[i:]
}
