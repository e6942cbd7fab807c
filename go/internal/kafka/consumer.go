package kafka

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llingr/llingr-kafka/go/internal/engine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pollRecords is how many records one poll takes at most. Enough to make the
// price of a poll vanish, few enough that events are handled in between.
const pollRecords = 16384

// Member is the engine's Source: one member of a group on one topic.
type Member struct {
	settings *Settings
	traffic  *Traffic
	topic    string
	group    string
	client   atomic.Pointer[kgo.Client] // made by the polling goroutine, used by others
	sink     *engine.Engine
	closing  sync.Once

	// polling is held from a poll's start until its records are taken. An
	// assignment waits for it, so that what was polled before cannot slip into
	// an ownership that begins after. A revoke does not wait: what is polled
	// meanwhile of a partition that was given up finds no assignment, and the
	// others go on during the drain.
	polling   sync.Mutex
	cancel    atomic.Pointer[context.CancelFunc] // of the poll under way
	assigning atomic.Int32                       // assignments that wait for it

	headers []engine.Header // scratch of the polling goroutine
}

// NewMember returns a member that joins when it is first polled.
func NewMember(s *Settings, t *Traffic) *Member {
	return &Member{settings: s, traffic: t, topic: s.Topic, group: s.Group}
}

// join makes the client, which becomes a member of the group by itself.
func (c *Member) join(sink *engine.Engine) error {
	c.sink = sink
	cl, err := NewConsumer(c.settings,
		kgo.WithHooks(c.traffic),
		kgo.WithPools(&fetchPools{}),
		kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, m map[string][]int32) {
			c.client.Store(cl) // a callback can come before NewConsumer returned
			c.assigned(sink, m[c.topic])
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, cl *kgo.Client, m map[string][]int32) {
			c.client.Store(cl) // a callback can come before NewConsumer returned
			sink.Revoke(m[c.topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, cl *kgo.Client, m map[string][]int32) {
			c.client.Store(cl) // a callback can come before NewConsumer returned
			sink.Lose(m[c.topic])
		}),
		kgo.OnOffsetsFetched(func(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
			c.offsetsFetched(resp)
			return nil
		}),
	)
	if err != nil {
		return err
	}
	c.client.Store(cl)
	return nil
}

// assigned interrupts the poll under way and takes the partitions over between
// two polls. The client fetches them only afterwards.
func (c *Member) assigned(sink *engine.Engine, partitions []int32) {
	c.assigning.Add(1)
	if cancel := c.cancel.Load(); cancel != nil {
		(*cancel)()
	}
	c.polling.Lock()
	defer c.polling.Unlock()
	c.assigning.Add(-1)
	sink.Assign(partitions)
}

func (c *Member) offsetsFetched(resp *kmsg.OffsetFetchResponse) {
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					continue
				}
				metadata := ""
				if p.Metadata != nil {
					metadata = *p.Metadata
				}
				c.sink.Committed(p.Partition, p.Offset, metadata)
			}
		}
	}
}

// Poll implements engine.Source.
func (c *Member) Poll(ctx context.Context, sink *engine.Engine) error {
	cl := c.client.Load()
	if cl == nil {
		if err := c.join(sink); err != nil {
			return err
		}
		cl = c.client.Load()
	}
	c.polling.Lock()
	defer c.polling.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.cancel.Store(&cancel)
	if c.assigning.Load() > 0 {
		return nil // it may have missed this poll's cancel: let it go first
	}
	fetches := cl.PollRecords(ctx, pollRecords)
	if fetches.IsClientClosed() {
		return errors.New("the Kafka client was closed")
	}
	var failure error
	failed := false
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if failure != nil {
			return
		}
		if errors.Is(p.Err, context.Canceled) {
			return // the poll was interrupted
		}
		if p.Err != nil {
			failed = true
			failure = c.fetchFailed(ctx, p.Topic, p.Partition, p.Err)
			return
		}
		failure = c.take(&p)
	})
	if failed && failure == nil && fetches.NumRecords() == 0 {
		// Some errors come back at once: do not spin.
		select {
		case <-ctx.Done():
		case <-time.After(c.settings.PollErrorBackoff):
		}
	}
	return failure
}

func (c *Member) take(p *kgo.FetchTopicPartition) error {
	in := c.sink.Begin(p.Partition, p.HighWatermark)
	if in == nil {
		return nil
	}
	for _, r := range p.Records {
		var headers []engine.Header
		if len(r.Headers) > 0 {
			headers = c.headers[:0]
			for i := range r.Headers {
				headers = append(headers, engine.Header{Key: r.Headers[i].Key, Value: r.Headers[i].Value})
			}
			c.headers = headers
		}
		kind := uint32(engine.TimestampNone)
		switch r.Attrs.TimestampType() {
		case 0:
			kind = engine.TimestampCreate
		case 1:
			kind = engine.TimestampLogAppend
		}
		if err := in.Add(r.Offset, r.Timestamp.UnixMilli(), kind, r.LeaderEpoch, r.Key, r.Value, headers); err != nil {
			return err
		}
		r.Recycle() // copied
	}
	return in.End()
}

