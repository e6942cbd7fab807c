//go:build devbroker

package devbroker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// decode reads exactly one JSON value and refuses unknown fields: a misspelt
// one would otherwise silently do nothing.
func decode(text []byte, into any) error {
	if len(text) > maxJSON {
		return fmt.Errorf("%d bytes of JSON: at most %d are allowed", len(text), maxJSON)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: something follows the value")
	}
	return nil
}

type record struct {
	Topic       string   `json:"topic"`
	Partition   *int32   `json:"partition"`
	Key         content  `json:"key"`
	Value       content  `json:"value"`
	Headers     []header `json:"headers"`
	TimestampMs *int64   `json:"timestamp_ms"`
}

type header struct {
	Name  string  `json:"name"`
	Value content `json:"value"`
}

// content is a nullable sequence of bytes.
type content []byte

// UnmarshalJSON reads null, text, or {"base64": "..."}.
func (c *content) UnmarshalJSON(text []byte) error {
	*c = nil
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		*c = append(content{}, s...)
		return nil
	}
	var encoded struct {
		Base64 *string `json:"base64"`
	}
	if err := decode(text, &encoded); err != nil {
		return err
	}
	if encoded.Base64 == nil {
		return errors.New("expected text, null, or an object with base64")
	}
	decoded, err := base64.StdEncoding.DecodeString(*encoded.Base64)
	if err != nil {
		return fmt.Errorf("base64: %w", err)
	}
	*c = append(content{}, decoded...)
	return nil
}

// byKey marks a record whose key decides the partition.
const byKey = -1

func (r *record) build() *kgo.Record {
	built := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Partition: byKey}
	if r.Partition != nil {
		built.Partition = *r.Partition
	}
	if r.TimestampMs != nil {
		built.Timestamp = time.UnixMilli(*r.TimestampMs)
	}
	for _, h := range r.Headers {
		built.Headers = append(built.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return built
}

// partitioner takes the partition that a record asks for, else Kafka's own
// hash of the key, else turns.
type partitioner struct{}

func (partitioner) ForTopic(string) kgo.TopicPartitioner { return &topicPartitioner{} }

type topicPartitioner struct{ turn atomic.Uint32 }

func (*topicPartitioner) RequiresConsistency(*kgo.Record) bool { return true }

func (p *topicPartitioner) Partition(r *kgo.Record, n int) int {
	switch {
	case r.Partition != byKey:
		return int(r.Partition)
	case r.Key != nil:
		return kgo.KafkaHasher(murmur2)(r.Key, n)
	}
	return int((p.turn.Add(1) - 1) % uint32(n))
}

// murmur2 is the hash of keys in Kafka's default partitioner.
func murmur2(key []byte) uint32 {
	const (
		seed  = 0x9747b28c
		m     = 0x5bd1e995
		shift = 24
	)
	h := uint32(seed) ^ uint32(len(key))
	for len(key) >= 4 {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> shift
		k *= m
		h = h*m ^ k
		key = key[4:]
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(key[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}
