package service

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llingr/llingr-kafka/go/internal/engine"
)

// fakeHost ends each block of records as soon as it is handed over.
type fakeHost struct {
	engine.Host // what is not implemented must not be called

	mu       sync.Mutex
	events   []engine.Event
	wake     chan struct{}
	records  int
	produced map[uint64]string
	ends     chan string
	token    func() ([]byte, error)
	logs     strings.Builder
}

func newFakeHost() *fakeHost {
	return &fakeHost{wake: make(chan struct{}, 1), produced: map[uint64]string{}, ends: make(chan string, 10)}
}

func (h *fakeHost) Assigned(uint32, int32) error { return nil }
func (h *fakeHost) AcquireBlock(n int) (engine.Block, error) {
	return engine.Block{Data: make([]byte, n)}, nil
}
func (h *fakeHost) ReleaseBlock(engine.Block) {}
func (h *fakeHost) Submit(a uint32, first uint64, _ engine.Block, length int, count uint32) error {
	h.report(engine.Event{Kind: engine.EventDone, Assignment: a, First: first, Count: uint64(count), Bytes: uint64(length)}, int(count))
	return nil
}

func (h *fakeHost) report(ev engine.Event, records int) {
	h.mu.Lock()
	h.events = append(h.events, ev)
	h.records += records
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *fakeHost) Events(out []engine.Event, wait time.Duration, _ bool) (int, error) {
	select {
	case <-h.wake:
	case <-time.After(wait):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := copy(out, h.events)
	h.events = h.events[n:]
	return n, nil
}
func (h *fakeHost) Revoke(uint32) error                        { return nil }
func (h *fakeHost) Drained(uint32, time.Duration) (int, error) { return 0, nil }
func (h *fakeHost) Released(uint32) error                      { return nil }
func (h *fakeHost) Pause(uint32, bool) error                   { return nil }
func (h *fakeHost) Log(_ int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs.WriteString(text + "\n")
}
func (h *fakeHost) StateChanged(engine.State, string) {}
func (h *fakeHost) Ended(_ int32, reason string)      { h.ends <- reason }
func (h *fakeHost) Produced(token uint64, code int32, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if code != 0 && text == "" {
		text = "an error without text"
	}
	h.produced[token] = text
}
func (h *fakeHost) HasToken() bool { return h.token != nil }
func (h *fakeHost) Token() ([]byte, error) {
	if h.token == nil {
		return nil, errors.New("not asked for")
	}
	return h.token()
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}
