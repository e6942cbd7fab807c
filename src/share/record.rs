//! Records as a poll returns them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::PartitionId;
use crate::wire::records::Record;

/// Where a record was acquired: its lock is bound to node and connection.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) topic: Arc<str>,
    pub(super) id: PartitionId,
    pub(super) node: i32,
    pub(super) generation: u64,
}

/// A record of a share group, locked for this consumer until [`lock_deadline`].
///
/// Key, value and headers share the memory of the fetched batch, which stays allocated as long as
/// one of its records lives. Clones are cheap.
///
/// [`lock_deadline`]: ShareRecord::lock_deadline
#[derive(Clone)]
pub struct ShareRecord {
    pub(super) origin: Arc<Origin>,
    pub(super) record: Record,
    pub(super) delivery_count: i16,
    pub(super) until: Instant,
}

impl ShareRecord {
    /// Topic.
    pub fn topic(&self) -> &str {
        &self.origin.topic
    }

    /// Partition.
    pub fn partition(&self) -> i32 {
        self.origin.id.partition
    }

    /// Offset in the partition.
    pub fn offset(&self) -> i64 {
        self.record.offset
    }

    /// Milliseconds since 1970; -1 if the producer set none.
    pub fn timestamp(&self) -> i64 {
        self.record.timestamp
    }

    /// Key; `None` if there is none.
    pub fn key(&self) -> Option<&Bytes> {
        self.record.key.as_ref()
    }

    /// Value; `None` if there is none.
    pub fn value(&self) -> Option<&Bytes> {
        self.record.value.as_ref()
    }

    /// Headers in their order; names may repeat.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = ShareHeader<'_>> {
        self.record.headers().map(|header| ShareHeader { key: header.key, value: header.value })
    }

    /// How often the group has handed the record out, this time included; 1 at first. At the
    /// group's limit (5 by default) a release archives it.
    pub fn delivery_count(&self) -> i16 {
        self.delivery_count
    }

    /// When the record's lock may end, as known when it was fetched; renewals are not in it (see
    /// [`ShareConsumer::lock_deadline`](super::ShareConsumer::lock_deadline)). Counted from
    /// the request, so rather too early than too late.
    pub fn lock_deadline(&self) -> std::time::Instant {
        self.until.into_std()
    }

    /// Time left until [`lock_deadline`](ShareRecord::lock_deadline); zero after it.
    pub fn lock_remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// Payloads may be large and private: only sizes are shown.
impl fmt::Debug for ShareRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareRecord")
            .field("topic", &self.topic())
            .field("partition", &self.partition())
            .field("offset", &self.offset())
            .field("key_bytes", &self.key().map(Bytes::len))
            .field("value_bytes", &self.value().map(Bytes::len))
            .field("delivery_count", &self.delivery_count)
            .finish_non_exhaustive()
    }
}

/// A header of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShareHeader<'a> {
    /// The name's bytes, by convention UTF-8.
    pub key: &'a [u8],
    /// Value; `None` if null.
    pub value: Option<&'a [u8]>,
}

/// Values may be private: only their size is shown.
impl fmt::Debug for ShareHeader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareHeader")
            .field("name", &String::from_utf8_lossy(self.key))
            .field("value_bytes", &self.value.map(<[u8]>::len))
            .finish()
    }
}

/// The records of one poll, in the order of their offsets within each partition. Empty when the
/// time was over.
#[derive(Debug, Default)]
#[must_use = "records that are dropped stay locked until they are acknowledged or their lock ends"]
pub struct ShareRecords(pub(super) Vec<ShareRecord>);

impl Deref for ShareRecords {
    type Target = [ShareRecord];

    fn deref(&self) -> &[ShareRecord] {
        &self.0
    }
}

impl IntoIterator for ShareRecords {
    type Item = ShareRecord;
    type IntoIter = std::vec::IntoIter<ShareRecord>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ShareRecords {
    type Item = &'a ShareRecord;
    type IntoIter = std::slice::Iter<'a, ShareRecord>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
