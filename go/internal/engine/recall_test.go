package engine

import (
	"reflect"
	"testing"
)

func lostAt(committed int64, sent place, delivered int64, ended ...uint64) *assignment {
	a := &assignment{partition: 3, track: newTracker(-1), committed: committed, sent: sent}
	a.track.deliver(committed, uint64(delivered))
	for _, seq := range ended {
		if err := a.track.done(seq, 1); err != nil {
			panic(err)
		}
	}
	return a
}

func TestRecallTellsWhatEndedAboveTheCommit(t *testing.T) {
	e := New(Config{}, nil, nil)
	// Records 10 to 19; 10, 11, 14 and 15 ended, 10 was committed.
	e.remember([]*assignment{lostAt(10, place{11, "m"}, 10, 0, 1, 4, 5)})
	want := []offsetRange{{10, 12}, {14, 16}}
	if got := e.recalled(3, place{10, ""}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := e.recalled(3, place{10, ""}); got != nil {
		t.Fatalf("a second assignment got %v", got)
	}
}

func TestRecallHoldsOnlyWhereTheGroupStandsAsLeft(t *testing.T) {
	for _, c := range []struct {
		now   place
		valid bool
	}{
		{place{10, ""}, true},
		{place{11, "m"}, true}, // the commit whose answer did not come
		{place{11, ""}, false},
		{place{9, ""}, false}, // reset by somebody
		{place{12, ""}, false},
		{place{-1, ""}, false},
	} {
		e := New(Config{}, nil, nil)
		e.remember([]*assignment{lostAt(10, place{11, "m"}, 10, 0, 1, 4, 5)})
		if got := e.recalled(3, c.now); (got != nil) != c.valid {
			t.Errorf("%v: got %v", c.now, got)
		}
	}
}

func TestRecallKeepsNothingWithoutACommit(t *testing.T) {
	e := New(Config{}, nil, nil)
	a := lostAt(10, place{}, 10, 0, 1)
	a.committed = -1
	e.remember([]*assignment{a})
	if got := e.recalled(3, place{-1, ""}); got != nil {
		t.Fatalf("got %v", got)
	}
}
