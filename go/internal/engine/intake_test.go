package engine

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIntakeHandsOverWhatARecordHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		headers := []Header{{"a", []byte("1")}, {"a", nil}, {"", []byte{}}}
		r.round(func(e *Engine) error {
			in := e.Begin(0, 7)
			for _, add := range []error{
				in.Add(5, 11, TimestampLogAppend, 1, nil, nil, nil),
				in.Add(6, -1, TimestampNone, 1, []byte{}, []byte{}, headers),
				in.Add(7, 12, TimestampCreate, 1, []byte("k"), bytes.Repeat([]byte("v"), 13), headers[:1]),
			} {
				if add != nil {
					return add
				}
			}
			return in.End()
		})
		blocks := r.h.handed()
		if len(blocks) != 1 || blocks[0].first != 0 {
			t.Fatalf("%d blocks", len(blocks))
		}
		got := blocks[0].records
		if got[0].Key != nil || got[0].Value != nil || got[0].TimestampMs != 11 || got[0].Kind != TimestampLogAppend {
			t.Fatalf("null key and value became %+v", got[0])
		}
		if got[1].Key == nil || len(got[1].Key) != 0 || got[1].Value == nil || len(got[1].Headers) != 3 ||
			got[1].Headers[1].Value != nil || got[1].Headers[2].Value == nil || got[1].Headers[1].Key != "a" {
			t.Fatalf("empty key and value became %+v", got[1])
		}
		if string(got[2].Key) != "k" || len(got[2].Value) != 13 || got[2].Offset != 7 {
			t.Fatalf("the last record became %+v", got[2])
		}
		r.finish()
	})
}

func TestIntakeFillsBlocksAndKeepsSequenceNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.Bounds.PartitionBytes = 1 << 30 }, 0)
		big := bytes.Repeat([]byte("x"), 3*blockSize)
		r.round(func(e *Engine) error {
			in := e.Begin(0, 0)
			for o := range int64(300) {
				value := big[:1000]
				if o == 150 {
					value = big
				}
				if err := in.Add(o*2, 0, TimestampCreate, 0, nil, value, nil); err != nil {
					return err
				}
			}
			return in.End()
		})
		next, offset := uint64(0), int64(0)
		blocks := r.h.handed()
		for _, b := range blocks {
			if b.first != next {
				t.Fatalf("a block starts at %d, want %d", b.first, next)
			}
			next += uint64(len(b.records))
			for _, rec := range b.records {
				if rec.Offset != offset {
					t.Fatalf("offset %d, want %d", rec.Offset, offset)
				}
				offset += 2
			}
			if len(b.records) > 1 && b.bytes > blockSize {
				t.Fatalf("a block of %d records has %d bytes", len(b.records), b.bytes)
			}
		}
		if next != 300 || len(blocks) < 5 {
			t.Fatalf("%d records in %d blocks", next, len(blocks))
		}
		if p := r.partition(0); p.Held != 300 || p.Span != 300 || p.LastOffset != 598 {
			t.Fatalf("%+v", p)
		}
		r.finish()
		if r.h.lent != 0 {
			t.Fatalf("%d blocks were not given back", r.h.lent)
		}
	})
}

func TestIntakeLeavesOutRepeatedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.feed(0, 10, 11, 12)
		r.feed(0, 9, 11, 12, 13, 13, 14)
		if got := r.h.offsets(0); !slices.Equal(got, span(10, 15)) {
			t.Fatalf("handed over %v", got)
		}
		if c := r.e.Status().Counters; len(c) != 1 || c[0].Duplicates != 4 {
			t.Fatalf("counters %+v", c)
		}
		r.finish()
	})
}

func TestRecordsThatHadFinishedAreSkippedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The first engine ends all but three of its records.
		r := started(t, nil, 0)
		r.feed(0, span(100, 200)...)
		block := r.h.handed()[0]
		open := []uint64{0, 40, 90}
		for seq := range uint64(100) {
			if !slices.Contains(open, seq) {
				r.h.report(Event{Kind: EventDone, Assignment: block.assignment, First: seq, Count: 1})
			}
		}
		r.finish()
		last := r.s.sent()[len(r.s.sent())-1]
		if last.Position != 100 || last.Metadata == "" {
			t.Fatalf("committed %+v", last)
		}

		// The second gets only those, and new ones.
		r2 := started(t, nil, 0)
		r2.e.Committed(0, last.Position, last.Metadata)
		r2.feed(0, span(100, 150)...)
		r2.feed(0, span(150, 205)...)
		want := append([]int64{100, 140, 190}, span(200, 205)...)
		if got := r2.h.offsets(0); !slices.Equal(got, want) {
			t.Fatalf("handed over %v, want %v", got, want)
		}
		if c := r2.e.Status().Counters[0]; c.Skipped != 97 {
			t.Fatalf("skipped %d", c.Skipped)
		}
		for _, b := range r2.h.handed() {
			r2.h.end(b)
		}
		r2.finish()
		if got := r2.s.positions(0); got[len(got)-1] != 205 {
			t.Fatalf("committed %v", got)
		}
	})
}

func TestBrokenMetadataIsSaidAndIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"somebody else's", seal(numbers(3, 0, 5)), seal(numbers(4, 0, 5))[:15]} {
			r := started(t, nil, 0)
			r.e.Committed(0, 4, text)
			r.feed(0, span(4, 9)...)
			if got := r.h.offsets(0); !slices.Equal(got, span(4, 9)) {
				t.Fatalf("%q: handed over %v", text, got)
			}
			if !r.h.logged("run again") {
				t.Fatalf("%q: nothing was said", text)
			}
			r.finish()
		}
	})
}

