package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
)

var (
	plainLogin = map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": "bob", "sasl.password": "hunter22"}
	oidcOpts   = map[string]string{
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
		"sasl.oauthbearer.client.id": "id", "sasl.oauthbearer.client.secret": "hunter22",
	}
)

func TestSecurityConflicts(t *testing.T) {
	ca := newAuthority(t)
	key := newECKey(t)
	certificate, private := ca.sign(t, key, "c"), pkcs8(t, key)
	for _, c := range []struct {
		options map[string]string
		texts   []string
	}{
		{map[string]string{"security.protocol": "PLAINTEXT", "ssl.ca.pem": ca.pem}, []string{"ssl.ca.pem", "PLAINTEXT", "SSL"}},
		{with(plainLogin, "security.protocol", "SASL_PLAINTEXT", "ssl.ca.pem", ca.pem), []string{"ssl.ca.pem", "SASL_SSL"}},
		{map[string]string{"security.protocol": "SASL_SSL"}, []string{"security.protocol=SASL_SSL", "sasl.mechanism", "use SSL"}},
		{map[string]string{"security.protocol": "SASL_PLAINTEXT"}, []string{"sasl.mechanism", "use PLAINTEXT"}},
		{with(plainLogin, "security.protocol", "SSL"), []string{"sasl.mechanism", "SASL_SSL"}},
		{with(plainLogin, "security.protocol", "PLAINTEXT"), []string{"sasl.mechanism", "SASL_PLAINTEXT"}},
		{map[string]string{"sasl.username": "bob"}, []string{"sasl.username", "without sasl.mechanism"}},
		{map[string]string{"sasl.password": "hunter22"}, []string{"sasl.password", "without sasl.mechanism"}},
		{map[string]string{"aws.region": "eu-west-1"}, []string{"aws.region", "without sasl.mechanism"}},
		{map[string]string{"gcp.principal": "a"}, []string{"gcp.principal", "without sasl.mechanism"}},
		{map[string]string{"sasl.oauthbearer.method": "oidc"}, []string{"sasl.oauthbearer.method", "without sasl.mechanism"}},
		{map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": "bob"}, []string{"PLAIN", "sasl.password"}},
		{map[string]string{"sasl.mechanism": "SCRAM-SHA-512", "sasl.password": "hunter22"}, []string{"SCRAM-SHA-512", "sasl.username"}},
		{with(plainLogin, "aws.profile", "p"), []string{"aws.profile", "does not belong to", "PLAIN"}},
		{with(plainLogin, "sasl.oauthbearer.scope", "s"), []string{"sasl.oauthbearer.scope", "does not belong to"}},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "sasl.password": "hunter22"}, []string{"sasl.password", "AWS_MSK_IAM"}},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "security.protocol": "SASL_PLAINTEXT"}, []string{"AWS_MSK_IAM", "TLS", "SASL_SSL"}},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "aws.role.session.name": "name"}, []string{"aws.role.session.name", "aws.role.arn"}},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "aws.role.arn": strings.Repeat("x", 20)}, []string{"aws.role.arn", "ARN"}},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM", "aws.region": "Dublin"}, []string{"aws.region", "Dublin"}},
		{with(oidcOpts, "sasl.username", "bob"), []string{"sasl.username", "OAUTHBEARER"}},
		{with(oidcOpts, "gcp.principal", "a"), []string{"gcp.principal", "oidc"}},
		{with(oidcOpts, "sasl.oauthbearer.method", "gcp"), []string{"sasl.oauthbearer.token.endpoint.url", "gcp"}},
		{with(oidcOpts, "sasl.oauthbearer.method", "callback"), []string{"token callback"}},
		{with(oidcOpts, "sasl.oauthbearer.token.endpoint.url", "http://id.example/token"), []string{"token.endpoint.url", "https"}},
		{with(oidcOpts, "sasl.oauthbearer.token.endpoint.url", "ftp://id.example/token"), []string{"token.endpoint.url", "URL"}},
		{with(oidcOpts, "sasl.oauthbearer.token.endpoint.url", "https://u:hunter22@id.example/"), []string{"token.endpoint.url", "password"}},
		{with(oidcOpts, "sasl.oauthbearer.extensions", "auth=hunter22"), []string{"extensions", "auth"}},
		{with(oidcOpts, "sasl.oauthbearer.extensions", "a=1,a=2"), []string{"extensions", "twice"}},
		{with(oidcOpts, "sasl.oauthbearer.extensions", "hunter22"), []string{"extensions", "name=value"}},
		{with(oidcOpts, "sasl.oauthbearer.extensions", "a=\x01hunter22"), []string{"extensions", "printable"}},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.client.id": "id"}, []string{"client.secret", "set all three"}},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp", "security.protocol": "SASL_PLAINTEXT"}, []string{"gcp", "SASL_SSL"}},
		{map[string]string{"sasl.mechanism": "GSSAPI"}, []string{"sasl.mechanism", "GSSAPI", "SCRAM-SHA-256"}},
		{with(plainLogin, "sasl.mechanisms", "PLAIN"), []string{"sasl.mechanisms", "keep one"}},
		{map[string]string{"ssl.ca.pem": ca.pem, "ssl.ca.location": "/ca"}, []string{"ssl.ca.location", "ssl.ca.pem", "keep one"}},
		{map[string]string{"ssl.key.pem": private, "ssl.key.location": "/key", "ssl.certificate.pem": certificate}, []string{"ssl.key.location", "ssl.key.pem", "keep one"}},
		{map[string]string{"ssl.certificate.pem": certificate, "ssl.certificate.location": "/c"}, []string{"ssl.certificate.location", "keep one"}},
		{map[string]string{"ssl.key.pem": private}, []string{"ssl.key.pem", "without a certificate"}},
		{map[string]string{"ssl.certificate.pem": certificate}, []string{"ssl.certificate.pem", "without a private key"}},
		{map[string]string{"ssl.certificate.pem": certificate, "ssl.key.pem": pkcs8(t, newECKey(t))}, []string{"ssl.certificate.pem", "ssl.key.pem", "does not match"}},
		{map[string]string{"ssl.certificate.pem": certificate, "ssl.key.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"}, []string{"ssl.key.pem", "encrypted", "openssl"}},
		{map[string]string{"ssl.certificate.pem": certificate, "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"}, []string{"ssl.key.pem", "encrypted"}},
		{map[string]string{"ssl.ca.pem": "no certificate"}, []string{"ssl.ca.pem", "CERTIFICATE"}},
		{map[string]string{"ssl.ca.location": "/nowhere/ca.pem"}, []string{"ssl.ca.location", "/nowhere/ca.pem", "no such file"}},
		{map[string]string{"ssl.ca.location": "/dev/zero"}, []string{"ssl.ca.location", "regular file"}},
		{map[string]string{"ssl.ca.location": " "}, []string{"ssl.ca.location", "empty"}},
		{map[string]string{"ssl.ca.location": tempFile(t, strings.Repeat("x", maxPEMFile+1))}, []string{"ssl.ca.location", "1048577"}},
		{map[string]string{"ssl.key.password": "hunter22"}, []string{"ssl.key.password", "Decrypt"}},
		{map[string]string{"ssl.endpoint.identification.algorithm": "ldap"}, []string{"ssl.endpoint.identification.algorithm", "https"}},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp", "gcp.credentials.file": tempFile(t, "hunter22")}, []string{"gcp.credentials.file", "JSON"}},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp", "gcp.credentials.file": tempFile(t, `{"type":"external_account"}`)}, []string{"gcp.credentials.file", "service account"}},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp", "gcp.credentials.file": "/nowhere.json"}, []string{"gcp.credentials.file", "/nowhere.json"}},
	} {
		e := wantError(t, second(testConfig(c.options).Parse()), CodeConfig, c.texts...)
		if strings.Contains(e.Text, "hunter22") || strings.Contains(e.Text, "PRIVATE KEY") {
			t.Errorf("a secret is in the message: %v", e)
		}
	}
}

