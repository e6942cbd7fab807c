package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
)

func firstMessage(t *testing.T, mechanism sasl.Mechanism) (string, error) {
	t.Helper()
	_, message, err := mechanism.Authenticate(t.Context(), "b-1.example:9098")
	return string(message), err
}

func TestTokenIsRenewedThirtySecondsBeforeItsEnd(t *testing.T) {
	now := time.Unix(1700000000, 0)
	fetches := 0
	var failure error
	c := newTokenCache("test", func(context.Context) (timedToken, error) {
		fetches++
		return timedToken{Token: Token{Token: fmt.Sprint("t", fetches)}, expires: now.Add(5 * time.Minute)}, failure
	})
	c.now = func() time.Time { return now }
	expect := func(want string) {
		t.Helper()
		if token, err := c.get(t.Context()); err != nil || token.Token != want {
			t.Errorf("token %q, %v; expected %q", token.Token, err, want)
		}
	}
	expect("t1")
	now = now.Add(4*time.Minute + 29*time.Second)
	expect("t1")
	now = now.Add(time.Second)
	expect("t2")
	// While the renewal fails, the old token serves until its end.
	failure = errors.New("down")
	now = now.Add(4*time.Minute + 59*time.Second)
	expect("t2")
	now = now.Add(time.Second)
	if _, err := c.get(t.Context()); err == nil || !strings.Contains(err.Error(), "no credentials from test: down") {
		t.Errorf("an ended token was used: %v", err)
	}
	failure = nil
	expect("t5")
}

func TestRenewalOfShortLivedTokens(t *testing.T) {
	now := time.Unix(1700000000, 0)
	for life, want := range map[time.Duration]time.Duration{
		time.Hour: time.Hour - 30*time.Second, time.Minute: 30 * time.Second,
		20 * time.Second: 10 * time.Second, 0: 0, -time.Hour: 0,
	} {
		if got := renewalOf(now, now.Add(life)).Sub(now); got != want {
			t.Errorf("life %v: renewal after %v instead of %v", life, got, want)
		}
	}
}

