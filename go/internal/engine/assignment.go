package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// assignment is one partition in one ownership by this member: its epoch.
// Everything the host reports carries the assignment's id, so a result of an
// earlier ownership finds nothing to change.
type assignment struct {
	id        uint32
	partition int32

	// Owned by the goroutine that polls.
	skip skipper
	// failing is when fetching began to fail without pause; zero while it works.
	failing    time.Time
	failingLog time.Time

	mu        sync.Mutex
	track     *tracker
	held      uint64 // records with the host
	heldBytes uint64
	paused    bool // at the client, for reaching a bound
	byUser    bool // at the client and the host, because the user asked
	revoked   bool

	committed     int64  // last position acknowledged by the broker; -1 none
	committedMeta string // with this metadata
	sent          place  // last position sent to the broker
	highWatermark int64
	delivered     uint64
	counters      *counters
	lastProgress  time.Time
	lastEpoch     int32 // leader epoch of the newest delivery
	failingCause  string
}

// counters of a partition over all its assignments to this member.
type counters struct{ skipped, duplicates atomic.Uint64 }

// full says whether the partition is at one of its bounds.
func (a *assignment) full(b Bounds) bool {
	return a.held >= b.PartitionRecords || a.heldBytes >= b.PartitionBytes ||
		a.track.span() >= b.PartitionSpan || uint64(len(a.track.runs)-a.track.head) >= maxRuns
}

// drainedEnough says whether a paused partition may be fetched again. Half of
// the bound keeps the client from switching at every record.
func (a *assignment) drainedEnough(b Bounds) bool {
	return a.held <= b.PartitionRecords/2 && a.heldBytes <= b.PartitionBytes/2 &&
		a.track.span() <= b.PartitionSpan/2 && uint64(len(a.track.runs)-a.track.head) <= maxRuns/2
}

// stopped says whether the client is not to fetch the partition.
func (a *assignment) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.paused || a.byUser
}

// givenUp says whether the ownership has ended or is about to.
func (a *assignment) givenUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revoked
}

// maxRuns bounds the tracker's memory for offsets with holes (24 bytes each).
const maxRuns = 1 << 18

// Bounds limit what is held. A bound is checked before a round of fetched
// records is taken, so one round (max.partition.fetch.bytes per partition) may
// exceed it.
type Bounds struct {
	// Records and Bytes limit what the host holds in all.
	Records uint64
	Bytes   uint64
	// PartitionRecords and PartitionBytes limit one partition; 0 means the
	// partition's share of the total, by the number of partitions assigned.
	PartitionRecords uint64
	PartitionBytes   uint64
	// PartitionSpan limits how far one partition may run ahead of its oldest
	// open record, in records.
	PartitionSpan uint64
}

// Shares smaller than these would pause a partition at every fetch.
const (
	minShareRecords = 1000
	minShareBytes   = 1 << 20
)

// share fills in the partition's part of the total.
func (b Bounds) share(partitions int) Bounds {
	n := uint64(max(partitions, 1))
	if b.PartitionRecords == 0 {
		b.PartitionRecords = min(max(b.Records/n, minShareRecords), b.Records)
	}
	if b.PartitionBytes == 0 {
		b.PartitionBytes = min(max(b.Bytes/n, minShareBytes), b.Bytes)
	}
	return b
}