func TestProtocolIsInferred(t *testing.T) {
	token := func(context.Context) (Token, error) { return Token{Token: "t"}, nil }
	for _, c := range []struct {
		options   map[string]string
		source    func(context.Context) (Token, error)
		tls       bool
		mechanism string
	}{
		{nil, nil, false, ""},
		{map[string]string{"security.protocol": "ssl"}, nil, true, ""},
		{map[string]string{"enable.ssl.certificate.verification": "false"}, nil, true, ""},
		{plainLogin, nil, false, "PLAIN"},
		{with(plainLogin, "sasl.mechanism", "scram-sha-256"), nil, false, "SCRAM-SHA-256"},
		{with(plainLogin, "sasl.mechanism", "SCRAM-SHA-512", "security.protocol", "SASL_SSL"), nil, true, "SCRAM-SHA-512"},
		{with(plainLogin, "ssl.endpoint.identification.algorithm", "https"), nil, true, "PLAIN"},
		{map[string]string{"sasl.mechanism": "AWS_MSK_IAM"}, nil, true, "AWS_MSK_IAM"},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "gcp"}, nil, true, "OAUTHBEARER"},
		{oidcOpts, nil, false, "OAUTHBEARER"},
		{oidcOpts, token, false, "OAUTHBEARER"},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER"}, token, false, "OAUTHBEARER"},
		{map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "callback"}, token, false, "OAUTHBEARER"},
	} {
		config := testConfig(c.options)
		config.TokenSource = c.source
		s := mustParse(t, config)
		name := ""
		if s.security.mechanism != nil {
			name = s.security.mechanism.Name()
		}
		if (s.security.tls != nil) != c.tls || name != c.mechanism {
			t.Errorf("%v: TLS %v and mechanism %q", c.options, s.security.tls != nil, name)
		}
		if s.security.tls != nil && s.security.tls.MinVersion != tls.VersionTLS12 {
			t.Errorf("%v: TLS from version %x", c.options, s.security.tls.MinVersion)
		}
	}
}

