package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestCodesAreThoseOfTheHeader(t *testing.T) {
	header, err := os.ReadFile("../../../include/llingr.h")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]int32{
		"OK": CodeOK, "ERR_ABI": CodeABI, "ERR_ALREADY": CodeAlready, "ERR_NO_ENGINE": CodeNoEngine,
		"ERR_CONFIG": CodeConfig, "ERR_UNREACHABLE": CodeUnreachable, "ERR_AUTH": CodeAuth,
		"ERR_TOPIC": CodeTopic, "ERR_GROUP": CodeGroup, "ERR_STATE": CodeState,
		"ERR_ARGUMENT": CodeArgument, "ERR_PANIC": CodePanic, "ERR_UNSUPPORTED": CodeUnsupported,
		"ERR_BROKER": CodeBroker,
	}
	levels := map[string]int32{"ERROR": LevelError, "WARN": LevelWarn, "INFO": LevelInfo, "DEBUG": LevelDebug}
	found := 0
	for _, m := range regexp.MustCompile(`#define LLINGR_(OK|ERR_\w+|LOG_\w+) \(?(-?\d+)\)?`).FindAllStringSubmatch(string(header), -1) {
		value, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		code, ok := ours[m[1]]
		if level, isLevel := strings.CutPrefix(m[1], "LOG_"); isLevel {
			code, ok = levels[level]
		}
		if !ok || int(code) != value {
			t.Errorf("LLINGR_%s is %d in the header, %d here (known: %v)", m[1], value, code, ok)
		}
		found++
	}
	if found != len(ours)+len(levels) {
		t.Errorf("%d codes and levels in the header, %d here", found, len(ours)+len(levels))
	}
}

func TestClassify(t *testing.T) {
	message := func(e *kerr.Error, text string) error { return fmt.Errorf("%w: %s", e, text) }
	for _, c := range []struct {
		err   error
		where Where
		code  int32
		text  string
	}{
		{kerr.UnknownTopicOrPartition, Where{Topic: "t", HasPartition: true, Partition: 0}, CodeTopic, `topic "t" partition 0: the topic or partition does not exist (UNKNOWN_TOPIC_OR_PARTITION)`},
		{kerr.TopicAuthorizationFailed, Where{Topic: "t"}, CodeTopic, `topic "t": this user may not use the topic`},
		{&kgo.ErrGroupSession{Err: kerr.GroupAuthorizationFailed}, Where{Group: "g"}, CodeGroup, `group "g": this user may not use the group`},
		{&kgo.ErrGroupSession{Err: kerr.InconsistentGroupProtocol}, Where{Group: "g"}, CodeGroup, "no assignor in common"},
		{&kgo.ErrGroupSession{Err: errors.New("odd")}, Where{Group: "g"}, CodeGroup, "membership ended: odd"},
		{kerr.FencedInstanceID, Where{Group: "g"}, CodeGroup, "group.instance.id"},
		{kerr.InvalidSessionTimeout, Where{Group: "g"}, CodeGroup, "session.timeout.ms"},
		{message(kerr.SaslAuthenticationFailed, "bad token"), Where{Broker: "b:1"}, CodeAuth, "broker b:1: login refused (SASL_AUTHENTICATION_FAILED: bad token)"},
		{kerr.UnsupportedSaslMechanism, Where{}, CodeAuth, "sasl.mechanism"},
		{kerr.KafkaStorageError, Where{Topic: "t"}, CodeBroker, `topic "t": the broker answered (KAFKA_STORAGE_ERROR)`},
		{&kgo.ErrFirstReadEOF{}, Where{Broker: "b:1"}, CodeAuth, "security.protocol"},
		{&kgo.ErrDataLoss{Topic: "t", Partition: 3, ConsumedTo: 9, ResetTo: 4}, Where{}, CodeBroker, "lost records"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "nowhere", IsNotFound: true}}, Where{Broker: "nowhere:1"}, CodeUnreachable, `unknown host "nowhere"`},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, Where{}, CodeUnreachable, "setup.timeout"},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, Where{}, CodeUnreachable, "the connection failed: reset"},
		{&handshakeError{"b:1", io.EOF}, Where{}, CodeAuth, "does not speak TLS"},
		{&handshakeError{"b:1", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}, Where{}, CodeUnreachable, "setup.timeout"},
		{&credentialsError{"AWS", errors.New("none")}, Where{}, CodeAuth, "no credentials from AWS: none"},
		{context.DeadlineExceeded, Where{}, CodeUnreachable, "no answer in time"},
		{context.Canceled, Where{}, CodeState, "cancelled"},
		{kgo.ErrClientClosed, Where{}, CodeState, "closed"},
		{io.ErrUnexpectedEOF, Where{Broker: "b:1"}, CodeUnreachable, "broker b:1: the connection was closed"},
		{errors.New("odd"), Where{Topic: "t", Group: "g"}, CodeBroker, `topic "t", group "g": odd`},
	} {
		e := wantError(t, Classify(fmt.Errorf("wrapped: %w", c.err), c.where), c.code)
		if !errors.Is(e, c.err) {
			t.Errorf("%v: the cause is lost", c.err)
		}
		wantError(t, Classify(c.err, c.where), c.code, c.text)
	}
	if e := Classify(nil, Where{}); e != nil {
		t.Errorf("nil became %v", e)
	}
	original := configError("x")
	if e := Classify(fmt.Errorf("outer: %w", original), Where{Topic: "t"}); e != original {
		t.Errorf("an Error was classified again: %v", e)
	}
}

func TestClipEndsAtACharacter(t *testing.T) {
	for limit := range 8 {
		text, _ := strings.CutSuffix(clip("aäöü€", limit), "...")
		if !utf8.ValidString(text) || len(text) > limit {
			t.Errorf("limit %d: %q", limit, text)
		}
	}
	if text := clip("abc", 3); text != "abc" {
		t.Errorf("a text that fits became %q", text)
	}
}
