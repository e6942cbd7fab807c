package engine

import (
	"fmt"
	"time"
)

const (
	// gatherWait is how long reports are left to gather: short against any
	// commit interval, long enough that taking them costs nothing.
	gatherWait = 5 * time.Millisecond
	// urgentWait replaces it while somebody waits for room, a revoke for its
	// records, or a handler for its dead letter.
	urgentWait = 500 * time.Microsecond
	// idleWait is where the pauses end when nothing is reported.
	idleWait  = 20 * time.Millisecond
	eventsMax = 1024
)

// pumpEvents takes the host's reports until the engine is dead.
//
// It looks, and pauses in Go: it never waits inside the host. A thread that
// waits there is in a system call to Go's runtime, whose monitor then polls at
// its highest rate, 50,000 times a second, which can cost more than the engine.
func (e *Engine) pumpEvents() {
	// Also after a panic: a revoke that waits for a pass must not wait for ever.
	defer e.passFinished(^uint64(0))
	events := make([]Event, eventsMax)
	pause := gatherWait
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for e.dead.Err() == nil {
		asked := e.passAsked.Load()
		n, err := e.host.Events(events, 0, true)
		if err != nil {
			e.Emergency("the host's event queue failed: " + err.Error())
			break
		}
		letters := false
		for i := range events[:n] {
			letters = letters || events[i].Kind == EventProduce
			e.handle(&events[i])
		}
		if n == len(events) {
			continue
		}
		e.passFinished(asked)
		switch {
		case letters || e.urgent.Load() || e.draining.Load() > 0:
			pause = urgentWait
		case n > 0:
			pause = gatherWait
		default:
			pause = min(max(2*pause, gatherWait), idleWait)
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-e.pumpKick:
		case <-e.dead.Done():
		}
	}
}

func (e *Engine) handle(ev *Event) {
	switch ev.Kind {
	case EventDone:
		e.recordsEnded(ev)
	case EventProduce:
		if e.OnProduce == nil {
			e.Emergency("a dead letter arrived, but no dead-letter topic is configured")
			return
		}
		e.OnProduce(int(ev.Assignment), ev.First, ev.Data)
	case EventFatal:
		e.Emergency(string(ev.Data))
	default:
		e.Emergency(fmt.Sprintf("unknown event kind %d from the host", ev.Kind))
	}
}

func (e *Engine) recordsEnded(ev *Event) {
	e.mu.Lock()
	a := e.byID[ev.Assignment]
	e.mu.Unlock()
	if a == nil {
		// The partition has been given up since: another member has it, and
		// the total was reduced when it went.
		e.orphaned.Add(ev.Count)
		return
	}
	b := e.bounds()
	a.mu.Lock()
	err := a.track.done(ev.First, ev.Count)
	// A release that came between has taken them from the totals already.
	count, size := min(ev.Count, a.held), min(ev.Bytes, a.heldBytes)
	if err == nil {
		a.held -= count
		a.heldBytes -= size
		a.lastProgress = time.Now()
	}
	resume := a.paused && !a.revoked && a.drainedEnough(b)
	if resume {
		a.paused = false
	}
	a.mu.Unlock()
	if err != nil {
		e.Emergency(fmt.Sprintf("partition %d of %s: %v", a.partition, e.cfg.Topic, err))
		return
	}
	records := e.heldRecords.Add(-int64(count))
	bytes := e.heldBytes.Add(-int64(size))
	if resume {
		if e.boundPauses.Add(^uint64(0)) == 0 {
			e.urgent.Store(false)
		}
		e.switchFetching([]int32{a.partition})
	}
	if records < int64(e.cfg.Bounds.Records) && bytes < int64(e.cfg.Bounds.Bytes) {
		select {
		case e.roomFreed <- struct{}{}:
		default:
		}
	}
}

func (e *Engine) passDoneNow() uint64 {
	e.passMu.Lock()
	defer e.passMu.Unlock()
	return e.passDone
}

func (e *Engine) passFinished(pass uint64) {
	e.passMu.Lock()
	if pass > e.passDone {
		e.passDone = pass
		e.passCond.Broadcast()
	}
	e.passMu.Unlock()
}

// awaitPass returns once every event that was ready when it was called has
// been handled: a pass of the pump that begins afterwards has ended.
func (e *Engine) awaitPass() {
	pass := e.passAsked.Add(1)
	select {
	case e.pumpKick <- struct{}{}:
	default:
	}
	e.passMu.Lock()
	for e.passDone < pass {
		e.passCond.Wait()
	}
	e.passMu.Unlock()
}
