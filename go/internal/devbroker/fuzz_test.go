//go:build devbroker

package devbroker

import (
	"errors"
	"testing"
)

// Without a broker, records are decoded and then refused: no input may panic
// or start anything.
func FuzzProduce(f *testing.F) {
	for _, text := range []string{
		"", "[]", "{}", "null", `[{"topic":"a","key":{"base64":"AA=="},"headers":[{"name":"n","value":null}]}]`,
		`[{"topic":"a","partition":-1}]`, `[{"key":[]}]`, "[" + string(make([]byte, 10)), `[{"topic":"a"}]x`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := Produce(text); err == nil {
			t.Fatalf("%q was produced without a broker", text)
		} else if decoded := decode(text, new([]record)); decoded == nil && !errors.Is(err, ErrNotRunning) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
