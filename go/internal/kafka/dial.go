package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"
)

// dialer opens connections to brokers: name, TCP and TLS together within the
// set-up time.
type dialer struct {
	timeout time.Duration
	tls     *tls.Config // nil: plain text
	// watch, when set, sees every connection; used while the settings are
	// checked, to tell what kind of server answered.
	watch *answerLog
}

// handshakeError is a failed TLS handshake.
type handshakeError struct {
	addr string
	err  error
}

func (e *handshakeError) Error() string {
	return fmt.Sprintf("TLS handshake with %s: %v", e.addr, e.err)
}

func (e *handshakeError) Unwrap() error { return e.err }

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	deadline := time.Now().Add(d.timeout)
	conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if d.tls != nil {
		if conn, err = d.handshake(ctx, conn, addr, deadline); err != nil {
			return nil, err
		}
	}
	if d.watch != nil {
		return d.watch.wrap(conn, addr), nil
	}
	return conn, nil
}

func (d *dialer) handshake(ctx context.Context, raw net.Conn, addr string, deadline time.Time) (net.Conn, error) {
	config := d.tls.Clone()
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			raw.Close()
			return nil, &handshakeError{addr, err}
		}
		config.ServerName = host
	}
	// A deadline on the connection, not on the context: the client retries a
	// timeout of the network, but takes an ended context for the end of its
	// request.
	err := raw.SetDeadline(deadline)
	secure := tls.Client(raw, config)
	if err == nil {
		err = secure.HandshakeContext(ctx)
	}
	if err == nil {
		err = raw.SetDeadline(time.Time{})
	}
	if err != nil {
		raw.Close()
		return nil, &handshakeError{addr, err}
	}
	return secure, nil
}

// answerLog remembers the first bytes that each address sent last.
type answerLog struct {
	mu   sync.Mutex
	last map[string]*watchedConn
}

func newAnswerLog() *answerLog { return &answerLog{last: make(map[string]*watchedConn)} }

func (l *answerLog) wrap(conn net.Conn, addr string) net.Conn {
	w := &watchedConn{Conn: conn}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[addr] = w
	return w
}

// foreign names the protocol of the server at addr when its first bytes prove
// that it is not Kafka's, else "".
func (l *answerLog) foreign(addr string, plaintext bool) string {
	l.mu.Lock()
	w := l.last[addr]
	l.mu.Unlock()
	if w == nil {
		return ""
	}
	head := w.firstBytes()
	switch {
	case len(head) == 0:
		return ""
	case plaintext && len(head) >= 3 && head[0] == tlsAlertRecord && head[1] == tlsMajorVersion:
		return "TLS"
	case bytes.HasPrefix(head, []byte("HTTP")):
		return "HTTP"
	case bytes.HasPrefix(head, []byte("SSH-")):
		return "SSH"
	}
	// A frame begins with its length; the first answer is ApiVersions, a few
	// kilobytes at most.
	if len(head) < 4 {
		return "something other than Kafka"
	}
	if size := binary.BigEndian.Uint32(head); size < 4 || size > maxFirstAnswer {
		return "something other than Kafka"
	}
	return ""
}

// answered tells whether the server at addr has sent anything.
func (l *answerLog) answered(addr string) bool {
	l.mu.Lock()
	w := l.last[addr]
	l.mu.Unlock()
	return w != nil && len(w.firstBytes()) > 0
}

const (
	tlsAlertRecord  = 21
	tlsMajorVersion = 3
	maxFirstAnswer  = 1 << 20
)

// watchedConn keeps the first bytes it receives.
type watchedConn struct {
	net.Conn
	mu   sync.Mutex
	head []byte
}

const watchedBytes = 8

func (w *watchedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if missing := watchedBytes - len(w.head); missing > 0 && n > 0 {
		w.head = append(w.head, p[:min(n, missing)]...)
	}
	return n, err
}

func (w *watchedConn) firstBytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.head)
}
