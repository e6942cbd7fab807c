package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type none struct{}

type topicArgs struct {
	Topic string `json:"topic"`
}

type brokersReply struct {
	Cluster    string  `json:"cluster"`
	Controller int32   `json:"controller"`
	Nodes      []int32 `json:"nodes"`
}

// metadata asks a broker. kadm answers the same question from a cache, which
// would hide what a test has just done to the cluster.
func metadata(ctx context.Context, cl kmsg.Requestor, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	// Not nil, which would mean all topics.
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	return req.RequestWith(ctx, cl)
}

// brokers lists the live brokers. In KRaft mode a fenced broker is not among
// them, so this is also the test for "ready".
func brokers(ctx context.Context, s *session, c conn, _ none) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	meta, err := metadata(ctx, cl)
	if err != nil {
		return nil, err
	}
	out := brokersReply{Cluster: deref(meta.ClusterID), Controller: meta.ControllerID}
	for _, b := range meta.Brokers {
		out.Nodes = append(out.Nodes, b.NodeID)
	}
	slices.Sort(out.Nodes)
	return out, nil
}

type createTopicArgs struct {
	Topic       string            `json:"topic"`
	Partitions  int32             `json:"partitions"`
	Replication int16             `json:"replication"`
	Replicas    [][]int32         `json:"replicas"` // by partition; replaces the two counts
	Configs     map[string]string `json:"configs"`
}

