package main

import (
	"context"
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
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

// brokers lists the live brokers. In KRaft mode a fenced broker is not among
// them, so this is also the test for "ready".
func brokers(ctx context.Context, s *session, c conn, _ none) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	meta, err := adm.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	ids := meta.Brokers.NodeIDs()
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return brokersReply{Cluster: meta.Cluster, Controller: meta.Controller, Nodes: ids}, nil
}

type createTopicArgs struct {
	Topic       string            `json:"topic"`
	Partitions  int32             `json:"partitions"`
	Replication int16             `json:"replication"`
	Replicas    [][]int32         `json:"replicas"` // by partition; replaces the two counts
	Configs     map[string]string `json:"configs"`
}

// createTopic returns once every partition has a leader.
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
	adm := kadm.NewClient(cl)
	var out topicReply
	err = eventually(ctx, "leaders of topic "+a.Topic, func() (bool, error) {
		out, err = topicState(ctx, adm, a.Topic)
		if err != nil || len(out.Partitions) != want {
			return false, err
		}
		for _, p := range out.Partitions {
			if p.Leader < 0 {
				return false, nil
			}
		}
		return true, nil
	})
	return out, err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// deleteTopic returns once the topic is gone from the metadata.
func deleteTopic(ctx context.Context, s *session, c conn, a topicArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	resp, err := adm.DeleteTopic(ctx, a.Topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", a.Topic, err)
	}
	return nil, eventually(ctx, "the end of topic "+a.Topic, func() (bool, error) {
		listed, err := adm.ListTopics(ctx, a.Topic)
		if err != nil {
			return false, err
		}
		return listed[a.Topic].Err == kerr.UnknownTopicOrPartition, nil
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
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	return topicState(ctx, adm, a.Topic)
}

func topicState(ctx context.Context, adm *kadm.Client, topic string) (topicReply, error) {
	listed, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return topicReply{}, err
	}
	t := listed[topic]
	if t.Err != nil {
		return topicReply{}, fmt.Errorf("topic %s: %w", topic, t.Err)
	}
	out := topicReply{ID: t.ID.String()}
	for _, p := range t.Partitions.Sorted() {
		out.Partitions = append(out.Partitions, partitionReply{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR,
		})
	}
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
