// Package devbroker is an embedded Kafka broker for first steps and tests. It
// keeps everything in memory, listens on the loopback interface and needs no
// login. It is compiled in by the build tag devbroker only; without it every
// function answers ErrNotCompiled.
package devbroker

import "errors"

// ErrNotCompiled tells that this build has no embedded broker.
var ErrNotCompiled = errors.New("the embedded broker is not compiled in: build with the feature dev-broker (Go build tag devbroker)")
