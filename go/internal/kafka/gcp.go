package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const (
	gcpScope        = "https://www.googleapis.com/auth/cloud-platform"
	gcpPrincipalEnv = "GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL"
	maxGCPFile      = 1 << 20
)

// gcpIdentity is where Google's access tokens come from and whom they speak
// for.
type gcpIdentity struct {
	principal string // "": the account of the metadata server
	tokens    oauth2.TokenSource
}

// gcpLogin logs in to Google Cloud's managed Kafka. The credentials are looked
// for at the first login, because that may ask the metadata server.
func gcpLogin(v *optionValues, s *security) error {
	principal := v.text("gcp.principal")
	if principal == "" {
		principal = os.Getenv(gcpPrincipalEnv)
	}
	var key []byte
	if file := v.text("gcp.credentials.file"); file != "" {
		var err error
		if key, err = readBounded(file, maxGCPFile); err != nil {
			return configError("option gcp.credentials.file: file %q cannot be read: %v", file, err)
		}
		if err := checkServiceAccount(key); err != nil {
			return configError("option gcp.credentials.file: file %q: %v", file, err)
		}
	}
	var identity *gcpIdentity
	newTokenCache("Google Cloud", func(ctx context.Context) (timedToken, error) {
		// The cache runs one fetch at a time, so identity needs no lock.
		if identity == nil {
			found, err := findGCPIdentity(ctx, key, principal)
			if err != nil {
				return timedToken{}, err
			}
			identity = found
		}
		return identity.fetch(time.Now())
	}).use(s)
	return nil
}

// checkServiceAccount refuses other kinds of credentials at build: those name
// endpoints that would be trusted with a token.
func checkServiceAccount(key []byte) error {
	var account struct {
		Type  string `json:"type"`
		Email string `json:"client_email"`
	}
	if json.Unmarshal(key, &account) != nil {
		return errors.New("it is not JSON")
	}
	if account.Type != string(google.ServiceAccount) || account.Email == "" {
		return errors.New("it does not hold the key of a service account")
	}
	return nil
}

func findGCPIdentity(ctx context.Context, key []byte, principal string) (*gcpIdentity, error) {
	// The token source keeps its context for later refreshes, so it must not
	// end with this login; the client bounds each of its requests instead.
	lasting := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: credentialsTimeout})
	var found *google.Credentials
	var err error
	if key != nil {
		found, err = google.CredentialsFromJSONWithType(lasting, key, google.ServiceAccount, gcpScope)
	} else {
		found, err = google.FindDefaultCredentials(lasting, gcpScope)
	}
	if err != nil {
		return nil, err
	}
	if principal == "" {
		if principal, err = gcpAccount(ctx, found.JSON); err != nil {
			return nil, err
		}
	}
	return &gcpIdentity{principal: principal, tokens: found.TokenSource}, nil
}

// gcpAccount finds the account that the credentials belong to.
func gcpAccount(ctx context.Context, key []byte) (string, error) {
	var account struct {
		Email string `json:"client_email"`
	}
	if json.Unmarshal(key, &account) == nil && account.Email != "" {
		return account.Email, nil
	}
	email, err := metadata.EmailWithContext(ctx, "default")
	if err != nil {
		return "", fmt.Errorf("the credentials name no account and the metadata server does not either (%w): set gcp.principal", err)
	}
	return email, nil
}

func (g *gcpIdentity) fetch(now time.Time) (timedToken, error) {
	access, err := g.tokens.Token()
	if err != nil {
		// The error carries the whole answer; only its code and description
		// are meant to be shown.
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
			return timedToken{}, fmt.Errorf("HTTP status %d%s", refused.Response.StatusCode, refusal(refused.Body, nil))
		}
		return timedToken{}, err
	}
	expires := access.Expiry
	if expires.IsZero() {
		expires = now.Add(unknownLifetime)
	}
	token, err := gcpToken(access.AccessToken, g.principal, now, expires)
	return timedToken{Token: Token{Token: token}, expires: expires}, err
}

// gcpToken wraps an access token in the form that Google's managed Kafka
// reads: three parts like a JWT, the last one being the access token instead
// of a signature.
func gcpToken(access, principal string, now, expires time.Time) (string, error) {
	header, err := json.Marshal(map[string]string{"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": "Google", "scope": "kafka", "sub": principal,
		"iat": now.Unix(), "exp": expires.Unix(),
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode(header) + "." + encode(claims) + "." + encode([]byte(access)), nil
}
