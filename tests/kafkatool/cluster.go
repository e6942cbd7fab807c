package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type aclArgs struct {
	Resource  string `json:"resource"` // TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID
	Name      string `json:"name"`
	Pattern   string `json:"pattern"` // LITERAL or PREFIXED
	Principal string `json:"principal"`
	Operation string `json:"operation"`
	Deny      bool   `json:"deny"`
}

// parsed is an aclArgs in the protocol's own types.
type parsed struct {
	resource   kmsg.ACLResourceType
	pattern    kmsg.ACLResourcePatternType
	operation  kmsg.ACLOperation
	permission kmsg.ACLPermissionType
}

func (a aclArgs) parse() (parsed, error) {
	resource, err := kmsg.ParseACLResourceType(a.Resource)
	if err != nil {
		return parsed{}, err
	}
	pattern, err := kmsg.ParseACLResourcePatternType(a.Pattern)
	if err != nil {
		return parsed{}, err
	}
	operation, err := kmsg.ParseACLOperation(a.Operation)
	if err != nil {
		return parsed{}, err
	}
	permission := kmsg.ACLPermissionTypeAllow
	if a.Deny {
		permission = kmsg.ACLPermissionTypeDeny
	}
	return parsed{resource, pattern, operation, permission}, nil
}

func addACL(ctx context.Context, s *session, c conn, a aclArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	p, err := a.parse()
	if err != nil {
		return nil, err
	}
	e := kmsg.NewCreateACLsRequestCreation()
	e.ResourceType, e.ResourceName, e.ResourcePatternType = p.resource, a.Name, p.pattern
	e.Principal, e.Host = a.Principal, "*"
	e.Operation, e.PermissionType = p.operation, p.permission
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, e)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	for _, r := range resp.Results {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, deref(r.ErrorMessage))
		}
	}
	return nil, nil
}

func removeACL(ctx context.Context, s *session, c conn, a aclArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	p, err := a.parse()
	if err != nil {
		return nil, err
	}
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourceName, f.ResourcePatternType = p.resource, &a.Name, p.pattern
	f.Principal = &a.Principal
	f.Operation, f.PermissionType = p.operation, p.permission
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Filters = append(req.Filters, f)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	matched := 0
	for _, r := range resp.Results {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, deref(r.ErrorMessage))
		}
		matched += len(r.MatchingACLs)
	}
	if matched == 0 {
		return nil, fmt.Errorf("no such ACL on %s %s", a.Resource, a.Name)
	}
	return nil, nil
}

type moveLeaderArgs struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	To        int32  `json:"to"`
}

// moveLeader makes a broker the first replica and has it elected. It returns
// once the metadata names it as leader.
func moveLeader(ctx context.Context, s *session, c conn, a moveLeaderArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	where := fmt.Sprintf("topic %s partition %d", a.Topic, a.Partition)
	state, err := partitionState(ctx, cl, a.Topic, a.Partition)
	if err != nil {
		return nil, err
	}
	replicas := []int32{a.To}
	for _, r := range state.Replicas {
		if r != a.To {
			replicas = append(replicas, r)
		}
	}
	if !slices.Contains(state.Replicas, a.To) {
		// The number of replicas stays: the last one makes room.
		replicas = replicas[:len(replicas)-1]
	}
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(a.Topic, a.Partition, replicas)
	resp, err := adm.AlterPartitionAssignments(ctx, req)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	err = eventually(ctx, fmt.Sprintf("broker %d in sync for %s", a.To, where), func() (bool, error) {
		state, err := partitionState(ctx, cl, a.Topic, a.Partition)
		return err == nil && state.Replicas[0] == a.To && len(state.Replicas) == len(replicas) &&
			slices.Contains(state.ISR, a.To), err
	})
	if err != nil {
		return nil, err
	}
	var out partitionReply
	err = eventually(ctx, fmt.Sprintf("broker %d to lead %s", a.To, where), func() (bool, error) {
		out, err = partitionState(ctx, cl, a.Topic, a.Partition)
		if err != nil || out.Leader == a.To {
			return err == nil, err
		}
		return false, elect(ctx, adm, a.Topic, []int32{a.Partition})
	})
	return out, err
}

func partitionState(ctx context.Context, cl *kgo.Client, topic string, partition int32) (partitionReply, error) {
	t, err := topicState(ctx, cl, topic)
	if err != nil {
		return partitionReply{}, err
	}
	for _, p := range t.Partitions {
		if p.Partition == partition {
			return p, nil
		}
	}
	return partitionReply{}, fmt.Errorf("topic %s has no partition %d", topic, partition)
}

// electPreferred gives every partition of a topic back to its first replica.
func electPreferred(ctx context.Context, s *session, c conn, a topicArgs) (any, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	adm := kadm.NewClient(cl)
	var out topicReply
	err = eventually(ctx, "preferred leaders of topic "+a.Topic, func() (bool, error) {
		out, err = topicState(ctx, cl, a.Topic)
		if err != nil {
			return false, err
		}
		var wrong []int32
		for _, p := range out.Partitions {
			if p.Leader != p.Replicas[0] {
				wrong = append(wrong, p.Partition)
			}
		}
		if len(wrong) == 0 {
			return true, nil
		}
		return false, elect(ctx, adm, a.Topic, wrong)
	})
	return out, err
}

// elect asks once. That there is nothing to do is no error.
func elect(ctx context.Context, adm *kadm.Client, topic string, partitions []int32) error {
	set := kadm.TopicsSet{}
	set.Add(topic, partitions...)
	results, err := adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
	if err != nil {
		return err
	}
	for _, byPartition := range results {
		for p, r := range byPartition {
			if r.Err != nil && r.Err != kerr.ElectionNotNeeded {
				return fmt.Errorf("topic %s partition %d: %w", topic, p, r.Err)
			}
		}
	}
	return nil
}
