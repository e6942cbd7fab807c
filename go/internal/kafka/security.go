package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is how connections are protected and logged in: tls is nil for
// plain text, mechanism nil without a login. secrets lists the texts that must
// never reach a log.
type security struct {
	tls         *tls.Config
	authorities []byte // PEM of ssl.ca.*, nil for those of the system
	mechanism   sasl.Mechanism
	// prepare obtains the credentials once before the first connection, so
	// that a token service which fails is not mistaken for a broker that does;
	// nil where there is nothing to obtain.
	prepare func(context.Context) error
	secrets []string
}

const (
	protocolPlaintext     = "PLAINTEXT"
	protocolSSL           = "SSL"
	protocolSASLPlaintext = "SASL_PLAINTEXT"
	protocolSASLSSL       = "SASL_SSL"
)

const (
	mechanismPlain    = "PLAIN"
	mechanismScram256 = "SCRAM-SHA-256"
	mechanismScram512 = "SCRAM-SHA-512"
	mechanismOAuth    = "OAUTHBEARER"
	mechanismMSK      = "AWS_MSK_IAM"
)

const (
	methodOIDC     = "oidc"
	methodGCP      = "gcp"
	methodCallback = "callback"
)

// The keys of each concern, for the rules about which may stand together.
var (
	tlsKeys = []string{
		"ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
		"ssl.key.location", "ssl.key.pem", "enable.ssl.certificate.verification",
		"ssl.endpoint.identification.algorithm",
	}
	passwordKeys = []string{"sasl.username", "sasl.password"}
	oidcKeys     = []string{
		"sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.id",
		"sasl.oauthbearer.client.secret", "sasl.oauthbearer.scope", "sasl.oauthbearer.extensions",
	}
	methodKeys = []string{"sasl.oauthbearer.method"}
	gcpKeys    = []string{"gcp.principal", "gcp.credentials.file"}
	awsKeys    = []string{"aws.region", "aws.profile", "aws.role.arn", "aws.role.session.name"}
)

// login is one way to log in, with the keys it understands.
type login struct {
	name    string // as it appears in messages
	keys    [][]string
	tlsOnly bool
	build   func(*optionValues, *security) error
}

