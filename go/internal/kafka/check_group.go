package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Protocol types of classic groups.
const consumerProtocolType = "consumer"

// group proves that this user may join and that the group is not something
// else. Two steps: a description, which names what is wrong, then a question
// that the coordinator answers by its own rules without admitting a member.
func (c *checker) group(ctx context.Context) error {
	where := Where{Group: c.settings.Group}
	err := c.repeat(ctx, coordinatorTries, where, c.describeGroup)
	if err != nil {
		return err
	}
	if c.settings.GroupProtocol == ProtocolConsumer {
		return c.repeat(ctx, coordinatorTries, where, c.askConsumerProtocol)
	}
	return c.repeat(ctx, coordinatorTries, where, c.askClassicProtocol)
}

// coordinatorAgain tells which answers of a coordinator may change by waiting:
// it is being elected, or its log is being read.
func coordinatorAgain(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// groupError classifies a code of a group answer, message included.
func (c *checker) groupError(code int16, message *string) (bool, *Error) {
	err := kerr.ErrorForCode(code)
	if err == nil {
		return false, nil
	}
	again := coordinatorAgain(err)
	if message != nil && *message != "" {
		err = fmt.Errorf("%w: %s", err, printable(*message))
	}
	return again, Classify(err, Where{Group: c.settings.Group})
}

func (c *checker) groupRequestError(err error) (bool, *Error) {
	return coordinatorAgain(err), c.requestError(err, Where{Group: c.settings.Group})
}

func (c *checker) describeGroup(ctx context.Context) (bool, *Error) {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{c.settings.Group}
	request.IncludeAuthorizedOperations = true
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return c.groupRequestError(err)
	}
	if len(answer.Groups) != 1 {
		return true, &Error{Code: CodeGroup, Text: fmt.Sprintf("group %q: the coordinator did not describe it", c.settings.Group)}
	}
	g := &answer.Groups[0]
	if g.ErrorCode == kerr.GroupIDNotFound.Code {
		return c.describeOtherKinds(ctx)
	}
	if again, e := c.groupError(g.ErrorCode, g.ErrorMessage); e != nil {
		return again, e
	}
	if g.AuthorizedOperations != operationsUnknown && g.AuthorizedOperations&mayRead == 0 {
		return false, c.groupDenied()
	}
	if len(g.Members) > 0 && g.ProtocolType != "" && g.ProtocolType != consumerProtocolType {
		return false, c.taken(fmt.Sprintf("by members of another kind (%s)", clip(printable(g.ProtocolType), 64)))
	}
	if g.State == "Dead" {
		// How brokers before 4.0 answer for a group that they do not know.
		return c.describeOtherKinds(ctx)
	}
	return false, nil
}

func (c *checker) taken(by string) *Error {
	return &Error{Code: CodeGroup, Text: fmt.Sprintf("group %q is taken %s: choose another name", c.settings.Group, by)}
}

func (c *checker) groupDenied() *Error {
	return &Error{Code: CodeGroup, Err: kerr.GroupAuthorizationFailed, Text: fmt.Sprintf("group %q: this user may not use the group: grant the right to read it", c.settings.Group)}
}

// describeOtherKinds looks for a share or streams group of that name, which a
// classic description does not see. Brokers without these APIs have no such
// groups, and a failure here is not one of the check: the next step asks the
// coordinator itself.
func (c *checker) describeOtherKinds(ctx context.Context) (bool, *Error) {
	share := kmsg.NewPtrShareGroupDescribeRequest()
	share.GroupIDs = []string{c.settings.Group}
	if answer, err := share.RequestWith(ctx, c.client); err == nil {
		for _, g := range answer.Groups {
			if g.ErrorCode == 0 && g.GroupID == c.settings.Group && g.GroupState != "Dead" {
				return false, c.taken("by a share group")
			}
		}
	}
	streams := kmsg.NewPtrStreamsGroupDescribeRequest()
	streams.Groups = []string{c.settings.Group}
	if answer, err := streams.RequestWith(ctx, c.client); err == nil {
		for _, g := range answer.Groups {
			// An empty streams group gives way to a consumer.
			if g.ErrorCode == 0 && g.Group == c.settings.Group && len(g.Members) > 0 {
				return false, c.taken("by a streams group with members")
			}
		}
	}
	return false, nil
}

