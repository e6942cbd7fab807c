package kafka

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// testConfig is a valid configuration that reaches nothing.
func testConfig(options map[string]string) Config {
	return Config{Brokers: []string{"127.0.0.1:9092"}, Topic: "orders", Group: "shop", Options: options}
}

func mustParse(t *testing.T, c Config) *Settings {
	t.Helper()
	s, err := c.Parse()
	if err != nil {
		t.Fatalf("%v: %v", c.Options, err)
	}
	return s
}

// wantError checks code and text of an error and returns it.
func wantError(t *testing.T, err error, code int32, texts ...string) *Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; expected code %d with %q", code, texts)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%T instead of *Error: %v", err, err)
	}
	if e.Code != code {
		t.Errorf("code %d instead of %d: %v", e.Code, code, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
	return e
}

func with(options map[string]string, more ...string) map[string]string {
	all := maps.Clone(options)
	if all == nil {
		all = make(map[string]string)
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// authority signs certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newECKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{certificate, key, encodePEM("CERTIFICATE", der)}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// sign issues a certificate for hosts (names or addresses) and returns its PEM.
func (a *authority) sign(t *testing.T, key crypto.Signer, hosts ...string) string {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM("CERTIFICATE", der)
}

func pkcs8(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM("PRIVATE KEY", der)
}

func sec1(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM("EC PRIVATE KEY", der)
}

// rsaKey is shared: making one takes long under the race detector.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func pkcs1(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsaKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

// serverTLS is a listener's configuration with a certificate for the hosts.
func (a *authority) serverTLS(t *testing.T, hosts ...string) *tls.Config {
	t.Helper()
	key := newECKey(t)
	pair, err := tls.X509KeyPair([]byte(a.sign(t, key, hosts...)), []byte(pkcs8(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func tempFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustPool(t *testing.T, a *authority) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// startCluster starts a fake cluster and returns a configuration for it.
func startCluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, Config) {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(2, "orders", "orders-dead")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster, Config{Brokers: cluster.ListenAddrs(), Topic: "orders", Group: "shop"}
}

// listen serves every connection with a function until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	return listener.Addr().String()
}

// closedPort is an address that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// logLines collects log lines.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Log(_ int, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
}

func (l *logLines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
