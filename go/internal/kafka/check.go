package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of the check at build.
const (
	// checkTimeout applies when the caller's context has no deadline.
	checkTimeout = 60 * time.Second
	// Repetitions of a request whose answer says "not yet": metadata that has
	// not reached this broker, a coordinator that is being elected.
	topicTries       = 4
	createTries      = 10
	coordinatorTries = 40
	checkBackoff     = 100 * time.Millisecond
	checkBackoffMax  = time.Second
)

// Check proves that the settings work: credentials can be had, a broker
// answers and accepts the login, the topic exists and may be read, dead-letter
// topics exist and may be written, the group may be joined. It joins nothing
// and leaves nothing behind. It ends with ctx, after 60 s at the latest when
// ctx has no deadline; the error names broker, topic or group and the cause.
func Check(ctx context.Context, s *Settings) error {
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		ctx = bounded
	}
	if s.security.prepare != nil {
		if err := s.security.prepare(ctx); err != nil {
			return Classify(err, Where{})
		}
	}
	answers := newAnswerLog()
	// Few repetitions inside the client: this code repeats what may succeed.
	opts := append(s.clientOpts(answers), kgo.RequestRetries(3), kgo.RetryTimeout(s.ConnectionSetupTimeout), kgo.DisableClientMetrics())
	client, err := newClient(opts)
	if err != nil {
		return err
	}
	defer client.Close()
	c := &checker{settings: s, client: client, answers: answers}
	if err := c.brokers(ctx); err != nil {
		return err
	}
	if err := c.topics(ctx); err != nil {
		return err
	}
	return c.group(ctx)
}

type checker struct {
	settings *Settings
	client   *kgo.Client
	answers  *answerLog
}

// brokers succeeds when the first broker does. When all fail, the error names
// each of them; its code is that of the failure that got furthest, because a
// refused login tells more than a closed port.
func (c *checker) brokers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.ConnectionSetupTimeout)
	defer cancel()
	seeds := c.client.SeedBrokers()
	type outcome struct {
		index int
		err   error
	}
	outcomes := make(chan outcome, len(seeds))
	for i, seed := range seeds {
		go func() {
			request := kmsg.NewPtrMetadataRequest()
			request.Topics = []kmsg.MetadataRequestTopic{}
			_, err := seed.Request(ctx, request)
			outcomes <- outcome{i, err}
		}()
	}
	failures := make([]*Error, len(seeds))
	for range seeds {
		o := <-outcomes
		if o.err == nil {
			// The further requests go to the broker that is known to work, not
			// to one that may never answer.
			return c.client.UpdateSeedBrokers(c.settings.Brokers[o.index])
		}
		failures[o.index] = c.brokerError(c.settings.Brokers[o.index], o.err)
	}
	return joinBrokerErrors(failures)
}

