package kafka

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/llingr/llingr-kafka/go/internal/engine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker with a small offset.metadata.max.bytes refuses the map of finished
// records: the position is committed without it.
func TestMetadataThatIsTooLargeIsLeftOut(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	var mu sync.Mutex
	var asked [][]string // metadata of each request's partitions
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request := r.(*kmsg.OffsetCommitRequest)
		var seen []string
		large := false
		response := request.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range request.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				seen = append(seen, *p.Metadata)
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition = p.Partition
				if len(*p.Metadata) > 10 {
					large = true
					rp.ErrorCode = kerr.OffsetMetadataTooLarge.Code
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			response.Topics = append(response.Topics, rt)
		}
		mu.Lock()
		asked = append(asked, seen)
		mu.Unlock()
		if large {
			return response, nil, true
		}
		return nil, nil, false
	})
	assigned := make(chan struct{}, 1)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} }),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	<-assigned
	member := &Member{topic: "orders", group: "billing"}
	member.client.Store(client)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	failed := member.Commit(ctx, []engine.Commit{
		{Partition: 0, Position: 5, LeaderEpoch: -1, Metadata: "a map that is too large"},
		{Partition: 1, Position: 7, LeaderEpoch: -1, Metadata: "small"},
	})
	if len(failed) != 0 {
		t.Fatalf("failed: %v", failed)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 2 || len(asked[0]) != 2 || len(asked[1]) != 1 || asked[1][0] != "" {
		t.Fatalf("asked with %q", asked)
	}
}
