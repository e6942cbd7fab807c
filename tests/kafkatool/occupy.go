package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// occupy makes a group one of another kind: it joins as a member and does no
// more, so the member stays until its session has timed out.
func occupy(ctx context.Context, s *session, c conn, a struct {
	Group string `json:"group"`
	Topic string `json:"topic"`
	Kind  string `json:"kind"`
}) (any, error) {
	switch a.Kind {
	case "share":
		return nil, occupyShare(ctx, s, c, a.Group, a.Topic)
	case "connect":
		return nil, occupyConnect(ctx, s, c, a.Group)
	}
	return nil, fmt.Errorf("unknown kind %q; known: share, connect", a.Kind)
}

func occupyShare(ctx context.Context, s *session, c conn, group, topic string) error {
	cl, err := s.client(c)
	if err != nil {
		return err
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID = group
	req.MemberID = base64.RawURLEncoding.EncodeToString(id)
	req.SubscribedTopicNames = []string{topic}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

// occupyConnect joins as a worker of Kafka Connect would: the classic protocol
// with another type.
func occupyConnect(ctx context.Context, s *session, c conn, group string) error {
	cl, err := s.client(c)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group = group
	req.SessionTimeoutMillis = 60_000
	req.RebalanceTimeoutMillis = 60_000
	req.ProtocolType = "connect"
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "sessioned"
	protocol.Metadata = []byte{0}
	req.Protocols = append(req.Protocols, protocol)
	for range 2 {
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		err = kerr.ErrorForCode(resp.ErrorCode)
		if !errors.Is(err, kerr.MemberIDRequired) {
			return err
		}
		req.MemberID = resp.MemberID
	}
	return errors.New("the coordinator asks for a member id again and again")
}
