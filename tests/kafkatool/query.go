package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// How long a question is asked again over connections that break: longer than
// a client needs to learn of a killed broker, and a bound for a port behind
// which nothing answers.
const brokenLimit = 10 * time.Second

// query adapts a function that only asks. Asking again harms nothing, so a
// connection that breaks and a coordinator or leader that moves are no answer:
// tests kill brokers and then ask the others.
func query[A any](f func(ctx context.Context, s *session, c conn, args A) (any, error)) operation {
	once := op(f)
	return func(ctx context.Context, s *session, c conn, raw json.RawMessage) (any, error) {
		start := time.Now()
		for {
			result, err := once(ctx, s, c, raw)
			again := moved(err) || broken(err) && time.Since(start) < brokenLimit
			if !again {
				return result, err
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// moved tells an error that says "not here" or "not yet". An unknown topic is
// an answer, though clients would ask again.
func moved(err error) bool {
	for _, e := range []*kerr.Error{
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
		kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable,
		kerr.OffsetNotAvailable, kerr.RequestTimedOut, kerr.NetworkException,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// broken tells an error of the connection rather than of a broker.
func broken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &op)
}
