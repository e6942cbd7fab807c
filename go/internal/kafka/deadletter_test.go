package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func deadLetters(t *testing.T, config Config, opts ...kgo.Opt) *DeadLetters {
	t.Helper()
	config.DeadLetterTopics = []string{"orders-dead"}
	d := NewDeadLetters(mustParse(t, config), opts...)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Close(ctx)
	})
	return d
}

// outcomes counts calls of done; each record has its own.
type outcomes struct {
	mu   sync.Mutex
	errs map[int]error
	seen map[int]int
	all  sync.WaitGroup
}

func newOutcomes() *outcomes { return &outcomes{errs: make(map[int]error), seen: make(map[int]int)} }

func (o *outcomes) done(id int) func(error) {
	o.all.Add(1)
	return func(err error) {
		o.mu.Lock()
		o.errs[id] = err
		o.seen[id]++
		first := o.seen[id] == 1
		o.mu.Unlock()
		if first {
			o.all.Done()
		}
	}
}

func (o *outcomes) wait(t *testing.T) map[int]error {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		o.all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("records without outcome")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, n := range o.seen {
		if n != 1 {
			t.Errorf("record %d: done was called %d times", id, n)
		}
	}
	return o.errs
}

func readTopic(t *testing.T, brokers []string, topic string, n int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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

func TestDeadLettersArriveAsGiven(t *testing.T) {
	_, config := startCluster(t)
	d := deadLetters(t, config)
	o := newOutcomes()
	d.Produce(0, DeadLetter{Key: []byte("k"), Value: []byte("v"), Headers: []Header{{"a", []byte("1")}, {"a", nil}, {"b", []byte{}}}}, o.done(0))
	d.Produce(0, DeadLetter{Key: []byte{}, Value: nil}, o.done(1))
	d.Produce(0, DeadLetter{Key: nil, Value: []byte{}}, o.done(2))
	for id, err := range o.wait(t) {
		if err != nil {
			t.Errorf("record %d: %v", id, err)
		}
	}
	var got []string
	for _, r := range readTopic(t, config.Brokers, "orders-dead", 3) {
		text := fmt.Sprintf("%q/%v %q/%v", r.Key, r.Key == nil, r.Value, r.Value == nil)
		for _, h := range r.Headers {
			text += fmt.Sprintf(" %s=%q/%v", h.Key, h.Value, h.Value == nil)
		}
		got = append(got, text)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`"k"/false "v"/false a="1"/false a=""/true b=""/false`, `""/false ""/true`, `""/true ""/false`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in:\n%s", want, all)
		}
	}
}

func TestManyDeadLettersKeepTheOrderOfAKey(t *testing.T) {
	_, config := startCluster(t)
	d := deadLetters(t, config, kgo.MaxBufferedRecords(10))
	o := newOutcomes()
	const n = 2000
	for i := range n {
		d.Produce(0, DeadLetter{Key: []byte("same"), Value: fmt.Append(nil, i)}, o.done(i))
	}
	for id, err := range o.wait(t) {
		if err != nil {
			t.Fatalf("record %d: %v", id, err)
		}
	}
	for i, r := range readTopic(t, config.Brokers, "orders-dead", n) {
		if string(r.Value) != fmt.Sprint(i) {
			t.Fatalf("record %d is %s", i, r.Value)
		}
	}
	if d.records != 0 || d.bytes != 0 {
		t.Errorf("%d records and %d bytes are still counted", d.records, d.bytes)
	}
}

func TestRefusedDeadLetters(t *testing.T) {
	cluster, config := startCluster(t)
	d := deadLetters(t, config)
	for _, index := range []int{-1, 1, 64} {
		o := newOutcomes()
		d.Produce(index, DeadLetter{}, o.done(0))
		wantError(t, o.wait(t)[0], CodeArgument, fmt.Sprint(index))
	}
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		answer := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range request.Topics {
			at := kmsg.NewProduceResponseTopic()
			at.Topic, at.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				ap := kmsg.NewProduceResponseTopicPartition()
				ap.Partition, ap.ErrorCode = partition.Partition, kerr.TopicAuthorizationFailed.Code
				at.Partitions = append(at.Partitions, ap)
			}
			answer.Topics = append(answer.Topics, at)
		}
		return answer, nil, true
	})
	o := newOutcomes()
	d.Produce(0, DeadLetter{Value: []byte("v")}, o.done(0))
	wantError(t, o.wait(t)[0], CodeTopic, `dead-letter topic "orders-dead"`, "may not use")
}

