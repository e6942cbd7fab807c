package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// parseTLS builds the client side of TLS 1.2 and above. The server name is
// filled in for each connection.
func parseTLS(v *optionValues, s *security) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	roots, err := parseAuthorities(v, s)
	if err != nil {
		return nil, err
	}
	config.RootCAs = roots
	certificate, err := parseClientCertificate(v, s)
	if err != nil {
		return nil, err
	}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	// Both are read whatever the first says, so that neither counts as unread.
	verify, named := v.flag("enable.ssl.certificate.verification"), v.text("ssl.endpoint.identification.algorithm") == "https"
	switch {
	case !verify:
		config.InsecureSkipVerify = true
	case !named:
		// crypto/tls checks chain and name together or not at all; the chain
		// alone is checked here. VerifyConnection also runs on resumption.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, roots) }
	}
	return config, nil
}

func parseAuthorities(v *optionValues, s *security) (*x509.CertPool, error) {
	content, key, err := fileOrText(v, "ssl.ca.location", "ssl.ca.pem")
	if err != nil || key == "" {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, configError("option %s: no certificate found: it must hold PEM blocks of type CERTIFICATE", key)
	}
	s.authorities = content
	return roots, nil
}

func parseClientCertificate(v *optionValues, s *security) (*tls.Certificate, error) {
	chain, chainKey, err := fileOrText(v, "ssl.certificate.location", "ssl.certificate.pem")
	if err != nil {
		return nil, err
	}
	key, keyKey, err := fileOrText(v, "ssl.key.location", "ssl.key.pem")
	if err != nil {
		return nil, err
	}
	switch {
	case chainKey == "" && keyKey == "":
		return nil, nil
	case keyKey == "":
		return nil, configError("option %s is set without a private key: set ssl.key.location or ssl.key.pem", chainKey)
	case chainKey == "":
		return nil, configError("option %s is set without a certificate: set ssl.certificate.location or ssl.certificate.pem", keyKey)
	}
	s.secrets = append(s.secrets, string(key))
	if isEncryptedKey(key) {
		return nil, configError("option %s: the private key is encrypted: decrypt it first (openssl pkcs8) and protect the file by its permissions", keyKey)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, configError("options %s and %s: %v", chainKey, keyKey, err)
	}
	return &pair, nil
}

func isEncryptedKey(content []byte) bool {
	for {
		block, rest := pem.Decode(content)
		if block == nil {
			return false
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
		content = rest
	}
}

// verifyChain checks the certificate chain without the host name.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the broker sent no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates})
	return err
}
