package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Result codes of the boundary. The numbers are those of include/llingr.h and
// are never reused; a test compares both lists.
const (
	CodeOK          int32 = 0
	CodeABI         int32 = -1
	CodeAlready     int32 = -2
	CodeNoEngine    int32 = -3
	CodeConfig      int32 = -4
	CodeUnreachable int32 = -5
	CodeAuth        int32 = -6
	CodeTopic       int32 = -7
	CodeGroup       int32 = -8
	CodeState       int32 = -9
	CodeArgument    int32 = -10
	CodePanic       int32 = -11
	CodeUnsupported int32 = -12
	CodeBroker      int32 = -13
)

// Error is every failure that leaves this package: a code for programs, a
// text for people that names broker, topic or group and the remedy where one
// is known, and the cause for errors.Is and errors.As. Text never contains a
// secret.
type Error struct {
	Code int32
	Text string
	Err  error
}

func (e *Error) Error() string { return e.Text }

// ResultCode is the number that crosses the boundary.
func (e *Error) ResultCode() int32 { return e.Code }

// Unwrap returns the cause; nil where the failure was found here.
func (e *Error) Unwrap() error { return e.Err }

func configError(format string, args ...any) *Error {
	return &Error{Code: CodeConfig, Text: fmt.Sprintf(format, args...)}
}

// Where tells what an error is about. Empty fields are not mentioned.
type Where struct {
	Broker string // host:port
	Topic  string
	// Partition is mentioned when HasPartition is set: 0 is a valid number.
	Partition    int32
	HasPartition bool
	Group        string
	// Mechanism is that of the login; mentioned when the login is refused.
	Mechanism string
}

// prefix renders the place as the beginning of a message.
func (w Where) prefix() string {
	var parts []string
	if w.Broker != "" {
		parts = append(parts, "broker "+w.Broker)
	}
	if w.Topic != "" {
		if w.HasPartition {
			parts = append(parts, fmt.Sprintf("topic %q partition %d", w.Topic, w.Partition))
		} else {
			parts = append(parts, fmt.Sprintf("topic %q", w.Topic))
		}
	}
	if w.Group != "" {
		parts = append(parts, fmt.Sprintf("group %q", w.Group))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// Classify turns an error of the client, at build or later (a fetch error, a
// group error, a commit error), into an Error. An error that already is one
// comes back unchanged. nil stays nil.
func Classify(err error, where Where) *Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	code, cause := classify(err)
	if where.Mechanism != "" && (errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism)) {
		cause = where.Mechanism + ": " + cause
	}
	return &Error{Code: code, Text: where.prefix() + cause, Err: err}
}

// classify orders the tests from the specific to the general: a TLS alert
// also is a net.OpError, a refused login also ends in a closed connection.
func classify(err error) (int32, string) {
	if broker, ok := errors.AsType[*kerr.Error](err); ok {
		return classifyBroker(broker, err)
	}
	if code, cause, ok := classifyTLS(err); ok {
		return code, cause
	}
	if _, ok := errors.AsType[*credentialsError](err); ok {
		return CodeAuth, err.Error()
	}
	if _, ok := errors.AsType[*kgo.ErrFirstReadEOF](err); ok {
		return CodeAuth, "the broker closed the connection at the first request: the listener probably expects another security.protocol (TLS or SASL) than the one configured"
	}
	if lost, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		return CodeBroker, lost.Error()
	}
	if large, ok := errors.AsType[*kgo.ErrDecompressTooLarge](err); ok {
		return CodeBroker, large.Error()
	}
	if code, cause, ok := classifyNetwork(err); ok {
		return code, cause
	}
	if session, ok := errors.AsType[*kgo.ErrGroupSession](err); ok {
		return CodeGroup, "the membership ended: " + session.Err.Error()
	}
	return CodeBroker, err.Error()
}

