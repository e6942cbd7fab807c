package main

import (
	"testing"
	"time"
)

func TestGateKeepsCallsOutOnceClosed(t *testing.T) {
	var g gate
	if !g.enter() {
		t.Fatal("an open gate refused a call")
	}
	g.leave()
	if err := g.close(0); err != nil {
		t.Fatal(err)
	}
	if g.enter() {
		t.Fatal("a closed gate let a call in")
	}
}

func TestGateWaitsForTheCallsInside(t *testing.T) {
	var g gate
	g.enter()
	if err := g.close(time.Nanosecond); err == nil {
		t.Fatal("closed with a call inside")
	}
	closed := make(chan error)
	go func() { closed <- g.close(time.Minute) }()
	g.leave()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}
