package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartStopAndEmergencyInEveryOrder(t *testing.T) {
	calls := []string{"start", "stop", "emergency", "discard"}
	for a := range calls {
		for b := range calls {
			for c := range calls {
				order := []string{calls[a], calls[b], calls[c]}
				t.Run(strings.Join(order, "-"), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { inOrder(t, order) })
				})
			}
		}
	}
}

func inOrder(t *testing.T, order []string) {
	r := newRig(t, nil)
	running, refused := false, false
	for _, call := range order {
		switch call {
		case "start":
			err := r.e.Start()
			want := error(nil)
			switch {
			case refused:
				want = ErrStopped
			case running:
				want = ErrStarted
			}
			if !errors.Is(err, want) {
				t.Fatalf("start: %v, want %v", err, want)
			}
			running = running || err == nil
		case "stop":
			r.e.Stop()
			refused = true
		case "emergency":
			r.e.Emergency("on request")
			refused = true
		case "discard":
			if !running { // as the boundary does
				r.e.Discard()
				refused = true
			}
		}
	}
	if !running {
		r.e.Discard()
		time.Sleep(time.Minute)
		if codes, _ := r.h.endings(); len(codes) != 0 {
			t.Fatal("an end was reported of an engine that never started")
		}
		return
	}
	if !refused {
		r.e.Stop()
	}
	code, reason := r.ended()
	// Whichever of stop and emergency came first, an emergency in time wins:
	// the goroutines have not run in between.
	wantEmergency := false
	for _, call := range order {
		wantEmergency = wantEmergency || call == "emergency"
	}
	if wantEmergency && code == 0 {
		// A stop may have ended before the emergency came.
		if reason != GracefulReason || r.e.Status().State != "stopped" {
			t.Fatalf("ended with %d %q in state %s", code, reason, r.e.Status().State)
		}
	} else if !wantEmergency && (code != 0 || reason != GracefulReason) {
		t.Fatalf("ended with %d %q", code, reason)
	} else if code != 0 && (reason != "on request" || r.e.Status().State != "failed") {
		t.Fatalf("ended with %d %q in state %s", code, reason, r.e.Status().State)
	}
	if r.s.closed != 1 {
		t.Fatalf("the client was closed %d times", r.s.closed)
	}
	// Nothing that comes afterwards is heard.
	r.e.Stop()
	r.e.Emergency("too late")
	if err := r.e.Start(); !errors.Is(err, ErrStopped) {
		t.Fatalf("start after the end: %v", err)
	}
	time.Sleep(time.Minute)
	if code2, reason2 := r.ended(); code2 != code || reason2 != reason {
		t.Fatalf("the end changed to %d %q", code2, reason2)
	}
}

func TestAStopDrainsAndCommitsEverythingThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitInterval = time.Hour }, 0, 1)
		r.feed(0, span(0, 10)...)
		r.feed(1, span(0, 10)...)
		blocks := r.h.handed()
		r.h.run(blocks[0].assignment, 1)
		r.e.Stop()
		r.e.Stop()
		time.Sleep(time.Second)
		if got := r.e.Status().State; got != "draining" {
			t.Fatalf("state %s", got)
		}
		r.h.end(blocks[0])
		r.h.run(blocks[0].assignment, 0)
		r.h.report(Event{Kind: EventDone, Assignment: blocks[1].assignment, First: 0, Count: 3})
		if code, reason := r.ended(); code != 0 {
			t.Fatal(reason)
		}
		if p0, p1 := r.s.positions(0), r.s.positions(1); len(p0) != 1 || p0[0] != 10 || len(p1) != 1 || p1[0] != 3 {
			t.Fatalf("committed %v and %v", p0, p1)
		}
		if s := r.e.Status(); s.State != "stopped" || s.HeldRecords != 0 || len(s.Partitions) != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestAnEmergencyInADrainEndsItAndCommitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.CommitInterval = time.Hour; c.DrainTimeout = time.Hour }, 0)
		r.feed(0, span(0, 10)...)
		block := r.h.handed()[0]
		r.h.run(block.assignment, 1)
		r.h.report(Event{Kind: EventDone, Assignment: block.assignment, First: 0, Count: 3})
		r.e.Stop()
		time.Sleep(time.Second)
		began := time.Now()
		r.e.Emergency("enough")
		r.e.Emergency("a second reason")
		code, reason := r.ended()
		if code == 0 || reason != "enough" || time.Since(began) > time.Second {
			t.Fatalf("ended with %d %q after %s", code, reason, time.Since(began))
		}
		if len(r.s.sent()) != 0 {
			t.Fatalf("committed %+v", r.s.sent())
		}
	})
}