// brokerError adds what the first bytes of the answer tell to the error.
func (c *checker) brokerError(addr string, err error) *Error {
	_, refused := errors.AsType[*kerr.Error](err)
	plaintext := c.settings.security.tls == nil
	if protocol := c.answers.foreign(addr, plaintext); protocol != "" && !refused {
		if protocol == "TLS" {
			return &Error{Code: CodeAuth, Err: err, Text: fmt.Sprintf("broker %s: the port expects TLS: set security.protocol to %s", addr, c.settings.protocolWithTLS())}
		}
		return &Error{Code: CodeUnreachable, Err: err, Text: fmt.Sprintf("broker %s: the port speaks %s: check host and port", addr, protocol)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		spoken := "Kafka"
		if !plaintext {
			spoken = "TLS"
		}
		return &Error{Code: CodeUnreachable, Err: err, Text: fmt.Sprintf("broker %s: no answer within socket.connection.setup.timeout.ms (%d): the host is unreachable, or the port does not speak %s", addr, c.settings.ConnectionSetupTimeout.Milliseconds(), spoken)}
	}
	if isHangup(err) && !refused {
		return &Error{Code: CodeAuth, Err: err, Text: fmt.Sprintf("broker %s: %s", addr, c.settings.hangupHint(c.answers.answered(addr)))}
	}
	return Classify(err, Where{Broker: addr, Mechanism: c.settings.mechanismName()})
}

// protocolWithTLS is the security.protocol that adds TLS to the present one.
func (s *Settings) protocolWithTLS() string {
	if s.security.mechanism != nil {
		return protocolSASLSSL
	}
	return protocolSSL
}

// mechanismName is Kafka's name of the login, empty without one.
func (s *Settings) mechanismName() string {
	if s.security.mechanism == nil {
		return ""
	}
	return s.security.mechanism.Name()
}

// isHangup tells whether the other side closed an established connection.
func isHangup(err error) bool {
	if _, failed := errors.AsType[*handshakeError](err); failed {
		return false // has a text of its own
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// hangupHint says what a broker that closes the connection usually misses.
func (s *Settings) hangupHint(answered bool) string {
	secure, login := s.security.tls != nil, s.security.mechanism != nil
	switch {
	case answered && login:
		return "the connection was closed during the login: check sasl.mechanism and the credentials"
	case answered && secure:
		return "the connection was closed at the first request: the listener probably requires a login; set security.protocol to SASL_SSL and sasl.mechanism"
	case answered:
		return "the connection was closed at the first request: the listener probably requires a login; set security.protocol to SASL_PLAINTEXT and sasl.mechanism"
	case secure:
		return "the connection was closed without an answer: check the port and security.protocol"
	}
	return "the connection was closed without an answer: the listener probably requires TLS; set security.protocol to " + s.protocolWithTLS()
}

func joinBrokerErrors(failures []*Error) *Error {
	worst := failures[0]
	texts := make([]string, 0, len(failures))
	for _, f := range failures {
		if worst.Code == CodeUnreachable && f.Code != CodeUnreachable {
			worst = f
		}
		texts = append(texts, f.Text)
	}
	const shown = 4
	if hidden := len(texts) - shown; hidden > 0 {
		texts = append(texts[:shown], fmt.Sprintf("and %d more", hidden))
	}
	return &Error{Code: worst.Code, Text: strings.Join(texts, "; "), Err: worst}
}

// Bits of the authorized operations of a resource (KIP-430).
const (
	mayRead           = 1 << kmsg.ACLOperationRead
	mayWrite          = 1 << kmsg.ACLOperationWrite
	operationsUnknown = -1 << 31 // not told
)

func (c *checker) topics(ctx context.Context) error {
	s := c.settings
	if err := c.topicsUsable(ctx, []string{s.Topic}, s.AllowAutoCreateTopics, mayRead, "topic", "read it"); err != nil {
		return err
	}
	if len(s.DeadLetterTopics) == 0 {
		return nil
	}
	// Never created on the way: a dead-letter topic that appears with default
	// settings where someone misspelt its name loses records unnoticed.
	return c.topicsUsable(ctx, s.DeadLetterTopics, false, mayWrite, "dead-letter topic", "write to it")
}

func (c *checker) topicsUsable(ctx context.Context, topics []string, create bool, operation int32, what, purpose string) error {
	tries := topicTries
	if create {
		tries = createTries
	}
	return c.repeat(ctx, tries, Where{Topic: topics[0]}, func(ctx context.Context) (bool, *Error) {
		request := kmsg.NewPtrMetadataRequest()
		request.AllowAutoTopicCreation = create
		request.IncludeTopicAuthorizedOperations = true
		for _, topic := range topics {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(topic)
			request.Topics = append(request.Topics, t)
		}
		answer, err := request.RequestWith(ctx, c.client)
		if err != nil {
			return false, c.requestError(err, Where{Topic: topics[0]})
		}
		again, e := topicsError(answer, topics, operation, what, purpose)
		if e != nil && create && errors.Is(e.Err, kerr.UnknownTopicOrPartition) {
			e.Text += "; allow.auto.create.topics is set, but the broker did not create it (auto.create.topics.enable, or the right to create)"
		}
		return again, e
	})
}

// topicsError judges one answer; again tells that the error may pass.
func topicsError(answer *kmsg.MetadataResponse, topics []string, operation int32, what, purpose string) (again bool, _ *Error) {
	for _, topic := range topics {
		i := slices.IndexFunc(answer.Topics, func(t kmsg.MetadataResponseTopic) bool { return t.Topic != nil && *t.Topic == topic })
		if i < 0 {
			return true, &Error{Code: CodeTopic, Text: fmt.Sprintf("%s %q: the broker did not describe it", what, topic)}
		}
		t := &answer.Topics[i]
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			missing := errors.Is(err, kerr.UnknownTopicOrPartition)
			e := Classify(err, Where{Topic: topic})
			if missing {
				e = &Error{Code: CodeTopic, Err: err, Text: fmt.Sprintf("%s %q does not exist, or this user may not see it: create it or check its name", what, topic)}
			} else if errors.Is(err, kerr.TopicAuthorizationFailed) {
				e = &Error{Code: CodeTopic, Err: err, Text: fmt.Sprintf("%s %q: this user may not %s: grant the right", what, topic, purpose)}
			}
			return missing || kerr.IsRetriable(err), e
		}
		if t.AuthorizedOperations != operationsUnknown && t.AuthorizedOperations&operation == 0 {
			return false, &Error{Code: CodeTopic, Err: kerr.TopicAuthorizationFailed, Text: fmt.Sprintf("%s %q: this user may not %s: grant the right", what, topic, purpose)}
		}
	}
	return false, nil
}

// repeat runs an attempt until it succeeds, fails for good, or the tries or
// the time are used up; then the last error counts.
func (c *checker) repeat(ctx context.Context, tries int, where Where, attempt func(context.Context) (bool, *Error)) error {
	wait := checkBackoff
	for try := 1; ; try++ {
		again, err := attempt(ctx)
		if err == nil {
			return nil
		}
		if !again || try == tries {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		wait = min(2*wait, checkBackoffMax)
	}
}

// requestError is the failure of a request after a broker had answered: the
// cluster may have told of brokers that cannot be reached from here, as when
// advertised.listeners is wrong.
func (c *checker) requestError(err error, where Where) *Error {
	where.Mechanism = c.settings.mechanismName()
	e := Classify(err, where)
	if e.Code == CodeUnreachable {
		e.Text += "; the bootstrap broker answered, but a broker that it named did not: check advertised.listeners"
	}
	return e
}
