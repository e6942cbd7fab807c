package kafka

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchOverhead is the size of a record batch without its records.
const batchOverhead = 61

// maxTrackedBrokers and maxTrackedPartitions bound the counters against a
// broker that answers nonsense.
const (
	maxTrackedBrokers    = 10000
	maxTrackedPartitions = 100000
)

// Codecs of record batches, by their number on the wire.
var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Traffic counts what a client sends and receives. It is a kgo hook (give it
// to kgo.WithHooks) and works per batch, request and connection, never per
// record. Counters only grow; the caller takes differences.
type Traffic struct {
	mu         sync.RWMutex
	partitions map[int32]*partitionTraffic
	brokers    map[int32]*brokerTraffic
	// known is the cluster's present members; nil until RefreshBrokers.
	known map[int32]BrokerInfo

	connects      atomic.Int64
	connectErrors atomic.Int64
	disconnects   atomic.Int64
	received      atomic.Int64
	transmitted   atomic.Int64
	throttled     atomic.Int64 // nanoseconds
	throttles     atomic.Int64
}

type partitionTraffic struct {
	records, batches, compressed, uncompressed atomic.Int64
	codec                                      atomic.Uint32
}

type brokerTraffic struct {
	received, transmitted, connects, disconnects, throttledNanos atomic.Int64
}

var (
	_ kgo.HookBrokerConnect    = (*Traffic)(nil)
	_ kgo.HookBrokerDisconnect = (*Traffic)(nil)
	_ kgo.HookBrokerWrite      = (*Traffic)(nil)
	_ kgo.HookBrokerRead       = (*Traffic)(nil)
	_ kgo.HookBrokerThrottle   = (*Traffic)(nil)
	_ kgo.HookFetchBatchRead   = (*Traffic)(nil)
)

// NewTraffic returns counters that stand at zero.
func NewTraffic() *Traffic {
	return &Traffic{partitions: make(map[int32]*partitionTraffic), brokers: make(map[int32]*brokerTraffic)}
}

// BrokerInfo is a member of the cluster.
type BrokerInfo struct {
	ID   int32  `json:"id"`
	Host string `json:"host"`
	Port int32  `json:"port"`
	Rack string `json:"rack"`
}

// BrokerTraffic counts since the client's start. Bytes are those of the
// protocol, without TLS.
type BrokerTraffic struct {
	BrokerInfo
	ReceivedBytes    int64 `json:"receivedBytes"`
	TransmittedBytes int64 `json:"transmittedBytes"`
	Connects         int64 `json:"connects"`
	Disconnects      int64 `json:"disconnects"`
	ThrottledMs      int64 `json:"throttledMs"`
}

// PartitionTraffic counts since the client's start.
type PartitionTraffic struct {
	Partition int32 `json:"partition"`
	// ReceivedBytes is the size of the batches on the wire.
	ReceivedBytes int64 `json:"receivedBytes"`
	// ReceivedMessages includes the markers of transactions, which are
	// not handed out.
	ReceivedMessages  int64 `json:"receivedMessages"`
	Batches           int64 `json:"batches"`
	CompressedBytes   int64 `json:"compressedBytes"`
	UncompressedBytes int64 `json:"uncompressedBytes"`
	// Codec is that of the last batch: none, gzip, snappy, lz4, zstd, unknown.
	Codec string `json:"codec"`
}

// Bandwidth is a snapshot of all counters.
type Bandwidth struct {
	ReceivedBytes    int64              `json:"receivedBytes"`
	TransmittedBytes int64              `json:"transmittedBytes"`
	Connects         int64              `json:"connects"`
	ConnectErrors    int64              `json:"connectErrors"`
	Disconnects      int64              `json:"disconnects"`
	Throttles        int64              `json:"throttles"`
	ThrottledMs      int64              `json:"throttledMs"`
	Brokers          []BrokerTraffic    `json:"brokers"`
	Partitions       []PartitionTraffic `json:"partitions"`
}

// Bandwidth returns the counters, ordered by id and partition. Brokers are
// those of the last RefreshBrokers; none before it.
func (t *Traffic) Bandwidth() Bandwidth {
	b := Bandwidth{
		ReceivedBytes:    t.received.Load(),
		TransmittedBytes: t.transmitted.Load(),
		Connects:         t.connects.Load(),
		ConnectErrors:    t.connectErrors.Load(),
		Disconnects:      t.disconnects.Load(),
		Throttles:        t.throttles.Load(),
		ThrottledMs:      time.Duration(t.throttled.Load()).Milliseconds(),
		Brokers:          []BrokerTraffic{},
		Partitions:       []PartitionTraffic{},
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for id, info := range t.known {
		one := BrokerTraffic{BrokerInfo: info}
		if c := t.brokers[id]; c != nil {
			one.ReceivedBytes, one.TransmittedBytes = c.received.Load(), c.transmitted.Load()
			one.Connects, one.Disconnects = c.connects.Load(), c.disconnects.Load()
			one.ThrottledMs = time.Duration(c.throttledNanos.Load()).Milliseconds()
		}
		b.Brokers = append(b.Brokers, one)
	}
	for id, c := range t.partitions {
		batches, compressed := c.batches.Load(), c.compressed.Load()
		b.Partitions = append(b.Partitions, PartitionTraffic{
			Partition:         id,
			ReceivedBytes:     compressed + batches*batchOverhead,
			ReceivedMessages:  c.records.Load(),
			Batches:           batches,
			CompressedBytes:   compressed,
			UncompressedBytes: c.uncompressed.Load(),
			Codec:             codecName(c.codec.Load()),
		})
	}
	slices.SortFunc(b.Brokers, func(x, y BrokerTraffic) int { return int(x.ID) - int(y.ID) })
	slices.SortFunc(b.Partitions, func(x, y PartitionTraffic) int { return int(x.Partition) - int(y.Partition) })
	return b
}

func codecName(codec uint32) string {
	if int(codec) < len(codecNames) {
		return codecNames[codec]
	}
	return "unknown"
}

// RefreshBrokers reads the cluster's members from the client's metadata, which
// is fetched when it is older than maxAge. Brokers that have left disappear
// together with their counters. Call it once per collection interval.
func (t *Traffic) RefreshBrokers(ctx context.Context, client *kgo.Client, maxAge time.Duration) error {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{}
	answer, err := client.RequestCachedMetadata(ctx, request, maxAge)
	if err != nil {
		return Classify(err, Where{})
	}
	t.setBrokers(answer.Brokers)
	return nil
}

func (t *Traffic) setBrokers(brokers []kmsg.MetadataResponseBroker) {
	known := make(map[int32]BrokerInfo, min(len(brokers), maxTrackedBrokers))
	for _, b := range brokers[:min(len(brokers), maxTrackedBrokers)] {
		info := BrokerInfo{ID: b.NodeID, Host: b.Host, Port: b.Port}
		if b.Rack != nil {
			info.Rack = *b.Rack
		}
		known[b.NodeID] = info
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = known
	for id := range t.brokers {
		if _, ok := known[id]; !ok {
			delete(t.brokers, id)
		}
	}
}

// KeepPartitions forgets the counters of all partitions but these, so that
// what another member consumes now is not reported for ever.
func (t *Traffic) KeepPartitions(partitions []int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.partitions {
		if !slices.Contains(partitions, id) {
			delete(t.partitions, id)
		}
	}
}

// broker returns the counters of a node, nil for bootstrap addresses, which
// have negative ids and appear under their own ids later.
func (t *Traffic) broker(meta kgo.BrokerMetadata) *brokerTraffic {
	if meta.NodeID < 0 {
		return nil
	}
	return entry(&t.mu, t.brokers, meta.NodeID, maxTrackedBrokers)
}

// entry finds or adds counters; nil beyond the limit.
func entry[T any](mu *sync.RWMutex, all map[int32]*T, id int32, limit int) *T {
	mu.RLock()
	found := all[id]
	mu.RUnlock()
	if found != nil {
		return found
	}
	mu.Lock()
	defer mu.Unlock()
	if found = all[id]; found == nil && len(all) < limit {
		found = new(T)
		all[id] = found
	}
	return found
}

// OnBrokerConnect counts a connection or a failure to make one.
func (t *Traffic) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		t.connectErrors.Add(1)
		return
	}
	t.connects.Add(1)
	if b := t.broker(meta); b != nil {
		b.connects.Add(1)
	}
}

// OnBrokerDisconnect counts the end of a connection.
func (t *Traffic) OnBrokerDisconnect(meta kgo.BrokerMetadata, _ net.Conn) {
	t.disconnects.Add(1)
	if b := t.broker(meta); b != nil {
		b.disconnects.Add(1)
	}
}

// OnBrokerWrite counts the bytes of a request.
func (t *Traffic) OnBrokerWrite(meta kgo.BrokerMetadata, _ int16, bytes int, _, _ time.Duration, _ error) {
	t.transmitted.Add(int64(bytes))
	if b := t.broker(meta); b != nil {
		b.transmitted.Add(int64(bytes))
	}
}

// OnBrokerRead counts the bytes of an answer.
func (t *Traffic) OnBrokerRead(meta kgo.BrokerMetadata, _ int16, bytes int, _, _ time.Duration, _ error) {
	t.received.Add(int64(bytes))
	if b := t.broker(meta); b != nil {
		b.received.Add(int64(bytes))
	}
}

// OnBrokerThrottle counts how long a broker made the client wait.
func (t *Traffic) OnBrokerThrottle(meta kgo.BrokerMetadata, interval time.Duration, _ bool) {
	t.throttles.Add(1)
	t.throttled.Add(int64(interval))
	if b := t.broker(meta); b != nil {
		b.throttledNanos.Add(int64(interval))
	}
}

// OnFetchBatchRead counts a record batch. The client consumes one topic, so
// the partition alone identifies it.
func (t *Traffic) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, partition int32, m kgo.FetchBatchMetrics) {
	p := entry(&t.mu, t.partitions, partition, maxTrackedPartitions)
	if p == nil {
		return
	}
	p.batches.Add(1)
	p.records.Add(int64(m.NumRecords))
	p.compressed.Add(int64(m.CompressedBytes))
	p.uncompressed.Add(int64(m.UncompressedBytes))
	p.codec.Store(uint32(m.CompressionType))
}
