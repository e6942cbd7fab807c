package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type txnBeginArgs struct {
	TransactionalID string `json:"transactional_id"`
	TimeoutMS       int64  `json:"timeout_ms"`
}

type txnReply struct {
	Handle uint64 `json:"handle"`
}

// txnBegin opens a transaction with a producer of its own.
func txnBegin(_ context.Context, s *session, c conn, a txnBeginArgs) (any, error) {
	cl, err := newClient(c,
		kgo.TransactionalID(a.TransactionalID),
		kgo.TransactionTimeout(time.Duration(a.TimeoutMS)*time.Millisecond),
		kgo.RecordPartitioner(namedOrHashed{kgo.StickyKeyPartitioner(nil)}),
	)
	if err != nil {
		return nil, err
	}
	if err := cl.BeginTransaction(); err != nil {
		cl.Close()
		return nil, fmt.Errorf("transactional id %s: %w", a.TransactionalID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextTxn++
	s.txns[s.nextTxn] = cl
	return txnReply{s.nextTxn}, nil
}

// txn looks a transaction up, and takes it out when it is to end.
func (s *session) txn(handle uint64, take bool) (*kgo.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cl := s.txns[handle]
	if cl == nil {
		return nil, fmt.Errorf("no open transaction %d", handle)
	}
	if take {
		delete(s.txns, handle)
	}
	return cl, nil
}

type txnProduceArgs struct {
	Handle uint64 `json:"handle"`
	produceArgs
}

func txnProduce(ctx context.Context, s *session, _ conn, a txnProduceArgs) (any, error) {
	cl, err := s.txn(a.Handle, false)
	if err != nil {
		return nil, err
	}
	return produceList(ctx, cl, a.produceArgs)
}

type txnEndArgs struct {
	Handle uint64 `json:"handle"`
	Commit bool   `json:"commit"`
}

func txnEnd(ctx context.Context, s *session, _ conn, a txnEndArgs) (any, error) {
	cl, err := s.txn(a.Handle, true)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	end := kgo.TryAbort
	if a.Commit {
		end = kgo.TryCommit
	}
	return nil, cl.EndTransaction(ctx, end)
}

// txnAbandon drops the producer of an open transaction as a killed process
// would: the transaction stays open until its timeout.
func txnAbandon(_ context.Context, s *session, _ conn, a struct {
	Handle uint64 `json:"handle"`
}) (any, error) {
	cl, err := s.txn(a.Handle, true)
	if err != nil {
		return nil, err
	}
	cl.Close()
	return nil, nil
}
