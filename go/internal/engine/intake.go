package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// Timestamp kinds; the numbers are those of include/llingr.h.
const (
	TimestampNone      = 0
	TimestampCreate    = 1
	TimestampLogAppend = 2
)

// Header is one header of a record; a nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

const (
	recordHead = 40 // sizeof(llingr_record)
	headerHead = 8
	// blockSize is what a block holds unless one record needs more. It is
	// large enough that the price of handing one over vanishes, and small
	// enough that one slow record keeps little memory.
	blockSize = 64 << 10
)

// Intake takes one partition's records of one poll. It is used by the polling
// goroutine only, between Begin and End.
type Intake struct {
	e       *Engine
	a       *assignment
	block   Block
	n       int
	count   uint32
	first   uint64
	next    uint64 // sequence number of the next record
	stretch run    // offsets of the block's records, the newest stretch
	runs    []run  // and the ones before
	last    int64
	skipped uint64
	repeats uint64
	epoch   int32
}

// Begin starts the intake of a partition's records. It returns nil when the
// partition is not assigned: its records are then of no concern.
func (e *Engine) Begin(partition int32, highWatermark int64) *Intake {
	a := e.lookup(partition)
	if a == nil {
		return nil
	}
	in := &e.intake
	in.e, in.a = e, a
	in.n, in.count, in.skipped, in.repeats = 0, 0, 0, 0
	in.runs, in.stretch = in.runs[:0], run{}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revoked {
		return nil
	}
	a.highWatermark = max(a.highWatermark, highWatermark)
	in.first, in.next, in.last = a.track.next, a.track.next, a.track.lastOffset
	in.epoch = a.lastEpoch
	if len(a.skip.ranges) > 0 {
		a.skip.reset(in.last + 1)
	}
	a.failing, a.failingCause = time.Time{}, ""
	return in
}

// Add takes one record. Offsets must ascend; a record that was delivered
// before is counted and left out.
func (in *Intake) Add(offset, timestampMs int64, timestampKind uint32, leaderEpoch int32, key, value []byte, headers []Header) error {
	if offset <= in.last {
		in.repeats++
		return nil
	}
	in.last, in.epoch = offset, leaderEpoch
	if len(in.a.skip.ranges) != 0 && in.a.skip.ended(offset) {
		return in.skip(offset)
	}
	size := recordHead + len(key) + len(value)
	for i := range headers {
		size += headerHead + len(headers[i].Key) + len(headers[i].Value)
	}
	size = (size + 7) &^ 7
	if size > math.MaxInt32 {
		return fmt.Errorf("the record at offset %d has %d bytes, more than the engine can hand over", offset, size)
	}
	if in.n+size > len(in.block.Data) {
		if err := in.room(size); err != nil {
			return err
		}
	}
	b := in.block.Data[in.n : in.n+size : in.n+size]
	keyLen, valueLen := int32(len(key)), int32(len(value))
	if key == nil {
		keyLen = -1
	}
	if value == nil {
		valueLen = -1
	}
	_ = b[recordHead-1]
	binary.NativeEndian.PutUint32(b[0:], uint32(size))
	binary.NativeEndian.PutUint32(b[4:], uint32(keyLen))
	binary.NativeEndian.PutUint32(b[8:], uint32(valueLen))
	binary.NativeEndian.PutUint32(b[12:], uint32(len(headers)))
	binary.NativeEndian.PutUint64(b[16:], uint64(offset))
	binary.NativeEndian.PutUint64(b[24:], uint64(timestampMs))
	binary.NativeEndian.PutUint64(b[32:], uint64(timestampKind))
	at := recordHead + copy(b[recordHead:], key)
	at += copy(b[at:], value)
	for i := range headers {
		h := &headers[i]
		n := int32(len(h.Value))
		if h.Value == nil {
			n = -1
		}
		binary.NativeEndian.PutUint32(b[at:], uint32(len(h.Key)))
		binary.NativeEndian.PutUint32(b[at+4:], uint32(n))
		at += headerHead
		at += copy(b[at:], h.Key)
		at += copy(b[at:], h.Value)
	}
	in.n += size
	in.count++
	in.note(offset)
	return nil
}