func parseSecurity(v *optionValues, source func(context.Context) (Token, error)) (*security, error) {
	mechanism := v.text("sasl.mechanism")
	chosen, err := chooseLogin(v, mechanism, source)
	if err != nil {
		return nil, err
	}
	protocol, err := chooseProtocol(v, chosen)
	if err != nil {
		return nil, err
	}
	s := &security{}
	if protocol == protocolSSL || protocol == protocolSASLSSL {
		if s.tls, err = parseTLS(v, s); err != nil {
			return nil, err
		}
	} else if key := firstGiven(v, tlsKeys); key != "" {
		return nil, configError("option %s needs TLS, but security.protocol is %s: set it to %s or remove the option", key, protocol, withTLS(protocol))
	}
	if chosen != nil {
		if err := chosen.build(v, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// chooseLogin finds the way to log in and refuses options of another one: a
// leftover password beside a token would silently not be used.
func chooseLogin(v *optionValues, mechanism string, source func(context.Context) (Token, error)) (*login, error) {
	groups := [][]string{passwordKeys, methodKeys, oidcKeys, gcpKeys, awsKeys}
	if mechanism == "" {
		for _, keys := range groups {
			if key := firstGiven(v, keys); key != "" {
				return nil, configError("option %s is set without sasl.mechanism: set sasl.mechanism or remove the option", key)
			}
		}
		return nil, nil
	}
	l, err := loginOf(v, mechanism, source)
	if err != nil {
		return nil, err
	}
	for _, keys := range groups {
		if key := firstGiven(v, keys); key != "" && !contains(l.keys, key) {
			return nil, configError("option %s does not belong to %s: remove it or choose another mechanism", key, l.name)
		}
	}
	return l, nil
}

func loginOf(v *optionValues, mechanism string, source func(context.Context) (Token, error)) (*login, error) {
	name := "sasl.mechanism=" + mechanism
	switch mechanism {
	case mechanismPlain, mechanismScram256, mechanismScram512:
		return &login{name: name, keys: [][]string{passwordKeys}, build: func(v *optionValues, s *security) error {
			return passwordLogin(v, s, mechanism)
		}}, nil
	case mechanismMSK:
		return &login{name: name, keys: [][]string{awsKeys}, tlsOnly: true, build: mskLogin}, nil
	}
	method := v.text("sasl.oauthbearer.method")
	// The host's callback is the more specific wish than the default method.
	if source != nil && !v.given("sasl.oauthbearer.method") && firstGiven(v, oidcKeys) == "" {
		method = methodCallback
	}
	name += " with sasl.oauthbearer.method=" + method
	switch method {
	case methodGCP:
		return &login{name: name, keys: [][]string{methodKeys, gcpKeys}, tlsOnly: true, build: gcpLogin}, nil
	case methodCallback:
		if source == nil {
			return nil, configError("option sasl.oauthbearer.method=callback needs a token callback: give one to the options or use oidc")
		}
		return &login{name: name, keys: [][]string{methodKeys}, build: func(_ *optionValues, s *security) error {
			return callbackLogin(source, s)
		}}, nil
	}
	return &login{name: name, keys: [][]string{methodKeys, oidcKeys}, build: oidcLogin}, nil
}

// chooseProtocol applies security.protocol or infers it: TLS when any TLS
// option is set or the mechanism demands it, SASL when there is a mechanism.
func chooseProtocol(v *optionValues, chosen *login) (string, error) {
	protocol := v.text("security.protocol")
	if !v.given("security.protocol") {
		protocol = protocolPlaintext
		if firstGiven(v, tlsKeys) != "" || chosen != nil && chosen.tlsOnly {
			protocol = protocolSSL
		}
		if chosen != nil {
			protocol = withSASL(protocol)
		}
	}
	hasSASL := protocol == protocolSASLPlaintext || protocol == protocolSASLSSL
	switch {
	case hasSASL && chosen == nil:
		return "", configError("option security.protocol=%s needs sasl.mechanism: set it or use %s", protocol, withoutSASL(protocol))
	case !hasSASL && chosen != nil:
		return "", configError("option sasl.mechanism needs a login, but security.protocol is %s: set it to %s or remove the mechanism", protocol, withSASL(protocol))
	case chosen != nil && chosen.tlsOnly && protocol != protocolSASLSSL:
		return "", configError("%s sends credentials that only TLS protects: set security.protocol to %s", chosen.name, protocolSASLSSL)
	}
	return protocol, nil
}

func withTLS(protocol string) string {
	if protocol == protocolSASLPlaintext {
		return protocolSASLSSL
	}
	return protocolSSL
}

func withSASL(protocol string) string {
	if protocol == protocolSSL {
		return protocolSASLSSL
	}
	return protocolSASLPlaintext
}

func withoutSASL(protocol string) string {
	if protocol == protocolSASLSSL {
		return protocolSSL
	}
	return protocolPlaintext
}

func passwordLogin(v *optionValues, s *security, mechanism string) error {
	user, password := v.text("sasl.username"), v.text("sasl.password")
	if user == "" || password == "" {
		return configError("sasl.mechanism=%s needs sasl.username and sasl.password: set both", mechanism)
	}
	s.secrets = append(s.secrets, password)
	switch mechanism {
	case mechanismPlain:
		s.mechanism = plain.Auth{User: user, Pass: password}.AsMechanism()
	case mechanismScram256:
		s.mechanism = scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	default:
		s.mechanism = scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return nil
}

// fileOrText reads a setting that exists as a file and as text, and returns
// which key it came from ("" when neither is set).
func fileOrText(v *optionValues, fileKey, textKey string) (content []byte, key string, err error) {
	file, text := v.text(fileKey), v.text(textKey)
	switch {
	case file != "" && text != "":
		return nil, "", configError("options %s and %s are both set: keep one", fileKey, textKey)
	case text != "":
		return []byte(text), textKey, nil
	case file == "":
		return nil, "", nil
	}
	content, err = readBounded(file, maxPEMFile)
	if err != nil {
		return nil, "", configError("option %s: file %q cannot be read: %v", fileKey, file, err)
	}
	return content, fileKey, nil
}

const maxPEMFile = 1 << 20

// readBounded reads a regular file of at most limit bytes; a FIFO or a device
// named by mistake would block or never end.
func readBounded(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%w", unwrapPath(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is not a regular file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", info.Size(), limit)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w", unwrapPath(err))
	}
	return content, nil
}

// unwrapPath drops the operation and path that the caller's message names.
func unwrapPath(err error) error {
	if inner, ok := err.(*os.PathError); ok {
		return inner.Err
	}
	return err
}

func firstGiven(v *optionValues, keys []string) string {
	for _, key := range keys {
		if v.given(key) {
			return key
		}
	}
	return ""
}

func contains(groups [][]string, key string) bool {
	for _, keys := range groups {
		for _, k := range keys {
			if k == key {
				return true
			}
		}
	}
	return false
}

var extensionName = regexp.MustCompile(`^[A-Za-z]+$`)

// checkExtension applies RFC 7628: names are letters, "auth" is taken by the
// token, values are printable or white space.
func checkExtension(name, value string) error {
	if !extensionName.MatchString(name) || name == "auth" {
		return fmt.Errorf("extension name %q is invalid: only letters are allowed, and not \"auth\"", clip(name, 64))
	}
	if strings.ContainsFunc(value, func(r rune) bool {
		return (r < ' ' && r != '\t' && r != '\r' && r != '\n') || r > '~'
	}) {
		return fmt.Errorf("the value of extension %q contains a character that is not printable ASCII", clip(name, 64))
	}
	return nil
}
