package engine

import (
	"context"
	"time"
)

// commitTimeout bounds one commit request with its retries.
const commitTimeout = 15 * time.Second

func (e *Engine) commitLoop() {
	tick := time.NewTicker(e.cfg.CommitInterval)
	defer tick.Stop()
	for {
		select {
		case <-e.dead.Done():
			return
		case <-tick.C:
		}
		e.mu.Lock()
		owned := make([]*assignment, 0, len(e.byPartition))
		for _, a := range e.byPartition {
			owned = append(owned, a)
		}
		e.mu.Unlock()
		e.commit(owned, "interval")
	}
}

// commit sends the positions of the assignments that moved. No lock that an
// ending record needs is held while the broker is asked; commitMu only keeps
// two commits from overtaking each other.
func (e *Engine) commit(owned []*assignment, occasion string) {
	e.commitMu.Lock()
	defer e.commitMu.Unlock()
	type pending struct {
		a *assignment
		c Commit
	}
	var sent []pending
	var commits []Commit
	for _, a := range owned {
		a.mu.Lock()
		if a.revoked && occasion == "interval" {
			a.mu.Unlock()
			continue
		}
		c := Commit{Partition: a.partition, Position: a.track.position, LeaderEpoch: -1}
		if e.cfg.CommitMetadata {
			c.Metadata = encodeFinished(a.track, e.cfg.MetadataLimit)
		}
		// Below what was committed is a position whose log was cut or made
		// anew before this assignment: the old one would skip what comes.
		moved := c.Position >= 0 && (c.Position != a.committed || c.Metadata != a.committedMeta)
		if moved {
			a.sent = place{c.Position, c.Metadata}
		}
		a.mu.Unlock()
		if moved {
			commits = append(commits, c)
			sent = append(sent, pending{a, c})
		}
	}
	if len(commits) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.dead, commitTimeout)
	failed := e.source.Commit(ctx, commits)
	cancel()
	e.commits.Add(1)
	for _, p := range sent {
		err := failed[p.c.Partition]
		if err == nil {
			p.a.mu.Lock()
			p.a.committed, p.a.committedMeta = p.c.Position, p.c.Metadata
			p.a.mu.Unlock()
			continue
		}
		e.commitFails.Add(1)
		if e.dead.Err() == nil {
			e.log(LogWarn, "committing offset %d of partition %d of %s (%s): %v; the next commit tries again", p.c.Position, p.c.Partition, e.cfg.Topic, occasion, err)
		}
	}
}