// askClassicProtocol begins to join without a member id. The coordinator
// checks right, protocol, assignors and session timeout, then asks to come
// again under the id that it makes up (KIP-394); no rebalance starts, and the
// id is given back at once. Brokers before 2.2 would admit the member, so they
// are not asked.
func (c *checker) askClassicProtocol(ctx context.Context) (bool, *Error) {
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = []string{c.settings.Topic}
	request := kmsg.NewPtrJoinGroupRequest()
	request.Group = c.settings.Group
	request.SessionTimeoutMillis = int32(c.settings.SessionTimeout.Milliseconds())
	request.RebalanceTimeoutMillis = int32(c.settings.RebalanceTimeout.Milliseconds())
	request.ProtocolType = consumerProtocolType
	for _, b := range c.settings.balancers() {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = b.ProtocolName()
		p.Metadata = metadata.AppendTo(nil)
		request.Protocols = append(request.Protocols, p)
	}
	supported, err := c.supports(ctx, request.Key(), 4)
	if err != nil {
		return c.groupRequestError(err)
	}
	if !supported {
		return false, nil
	}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return c.groupRequestError(err)
	}
	if answer.MemberID != "" {
		c.leave(ctx, answer.MemberID)
	}
	if answer.ErrorCode == kerr.MemberIDRequired.Code || answer.ErrorCode == 0 {
		return false, nil
	}
	if answer.ErrorCode == kerr.InconsistentGroupProtocol.Code {
		return false, &Error{Code: CodeGroup, Err: kerr.InconsistentGroupProtocol, Text: fmt.Sprintf(
			"group %q is used with another protocol, or its members know none of the assignors %s: change partition.assignment.strategy or the group",
			c.settings.Group, strings.Join(c.settings.AssignmentStrategies, ", "))}
	}
	return c.groupError(answer.ErrorCode, nil)
}

// leave gives a member id back. A failure is harmless: the coordinator forgets
// the id after the session timeout.
func (c *checker) leave(ctx context.Context, member string) {
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = c.settings.Group
	request.MemberID = member // version 2 and below
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = member
	request.Members = []kmsg.LeaveGroupRequestMember{m}
	_, _ = request.RequestWith(ctx, c.client)
}

// askConsumerProtocol sends the farewell of a member that does not exist. The
// coordinator checks protocol and right before it looks for the member.
func (c *checker) askConsumerProtocol(ctx context.Context) (bool, *Error) {
	const leaving = -1
	request := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	request.Group = c.settings.Group
	request.MemberID = "llingr-check"
	request.MemberEpoch = leaving
	supported, err := c.supports(ctx, request.Key(), 1)
	if err != nil {
		return c.groupRequestError(err)
	}
	if !supported {
		return false, c.noConsumerProtocol()
	}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return c.groupRequestError(err)
	}
	switch kerr.ErrorForCode(answer.ErrorCode) {
	case kerr.UnknownMemberID, kerr.GroupIDNotFound:
		return false, nil
	case kerr.UnsupportedVersion:
		return false, c.noConsumerProtocol()
	}
	return c.groupError(answer.ErrorCode, answer.ErrorMessage)
}

func (c *checker) noConsumerProtocol() *Error {
	return &Error{Code: CodeGroup, Err: kerr.UnsupportedVersion, Text: fmt.Sprintf(
		"group %q: the cluster does not offer group.protocol=consumer (KIP-848, from Kafka 4.0 with group.version 1): use group.protocol=classic", c.settings.Group)}
}

// supports tells whether the cluster's brokers know an API at a version. Any
// broker is asked: during an upgrade the oldest decides, and the worst that a
// wrong yes does is an error of the request itself.
func (c *checker) supports(ctx context.Context, key, version int16) (bool, error) {
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName = softwareName
	request.ClientSoftwareVersion = softwareVersion
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return false, err
	}
	for _, api := range answer.ApiKeys {
		if api.ApiKey == key {
			return api.MaxVersion >= version, nil
		}
	}
	return false, nil
}
