// Package kafka is the engine's side of the broker: it turns Kafka's own
// option keys into a configured franz-go client, proves at build time that
// broker, topics and group can be used, produces dead letters, counts the
// traffic and names every failure. It knows nothing of C and nothing of how
// records are processed.
package kafka

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a host may pass in one configuration.
const (
	maxBrokers          = 256
	maxDeadLetterTopics = 64
	maxGroupLen         = 32767 // a Kafka string
)

// Token is an OAUTHBEARER token of the host.
type Token struct {
	Token string
	// Extensions are SASL extensions (KIP-342) to send with the token.
	Extensions map[string]string
}

// Logger receives the log lines of this package and of the client, with the
// levels of include/llingr.h (1 error, 2 warn, 3 info, 4 debug). It must be
// safe for concurrent use and must not block for long.
type Logger interface {
	Log(level int, text string)
}

// Config is what the host asks for, unchecked.
type Config struct {
	Brokers []string // host:port
	Topic   string
	Group   string
	// Options holds Kafka's own keys; options.tsv lists those accepted.
	Options map[string]string
	// DeadLetterTopics are the topics that DeadLetters may produce to, by index.
	DeadLetterTopics []string
	// DrainTimeout is how long a revoke may wait for running handlers;
	// rebalance.timeout.ms must exceed it. 0 leaves that unchecked.
	DrainTimeout time.Duration
	// TokenSource fetches a token from the host; nil unless it has a callback.
	TokenSource func(context.Context) (Token, error)
	// Log receives log lines; nil discards them.
	Log Logger
}

// GroupProtocol is the rebalance protocol of the group.
type GroupProtocol int

const (
	// ProtocolClassic lets the clients assign partitions.
	ProtocolClassic GroupProtocol = iota
	// ProtocolConsumer lets the broker assign partitions (KIP-848).
	ProtocolConsumer
)

// OffsetReset tells where a partition without a valid committed offset starts.
type OffsetReset int

const (
	// ResetLatest starts behind the last record.
	ResetLatest OffsetReset = iota
	// ResetEarliest starts at the oldest record.
	ResetEarliest
	// ResetNone reports an error.
	ResetNone
)

// Settings is a checked configuration. It is immutable and may be shared by
// several clients. Its text form shows no value.
type Settings struct {
	Brokers          []string
	Topic            string
	Group            string
	DeadLetterTopics []string

	ClientID               string
	ClientRack             string
	MetadataMaxAge         time.Duration
	ConnectionSetupTimeout time.Duration
	ConnectionsMaxIdle     time.Duration
	AllowAutoCreateTopics  bool
	RequestRetries         int
	RetryTimeout           time.Duration // 0: the client's own limits
	EnableMetricsPush      bool
	OffsetReset            OffsetReset
	ReadUncommitted        bool
	FetchMinBytes          int32
	FetchMaxBytes          int32
	FetchMaxPartitionBytes int32
	FetchMaxWait           time.Duration
	CheckCRCs              bool
	MaxConcurrentFetches   int           // 0: one for each broker
	PollErrorBailAfter     time.Duration // 0: never
	PollErrorLogInterval   time.Duration
	PollErrorBackoff       time.Duration
	GroupProtocol          GroupProtocol
	GroupInstanceID        string // "": dynamic member
	SessionTimeout         time.Duration
	HeartbeatInterval      time.Duration
	RebalanceTimeout       time.Duration
	AssignmentStrategies   []string

	security *security
	log      *clientLogger
}

// String names the target without any option's value, which might be secret.
func (s *Settings) String() string {
	return fmt.Sprintf("Settings{brokers: %s, topic: %q, group: %q}", strings.Join(s.Brokers, ","), s.Topic, s.Group)
}

// GoString keeps %#v from printing the fields.
func (s *Settings) GoString() string { return s.String() }

// Parse checks the configuration and turns it into settings. Every error has
// CodeConfig and names the key, what is allowed and the remedy. Files named by
// options are read here; nothing is sent.
func (c Config) Parse() (*Settings, error) {
	values, err := newOptionValues(c.Options)
	if err != nil {
		return nil, err
	}
	s := &Settings{Group: c.Group, Topic: c.Topic}
	if s.Brokers, err = parseBrokers(c.Brokers); err != nil {
		return nil, err
	}
	if err := checkTopic("topic", c.Topic); err != nil {
		return nil, err
	}
	if err := checkGroup(c.Group); err != nil {
		return nil, err
	}
	if s.DeadLetterTopics, err = parseDeadLetterTopics(c.DeadLetterTopics, c.Topic); err != nil {
		return nil, err
	}
	s.applyConnection(values)
	s.applyFetching(values)
	s.applyMembership(values)
	if err := s.checkMembership(values, c.DrainTimeout); err != nil {
		return nil, err
	}
	// A partition cannot get more than the whole answer.
	s.FetchMaxPartitionBytes = min(s.FetchMaxPartitionBytes, s.FetchMaxBytes)
	if s.security, err = parseSecurity(values, c.TokenSource); err != nil {
		return nil, err
	}
	s.log = newClientLogger(c.Log, values.text("llingr.client.log.level"), s.security.secrets)
	if key := values.unread(); key != "" {
		return nil, configError("option %s is in the catalogue but has no effect: report this as a bug", key)
	}
	return s, nil
}

