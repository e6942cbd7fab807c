package engine

import (
	"fmt"
	"sort"
	"time"
)

// Assign takes over partitions. Records may follow at once.
func (e *Engine) Assign(partitions []int32) {
	defer e.caught("an assignment")
	if err := e.adopt(partitions); err != nil {
		e.Emergency(err.Error())
		return
	}
	// The client keeps its pauses over a rebalance: what an earlier ownership
	// left there goes, what the user asked for comes.
	e.switchFetching(partitions)
	if len(partitions) > 0 {
		e.log(LogInfo, "assigned partitions %v of %s", sorted(partitions), e.cfg.Topic)
	}
}

func (e *Engine) adopt(partitions []int32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastRebal = time.Now()
	e.rebalances.Add(1)
	for _, p := range partitions {
		if e.byPartition[p] != nil || e.dead.Err() != nil {
			continue
		}
		e.nextID++
		a := &assignment{
			id: e.nextID, partition: p, track: newTracker(-1),
			committed: -1, highWatermark: -1, lastEpoch: -1,
			lastProgress: time.Now(),
			byUser:       e.userPaused || e.pausedParts[p],
			counters:     e.counters[p],
		}
		if a.counters == nil {
			a.counters = &counters{}
			e.counters[p] = a.counters
		}
		if err := e.host.Assigned(a.id, p); err != nil {
			return fmt.Errorf("the host refused partition %d: %w", p, err)
		}
		e.byPartition[p] = a
		e.byID[a.id] = a
		if a.byUser {
			_ = e.host.Pause(a.id, true)
		}
	}
	e.reshare()
	e.settle()
	return nil
}

// switchFetching makes the client fetch the partitions or not, as their state
// asks. The state is read and the client told under one lock: of two changes
// at once the client hears the later one last, and a pause cannot be left
// behind at a partition that nobody will resume.
func (e *Engine) switchFetching(partitions []int32) {
	e.switchMu.Lock()
	defer e.switchMu.Unlock()
	var stop, resume []int32
	for _, p := range partitions {
		if a := e.lookup(p); a != nil && a.stopped() {
			stop = append(stop, p)
		} else {
			resume = append(resume, p)
		}
	}
	if len(stop) > 0 {
		e.source.Pause(stop)
	}
	if len(resume) > 0 {
		e.source.Resume(resume)
	}
}

// reshare recomputes the partitions' part of the totals; mu held.
func (e *Engine) reshare() {
	b := e.cfg.Bounds.share(len(e.byPartition))
	e.share.Store(&b)
}

// Committed tells where the group stands in a partition before its first
// record arrives; offset -1 means that nothing was committed.
func (e *Engine) Committed(partition int32, offset int64, metadata string) {
	a := e.lookup(partition)
	if a == nil || offset < 0 {
		return
	}
	defer e.caught("reading a commit")
	ranges, err := decodeFinished(metadata, offset)
	if err != nil {
		e.log(LogWarn, "partition %d of %s: %v; records that had finished above offset %d run again", partition, e.cfg.Topic, err, offset)
	}
	if known := e.recalled(partition, place{offset, metadata}); known != nil {
		// They hold what the metadata tells, and what came after it.
		ranges = known
	}
	a.mu.Lock()
	a.committed, a.committedMeta = offset, metadata
	a.sent = place{offset, metadata}
	a.skip = skipper{ranges}
	a.mu.Unlock()
}

// Revoke gives partitions up in order: no further record of theirs starts, the
// running ones are waited for, what ended is committed. Others keep running.
func (e *Engine) Revoke(partitions []int32) {
	defer e.caught("a revoke")
	e.forgetPauses(partitions)
	gone := e.detach(partitions)
	if len(gone) == 0 {
		return
	}
	e.draining.Add(1)
	defer e.draining.Add(-1)
	deadline := time.Now().Add(e.cfg.DrainTimeout)
	for _, a := range gone {
		if err := e.host.Revoke(a.id); err != nil {
			e.Emergency(fmt.Sprintf("revoking partition %d: %v", a.partition, err))
		}
	}
	for _, a := range gone {
		running := e.drain(a, deadline)
		if running > 0 {
			e.log(LogWarn, "partition %d of %s: %d handlers still run after the drain timeout of %s; their records are not committed and run again elsewhere", a.partition, e.cfg.Topic, running, e.cfg.DrainTimeout)
		}
	}
	e.awaitPass()
	if e.dead.Err() == nil {
		e.commit(gone, "revoke")
	}
	e.remember(gone)
	e.release(gone)
	e.log(LogInfo, "gave up partitions %v of %s", sorted(partitions), e.cfg.Topic)
}

// drain waits until no handler of the assignment runs, the deadline passes or
// the engine dies, and returns the number still running.
func (e *Engine) drain(a *assignment, deadline time.Time) int {
	const slice = 50 * time.Millisecond
	for {
		wait := min(max(time.Until(deadline), 0), slice)
		running, err := e.host.Drained(a.id, wait)
		if err != nil {
			e.log(LogError, "draining partition %d: %v", a.partition, err)
			return 0
		}
		if running == 0 || e.dead.Err() != nil || !time.Now().Before(deadline) {
			return running
		}
	}
}

// Lose drops partitions that this member no longer owns: another may have them
// already, so no handler is waited for and nothing is committed.
func (e *Engine) Lose(partitions []int32) {
	defer e.caught("the loss of partitions")
	e.forgetPauses(partitions)
	gone := e.detach(partitions)
	for _, a := range gone {
		_ = e.host.Revoke(a.id)
	}
	if len(gone) > 0 {
		e.draining.Add(1)
		e.awaitPass() // what has ended is known to have
		e.draining.Add(-1)
		e.remember(gone)
	}
	e.release(gone)
	if len(gone) > 0 {
		e.log(LogWarn, "lost partitions %v of %s: this member missed its session; records in work are left to the new owner", sorted(partitions), e.cfg.Topic)
	}
}

