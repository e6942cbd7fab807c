package engine

import (
	"fmt"
	"time"
)

const (
	// idleWait is how long the pump sleeps in the host when nothing happens.
	// It also bounds how late a change of urgency is noticed.
	idleWait = 50 * time.Millisecond
	// drainWait replaces it while a revoke waits for events.
	drainWait = time.Millisecond
	eventsMax = 1024
)

// pumpEvents takes the host's reports until the engine is dead. It is the only
// goroutine that waits inside the host for them.
func (e *Engine) pumpEvents() {
	// Also after a panic: a revoke that waits for a pass must not wait for ever.
	defer e.passFinished(^uint64(0))
	events := make([]Event, eventsMax)
	for e.dead.Err() == nil {
		asked := e.passAsked.Load()
		wait := idleWait
		if e.draining.Load() > 0 {
			wait = drainWait
		}
		if asked != e.passDoneNow() {
			wait = 0
		}
		n, err := e.host.Events(events, wait, e.urgent.Load() || wait != idleWait)
		if err != nil {
			e.Emergency("the host's event queue failed: " + err.Error())
			break
		}
		for i := range events[:n] {
			e.handle(&events[i])
		}
		if n < len(events) {
			e.passFinished(asked)
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
	e.passMu.Lock()
	for e.passDone < pass {
		e.passCond.Wait()
	}
	e.passMu.Unlock()
}
