//go:build devbroker

package devbroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func start(t *testing.T, text string) string {
	t.Helper()
	answer, err := Start([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Stop(); err != nil && !errors.Is(err, ErrNotRunning) {
			t.Error(err)
		}
	})
	var parsed struct {
		Bootstrap string `json:"bootstrap"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil || !strings.HasPrefix(parsed.Bootstrap, "127.0.0.1:") {
		t.Fatalf("answer %s: %v", answer, err)
	}
	return parsed.Bootstrap
}

// consume reads n records of a topic from its beginning.
func consume(t *testing.T, bootstrap, topic string, n int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", len(records), n, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

func TestRecordsArriveAsGiven(t *testing.T) {
	bootstrap := start(t, `{"topics":[{"name":"orders","partitions":3}],
		"seed":[{"topic":"orders","partition":2,"key":"k","value":"v","timestamp_ms":1700000000123,
		"headers":[{"name":"a","value":"1"},{"name":"a","value":null},{"name":"b","value":{"base64":"AP8="}}]}]}`)
	if err := Produce([]byte(`[{"topic":"orders","partition":0,"value":{"base64":""}},{"topic":"orders","partition":0,"key":""}]`)); err != nil {
		t.Fatal(err)
	}
	byPartition := make(map[int32][]*kgo.Record)
	for _, r := range consume(t, bootstrap, "orders", 3) {
		byPartition[r.Partition] = append(byPartition[r.Partition], r)
	}
	if len(byPartition[2]) != 1 || len(byPartition[0]) != 2 {
		t.Fatalf("partitions: %v", byPartition)
	}
	seeded := byPartition[2][0]
	if string(seeded.Key) != "k" || string(seeded.Value) != "v" || seeded.Timestamp.UnixMilli() != 1700000000123 {
		t.Errorf("seeded record: %+v", seeded)
	}
	if got := fmt.Sprintf("%q", seeded.Headers); got != `[{"a" "1"} {"a" ""} {"b" "\x00\xff"}]` {
		t.Errorf("headers: %s", got)
	}
	if seeded.Headers[1].Value != nil {
		t.Error("a null header value became an empty one")
	}
	empty, tombstone := byPartition[0][0], byPartition[0][1]
	if empty.Key != nil || empty.Value == nil || len(empty.Value) != 0 {
		t.Errorf("empty value: key %v, value %v", empty.Key, empty.Value)
	}
	if tombstone.Key == nil || len(tombstone.Key) != 0 || tombstone.Value != nil {
		t.Errorf("tombstone: key %v, value %v", tombstone.Key, tombstone.Value)
	}
}

func TestKeysChooseThePartitionAsInKafka(t *testing.T) {
	bootstrap := start(t, `{"topics":[{"name":"keys","partitions":7}]}`)
	reference, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const keys = 50
	for i := range keys {
		key := strings.Repeat("x", i%9) + fmt.Sprint(i)
		if err := Produce(fmt.Appendf(nil, `[{"topic":"keys","key":%q}]`, key)); err != nil {
			t.Fatal(err)
		}
		if err := reference.ProduceSync(ctx, &kgo.Record{Topic: "keys", Key: []byte(key)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	partition := make(map[string]int32)
	for _, r := range consume(t, bootstrap, "keys", 2*keys) {
		if before, ok := partition[string(r.Key)]; ok && before != r.Partition {
			t.Errorf("key %q went to partitions %d and %d", r.Key, before, r.Partition)
		}
		partition[string(r.Key)] = r.Partition
	}
	if len(partition) != keys {
		t.Errorf("%d keys of %d", len(partition), keys)
	}
}

func TestShareGroupsAreOffered(t *testing.T) {
	bootstrap := start(t, `{"topics":[{"name":"work","partitions":1}],"groups":{"g":{"share.auto.offset.reset":"earliest"}}}`)
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "test", "1"
	answer, err := request.RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	offered := make(map[int16]bool)
	for _, api := range answer.ApiKeys {
		offered[api.ApiKey] = true
	}
	for _, key := range []int16{76, 78, 79} {
		if !offered[key] {
			t.Errorf("request %d is not offered", key)
		}
	}
}

func TestOneBrokerAtATimeAndAgainAfterStop(t *testing.T) {
	const text = `{"topics":[{"name":"a","partitions":1}]}`
	start(t, text)
	if _, err := Start([]byte(text)); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("second start: %v", err)
	}
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	if err := Stop(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("second stop: %v", err)
	}
	if err := Produce([]byte(`[]`)); !errors.Is(err, ErrNotRunning) {
		t.Errorf("produce after stop: %v", err)
	}
	start(t, text)
}

func TestBadInputIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                   "invalid JSON",
		`{`:                  "invalid JSON",
		`{}`:                 "no topics",
		`{"topic":[]}`:       "unknown field",
		`{"topics":[]} true`: "something follows",
		`{"topics":[{"name":"","partitions":1}]}`:                                       "1 to 249",
		`{"topics":[{"name":"a","partitions":0}]}`:                                      "partitions",
		`{"topics":[{"name":"a","partitions":10001}]}`:                                  "partitions",
		`{"topics":[{"name":"a","partitions":9000},{"name":"b","partitions":9000}]}`:    "18000 partitions",
		`{"topics":[{"name":"a","partitions":1},{"name":"a","partitions":1}]}`:          "twice",
		`{"topics":[{"name":"a","partitions":1}],"seed":[{"topic":"nowhere"}]}`:         "nowhere",
		`{"topics":[{"name":"a","partitions":1}],"seed":[{"topic":"a","partition":5}]}`: "record 0",
	} {
		if _, err := Start([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start %s: %v", text, err)
			_ = Stop()
		}
	}
	start(t, `{"topics":[{"name":"a","partitions":1}]}`)
	for text, want := range map[string]string{
		`{}`:                                   "invalid JSON",
		`[{"value":"v"}]`:                      "names no topic",
		`[{"topic":"a","partition":-2}]`:       "negative",
		`[{"topic":"a","key":{"hex":""}}]`:     "unknown field",
		`[{"topic":"a","key":{}}]`:             "base64",
		`[{"topic":"a","key":{"base64":"?"}}]`: "base64",
		`[{"topic":"a","key":7}]`:              "invalid JSON",
	} {
		if err := Produce([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("produce %s: %v", text, err)
		}
	}
}