func TestAPanicAnywhereIsAnEmergencyStop(t *testing.T) {
	boom := func() { panic("boom") }
	cases := map[string]struct {
		set  func(*rig)
		then func(*rig)
	}{
		"event pump": {
			func(r *rig) { r.h.onEvents = boom },
			func(r *rig) { r.e.Revoke([]int32{0}) }, // which waits for the pump
		},
		"committer": {
			func(r *rig) { r.s.onCommit = func(Context, []Commit) map[int32]error { panic("boom") } },
			func(r *rig) {
				r.feed(0, 1)
				r.h.end(r.h.handed()[0])
			},
		},
		"polling": {
			func(*rig) {},
			func(r *rig) { r.s.rounds <- func(*Engine) error { panic("boom") } },
		},
		"assignment": {
			func(*rig) {},
			func(r *rig) {
				r.h.onAssigned = func() error { panic("boom") }
				r.e.Assign([]int32{5})
			},
		},
		"revoke": {
			func(r *rig) { r.h.onRevoke = func(uint32) { r.h.onRevoke = nil; panic("boom") } },
			func(r *rig) { r.e.Revoke([]int32{0}) },
		},
		"loss": {
			func(r *rig) { r.h.onRevoke = func(uint32) { r.h.onRevoke = nil; panic("boom") } },
			func(r *rig) { r.e.Lose([]int32{0}) },
		},
		"leaving": {
			func(r *rig) { r.s.onLeave = boom },
			func(r *rig) { r.e.Stop() },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				c.set(r)
				if err := r.e.Start(); err != nil {
					t.Fatal(err)
				}
				r.e.Assign([]int32{0})
				c.then(r)
				code, reason := r.ended()
				if code != codePanic || !strings.Contains(reason, "panic") || !strings.Contains(reason, "boom") {
					t.Fatalf("ended with %d %q", code, reason)
				}
				if r.s.closed != 1 {
					t.Fatal("the client was not closed")
				}
			})
		})
	}
}

func TestAPanicWhileClosingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.s.onClose = func() { panic("boom") }
		if code, _ := r.finish(); code != 0 || !r.h.logged("boom") {
			t.Fatalf("ended with %d, logs %v", code, r.h.logs)
		}
	})
}

type refusal struct{}

func (refusal) Error() string     { return "fenced by another instance" }
func (refusal) ResultCode() int32 { return -8 }

func TestTheSourcesErrorEndsTheEngineWithItsCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.s.rounds <- func(*Engine) error { return fmt.Errorf("polling: %w", refusal{}) }
		if code, reason := r.ended(); code != -8 || reason != "polling: fenced by another instance" {
			t.Fatalf("ended with %d %q", code, reason)
		}
	})
}

func TestTheHostsEvents(t *testing.T) {
	cases := map[string]struct {
		event Event
		want  string
	}{
		"fatal":           {Event{Kind: EventFatal, Data: []byte("the handler said so")}, "the handler said so"},
		"fatal and empty": {Event{Kind: EventFatal}, "emergency stop"},
		"unknown kind":    {Event{Kind: 99}, "event kind 99"},
		"letter unasked":  {Event{Kind: EventProduce}, "no dead-letter topic"},
		"ended twice":     {Event{Kind: EventDone, Assignment: 1, First: 0, Count: 1}, "ended twice"},
		"never delivered": {Event{Kind: EventDone, Assignment: 1, First: 100, Count: 1}, "partition 0 of orders"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := started(t, nil, 0)
				r.feed(0, 0, 1, 2)
				r.h.report(Event{Kind: EventDone, Assignment: 1, First: 0, Count: 1})
				r.feed(0, 3)
				r.h.report(Event{Kind: EventDone, Assignment: 1, First: 2, Count: 1})
				ev := c.event
				if name == "ended twice" {
					ev.First = 2
				}
				r.h.report(ev)
				if code, reason := r.ended(); code == 0 || !strings.Contains(reason, c.want) {
					t.Fatalf("ended with %d %q", code, reason)
				}
			})
		})
	}
}

func TestDeadLettersReachTheirProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		got := make(chan string, 1)
		r.e.OnProduce = func(topic int, token uint64, record []byte) {
			got <- fmt.Sprintf("%d %d %s", topic, token, record)
		}
		if err := r.e.Start(); err != nil {
			t.Fatal(err)
		}
		r.h.report(Event{Kind: EventProduce, Assignment: 2, First: 77, Data: []byte("bytes")})
		if s := <-got; s != "2 77 bytes" {
			t.Fatal(s)
		}
		r.finish()
	})
}

func TestWithoutAnAssignmentInTimeTheEngineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := func(c *Config) { c.AssignmentTimeout = time.Minute }
		r := newRig(t, set)
		if err := r.e.Start(); err != nil {
			t.Fatal(err)
		}
		if _, reason := r.ended(); !strings.Contains(reason, "no assignment for topic orders in group billing within 1m0s") {
			t.Fatal(reason)
		}
		// Being assigned nothing is an assignment.
		r = started(t, set)
		time.Sleep(time.Hour)
		if code, reason := r.finish(); code != 0 {
			t.Fatal(reason)
		}
	})
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		if err := r.e.Pause(-1, true); err != nil {
			t.Fatal(err)
		}
		if got := r.e.Status().State; got != "built" {
			t.Fatalf("%s before the start", got)
		}
		if err := r.e.Pause(-1, false); err != nil {
			t.Fatal(err)
		}
		if err := r.e.Start(); err != nil {
			t.Fatal(err)
		}
		r.e.Assign([]int32{0})
		r.e.Revoke([]int32{0})
		r.e.Assign([]int32{1})
		if err := r.e.Pause(-1, true); err != nil {
			t.Fatal(err)
		}
		r.finish()
		want := []State{StateJoining, StateRunning, StateJoining, StateRunning, StatePaused, StateDraining, StateStopped}
		if fmt.Sprint(r.h.states) != fmt.Sprint(want) {
			t.Fatalf("states %v, want %v", r.h.states, want)
		}
		for s := StateBuilt; s <= StateFailed+1; s++ {
			if (s.String() == "unknown") != (s > StateFailed) {
				t.Fatalf("state %d is called %s", s, s)
			}
		}
	})
}
