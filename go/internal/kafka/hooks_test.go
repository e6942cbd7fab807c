package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTrafficOfAConsumer(t *testing.T) {
	_, config := startCluster(t, kfake.NumBrokers(3))
	config.Options = map[string]string{"auto.offset.reset": "earliest", "fetch.max.wait.ms": "50"}
	traffic := NewTraffic()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := Open(ctx, mustParse(t, config), kgo.WithHooks(traffic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := kgo.NewClient(kgo.SeedBrokers(config.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	value := []byte(strings.Repeat("compress me ", 100))
	const perPartition = 10
	for i := range 2 * perPartition {
		if err := producer.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for received := 0; received < 2*perPartition; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		received += fetches.NumRecords()
	}
	if err := traffic.RefreshBrokers(ctx, client, time.Minute); err != nil {
		t.Fatal(err)
	}
	b := traffic.Bandwidth()
	if len(b.Partitions) != 2 || len(b.Brokers) != 3 {
		t.Fatalf("%+v", b)
	}
	for i, p := range b.Partitions {
		if p.Partition != int32(i) || p.ReceivedMessages != perPartition || p.Codec != "gzip" || p.Batches < 1 ||
			p.UncompressedBytes < perPartition*int64(len(value)) || p.CompressedBytes >= p.UncompressedBytes ||
			p.ReceivedBytes != p.CompressedBytes+p.Batches*batchOverhead {
			t.Errorf("%+v", p)
		}
	}
	var received int64
	for i, broker := range b.Brokers {
		if broker.ID != int32(i) || broker.Host != "127.0.0.1" || broker.Port == 0 {
			t.Errorf("%+v", broker)
		}
		received += broker.ReceivedBytes
	}
	if b.ReceivedBytes < received || received == 0 || b.TransmittedBytes == 0 || b.Connects == 0 || b.ConnectErrors != 0 {
		t.Errorf("%+v", b)
	}
	traffic.KeepPartitions([]int32{1})
	if left := traffic.Bandwidth().Partitions; len(left) != 1 || left[0].Partition != 1 {
		t.Errorf("partitions after the loss of one: %+v", left)
	}
}

func TestCountersOfBrokers(t *testing.T) {
	traffic := NewTraffic()
	one, seed := kgo.BrokerMetadata{NodeID: 1}, kgo.BrokerMetadata{NodeID: -2147483648}
	for range 2 {
		traffic.OnBrokerConnect(one, 0, nil, nil)
	}
	traffic.OnBrokerConnect(one, 0, nil, errors.New("refused"))
	traffic.OnBrokerDisconnect(one, nil)
	traffic.OnBrokerWrite(one, 1, 10, 0, 0, nil)
	traffic.OnBrokerRead(one, 1, 20, 0, 0, nil)
	traffic.OnBrokerRead(seed, 3, 5, 0, 0, nil)
	traffic.OnBrokerThrottle(one, 1500*time.Millisecond, true)
	traffic.OnFetchBatchRead(one, "t", 7, kgo.FetchBatchMetrics{NumRecords: 2, UncompressedBytes: 40, CompressedBytes: 30, CompressionType: 9})
	if b := traffic.Bandwidth(); len(b.Brokers) != 0 {
		t.Errorf("brokers before the metadata: %+v", b.Brokers)
	}
	rack := "r1"
	traffic.setBrokers([]kmsg.MetadataResponseBroker{{NodeID: 2, Host: "b", Port: 2}, {NodeID: 1, Host: "a", Port: 1, Rack: &rack}})
	text, err := json.Marshal(traffic.Bandwidth())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"receivedBytes":25,"transmittedBytes":10,"connects":2,"connectErrors":1,"disconnects":1,"throttles":1,"throttledMs":1500,"brokers":[` +
		`{"id":1,"host":"a","port":1,"rack":"r1","receivedBytes":20,"transmittedBytes":10,"connects":2,"disconnects":1,"throttledMs":1500},` +
		`{"id":2,"host":"b","port":2,"rack":"","receivedBytes":0,"transmittedBytes":0,"connects":0,"disconnects":0,"throttledMs":0}],` +
		`"partitions":[{"partition":7,"receivedBytes":91,"receivedMessages":2,"batches":1,"compressedBytes":30,"uncompressedBytes":40,"codec":"unknown"}]}`
	if string(text) != want {
		t.Errorf("snapshot\n%s\ninstead of\n%s", text, want)
	}
	// A broker that left disappears, and starts at zero if it comes back.
	traffic.setBrokers([]kmsg.MetadataResponseBroker{{NodeID: 2, Host: "b", Port: 2}})
	if b := traffic.Bandwidth().Brokers; len(b) != 1 || b[0].ID != 2 {
		t.Errorf("brokers: %+v", b)
	}
	traffic.setBrokers([]kmsg.MetadataResponseBroker{{NodeID: 1, Host: "a", Port: 1}})
	if b := traffic.Bandwidth().Brokers; len(b) != 1 || b[0].ReceivedBytes != 0 {
		t.Errorf("brokers: %+v", b)
	}
}

func TestCountersAreBounded(t *testing.T) {
	traffic := NewTraffic()
	for i := range int32(maxTrackedBrokers + 10) {
		traffic.OnBrokerRead(kgo.BrokerMetadata{NodeID: i}, 1, 1, 0, 0, nil)
	}
	if len(traffic.brokers) != maxTrackedBrokers {
		t.Errorf("%d brokers are tracked", len(traffic.brokers))
	}
}

func TestCountersMayBeUsedAtOnce(t *testing.T) {
	traffic := NewTraffic()
	var running sync.WaitGroup
	const workers, rounds = 4, 500
	for range workers {
		running.Go(func() {
			for i := range rounds {
				traffic.OnFetchBatchRead(kgo.BrokerMetadata{NodeID: 1}, "t", int32(i%8), kgo.FetchBatchMetrics{NumRecords: 1})
				traffic.OnBrokerRead(kgo.BrokerMetadata{NodeID: int32(i % 3)}, 1, 1, 0, 0, nil)
				traffic.Bandwidth()
			}
		})
	}
	running.Wait()
	var records int64
	for _, p := range traffic.Bandwidth().Partitions {
		records += p.ReceivedMessages
	}
	if records != workers*rounds {
		t.Errorf("%d records were counted", records)
	}
}
