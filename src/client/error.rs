//! Errors of the native client, and Kafka's numbered error codes.
//!
//! An [`Error`] can be cloned: one broken connection is reported to every request that waited on
//! it. Display texts name the broker, the request and the remedy; they never hold a secret.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

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

    pub(crate) fn io(broker: &Arc<str>, error: &io::Error) -> Self {
        Self::disconnected(broker, error.to_string())
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

/// One of Kafka's error codes; unknown numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i16);

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl ErrorCode {
    /// Whether this code means success.
    pub fn is_ok(self) -> bool {
        self == Self::NONE
    }

    /// `Ok` for success, else an [`Error::Broker`] with the context given.
    pub(crate) fn check<C: Into<Arc<str>>>(self, context: impl FnOnce() -> C) -> Result<()> {
        if self.is_ok() { Ok(()) } else { Err(Error::broker(self, context())) }
    }

    /// As [`ErrorCode::check`], with the broker's own text.
    pub(crate) fn check_with<C: Into<Arc<str>>>(
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
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "unknown broker error ({})", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! error_codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        #[allow(missing_docs, reason = "the names are Kafka's own")]
        impl ErrorCode {
            $(pub const $name: Self = Self($code);)+

            /// Kafka's name of the code; `None` for a number this client does not know.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

error_codes! {
    UNKNOWN_SERVER_ERROR = -1,
    NONE = 0,
    OFFSET_OUT_OF_RANGE = 1,
    CORRUPT_MESSAGE = 2,
    UNKNOWN_TOPIC_OR_PARTITION = 3,
    INVALID_FETCH_SIZE = 4,
    LEADER_NOT_AVAILABLE = 5,
    NOT_LEADER_OR_FOLLOWER = 6,
    REQUEST_TIMED_OUT = 7,
    BROKER_NOT_AVAILABLE = 8,
    REPLICA_NOT_AVAILABLE = 9,
    MESSAGE_TOO_LARGE = 10,
    STALE_CONTROLLER_EPOCH = 11,
    OFFSET_METADATA_TOO_LARGE = 12,
    NETWORK_EXCEPTION = 13,
    COORDINATOR_LOAD_IN_PROGRESS = 14,
    COORDINATOR_NOT_AVAILABLE = 15,
    NOT_COORDINATOR = 16,
    INVALID_TOPIC_EXCEPTION = 17,
    RECORD_LIST_TOO_LARGE = 18,
    NOT_ENOUGH_REPLICAS = 19,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20,
    INVALID_REQUIRED_ACKS = 21,
    ILLEGAL_GENERATION = 22,
    INCONSISTENT_GROUP_PROTOCOL = 23,
    INVALID_GROUP_ID = 24,
    UNKNOWN_MEMBER_ID = 25,
    INVALID_SESSION_TIMEOUT = 26,
    REBALANCE_IN_PROGRESS = 27,
    INVALID_COMMIT_OFFSET_SIZE = 28,
    TOPIC_AUTHORIZATION_FAILED = 29,
    GROUP_AUTHORIZATION_FAILED = 30,
    CLUSTER_AUTHORIZATION_FAILED = 31,
    INVALID_TIMESTAMP = 32,
    UNSUPPORTED_SASL_MECHANISM = 33,
    ILLEGAL_SASL_STATE = 34,
    UNSUPPORTED_VERSION = 35,
    TOPIC_ALREADY_EXISTS = 36,
    INVALID_PARTITIONS = 37,
    INVALID_REPLICATION_FACTOR = 38,
    INVALID_REPLICA_ASSIGNMENT = 39,
    INVALID_CONFIG = 40,
    NOT_CONTROLLER = 41,
    INVALID_REQUEST = 42,
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43,
    POLICY_VIOLATION = 44,
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45,
    DUPLICATE_SEQUENCE_NUMBER = 46,
    INVALID_PRODUCER_EPOCH = 47,
    INVALID_TXN_STATE = 48,
    INVALID_PRODUCER_ID_MAPPING = 49,
    INVALID_TRANSACTION_TIMEOUT = 50,
    CONCURRENT_TRANSACTIONS = 51,
    TRANSACTION_COORDINATOR_FENCED = 52,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53,
    SECURITY_DISABLED = 54,
    OPERATION_NOT_ATTEMPTED = 55,
    KAFKA_STORAGE_ERROR = 56,
    LOG_DIR_NOT_FOUND = 57,
    SASL_AUTHENTICATION_FAILED = 58,
    UNKNOWN_PRODUCER_ID = 59,
    REASSIGNMENT_IN_PROGRESS = 60,
    NON_EMPTY_GROUP = 68,
    GROUP_ID_NOT_FOUND = 69,
    FETCH_SESSION_ID_NOT_FOUND = 70,
    INVALID_FETCH_SESSION_EPOCH = 71,
    LISTENER_NOT_FOUND = 72,
    TOPIC_DELETION_DISABLED = 73,
    FENCED_LEADER_EPOCH = 74,
    UNKNOWN_LEADER_EPOCH = 75,
    UNSUPPORTED_COMPRESSION_TYPE = 76,
    STALE_BROKER_EPOCH = 77,
    OFFSET_NOT_AVAILABLE = 78,
    MEMBER_ID_REQUIRED = 79,
    PREFERRED_LEADER_NOT_AVAILABLE = 80,
    GROUP_MAX_SIZE_REACHED = 81,
    FENCED_INSTANCE_ID = 82,
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83,
    ELECTION_NOT_NEEDED = 84,
    NO_REASSIGNMENT_IN_PROGRESS = 85,
    GROUP_SUBSCRIBED_TO_TOPIC = 86,
    INVALID_RECORD = 87,
    UNSTABLE_OFFSET_COMMIT = 88,
    THROTTLING_QUOTA_EXCEEDED = 89,
    PRODUCER_FENCED = 90,
    RESOURCE_NOT_FOUND = 91,
    DUPLICATE_RESOURCE = 92,
    UNACCEPTABLE_CREDENTIAL = 93,
    INCONSISTENT_VOTER_SET = 94,
    INVALID_UPDATE_VERSION = 95,
    FEATURE_UPDATE_FAILED = 96,
    SNAPSHOT_NOT_FOUND = 98,
    POSITION_OUT_OF_RANGE = 99,
    UNKNOWN_TOPIC_ID = 100,
    DUPLICATE_BROKER_REGISTRATION = 101,
    BROKER_ID_NOT_REGISTERED = 102,
    INCONSISTENT_TOPIC_ID = 103,
    INCONSISTENT_CLUSTER_ID = 104,
    TRANSACTIONAL_ID_NOT_FOUND = 105,
    FETCH_SESSION_TOPIC_ID_ERROR = 106,
    INELIGIBLE_REPLICA = 107,
    NEW_LEADER_ELECTED = 108,
    OFFSET_MOVED_TO_TIERED_STORAGE = 109,
    FENCED_MEMBER_EPOCH = 110,
    UNRELEASED_INSTANCE_ID = 111,
    UNSUPPORTED_ASSIGNOR = 112,
    STALE_MEMBER_EPOCH = 113,
    MISMATCHED_ENDPOINT_TYPE = 114,
    UNKNOWN_SUBSCRIPTION_ID = 117,
    TELEMETRY_TOO_LARGE = 118,
    TRANSACTION_ABORTABLE = 120,
    INVALID_RECORD_STATE = 121,
    SHARE_SESSION_NOT_FOUND = 122,
    INVALID_SHARE_SESSION_EPOCH = 123,
    FENCED_STATE_EPOCH = 124,
    REBOOTSTRAP_REQUIRED = 129,
    STREAMS_INVALID_TOPOLOGY = 130,
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131,
    STREAMS_TOPOLOGY_FENCED = 132,
    SHARE_SESSION_LIMIT_REACHED = 133,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_error_names_code_context_and_the_brokers_text() {
        let error = ErrorCode(29)
            .check_with(Some("not allowed"), || "Metadata for topic orders")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Metadata for topic orders: TOPIC_AUTHORIZATION_FAILED (29) (not allowed)"
        );
        assert_eq!(error.code(), Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }

    #[test]
    fn an_unknown_code_keeps_its_number() {
        assert_eq!(ErrorCode(9999).to_string(), "unknown broker error (9999)");
    }
}
