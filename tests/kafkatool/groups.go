package main

import (
	"context"
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type groupArgs struct {
	Group string `json:"group"`
}

// position is a committed offset.
type position struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Metadata    string `json:"metadata"`
}

// committed answers all committed offsets of a group, by topic and partition.
func committed(ctx context.Context, s *session, c conn, a groupArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	fetched, err := adm.FetchOffsets(ctx, a.Group)
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", a.Group, err)
	}
	if err := fetched.Error(); err != nil {
		return nil, fmt.Errorf("group %s: %w", a.Group, err)
	}
	out := []position{}
	for _, o := range fetched.Sorted() {
		if o.At >= 0 {
			out = append(out, position{o.Topic, o.Partition, o.At, o.LeaderEpoch, o.Metadata})
		}
	}
	return out, nil
}

// commit writes offsets for a group without members.
func commit(ctx context.Context, s *session, c conn, a struct {
	Group   string     `json:"group"`
	Offsets []position `json:"offsets"`
}) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	var os kadm.Offsets
	for _, o := range a.Offsets {
		os.Add(kadm.Offset{Topic: o.Topic, Partition: o.Partition, At: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata})
	}
	if err := adm.CommitAllOffsets(ctx, a.Group, os); err != nil {
		return nil, fmt.Errorf("group %s: %w", a.Group, err)
	}
	return nil, nil
}

func deleteGroup(ctx context.Context, s *session, c conn, a groupArgs) (any, error) {
	adm, err := s.admin(c)
	if err != nil {
		return nil, err
	}
	resp, err := adm.DeleteGroup(ctx, a.Group)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", a.Group, err)
	}
	return nil, nil
}

// groupReply describes a group of any kind in one form.
type groupReply struct {
	Kind     string        `json:"kind"`  // classic, consumer, share, streams; "" when there is no such group
	State    string        `json:"state"` // Kafka's own word; Dead when there is no such group
	Epoch    int32         `json:"epoch"` // -1 for classic groups, which show none
	Assignor string        `json:"assignor"`
	Members  []memberReply `json:"members"` // by member id
}

type memberReply struct {
	ID         string          `json:"id"`
	InstanceID *string         `json:"instance_id"`
	ClientID   string          `json:"client_id"`
	Epoch      int32           `json:"epoch"`
	Subscribed []string        `json:"subscribed"`
	Assigned   []assignedReply `json:"assigned"`
}

// assignedReply names a topic, or a subtopology of a streams group.
type assignedReply struct {
	Name       string  `json:"name"`
	Partitions []int32 `json:"partitions"`
}

// describeGroup finds out the kind of a group, then asks in the way of that
// kind.
func describeGroup(ctx context.Context, s *session, c conn, a groupArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	g, ok := listed[a.Group]
	if !ok {
		return groupReply{State: "Dead", Epoch: -1, Members: []memberReply{}}, nil
	}
	describe := map[string]func(context.Context, *kgo.Client, string) (groupReply, error){
		"classic": classicGroup, "consumer": consumerGroup, "share": shareGroup, "streams": streamsGroup,
	}[normalKind(g.GroupType)]
	if describe == nil {
		return nil, fmt.Errorf("group %s is of kind %q, which kafkatool does not know", a.Group, g.GroupType)
	}
	out, err := describe(ctx, cl, a.Group)
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", a.Group, err)
	}
	out.Kind = normalKind(g.GroupType)
	for i := range out.Members {
		m := &out.Members[i]
		sort.Strings(m.Subscribed)
		sort.Slice(m.Assigned, func(i, j int) bool { return m.Assigned[i].Name < m.Assigned[j].Name })
		for _, t := range m.Assigned {
			sort.Slice(t.Partitions, func(i, j int) bool { return t.Partitions[i] < t.Partitions[j] })
		}
	}
	sort.Slice(out.Members, func(i, j int) bool { return out.Members[i].ID < out.Members[j].ID })
	return out, nil
}

// normalKind is a group type in lower case; brokers write it capitalised.
func normalKind(t string) string {
	switch t {
	case "Classic", "classic", "":
		return "classic"
	case "Consumer", "consumer":
		return "consumer"
	case "Share", "share":
		return "share"
	case "Streams", "streams":
		return "streams"
	}
	return t
}

func classicGroup(ctx context.Context, cl *kgo.Client, group string) (groupReply, error) {
	described, err := kadm.NewClient(cl).DescribeGroups(ctx, group)
	if err != nil {
		return groupReply{}, err
	}
	g := described[group]
	if g.Err != nil {
		return groupReply{}, g.Err
	}
	out := groupReply{State: g.State, Epoch: -1, Assignor: g.Protocol, Members: []memberReply{}}
	for _, m := range g.Members {
		member := memberReply{ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Epoch: -1}
		if join, ok := m.Join.AsConsumer(); ok {
			member.Subscribed = join.Topics
		}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				member.Assigned = append(member.Assigned, assignedReply{t.Topic, t.Partitions})
			}
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}

func consumerGroup(ctx context.Context, cl *kgo.Client, group string) (groupReply, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return groupReply{}, err
	}
	if len(resp.Groups) != 1 {
		return groupReply{}, errNotInAnswer
	}
	g := resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return groupReply{}, err
	}
	out := groupReply{State: g.State, Epoch: g.Epoch, Assignor: g.AssignorName, Members: []memberReply{}}
	for _, m := range g.Members {
		member := memberReply{ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Epoch: m.MemberEpoch, Subscribed: m.SubscribedTopics}
		for _, t := range m.Assignment.TopicPartitions {
			member.Assigned = append(member.Assigned, assignedReply{t.Topic, t.Partitions})
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}

func shareGroup(ctx context.Context, cl *kgo.Client, group string) (groupReply, error) {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return groupReply{}, err
	}
	if len(resp.Groups) != 1 {
		return groupReply{}, errNotInAnswer
	}
	g := resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return groupReply{}, err
	}
	out := groupReply{State: g.GroupState, Epoch: g.GroupEpoch, Assignor: g.Assignor, Members: []memberReply{}}
	for _, m := range g.Members {
		member := memberReply{ID: m.MemberID, ClientID: m.ClientID, Epoch: m.MemberEpoch, Subscribed: m.SubscribedTopicNames}
		for _, t := range m.Assignment.TopicPartitions {
			member.Assigned = append(member.Assigned, assignedReply{t.Topic, t.Partitions})
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}

func streamsGroup(ctx context.Context, cl *kgo.Client, group string) (groupReply, error) {
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return groupReply{}, err
	}
	if len(resp.Groups) != 1 {
		return groupReply{}, errNotInAnswer
	}
	g := resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return groupReply{}, err
	}
	out := groupReply{State: g.State, Epoch: g.Epoch, Assignor: deref(g.AssignorName), Members: []memberReply{}}
	var sources []string
	if g.Topology != nil {
		for _, sub := range g.Topology.Subtopologies {
			sources = append(sources, sub.SourceTopics...)
		}
	}
	for _, m := range g.Members {
		member := memberReply{ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, Epoch: m.MemberEpoch, Subscribed: append([]string(nil), sources...)}
		for _, t := range m.Assignment.ActiveTasks {
			member.Assigned = append(member.Assigned, assignedReply{t.SubtopologyID, t.Partitions})
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}

var errNotInAnswer = fmt.Errorf("not in the broker's answer")
