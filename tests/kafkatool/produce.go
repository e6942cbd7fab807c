package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// namedOrHashed keeps the partition that a record names; a record with -1
// goes where the inner partitioner sends it.
type namedOrHashed struct{ inner kgo.Partitioner }

func (n namedOrHashed) ForTopic(topic string) kgo.TopicPartitioner {
	return &namedOrHashedTopic{n.inner.ForTopic(topic)}
}

type namedOrHashedTopic struct{ inner kgo.TopicPartitioner }

// RequiresConsistency is true for named partitions: a leaderless one is waited
// for, not replaced.
func (n *namedOrHashedTopic) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || n.inner.RequiresConsistency(r)
}

func (n *namedOrHashedTopic) Partition(r *kgo.Record, count int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return n.inner.Partition(r, count)
}

// OnNewBatch lets the inner partitioner move keyless records on.
func (n *namedOrHashedTopic) OnNewBatch() {
	if o, ok := n.inner.(kgo.TopicPartitionerOnNewBatch); ok {
		o.OnNewBatch()
	}
}

// header is a name and a value that may be null.
type header struct {
	Key   string   `json:"key"`
	Value hexBytes `json:"value"`
}

// outRecord is a record to be produced.
type outRecord struct {
	Partition *int32   `json:"partition"`
	Key       hexBytes `json:"key"`
	Value     hexBytes `json:"value"`
	Headers   []header `json:"headers"`
	Timestamp *int64   `json:"timestamp_ms"`
}

func (o outRecord) record(topic string) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: -1, Key: o.Key, Value: o.Value}
	if o.Partition != nil {
		r.Partition = *o.Partition
	}
	for _, h := range o.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	if o.Timestamp != nil {
		r.Timestamp = time.UnixMilli(*o.Timestamp)
	}
	return r
}

type produceArgs struct {
	Topic   string      `json:"topic"`
	Records []outRecord `json:"records"`
}

type acked struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

// produce answers where each record went, in the order of the request.
func produce(ctx context.Context, s *session, c conn, a produceArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	return produceList(ctx, cl, a)
}

func produceList(ctx context.Context, cl *kgo.Client, a produceArgs) ([]acked, error) {
	records := make([]*kgo.Record, 0, len(a.Records))
	for _, r := range a.Records {
		records = append(records, r.record(a.Topic))
	}
	out := make([]acked, 0, len(records))
	for i, r := range cl.ProduceSync(ctx, records...) {
		if r.Err != nil {
			return nil, fmt.Errorf("topic %s record %d: %w", a.Topic, i, r.Err)
		}
	}
	// ProduceSync's results come in order of completion; the records keep
	// the order of the request.
	for _, r := range records {
		out = append(out, acked{r.Partition, r.Offset})
	}
	return out, nil
}

// bulkArgs describes many records by rule. Record i has the key
// KeyPrefix + (i mod Keys) (none when Keys is 0) and a value that begins with
// "i|" and is filled up to ValueSize.
type bulkArgs struct {
	Topic       string `json:"topic"`
	Start       int64  `json:"start"`
	Count       int64  `json:"count"`
	Keys        int64  `json:"keys"`
	KeyPrefix   string `json:"key_prefix"`
	ValueSize   int    `json:"value_size"`
	Partition   *int32 `json:"partition"`   // all to this one
	RoundRobin  int32  `json:"round_robin"` // record i to partition i mod this
	Compression string `json:"compression"`
	PerSecond   int64  `json:"per_second"` // 0: as fast as it goes
}

type bulkReply struct {
	Acked      int64           `json:"acked"`
	Failed     int64           `json:"failed"`
	FirstError string          `json:"first_error,omitempty"`
	Partitions []bulkPartition `json:"partitions"`
}

type bulkPartition struct {
	Partition int32 `json:"partition"`
	Count     int64 `json:"count"`
	First     int64 `json:"first"`
	Last      int64 `json:"last"`
}

func (a bulkArgs) record(i int64) *kgo.Record {
	r := &kgo.Record{Topic: a.Topic, Partition: -1}
	switch {
	case a.Partition != nil:
		r.Partition = *a.Partition
	case a.RoundRobin > 0:
		r.Partition = int32(i % int64(a.RoundRobin))
	}
	if a.Keys > 0 {
		r.Key = strconv.AppendInt([]byte(a.KeyPrefix), i%a.Keys, 10)
	}
	value := make([]byte, 0, max(a.ValueSize, 24))
	value = strconv.AppendInt(value, i, 10)
	value = append(value, '|')
	// A linear congruential filler: the same for the same i, and not so
	// regular that compression makes every size the same.
	x := uint64(i)
	for len(value) < a.ValueSize {
		x = x*6364136223846793005 + 1442695040888963407
		value = append(value, 'a'+byte(x>>59))
	}
	r.Value = value
	return r
}

func codec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "", "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.CompressionCodec{}, fmt.Errorf("compression %q: known are none, gzip, snappy, lz4, zstd", name)
}

// produceBulk produces with a client of its own, since compression is set by
// client. A record that fails is counted, so that a test that breaks brokers
// meanwhile knows what was acknowledged.
func produceBulk(ctx context.Context, _ *session, c conn, a bulkArgs) (any, error) {
	comp, err := codec(a.Compression)
	if err != nil {
		return nil, err
	}
	cl, err := newClient(c,
		kgo.RecordPartitioner(namedOrHashed{kgo.StickyKeyPartitioner(nil)}),
		kgo.ProducerBatchCompression(comp),
		kgo.ProducerLinger(5*time.Millisecond),
		// The request's limit ends a produce that cannot succeed.
		kgo.UnknownTopicRetries(3),
	)
	if err != nil {
		return nil, err
	}
	defer cl.Close()

	var (
		mu    sync.Mutex
		out   bulkReply
		parts = map[int32]*bulkPartition{}
	)
	done := func(r *kgo.Record, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			out.Failed++
			if out.FirstError == "" {
				out.FirstError = err.Error()
			}
			return
		}
		out.Acked++
		p := parts[r.Partition]
		if p == nil {
			p = &bulkPartition{Partition: r.Partition, First: r.Offset, Last: r.Offset}
			parts[r.Partition] = p
		}
		p.Count++
		p.First, p.Last = min(p.First, r.Offset), max(p.Last, r.Offset)
	}
	start := time.Now()
	for i := a.Start; i < a.Start+a.Count; i++ {
		if a.PerSecond > 0 {
			due := start.Add(time.Duration((i - a.Start) * int64(time.Second) / a.PerSecond))
			if wait := time.Until(due); wait > 0 {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
			}
		}
		if ctx.Err() != nil {
			break
		}
		cl.Produce(ctx, a.record(i), done)
	}
	if err := cl.Flush(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if out.Acked == 0 && a.Count > 0 {
		return nil, fmt.Errorf("topic %s: none of %d records was acknowledged, first error: %s", a.Topic, a.Count, out.FirstError)
	}
	for p := int32(0); len(out.Partitions) < len(parts); p++ {
		if parts[p] != nil {
			out.Partitions = append(out.Partitions, *parts[p])
		}
	}
	return out, nil
}
