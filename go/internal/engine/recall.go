package engine

// recall is what a member knows of a partition that it lost, or whose last
// commit failed: which records had ended above the group's committed offset.
// When the partition comes back and the group still stands where this member
// left it, nobody else has worked on it, and those records need not run again.
type recall struct {
	committed place // what the broker acknowledged last
	sent      place // what was sent last and may have arrived
	ranges    []offsetRange
}

// place is a committed offset with its metadata.
type place struct {
	offset   int64
	metadata string
}

// maxRecalled bounds the ranges of one partition (16 bytes each).
const maxRecalled = 1 << 16

// remember notes what the assignments know beyond their commits; mu not held.
func (e *Engine) remember(gone []*assignment) {
	for _, a := range gone {
		a.mu.Lock()
		r := &recall{committed: place{a.committed, a.committedMeta}, sent: a.sent}
		if a.committed >= 0 && a.committed < a.track.position {
			r.ranges = append(r.ranges, offsetRange{a.committed, a.track.position})
		}
		a.track.endedAbove(func(from, to int64) bool {
			r.ranges = append(r.ranges, offsetRange{from, to})
			return len(r.ranges) < maxRecalled
		})
		// What ended before an earlier restart and has not come by since.
		for _, s := range a.skip.ranges {
			if s.From > a.track.lastOffset && len(r.ranges) < maxRecalled {
				r.ranges = append(r.ranges, s)
			}
		}
		a.mu.Unlock()
		e.mu.Lock()
		delete(e.recalls, a.partition)
		if len(r.ranges) > 0 && r.committed.offset >= 0 {
			e.recalls[a.partition] = r
		}
		e.mu.Unlock()
	}
}

// recalled returns what had ended above the offset where the group stands, if
// this member left it there. It is asked once for each assignment.
func (e *Engine) recalled(partition int32, now place) []offsetRange {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.recalls[partition]
	delete(e.recalls, partition)
	if r == nil || (now != r.committed && now != r.sent) {
		return nil
	}
	return r.ranges
}
