//go:build !devbroker

package devbroker

import (
	"errors"
	"testing"
)

func TestWithoutTheTagEveryFunctionSaysSo(t *testing.T) {
	if _, err := Start([]byte(`{"topics":[{"name":"a","partitions":1}]}`)); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("Start: %v", err)
	}
	if err := Produce([]byte(`[]`)); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("Produce: %v", err)
	}
	if err := Stop(); !errors.Is(err, ErrNotCompiled) {
		t.Errorf("Stop: %v", err)
	}
}
