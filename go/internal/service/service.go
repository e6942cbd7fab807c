// Package service puts the engine together from its JSON configuration: Kafka
// settings, consumer, dead-letter producer and host. It is what the boundary's
// exports call.
package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"github.com/llingr/llingr-kafka/go/internal/engine"
	"github.com/llingr/llingr-kafka/go/internal/kafka"
)

// Host is what the service needs of the process that hosts it.
type Host interface {
	engine.Host
	Produced(token uint64, code int32, text string)
	HasToken() bool
	Token() ([]byte, error)
}

// config is the JSON of llingr_engine_new; docs/boundary.md describes it.
type config struct {
	Brokers          []string          `json:"brokers"`
	Topic            string            `json:"topic"`
	Group            string            `json:"group"`
	Options          map[string]string `json:"options"`
	DeadLetterTopics []string          `json:"deadLetterTopics"`
	Engine           engineConfig      `json:"engine"`
}

type engineConfig struct {
	MaxHeldRecords      uint64 `json:"maxHeldRecords"`
	MaxHeldBytes        uint64 `json:"maxHeldBytes"`
	PartitionRecords    uint64 `json:"maxHeldRecordsPerPartition"`
	PartitionBytes      uint64 `json:"maxHeldBytesPerPartition"`
	PartitionSpan       uint64 `json:"maxRunAheadPerPartition"`
	CommitIntervalMs    int64  `json:"commitIntervalMs"`
	DrainTimeoutMs      int64  `json:"drainTimeoutMs"`
	AssignmentTimeoutMs int64  `json:"assignmentTimeoutMs"`
	CommitMetadata      bool   `json:"commitMetadata"`
	MemoryLimitBytes    int64  `json:"memoryLimitBytes"`
}

// openTimeout bounds llingr_engine_new as a whole.
const openTimeout = 60 * time.Second

// Service is one engine with all that belongs to it.
type Service struct {
	host    Host
	engine  *engine.Engine
	traffic *kafka.Traffic
	member  *kafka.Member
	letters *kafka.DeadLetters
}

