package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// conn says how to reach a cluster.
type conn struct {
	Bootstrap string    `json:"bootstrap"`
	TLS       *connTLS  `json:"tls,omitempty"`
	SASL      *connSASL `json:"sasl,omitempty"`
}

// connTLS holds PEM text; the client pair is optional.
type connTLS struct {
	CA   string `json:"ca"`
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// connSASL is a login: user and password, or a token for OAUTHBEARER.
type connSASL struct {
	Mechanism string `json:"mechanism"`
	User      string `json:"user,omitempty"`
	Password  string `json:"password,omitempty"`
	Token     string `json:"token,omitempty"`
}

func (c conn) options() ([]kgo.Opt, error) {
	if c.Bootstrap == "" {
		return nil, errors.New("no bootstrap address given")
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...),
		kgo.ClientID("kafkatool"),
		// Leaders move in tests; the default of five seconds between two
		// looks at the metadata would make each such test that much longer.
		kgo.MetadataMinAge(100 * time.Millisecond),
	}
	if c.TLS != nil {
		conf, err := c.TLS.config()
		if err != nil {
			return nil, err
		}
		d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: conf}
		opts = append(opts, kgo.Dialer(d.DialContext))
	}
	if c.SASL != nil {
		m, err := c.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

func (t *connTLS) config() (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(t.CA)) {
		return nil, errors.New("tls.ca holds no PEM certificate")
	}
	conf := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if t.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

func (l *connSASL) mechanism() (sasl.Mechanism, error) {
	switch l.Mechanism {
	case "PLAIN":
		return plain.Auth{User: l.User, Pass: l.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: l.User, Pass: l.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: l.User, Pass: l.Password}.AsSha512Mechanism(), nil
	case "OAUTHBEARER":
		return oauth.Auth{Token: l.Token}.AsMechanism(), nil
	}
	return nil, fmt.Errorf("sasl.mechanism %q: known are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER", l.Mechanism)
}

// session holds what lives longer than a request: one client for each
// distinct connection, and open transactions.
type session struct {
	mu      sync.Mutex
	clients map[string]*kgo.Client
	txns    map[uint64]*kgo.Client
	nextTxn uint64
}

func newSession() *session {
	return &session{clients: map[string]*kgo.Client{}, txns: map[uint64]*kgo.Client{}}
}

// client returns the shared client of a connection. Its producer sends a
// record to the partition that the record names, or by the hash of its key as
// Java does.
func (s *session) client(c conn) (*kgo.Client, error) {
	key, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cl := s.clients[string(key)]; cl != nil {
		return cl, nil
	}
	cl, err := newClient(c, kgo.RecordPartitioner(namedOrHashed{kgo.StickyKeyPartitioner(nil)}))
	if err != nil {
		return nil, err
	}
	s.clients[string(key)] = cl
	return cl, nil
}

func (s *session) admin(c conn) (*kadm.Client, error) {
	cl, err := s.client(c)
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(cl), nil
}

func newClient(c conn, more ...kgo.Opt) (*kgo.Client, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(opts, more...)...)
}

// hexBytes is a byte string in hexadecimal; JSON null is nil, "" is empty.
type hexBytes []byte

// MarshalJSON writes nil as null, so that absent and empty stay apart.
func (b hexBytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	out := make([]byte, 0, 2+2*len(b))
	out = append(out, '"')
	out = hex.AppendEncode(out, b)
	return append(out, '"'), nil
}

// UnmarshalJSON is called for null too, and leaves nil then.
func (b *hexBytes) UnmarshalJSON(data []byte) error {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s == nil {
		*b = nil
		return nil
	}
	raw, err := hex.DecodeString(*s)
	if err != nil {
		return err
	}
	if raw == nil {
		raw = []byte{}
	}
	*b = raw
	return nil
}

// eventually calls f until it says done or the context ends; the error then
// names what was waited for.
func eventually(ctx context.Context, what string, f func() (bool, error)) error {
	for {
		done, err := f()
		if err == nil && done {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("waiting for %s: %w", what, err)
			}
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
