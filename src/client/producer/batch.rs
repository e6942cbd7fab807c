//! A batch on its way from the first record to its outcome.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::client::admin::TopicPartition;
use crate::client::error::{Error, Result};
use crate::wire::records::{
    BatchBuilder, BatchOptions, Batches, DecodeOptions, HeaderRef, ProducerState, restamp,
};

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
        let (mut completion, mut index) = (self.completion, self.index);
        loop {
            completion = match completion.wait().await {
                Outcome::Settled(placed) => {
                    let base = placed?;
                    let offset = base.offset.map(|offset| offset + index);
                    return Ok(Placed { partition: base.partition, offset });
                }
                Outcome::Split { left_records, left, .. } if index < left_records => left,
                Outcome::Split { left_records, right, .. } => {
                    index -= left_records;
                    right
                }
            };
        }
    }
}

/// What became of a batch.
#[derive(Debug, Clone)]
enum Outcome {
    /// Written at this first offset, or given up.
    Settled(Result<Placed>),
    /// Too large for the topic: its records go on in two batches.
    Split { left_records: i64, left: Arc<Completion>, right: Arc<Completion> },
}

/// The outcome of a batch, shared by the deliveries of its records.
#[derive(Debug)]
pub(super) struct Completion {
    outcome: OnceLock<Outcome>,
    /// Without permits; closed when the outcome is there.
    done: Semaphore,
}

impl Completion {
    fn new() -> Arc<Self> {
        Arc::new(Self { outcome: OnceLock::new(), done: Semaphore::new(0) })
    }

    async fn wait(&self) -> Outcome {
        let _closed = self.done.acquire().await;
        self.outcome.get().cloned().unwrap_or(Outcome::Settled(Err(Error::Closed)))
    }

    /// Waits for all records, those of batches that it was split into included.
    ///
    /// # Errors
    /// The first one among them.
    pub(super) async fn wait_all(self: Arc<Self>) -> Result<()> {
        let mut outcome = Ok(());
        let mut open = vec![self];
        while let Some(next) = open.pop() {
            match next.wait().await {
                Outcome::Settled(placed) => outcome = outcome.and(placed.map(drop)),
                Outcome::Split { left, right, .. } => open.extend([right, left]),
            }
        }
        outcome
    }

    fn set(&self, outcome: Outcome) {
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

/// Distance between the ordinals of two batches, a power of two: how often one can be halved.
pub(super) const ORDINAL_SPAN: u64 = 1 << 20;

pub(super) struct Batch {
    pub(super) partition: TopicPartition,
    /// Order of creation, across partitions.
    pub(super) ordinal: u64,
    /// Ordinals from `ordinal` on that are this batch's own, for what it may be split into.
    span: u64,
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
            span: ORDINAL_SPAN,
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
        let placed = outcome.map(|offset| Placed { partition, offset });
        self.completion.set(Outcome::Settled(placed));
    }

    /// Two batches with the same records and sequence numbers, in their order, to take this one's
    /// place; `None` if it cannot be divided. Only for a batch that no broker has written.
    pub(super) fn split(&mut self) -> Option<(Self, Self)> {
        let (left, right) = self.halves()?;
        self.completion.set(Outcome::Split {
            left_records: i64::from(left.records),
            left: left.completion.clone(),
            right: right.completion.clone(),
        });
        Some((left, right))
    }

    fn halves(&mut self) -> Option<(Self, Self)> {
        let (stamp, span) = (self.stamp?, self.span / 2);
        let left_records = self.records / 2;
        if left_records == 0 || span == 0 {
            return None;
        }
        let Content::Encoded { bytes, .. } = &self.content else { return None };
        let encoded = Batches::new(bytes.clone()).next()?.ok()?;
        let options =
            BatchOptions { compression: encoded.header.compression().ok()?, ..Default::default() };
        let records =
            encoded.records(&DecodeOptions { check_crc: false, ..Default::default() }).ok()?;
        let (mut left, mut right) = (BatchBuilder::new(options), BatchBuilder::new(options));
        for (at, record) in records.iter().enumerate() {
            let record = record.ok()?;
            let half =
                if at < usize::try_from(left_records).ok()? { &mut left } else { &mut right };
            let headers: Vec<HeaderRef<'_>> = record.headers().collect();
            half.append(record.timestamp, record.key, record.value, headers.iter().copied())
                .ok()?;
        }
        let right_stamp =
            Stamp { base_sequence: advance(stamp.base_sequence, left_records), ..stamp };
        let right_records = self.records - left_records;
        let mut right = self.part(self.ordinal + span, right_records, right_stamp, right);
        let mut left = self.part(self.ordinal, left_records, stamp, left);
        right.room = self.room.as_mut().and_then(|room| room.split(room.num_permits() / 2));
        left.room = self.room.take();
        Some((left, right))
    }

    fn part(&self, ordinal: u64, records: i32, stamp: Stamp, builder: BatchBuilder) -> Self {
        Self {
            partition: self.partition.clone(),
            ordinal,
            span: self.span / 2,
            records,
            created: self.created,
            closed: true,
            stamp: Some(stamp),
            completion: Completion::new(),
            content: Content::Open(builder),
            room: None,
        }
    }
}

/// Sequence numbers pass from the largest to 0.
pub(super) fn advance(sequence: i32, records: i32) -> i32 {
    let next = (i64::from(sequence) + i64::from(records)) & i64::from(i32::MAX);
    i32::try_from(next).unwrap_or(0)
}

/// Whoever waits hears of a batch that is dropped with its producer.
impl Drop for Batch {
    fn drop(&mut self) {
        self.completion.set(Outcome::Settled(Err(Error::Closed)));
    }
}