func TestATopicThatVanishedIsNamed(t *testing.T) {
	cluster, config := startCluster(t)
	d := deadLetters(t, config, kgo.MetadataMinAge(10*time.Millisecond))
	if err := cluster.DeleteTopic("orders-dead"); err != nil {
		t.Fatal(err)
	}
	o := newOutcomes()
	d.Produce(0, DeadLetter{Value: []byte("v")}, o.done(0))
	wantError(t, o.wait(t)[0], CodeTopic, `dead-letter topic "orders-dead"`, "does not exist")
}

func TestLargeRecordsFollowTheTopicsLimit(t *testing.T) {
	cluster, config := startCluster(t)
	config.DeadLetterTopics = []string{"large", "orders-dead"}
	limit := "4000000"
	if err := cluster.CreateTopic("large", 1, map[string]string{"max.message.bytes": limit}); err != nil {
		t.Fatal(err)
	}
	d := NewDeadLetters(mustParse(t, config), kgo.ProducerBatchCompression(kgo.NoCompression()))
	defer func() { _ = d.Close(t.Context()) }()
	big := make([]byte, 3_000_000)
	o := newOutcomes()
	d.Produce(0, DeadLetter{Value: big}, o.done(0))
	d.Produce(1, DeadLetter{Value: big}, o.done(1))
	results := o.wait(t)
	if results[0] != nil {
		t.Errorf("below the topic's limit of %s: %v", limit, results[0])
	}
	wantError(t, results[1], CodeBroker, `dead-letter topic "orders-dead"`, "max.message.bytes")
}

func TestUnreachableBrokerFailsDeadLettersInTime(t *testing.T) {
	config := testConfig(nil)
	config.Brokers = []string{closedPort(t)}
	d := deadLetters(t, config, kgo.RecordDeliveryTimeout(time.Second))
	d.timeout = time.Second
	o := newOutcomes()
	d.Produce(0, DeadLetter{Value: []byte("v")}, o.done(0))
	wantError(t, o.wait(t)[0], CodeUnreachable, `dead-letter topic "orders-dead"`)
}

func TestAFullBufferRefusesAndCloseFailsTheRest(t *testing.T) {
	config := testConfig(nil)
	config.Brokers = []string{closedPort(t)}
	d := deadLetters(t, config)
	o := newOutcomes()
	big := make([]byte, 32<<20)
	const fit = maxDeadLetterBytes/(32<<20) - 1 // bookkeeping takes the last place
	for i := range fit {
		d.Produce(0, DeadLetter{Value: big}, o.done(i))
	}
	d.Produce(0, DeadLetter{Value: big}, func(err error) {
		wantError(t, err, CodeBroker, "wait for the broker", "not kept")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close without time: %v", err)
	}
	results := o.wait(t)
	for i := range fit {
		wantError(t, results[i], CodeState, "orders-dead")
	}
	d.Produce(0, DeadLetter{}, func(err error) { wantError(t, err, CodeState, "closed") })
	if err := d.Close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestCloseWaitsForAcknowledgements(t *testing.T) {
	_, config := startCluster(t)
	d := deadLetters(t, config)
	o := newOutcomes()
	const n = 500
	for i := range n {
		d.Produce(0, DeadLetter{Value: fmt.Append(nil, i)}, o.done(i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for id, err := range o.wait(t) {
		if err != nil {
			t.Fatalf("record %d: %v", id, err)
		}
	}
}

func TestWithoutARecordNothingConnects(t *testing.T) {
	cluster, config := startCluster(t)
	requests := make(chan kmsg.Request, 1)
	cluster.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		select {
		case requests <- r:
		default:
		}
		return nil, nil, false
	})
	d := deadLetters(t, config)
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if d.client != nil || len(requests) != 0 {
		t.Error("a client was made for nothing")
	}
}

func TestDeadLettersFollowAMovedLeader(t *testing.T) {
	cluster, config := startCluster(t, kfake.NumBrokers(2))
	d := deadLetters(t, config, kgo.MetadataMinAge(10*time.Millisecond))
	o := newOutcomes()
	d.Produce(0, DeadLetter{Key: []byte("k"), Value: []byte("1")}, o.done(0))
	o.wait(t)
	cluster.ShufflePartitionLeaders()
	d.Produce(0, DeadLetter{Key: []byte("k"), Value: []byte("2")}, o.done(1))
	for id, err := range o.wait(t) {
		if err != nil {
			t.Errorf("record %d: %v", id, err)
		}
	}
}
