package engine

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomTracker has delivered some records and ended some of them.
func randomTracker(rng *rand.Rand) (*tracker, *naive) {
	tr, model := newTracker(-1), &naive{}
	next := rng.Int64N(1 << 40)
	deliveries := 1 + rng.IntN(200)
	for range deliveries {
		if rng.IntN(2) == 0 {
			next += rng.Int64N(1 << 20)
		}
		count := 1 + rng.Uint64N(60)
		tr.deliver(next, count)
		model.deliver(next, count)
		next += int64(count)
	}
	density := 1 + rng.IntN(10)
	for seq := range tr.next {
		if rng.IntN(10) < density && tr.done(seq, 1) == nil {
			model.ended[seq] = true
		}
	}
	model.position = tr.position
	return tr, model
}

func TestFinishedMapIsNeverWrongAndNeverTooLong(t *testing.T) {
	full, cut, empty := 0, 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		tr, model := randomTracker(rng)
		limit := MetadataMax
		if seed%2 == 1 {
			limit = rng.IntN(300)
		}
		text := encodeFinished(tr, limit)
		if len(text) > max(limit, 0) {
			t.Fatalf("seed %d: %d bytes, the limit is %d", seed, len(text), limit)
		}
		ranges, err := decodeFinished(text, tr.position)
		if err != nil {
			t.Fatalf("seed %d: %v in %q", seed, err, text)
		}
		// An offset that the map calls finished is; and those it leaves out
		// are the farthest.
		skip := skipper{ranges}
		missed := false
		for i := int(tr.base); i < len(model.offsets); i++ {
			mapped := skip.ended(model.offsets[i])
			if mapped && !model.ended[i] {
				t.Fatalf("seed %d: offset %d is open, and the map calls it finished", seed, model.offsets[i])
			}
			if mapped && missed {
				t.Fatalf("seed %d: the map leaves out an offset below %d", seed, model.offsets[i])
			}
			missed = missed || (model.ended[i] && !mapped)
		}
		switch {
		case text == "":
			empty++
		case missed:
			cut++
		default:
			full++
		}
	}
	if full < 50 || cut < 50 || empty < 5 {
		t.Fatalf("the cases are one-sided: %d full, %d cut, %d empty", full, cut, empty)
	}
}

// seal gives a body the prefix and checksum of a map.
func seal(body []byte) string {
	body = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	return finishedPrefix + base64.RawURLEncoding.EncodeToString(body)
}

func numbers(n ...uint64) []byte {
	var b []byte
	for _, n := range n {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func TestMetadataThatIsNotOursOrBrokenGivesNoRange(t *testing.T) {
	good := seal(numbers(100, 5, 10))
	if ranges, err := decodeFinished(good, 100); err != nil || len(ranges) != 1 || ranges[0] != (offsetRange{105, 115}) {
		t.Fatalf("the good map gives %v, %v", ranges, err)
	}
	if ranges, err := decodeFinished("", 100); err != nil || ranges != nil {
		t.Fatalf("no metadata gives %v, %v", ranges, err)
	}
	for name, text := range map[string]string{
		"foreign":            "written by another client",
		"another version":    strings.Replace(good, "llingr1:", "llingr2:", 1),
		"prefix alone":       finishedPrefix,
		"not base64":         good + "!",
		"cut":                good[:len(good)-3],
		"one bit":            finishedPrefix + "A" + good[len(finishedPrefix)+1:],
		"checksum alone":     seal(nil),
		"another position":   seal(numbers(99, 5, 10)),
		"half a pair":        seal(numbers(100, 5)),
		"empty range":        seal(numbers(100, 5, 0)),
		"overflowing gap":    seal(numbers(100, 1<<63, 1)),
		"overflowing end":    seal(numbers(100, 1<<62, 1<<62, 1<<62, 1<<62)),
		"varint without end": seal(append(numbers(100), 0xff)),
		"huge":               finishedPrefix + strings.Repeat("A", 2<<20),
	} {
		if ranges, err := decodeFinished(text, 100); err == nil || len(ranges) != 0 {
			t.Errorf("%s: %v, %v", name, ranges, err)
		}
	}
}

func TestSkipperResetDropsWhatLiesBelow(t *testing.T) {
	s := skipper{[]offsetRange{{1, 3}, {5, 9}, {20, 21}}}
	s.reset(7)
	for o, want := range map[int64]bool{7: true} {
		if s.ended(o) != want {
			t.Fatalf("offset %d", o)
		}
	}
	if s.ended(9) || !s.ended(20) || s.ended(21) || len(s.ranges) != 0 {
		t.Fatalf("ranges left: %v", s.ranges)
	}
}

func FuzzDecodeFinished(f *testing.F) {
	f.Add(seal(numbers(100, 5, 10)), int64(100))
	f.Add(seal(numbers(0, 0, 1, 1, 1)), int64(0))
	f.Add("llingr1:", int64(-1))
	f.Add("other", int64(7))
	f.Fuzz(func(t *testing.T, text string, position int64) {
		ranges, err := decodeFinished(text, position)
		if err != nil && ranges != nil {
			t.Fatal("an error came with ranges")
		}
		at := position
		for _, r := range ranges {
			if r.From < at || r.To <= r.From {
				t.Fatalf("range %v after %d", r, at)
			}
			at = r.To
		}
	})
}

// The body of a map is varints under a checksum, which a fuzzer does not find
// by itself.
func FuzzDecodeFinishedBody(f *testing.F) {
	f.Add(numbers(100, 5, 10), int64(100))
	f.Add(numbers(100, 1<<62, 1<<62, 3), int64(100))
	f.Fuzz(func(t *testing.T, body []byte, position int64) {
		ranges, _ := decodeFinished(seal(append([]byte(nil), body...)), position)
		at := position
		for _, r := range ranges {
			if r.From < at || r.To <= r.From {
				t.Fatalf("range %v after %d", r, at)
			}
			at = r.To
		}
	})
}
