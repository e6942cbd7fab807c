package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// naive is the plainest tracker: one entry per record.
type naive struct {
	offsets  []int64
	ended    []bool
	position int64
}

func (n *naive) deliver(offset int64, count uint64) {
	if len(n.offsets) == 0 {
		n.position = offset
	}
	for i := range int64(count) {
		n.offsets = append(n.offsets, offset+i)
		n.ended = append(n.ended, false)
	}
}

func (n *naive) done(first, count uint64) bool {
	end := first + count
	if count == 0 || end < first || end > uint64(len(n.ended)) || slices.Contains(n.ended[first:end], true) {
		return false
	}
	for i := first; i < end; i++ {
		n.ended[i] = true
	}
	for i, ended := range n.ended {
		if !ended {
			break
		}
		n.position = n.offsets[i] + 1
	}
	return true
}

func (n *naive) base() uint64 {
	if i := slices.Index(n.ended, false); i >= 0 {
		return uint64(i)
	}
	return uint64(len(n.ended))
}

// above lists the offsets that ended above the position.
func (n *naive) above() []int64 {
	var out []int64
	for i := n.base(); i < uint64(len(n.ended)); i++ {
		if n.ended[i] {
			out = append(out, n.offsets[i])
		}
	}
	return out
}

func (n *naive) open() (count uint64, oldest int64) {
	oldest = -1
	for i, ended := range n.ended {
		if !ended {
			if count == 0 {
				oldest = n.offsets[i]
			}
			count++
		}
	}
	return count, oldest
}

func compare(t *testing.T, step int, got *tracker, want *naive) {
	t.Helper()
	open, oldest := want.open()
	if got.position != want.position || got.base != want.base() || got.open != open || got.span() != uint64(len(want.ended))-want.base() {
		t.Fatalf("step %d: position %d base %d open %d span %d, want %d %d %d %d", step,
			got.position, got.base, got.open, got.span(), want.position, want.base(), open, uint64(len(want.ended))-want.base())
	}
	if at, ok := got.oldestOpen(); ok != (open > 0) || (ok && at != oldest) {
		t.Fatalf("step %d: oldest open %d %v, want %d", step, at, ok, oldest)
	}
	// Stretches may run over offsets that were never delivered, and over
	// nothing that is open.
	var covered []int64
	last := got.position - 1
	got.endedAbove(func(from, to int64) bool {
		if from <= last || to <= from {
			t.Fatalf("step %d: stretch [%d, %d) after %d", step, from, to, last)
		}
		last = to
		for i, o := range want.offsets {
			if o >= from && o < to {
				if !want.ended[i] {
					t.Fatalf("step %d: open offset %d is in the stretch [%d, %d)", step, o, from, to)
				}
				covered = append(covered, o)
			}
		}
		return true
	})
	if !slices.Equal(covered, want.above()) {
		t.Fatalf("step %d: stretches cover %v, ended above the position are %v", step, covered, want.above())
	}
}

func TestTrackerAgreesWithANaiveModel(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		got, want := newTracker(-1), &naive{}
		next := rng.Int64N(1000)
		hole, large := rng.IntN(4), rng.IntN(3) == 0
		for step := range 200 {
			if rng.IntN(3) == 0 || got.open == 0 {
				if rng.IntN(4) < hole {
					next += 1 + rng.Int64N(300)
				}
				count := 1 + rng.Uint64N(8)
				if large {
					count = 1 + rng.Uint64N(200)
				}
				got.deliver(next, count)
				want.deliver(next, count)
				next += int64(count)
			} else {
				// Anything goes: valid, ended already, never delivered, overflowing.
				first := got.base + rng.Uint64N(got.span()+1)
				count := rng.Uint64N(70)
				switch rng.IntN(20) {
				case 0:
					first = rng.Uint64N(got.next + 100)
				case 1:
					count = ^uint64(0) - rng.Uint64N(100)
				case 2, 3, 4:
					first, count = got.base, 1
				}
				ok := want.done(first, count)
				if err := got.done(first, count); (err == nil) != ok {
					t.Fatalf("seed %d step %d: done(%d, %d) = %v, want success %v", seed, step, first, count, err, ok)
				}
			}
			compare(t, step, got, want)
		}
	}
}

func TestTrackerRingGrowsAndWraps(t *testing.T) {
	tr := newTracker(-1)
	const first = 50 * 64 // the ring's start is then in its middle
	tr.deliver(0, first)
	if err := tr.done(0, first); err != nil {
		t.Fatal(err)
	}
	tr.deliver(first, trackerWords*64)
	for seq := uint64(first + 1); seq < tr.next; seq += 2 {
		if err := tr.done(seq, 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(tr.bits) != trackerWords {
		t.Fatalf("the ring has %d words although %d hold all", len(tr.bits), trackerWords)
	}
	tr.deliver(tr.lastOffset+1, 10*trackerWords*64) // grows over the wrapped ring
	if len(tr.bits) != 16*trackerWords {
		t.Fatalf("the ring has %d words", len(tr.bits))
	}
	for seq := uint64(first); seq < first+trackerWords*64; seq++ {
		err := tr.done(seq, 1)
		if odd := seq%2 == 1; (err != nil) != odd {
			t.Fatalf("record %d: %v", seq, err)
		}
	}
	if want := int64(first + trackerWords*64); tr.position != want {
		t.Fatalf("position %d, want %d", tr.position, want)
	}
}

func TestTrackerSpanIsWhatItKeeps(t *testing.T) {
	// A million records pass a window of a thousand: neither ring nor runs grow.
	tr := newTracker(-1)
	offset := int64(0)
	for range 1000 {
		tr.deliver(offset, 1000)
		offset += 1001 // a hole each
		if err := tr.done(tr.base, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if len(tr.bits) != trackerWords || cap(tr.runs) > 64 || tr.span() != 0 {
		t.Fatalf("%d words, room for %d runs, span %d", len(tr.bits), cap(tr.runs), tr.span())
	}
	if tr.position != offset-1 {
		t.Fatalf("position %d, want %d", tr.position, offset-1)
	}
}

func TestTrackerRefusalChangesNothing(t *testing.T) {
	tr := newTracker(-1)
	tr.deliver(100, 300)
	if err := tr.done(200, 10); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]uint64{{0, 201}, {150, 60}, {209, 2}, {299, 2}, {300, 1}, {0, 0}, {5, ^uint64(0)}} {
		if err := tr.done(c[0], c[1]); err == nil {
			t.Fatalf("done(%d, %d) was accepted", c[0], c[1])
		}
	}
	if tr.open != 290 || tr.position != 100 {
		t.Fatalf("open %d, position %d", tr.open, tr.position)
	}
	// Every record that was open before the refusals can still end, once.
	for _, c := range [][2]uint64{{0, 200}, {210, 90}} {
		if err := tr.done(c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	if tr.open != 0 || tr.position != 400 {
		t.Fatalf("open %d, position %d", tr.open, tr.position)
	}
}
