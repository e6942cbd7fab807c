package engine

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestACommitBlocksNoCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		blocked, free := make(chan struct{}), make(chan struct{})
		first := true
		r.s.onCommit = func(Context, []Commit) map[int32]error {
			if first {
				first = false
				close(blocked)
				<-free
			}
			return nil
		}
		if err := r.e.Start(); err != nil {
			t.Fatal(err)
		}
		r.e.Assign([]int32{0})
		r.feed(0, span(0, 10)...)
		end := func(seq uint64) {
			r.h.report(Event{Kind: EventDone, Assignment: 1, First: seq, Count: 1, Bytes: 48})
		}
		end(0)
		<-blocked
		for seq := range uint64(5) {
			end(seq + 1)
		}
		r.feed(0, span(10, 20)...) // intake goes on as well
		time.Sleep(time.Second)
		if p := r.partition(0); p.Position != 6 || p.Held != 14 {
			t.Fatalf("while a commit is under way: %+v", p)
		}
		close(free)
		time.Sleep(2 * time.Second)
		if got := r.s.positions(0); !slices.Equal(got, []int64{1, 6}) {
			t.Fatalf("committed %v", got)
		}
		r.finish()
	})
}

func TestCommittedPositionsNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitInterval = 10 * time.Millisecond; c.Bounds.PartitionRecords = 5000 }, 0)
		rng := rand.New(rand.NewPCG(1, 4))
		fails := 0
		r.s.onCommit = func(_ Context, commits []Commit) map[int32]error {
			if rng.IntN(3) == 0 {
				fails++
				return map[int32]error{commits[0].Partition: errors.New("the coordinator moved")}
			}
			return nil
		}
		r.feed(0, span(0, 2000)...)
		at := rand.New(rand.NewPCG(2, 4)).Perm(2000) // the committer uses the other one
		for i, seq := range at {
			r.h.report(Event{Kind: EventDone, Assignment: 1, First: uint64(seq), Count: 1, Bytes: 48})
			if i%20 == 0 {
				time.Sleep(15 * time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		r.finish()
		got := r.s.positions(0)
		if !slices.IsSorted(got) || got[len(got)-1] != 2000 || fails == 0 {
			t.Fatalf("committed %v with %d failures", got, fails)
		}
		if s := r.e.Status(); s.CommitErrors != uint64(fails) {
			t.Fatalf("%d errors counted, %d happened", s.CommitErrors, fails)
		}
		// Each map belongs to its position.
		for _, c := range r.s.sent() {
			if _, err := decodeFinished(c.Metadata, c.Position); err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
		}
	})
}

func TestNothingNewIsNotCommittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0, 1)
		r.e.Committed(0, 5, "")
		time.Sleep(time.Minute)
		r.feed(0, span(5, 10)...)
		time.Sleep(time.Minute)
		if len(r.s.sent()) != 0 {
			t.Fatalf("committed %+v although nothing ended", r.s.sent())
		}
		r.h.report(Event{Kind: EventDone, Assignment: r.h.handed()[0].assignment, First: 2, Count: 1})
		time.Sleep(time.Minute)
		r.finish()
		if len(r.s.sent()) != 1 || r.s.sent()[0].Position != 5 || r.s.sent()[0].Metadata == "" {
			t.Fatalf("committed %+v", r.s.sent())
		}
	})
}

// A topic made anew under its old name has a log below the group's old offset:
// leaving that offset in place would skip records once the log reaches it.
func TestALogBelowTheCommittedOffsetIsCommittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.e.Committed(0, 500, "")
		r.feed(0, span(0, 20)...)
		r.h.end(r.h.handed()[0])
		time.Sleep(2 * time.Second)
		if got := r.s.positions(0); len(got) == 0 || got[len(got)-1] != 20 {
			t.Fatalf("committed %v", got)
		}
		r.finish()
	})
}

func TestWithoutCommitMetadataNoMapIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitMetadata = false }, 0)
		r.feed(0, span(0, 10)...)
		r.h.report(Event{Kind: EventDone, Assignment: 1, First: 0, Count: 2})
		r.h.report(Event{Kind: EventDone, Assignment: 1, First: 5, Count: 2})
		time.Sleep(2 * time.Second)
		if len(r.s.sent()) != 1 || r.s.sent()[0].Metadata != "" || r.s.sent()[0].Position != 2 {
			t.Fatalf("committed %+v", r.s.sent())
		}
		r.finish()
	})
}
