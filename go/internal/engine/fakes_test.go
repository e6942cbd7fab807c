package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// handed is one block as the host got it.
type handed struct {
	assignment uint32
	first      uint64
	bytes      uint64
	records    []Record
}

// fakeHost runs nothing: tests end records by hand.
type fakeHost struct {
	mu       sync.Mutex
	events   []Event
	wake     chan struct{}
	blocks   []handed
	assigned map[uint32]int32
	revoked  []uint32
	released []uint32
	paused   map[uint32]bool
	running  map[uint32]int
	logs     []string
	states   []State
	ends     []string
	codes    []int32
	lent     int // blocks acquired and neither submitted nor released

	// What a test makes fail.
	onSubmit   func() error
	onEvents   func()
	onAssigned func() error
	onRevoke   func(assignment uint32)
	shortBlock bool
}

func newFakeHost() *fakeHost {
	return &fakeHost{
		wake:     make(chan struct{}, 1),
		assigned: map[uint32]int32{},
		paused:   map[uint32]bool{},
		running:  map[uint32]int{},
	}
}

func (h *fakeHost) Assigned(a uint32, p int32) error {
	if h.onAssigned != nil {
		if err := h.onAssigned(); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned[a] = p
	return nil
}

func (h *fakeHost) AcquireBlock(minLen int) (Block, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent++
	if h.shortBlock {
		minLen--
	}
	return Block{Data: make([]byte, minLen)}, nil
}

func (h *fakeHost) ReleaseBlock(Block) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent--
}

func (h *fakeHost) Submit(a uint32, first uint64, b Block, length int, count uint32) error {
	if h.onSubmit != nil {
		if err := h.onSubmit(); err != nil {
			return err
		}
	}
	in := handed{assignment: a, first: first, bytes: uint64(length)}
	for at := 0; at < length; {
		r, err := DecodeRecord(b.Data[at:length])
		if err != nil {
			return err
		}
		in.records = append(in.records, r)
		at += int(nativeUint32(b.Data[at:]))
	}
	if len(in.records) != int(count) {
		return fmt.Errorf("%d records in a block of %d", len(in.records), count)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent--
	h.blocks = append(h.blocks, in)
	return nil
}

func (h *fakeHost) Events(out []Event, wait time.Duration, _ bool) (int, error) {
	if h.onEvents != nil {
		h.onEvents()
	}
	if n := h.take(out); n > 0 || wait <= 0 {
		return n, nil
	}
	select {
	case <-h.wake:
	case <-time.After(wait):
	}
	return h.take(out), nil
}

func (h *fakeHost) take(out []Event) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := copy(out, h.events)
	h.events = h.events[n:]
	return n
}

// report queues an event for the engine.
func (h *fakeHost) report(ev Event) {
	h.mu.Lock()
	h.events = append(h.events, ev)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// end reports every record of a block as ended.
func (h *fakeHost) end(b handed) {
	h.report(Event{Kind: EventDone, Assignment: b.assignment, First: b.first, Count: uint64(len(b.records)), Bytes: b.bytes})
}

func (h *fakeHost) Revoke(a uint32) error {
	if h.onRevoke != nil {
		h.onRevoke(a)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revoked = append(h.revoked, a)
	return nil
}

func (h *fakeHost) Drained(a uint32, wait time.Duration) (int, error) {
	if h.inHandlers(a) > 0 && wait > 0 {
		time.Sleep(wait) // synctest's clock
	}
	return h.inHandlers(a), nil
}

func (h *fakeHost) inHandlers(a uint32) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[a]
}

func (h *fakeHost) run(a uint32, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[a] = n
}

func (h *fakeHost) Released(a uint32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = append(h.released, a)
	return nil
}

func (h *fakeHost) Pause(a uint32, paused bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused[a] = paused
	return nil
}

func (h *fakeHost) Log(_ int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, text)
}

func (h *fakeHost) StateChanged(s State, _ string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, s)
}

func (h *fakeHost) Ended(code int32, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.codes = append(h.codes, code)
	h.ends = append(h.ends, reason)
}

func (h *fakeHost) handed() []handed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.blocks)
}

// offsets are those handed over for a partition, in order.
func (h *fakeHost) offsets(partition int32) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []int64
	for _, b := range h.blocks {
		if h.assigned[b.assignment] == partition {
			for _, r := range b.records {
				out = append(out, r.Offset)
			}
		}
	}
	return out
}

func (h *fakeHost) logged(part string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.logs, func(l string) bool { return strings.Contains(l, part) })
}

func (h *fakeHost) endings() ([]int32, []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.codes), slices.Clone(h.ends)
}

// fakeSource hands out what the test sends as rounds.
type fakeSource struct {
	rounds chan func(*Engine) error

	mu      sync.Mutex
	paused  map[int32]bool
	commits []Commit
	closed  int
	left    int
	engine  *Engine

	onCommit func(Context, []Commit) map[int32]error
	onLeave  func()
	onClose  func()
	onPause  func([]int32)
}

