use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

use super::*;

struct Authority(CertifiedIssuer<'static, KeyPair>);

struct Identity {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn issue(&self, name: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A server that sends back one byte, and asks for a client certificate if told whose.
fn serve(stream: DuplexStream, identity: &Identity, clients: Option<&Authority>) {
    let builder = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let trusted = TlsConfig { ca_pem: Some(authority.pem()), ..Default::default() };
            let verifier = WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots(&trusted).unwrap()),
                Arc::new(provider::default_provider()),
            );
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let chain = certificates(&identity.certificate, "test").unwrap();
    let key = private_key(&identity.key.as_str().into()).unwrap();
    let config = builder.with_single_cert(chain, key).unwrap();
    tokio::spawn(async move {
        // A refused handshake is the client's to report.
        if let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await {
            let byte = stream.read_u8().await;
            if let Ok(byte) = byte {
                let _ = stream.write_u8(byte).await;
                let _ = stream.flush().await;
            }
        }
    });
}

/// Connects to host `broker.test` and exchanges one byte.
async fn round_trip(
    config: &TlsConfig,
    identity: &Identity,
    clients: Option<&Authority>,
) -> Result<u8> {
    let (client, server) = tokio::io::duplex(64 * 1024);
    serve(server, identity, clients);
    let tls = Tls::new(config)?;
    let broker: Arc<str> = "broker.test:9093".into();
    let mut stream = tls.connect(&broker, "broker.test", client).await?;
    // With TLS 1.3 a refused client certificate shows at the first read.
    let exchange = async {
        stream.write_u8(42).await?;
        stream.flush().await?;
        stream.read_u8().await
    };
    exchange.await.map_err(|error| Error::Tls { broker, cause: explain(&error).into() })
}

fn trusting(authority: &Authority) -> TlsConfig {
    TlsConfig { ca_pem: Some(authority.pem()), ..Default::default() }
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted() {
    let authority = Authority::new();
    let server = authority.issue("broker.test");
    assert_eq!(round_trip(&trusting(&authority), &server, None).await.unwrap(), 42);
}

#[tokio::test]
async fn an_unknown_authority_is_refused_with_the_setting_to_look_at() {
    let server = Authority::new().issue("broker.test");
    let error = round_trip(&trusting(&Authority::new()), &server, None).await.unwrap_err();
    assert!(error.to_string().contains("ssl.ca.location"), "{error}");
    assert!(error.to_string().contains("broker.test:9093"), "{error}");
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused_unless_the_check_is_off() {
    let authority = Authority::new();
    let server = authority.issue("other.test");
    let error = round_trip(&trusting(&authority), &server, None).await.unwrap_err();
    assert!(error.to_string().contains("ssl.endpoint.identification.algorithm"), "{error}");

    let lax = TlsConfig { skip_hostname_check: true, ..trusting(&authority) };
    assert_eq!(round_trip(&lax, &server, None).await.unwrap(), 42);
    // The chain still counts.
    let foreign = Authority::new().issue("broker.test");
    assert!(round_trip(&lax, &foreign, None).await.is_err());
}

#[tokio::test]
async fn verification_can_be_switched_off_altogether() {
    let server = Authority::new().issue("other.test");
    let config = TlsConfig { skip_certificate_check: true, ..Default::default() };
    assert_eq!(round_trip(&config, &server, None).await.unwrap(), 42);
}

#[tokio::test]
async fn a_client_certificate_is_presented_where_the_broker_demands_one() {
    let authority = Authority::new();
    let server = authority.issue("broker.test");
    let without = round_trip(&trusting(&authority), &server, Some(&authority)).await.unwrap_err();
    assert!(without.to_string().contains("ssl.certificate"), "{without}");

    let client = authority.issue("client.test");
    let config = TlsConfig {
        client: Some(ClientIdentity {
            certificate_pem: client.certificate,
            key_pem: client.key.into(),
        }),
        ..trusting(&authority)
    };
    assert_eq!(round_trip(&config, &server, Some(&authority)).await.unwrap(), 42);
}

#[test]
fn unusable_pem_is_refused_by_setting_and_never_quoted() {
    let config = TlsConfig { ca_pem: Some("nonsense".into()), ..Default::default() };
    let error = Tls::new(&config).unwrap_err().to_string();
    assert!(error.contains("ssl.ca"), "{error}");

    let certificate_pem = Authority::new().issue("client.test").certificate;
    for (key, expected) in [
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2VjcmV0\n-----END ENCRYPTED PRIVATE KEY-----",
            "encrypted",
        ),
        ("topsecret", "ssl.key"),
        ("-----BEGIN PRIVATE KEY-----\n!topsecret!\n-----END PRIVATE KEY-----", "ssl.key"),
    ] {
        let client =
            ClientIdentity { certificate_pem: certificate_pem.clone(), key_pem: key.into() };
        let config = TlsConfig {
            ca_pem: Some(certificate_pem.clone()),
            client: Some(client),
            ..Default::default()
        };
        let error = Tls::new(&config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