func TestAPartitionAtItsBoundIsPausedAndOthersFlow(t *testing.T) {
	bound := map[string]func(*Config){
		"records": func(c *Config) { c.Bounds.PartitionRecords = 10 },
		"bytes":   func(c *Config) { c.Bounds.PartitionBytes = 480 }, // 48 a record
		"span":    func(c *Config) { c.Bounds.PartitionSpan = 10 },
	}
	for name, set := range bound {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := started(t, set, 0, 1)
				r.feed(0, span(0, 9)...)
				if r.s.isPaused(0) {
					t.Fatal("paused below the bound")
				}
				r.feed(0, 9)
				r.feed(1, 0)
				if !r.s.isPaused(0) || r.s.isPaused(1) || !r.partition(0).Paused {
					t.Fatal("the full partition is not paused, or the other one is")
				}
				end := func(first, count uint64) {
					a := r.h.handed()[0].assignment
					r.h.report(Event{Kind: EventDone, Assignment: a, First: first, Count: count, Bytes: count * 48})
					time.Sleep(time.Second)
				}
				end(0, 4)
				if !r.s.isPaused(0) {
					t.Fatal("resumed above half of the bound")
				}
				end(4, 1)
				if r.s.isPaused(0) {
					t.Fatal("not resumed at half of the bound")
				}
				r.finish()
			})
		})
	}
}

func TestAllHoldStillAtTheTotalBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, func(c *Config) { c.Bounds.Records, c.Bounds.PartitionRecords = 5, 100 }, 0)
		r.feed(0, span(0, 6)...)
		synctest.Wait()
		polled := make(chan struct{})
		select {
		case r.s.rounds <- func(*Engine) error { close(polled); return nil }:
			t.Fatal("polled above the total bound")
		case <-time.After(time.Minute):
		}
		r.h.report(Event{Kind: EventDone, Assignment: 1, First: 0, Count: 2, Bytes: 96})
		r.s.rounds <- func(*Engine) error { close(polled); return nil }
		<-polled
		r.finish()
	})
}

// A completion that frees the partition between the intake's decision to pause
// it and the client's hearing of it must not be overtaken by the pause.
func TestAPauseIsNotHeardAfterTheResumeThatFollowedIt(t *testing.T) {
	// Without synctest: the pump waits for a mutex, which its clock ignores.
	r := started(t, func(c *Config) { c.Bounds.PartitionRecords = 10 }, 0)
	until := func(what string, holds func() bool) {
		for deadline := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Error("waited in vain: " + what)
				return
			}
		}
	}
	r.s.onPause = func([]int32) {
		r.h.end(r.h.handed()[0])
		until("the pump takes the completion", func() bool { return r.partition(0).Held == 0 })
		for range 10_000 {
			runtime.Gosched() // and would tell the client, if it could
		}
	}
	r.feed(0, span(0, 10)...)
	until("the partition is resumed", func() bool { return !r.s.isPaused(0) })
	r.finish()
}

func TestRecordsOfAPartitionGivenUpMeanwhileAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0)
		r.round(func(e *Engine) error {
			in := e.Begin(0, 100)
			if err := in.Add(1, 0, TimestampCreate, 0, nil, nil, nil); err != nil {
				return err
			}
			e.Revoke([]int32{0})
			if err := in.Add(2, 0, TimestampCreate, 0, nil, nil, nil); err != nil {
				return err
			}
			return in.End()
		})
		r.feed(0, 3) // not ours any more
		if got := r.h.handed(); len(got) != 0 {
			t.Fatalf("handed over %+v", got)
		}
		if s := r.e.Status(); s.HeldRecords != 0 || s.HeldBytes != 0 {
			t.Fatalf("held: %+v", s)
		}
		if code, reason := r.finish(); code != 0 {
			t.Fatal(reason)
		}
		if r.h.lent != 0 {
			t.Fatalf("%d blocks were not given back", r.h.lent)
		}
	})
}

// The host forgets an assignment between the intake's look at it and the
// hand-over: no reason to stop.
func TestARefusalAfterTheRevokeIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, nil, 0, 1)
		r.h.onSubmit = func() error {
			r.h.onSubmit = nil
			r.e.Revoke([]int32{0})
			return errors.New("unknown assignment")
		}
		r.feed(0, 1, 2)
		r.feed(1, 1)
		if s := r.e.Status(); s.HeldRecords != 1 || len(s.Partitions) != 1 {
			t.Fatalf("%+v", s)
		}
		if code, reason := r.finish(); code != 0 {
			t.Fatal(reason)
		}
		if r.h.lent != 0 {
			t.Fatalf("%d blocks were not given back", r.h.lent)
		}
	})
}

func TestAHostThatRefusesEndsTheEngineAndGetsItsBlockBack(t *testing.T) {
	for name, set := range map[string]func(*fakeHost){
		"submit":      func(h *fakeHost) { h.onSubmit = func() error { return errors.New("no room for it") } },
		"short block": func(h *fakeHost) { h.shortBlock = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				set(r.h)
				if err := r.e.Start(); err != nil {
					t.Fatal(err)
				}
				r.e.Assign([]int32{0})
				r.s.rounds <- func(e *Engine) error {
					in := e.Begin(0, 1)
					if err := in.Add(1, 0, 0, 0, nil, make([]byte, blockSize+1), nil); err != nil {
						return err
					}
					return in.End()
				}
				code, reason := r.ended()
				if code != codeState || !(strings.Contains(reason, "no room for it") || strings.Contains(reason, "smaller")) {
					t.Fatalf("ended with %d %q", code, reason)
				}
				if r.h.lent != 0 {
					t.Fatalf("%d blocks were not given back", r.h.lent)
				}
				if s := r.e.Status(); s.HeldRecords != 0 || s.State != "failed" {
					t.Fatalf("%+v", s)
				}
			})
		})
	}
}
