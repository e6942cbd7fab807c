package service

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func cluster(t *testing.T) (brokers []string, produce func(topic, value string)) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.SeedTopics(1, "orders.dead"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return c.ListenAddrs(), func(topic, value string) {
		t.Helper()
		r := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServiceFromItsBuildToItsEnd(t *testing.T) {
	brokers, produce := cluster(t)
	produce("orders", "first")
	host := newFakeHost()
	s, err := New(encode(t, valid(brokers...)), host)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil || Code(err) != CodeState {
		t.Fatalf("a second start: %v", err)
	}
	seen := func(n int) func() bool {
		return func() bool { host.mu.Lock(); defer host.mu.Unlock(); return host.records >= n }
	}
	eventually(t, "the first record", seen(1))
	if err := s.Free(); err == nil || Code(err) != CodeState {
		t.Fatalf("freed while running: %v", err)
	}
	if err := s.Pause(-2, true); err == nil || Code(err) != CodeArgument {
		t.Fatalf("partition -2: %v", err)
	}
	if err := s.Pause(77, true); err == nil || Code(err) != CodeState || !strings.Contains(err.Error(), "77") {
		t.Fatalf("partition 77: %v", err)
	}
	text, err := s.Status()
	var status struct {
		State      string           `json:"state"`
		Partitions []map[string]any `json:"partitions"`
		Bandwidth  map[string]any   `json:"bandwidth"`
	}
	if err != nil || json.Unmarshal(text, &status) != nil || status.State != "running" || len(status.Partitions) != 2 || status.Bandwidth == nil {
		t.Fatalf("status %s, %v", text, err)
	}
	produce("orders", "second")
	eventually(t, "the second record", seen(2))
	s.Stop()
	if reason := <-host.ends; reason != "graceful shutdown" {
		t.Fatal(reason)
	}
	if err := s.Free(); err != nil {
		t.Fatal(err)
	}
	if err := s.Pause(-1, true); err == nil || Code(err) != CodeState {
		t.Fatalf("paused after the end: %v", err)
	}
}

func TestDeadLettersThatCannotBeReadAreAnswered(t *testing.T) {
	brokers, _ := cluster(t)
	host := newFakeHost()
	s, err := New(encode(t, valid(brokers...)), host)
	if err != nil {
		t.Fatal(err)
	}
	s.produce(0, 7, []byte("no record at all"))
	head := make([]byte, 40)
	head[0] = 40
	s.produce(0, 8, head)
	s.produce(99, 9, head) // no such topic
	answered := func(token uint64) func() bool {
		return func() bool { host.mu.Lock(); defer host.mu.Unlock(); _, ok := host.produced[token]; return ok }
	}
	for token := uint64(7); token <= 9; token++ {
		eventually(t, "an answer", answered(token))
	}
	host.mu.Lock()
	if host.produced[7] == "" || host.produced[8] != "" || host.produced[9] == "" {
		t.Fatalf("answers: %v", host.produced)
	}
	host.mu.Unlock()
	if err := s.Free(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil || Code(err) != CodeState {
		t.Fatalf("started after its release: %v", err)
	}
}
