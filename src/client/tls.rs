//! TLS by rustls with the `ring` provider: whom to trust, and who we are.
//!
//! The configuration is built once per client and shared by its connections.

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring as provider};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::error::{Error, Result};
use super::secret::Secret;

/// TLS settings, with files already read: all PEM here is text.
#[derive(Debug, Clone, Default)]
pub struct TlsConfig {
    /// `ssl.ca.pem` or the content of `ssl.ca.location`: certificates to trust. `None` trusts the
    /// system's.
    pub ca_pem: Option<String>,
    /// `ssl.certificate.pem` and `ssl.key.pem` (or their `.location`): our certificate chain and
    /// its unencrypted private key, for brokers that ask for one.
    pub client: Option<ClientIdentity>,
    /// `ssl.endpoint.identification.algorithm=none`: accept a certificate made out to another
    /// host. The chain is still verified.
    pub skip_hostname_check: bool,
    /// `enable.ssl.certificate.verification=false`: trust any certificate. Anyone on the path can
    /// then read and change the traffic.
    pub skip_certificate_check: bool,
}

/// A client certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// Certificate chain, leaf first.
    pub certificate_pem: String,
    /// PKCS#8, PKCS#1 or SEC1, not encrypted.
    pub key_pem: Secret,
}

/// Builds TLS streams; cheap to clone.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// # Errors
    /// [`Error::Config`] naming the setting that is wrong.
    pub(crate) fn new(config: &TlsConfig) -> Result<Self> {
        let provider = Arc::new(provider::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Config(format!("TLS cannot be set up: {error}")))?;
        let builder = if config.skip_certificate_check {
            let verifier = LaxVerifier { provider, roots: None };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else if config.skip_hostname_check {
            let verifier = LaxVerifier { provider, roots: Some(roots(config)?) };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            builder.with_root_certificates(roots(config)?)
        };
        let config = match &config.client {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = certificates(&identity.certificate_pem, "ssl.certificate")?;
                let key = private_key(&identity.key_pem)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    Error::Config(format!("ssl.certificate and ssl.key do not fit: {error}"))
                })?
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the handshake; the caller bounds its time.
    ///
    /// # Errors
    /// [`Error::Tls`] naming the broker and the setting to look at.
    pub(crate) async fn connect<S>(
        &self,
        broker: &Arc<str>,
        host: &str,
        stream: S,
    ) -> Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let failed = |cause: String| Error::Tls { broker: broker.clone(), cause: cause.into() };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| failed(format!("{host:?} is not a host name or address")))?;
        self.0.connect(name, stream).await.map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    "; the broker closed the connection: check that this port is an SSL or \
                     SASL_SSL listener"
                }
                _ => "",
            };
            failed(format!("{}{hint}", explain(&error)))
        })
    }
}

/// Whether TLS itself failed, rather than the stream under it.
pub(crate) fn is_fault(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// The TLS library's reason with what to do about it.
pub(crate) fn explain(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let advice = match inner {
        Some(rustls::Error::InvalidCertificate(cause)) => match cause {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "; check that ssl.ca.location or ssl.ca.pem holds the authority that signed the \
                 broker's certificate"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "; connect by a name that is in the certificate, or set \
                 ssl.endpoint.identification.algorithm=none"
            }
            _ => "",
        },
        Some(rustls::Error::AlertReceived(_)) => {
            "; the broker refused: check ssl.certificate and ssl.key if it demands a client \
             certificate"
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "; the broker does not answer in TLS: check that this port is an SSL or SASL_SSL \
             listener"
        }
        _ => "",
    };
    format!("{error}{advice}")
}

fn roots(config: &TlsConfig) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match &config.ca_pem {
        Some(text) => {
            for certificate in certificates(text, "ssl.ca")? {
                store.add(certificate).map_err(|error| {
                    Error::Config(format!("ssl.ca holds an unusable certificate: {error}"))
                })?;
            }
        }
        None => {
            let loaded = rustls_native_certs::load_native_certs();
            // Single unreadable certificates are normal on real systems; an empty store is not.
            store.add_parsable_certificates(loaded.certs);
            if store.is_empty() {
                return Err(Error::Config(
                    "the system has no trusted certificates; set ssl.ca.location or ssl.ca.pem"
                        .into(),
                ));
            }
        }
    }
    Ok(store)
}

fn certificates(text: &str, setting: &str) -> Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Error::Config(format!("{setting} is not valid PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(Error::Config(format!("{setting} holds no PEM certificate")));
    }
    Ok(certificates)
}

fn private_key(text: &Secret) -> Result<PrivateKeyDer<'static>> {
    if text.expose().contains("ENCRYPTED") {
        return Err(Error::Config(
            "ssl.key is encrypted, which is not supported; decrypt it, for example with openssl \
             pkcs8 -nocrypt"
                .into(),
        ));
    }
    PrivateKeyDer::from_pem_slice(text.expose().as_bytes()).map_err(|error| match error {
        pem::Error::NoItemsFound => Error::Config("ssl.key holds no PEM private key".into()),
        // The library's text could quote the input; the kind of fault is enough.
        _ => Error::Config("ssl.key is not valid PEM".into()),
    })
}

/// Checks less than the default: without `roots` nothing but the handshake's own signature.
#[derive(Debug)]
struct LaxVerifier {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for LaxVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(end_entity)?,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
