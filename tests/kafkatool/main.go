// Command kafkatool is the admin and data hand of the integration tests: it
// does to a Kafka cluster what a test needs done by somebody other than the
// library under test.
//
// Run without arguments it answers requests: one JSON object a line on stdin,
// one JSON object a line on stdout, matched by id, each request in its own
// goroutine. It ends at the end of stdin, so it never outlives its test.
// Run as "kafkatool keep ..." it looks after a broker that several test
// binaries share (see keep.go).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// request is one line of stdin.
type request struct {
	ID      uint64          `json:"id"`
	Op      string          `json:"op"`
	Conn    conn            `json:"conn"`
	Args    json.RawMessage `json:"args"`
	LimitMS int64           `json:"limit_ms"`
}

// reply is one line of stdout; exactly one of OK and Error is set.
type reply struct {
	ID    uint64    `json:"id"`
	OK    any       `json:"ok,omitempty"`
	Error *opFailed `json:"error,omitempty"`
}

// opFailed is an error as the Rust side sees it: Kafka's name and code where
// the broker answered with one.
type opFailed struct {
	Kafka string `json:"kafka,omitempty"`
	Code  int16  `json:"code"`
	Text  string `json:"text"`
}

// operation runs one request with its arguments still encoded.
type operation func(ctx context.Context, s *session, c conn, args json.RawMessage) (any, error)

// op adapts a typed function to an operation.
func op[A any](f func(ctx context.Context, s *session, c conn, args A) (any, error)) operation {
	return func(ctx context.Context, s *session, c conn, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, fmt.Errorf("arguments: %w", err)
			}
		}
		return f(ctx, s, c, args)
	}
}

var operations = map[string]operation{
	"brokers":         op(brokers),
	"create_topic":    op(createTopic),
	"delete_topic":    op(deleteTopic),
	"topic":           query(describeTopic),
	"offsets":         query(offsets),
	"delete_records":  op(deleteRecords),
	"alter_configs":   op(alterConfigs),
	"add_acl":         op(addACL),
	"remove_acl":      op(removeACL),
	"move_leader":     op(moveLeader),
	"elect_preferred": op(electPreferred),
	"produce":         op(produce),
	"produce_bulk":    op(produceBulk),
	"read":            query(read),
	"txn_begin":       op(txnBegin),
	"txn_produce":     op(txnProduce),
	"txn_end":         op(txnEnd),
	"txn_abandon":     op(txnAbandon),
	"committed":       query(committed),
	"commit":          op(commit),
	"describe_group":  query(describeGroup),
	"delete_group":    op(deleteGroup),
	"share_offsets":   query(shareOffsets),
	"occupy":          op(occupy),
}

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] != "keep" {
			fmt.Fprintf(os.Stderr, "kafkatool: unknown command %q; known: keep\n", os.Args[1])
			os.Exit(2)
		}
		if err := keep(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "kafkatool keep:", err)
			os.Exit(1)
		}
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kafkatool:", err)
		os.Exit(1)
	}
}

// serve answers requests until the end of the input. Requests still running
// then are dropped: their test is gone.
func serve(in io.Reader, out io.Writer) error {
	s := newSession()
	var mu sync.Mutex
	w := bufio.NewWriter(out)
	send := func(r reply) {
		line, err := json.Marshal(r)
		if err != nil {
			line, _ = json.Marshal(reply{ID: r.ID, Error: failure(err)})
		}
		mu.Lock()
		defer mu.Unlock()
		w.Write(line)
		w.WriteByte('\n')
		w.Flush()
	}
	dec := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	for {
		var req request
		if err := dec.Decode(&req); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("request: %w", err)
		}
		go func() { send(answer(s, req)) }()
	}
}

// answer runs one request within its limit. Some operations cannot be stopped
// (the fate of a record already sent to a broker that does not answer stays
// open); they are answered for all the same.
func answer(s *session, req request) reply {
	f, known := operations[req.Op]
	if !known {
		return reply{ID: req.ID, Error: failure(fmt.Errorf("unknown operation %q", req.Op))}
	}
	limit := time.Duration(req.LimitMS) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	done := make(chan reply, 1)
	go func() {
		defer cancel()
		result, err := f(ctx, s, req.Conn, req.Args)
		switch {
		case err != nil:
			done <- reply{ID: req.ID, Error: failure(fmt.Errorf("%s: %w", req.Op, err))}
		case result == nil:
			done <- reply{ID: req.ID, OK: struct{}{}}
		default:
			done <- reply{ID: req.ID, OK: result}
		}
	}()
	select {
	case r := <-done:
		return r
	case <-time.After(limit + stopGrace):
		return reply{ID: req.ID, Error: failure(fmt.Errorf("%s: not done after %v", req.Op, limit))}
	}
}

// stopGrace is the time for an operation to notice that its limit has passed.
const stopGrace = time.Second

func failure(err error) *opFailed {
	f := &opFailed{Text: err.Error()}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		f.Kafka, f.Code = ke.Message, ke.Code
	}
	return f
}