// New reads the configuration, connects and checks what can be checked before
// the group is joined.
func New(text []byte, host Host) (*Service, error) {
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	kc := kafka.Config{
		Brokers: c.Brokers, Topic: c.Topic, Group: c.Group,
		Options: c.Options, DeadLetterTopics: c.DeadLetterTopics,
		DrainTimeout: ms(c.Engine.DrainTimeoutMs),
		Log:          host,
	}
	if host.HasToken() {
		kc.TokenSource = func(context.Context) (kafka.Token, error) { return token(host) }
	}
	settings, err := kc.Parse()
	if err != nil {
		return nil, err
	}
	if c.Engine.MemoryLimitBytes > 0 {
		debug.SetMemoryLimit(c.Engine.MemoryLimitBytes)
	}
	s := &Service{host: host, traffic: kafka.NewTraffic()}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if err := kafka.Check(ctx, settings); err != nil {
		return nil, err
	}
	s.member = kafka.NewMember(settings, s.traffic)
	s.engine = engine.New(engine.Config{
		Bounds: engine.Bounds{
			Records: c.Engine.MaxHeldRecords, Bytes: c.Engine.MaxHeldBytes,
			PartitionRecords: c.Engine.PartitionRecords, PartitionBytes: c.Engine.PartitionBytes,
			PartitionSpan: c.Engine.PartitionSpan,
		},
		CommitInterval:    ms(c.Engine.CommitIntervalMs),
		DrainTimeout:      ms(c.Engine.DrainTimeoutMs),
		AssignmentTimeout: ms(c.Engine.AssignmentTimeoutMs),
		FetchErrorBail:    settings.PollErrorBailAfter,
		FetchErrorLog:     settings.PollErrorLogInterval,
		CommitMetadata:    c.Engine.CommitMetadata,
		MetadataLimit:     engine.MetadataMax,
		Topic:             c.Topic,
		Group:             c.Group,
	}, host, s.member)
	if len(c.DeadLetterTopics) > 0 {
		s.letters = kafka.NewDeadLetters(settings)
		s.engine.OnProduce = s.produce
	}
	return s, nil
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func parse(text []byte) (*config, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var c config
	if err := dec.Decode(&c); err != nil {
		return nil, Errorf(CodeConfig, "the engine's configuration is not the JSON expected: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, Errorf(CodeConfig, "the engine's configuration has text after the JSON object")
	}
	switch {
	case len(c.Brokers) == 0:
		return nil, Errorf(CodeConfig, "brokers is empty; give at least one host:port")
	case c.Topic == "":
		return nil, Errorf(CodeConfig, "topic is empty")
	case c.Group == "":
		return nil, Errorf(CodeConfig, "the consumer group is empty")
	}
	return &c, c.Engine.check()
}

func (c *engineConfig) check() error {
	type bound struct {
		name     string
		value    int64
		min, max int64
	}
	const big = math.MaxInt64
	u := func(v uint64) int64 { return int64(min(v, uint64(big))) }
	for _, b := range []bound{
		{"maxHeldRecords", u(c.MaxHeldRecords), 1, 1 << 31},
		{"maxHeldBytes", u(c.MaxHeldBytes), 1, 1 << 40},
		{"maxHeldRecordsPerPartition", u(c.PartitionRecords), 0, 1 << 31},
		{"maxHeldBytesPerPartition", u(c.PartitionBytes), 0, 1 << 40},
		{"maxRunAheadPerPartition", u(c.PartitionSpan), 64, 1 << 30},
		{"commitIntervalMs", c.CommitIntervalMs, 10, 3_600_000},
		{"drainTimeoutMs", c.DrainTimeoutMs, 0, 3_600_000},
		{"assignmentTimeoutMs", c.AssignmentTimeoutMs, 0, 3_600_000},
		{"memoryLimitBytes", c.MemoryLimitBytes, 0, 1 << 44},
	} {
		if b.value < b.min || b.value > b.max {
			return Errorf(CodeConfig, "%s is %d; it must be between %d and %d", b.name, b.value, b.min, b.max)
		}
	}
	return nil
}

func token(host Host) (kafka.Token, error) {
	text, err := host.Token()
	if err != nil {
		return kafka.Token{}, err
	}
	var t struct {
		Token      string            `json:"token"`
		Extensions map[string]string `json:"extensions"`
	}
	if err := json.Unmarshal(text, &t); err != nil || t.Token == "" {
		return kafka.Token{}, errors.New("the token callback's answer has no token")
	}
	return kafka.Token{Token: t.Token, Extensions: t.Extensions}, nil
}

// produce sends one dead letter and tells the host how that ended.
func (s *Service) produce(topic int, token uint64, record []byte) {
	r, err := engine.DecodeRecord(record)
	if err != nil {
		s.host.Produced(token, CodeArgument, err.Error())
		return
	}
	letter := kafka.DeadLetter{Key: r.Key, Value: r.Value}
	if r.Kind != engine.TimestampNone {
		letter.Timestamp = time.UnixMilli(r.TimestampMs)
	}
	for _, h := range r.Headers {
		letter.Headers = append(letter.Headers, kafka.Header{Name: h.Key, Value: h.Value})
	}
	s.letters.Produce(topic, letter, func(err error) {
		if err != nil {
			s.host.Produced(token, Code(err), err.Error())
			return
		}
		s.host.Produced(token, 0, "")
	})
}

// Start joins the group; see engine.Engine.Start.
func (s *Service) Start() error { return s.engine.Start() }

// Stop asks for a graceful end.
func (s *Service) Stop() { s.engine.Stop() }

// Emergency ends at once.
func (s *Service) Emergency(reason string) { s.engine.Emergency(reason) }

// Pause pauses or resumes one partition, or all with -1.
func (s *Service) Pause(partition int32, paused bool) error {
	if partition < -1 {
		return Errorf(CodeArgument, "partition %d does not exist; -1 means all", partition)
	}
	if err := s.engine.Pause(partition, paused); err != nil {
		return Errorf(CodeState, "%w", err)
	}
	return nil
}

// Status describes the engine as JSON.
func (s *Service) Status() ([]byte, error) {
	return json.Marshal(struct {
		engine.Status
		Bandwidth kafka.Bandwidth `json:"bandwidth"`
	}{s.engine.Status(), s.member.Bandwidth()})
}

// freeTimeout bounds the wait for the last calls into the host.
const freeTimeout = 5 * time.Second

// Free releases an engine that has ended or was never started.
func (s *Service) Free() error {
	if s.engine.Running() {
		select {
		case <-s.engine.Done():
		case <-time.After(100 * time.Millisecond):
			return Errorf(CodeState, "the engine is running; stop it first")
		}
	} else {
		s.engine.Discard()
	}
	if s.letters != nil {
		ctx, cancel := context.WithTimeout(context.Background(), freeTimeout)
		defer cancel()
		if err := s.letters.Close(ctx); err != nil {
			return Errorf(CodeState, "%s", fmt.Sprintf("the dead-letter producer did not end: %v", err))
		}
	}
	return nil
}
