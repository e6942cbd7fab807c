package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Context is context.Context, named here so that Source reads well.
type Context = context.Context

// Config of an engine. All durations are positive; the caller has checked.
type Config struct {
	Bounds            Bounds
	CommitInterval    time.Duration
	DrainTimeout      time.Duration
	AssignmentTimeout time.Duration // 0 = wait for ever
	FetchErrorBail    time.Duration // 0 = never
	FetchErrorLog     time.Duration
	CommitMetadata    bool
	MetadataLimit     int
	Topic             string
	Group             string
}

// GracefulReason is what the shutdown handler hears after a stop as asked.
const GracefulReason = "graceful shutdown"

// Engine ties a Source to a Host. Create with New, then Start once.
type Engine struct {
	cfg    Config
	host   Host
	source Source

	ctx    context.Context // ends with the polling: stop or emergency
	cancel context.CancelFunc
	dead   context.Context // ends at an emergency and after the end
	kill   context.CancelFunc

	intake Intake // of the polling goroutine

	mu           sync.Mutex
	byPartition  map[int32]*assignment
	byID         map[uint32]*assignment
	counters     map[int32]*counters // of every partition ever assigned
	recalls      map[int32]*recall   // of partitions that went without a commit
	nextID       uint32
	userPaused   bool
	pausedParts  map[int32]bool // by the user, one by one
	state        State
	cause        string
	code         int32 // of the failure
	started      bool
	stopAsked    bool
	ended        bool
	lastRebal    time.Time
	groupFailing time.Time
	groupLog     time.Time

	share       atomic.Pointer[Bounds]
	heldRecords atomic.Int64
	heldBytes   atomic.Int64
	roomFreed   chan struct{}
	urgent      atomic.Bool // somebody waits for events
	draining    atomic.Int32
	pumpKick    chan struct{} // ends the pump's pause
	passAsked   atomic.Uint64
	passMu      sync.Mutex
	passDone    uint64
	passCond    *sync.Cond

	switchMu    sync.Mutex // of switchFetching; taken before mu
	commitMu    sync.Mutex
	commits     atomic.Uint64
	commitFails atomic.Uint64
	rebalances  atomic.Uint64
	boundPauses atomic.Uint64
	orphaned    atomic.Uint64

	pumps sync.WaitGroup
	done  chan struct{}

	// OnProduce handles dead letters; set before Start.
	OnProduce func(topic int, token uint64, record []byte)
}

// New returns an engine that is not started.
func New(cfg Config, host Host, source Source) *Engine {
	e := &Engine{
		cfg: cfg, host: host, source: source,
		byPartition: map[int32]*assignment{},
		byID:        map[uint32]*assignment{},
		pausedParts: map[int32]bool{},
		counters:    map[int32]*counters{},
		recalls:     map[int32]*recall{},
		roomFreed:   make(chan struct{}, 1),
		pumpKick:    make(chan struct{}, 1),
		done:        make(chan struct{}),
	}
	e.passCond = sync.NewCond(&e.passMu)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.dead, e.kill = context.WithCancel(context.Background())
	b := cfg.Bounds.share(1)
	e.share.Store(&b)
	return e
}

func (e *Engine) bounds() Bounds { return *e.share.Load() }

func (e *Engine) log(level int, format string, args ...any) {
	e.host.Log(level, fmt.Sprintf(format, args...))
}

func (e *Engine) lookup(partition int32) *assignment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byPartition[partition]
}

// Errors of calls that do not fit the engine's state.
var (
	ErrStopped = errors.New("the engine was stopped before it started")
	ErrStarted = errors.New("the engine has been started already")
	ErrEnded   = errors.New("the engine has ended")
)

// Start begins to consume and returns.
func (e *Engine) Start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopAsked || e.ended {
		return ErrStopped
	}
	if e.started {
		return ErrStarted
	}
	e.started = true
	e.settle()
	e.pumps.Add(2)
	go e.guard("event pump", e.pumpEvents)
	go e.guard("committer", e.commitLoop)
	go e.run()
	return nil
}

// guard turns a panic of one of the engine's goroutines into an emergency stop.
func (e *Engine) guard(what string, f func()) {
	defer e.pumps.Done()
	defer e.caught("the " + what)
	f()
}

// caught turns a panic into an emergency stop; to be deferred.
func (e *Engine) caught(what string) {
	if p := recover(); p != nil {
		text := fmt.Sprintf("panic in %s: %v", what, p)
		if e.dead.Err() != nil {
			e.log(LogError, "%s", text) // too late to change how the engine ended
		}
		e.emergency(codePanic, text)
	}
}

// setState is called with mu held.
func (e *Engine) setState(s State, cause string) {
	if e.state >= StateStopped || (e.state == s && e.cause == cause) {
		return
	}
	e.state, e.cause = s, cause
	e.host.StateChanged(s, cause)
}

// settle sets the state that follows from assignment and pause; mu held.
func (e *Engine) settle() {
	switch {
	case !e.started || e.state >= StateDraining:
	case e.userPaused:
		e.setState(StatePaused, "paused by the application")
	case len(e.byPartition) == 0:
		e.setState(StateJoining, "")
	default:
		e.setState(StateRunning, "")
	}
}