// note records the offset of the newest sequence number.
func (in *Intake) note(offset int64) {
	in.next++
	if in.stretch.count != 0 && in.stretch.offset+int64(in.stretch.count) == offset {
		in.stretch.count++
		return
	}
	if in.stretch.count != 0 {
		in.runs = append(in.runs, in.stretch)
	}
	in.stretch = run{offset: offset, count: 1}
}

// skip delivers a record that had ended before the restart: it takes its place
// among the offsets and never reaches the host.
func (in *Intake) skip(offset int64) error {
	if err := in.submit(); err != nil {
		return err
	}
	a := in.a
	a.mu.Lock()
	a.track.deliver(offset, 1)
	err := a.track.done(in.next, 1)
	a.mu.Unlock()
	in.next++
	in.first = in.next
	in.skipped++
	return err
}

// room makes space for a record of size bytes.
func (in *Intake) room(size int) error {
	if err := in.submit(); err != nil {
		return err
	}
	if in.block.Data != nil && len(in.block.Data) >= size {
		return nil
	}
	if in.block.Data != nil {
		in.e.host.ReleaseBlock(in.block)
		in.block = Block{}
	}
	b, err := in.e.host.AcquireBlock(max(size, blockSize))
	if err != nil {
		return err
	}
	if len(b.Data) < size {
		in.e.host.ReleaseBlock(b)
		return errors.New("the host's block is smaller than asked for")
	}
	in.block = b
	return nil
}

// submit hands the block over. The tracker learns of its records first: they
// can end before Submit has returned.
func (in *Intake) submit() error {
	if in.count == 0 {
		return nil
	}
	a := in.a
	a.mu.Lock()
	if a.revoked {
		a.mu.Unlock()
		in.drop()
		return nil
	}
	for _, r := range in.runs {
		a.track.deliver(r.offset, r.count)
	}
	a.track.deliver(in.stretch.offset, in.stretch.count)
	a.held += uint64(in.count)
	a.heldBytes += uint64(in.n)
	a.delivered += uint64(in.count)
	a.lastEpoch = in.epoch
	a.mu.Unlock()
	in.e.heldRecords.Add(int64(in.count))
	in.e.heldBytes.Add(int64(in.n))
	in.runs, in.stretch = in.runs[:0], run{}
	err := in.e.host.Submit(a.id, in.first, in.block, in.n, in.count)
	if err != nil {
		if a.givenUp() {
			in.drop() // the host forgot the assignment in between
			return nil
		}
		return fmt.Errorf("handing over %d records of partition %d: %w", in.count, a.partition, err)
	}
	in.block = Block{}
	in.first = in.next
	in.n, in.count = 0, 0
	return nil
}

// drop forgets the block's records: the partition was given up meanwhile, and
// they are the next owner's.
func (in *Intake) drop() {
	in.n, in.count, in.first = 0, 0, in.next
	in.runs, in.stretch = in.runs[:0], run{}
}

// End submits what is left and pauses the partition if it reached a bound.
func (in *Intake) End() error {
	if err := in.submit(); err != nil {
		return err
	}
	if in.block.Data != nil {
		in.e.host.ReleaseBlock(in.block)
		in.block = Block{}
	}
	a := in.a
	a.counters.skipped.Add(in.skipped)
	a.counters.duplicates.Add(in.repeats)
	a.mu.Lock()
	pause := !a.paused && !a.revoked && a.full(in.e.bounds())
	if pause {
		a.paused = true
		in.e.boundPauses.Add(1)
	}
	a.mu.Unlock()
	if pause {
		in.e.urgent.Store(true)
		in.e.switchFetching([]int32{a.partition})
		in.e.log(LogDebug, "partition %d reached its bound and is paused", a.partition)
	}
	return nil
}
