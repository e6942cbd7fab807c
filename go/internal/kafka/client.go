package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const softwareName = "llingr-kafka"

// softwareVersion is the version of the crate; brokers show it beside the name
// (KIP-511).
const softwareVersion = "0.1.0"

const (
	defaultMaxReadBytes  = 100 << 20
	maxMaxReadBytes      = 1 << 30
	defaultMetadataMinMs = 2500
)

// Open checks the settings against the cluster (Check) and returns a consumer
// (NewConsumer). The consumer begins to join its group at once.
func Open(ctx context.Context, s *Settings, extra ...kgo.Opt) (*kgo.Client, error) {
	if err := Check(ctx, s); err != nil {
		return nil, err
	}
	return NewConsumer(s, extra...)
}

// NewConsumer creates the client that consumes as a member of the group. It
// starts to join at once and reports what fails through its polls. extra
// options come last and win.
func NewConsumer(s *Settings, extra ...kgo.Opt) (*kgo.Client, error) {
	opts := append(s.clientOpts(nil), s.consumerOpts()...)
	return newClient(append(opts, extra...))
}

func newClient(opts []kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, &Error{Code: CodeConfig, Text: "the Kafka client refused its configuration: " + err.Error(), Err: err}
	}
	return client, nil
}

// clientOpts are the options that every client of the settings shares.
func (s *Settings) clientOpts(watch *answerLog) []kgo.Opt {
	d := &dialer{timeout: s.ConnectionSetupTimeout, tls: s.security.tls, watch: watch}
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.ClientID(s.ClientID),
		kgo.SoftwareNameAndVersion(softwareName, softwareVersion),
		kgo.WithLogger(s.log),
		kgo.Dialer(d.dial),
		kgo.ConnIdleTimeout(s.ConnectionsMaxIdle),
		kgo.RequestRetries(s.RequestRetries),
		kgo.MetadataMaxAge(s.MetadataMaxAge),
		kgo.MetadataMinAge(min(defaultMetadataMinMs*time.Millisecond, s.MetadataMaxAge)),
		kgo.BrokerMaxReadBytes(s.maxReadBytes()),
	}
	if s.RetryTimeout > 0 {
		opts = append(opts, kgo.RetryTimeout(s.RetryTimeout))
	}
	if s.security.mechanism != nil {
		opts = append(opts, kgo.SASL(s.security.mechanism))
	}
	if !s.EnableMetricsPush {
		opts = append(opts, kgo.DisableClientMetrics())
	}
	return opts
}

// maxReadBytes bounds one answer. A first batch may exceed fetch.max.bytes, so
// the bound leaves room above it.
func (s *Settings) maxReadBytes() int32 {
	return int32(min(max(2*int64(s.FetchMaxBytes), defaultMaxReadBytes), maxMaxReadBytes))
}

// consumerOpts are those of the group's member.
func (s *Settings) consumerOpts() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumerGroup(s.Group),
		kgo.ConsumeTopics(s.Topic),
		kgo.FetchMinBytes(s.FetchMinBytes),
		kgo.FetchMaxBytes(s.FetchMaxBytes),
		kgo.FetchMaxPartitionBytes(s.FetchMaxPartitionBytes),
		kgo.FetchMaxWait(s.FetchMaxWait),
		kgo.RebalanceTimeout(s.RebalanceTimeout),
		kgo.DisableAutoCommit(),
		kgo.Rack(s.ClientRack),
	}
	if s.ReadUncommitted {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadUncommitted()))
	} else {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	switch s.OffsetReset {
	case ResetEarliest:
		start := kgo.NewOffset().AtStart()
		opts = append(opts, kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(start))
	case ResetNone:
		opts = append(opts, kgo.ConsumeStartOffset(kgo.NewOffset().AtCommitted()), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	default:
		end := kgo.NewOffset().AtEnd()
		opts = append(opts, kgo.ConsumeStartOffset(end), kgo.ConsumeResetOffset(end))
	}
	if !s.CheckCRCs {
		opts = append(opts, kgo.DisableFetchCRCValidation())
	}
	if s.MaxConcurrentFetches > 0 {
		opts = append(opts, kgo.MaxConcurrentFetches(s.MaxConcurrentFetches))
	}
	if s.ClientRack != "" {
		opts = append(opts, kgo.BalanceRacks())
	}
	if s.AllowAutoCreateTopics {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	if s.GroupInstanceID != "" {
		opts = append(opts, kgo.InstanceID(s.GroupInstanceID))
	}
	if s.GroupProtocol == ProtocolConsumer {
		// The sticky balancer stands for the broker's "uniform" assignor.
		return append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	return append(opts, kgo.SessionTimeout(s.SessionTimeout), kgo.HeartbeatInterval(s.HeartbeatInterval), kgo.Balancers(s.balancers()...))
}

// balancers are the assignors in order of preference; Parse has checked the
// names.
func (s *Settings) balancers() []kgo.GroupBalancer {
	var list []kgo.GroupBalancer
	for _, name := range s.AssignmentStrategies {
		switch name {
		case "cooperative-sticky":
			list = append(list, kgo.CooperativeStickyBalancer())
		case "sticky":
			list = append(list, kgo.StickyBalancer())
		case "range":
			list = append(list, kgo.RangeBalancer())
		case "roundrobin":
			list = append(list, kgo.RoundRobinBalancer())
		}
	}
	return list
}