// createTopic returns once every broker knows a leader of every partition.
func createTopic(ctx context.Context, s *session, c conn, a createTopicArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = a.Topic, a.Partitions, a.Replication
	want := int(a.Partitions)
	if len(a.Replicas) > 0 {
		t.NumPartitions, t.ReplicationFactor = -1, -1
		want = len(a.Replicas)
		for p, replicas := range a.Replicas {
			ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			ra.Partition, ra.Replicas = int32(p), replicas
			t.ReplicaAssignment = append(t.ReplicaAssignment, ra)
		}
	}
	for name, value := range a.Configs {
		tc := kmsg.NewCreateTopicsRequestTopicConfig()
		tc.Name, tc.Value = name, kmsg.StringPtr(value)
		t.Configs = append(t.Configs, tc)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 15000
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	for _, r := range resp.Topics {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("topic %s: %w (%s)", a.Topic, err, deref(r.ErrorMessage))
		}
	}
	err = eventually(ctx, "leaders of topic "+a.Topic, func() (bool, error) {
		return everywhere(ctx, cl, a.Topic, func(t topicReply, err error) (bool, error) {
			if err != nil || len(t.Partitions) != want {
				return false, err
			}
			for _, p := range t.Partitions {
				if p.Leader < 0 {
					return false, nil
				}
			}
			return true, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return topicState(ctx, cl, a.Topic)
}

// everywhere tells whether what each live broker knows of a topic satisfies f.
// Brokers learn of a change one after another, and a test's next question may
// go to any of them.
func everywhere(ctx context.Context, cl *kgo.Client, topic string, f func(topicReply, error) (bool, error)) (bool, error) {
	meta, err := metadata(ctx, cl)
	if err != nil {
		return false, err
	}
	for _, b := range meta.Brokers {
		// One that does not answer is fenced before long, and not listed then.
		one, cancel := context.WithTimeout(ctx, 3*time.Second)
		state, err := topicState(one, cl.Broker(int(b.NodeID)), topic)
		cancel()
		if ok, err := f(state, err); !ok || err != nil {
			return false, err
		}
	}
	return len(meta.Brokers) > 0, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// deleteTopic returns once the topic is gone from every broker's metadata.
func deleteTopic(ctx context.Context, s *session, c conn, a topicArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	resp, err := kadm.NewClient(cl).DeleteTopic(ctx, a.Topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", a.Topic, err)
	}
	return nil, eventually(ctx, "the end of topic "+a.Topic, func() (bool, error) {
		return everywhere(ctx, cl, a.Topic, func(_ topicReply, err error) (bool, error) {
			if errors.Is(err, kerr.UnknownTopicOrPartition) {
				return true, nil
			}
			return false, err
		})
	})
}

type topicReply struct {
	ID         string           `json:"id"`
	Partitions []partitionReply `json:"partitions"`
}

type partitionReply struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
}

func describeTopic(ctx context.Context, s *session, c conn, a topicArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	return topicState(ctx, cl, a.Topic)
}

func topicState(ctx context.Context, cl kmsg.Requestor, topic string) (topicReply, error) {
	meta, err := metadata(ctx, cl, topic)
	if err != nil {
		return topicReply{}, err
	}
	if len(meta.Topics) != 1 {
		return topicReply{}, fmt.Errorf("topic %s: %w", topic, errNotInAnswer)
	}
	t := meta.Topics[0]
	if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
		return topicReply{}, fmt.Errorf("topic %s: %w", topic, err)
	}
	out := topicReply{ID: base64.RawURLEncoding.EncodeToString(t.TopicID[:])}
	for _, p := range t.Partitions {
		out.Partitions = append(out.Partitions, partitionReply{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR,
		})
	}
	sort.Slice(out.Partitions, func(i, j int) bool { return out.Partitions[i].Partition < out.Partitions[j].Partition })
	return out, nil
}

type offsetsArgs struct {
	Topic string `json:"topic"`
	At    string `json:"at"` // start, end (high watermark) or committed (last stable)
}

// offsets answers one offset a partition, in partition order.
func offsets(ctx context.Context, s *session, c conn, a offsetsArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	return listOffsets(ctx, adm, a.At, a.Topic)
}

func listOffsets(ctx context.Context, adm *kadm.Client, at, topic string) ([]int64, error) {
	list := map[string]func(context.Context, ...string) (kadm.ListedOffsets, error){
		"start":     adm.ListStartOffsets,
		"end":       adm.ListEndOffsets,
		"committed": adm.ListCommittedOffsets,
	}[at]
	if list == nil {
		return nil, fmt.Errorf("offsets at %q: known are start, end, committed", at)
	}
	listed, err := list(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := listed.Error(); err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	out := make([]int64, len(listed[topic]))
	for p, o := range listed[topic] {
		if int(p) >= len(out) {
			return nil, fmt.Errorf("topic %s: partition %d is missing from the answer", topic, len(out)-1)
		}
		out[p] = o.Offset
	}
	return out, nil
}

type deleteRecordsArgs struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Before    int64  `json:"before"`
}

func deleteRecords(ctx context.Context, s *session, c conn, a deleteRecordsArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	var os kadm.Offsets
	os.Add(kadm.Offset{Topic: a.Topic, Partition: a.Partition, At: a.Before})
	resp, err := adm.DeleteRecords(ctx, os)
	if err != nil {
		return nil, err
	}
	r, ok := resp.Lookup(a.Topic, a.Partition)
	if !ok {
		return nil, fmt.Errorf("topic %s partition %d: not in the answer", a.Topic, a.Partition)
	}
	return nil, r.Err
}

type alterConfigsArgs struct {
	Kind   string             `json:"kind"` // TOPIC, BROKER, GROUP, CLIENT_METRICS
	Name   string             `json:"name"`
	Values map[string]*string `json:"values"` // null takes the setting back
}

func alterConfigs(ctx context.Context, s *session, c conn, a alterConfigsArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	switch a.Kind {
	case "TOPIC":
		res.ResourceType = kmsg.ConfigResourceTypeTopic
	case "BROKER":
		res.ResourceType = kmsg.ConfigResourceTypeBroker
	case "CLIENT_METRICS":
		res.ResourceType = kmsg.ConfigResourceTypeClientMetrics
	case "GROUP":
		res.ResourceType = kmsg.ConfigResourceTypeGroupConfig
	default:
		return nil, fmt.Errorf("resource kind %q: known are TOPIC, BROKER, GROUP, CLIENT_METRICS", a.Kind)
	}
	res.ResourceName = a.Name
	for name, value := range a.Values {
		entry := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		entry.Name, entry.Value = name, value
		if value == nil {
			entry.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		res.Configs = append(res.Configs, entry)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, res)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("%s %s: %w (%s)", a.Kind, a.Name, err, deref(r.ErrorMessage))
		}
	}
	return nil, nil
}
