//! What a share consumer reports.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::AckType;
use crate::client;
use crate::wire::ErrorCode;

/// Why a call of a share consumer failed.
///
/// [`is_fatal`](ShareError::is_fatal) tells those apart that end the membership: they come out of
/// every later call too.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// A setting is missing, malformed or contradicts another one.
    #[error("{0}")]
    Config(String),
    /// The brokers do not serve share groups, or not with what was asked for; names the remedy.
    #[error("{0}")]
    Unsupported(String),
    /// The group cannot be joined or was lost for good.
    #[error("share group {group}: {cause}")]
    Group {
        /// The group's id.
        group: Arc<str>,
        /// The broker's code and text, or what else happened.
        cause: Arc<str>,
    },
    /// A topic cannot be read: missing rights, or an error of its leader that does not pass. Other
    /// topics go on.
    #[error("topic {topic}: {cause}")]
    Topic {
        /// The topic's name, or the broker's text where it names it.
        topic: Arc<str>,
        /// What the broker said.
        cause: Arc<str>,
    },
    /// Records that cannot be read: wrong checksum, broken compression or format. They were
    /// settled by [`ShareConsumerBuilder::on_corrupt`](super::ShareConsumerBuilder::on_corrupt);
    /// everything else goes on.
    #[error(
        "records {first_offset} to {last_offset} of {topic}-{partition} cannot be read: {cause}"
    )]
    Corrupt {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// First of the offsets lost.
        first_offset: i64,
        /// Last of the offsets lost.
        last_offset: i64,
        /// What is wrong with them.
        cause: Arc<str>,
    },
    /// Strict explicit mode: a poll while records of an earlier one are not acknowledged.
    #[error(
        "{count} records of earlier polls are not acknowledged, the first is {topic}-{partition} \
         offset {offset}: acknowledge them before the next poll, or turn strict mode off"
    )]
    Unacknowledged {
        /// How many records.
        count: u64,
        /// Topic of the first.
        topic: Arc<str>,
        /// Partition of the first.
        partition: i32,
        /// Offset of the first.
        offset: i64,
    },
    /// An acknowledgement of records that this consumer does not hold: acknowledged before, never
    /// returned by a poll, or lost with their broker.
    #[error(
        "records {first_offset} to {last_offset} of {topic}-{partition} are not held by this \
         consumer: acknowledged before, not returned by a poll, or lost with a broker's connection"
    )]
    NotHeld {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// First offset asked for.
        first_offset: i64,
        /// Last offset asked for.
        last_offset: i64,
    },
    /// [`ShareConsumer::wakeup`](super::ShareConsumer::wakeup) was called.
    #[error("woken up")]
    Wakeup,
    /// The consumer was closed.
    #[error("the share consumer is closed")]
    Closed,
    /// A call did not end in its time.
    #[error("{what}: not done within {after:?}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The limit.
        after: Duration,
    },
    /// The client below failed: connection, login, TLS, a broker's refusal.
    #[error("{0}")]
    Client(client::Error),
}

impl ShareError {
    /// Whether the membership has ended with it, so that only a new consumer helps.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Group { .. } | Self::Unsupported(_) | Self::Client(_) | Self::Closed)
    }
}

impl From<client::Error> for ShareError {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Config(text) => Self::Config(text),
            other => Self::Client(other),
        }
    }
}

/// Why acknowledgements were not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckError {
    /// Kafka's number for it, where a broker gave one: 121 (`INVALID_RECORD_STATE`) for a lock
    /// that had ended. `None` where no broker answered.
    pub code: Option<i16>,
    /// For people.
    pub text: Arc<str>,
}

impl AckError {
    pub(super) fn from_code(code: ErrorCode, message: Option<&str>) -> Self {
        let text = match message.filter(|message| !message.is_empty()) {
            Some(message) => format!("{code} ({message})"),
            None => code.to_string(),
        };
        Self { code: Some(code.code()), text: text.into() }
    }

    pub(super) fn lost(text: impl Into<Arc<str>>) -> Self {
        Self { code: None, text: text.into() }
    }
}

impl fmt::Display for AckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for AckError {}

/// What became of the acknowledgement of a range of offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckResult {
    /// Topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
    /// First offset of the range.
    pub first_offset: i64,
    /// Last offset of the range, included.
    pub last_offset: i64,
    /// What was said about the records; `None` for offsets that hold no record (control records,
    /// compacted away) and which the consumer acknowledged by itself.
    pub ack: Option<AckType>,
    /// Whether the broker took it.
    pub result: Result<(), AckError>,
}

/// What became of the acknowledgements that a commit waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitReport {
    /// One entry for each range of offsets with one kind and one outcome. Failures of
    /// acknowledgements that no commit had waited for since the last one are in it too.
    pub results: Vec<AckResult>,
}

impl CommitReport {
    /// Whether everything was taken.
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// What was not taken.
    pub fn failures(&self) -> impl Iterator<Item = &AckResult> {
        self.results.iter().filter(|result| result.result.is_err())
    }

    /// Number of offsets taken, those without a record left out.
    pub fn acknowledged(&self) -> u64 {
        let taken = self.results.iter().filter(|r| r.result.is_ok() && r.ack.is_some());
        taken.map(|r| r.last_offset.abs_diff(r.first_offset).saturating_add(1)).sum()
    }
}