func newFakeSource() *fakeSource {
	return &fakeSource{rounds: make(chan func(*Engine) error), paused: map[int32]bool{}}
}

func (s *fakeSource) Poll(ctx Context, sink *Engine) error {
	select {
	case <-ctx.Done():
		return nil
	case round := <-s.rounds:
		return round(sink)
	}
}

func (s *fakeSource) Pause(p []int32) {
	if s.onPause != nil {
		s.onPause(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range p {
		s.paused[p] = true
	}
}

func (s *fakeSource) Resume(p []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range p {
		delete(s.paused, p)
	}
}

func (s *fakeSource) isPaused(p int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused[p]
}

func (s *fakeSource) Commit(ctx Context, commits []Commit) map[int32]error {
	if s.onCommit != nil {
		if failed := s.onCommit(ctx, commits); failed != nil {
			return failed
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits = append(s.commits, commits...)
	return nil
}

// sent are all commits that went well.
func (s *fakeSource) sent() []Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commits)
}

// positions are those committed for a partition, in order.
func (s *fakeSource) positions(partition int32) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int64
	for _, c := range s.commits {
		if c.Partition == partition {
			out = append(out, c.Position)
		}
	}
	return out
}

func (s *fakeSource) Leave(Context) error {
	s.mu.Lock()
	s.left++
	s.mu.Unlock()
	if s.onLeave != nil {
		s.onLeave()
	}
	s.engine.mu.Lock()
	owned := sortedKeys(s.engine.byPartition)
	s.engine.mu.Unlock()
	s.engine.Revoke(owned)
	return nil
}

func (s *fakeSource) Close() {
	s.mu.Lock()
	s.closed++
	s.mu.Unlock()
	if s.onClose != nil {
		s.onClose()
	}
}

// rig is an engine with its fakes.
type rig struct {
	t *testing.T
	h *fakeHost
	s *fakeSource
	e *Engine
}

func testConfig() Config {
	return Config{
		Bounds: Bounds{
			Records: 10_000, Bytes: 1 << 30,
			PartitionRecords: 1000, PartitionBytes: 1 << 20, PartitionSpan: 1 << 16,
		},
		CommitInterval: time.Second,
		DrainTimeout:   10 * time.Second,
		FetchErrorLog:  time.Minute,
		FetchErrorBail: 10 * time.Minute,
		CommitMetadata: true,
		MetadataLimit:  MetadataMax,
		Topic:          "orders",
		Group:          "billing",
	}
}

func newRig(t *testing.T, change func(*Config)) *rig {
	cfg := testConfig()
	if change != nil {
		change(&cfg)
	}
	r := &rig{t: t, h: newFakeHost(), s: newFakeSource()}
	r.e = New(cfg, r.h, r.s)
	r.s.engine = r.e
	return r
}

// started returns a running engine that owns the partitions; the test ends it.
func started(t *testing.T, change func(*Config), partitions ...int32) *rig {
	r := newRig(t, change)
	if err := r.e.Start(); err != nil {
		t.Fatal(err)
	}
	r.e.Assign(partitions)
	return r
}

// round runs f as one poll on the polling goroutine and waits for its end.
func (r *rig) round(f func(*Engine) error) {
	r.t.Helper()
	done := make(chan struct{})
	select {
	case r.s.rounds <- func(e *Engine) error { defer close(done); return f(e) }:
		<-done
	case <-r.e.Done():
		r.t.Fatal("the engine has ended and polls no more")
	}
}

// feed delivers records with these offsets in one poll.
func (r *rig) feed(partition int32, offsets ...int64) {
	r.t.Helper()
	r.round(func(e *Engine) error { return take(e, partition, offsets...) })
}

func take(e *Engine, partition int32, offsets ...int64) error {
	in := e.Begin(partition, 1000)
	if in == nil {
		return nil
	}
	for _, o := range offsets {
		if err := in.Add(o, 0, TimestampCreate, 3, []byte("key"), []byte("value"), nil); err != nil {
			return err
		}
	}
	return in.End()
}

// finish stops the engine and returns how it ended.
func (r *rig) finish() (int32, string) {
	r.t.Helper()
	r.e.Stop()
	return r.ended()
}

func (r *rig) ended() (int32, string) {
	r.t.Helper()
	<-r.e.Done()
	codes, reasons := r.h.endings()
	if len(codes) != 1 {
		r.t.Fatalf("the end was reported %d times: %v", len(codes), reasons)
	}
	return codes[0], reasons[0]
}

func (r *rig) partition(p int32) PartitionStatus {
	r.t.Helper()
	for _, s := range r.e.Status().Partitions {
		if s.Partition == p {
			return s
		}
	}
	r.t.Fatalf("partition %d is not assigned", p)
	return PartitionStatus{}
}

func span(from, to int64) []int64 {
	out := make([]int64, 0, to-from)
	for o := from; o < to; o++ {
		out = append(out, o)
	}
	return out
}

func nativeUint32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