// classifyBroker maps Kafka's own error codes. Codes that are not listed are
// other errors of the broker.
func classifyBroker(e *kerr.Error, err error) (int32, string) {
	detail := brokerDetail(e, err)
	switch e {
	case kerr.SaslAuthenticationFailed:
		return CodeAuth, "login refused" + detail + ": check user, password or token"
	case kerr.UnsupportedSaslMechanism:
		return CodeAuth, "the listener does not offer the configured sasl.mechanism" + detail
	case kerr.IllegalSaslState:
		return CodeAuth, "the listener does not expect a SASL login" + detail + ": check security.protocol"
	case kerr.ClusterAuthorizationFailed, kerr.SecurityDisabled, kerr.DelegationTokenAuthDisabled:
		return CodeAuth, "not permitted on this cluster" + detail
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID:
		return CodeTopic, "the topic or partition does not exist" + detail
	case kerr.TopicAuthorizationFailed:
		return CodeTopic, "this user may not use the topic" + detail
	case kerr.InvalidTopicException:
		return CodeTopic, "the name of the topic is invalid" + detail
	case kerr.GroupAuthorizationFailed:
		return CodeGroup, "this user may not use the group" + detail
	case kerr.InconsistentGroupProtocol:
		return CodeGroup, "the group's members use another protocol or no assignor in common with partition.assignment.strategy" + detail
	case kerr.GroupMaxSizeReached:
		return CodeGroup, "the group has reached the broker's group.max.size" + detail
	case kerr.InvalidSessionTimeout:
		return CodeGroup, "session.timeout.ms lies outside of the broker's group.min.session.timeout.ms and group.max.session.timeout.ms" + detail
	case kerr.FencedInstanceID, kerr.UnreleasedInstanceID:
		return CodeGroup, "another member uses the same group.instance.id" + detail
	case kerr.GroupIDNotFound:
		return CodeGroup, "the group is used with another protocol or is one of another kind: change group.protocol or the group" + detail
	case kerr.InvalidGroupID, kerr.UnsupportedAssignor,
		kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.FencedMemberEpoch,
		kerr.UnsupportedVersion:
		if e == kerr.UnsupportedVersion {
			return CodeBroker, "the broker is too old for this request" + detail
		}
		return CodeGroup, "the membership is not valid" + detail
	}
	return CodeBroker, "the broker answered" + detail
}

// brokerDetail renders Kafka's name of the error and, where the broker sent a
// message of its own, that message.
func brokerDetail(e *kerr.Error, err error) string {
	text := strings.TrimSpace(err.Error())
	if text == e.Error() {
		return " (" + e.Message + ")"
	}
	if rest, ok := strings.CutPrefix(text, e.Error()+": "); ok {
		return fmt.Sprintf(" (%s: %s)", e.Message, clip(rest, 300))
	}
	return fmt.Sprintf(" (%s)", clip(text, 400))
}

func classifyTLS(err error) (int32, string, bool) {
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return CodeAuth, fmt.Sprintf("TLS: the broker's certificate is not signed by a known authority (%v): check ssl.ca.location or ssl.ca.pem", e), true
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return CodeAuth, fmt.Sprintf("TLS: the broker's certificate is for another host (%v): use the name in the certificate, or ssl.endpoint.identification.algorithm=none", e), true
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return CodeAuth, fmt.Sprintf("TLS: the broker's certificate is not valid (%v)", e), true
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return CodeAuth, fmt.Sprintf("TLS: the broker's certificate was refused (%v)", e.Err), true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return CodeAuth, "TLS: the port does not speak TLS: check security.protocol and the port", true
	}
	// Since TLS 1.3 the server judges the client's certificate after the
	// client's handshake has ended, so its alert may come with the first read.
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return CodeAuth, fmt.Sprintf("TLS: the broker refused the handshake (%v): check the client certificate and its authority", e), true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return CodeAuth, fmt.Sprintf("TLS: the broker refused the connection (%v): check ssl.certificate and ssl.key, and that the broker trusts their authority", e.Err), true
	}
	if e, ok := errors.AsType[*handshakeError](err); ok {
		switch {
		case errors.Is(e.err, io.EOF), errors.Is(e.err, syscall.ECONNRESET):
			return CodeAuth, "TLS: the port closed the connection during the handshake: it probably does not speak TLS; check security.protocol", true
		case errors.Is(e.err, os.ErrDeadlineExceeded):
			return CodeUnreachable, "TLS: no answer to the handshake within socket.connection.setup.timeout.ms", true
		}
		return CodeAuth, fmt.Sprintf("TLS: handshake failed: %v", e.err), true
	}
	return 0, "", false
}

func classifyNetwork(err error) (int32, string, bool) {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return CodeUnreachable, fmt.Sprintf("unknown host %q: check the name", e.Name), true
		}
		return CodeUnreachable, fmt.Sprintf("the name %q could not be resolved (%s)", e.Name, e.Err), true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		if e.Timeout() {
			return CodeUnreachable, "no connection within socket.connection.setup.timeout.ms", true
		}
		return CodeUnreachable, fmt.Sprintf("no connection: %v", e.Err), true
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return CodeUnreachable, "no answer in time", true
	}
	if errors.Is(err, context.Canceled) {
		return CodeState, "cancelled", true
	}
	if errors.Is(err, kgo.ErrClientClosed) {
		return CodeState, "the client is closed", true
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return CodeUnreachable, "the connection was closed", true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return CodeUnreachable, fmt.Sprintf("the connection failed: %v", e.Err), true
	}
	return 0, "", false
}

// clip bounds text that came from outside, at a character's boundary.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}