// run polls until a stop, then ends in order.
func (e *Engine) run() {
	if err := e.poll(); err != nil {
		e.fail(err)
	}
	if e.dead.Err() == nil {
		e.leave()
	}
	e.end()
}

// Coded is an error that knows its number among the result codes of
// include/llingr.h.
type Coded interface {
	error
	ResultCode() int32
}

// Result codes that the engine gives itself; the numbers are those of
// include/llingr.h.
const (
	codeState = -9
	codePanic = -11
)

func (e *Engine) fail(err error) {
	code := int32(codeState)
	var c Coded
	if errors.As(err, &c) {
		code = c.ResultCode()
	}
	e.emergency(code, err.Error())
}

type panicked string

func (p panicked) Error() string     { return string(p) }
func (p panicked) ResultCode() int32 { return codePanic }

func (e *Engine) poll() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(fmt.Sprintf("panic while polling: %v", p))
		}
	}()
	if e.cfg.AssignmentTimeout > 0 {
		t := time.AfterFunc(e.cfg.AssignmentTimeout, e.assignmentOverdue)
		defer t.Stop()
	}
	for e.ctx.Err() == nil {
		if !e.waitForRoom() {
			break
		}
		if err := e.source.Poll(e.ctx, e); err != nil && e.ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// assignmentOverdue ends an engine that has waited too long for its first
// assignment. A group with more members than partitions leaves some without:
// their assignment is known and empty, which is fine.
func (e *Engine) assignmentOverdue() {
	e.mu.Lock()
	none := e.lastRebal.IsZero() && !e.stopAsked
	e.mu.Unlock()
	if none {
		e.Emergency(fmt.Sprintf("no assignment for topic %s in group %s within %s; is the group's coordinator reachable and the group not stuck in a rebalance?", e.cfg.Topic, e.cfg.Group, e.cfg.AssignmentTimeout))
	}
}

// waitForRoom blocks while the total bound is reached; false when stopping.
func (e *Engine) waitForRoom() bool {
	b := e.cfg.Bounds
	for e.heldRecords.Load() >= int64(b.Records) || e.heldBytes.Load() >= int64(b.Bytes) {
		e.urgent.Store(true)
		select {
		case <-e.ctx.Done():
			return false
		case <-e.roomFreed:
		}
	}
	if e.boundPauses.Load() == 0 {
		e.urgent.Store(false)
	}
	return true
}

// Stop asks for a graceful end and returns.
func (e *Engine) Stop() {
	e.mu.Lock()
	e.stopAsked = true
	if e.started && !e.ended {
		e.setState(StateDraining, "stop was asked for")
	}
	e.mu.Unlock()
	e.urgent.Store(true)
	e.cancel()
}

// Emergency ends the engine without waiting or committing. The first reason
// wins.
func (e *Engine) Emergency(reason string) { e.emergency(codeState, reason) }

func (e *Engine) emergency(code int32, reason string) {
	if reason == "" {
		reason = "emergency stop"
	}
	e.mu.Lock()
	first := !e.ended && e.dead.Err() == nil && e.state < StateStopped
	if first {
		e.setState(StateFailed, reason)
		e.code = code
		e.stopAsked = true
	}
	e.mu.Unlock()
	if first {
		e.log(LogError, "emergency stop: %s", reason)
	}
	e.kill()
	e.cancel()
}

// leave drains what is owned, commits and leaves the group.
func (e *Engine) leave() {
	defer e.caught("leaving the group")
	ctx, cancel := context.WithTimeout(e.dead, e.cfg.DrainTimeout+leaveTimeout)
	defer cancel()
	if err := e.source.Leave(ctx); err != nil && e.dead.Err() == nil {
		e.log(LogWarn, "leaving group %s failed: %v; the broker drops this member after its session timeout", e.cfg.Group, err)
	}
}

// leaveTimeout is the time for the final commit and the leave request, on top
// of the drain.
const leaveTimeout = 10 * time.Second

// end closes the source, waits for the goroutines and reports the end.
func (e *Engine) end() {
	e.kill()
	e.cancel()
	e.mu.Lock()
	left := make([]*assignment, 0, len(e.byID))
	for _, a := range e.byID {
		left = append(left, a)
	}
	clear(e.byPartition)
	e.mu.Unlock()
	for _, a := range left {
		_ = e.host.Revoke(a.id)
	}
	e.release(left)
	if b := &e.intake.block; b.Data != nil {
		// An intake that failed still holds its block.
		e.host.ReleaseBlock(*b)
		*b = Block{}
	}
	e.closeSource()
	e.pumps.Wait()
	e.mu.Lock()
	code, reason := int32(0), GracefulReason
	if e.state == StateFailed {
		code, reason = e.code, e.cause
	} else {
		e.setState(StateStopped, reason)
	}
	e.ended = true
	e.mu.Unlock()
	e.host.Ended(code, reason)
	close(e.done)
}

func (e *Engine) closeSource() {
	defer e.caught("closing the Kafka client")
	e.source.Close()
}

// Done is closed after the host heard of the end.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Running says whether Start succeeded and the end has not been reported.
func (e *Engine) Running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.started && !e.ended
}

// Discard ends an engine that was never started.
func (e *Engine) Discard() {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	e.kill()
	e.cancel()
	e.source.Close()
}
