//! How to reach a broker: listener, certificates, login.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::certs::Certs;

/// The user that every login mechanism knows.
pub(crate) const USER: &str = "app";
/// A second user with the same password, for cases of rights.
pub(crate) const OTHER_USER: &str = "other";
/// The password of both users.
pub(crate) const PASSWORD: &str = "app-secret-7f3a";

/// The listeners of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Listener {
    Plaintext,
    /// TLS that asks for a client certificate.
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

impl Listener {
    pub(crate) const ALL: [Self; 4] =
        [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl];

    /// Kafka's name, also the value of `security.protocol`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    pub(crate) fn is_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    pub(crate) fn is_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// The login mechanisms that the brokers offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mechanism {
    Plain,
    ScramSha256,
    ScramSha512,
    /// Unsecured tokens.
    OAuthBearer,
}

impl Mechanism {
    pub(crate) const ALL: [Self; 4] =
        [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OAuthBearer];

    /// Kafka's name, also the value of `sasl.mechanism`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }
}

/// Who logs in, and how.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) mechanism: Mechanism,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Login {
    /// The right login of [`USER`].
    pub(crate) fn new(mechanism: Mechanism) -> Self {
        Self { mechanism, user: USER.to_owned(), password: PASSWORD.to_owned() }
    }

    /// The same as another user.
    pub(crate) fn user(mut self, user: &str) -> Self {
        self.user = user.to_owned();
        self
    }

    /// The same with another password.
    pub(crate) fn password(mut self, password: &str) -> Self {
        self.password = password.to_owned();
        self
    }

    /// The unsecured token for this user, good for an hour from now.
    pub(crate) fn token(&self) -> String {
        unsecured_token(&self.user, SystemTime::now(), Duration::from_secs(3600))
    }
}

/// An unsecured JSON web token, as a broker without a token server takes it.
pub(crate) fn unsecured_token(subject: &str, issued: SystemTime, lifetime: Duration) -> String {
    let issued = issued.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let claims =
        serde_json::json!({ "sub": subject, "iat": issued, "exp": issued + lifetime.as_secs() });
    let part = |text: &str| base64_url(text.as_bytes());
    format!("{}.{}.", part(r#"{"alg":"none"}"#), part(&claims.to_string()))
}

/// Base64 in the alphabet for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    out
}

/// Everything needed to connect. The fields are open, so that a test can
/// build wrong ones.
#[derive(Clone, Serialize)]
pub(crate) struct Conn {
    /// `host:port`, several separated by commas.
    pub(crate) bootstrap: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<Tls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sasl: Option<Sasl>,
}

/// PEM texts; `cert` and `key` are empty without a client certificate.
#[derive(Clone, Serialize)]
pub(crate) struct Tls {
    pub(crate) ca: String,
    pub(crate) cert: String,
    pub(crate) key: String,
}

/// A login in the form that `kafkatool` takes.
#[derive(Clone, Serialize)]
pub(crate) struct Sasl {
    pub(crate) mechanism: &'static str,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) token: String,
}

impl Conn {
    /// Without any security.
    pub(crate) fn plaintext(bootstrap: impl Into<String>) -> Self {
        Self { bootstrap: bootstrap.into(), tls: None, sasl: None }
    }

    /// What a listener needs: certificates for TLS (a client certificate only
    /// on [`Listener::Ssl`], which asks for one), the login for SASL.
    pub(super) fn to_listener(
        bootstrap: String,
        listener: Listener,
        certs: &Certs,
        login: &Login,
    ) -> Self {
        let tls = listener.is_tls().then(|| {
            let (cert, key) = match listener {
                Listener::Ssl => (certs.client.cert.clone(), certs.client.key.clone()),
                _ => (String::new(), String::new()),
            };
            Tls { ca: certs.ca.clone(), cert, key }
        });
        let sasl = listener.is_sasl().then(|| match login.mechanism {
            Mechanism::OAuthBearer => Sasl {
                mechanism: login.mechanism.name(),
                user: String::new(),
                password: String::new(),
                token: login.token(),
            },
            _ => Sasl {
                mechanism: login.mechanism.name(),
                user: login.user.clone(),
                password: login.password.clone(),
                token: String::new(),
            },
        });
        Self { bootstrap, tls, sasl }
    }
}
