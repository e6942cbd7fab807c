package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// credentialsTimeout bounds how long a login waits for a token or for
// credentials, whoever provides them.
const credentialsTimeout = 20 * time.Second

// refreshMargin is how long before its end a token is replaced.
const refreshMargin = 30 * time.Second

// credentialsError is a login that failed before it reached the broker.
type credentialsError struct {
	source string
	err    error
}

func (e *credentialsError) Error() string {
	return fmt.Sprintf("no credentials from %s: %v", e.source, e.err)
}

func (e *credentialsError) Unwrap() error { return e.err }

// timedToken is a token with the moment of its end; a zero end means that it
// is asked for anew at every login.
type timedToken struct {
	Token
	expires time.Time
}

// tokenCache shares one token among all connections. At most one fetch runs at
// a time, on a goroutine of its own: neither the host's callback nor every
// token service can be made to return in time, and the logins that wait for
// one must be able to give up.
type tokenCache struct {
	source string // for messages
	fetch  func(context.Context) (timedToken, error)
	now    func() time.Time

	mu      sync.Mutex
	current timedToken
	renewAt time.Time
	running *tokenFetch // nil when no fetch runs
}

// tokenFetch is one running fetch; token and err are set before done closes.
type tokenFetch struct {
	done  chan struct{}
	token Token
	err   error
}

func newTokenCache(source string, fetch func(context.Context) (timedToken, error)) *tokenCache {
	return &tokenCache{source: source, fetch: fetch, now: time.Now}
}

// get returns a token that is good for a login now. It waits for a fetch at
// most credentialsTimeout.
func (c *tokenCache) get(ctx context.Context) (Token, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	c.mu.Lock()
	if c.current.Token.Token != "" && c.now().Before(c.renewAt) {
		token := c.current.Token
		c.mu.Unlock()
		return token, nil
	}
	running := c.running
	if running == nil {
		running = &tokenFetch{done: make(chan struct{})}
		c.running = running
		go c.run(running)
	}
	c.mu.Unlock()
	select {
	case <-running.done:
		if running.err != nil {
			return Token{}, &credentialsError{c.source, running.err}
		}
		return running.token, nil
	case <-ctx.Done():
		return Token{}, &credentialsError{c.source, ctx.Err()}
	}
}

// run performs one fetch. While a renewal fails, the old token serves until
// its end.
func (c *tokenCache) run(f *tokenFetch) {
	ctx, cancel := context.WithTimeout(context.Background(), credentialsTimeout)
	defer cancel()
	fresh, err := c.protectedFetch(ctx)
	if err == nil {
		err = checkToken(fresh.Token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	switch {
	case err == nil:
		c.current, c.renewAt = fresh, renewalOf(now, fresh.expires)
		f.token = fresh.Token
	case c.current.Token.Token != "" && now.Before(c.current.expires):
		f.token = c.current.Token
	default:
		f.err = err
	}
	c.running = nil
	close(f.done)
}

// protectedFetch turns a panic of the host's callback into an error: on this
// goroutine nobody else would catch it, and it would end the process.
func (c *tokenCache) protectedFetch(ctx context.Context) (t timedToken, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the fetch of a token panicked")
		}
	}()
	return c.fetch(ctx)
}

// renewalOf places the renewal 30 s before the end; a token that lives for
// less than a minute is renewed at half of its life.
func renewalOf(now, expires time.Time) time.Time {
	life := expires.Sub(now)
	if life <= 0 {
		return now
	}
	return expires.Add(-min(refreshMargin, life/2))
}

// checkToken keeps control characters out of the login message, whose fields
// they separate.
func checkToken(t Token) error {
	if t.Token == "" {
		return errors.New("the token is empty")
	}
	if strings.ContainsFunc(t.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the token contains a character that is not printable ASCII")
	}
	for name, value := range t.Extensions {
		if err := checkExtension(name, value); err != nil {
			return err
		}
	}
	return nil
}

// use makes the cache the login of the connections.
func (c *tokenCache) use(s *security) {
	s.prepare = func(ctx context.Context) error {
		_, err := c.get(ctx)
		return err
	}
	s.mechanism = oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := c.get(ctx)
		if err != nil {
			return oauth.Auth{}, err
		}
		return oauth.Auth{Token: token.Token, Extensions: maps.Clone(token.Extensions)}, nil
	})
}

// callbackLogin asks the host at every login: only the host knows for how long
// its token is good.
func callbackLogin(source func(context.Context) (Token, error), s *security) error {
	newTokenCache("the token callback", func(ctx context.Context) (timedToken, error) {
		token, err := source(ctx)
		return timedToken{Token: token}, err
	}).use(s)
	return nil
}
