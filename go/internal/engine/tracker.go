package engine

import (
	"fmt"
	"math/bits"
)

// run is a stretch of delivered records whose offsets are consecutive.
type run struct {
	seq    uint64
	offset int64
	count  uint64
}

// tracker holds, for one assignment, the delivered offsets in delivery order
// and which of them ended. Sequence numbers count deliveries from 0, so holes
// in the offsets (control records, compaction, aborted transactions) need no
// special case: the position is one past the last record of the ended prefix.
//
// Memory is one bit per record between the oldest open and the newest
// delivered one, and one run per hole.
type tracker struct {
	runs []run // runs[head:] cover [base, next), oldest first
	head int

	base uint64 // every record below has ended
	next uint64 // sequence number of the next delivery
	open uint64 // delivered and not ended

	bits []uint64 // ring of words, a power of two; 1 = ended
	mask uint64

	position   int64 // offset to commit
	lastOffset int64 // of the newest delivery; -1 before the first
}

const trackerWords = 64

func newTracker(position int64) *tracker {
	return &tracker{
		bits:       make([]uint64, trackerWords),
		mask:       trackerWords - 1,
		position:   position,
		lastOffset: -1,
	}
}

// deliver appends count records whose offsets start at offset.
func (t *tracker) deliver(offset int64, count uint64) {
	if count == 0 {
		return
	}
	if t.next == 0 {
		// What lies before the first record that exists needs no commit of
		// its own: the position starts where the log does.
		t.position = offset
	}
	t.reserve(t.next + count)
	if n := len(t.runs); n > t.head {
		last := &t.runs[n-1]
		if last.offset+int64(last.count) == offset {
			last.count += count
		} else {
			t.runs = append(t.runs, run{seq: t.next, offset: offset, count: count})
		}
	} else {
		t.runs = append(t.runs[:0], run{seq: t.next, offset: offset, count: count})
		t.head = 0
	}
	t.next += count
	t.open += count
	t.lastOffset = offset + int64(count) - 1
}

// reserve makes the ring wide enough for sequence numbers in [base, end).
func (t *tracker) reserve(end uint64) {
	need := (end-1)>>6 - t.base>>6 + 1
	size := uint64(len(t.bits))
	if need <= size {
		return
	}
	for size < need {
		size *= 2
	}
	grown := make([]uint64, size)
	for w := t.base >> 6; w <= (t.next-1)>>6 && t.next > t.base; w++ {
		grown[w&(size-1)] = t.bits[w&t.mask]
	}
	t.bits, t.mask = grown, size-1
}

// done marks count records from first as ended and moves the position. It
// refuses what was never delivered or has ended before, and then changes
// nothing.
func (t *tracker) done(first, count uint64) error {
	end := first + count
	if count == 0 || end < first || first < t.base || end > t.next {
		return fmt.Errorf("records %d to %d reported as ended, but only %d to %d are open", first, end, t.base, t.next)
	}
	for seq := first; seq < end; {
		word := &t.bits[(seq>>6)&t.mask]
		low := seq & 63
		n := min(64-low, end-seq)
		m := (^uint64(0) >> (64 - n)) << low
		if *word&m != 0 {
			t.reopen(first, seq)
			return fmt.Errorf("record %d reported as ended twice", seq+uint64(bits.TrailingZeros64((*word&m)>>low)))
		}
		*word |= m
		seq += n
	}
	t.open -= count
	if first == t.base {
		t.advance()
	}
	return nil
}

// reopen undoes the marks of a refused call.
func (t *tracker) reopen(first, end uint64) {
	for seq := first; seq < end; seq++ {
		t.bits[(seq>>6)&t.mask] &^= 1 << (seq & 63)
	}
}

// advance moves base over the ended prefix and clears the words it leaves.
func (t *tracker) advance() {
	for t.base < t.next {
		i := (t.base >> 6) & t.mask
		low := t.base & 63
		ended := uint64(bits.TrailingZeros64(^(t.bits[i] >> low)))
		ended = min(ended, 64-low)
		if ended == 0 {
			break
		}
		t.base += ended
		if low+ended == 64 {
			t.bits[i] = 0
			continue
		}
		break
	}
	// A word that is only half passed keeps its bits below base: the shift
	// above ignores them, and they are cleared when the word is left.
	for t.head < len(t.runs) {
		r := t.runs[t.head]
		if t.base <= r.seq {
			break
		}
		if t.base < r.seq+r.count {
			t.position = r.offset + int64(t.base-r.seq)
			break
		}
		t.position = r.offset + int64(r.count)
		t.head++
	}
	if t.head == len(t.runs) {
		t.runs, t.head = t.runs[:0], 0
	} else if t.head > 64 && t.head*2 > len(t.runs) {
		t.runs = append(t.runs[:0], t.runs[t.head:]...)
		t.head = 0
	}
}

// span is the number of records between the oldest open and the newest
// delivered one: what the tracker pays memory for.
func (t *tracker) span() uint64 { return t.next - t.base }

// oldestOpen returns the offset of the first record that has not ended.
func (t *tracker) oldestOpen() (int64, bool) {
	if t.open == 0 {
		return 0, false
	}
	return t.offsetOf(t.base), true
}

func (t *tracker) offsetOf(seq uint64) int64 {
	lo, hi := t.head, len(t.runs)
	for lo < hi {
		mid := (lo + hi) / 2
		if t.runs[mid].seq+t.runs[mid].count <= seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	r := t.runs[lo]
	return r.offset + int64(seq-r.seq)
}

// endedAbove calls f with each stretch [from, to) of offsets above the
// position whose delivered records have all ended, ascending, until f returns
// false. Offsets that were never delivered separate stretches only where an
// open record does.
func (t *tracker) endedAbove(f func(from, to int64) bool) {
	seq := t.base
	for seq < t.next {
		seq = t.scan(seq, false)
		if seq >= t.next {
			return
		}
		end := t.scan(seq, true)
		if !f(t.offsetOf(seq), t.offsetOf(end-1)+1) {
			return
		}
		seq = end
	}
}

// scan returns the first sequence number from seq on whose bit differs from
// ended, or next.
func (t *tracker) scan(seq uint64, ended bool) uint64 {
	for seq < t.next {
		w := t.bits[(seq>>6)&t.mask]
		if ended {
			w = ^w
		}
		w >>= seq & 63
		if w != 0 {
			return min(seq+uint64(bits.TrailingZeros64(w)), t.next)
		}
		seq = (seq | 63) + 1
	}
	return t.next
}
