package engine

import "time"

// Status is what the engine knows about itself, for the host's metrics,
// snapshot and health.
type Status struct {
	State         string            `json:"state"`
	Cause         string            `json:"cause,omitempty"`
	LastRebalance int64             `json:"lastRebalanceMs"` // Unix ms, 0 = never
	HeldRecords   int64             `json:"heldRecords"`
	HeldBytes     int64             `json:"heldBytes"`
	Commits       uint64            `json:"commits"`
	CommitErrors  uint64            `json:"commitErrors"`
	Rebalances    uint64            `json:"rebalances"`
	Orphaned      uint64            `json:"orphaned"`
	Partitions    []PartitionStatus `json:"partitions"`
	// Counters are of every partition that was ever assigned.
	Counters []PartitionCounters `json:"counters"`
}

// PartitionCounters count since the engine's start.
type PartitionCounters struct {
	Partition  int32  `json:"partition"`
	Skipped    uint64 `json:"skipped"`    // had finished before a restart
	Duplicates uint64 `json:"duplicates"` // fetched again and left out
}

// PartitionStatus describes one assigned partition. Offsets are -1 when
// unknown.
type PartitionStatus struct {
	Partition     int32  `json:"partition"`
	Assignment    uint32 `json:"assignment"`
	Position      int64  `json:"position"`
	Committed     int64  `json:"committed"`
	LastOffset    int64  `json:"lastOffset"`
	HighWatermark int64  `json:"highWatermark"`
	Lag           int64  `json:"lag"`
	Held          uint64 `json:"held"`
	HeldBytes     uint64 `json:"heldBytes"`
	Span          uint64 `json:"span"`
	Open          uint64 `json:"open"`
	Delivered     uint64 `json:"delivered"`
	Paused        bool   `json:"paused"`
	LastProgress  int64  `json:"lastProgressMs"`
	Failing       string `json:"failing,omitempty"`
}

// Status takes a consistent look at each partition, one after the other.
func (e *Engine) Status() Status {
	e.mu.Lock()
	s := Status{
		State: e.state.String(), Cause: e.cause,
		HeldRecords: e.heldRecords.Load(), HeldBytes: e.heldBytes.Load(),
		Commits: e.commits.Load(), CommitErrors: e.commitFails.Load(),
		Rebalances: e.rebalances.Load(), Orphaned: e.orphaned.Load(),
		Partitions: []PartitionStatus{}, Counters: []PartitionCounters{},
	}
	if !e.lastRebal.IsZero() {
		s.LastRebalance = e.lastRebal.UnixMilli()
	}
	owned := make([]*assignment, 0, len(e.byPartition))
	for _, p := range sortedKeys(e.byPartition) {
		owned = append(owned, e.byPartition[p])
	}
	for _, p := range sortedKeys(e.counters) {
		c := e.counters[p]
		s.Counters = append(s.Counters, PartitionCounters{p, c.skipped.Load(), c.duplicates.Load()})
	}
	e.mu.Unlock()
	for _, a := range owned {
		s.Partitions = append(s.Partitions, a.status())
	}
	return s
}

func (a *assignment) status() PartitionStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	position := a.track.position
	if position < 0 {
		position = a.committed
	}
	lag := int64(-1)
	if a.highWatermark >= 0 && position >= 0 {
		lag = max(a.highWatermark-position, 0)
	}
	return PartitionStatus{
		Partition: a.partition, Assignment: a.id,
		Position: position, Committed: a.committed,
		LastOffset: a.track.lastOffset, HighWatermark: a.highWatermark, Lag: lag,
		Held: a.held, HeldBytes: a.heldBytes,
		Span: a.track.span(), Open: a.track.open,
		Delivered:    a.delivered,
		Paused:       a.paused || a.byUser,
		Failing:      a.failingCause,
		LastProgress: time.Time.UnixMilli(a.lastProgress),
	}
}

func sortedKeys[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for p := range m {
		keys = append(keys, p)
	}
	return sorted(keys)
}