// forgetPauses drops the user's pauses of single partitions: they end with the
// ownership.
func (e *Engine) forgetPauses(partitions []int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range partitions {
		delete(e.pausedParts, p)
	}
}

// detach marks assignments as revoked and takes them from intake's sight. They
// stay known by id, so that their events still count.
func (e *Engine) detach(partitions []int32) []*assignment {
	e.mu.Lock()
	e.lastRebal = time.Now()
	if len(partitions) > 0 {
		e.rebalances.Add(1)
	}
	var gone []*assignment
	for _, p := range partitions {
		a := e.byPartition[p]
		if a == nil {
			continue
		}
		delete(e.byPartition, p)
		gone = append(gone, a)
		a.mu.Lock()
		a.revoked = true
		if a.paused {
			a.paused = false
			if e.boundPauses.Add(^uint64(0)) == 0 {
				e.urgent.Store(false)
			}
		}
		a.mu.Unlock()
	}
	e.reshare()
	e.settle()
	e.mu.Unlock()
	return gone
}

// release forgets assignments; what the host still reports of them is orphaned.
func (e *Engine) release(gone []*assignment) {
	e.mu.Lock()
	for _, a := range gone {
		delete(e.byID, a.id)
	}
	e.mu.Unlock()
	for _, a := range gone {
		_ = e.host.Released(a.id)
		a.mu.Lock()
		e.heldRecords.Add(-int64(a.held))
		e.heldBytes.Add(-int64(a.heldBytes))
		a.held, a.heldBytes = 0, 0
		a.mu.Unlock()
	}
	select {
	case e.roomFreed <- struct{}{}:
	default:
	}
}

// Restart replaces a partition's assignment by a new epoch of the same owner:
// the source found that the log was cut or reset below what was delivered.
func (e *Engine) Restart(partition int32, cause error) {
	e.log(LogError, "partition %d of %s: %v; continuing from where the client was reset to", partition, e.cfg.Topic, cause)
	gone := e.detach([]int32{partition})
	for _, a := range gone {
		_ = e.host.Revoke(a.id)
	}
	e.release(gone)
	if len(gone) > 0 {
		e.Assign([]int32{partition})
	}
}

// FetchFailed notes that fetching a partition failed. Failing without pause
// for as long as configured ends the engine.
func (e *Engine) FetchFailed(partition int32, cause error) {
	a := e.lookup(partition)
	if a == nil {
		return
	}
	now := time.Now()
	if a.failing.IsZero() {
		a.failing = now
	}
	a.mu.Lock()
	a.failingCause = cause.Error()
	a.mu.Unlock()
	if now.Sub(a.failingLog) >= e.cfg.FetchErrorLog {
		a.failingLog = now
		e.log(LogWarn, "fetching partition %d of %s: %v", partition, e.cfg.Topic, cause)
	}
	if e.cfg.FetchErrorBail > 0 && now.Sub(a.failing) >= e.cfg.FetchErrorBail {
		e.Emergency(fmt.Sprintf("fetching partition %d of topic %s has failed for %s: %v", partition, e.cfg.Topic, e.cfg.FetchErrorBail, cause))
	}
}

// Pause stops (or resumes) fetching and handing out, of one partition or of
// all with partition -1.
func (e *Engine) Pause(partition int32, paused bool) error {
	e.mu.Lock()
	if e.ended || e.state >= StateDraining {
		e.mu.Unlock()
		return ErrEnded
	}
	var change []*assignment
	if partition < 0 {
		e.userPaused = paused
		if !paused {
			clear(e.pausedParts)
		}
		for _, a := range e.byPartition {
			change = append(change, a)
		}
	} else {
		a := e.byPartition[partition]
		if a == nil {
			e.mu.Unlock()
			return fmt.Errorf("partition %d of %s is not assigned to this member", partition, e.cfg.Topic)
		}
		if !paused && e.userPaused {
			e.mu.Unlock()
			return fmt.Errorf("all partitions are paused; resume all of them first")
		}
		if paused {
			e.pausedParts[partition] = true
		} else {
			delete(e.pausedParts, partition)
		}
		change = append(change, a)
	}
	e.settle()
	e.mu.Unlock()
	changed := make([]int32, 0, len(change))
	for _, a := range change {
		_ = e.host.Pause(a.id, paused)
		a.mu.Lock()
		a.byUser = paused
		a.mu.Unlock()
		changed = append(changed, a.partition)
	}
	e.switchFetching(changed)
	return nil
}

func sorted(p []int32) []int32 {
	s := append([]int32(nil), p...)
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return s
}

// GroupFailed notes that the membership failed; the source tries again by
// itself. Failing without pause for as long as a fetch may ends the engine.
func (e *Engine) GroupFailed(cause error) {
	now := time.Now()
	e.mu.Lock()
	if e.groupFailing.IsZero() || e.lastRebal.After(e.groupFailing) {
		e.groupFailing = now
	}
	since := now.Sub(e.groupFailing)
	say := now.Sub(e.groupLog) >= e.cfg.FetchErrorLog
	if say {
		e.groupLog = now
	}
	e.mu.Unlock()
	if say {
		e.log(LogWarn, "membership in group %s: %v", e.cfg.Group, cause)
	}
	if e.cfg.FetchErrorBail > 0 && since >= e.cfg.FetchErrorBail {
		e.Emergency(fmt.Sprintf("group %s on topic %s has been failing for %s: %v", e.cfg.Group, e.cfg.Topic, e.cfg.FetchErrorBail, cause))
	}
}
