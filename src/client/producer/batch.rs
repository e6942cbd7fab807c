//! A batch on its way from the first record to its outcome.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::client::admin::TopicPartition;
use crate::client::error::{Error, Result};
use crate::wire::records::{BatchBuilder, ProducerState, restamp};

/// Producer id and epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

/// Where a record was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Topic and partition.
    pub partition: TopicPartition,
    /// Its offset; `None` if the broker recognised a repetition whose offset it forgot.
    pub offset: Option<i64>,
}

/// The outcome to come of one record. Dropping it does not take the record back.
#[derive(Debug)]
pub struct Delivery {
    pub(super) completion: Arc<Completion>,
    pub(super) index: i64,
}

impl Delivery {
    /// Waits until the record is written by all replicas in sync, or given up.
    ///
    /// # Errors
    /// Why it was given up. After [`Error::Timeout`] it may still have been written.
    ///
    /// # Cancel safety
    /// Dropping the future forgets the outcome, not the record.
    pub async fn wait(self) -> Result<Placed> {
        let base = self.completion.wait().await?;
        let offset = base.offset.map(|offset| offset + self.index);
        Ok(Placed { partition: base.partition, offset })
    }
}

/// The outcome of a batch, shared by the deliveries of its records.
#[derive(Debug)]
pub(super) struct Completion {
    outcome: OnceLock<Result<Placed>>,
    /// Without permits; closed when the outcome is there.
    done: Semaphore,
}

impl Completion {
    fn new() -> Arc<Self> {
        Arc::new(Self { outcome: OnceLock::new(), done: Semaphore::new(0) })
    }

    pub(super) async fn wait(&self) -> Result<Placed> {
        let _closed = self.done.acquire().await;
        self.outcome.get().cloned().unwrap_or(Err(Error::Closed))
    }

    fn set(&self, outcome: Result<Placed>) {
        let _ = self.outcome.set(outcome);
        self.done.close();
    }
}

/// Sequence numbers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) identity: Identity,
    pub(super) base_sequence: i32,
}

pub(super) struct Batch {
    pub(super) partition: TopicPartition,
    /// Order of creation, across partitions.
    pub(super) ordinal: u64,
    pub(super) records: i32,
    pub(super) created: Instant,
    /// No more records are taken.
    pub(super) closed: bool,
    pub(super) stamp: Option<Stamp>,
    pub(super) completion: Arc<Completion>,
    content: Content,
    room: Option<OwnedSemaphorePermit>,
}

enum Content {
    Open(BatchBuilder),
    Encoded { bytes: Bytes, stamp: Stamp },
    Gone,
}

impl Batch {
    pub(super) fn new(partition: TopicPartition, ordinal: u64, builder: BatchBuilder) -> Self {
        Self {
            partition,
            ordinal,
            records: 0,
            created: Instant::now(),
            closed: false,
            stamp: None,
            completion: Completion::new(),
            content: Content::Open(builder),
            room: None,
        }
    }

    /// The builder, while records can be added.
    pub(super) fn builder(&mut self) -> Option<&mut BatchBuilder> {
        match &mut self.content {
            Content::Open(builder) if !self.closed => Some(builder),
            _ => None,
        }
    }

    /// Adds the buffer space of another record; it is given back with the batch.
    pub(super) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.room {
            Some(room) => room.merge(permit),
            None => self.room = Some(permit),
        }
    }

    pub(super) fn size(&self) -> usize {
        match &self.content {
            Content::Open(builder) => builder.size(),
            Content::Encoded { bytes, .. } => bytes.len(),
            Content::Gone => 0,
        }
    }

    /// The bytes to send, encoded at the first call and stamped anew when the stamp changed.
    pub(super) fn encode(&mut self, transactional: bool) -> Result<Bytes> {
        let stamp = self.stamp.ok_or(Error::Closed)?;
        let producer = ProducerState {
            producer_id: stamp.identity.id,
            producer_epoch: stamp.identity.epoch,
            base_sequence: stamp.base_sequence,
            transactional,
        };
        let failed = |error: crate::wire::Error| {
            Error::state(format!("a batch for {} cannot be encoded: {error}", self.partition))
        };
        let bytes = match std::mem::replace(&mut self.content, Content::Gone) {
            Content::Open(builder) => builder.finish(Some(producer)).map_err(failed)?,
            Content::Encoded { bytes, stamp: same } if same == stamp => bytes,
            Content::Encoded { bytes, .. } => restamp(&bytes, producer).map_err(failed)?,
            Content::Gone => return Err(Error::Closed),
        };
        self.content = Content::Encoded { bytes: bytes.clone(), stamp };
        Ok(bytes)
    }

    pub(super) fn complete(self, outcome: Result<Option<i64>>) {
        let partition = self.partition.clone();
        self.completion.set(outcome.map(|offset| Placed { partition, offset }));
    }
}

/// Whoever waits hears of a batch that is dropped with its producer.
impl Drop for Batch {
    fn drop(&mut self) {
        self.completion.set(Err(Error::Closed));
    }
}
