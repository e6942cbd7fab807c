//! Where a task's output goes.

use std::sync::Arc;

use bytes::Bytes;

use crate::streams::error::BoxError;
use crate::streams::record::Headers;

/// A record that a task sends.
#[derive(Debug, Clone)]
pub(crate) struct OutRecord<'a> {
    /// Full name of the topic.
    pub(crate) topic: &'a Arc<str>,
    /// `None` chooses by the key's hash, without a key as the producer likes.
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Headers,
    /// Milliseconds since 1970.
    pub(crate) timestamp: i64,
    /// Of a store: its offset is remembered for the checkpoint.
    pub(crate) changelog: bool,
}

/// Takes what a task sends: the runtime's producer, or the test driver.
pub(crate) trait Collector {
    /// Sends a record, in order within its partition.
    ///
    /// # Errors
    /// Of this record or an earlier one. It ends the task, which hands it back as the cause of
    /// [`TaskError::Output`](crate::streams::TaskError::Output).
    fn send(&mut self, record: OutRecord<'_>) -> Result<(), BoxError>;

    /// Number of a topic's partitions.
    ///
    /// # Errors
    /// If the topic does not exist or nobody can be asked.
    fn partitions(&mut self, topic: &Arc<str>) -> Result<i32, BoxError>;
}