func TestSettingsShowNoValues(t *testing.T) {
	s := mustParse(t, testConfig(with(plainLogin, "client.id", "visible-only-to-brokers")))
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(format, s)
		if strings.Contains(text, "hunter22") || strings.Contains(text, "visible-only") || !strings.Contains(text, "orders") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func TestPrivateKeysOfEveryKind(t *testing.T) {
	ca := newAuthority(t)
	ec := newECKey(t)
	rsaPrivate, rsaPEM := pkcs1(t)
	for name, pair := range map[string][2]string{
		"PKCS#8":     {ca.sign(t, ec, "c"), pkcs8(t, ec)},
		"SEC 1":      {ca.sign(t, ec, "c"), sec1(t, ec)},
		"PKCS#1":     {ca.sign(t, rsaPrivate, "c"), rsaPEM},
		"RSA PKCS#8": {ca.sign(t, rsaPrivate, "c"), pkcs8(t, rsaPrivate)},
	} {
		s := mustParse(t, testConfig(map[string]string{"ssl.certificate.pem": pair[0], "ssl.key.pem": pair[1]}))
		if len(s.security.tls.Certificates) != 1 {
			t.Errorf("%s: no certificate", name)
		}
	}
}

// handshakeWith connects to a TLS server by the dialer of the options.
func handshakeWith(t *testing.T, server *tls.Config, options map[string]string) error {
	t.Helper()
	addr := listen(t, func(conn net.Conn) {
		secure := tls.Server(conn, server)
		if secure.Handshake() == nil {
			_, _ = secure.Write([]byte{1})
			// Until the client hangs up.
			_, _ = secure.Read(make([]byte, 1))
		}
	})
	s := mustParse(t, testConfig(with(options, "security.protocol", "SSL")))
	d := &dialer{timeout: s.ConnectionSetupTimeout, tls: s.security.tls}
	conn, err := d.dial(t.Context(), "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The server judges the client's certificate after the handshake.
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestCertificatesAreChecked(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	right, wrongName := ca.serverTLS(t, "127.0.0.1"), ca.serverTLS(t, "broker.example")
	const noName, noCheck = "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification"
	for _, c := range []struct {
		name    string
		server  *tls.Config
		options map[string]string
		text    string // "" = success
	}{
		{"right", right, map[string]string{"ssl.ca.pem": ca.pem}, ""},
		{"two authorities", right, map[string]string{"ssl.ca.pem": other.pem + ca.pem}, ""},
		{"wrong authority", right, map[string]string{"ssl.ca.pem": other.pem}, "ssl.ca.location"},
		{"system authorities", right, nil, "ssl.ca.location"},
		{"wrong name", wrongName, map[string]string{"ssl.ca.pem": ca.pem}, "another host"},
		{"name unchecked", wrongName, map[string]string{"ssl.ca.pem": ca.pem, noName: "none"}, ""},
		{"name unchecked, wrong authority", wrongName, map[string]string{"ssl.ca.pem": other.pem, noName: "none"}, "ssl.ca.location"},
		{"unchecked", wrongName, map[string]string{"ssl.ca.pem": other.pem, noCheck: "false"}, ""},
		{"old TLS", &tls.Config{Certificates: right.Certificates, MaxVersion: tls.VersionTLS11}, map[string]string{"ssl.ca.pem": ca.pem}, "TLS"},
	} {
		err := handshakeWith(t, c.server, c.options)
		if c.text == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			wantError(t, Classify(err, Where{}), CodeAuth, "TLS", c.text)
		})
	}
}

func TestClientCertificateIsPresented(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	server := ca.serverTLS(t, "127.0.0.1")
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, mustPool(t, ca)
	key := newECKey(t)
	good := map[string]string{"ssl.ca.pem": ca.pem, "ssl.certificate.pem": ca.sign(t, key, "c"), "ssl.key.pem": pkcs8(t, key)}
	if err := handshakeWith(t, server, good); err != nil {
		t.Errorf("a good certificate: %v", err)
	}
	foreign := with(good, "ssl.certificate.pem", other.sign(t, key, "c"))
	wantError(t, Classify(handshakeWith(t, server, foreign), Where{}), CodeAuth, "TLS", "certificate")
	wantError(t, Classify(handshakeWith(t, server, map[string]string{"ssl.ca.pem": ca.pem}), Where{}), CodeAuth, "TLS", "certificate")
}
