package main

import (
	"fmt"
	"sync"
	"time"
)

// gate lets calls into the host until it is closed. It is for the calls that
// goroutines of the Kafka client make: some of them outlive the client's Close,
// which waits for its connections but not for every goroutine it started.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // made by close, closed by the last call to leave
}

// enter says whether the call may be made; leave must follow then.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close keeps further calls out and waits for those inside; it may be tried
// again.
func (g *gate) close(limit time.Duration) error {
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty, inside := g.empty, g.inside
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%d calls into the host (log or token callback) have not returned within %v", inside, limit)
	}
}
