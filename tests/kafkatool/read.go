package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type readArgs struct {
	Topic       string `json:"topic"`
	Uncommitted bool   `json:"uncommitted"`
}

// inRecord is a record as it lies in the topic.
type inRecord struct {
	Partition  int32    `json:"partition"`
	Offset     int64    `json:"offset"`
	Timestamp  int64    `json:"timestamp_ms"`
	Key        hexBytes `json:"key"`
	Value      hexBytes `json:"value"`
	Headers    []header `json:"headers"`
	ProducerID int64    `json:"producer_id"`
}

// readIdle is how long a read waits without any record before it takes a
// topic as read: the last offsets of a compacted topic may hold nothing.
const readIdle = 3 * time.Second

// read answers all records of a topic up to the ends that hold when it
// starts, ordered by partition and offset.
func read(ctx context.Context, s *session, c conn, a readArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	at, isolation := "committed", kgo.ReadCommitted()
	if a.Uncommitted {
		at, isolation = "end", kgo.ReadUncommitted()
	}
	ends, err := listOffsets(ctx, adm, at, a.Topic)
	if err != nil {
		return nil, err
	}
	starts, err := listOffsets(ctx, adm, "start", a.Topic)
	if err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	for p, end := range ends {
		if starts[p] < end {
			left[int32(p)] = end
			from[int32(p)] = kgo.NewOffset().At(starts[p])
		}
	}
	out := []inRecord{}
	if len(left) == 0 {
		return out, nil
	}
	cl, err := newClient(c,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{a.Topic: from}),
		kgo.FetchIsolationLevel(isolation),
		kgo.FetchMaxWait(200*time.Millisecond),
		// The markers of transactions tell that an end was reached which
		// holds no record.
		kgo.KeepControlRecords(),
	)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for len(left) > 0 {
		poll, cancel := context.WithTimeout(ctx, readIdle)
		fetches := cl.PollFetches(poll)
		idle := poll.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("topic %s: read %d records, partitions not at their end: %v: %w", a.Topic, len(out), left, ctx.Err())
		}
		if idle && fetches.NumRecords() == 0 {
			break
		}
		if err := fetches.Err(); err != nil && !idle {
			return nil, fmt.Errorf("topic %s: %w", a.Topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, open := left[r.Partition]
			if !open {
				return
			}
			if r.Offset+1 >= end {
				delete(left, r.Partition)
			}
			if r.Offset < end && !r.Attrs.IsControl() {
				out = append(out, received(r))
			}
		})
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Partition != out[j].Partition {
			return out[i].Partition < out[j].Partition
		}
		return out[i].Offset < out[j].Offset
	})
	return out, nil
}

func received(r *kgo.Record) inRecord {
	in := inRecord{
		Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(),
		Key: r.Key, Value: r.Value, Headers: []header{}, ProducerID: r.ProducerID,
	}
	for _, h := range r.Headers {
		in.Headers = append(in.Headers, header{h.Key, h.Value})
	}
	return in
}

// shareOffsets answers the start offset of a share group for each partition
// of a topic; -1 where the group has none yet.
func shareOffsets(ctx context.Context, s *session, c conn, a struct {
	Group string `json:"group"`
	Topic string `json:"topic"`
}) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	state, err := topicState(ctx, cl, a.Topic)
	if err != nil {
		return nil, err
	}
	described, err := kadm.NewClient(cl).DescribeShareGroupOffsets(ctx, a.Group)
	if err != nil {
		return nil, err
	}
	return shareStarts(described, a.Group, a.Topic, len(state.Partitions))
}

func shareStarts(described kadm.DescribedShareGroupsOffsets, group, topic string, partitions int) ([]int64, error) {
	g, ok := described[group]
	if !ok {
		return nil, fmt.Errorf("share group %s: not in the answer", group)
	}
	if g.Err != nil {
		return nil, fmt.Errorf("share group %s: %w", group, g.Err)
	}
	out := make([]int64, partitions)
	for p := range out {
		out[p] = -1
		if o, ok := g.Offsets[topic][int32(p)]; ok {
			if o.Err != nil {
				return nil, fmt.Errorf("share group %s topic %s partition %d: %w", group, topic, p, o.Err)
			}
			out[p] = o.StartOffset
		}
	}
	return out, nil
}
