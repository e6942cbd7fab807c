package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARevokeWaitsForTheLostPartitionsAloneAndCommitsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitInterval = time.Hour }, 0, 1)
		r.feed(0, span(0, 10)...)
		r.feed(1, span(50, 60)...)
		blocks := r.h.handed()
		r.h.run(blocks[0].assignment, 1)
		r.h.run(blocks[1].assignment, 1) // runs on, for ever
		revoked := make(chan struct{})
		go func() { r.e.Revoke([]int32{0}); close(revoked) }()
		time.Sleep(time.Second)
		select {
		case <-revoked:
			t.Fatal("did not wait for the running handler")
		default:
		}
		// The other partition works on meanwhile.
		r.feed(1, 60)
		if got := r.h.offsets(1); got[len(got)-1] != 60 {
			t.Fatal("the other partition stands still")
		}
		r.h.end(blocks[0])
		r.h.run(blocks[0].assignment, 0)
		<-revoked
		if got := r.s.positions(0); !slices.Equal(got, []int64{10}) {
			t.Fatalf("committed %v", got)
		}
		if got := r.s.positions(1); len(got) != 0 {
			t.Fatalf("the other partition committed %v", got)
		}
		if !slices.Equal(r.h.revoked, []uint32{blocks[0].assignment}) || !slices.Equal(r.h.released, r.h.revoked) {
			t.Fatalf("revoked %v, released %v", r.h.revoked, r.h.released)
		}
		if s := r.e.Status(); s.HeldRecords != 11 || len(s.Partitions) != 1 {
			t.Fatalf("%+v", s)
		}
		r.h.run(blocks[1].assignment, 0)
		r.finish()
	})
}

func TestARevokeEndsAtTheDrainTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.feed(0, span(0, 10)...)
		block := r.h.handed()[0]
		r.h.run(block.assignment, 3)
		r.h.report(Event{Kind: EventDone, Assignment: block.assignment, First: 0, Count: 4})
		began := time.Now()
		r.e.Revoke([]int32{0})
		if took := time.Since(began); took < 10*time.Second || took > 10*time.Second+2*idleWait {
			t.Fatalf("waited %s", took)
		}
		if got := r.s.positions(0); got[len(got)-1] != 4 {
			t.Fatalf("committed %v", got)
		}
		if !r.h.logged("3 handlers still run") {
			t.Fatal("nothing was said")
		}
		// What ends now is orphaned and moves nothing.
		r.h.report(Event{Kind: EventDone, Assignment: block.assignment, First: 4, Count: 6, Bytes: 288})
		time.Sleep(time.Second)
		if s := r.e.Status(); s.Orphaned != 6 || s.HeldRecords != 0 || s.HeldBytes != 0 {
			t.Fatalf("%+v", s)
		}
		r.finish()
	})
}

func TestALossCommitsNothingAndWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitInterval = time.Hour }, 0)
		r.feed(0, span(0, 10)...)
		block := r.h.handed()[0]
		r.h.run(block.assignment, 5)
		r.h.end(block)
		time.Sleep(time.Second)
		began := time.Now()
		r.e.Lose([]int32{0})
		if time.Since(began) != 0 {
			t.Fatal("waited")
		}
		r.finish()
		if len(r.s.sent()) != 0 {
			t.Fatalf("committed %+v", r.s.sent())
		}
		if len(r.h.released) != 1 || !r.h.logged("lost partitions [0]") {
			t.Fatal("not released, or nothing was said")
		}
	})
}

func TestAStaleCompletionChangesNothingInTheNextAssignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.feed(0, span(0, 10)...)
		old := r.h.handed()[0]
		r.e.Lose([]int32{0})
		r.e.Assign([]int32{0})
		r.feed(0, span(0, 10)...)
		r.h.end(old)
		time.Sleep(2 * time.Second)
		if p := r.partition(0); p.Open != 10 || p.Held != 10 || p.Position != 0 || p.Assignment == old.assignment {
			t.Fatalf("%+v", p)
		}
		if s := r.e.Status(); s.Orphaned != 10 || s.HeldRecords != 10 {
			t.Fatalf("%+v", s)
		}
		r.finish()
	})
}

// A completion that is being applied while its assignment is released must not
// be taken off the totals twice: they would drift and unbound the engine.
func TestTotalsSurviveACompletionBesideARelease(t *testing.T) {
	r := newRig(t, nil)
	r.e.passFinished(^uint64(0)) // no pump runs, so there is none to wait for
	for i := range 200 {
		r.e.Assign([]int32{0})
		if err := take(r.e, 0, span(0, 10)...); err != nil {
			t.Fatal(err)
		}
		blocks := r.h.handed()
		done := make(chan struct{})
		go func() {
			defer close(done)
			b := blocks[len(blocks)-1]
			for seq := range uint64(10) {
				r.e.recordsEnded(&Event{Kind: EventDone, Assignment: b.assignment, First: seq, Count: 1, Bytes: 48})
			}
		}()
		r.e.Lose([]int32{0})
		<-done
		if s := r.e.Status(); s.HeldRecords != 0 || s.HeldBytes != 0 {
			t.Fatalf("round %d: %d records and %d bytes are held", i, s.HeldRecords, s.HeldBytes)
		}
	}
}

func TestABoundPauseEndsWithTheOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, give := range map[string]func(*Engine, []int32){"revoke": (*Engine).Revoke, "loss": (*Engine).Lose} {
			r := started(t, func(c *Config) { c.Bounds.PartitionRecords = 5 }, 0)
			r.feed(0, span(0, 5)...)
			if !r.s.isPaused(0) {
				t.Fatalf("%s: not paused", name)
			}
			give(r.e, []int32{0})
			r.e.Assign([]int32{0})
			if r.s.isPaused(0) || r.partition(0).Paused {
				t.Fatalf("%s: still paused when it came back", name)
			}
			r.feed(0, 0)
			r.finish()
		}
	})
}

func TestAPauseByTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0, 1)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		id := func(p int32) uint32 { return r.partition(p).Assignment }
		must(r.e.Pause(0, true))
		if !r.s.isPaused(0) || r.s.isPaused(1) || !r.h.paused[id(0)] || r.e.Status().State != "running" {
			t.Fatal("one partition")
		}
		// A reset of the log is no change of the owner.
		r.round(func(e *Engine) error { e.Restart(0, errors.New("the log was cut")); return nil })
		if !r.s.isPaused(0) || !r.h.paused[id(0)] {
			t.Fatal("a pause of one partition ended at a restart")
		}
		r.e.Revoke([]int32{0})
		r.e.Assign([]int32{0})
		if r.s.isPaused(0) || r.h.paused[id(0)] || r.partition(0).Paused {
			t.Fatal("a pause of one partition outlived its revoke")
		}
		must(r.e.Pause(-1, true))
		r.e.Revoke([]int32{0})
		r.e.Assign([]int32{0, 2})
		for p := range int32(3) {
			if !r.s.isPaused(p) || !r.h.paused[id(p)] {
				t.Fatalf("partition %d runs while all are paused", p)
			}
		}
		if got := r.e.Status().State; got != "paused" {
			t.Fatalf("state %s", got)
		}
		if err := r.e.Pause(0, false); err == nil || !strings.Contains(err.Error(), "resume all") {
			t.Fatalf("resuming one of all: %v", err)
		}
		must(r.e.Pause(-1, false))
		if r.s.isPaused(0) || r.s.isPaused(2) || r.e.Status().State != "running" {
			t.Fatal("not resumed")
		}
		if err := r.e.Pause(9, true); err == nil || !strings.Contains(err.Error(), "partition 9 of orders") {
			t.Fatalf("a foreign partition: %v", err)
		}
		r.finish()
		if err := r.e.Pause(-1, true); !errors.Is(err, ErrEnded) {
			t.Fatalf("after the end: %v", err)
		}
	})
}

func TestAResumeByTheUserLeavesABoundPauseInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.Bounds.PartitionRecords = 5 }, 0)
		r.feed(0, span(0, 5)...)
		for _, paused := range []bool{true, false} {
			if err := r.e.Pause(0, paused); err != nil {
				t.Fatal(err)
			}
			if !r.s.isPaused(0) {
				t.Fatalf("pause %v: the full partition is fetched", paused)
			}
		}
		// And the other way round: room does not undo the user's pause.
		if err := r.e.Pause(0, true); err != nil {
			t.Fatal(err)
		}
		r.h.end(r.h.handed()[0])
		time.Sleep(time.Second)
		if !r.s.isPaused(0) {
			t.Fatal("room undid the user's pause")
		}
		if err := r.e.Pause(0, false); err != nil {
			t.Fatal(err)
		}
		if r.s.isPaused(0) {
			t.Fatal("not resumed")
		}
		r.finish()
	})
}

func TestARestartBeginsANewEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.e.Committed(0, 90, "")
		r.feed(0, span(90, 100)...)
		old := r.h.handed()[0]
		r.round(func(e *Engine) error { e.Restart(0, errors.New("the log was cut")); return nil })
		r.feed(0, span(40, 50)...)
		r.h.end(old)
		r.h.end(r.h.handed()[1])
		time.Sleep(2 * time.Second)
		if got := r.s.positions(0); len(got) == 0 || got[len(got)-1] != 50 {
			t.Fatalf("committed %v", got)
		}
		r.finish()
	})
}

func TestAssigningWhatIsOwnedChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.feed(0, 1)
		id := r.partition(0).Assignment
		r.e.Assign([]int32{0, 1})
		if r.partition(0).Assignment != id || r.partition(0).Held != 1 || len(r.h.assigned) != 2 {
			t.Fatal("the assignment was replaced")
		}
		r.e.Revoke([]int32{7}) // never ours
		r.finish()
	})
}

func TestAFetchThatKeepsFailingEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0, 1)
		fail := func(p int32) {
			r.s.rounds <- func(e *Engine) error { e.FetchFailed(p, errors.New("disk on fire")); return nil }
		}
		fail(0)
		time.Sleep(9 * time.Minute)
		r.feed(0, 1) // works again: the clock starts anew
		fail(0)
		time.Sleep(9 * time.Minute)
		fail(0)
		if r.partition(0).Failing == "" || r.e.Status().State != "running" {
			t.Fatalf("%+v", r.e.Status())
		}
		time.Sleep(time.Minute)
		fail(0)
		code, reason := r.ended()
		want := []string{"partition 0", "topic orders", "10m0s", "disk on fire"}
		if code != codeState || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(reason, w) }) {
			t.Fatalf("ended with %d %q", code, reason)
		}
	})
}

func TestAMembershipThatKeepsFailingEndsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		for i := range 12 {
			r.s.rounds <- func(e *Engine) error { e.GroupFailed(fmt.Errorf("coordinator away")); return nil }
			time.Sleep(time.Minute)
			if i == 5 {
				r.e.Assign(nil) // a rebalance went well
				time.Sleep(time.Second)
			}
		}
		if r.e.Status().State != "running" {
			t.Fatal("ended too early")
		}
		for range 5 {
			select {
			case r.s.rounds <- func(e *Engine) error { e.GroupFailed(fmt.Errorf("coordinator away")); return nil }:
			case <-r.e.Done():
			}
			time.Sleep(time.Minute)
		}
		if _, reason := r.ended(); !strings.Contains(reason, "group billing") || !strings.Contains(reason, "coordinator away") {
			t.Fatal(reason)
		}
	})
}
