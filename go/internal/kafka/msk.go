package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/twmb/franz-go/pkg/sasl"
)

const (
	mskService    = "kafka-cluster"
	mskAction     = mskService + ":Connect"
	mskVersion    = "2020_10_22"
	mskUserAgent  = "llingr-kafka"
	mskSignedLife = "900" // seconds a signed login stays valid
	// The SHA-256 of the empty body that a signed login stands for.
	emptyBodyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// mskMechanism is AWS_MSK_IAM: the login is a signed URL, sent as JSON. It is
// written here, on top of AWS's own signer, because the client library's
// version takes the region from the host name or the process environment only
// and so cannot serve aws.region, profiles, or brokers behind private names.
type mskMechanism struct {
	region  string // aws.region, "" when unset
	profile string
	roleARN string
	session string

	gate   chan struct{} // a lock that a waiting login can give up on
	loaded *mskIdentity
}

type mskIdentity struct {
	credentials aws.CredentialsProvider
	region      string // of the profile or the environment, "" when none
}

func mskLogin(v *optionValues, s *security) error {
	m := &mskMechanism{
		region:  v.text("aws.region"),
		profile: v.text("aws.profile"),
		roleARN: v.text("aws.role.arn"),
		session: v.text("aws.role.session.name"),
		gate:    make(chan struct{}, 1),
	}
	if m.session != "" && m.roleARN == "" {
		return configError("option aws.role.session.name has no meaning without aws.role.arn: set the role or remove the name")
	}
	if m.roleARN != "" && !strings.HasPrefix(m.roleARN, "arn:") {
		return configError("option aws.role.arn: %q is not an ARN, which begins with \"arn:\"", m.roleARN)
	}
	if m.region != "" && !regionName.MatchString(m.region) {
		return configError("option aws.region: %q is not the name of a region, such as eu-west-1", m.region)
	}
	s.mechanism = m
	s.prepare = func(ctx context.Context) error {
		_, _, err := m.credentials(ctx)
		return err
	}
	return nil
}

var regionName = regexp.MustCompile(`^[a-z]{2,}(-[a-z0-9]+)+-[0-9]+$`)

// Name is the mechanism's name in the SASL handshake.
func (*mskMechanism) Name() string { return mechanismMSK }

// Authenticate signs a login for the broker host:port.
func (m *mskMechanism) Authenticate(ctx context.Context, broker string) (sasl.Session, []byte, error) {
	host, _, err := net.SplitHostPort(broker)
	if err != nil {
		return nil, nil, &credentialsError{"AWS", err}
	}
	credentials, configured, err := m.credentials(ctx)
	if err != nil {
		return nil, nil, err
	}
	region := m.region
	if region == "" {
		region = regionOf(host)
	}
	if region == "" {
		region = configured
	}
	if region == "" {
		return nil, nil, &credentialsError{"AWS", fmt.Errorf("the region of %q is not known: set aws.region", host)}
	}
	message, err := signLogin(ctx, credentials, host, region, time.Now())
	if err != nil {
		return nil, nil, &credentialsError{"AWS", err}
	}
	return mskSession{}, message, nil
}

// credentials returns valid AWS credentials and the region that the AWS
// configuration names.
func (m *mskMechanism) credentials(ctx context.Context) (aws.Credentials, string, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	identity, err := m.identity(ctx)
	if err != nil {
		return aws.Credentials{}, "", &credentialsError{"AWS", err}
	}
	credentials, err := identity.credentials.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, "", &credentialsError{"AWS", err}
	}
	return credentials, identity.region, nil
}

// identity loads the AWS configuration once it succeeds.
func (m *mskMechanism) identity(ctx context.Context) (*mskIdentity, error) {
	select {
	case m.gate <- struct{}{}:
		defer func() { <-m.gate }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m.loaded != nil {
		return m.loaded, nil
	}
	// AWS's own logger writes to standard error, which belongs to the host;
	// what matters comes back as an error.
	load := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})}
	if m.region != "" {
		load = append(load, awsconfig.WithRegion(m.region))
	}
	if m.profile != "" {
		load = append(load, awsconfig.WithSharedConfigProfile(m.profile))
	}
	config, err := awsconfig.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, err
	}
	provider := config.Credentials
	if provider == nil {
		return nil, errors.New("the AWS configuration names no credentials")
	}
	if m.roleARN != "" {
		if config.Region == "" {
			return nil, errors.New("assuming a role needs a region: set aws.region")
		}
		provider = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), m.roleARN,
			func(o *stscreds.AssumeRoleOptions) {
				if m.session != "" {
					o.RoleSessionName = m.session
				}
			}))
	}
	m.loaded = &mskIdentity{credentials: provider, region: config.Region}
	return m.loaded, nil
}

// regionOf reads the region from a broker's public name, where it follows the
// service's label: b-1.name.id.c2.kafka.eu-west-1.amazonaws.com.
func regionOf(host string) string {
	labels := strings.Split(strings.ToLower(host), ".")
	for i, label := range labels[:len(labels)-1] {
		if (label == "kafka" || label == "kafka-serverless") && regionName.MatchString(labels[i+1]) {
			return labels[i+1]
		}
	}
	return ""
}

// signLogin builds the login message: the query of a presigned URL as JSON,
// its names in lower case.
func signLogin(ctx context.Context, credentials aws.Credentials, host, region string, now time.Time) ([]byte, error) {
	query := url.Values{"Action": {mskAction}, "X-Amz-Expires": {mskSignedLife}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: "https", Host: host, Path: "/", RawQuery: query.Encode()}).String(), nil)
	if err != nil {
		return nil, err
	}
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, emptyBodyHash, mskService, region, now.UTC())
	if err != nil {
		return nil, err
	}
	result, err := url.Parse(signed)
	if err != nil {
		return nil, err
	}
	message := map[string]string{"version": mskVersion, "host": host, "user-agent": mskUserAgent}
	for name, values := range result.Query() {
		message[strings.ToLower(name)] = values[0]
	}
	return json.Marshal(message)
}

// mskSession expects one non-empty answer.
type mskSession struct{}

func (mskSession) Challenge(answer []byte) (bool, []byte, error) {
	if len(answer) == 0 {
		return false, nil, errors.New("the broker's answer to the AWS_MSK_IAM login is empty")
	}
	return true, nil, nil
}
