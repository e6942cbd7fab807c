package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Bounds of an answer of the token endpoint.
const (
	maxTokenAnswer  = 1 << 20
	maxTokenLife    = 365 * 24 * time.Hour
	unknownLifetime = 5 * time.Minute
)

// oidcClient performs the client credentials grant (RFC 6749, section 4.4).
type oidcClient struct {
	endpoint   string
	clientID   string
	secret     string
	scope      string
	extensions map[string]string
	http       *http.Client
	now        func() time.Time
}

func oidcLogin(v *optionValues, s *security) error {
	client := &oidcClient{
		endpoint: v.text("sasl.oauthbearer.token.endpoint.url"),
		clientID: v.text("sasl.oauthbearer.client.id"),
		secret:   v.text("sasl.oauthbearer.client.secret"),
		scope:    v.text("sasl.oauthbearer.scope"),
		now:      time.Now,
	}
	if client.endpoint == "" || client.clientID == "" || client.secret == "" {
		return configError("sasl.mechanism=OAUTHBEARER with sasl.oauthbearer.method=oidc needs sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret: set all three")
	}
	if err := checkEndpoint(client.endpoint); err != nil {
		return err
	}
	var err error
	if client.extensions, err = parseExtensions(v.text("sasl.oauthbearer.extensions")); err != nil {
		return err
	}
	client.http = tokenHTTPClient(s.authorities)
	s.secrets = append(s.secrets, client.secret)
	newTokenCache("the token endpoint "+client.endpoint, client.fetch).use(s)
	return nil
}

// checkEndpoint lets the client's secret travel only over TLS, or inside this
// machine.
func checkEndpoint(endpoint string) error {
	const key = "sasl.oauthbearer.token.endpoint.url"
	// The text is not repeated: a URL may carry a password.
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return configError("option %s: the value is not an http or https URL", key)
	}
	if u.User != nil || u.Fragment != "" {
		return configError("option %s: the URL must not contain a user, password or fragment: use sasl.oauthbearer.client.id and .client.secret", key)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return configError("option %s: http to %q would send the client secret unprotected: use https", key, u.Hostname())
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func parseExtensions(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	const key = "sasl.oauthbearer.extensions"
	extensions := make(map[string]string)
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return nil, configError("option %s: expected name=value pairs separated by commas", key)
		}
		if err := checkExtension(name, value); err != nil {
			return nil, configError("option %s: %v", key, err)
		}
		if _, twice := extensions[name]; twice {
			return nil, configError("option %s: extension %q is named twice", key, name)
		}
		extensions[name] = value
	}
	return extensions, nil
}

// tokenHTTPClient trusts the system's authorities and those of ssl.ca.*: the
// identity provider of a company is often signed by the same one as its
// brokers. Redirects are not followed: they would carry the secret elsewhere.
func tokenHTTPClient(authorities []byte) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(authorities)
		config.RootCAs = roots
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSClientConfig:     config,
			TLSHandshakeTimeout: 10 * time.Second,
			// A token is needed every few minutes: a connection held open in
			// between would only age.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (c *oidcClient) fetch(ctx context.Context) (timedToken, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if c.scope != "" {
		form.Set("scope", c.scope)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return timedToken{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	// Id and secret go in as they are, like Kafka's own client sends them.
	request.SetBasicAuth(c.clientID, c.secret)
	response, err := c.http.Do(request)
	if err != nil {
		// The outer error repeats the endpoint that the caller names.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return timedToken{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenAnswer+1))
	if err != nil {
		return timedToken{}, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > maxTokenAnswer {
		return timedToken{}, fmt.Errorf("the answer has more than %d bytes", maxTokenAnswer)
	}
	if response.StatusCode != http.StatusOK {
		return timedToken{}, fmt.Errorf("HTTP status %d%s", response.StatusCode, c.reason(body))
	}
	return c.parse(body)
}

func (c *oidcClient) parse(body []byte) (timedToken, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		// Some providers send the number as text.
		ExpiresIn json.RawMessage `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return timedToken{}, errors.New("the answer is not the JSON of a token")
	}
	if answer.AccessToken == "" {
		return timedToken{}, fmt.Errorf("the answer has no access_token%s", c.reason(body))
	}
	if answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "bearer") {
		return timedToken{}, fmt.Errorf("the token's type is %q, expected Bearer", clip(printable(answer.TokenType), 64))
	}
	now := c.now()
	life, ok := lifetime(answer.ExpiresIn)
	if !ok {
		life = unknownLifetime
		if end, ok := jwtExpiry(answer.AccessToken); ok {
			life = end.Sub(now)
		}
	}
	return timedToken{
		Token:   Token{Token: answer.AccessToken, Extensions: c.extensions},
		expires: now.Add(min(life, maxTokenLife)),
	}, nil
}

// reason renders what the endpoint says about a refusal.
func (c *oidcClient) reason(body []byte) string {
	// An endpoint may quote the request, and with it the secret.
	return refusal(body, []string{c.secret, base64.StdEncoding.EncodeToString([]byte(c.clientID + ":" + c.secret))})
}

// refusal renders the fields of RFC 6749 section 5.2, or else the beginning of
// a body that is no JSON, without secrets; "" when there is nothing to say.
func refusal(body []byte, secrets []string) string {
	var fields struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	text := ""
	if json.Unmarshal(body, &fields) == nil {
		text = fields.Error
		if fields.Description != "" {
			text += ": " + fields.Description
		}
	} else {
		text = string(bytes.TrimSpace(body))
	}
	text = redact(printable(text), secrets)
	if text == "" {
		return ""
	}
	return ": " + clip(text, 200)
}

func lifetime(raw json.RawMessage) (time.Duration, bool) {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil || json.Unmarshal([]byte(text), &seconds) != nil {
			return 0, false
		}
	}
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0, false
	}
	return time.Duration(min(seconds, maxTokenLife.Seconds()) * float64(time.Second)), true
}

// jwtExpiry reads the exp claim without checking the signature, which is the
// broker's task.
func jwtExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 || claims.Exp > math.MaxInt32*100 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}

// printable replaces control characters, so that foreign text cannot forge log
// lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
