//go:build devbroker

package devbroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Bounds of what one call may ask for.
const (
	maxJSON        = 64 << 20
	maxTopics      = 1000
	maxPartitions  = 10000 // over all topics
	maxRecords     = 1000000
	produceTimeout = 30 * time.Second
)

// ErrNotRunning tells that no broker was started, or that it was stopped.
var ErrNotRunning = errors.New("the embedded broker is not running")

// config is what Start reads.
type config struct {
	Topics []topic `json:"topics"`
	// Groups sets group configurations, such as share.auto.offset.reset.
	Groups map[string]map[string]string `json:"groups"`
	// Seed are records to produce before Start returns.
	Seed []record `json:"seed"`
}

type topic struct {
	Name       string `json:"name"`
	Partitions int32  `json:"partitions"`
}

type instance struct {
	cluster *kfake.Cluster
	client  *kgo.Client
}

func (i *instance) close() {
	i.client.Close()
	i.cluster.Close()
}

// At most one broker runs in a process: the boundary has no handle for more.
var (
	mu      sync.Mutex
	running *instance
)

// Start starts the broker from JSON {"topics": [{"name", "partitions"}],
// "groups": {group: {key: value}}, "seed": [records as in Produce]} and answers
// JSON {"bootstrap": "127.0.0.1:port"}.
func Start(text []byte) ([]byte, error) {
	var c config
	if err := decode(text, &c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		return nil, errors.New("the embedded broker runs already: stop it first")
	}
	i, err := launch(&c)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(map[string]string{"bootstrap": i.cluster.ListenAddrs()[0]})
	if err != nil {
		i.close()
		return nil, err
	}
	running = i
	return answer, nil
}

func launch(c *config) (*instance, error) {
	opts := []kfake.Opt{kfake.NumBrokers(1)}
	for _, t := range c.Topics {
		opts = append(opts, kfake.SeedTopics(t.Partitions, t.Name))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("the embedded broker did not start: %w", err)
	}
	for group, settings := range c.Groups {
		cluster.SetGroupConfigs(group, settings)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cluster.ListenAddrs()...),
		kgo.ClientID("llingr-devbroker"),
		kgo.RecordPartitioner(partitioner{}),
		// The context of produce bounds the time; the client's own delivery
		// timeout would count from the record's timestamp, which may be old.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.UnknownTopicRetries(1),
	)
	if err != nil {
		cluster.Close()
		return nil, err
	}
	i := &instance{cluster, client}
	if err := i.produce(c.Seed); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (c *config) check() error {
	if len(c.Topics) == 0 {
		return errors.New("no topics: name at least one")
	}
	if len(c.Topics) > maxTopics {
		return fmt.Errorf("%d topics: at most %d are allowed", len(c.Topics), maxTopics)
	}
	seen := make(map[string]bool)
	total := 0
	for _, t := range c.Topics {
		if t.Name == "" || len(t.Name) > 249 {
			return fmt.Errorf("topic %q: the name must have 1 to 249 characters", t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("topic %q is named twice", t.Name)
		}
		seen[t.Name] = true
		if t.Partitions < 1 || t.Partitions > maxPartitions {
			return fmt.Errorf("topic %q: %d partitions, allowed are 1 to %d", t.Name, t.Partitions, maxPartitions)
		}
		total += int(t.Partitions)
	}
	if total > maxPartitions {
		return fmt.Errorf("%d partitions in all: at most %d are allowed", total, maxPartitions)
	}
	return nil
}

// Produce produces a JSON array of records {"topic", "partition"?, "key"?,
// "value"?, "headers"?: [{"name", "value"}], "timestamp_ms"?} and returns when
// all are in the log. Key and values are text, {"base64": "..."} or null; an
// absent one is null. Without a partition the key decides, as in Kafka.
func Produce(text []byte) error {
	var records []record
	if err := decode(text, &records); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if running == nil {
		return ErrNotRunning
	}
	return running.produce(records)
}

// Stop ends the broker and drops everything it held.
func Stop() error {
	mu.Lock()
	defer mu.Unlock()
	if running == nil {
		return ErrNotRunning
	}
	running.close()
	running = nil
	return nil
}

func (i *instance) produce(records []record) error {
	if len(records) > maxRecords {
		return fmt.Errorf("%d records: at most %d at a time are allowed", len(records), maxRecords)
	}
	batch := make([]*kgo.Record, len(records))
	for n := range records {
		if records[n].Topic == "" {
			return fmt.Errorf("record %d names no topic", n)
		}
		if p := records[n].Partition; p != nil && *p < 0 {
			return fmt.Errorf("record %d: partition %d is negative", n, *p)
		}
		batch[n] = records[n].build()
	}
	ctx, cancel := context.WithTimeout(context.Background(), produceTimeout)
	defer cancel()
	for n, result := range i.client.ProduceSync(ctx, batch...) {
		if result.Err != nil {
			return fmt.Errorf("record %d for topic %q was not produced: %w", n, result.Record.Topic, result.Err)
		}
	}
	return nil
}
