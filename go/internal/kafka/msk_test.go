package kafka

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	kaws "github.com/twmb/franz-go/pkg/sasl/aws"
)

// awsEnvironment points the AWS configuration at nothing but the test's own.
func awsEnvironment(t *testing.T, variables ...string) {
	t.Helper()
	nothing := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name) // restored by Setenv's clean-up
	}
	t.Setenv("AWS_CONFIG_FILE", nothing)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nothing)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for i := 0; i < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
}

func mskMessage(t *testing.T, broker string, options ...string) (map[string]string, error) {
	t.Helper()
	s := mustParse(t, testConfig(with(map[string]string{"sasl.mechanism": "AWS_MSK_IAM"}, options...)))
	_, message, err := s.security.mechanism.Authenticate(t.Context(), broker)
	if err != nil {
		return nil, err
	}
	var fields map[string]string
	if err := json.Unmarshal(message, &fields); err != nil {
		t.Fatal(err)
	}
	return fields, nil
}

// The client library's own signer is the reference; both must have signed in
// the same second.
func TestSignedLoginEqualsTheReference(t *testing.T) {
	const host = "b-1.shop.abcdef.c2.kafka.eu-west-1.amazonaws.com"
	for _, session := range []string{"", "session/token+with=signs"} {
		for attempt := 0; ; attempt++ {
			auth := kaws.Auth{AccessKey: "AKID", SecretKey: "secret/key+1", SessionToken: session, UserAgent: mskUserAgent}
			_, reference, err := auth.AsManagedStreamingIAMMechanism().Authenticate(t.Context(), host+":9098")
			if err != nil {
				t.Fatal(err)
			}
			ours, err := signLogin(t.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret/key+1", SessionToken: session}, host, "eu-west-1", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			var a, b map[string]string
			if json.Unmarshal(reference, &a) != nil || json.Unmarshal(ours, &b) != nil {
				t.Fatalf("%s, %s", reference, ours)
			}
			if a["x-amz-date"] != b["x-amz-date"] && attempt < 5 {
				continue
			}
			if string(reference) != string(ours) {
				t.Errorf("signed login:\n%s\ninstead of\n%s", ours, reference)
			}
			break
		}
	}
}

func TestRegionOfALogin(t *testing.T) {
	const public, private = "b-1.shop.abcdef.c2.kafka.eu-west-1.amazonaws.com:9098", "kafka.internal:9098"
	awsEnvironment(t, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "secret")
	region := func(broker string, options ...string) string {
		t.Helper()
		fields, err := mskMessage(t, broker, options...)
		if err != nil {
			return err.Error()
		}
		return strings.Split(fields["x-amz-credential"], "/")[2]
	}
	if got := region(public); got != "eu-west-1" {
		t.Errorf("from the name: %s", got)
	}
	if got := region(public, "aws.region", "us-east-2"); got != "us-east-2" {
		t.Errorf("from the option: %s", got)
	}
	if got := region(private); !strings.Contains(got, "set aws.region") {
		t.Errorf("from nowhere: %s", got)
	}
	t.Setenv("AWS_REGION", "ap-south-1")
	if got := region(private); got != "ap-south-1" {
		t.Errorf("from the environment: %s", got)
	}
	for host, want := range map[string]string{
		"boot-x.c1.kafka-serverless.us-gov-west-1.amazonaws.com": "us-gov-west-1",
		"vpce-1.kafka.us-east-1.vpce.amazonaws.com":              "us-east-1",
		"b-1.Shop.abcdef.c2.KAFKA.cn-north-1.amazonaws.com.cn":   "cn-north-1",
		"kafka": "", "kafka.kafka": "", "": "", "b.kafka.example.com": "",
	} {
		if got := regionOf(host); got != want {
			t.Errorf("%q: region %q instead of %q", host, got, want)
		}
	}
}

func TestProfileAndMissingCredentials(t *testing.T) {
	const broker = "b-1.shop.abcdef.c2.kafka.eu-west-1.amazonaws.com:9098"
	awsEnvironment(t)
	_, err := mskMessage(t, broker)
	wantError(t, Classify(err, Where{}), CodeAuth, "no credentials from AWS")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", tempFile(t, "[blue]\naws_access_key_id = BLUE\naws_secret_access_key = secret\n"))
	fields, err := mskMessage(t, broker, "aws.profile", "blue")
	if err != nil || !strings.HasPrefix(fields["x-amz-credential"], "BLUE/") {
		t.Errorf("profile: %v, %v", fields, err)
	}
	_, err = mskMessage(t, broker, "aws.profile", "red")
	wantError(t, Classify(err, Where{}), CodeAuth, "no credentials from AWS", "red")
}

func TestRoleIsAssumed(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if r.PostForm.Get("RoleArn") == "arn:aws:iam::123456789012:role/denied" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`))
			return
		}
		if r.PostForm.Get("Action") != "AssumeRole" || r.PostForm.Get("RoleSessionName") != "kafka-session" || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/sts/") {
			t.Errorf("form %v", r.PostForm)
		}
		_, _ = w.Write([]byte(`<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId>` +
			`<SecretAccessKey>secret</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>` +
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`))
	}))
	defer server.Close()
	awsEnvironment(t, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "secret", "AWS_ENDPOINT_URL_STS", server.URL)
	s := mustParse(t, testConfig(map[string]string{
		"sasl.mechanism": "AWS_MSK_IAM", "aws.region": "eu-west-1",
		"aws.role.arn": "arn:aws:iam::123456789012:role/kafka", "aws.role.session.name": "kafka-session",
	}))
	for range 3 {
		_, message, err := s.security.mechanism.Authenticate(t.Context(), "kafka.internal:9098")
		if err != nil || !strings.Contains(string(message), `"ROLE/`) || !strings.Contains(string(message), `"x-amz-security-token":"tok"`) {
			t.Fatalf("%s, %v", message, err)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
	_, err := mskMessage(t, "kafka.internal:9098", "aws.region", "eu-west-1", "aws.role.arn", "arn:aws:iam::123456789012:role/denied")
	wantError(t, Classify(err, Where{}), CodeAuth, "AccessDenied", "not you")
	_, err = mskMessage(t, "kafka.internal:9098", "aws.role.arn", "arn:aws:iam::123456789012:role/kafka")
	wantError(t, Classify(err, Where{}), CodeAuth, "set aws.region")
}

func TestAnswerOfTheBrokerIsExpected(t *testing.T) {
	if done, _, err := (mskSession{}).Challenge([]byte(`{"version":"2020_10_22"}`)); !done || err != nil {
		t.Errorf("an answer: %v, %v", done, err)
	}
	if _, _, err := (mskSession{}).Challenge(nil); err == nil {
		t.Error("an empty answer was taken for success")
	}
}
