//! Errors of the native client, and Kafka's numbered error codes.
//!
//! An [`Error`] can be cloned: one broken connection is reported to every request that waited on
//! it. Display texts name the broker, the request and the remedy; they never hold a secret.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::admin::TopicPartition;
use super::tls;
pub use crate::wire::ErrorCode;

/// What went wrong in the native client.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is missing, malformed or contradicts another one. Nothing was sent.
    #[error("{0}")]
    Config(String),
    /// The connection could not be opened: name resolution, TCP or its deadline.
    #[error("cannot connect to broker {broker}: {cause}")]
    Connect {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// What the system said.
        cause: Arc<str>,
    },
    /// The TLS handshake with a broker failed.
    #[error("TLS handshake with broker {broker} failed: {cause}")]
    Tls {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// What the TLS library or the peer said, with the setting to look at.
        cause: Arc<str>,
    },
    /// The broker refused the login, or its answer could not be trusted.
    #[error("SASL {mechanism} login at broker {broker} failed: {cause}")]
    Authentication {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// Mechanism in use, for example `SCRAM-SHA-256`.
        mechanism: &'static str,
        /// What the broker said, without secrets.
        cause: Arc<str>,
    },
    /// An established connection broke. Every request that waited on it gets this error.
    #[error("connection to broker {broker} broke: {cause}")]
    Disconnected {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// Why.
        cause: Arc<str>,
    },
    /// No answer before the deadline.
    #[error("{what}: no answer within {after:?}")]
    Timeout {
        /// What was waited for, with the broker where there is one.
        what: Arc<str>,
        /// The limit that passed.
        after: Duration,
    },
    /// The broker does not speak a version of a request that this client knows.
    #[error("broker {broker} does not support {api} at a version this client knows ({detail})")]
    UnsupportedVersion {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// Name of the request.
        api: &'static str,
        /// Both version ranges, and the broker setting or release that helps where one is known.
        detail: Arc<str>,
    },
    /// A broker's answer could not be decoded, or exceeded the frame limit.
    #[error("broker {broker} sent an answer to {api} that cannot be used: {cause}")]
    Malformed {
        /// Address as `host:port`.
        broker: Arc<str>,
        /// Name of the request.
        api: &'static str,
        /// What was wrong.
        cause: Arc<str>,
    },
    /// A broker answered with an error code.
    #[error("{context}: {code}{}", message_suffix(.message))]
    Broker {
        /// The code.
        code: ErrorCode,
        /// Request and object (topic, partition, group) it belongs to.
        context: Arc<str>,
        /// The broker's own text, if it sent one.
        message: Option<Arc<str>>,
    },
    /// Fetched records cannot be read: a wrong checksum, a broken or unknown encoding.
    #[error("records {first_offset} to {last_offset} of partition {partition}: {cause}")]
    CorruptRecords {
        /// Topic and partition.
        partition: TopicPartition,
        /// First offset of the batch.
        first_offset: i64,
        /// Last offset of the batch; what follows it can be read.
        last_offset: i64,
        /// What is wrong.
        cause: Arc<str>,
    },
    /// The caller asked for something the present state does not allow.
    #[error("{0}")]
    State(Arc<str>),
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

/// Result of the native client.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The broker's error code, where a broker answered with one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    pub(crate) fn disconnected(broker: &Arc<str>, cause: impl Into<Arc<str>>) -> Self {
        Self::Disconnected { broker: broker.clone(), cause: cause.into() }
    }

    /// A fault of TLS is told apart: a broker refuses a client's certificate only after the
    /// client regards the handshake as complete.
    pub(crate) fn io(broker: &Arc<str>, error: &io::Error) -> Self {
        let cause = tls::explain(error);
        if tls::is_fault(error) {
            return Self::Tls { broker: broker.clone(), cause: cause.into() };
        }
        Self::disconnected(broker, cause)
    }

    pub(crate) fn broker(code: impl Into<ErrorCode>, context: impl Into<Arc<str>>) -> Self {
        Self::Broker { code: code.into(), context: context.into(), message: None }
    }

    pub(crate) fn state(text: impl Into<Arc<str>>) -> Self {
        Self::State(text.into())
    }

    pub(crate) fn timeout(what: impl Into<Arc<str>>, after: Duration) -> Self {
        Self::Timeout { what: what.into(), after }
    }

    pub(crate) fn malformed(
        broker: &Arc<str>,
        api: &'static str,
        cause: impl fmt::Display,
    ) -> Self {
        Self::Malformed { broker: broker.clone(), api, cause: cause.to_string().into() }
    }
}

fn message_suffix(message: &Option<Arc<str>>) -> String {
    match message {
        Some(text) if !text.is_empty() => format!(" ({text})"),
        _ => String::new(),
    }
}

/// Turning codes of answers into errors.
pub(crate) trait ErrorCodeExt: Copy {
    /// `Ok` for success, else an [`Error::Broker`] with the context given.
    fn check<C: Into<Arc<str>>>(self, context: impl FnOnce() -> C) -> Result<()> {
        self.check_with(None, context)
    }

    /// As [`ErrorCodeExt::check`], with the broker's own text.
    fn check_with<C: Into<Arc<str>>>(
        self,
        message: Option<&str>,
        context: impl FnOnce() -> C,
    ) -> Result<()>;

    /// Whether the code means success.
    fn is_ok(self) -> bool;
}

impl ErrorCodeExt for ErrorCode {
    fn check_with<C: Into<Arc<str>>>(
        self,
        message: Option<&str>,
        context: impl FnOnce() -> C,
    ) -> Result<()> {
        if self.is_ok() {
            return Ok(());
        }
        Err(Error::Broker {
            code: self,
            context: context().into(),
            message: message.map(Arc::from),
        })
    }

    fn is_ok(self) -> bool {
        self == Self::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_error_names_code_context_and_the_brokers_text() {
        let error = ErrorCode::from(29)
            .check_with(Some("not allowed"), || "Metadata for topic orders")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Metadata for topic orders: TOPIC_AUTHORIZATION_FAILED (29) (not allowed)"
        );
        assert_eq!(error.code(), Some(ErrorCode::TopicAuthorizationFailed));
    }
}