func (s *Settings) applyConnection(v *optionValues) {
	s.ClientID = v.text("client.id")
	s.ClientRack = v.text("client.rack")
	s.MetadataMaxAge = v.millis("metadata.max.age.ms")
	s.ConnectionSetupTimeout = v.millis("socket.connection.setup.timeout.ms")
	s.ConnectionsMaxIdle = v.millis("connections.max.idle.ms")
	s.AllowAutoCreateTopics = v.flag("allow.auto.create.topics")
	s.RequestRetries = v.number("llingr.request.retries")
	s.RetryTimeout = v.millis("llingr.retry.timeout.ms")
	s.EnableMetricsPush = v.flag("enable.metrics.push")
}

func (s *Settings) applyFetching(v *optionValues) {
	switch v.text("auto.offset.reset") {
	case "earliest":
		s.OffsetReset = ResetEarliest
	case "none":
		s.OffsetReset = ResetNone
	default:
		s.OffsetReset = ResetLatest
	}
	s.ReadUncommitted = v.text("isolation.level") == "read_uncommitted"
	s.FetchMinBytes = v.number32("fetch.min.bytes")
	s.FetchMaxBytes = v.number32("fetch.max.bytes")
	s.FetchMaxPartitionBytes = v.number32("max.partition.fetch.bytes")
	s.FetchMaxWait = v.millis("fetch.max.wait.ms")
	s.CheckCRCs = v.flag("check.crcs")
	s.MaxConcurrentFetches = v.number("llingr.max.concurrent.fetches")
	s.PollErrorBailAfter = v.millis("llingr.poll.error.bail.after.ms")
	s.PollErrorLogInterval = v.millis("llingr.poll.error.log.interval.ms")
	s.PollErrorBackoff = v.millis("llingr.poll.error.backoff.ms")
}

func (s *Settings) applyMembership(v *optionValues) {
	if v.text("group.protocol") == "consumer" {
		s.GroupProtocol = ProtocolConsumer
	}
	s.GroupInstanceID = v.text("group.instance.id")
	s.SessionTimeout = v.millis("session.timeout.ms")
	s.HeartbeatInterval = v.millis("heartbeat.interval.ms")
	s.RebalanceTimeout = v.millis("rebalance.timeout.ms")
	s.AssignmentStrategies = strings.Split(v.text("partition.assignment.strategy"), ",")
}

func (s *Settings) checkMembership(v *optionValues, drain time.Duration) error {
	if s.GroupProtocol == ProtocolConsumer {
		for _, key := range []string{"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} {
			if v.given(key) {
				return configError("option %s has no meaning with group.protocol=consumer, where the broker decides: remove it", key)
			}
		}
	} else if s.HeartbeatInterval >= s.SessionTimeout {
		return configError("option heartbeat.interval.ms: %d must be less than session.timeout.ms (%d), at best a third of it", s.HeartbeatInterval.Milliseconds(), s.SessionTimeout.Milliseconds())
	}
	if drain > 0 && s.RebalanceTimeout <= drain {
		return configError("option rebalance.timeout.ms: %d must exceed the drain timeout (%d ms): raise it or lower the drain timeout", s.RebalanceTimeout.Milliseconds(), drain.Milliseconds())
	}
	if id := s.GroupInstanceID; id != "" {
		if i := strings.IndexFunc(id, func(r rune) bool { return !isNameRune(r) }); i >= 0 {
			return configError("option group.instance.id: %q contains a character other than letters, digits, '.', '_' and '-'", id)
		}
	}
	return nil
}

func parseBrokers(brokers []string) ([]string, error) {
	var parsed []string
	for _, entry := range brokers {
		for item := range strings.SplitSeq(entry, ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			if err := checkBroker(item); err != nil {
				return nil, err
			}
			if !slices.Contains(parsed, item) {
				parsed = append(parsed, item)
			}
		}
	}
	if len(parsed) == 0 {
		return nil, configError("no brokers: name at least one as host:port")
	}
	if len(parsed) > maxBrokers {
		return nil, configError("%d brokers: name at most %d, the client finds the others", len(parsed), maxBrokers)
	}
	return parsed, nil
}