func TestManyLoginsShareOneFetch(t *testing.T) {
	var fetches atomic.Int32
	release := make(chan struct{})
	c := newTokenCache("test", func(context.Context) (timedToken, error) {
		fetches.Add(1)
		<-release
		return timedToken{Token: Token{Token: "t"}, expires: time.Now().Add(time.Hour)}, nil
	})
	// A login whose context ends gives up without ending the fetch.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.get(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a login without time: %v", err)
	}
	const logins = 20
	results := make(chan error, logins)
	for range logins {
		go func() {
			_, err := c.get(t.Context())
			results <- err
		}()
	}
	close(release)
	for range logins {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

func TestTokenCallback(t *testing.T) {
	calls := 0
	var token Token
	var failure error
	config := testConfig(map[string]string{"sasl.mechanism": "OAUTHBEARER"})
	config.TokenSource = func(context.Context) (Token, error) {
		calls++
		if failure != nil && failure.Error() == "panic" {
			panic("in the host")
		}
		return token, failure
	}
	mechanism := mustParse(t, config).security.mechanism
	token = Token{Token: "abc", Extensions: map[string]string{"logicalCluster": "lkc", "a": "1"}}
	message, err := firstMessage(t, mechanism)
	if err != nil || message != "n,,\x01auth=Bearer abc\x01a=1\x01logicalCluster=lkc\x01\x01" {
		t.Errorf("message %q, %v", message, err)
	}
	if _, err := firstMessage(t, mechanism); err != nil || calls != 2 {
		t.Errorf("%d calls for two logins, %v", calls, err)
	}
	for _, c := range []struct {
		token   Token
		failure error
		text    string
	}{
		{Token{}, nil, "the token is empty"},
		{Token{Token: "a b"}, nil, "printable"},
		{Token{Token: "a\x01b"}, nil, "printable"},
		{Token{Token: "abc", Extensions: map[string]string{"auth": "x"}}, nil, "extension"},
		{Token{Token: "abc"}, errors.New("vault is sealed"), "vault is sealed"},
		{Token{Token: "abc"}, errors.New("panic"), "panicked"},
	} {
		token, failure = c.token, c.failure
		_, err := firstMessage(t, mechanism)
		wantError(t, Classify(err, Where{}), CodeAuth, "the token callback", c.text)
	}
}

// tokenEndpoint answers with a status and a body, after a look at the request.
func tokenEndpoint(t *testing.T, answer func(*http.Request, url.Values) (int, string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		status, body := answer(r, r.PostForm)
		if status == http.StatusFound {
			w.Header().Set("Location", body)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server
}

func oidcMechanism(t *testing.T, endpoint string, more ...string) (*Settings, sasl.Mechanism) {
	t.Helper()
	s := mustParse(t, testConfig(with(with(oidcOpts, "sasl.oauthbearer.token.endpoint.url", endpoint), more...)))
	return s, s.security.mechanism
}

func TestClientCredentialsGrant(t *testing.T) {
	requests := 0
	server := tokenEndpoint(t, func(r *http.Request, form url.Values) (int, string) {
		requests++
		id, secret, ok := r.BasicAuth()
		if r.Method != http.MethodPost || !ok || id != "id" || secret != "hunter22" ||
			form.Get("grant_type") != "client_credentials" || form.Get("scope") != "kafka read" {
			t.Errorf("request: %s, %q, %v", r.Method, id, form)
		}
		return http.StatusOK, `{"access_token":"abc","token_type":"bearer","expires_in":3600}`
	})
	s, mechanism := oidcMechanism(t, server.URL, "sasl.oauthbearer.scope", "kafka read", "sasl.oauthbearer.extensions", "logicalCluster=lkc-1, identityPoolId=pool")
	if err := s.security.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		message, err := firstMessage(t, mechanism)
		if err != nil || message != "n,,\x01auth=Bearer abc\x01identityPoolId=pool\x01logicalCluster=lkc-1\x01\x01" {
			t.Errorf("message %q, %v", message, err)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

func TestTokenEndpointsThatFail(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("id:hunter22"))
	for _, c := range []struct {
		status int
		body   string
		texts  []string
	}{
		{401, `{"error":"invalid_client","error_description":"bad secret hunter22"}`, []string{"401", "invalid_client", "bad secret [redacted]"}},
		{403, "<html>no " + basic + "\r\nforged line</html>", []string{"403", "no [redacted]", "  forged"}},
		{500, "", []string{"500"}},
		{302, "https://elsewhere.example/", []string{"302"}},
		{200, "not json", []string{"not the JSON"}},
		{200, `{"error":"odd"}`, []string{"no access_token", "odd"}},
		{200, `{"access_token":"abc","token_type":"mac"}`, []string{"mac", "Bearer"}},
		{200, `{"access_token":"a\u0001c"}`, []string{"printable"}},
		{200, strings.Repeat(" ", maxTokenAnswer+1), []string{"1048576"}},
		{400, strings.Repeat("x", 5000), []string{"400", "..."}},
	} {
		server := tokenEndpoint(t, func(*http.Request, url.Values) (int, string) { return c.status, c.body })
		_, mechanism := oidcMechanism(t, server.URL)
		_, err := firstMessage(t, mechanism)
		e := wantError(t, Classify(err, Where{}), CodeAuth, append(c.texts, server.URL)...)
		if strings.Contains(e.Text, "hunter22") || strings.Contains(e.Text, basic) || strings.ContainsAny(e.Text, "\r\n") || len(e.Text) > 500 {
			t.Errorf("message: %q", e.Text)
		}
	}
	_, mechanism := oidcMechanism(t, "http://"+closedPort(t)+"/token")
	_, err := firstMessage(t, mechanism)
	wantError(t, Classify(err, Where{}), CodeAuth, "token endpoint", "refused")
}

func TestTokenEndpointTrustsTheBrokersAuthority(t *testing.T) {
	ca := newAuthority(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"abc"}`))
	}))
	server.TLS = ca.serverTLS(t, "127.0.0.1")
	server.StartTLS()
	defer server.Close()
	_, mechanism := oidcMechanism(t, server.URL, "ssl.ca.pem", ca.pem)
	if _, err := firstMessage(t, mechanism); err != nil {
		t.Errorf("with ssl.ca.pem: %v", err)
	}
	_, mechanism = oidcMechanism(t, server.URL)
	if _, err := firstMessage(t, mechanism); err == nil {
		t.Error("an unknown authority was trusted")
	}
	// Switching the check of brokers off does not expose the client's secret.
	_, mechanism = oidcMechanism(t, server.URL, "enable.ssl.certificate.verification", "false")
	if _, err := firstMessage(t, mechanism); err == nil {
		t.Error("the check of the token endpoint was switched off, too")
	}
}

func TestLifetimeOfTokens(t *testing.T) {
	now := time.Unix(1700000000, 0)
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	client := &oidcClient{now: func() time.Time { return now }}
	for body, want := range map[string]time.Duration{
		`{"access_token":"a","expires_in":60}`:                           time.Minute,
		`{"access_token":"a","expires_in":"60"}`:                         time.Minute,
		`{"access_token":"a","expires_in":1e300}`:                        maxTokenLife,
		`{"access_token":"a","expires_in":-1}`:                           unknownLifetime,
		`{"access_token":"a","expires_in":"soon"}`:                       unknownLifetime,
		`{"access_token":"a","expires_in":null}`:                         unknownLifetime,
		`{"access_token":"a"}`:                                           unknownLifetime,
		`{"access_token":"` + jwt(`{"exp":1700000100}`) + `"}`:           100 * time.Second,
		`{"access_token":"` + jwt(`{"exp":"x"}`) + `"}`:                  unknownLifetime,
		`{"access_token":"` + jwt(`{"exp":1e300}`) + `"}`:                unknownLifetime,
		`{"access_token":"a.?.c"}`:                                       unknownLifetime,
		`{"access_token":"` + jwt(`{"exp":5}`) + `","expires_in":"120"}`: 2 * time.Minute,
	} {
		token, err := client.parse([]byte(body))
		if err != nil || token.expires.Sub(now) != want {
			t.Errorf("%s: %v, %v; expected %v", body, token.expires.Sub(now), err, want)
		}
	}
}

// serviceAccountKey is a Google key file whose token service is at a URL.
func serviceAccountKey(t *testing.T, tokenURL string) string {
	t.Helper()
	key, _ := pkcs1(t)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "svc@project.iam.gserviceaccount.com",
		"private_key_id": "1", "private_key": pkcs8(t, key), "token_uri": tokenURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGoogleTokens(t *testing.T) {
	t.Setenv(gcpPrincipalEnv, "")
	requests := 0
	server := tokenEndpoint(t, func(_ *http.Request, form url.Values) (int, string) {
		requests++
		if form.Get("assertion") == "" {
			t.Errorf("form: %v", form)
		}
		return http.StatusOK, `{"access_token":"ya29.abc","token_type":"Bearer","expires_in":3600}`
	})
	options := map[string]string{
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp",
		"gcp.credentials.file": tempFile(t, serviceAccountKey(t, server.URL)),
	}
	subject := func(options map[string]string) string {
		t.Helper()
		message, err := firstMessage(t, mustParse(t, testConfig(options)).security.mechanism)
		if err != nil {
			t.Fatal(err)
		}
		token, _ := strings.CutPrefix(message, "n,,\x01auth=Bearer ")
		parts := strings.Split(strings.TrimRight(token, "\x01"), ".")
		if len(parts) != 3 {
			t.Fatalf("token %q", token)
		}
		var decoded [3]string
		for i, part := range parts {
			text, err := base64.RawURLEncoding.DecodeString(part)
			if err != nil {
				t.Fatal(err)
			}
			decoded[i] = string(text)
		}
		var claims struct {
			Iss, Scope, Sub string
			Iat, Exp        int64
		}
		if err := json.Unmarshal([]byte(decoded[1]), &claims); err != nil {
			t.Fatal(err)
		}
		if decoded[0] != `{"alg":"GOOG_OAUTH2_TOKEN","typ":"JWT"}` || decoded[2] != "ya29.abc" ||
			claims.Iss != "Google" || claims.Scope != "kafka" || claims.Exp-claims.Iat < 3500 {
			t.Errorf("token %q", decoded)
		}
		return claims.Sub
	}
	if got := subject(options); got != "svc@project.iam.gserviceaccount.com" {
		t.Errorf("the account of the credentials: %q", got)
	}
	t.Setenv(gcpPrincipalEnv, "env@example")
	if got := subject(options); got != "env@example" {
		t.Errorf("the account of the environment: %q", got)
	}
	if got := subject(with(options, "gcp.principal", "option@example")); got != "option@example" {
		t.Errorf("the account of the option: %q", got)
	}
	if requests != 3 {
		t.Errorf("%d requests", requests)
	}
}

func TestGoogleTokenServiceThatRefuses(t *testing.T) {
	server := tokenEndpoint(t, func(*http.Request, url.Values) (int, string) {
		return http.StatusBadRequest, `{"error":"invalid_grant","error_description":"account not found","secret":"hunter22"}`
	})
	s := mustParse(t, testConfig(map[string]string{
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp",
		"gcp.credentials.file": tempFile(t, serviceAccountKey(t, server.URL)),
	}))
	e := wantError(t, Classify(s.security.prepare(t.Context()), Where{}), CodeAuth, "Google Cloud", "400", "invalid_grant", "account not found")
	if strings.Contains(e.Text, "hunter22") {
		t.Errorf("the answer is in the message: %v", e)
	}
}
