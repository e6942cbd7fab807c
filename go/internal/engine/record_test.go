package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// encoded is one record as the intake writes it.
func encoded(key, value []byte, headers []Header) []byte {
	h := newFakeHost()
	e := New(testConfig(), h, newFakeSource())
	var raw []byte
	capture := &capturing{fakeHost: h, raw: &raw}
	e.host = capture
	e.Assign([]int32{0})
	in := e.Begin(0, 0)
	if err := in.Add(77, 5, TimestampCreate, 0, key, value, headers); err != nil {
		panic(err)
	}
	if err := in.End(); err != nil {
		panic(err)
	}
	return raw
}

type capturing struct {
	*fakeHost
	raw *[]byte
}

func (c *capturing) Submit(_ uint32, _ uint64, b Block, length int, _ uint32) error {
	*c.raw = bytes.Clone(b.Data[:length])
	return nil
}

func TestDecodeRecordTakesWhatTheIntakeWrote(t *testing.T) {
	raw := encoded([]byte("key"), nil, []Header{{"name", []byte("v")}, {"", nil}})
	r, err := DecodeRecord(raw)
	if err != nil || string(r.Key) != "key" || r.Value != nil || r.Offset != 77 || len(r.Headers) != 2 || r.Headers[1].Value != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	// What follows a record's size is not its own.
	longer := append(bytes.Clone(raw), "more"...)
	if r2, err := DecodeRecord(longer); err != nil || string(r2.Key) != "key" {
		t.Fatalf("%+v, %v", r2, err)
	}
	binary.NativeEndian.PutUint32(longer[4:], uint32(len(raw)-recordHead+1))
	if _, err := DecodeRecord(longer); err == nil {
		t.Fatal("a key that reaches beyond the record was accepted")
	}
}

func TestDecodeRecordSurvivesMutations(t *testing.T) {
	seeds := [][]byte{
		encoded([]byte("key"), []byte("value"), []Header{{"h", []byte("1")}, {"h2", nil}}),
		encoded(nil, nil, nil),
		encoded([]byte{}, bytes.Repeat([]byte("v"), 100), []Header{{"", []byte{}}}),
	}
	rng := rand.New(rand.NewPCG(1, 3))
	refused := 0
	for range 50_000 {
		b := bytes.Clone(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(4) {
			switch rng.IntN(4) {
			case 0:
				b = b[:rng.IntN(len(b)+1)]
			case 1:
				b = append(b, byte(rng.Uint32()))
			default:
				if len(b) > 0 {
					b[rng.IntN(len(b))] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.Uint32())}[rng.IntN(6)]
				}
			}
			if len(b) == 0 {
				break
			}
		}
		r, err := DecodeRecord(b)
		if err != nil {
			refused++
			continue
		}
		total := len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			total += headerHead + len(h.Key) + len(h.Value)
		}
		if total > len(b)-recordHead {
			t.Fatalf("%d bytes came out of %d", total, len(b))
		}
	}
	if refused < 5000 {
		t.Fatalf("only %d mutations were refused", refused)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(encoded([]byte("key"), []byte("value"), []Header{{"h", nil}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err == nil && len(r.Key)+len(r.Value) > len(b) {
			t.Fatal("more came out than went in")
		}
	})
}