// fetchFailed sorts the errors that a poll reports; what it returns is final.
func (c *Member) fetchFailed(ctx context.Context, topic string, partition int32, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	var loss *kgo.ErrDataLoss
	if errors.As(err, &loss) {
		c.sink.Restart(partition, err)
		return nil
	}
	var session *kgo.ErrGroupSession
	if errors.As(err, &session) {
		if finalForGroup(session.Err) {
			return Classify(session.Err, Where{Group: c.group, Topic: c.topic})
		}
		c.sink.GroupFailed(session.Err)
		return nil
	}
	if topic == "" {
		c.sink.GroupFailed(err)
		return nil
	}
	c.sink.FetchFailed(partition, err)
	return nil
}

// finalForGroup says whether joining again cannot help: the group or this
// member's settings have to change first.
func finalForGroup(err error) bool {
	for _, final := range []error{
		kerr.InconsistentGroupProtocol, // other members speak other assignors or another protocol
		kerr.GroupAuthorizationFailed,
		kerr.TopicAuthorizationFailed,
		kerr.InvalidSessionTimeout,
		kerr.InvalidGroupID,
		kerr.GroupMaxSizeReached,
		kerr.FencedInstanceID, // another process took this group.instance.id
		kerr.UnreleasedInstanceID,
		kerr.GroupIDNotFound, // a join makes the group unless it is one of another kind
		kerr.UnsupportedAssignor,
		kerr.UnsupportedVersion,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// Pause implements engine.Source.
func (c *Member) Pause(partitions []int32) {
	if cl := c.client.Load(); cl != nil {
		cl.PauseFetchPartitions(map[string][]int32{c.topic: partitions})
	}
}

// Resume implements engine.Source.
func (c *Member) Resume(partitions []int32) {
	if cl := c.client.Load(); cl != nil {
		cl.ResumeFetchPartitions(map[string][]int32{c.topic: partitions})
	}
}

// Commit implements engine.Source. Metadata that the broker finds too large is
// left out, and the position committed without it.
func (c *Member) Commit(ctx context.Context, commits []engine.Commit) map[int32]error {
	failed := c.commit(ctx, commits)
	var bare []engine.Commit
	for _, cm := range commits {
		if cm.Metadata != "" && errors.Is(failed[cm.Partition], kerr.OffsetMetadataTooLarge) {
			cm.Metadata = ""
			bare = append(bare, cm)
			delete(failed, cm.Partition)
		}
	}
	if len(bare) > 0 {
		for p, err := range c.commit(ctx, bare) {
			failed[p] = err
		}
	}
	return failed
}

func (c *Member) commit(ctx context.Context, commits []engine.Commit) map[int32]error {
	offsets := make(map[int32]kgo.EpochOffset, len(commits))
	metadata := make(map[int32]string, len(commits))
	for _, cm := range commits {
		offsets[cm.Partition] = kgo.EpochOffset{Epoch: cm.LeaderEpoch, Offset: cm.Position}
		metadata[cm.Partition] = cm.Metadata
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				text := metadata[p.Partition]
				p.Metadata = &text
			}
		}
		return nil
	})
	failed := map[int32]error{}
	c.client.Load().CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				for p := range offsets {
					failed[p] = err
				}
				return
			}
			answered := 0
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					answered++
					if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
						failed[p.Partition] = e
					}
				}
			}
			if answered == 0 {
				for p := range offsets {
					failed[p] = errors.New("the broker's answer names no partition")
				}
			}
		})
	return failed
}

// Leave implements engine.Source.
func (c *Member) Leave(ctx context.Context) error {
	cl := c.client.Load()
	if cl == nil {
		return nil
	}
	return cl.LeaveGroupContext(ctx)
}

// Close implements engine.Source. The engine has drained before or does not
// want to.
func (c *Member) Close() {
	if cl := c.client.Load(); cl != nil {
		// A second close of the client would start a goroutine that leaves the
		// group again, and nobody would wait for it.
		c.closing.Do(cl.Close)
	}
}

// brokersMaxAge is how old the list of brokers in Bandwidth may be.
const brokersMaxAge = time.Minute

// Bandwidth returns what went over the network. The list of brokers comes from
// the client's metadata and may be a minute old.
func (c *Member) Bandwidth() Bandwidth {
	if cl := c.client.Load(); cl != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// Without an answer the counters are shown without their brokers.
		_ = c.traffic.RefreshBrokers(ctx, cl, brokersMaxAge)
	}
	return c.traffic.Bandwidth()
}
