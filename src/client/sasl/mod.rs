//! SASL as Kafka speaks it: what each mechanism sends and how it judges the broker's answers.
//!
//! Nothing here does I/O. The connection sends `SaslHandshake`, then moves bytes between an
//! [`Exchange`] and `SaslAuthenticate` until the exchange is done, at first login and again
//! before the session's lifetime ends (KIP-368).

mod oauth;
mod scram;

pub(crate) use oauth::Callback;
pub use oauth::{BoxError, Token, TokenFuture, TokenProvider};
pub use scram::ScramHash;

use std::sync::Arc;

use super::secret::Secret;

/// How to log in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SaslConfig {
    /// `PLAIN`: name and password in clear; use it over TLS.
    Plain {
        /// `sasl.username`.
        username: Arc<str>,
        /// `sasl.password`.
        password: Secret,
    },
    /// `SCRAM-SHA-256` or `SCRAM-SHA-512`: the password never crosses the wire, and the broker
    /// proves that it knows it too.
    Scram {
        /// Which of the two.
        hash: ScramHash,
        /// `sasl.username`.
        username: Arc<str>,
        /// `sasl.password`.
        password: Secret,
    },
    /// `OAUTHBEARER`: a token fetched anew for every login.
    OAuthBearer {
        /// Where tokens come from.
        provider: Arc<dyn TokenProvider>,
        /// KIP-342 extensions, sent as they are.
        extensions: Vec<(String, String)>,
    },
}

impl SaslConfig {
    /// Kafka's name of the mechanism.
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain { .. } => "PLAIN",
            Self::Scram { hash: ScramHash::Sha256, .. } => "SCRAM-SHA-256",
            Self::Scram { hash: ScramHash::Sha512, .. } => "SCRAM-SHA-512",
            Self::OAuthBearer { .. } => "OAUTHBEARER",
        }
    }

    /// Prepares one login; OAUTHBEARER asks its provider for a token.
    ///
    /// # Errors
    /// A text that says why, free of secrets.
    pub(crate) async fn begin(&self) -> Result<Exchange, String> {
        Ok(Exchange(match self {
            Self::Plain { username, password } => State::Single(plain_message(username, password)?),
            Self::Scram { hash, username, password } => State::Scram(Box::new(scram::Scram::new(
                *hash,
                username,
                password.clone(),
                scram::nonce()?,
            )?)),
            Self::OAuthBearer { provider, extensions } => {
                let token = provider
                    .token()
                    .await
                    .map_err(|cause| format!("the token provider failed: {cause}"))?;
                State::OAuth(oauth::OAuth::new(&token, extensions)?)
            }
        }))
    }
}

/// One login in progress.
pub(crate) struct Exchange(State);

enum State {
    Single(Vec<u8>),
    Scram(Box<scram::Scram>),
    OAuth(oauth::OAuth),
}

/// What follows a broker's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send these bytes and wait for another answer.
    Send(Vec<u8>),
    /// The login is complete.
    Done,
}

impl Exchange {
    /// The first message.
    pub(crate) fn first(&mut self) -> Vec<u8> {
        match &mut self.0 {
            State::Single(message) => std::mem::take(message),
            State::Scram(scram) => scram.client_first(),
            State::OAuth(oauth) => oauth.client_first(),
        }
    }

    /// Judges an answer that carried no error code.
    ///
    /// # Errors
    /// A text that says why the answer cannot be trusted.
    pub(crate) fn answer(&mut self, bytes: &[u8]) -> Result<Step, String> {
        match &mut self.0 {
            State::Single(_) => Ok(Step::Done),
            State::Scram(scram) => scram.answer(bytes),
            State::OAuth(oauth) => oauth.answer(bytes),
        }
    }

    /// A cause that the mechanism learnt before the broker's final refusal.
    pub(crate) fn refusal_detail(&self) -> Option<&str> {
        match &self.0 {
            State::OAuth(oauth) => oauth.refusal(),
            _ => None,
        }
    }
}

fn plain_message(username: &str, password: &Secret) -> Result<Vec<u8>, String> {
    if username.is_empty() || username.contains('\0') || password.expose().contains('\0') {
        return Err("sasl.username must not be empty, and neither sasl.username nor \
                    sasl.password may contain a NUL character"
            .into());
    }
    Ok(format!("\0{username}\0{}", password.expose()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn plain_sends_empty_authorisation_name_and_password() {
        let config = SaslConfig::Plain { username: "ann".into(), password: "pw".into() };
        let mut exchange = config.begin().await.unwrap();
        assert_eq!(exchange.first(), b"\0ann\0pw");
        assert_eq!(exchange.answer(b""), Ok(Step::Done));
    }

    #[tokio::test]
    async fn plain_refuses_a_nul_that_would_shift_the_fields() {
        let config = SaslConfig::Plain { username: "a\0b".into(), password: "pw".into() };
        assert!(config.begin().await.is_err());
    }

    #[test]
    fn debug_shows_no_password() {
        let config = SaslConfig::Scram {
            hash: ScramHash::Sha256,
            username: "ann".into(),
            password: "hunter2".into(),
        };
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