func checkBroker(broker string) error {
	if strings.Contains(broker, "://") {
		return configError("broker %q: give host:port without a scheme and set security.protocol", clip(broker, 300))
	}
	host, port, err := net.SplitHostPort(broker)
	if err != nil {
		return configError("broker %q: expected host:port, with an IPv6 address in brackets", clip(broker, 300))
	}
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' }) {
		return configError("broker %q: the host name is empty or invalid", clip(broker, 300))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return configError("broker %q: the port must be a number from 1 to 65535", clip(broker, 300))
	}
	return nil
}

func parseDeadLetterTopics(topics []string, source string) ([]string, error) {
	if len(topics) > maxDeadLetterTopics {
		return nil, configError("%d dead-letter topics: at most %d are allowed", len(topics), maxDeadLetterTopics)
	}
	for i, topic := range topics {
		if err := checkTopic("dead-letter topic", topic); err != nil {
			return nil, err
		}
		if topic == source {
			return nil, configError("dead-letter topic %q is the topic that is consumed: its dead letters would come back for ever; name another", topic)
		}
		if slices.Contains(topics[:i], topic) {
			return nil, configError("dead-letter topic %q is named twice", topic)
		}
	}
	return slices.Clone(topics), nil
}

// checkTopic applies Kafka's own rule for names of topics.
func checkTopic(what, topic string) error {
	switch {
	case topic == "":
		return configError("%s: the name is empty", what)
	case len(topic) > 249:
		return configError("%s %q: the name is %d characters long, at most 249 are allowed", what, clip(topic, 64), len(topic))
	case topic == "." || topic == "..":
		return configError("%s %q: this name is not allowed", what, topic)
	case strings.ContainsFunc(topic, func(r rune) bool { return !isNameRune(r) }):
		return configError("%s %q: only letters, digits, '.', '_' and '-' are allowed", what, topic)
	}
	return nil
}

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}

func checkGroup(group string) error {
	switch {
	case group == "":
		return configError("consumer group: the name is empty")
	case len(group) > maxGroupLen:
		return configError("consumer group: the name is %d bytes long, at most %d are allowed", len(group), maxGroupLen)
	case strings.ContainsRune(group, 0):
		return configError("consumer group: the name contains a NUL character: remove it")
	}
	return nil
}

// optionValues holds the checked values by key and notes which were read, so
// that a key which nobody reads is found by a test instead of by a user.
type optionValues struct {
	catalogue *catalogue
	set       map[string]string
	read      map[string]bool
}

func newOptionValues(options map[string]string) (*optionValues, error) {
	list, err := loadCatalogue()
	if err != nil {
		return nil, err
	}
	v := &optionValues{catalogue: list, set: make(map[string]string, len(options)), read: make(map[string]bool)}
	named := make(map[string]string, len(options))
	// In order, so that the same mistake always yields the same message.
	for _, name := range slices.Sorted(maps.Keys(options)) {
		o, err := list.find(name)
		if err != nil {
			return nil, err
		}
		if other, twice := named[o.key]; twice {
			return nil, configError("options %s and %s are two names of the same setting: keep one", other, name)
		}
		named[o.key] = name
		if v.set[o.key], err = o.normalize(options[name]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// given tells whether the host set the key.
func (v *optionValues) given(key string) bool {
	_, ok := v.set[key]
	return ok
}

// text returns the value or the default, "" when neither exists.
func (v *optionValues) text(key string) string {
	v.read[key] = true
	if value, ok := v.set[key]; ok {
		return value
	}
	if o := v.catalogue.byName[key]; o != nil {
		return o.def
	}
	return ""
}

// number reads an int option; normalize has proved that it fits 32 bits, and
// an absent one without default is 0.
func (v *optionValues) number(key string) int {
	n, _ := strconv.Atoi(v.text(key))
	return n
}

func (v *optionValues) number32(key string) int32 { return int32(v.number(key)) }

func (v *optionValues) millis(key string) time.Duration {
	return time.Duration(v.number(key)) * time.Millisecond
}

func (v *optionValues) flag(key string) bool { return v.text(key) == "true" }

// unread returns a set key that nothing has read, or "".
func (v *optionValues) unread() string {
	for _, key := range slices.Sorted(maps.Keys(v.set)) {
		if !v.read[key] {
			return key
		}
	}
	return ""
}
