// Package engine decides what of a topic may be held, what is committed and
// when to stop. It knows no Kafka and no C: records come from a Source, run on
// a Host, and both are interfaces.
//
// Who does what: a Source polls and hands partitions' records to an Intake,
// which writes them into blocks of the host's memory and submits them. The
// host runs them, per key in order, and reports what ended as events. Per
// assignment a tracker turns ended sequence numbers into the position to
// commit.
package engine

import "time"

// Block is memory of the host that the engine fills with records.
type Block struct {
	// Data has the block's whole capacity as its length.
	Data []byte
}

// EventKind says what a host reports.
type EventKind uint32

// Event kinds; the numbers are those of include/llingr.h.
const (
	EventDone    EventKind = 1
	EventProduce EventKind = 2
	EventFatal   EventKind = 3
)

// Event is one report of the host.
type Event struct {
	Kind       EventKind
	Assignment uint32
	First      uint64
	Count      uint64
	Bytes      uint64
	// Data is valid until the next call of Host.Events.
	Data []byte
}

// State of the engine; the numbers are those of include/llingr.h.
type State int32

// States in the order in which a healthy engine passes them.
const (
	StateBuilt State = iota
	StateJoining
	StateRunning
	StatePaused
	StateDraining
	StateStopped
	StateFailed
)

func (s State) String() string {
	switch s {
	case StateBuilt:
		return "built"
	case StateJoining:
		return "joining"
	case StateRunning:
		return "running"
	case StatePaused:
		return "paused"
	case StateDraining:
		return "draining"
	case StateStopped:
		return "stopped"
	case StateFailed:
		return "failed"
	}
	return "unknown"
}

// Log levels; the numbers are those of include/llingr.h.
const (
	LogError = 1
	LogWarn  = 2
	LogInfo  = 3
	LogDebug = 4
)

// Host runs records. Its methods are called from several goroutines at once
// and must not call back into the engine.
type Host interface {
	Assigned(assignment uint32, partition int32) error
	AcquireBlock(minLen int) (Block, error)
	ReleaseBlock(b Block)
	// Submit takes over the block if it returns nil.
	Submit(assignment uint32, firstSeq uint64, b Block, length int, count uint32) error
	Events(out []Event, wait time.Duration, urgent bool) (int, error)
	Revoke(assignment uint32) error
	// Drained returns the number of handlers still running after the wait.
	Drained(assignment uint32, wait time.Duration) (int, error)
	Released(assignment uint32) error
	Pause(assignment uint32, paused bool) error
	Log(level int, text string)
	StateChanged(s State, cause string)
	Ended(code int32, reason string)
}

// Commit is what a Source is asked to commit for one partition.
type Commit struct {
	Partition int32
	// Position is the offset of the next record to read.
	Position int64
	// LeaderEpoch of the last record before Position, -1 if unknown.
	LeaderEpoch int32
	Metadata    string
}

// Source is the Kafka side. Its callbacks are the engine's methods Assign,
// Revoke, Lose and Intake.
type Source interface {
	// Poll waits for records and hands them to the sink; it returns when it
	// handed out one round or ctx ended. A returned error is final.
	Poll(ctx Context, sink *Engine) error
	Pause(partitions []int32)
	Resume(partitions []int32)
	// Commit returns an error for each partition that failed.
	Commit(ctx Context, commits []Commit) map[int32]error
	// Leave leaves the group; the source calls Engine.Revoke for what it
	// still owns before the group hears of it.
	Leave(ctx Context) error
	// Close releases everything without leaving gracefully.
	Close()
}
