//! The idempotent and transactional producer.
//!
//! # Tasks
//! A [`Producer`] owns one sender task, which owns a job for each request in flight, each
//! connection being opened and each coordinator request of its own. Dropping the producer aborts
//! them, and records not yet acknowledged end with [`Error::Closed`]; [`Producer::close`] delivers
//! them first.
//!
//! # Flow
//! [`Producer::send`] chooses the partition, waits for buffer space and adds the record to the
//! partition's last batch. The sender takes due batches, at most one of a partition for a
//! request, and up to five requests for a broker are on the wire. An answer settles each batch:
//! acknowledged, back into its queue, or given up. Sequence numbers are the business of `queue`,
//! the state of transactions that of `transaction`.
//!
//! # Guarantees
//! Every record accepted ends in exactly one outcome. Repetitions are recognised by the broker,
//! so a record is written at most once, also over restarts of brokers; in its partition, records
//! keep the order in which they were sent. `acks=all` always.
//!
//! # Bounds
//! Records waiting and on the wire together take at most `buffer_bytes`; `send` waits beyond.

mod batch;
mod partitioner;
mod queue;
mod sender;
mod settle;
mod state;
mod transaction;

pub use batch::{Delivery, Placed};
pub use partitioner::{murmur2, partition_of_key};
pub use transaction::{GroupMetadata, OffsetToCommit};

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::state::Shared;
use super::cluster::Client;
use super::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use super::metadata::{Topic, TopicKey};
use crate::wire::records::Compression;

/// How to produce.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// `batch.size` in bytes, before compression. Default 64 KiB.
    pub batch_bytes: usize,
    /// `linger.ms`: how long a batch that is not full waits for more. Default 5 ms.
    pub linger: Duration,
    /// `compression.type`. Default none.
    pub compression: Compression,
    /// `max.request.size` in bytes, also the largest record. Default 1 MiB.
    pub max_request_bytes: usize,
    /// `buffer.memory` in bytes. Default 32 MiB.
    pub buffer_bytes: usize,
    /// `delivery.timeout.ms`: from accepting a record to giving it up. Default 2 min.
    pub delivery_timeout: Duration,
    /// `max.block.ms`: how long `send` waits for metadata and buffer space. Default 60 s.
    pub max_block: Duration,
    /// `transactional.id`; `None` for an idempotent producer without transactions.
    pub transactional_id: Option<String>,
    /// `transaction.timeout.ms`: after which the broker aborts. Default 60 s.
    pub transaction_timeout: Duration,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            batch_bytes: 64 << 10,
            linger: Duration::from_millis(5),
            compression: Compression::None,
            max_request_bytes: 1 << 20,
            buffer_bytes: 32 << 20,
            delivery_timeout: Duration::from_secs(120),
            max_block: Duration::from_secs(60),
            transactional_id: None,
            transaction_timeout: Duration::from_secs(60),
        }
    }
}

/// A record to send.
#[derive(Debug, Clone, Default)]
pub struct ProducerRecord {
    /// Topic name.
    pub topic: Arc<str>,
    /// Partition; `None` chooses by the key's hash as Java does, without a key one after the
    /// other in batches.
    pub partition: Option<i32>,
    /// Key, `None` for null.
    pub key: Option<Bytes>,
    /// Value, `None` for null.
    pub value: Option<Bytes>,
    /// Headers in order; names may repeat.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// Milliseconds since 1970; `None` for now.
    pub timestamp: Option<i64>,
}

/// Sends records. See the module's documentation.
pub struct Producer {
    client: Client,
    shared: Arc<Shared>,
    /// One transactional call at a time.
    transaction: tokio::sync::Mutex<()>,
    stop: watch::Sender<bool>,
    sender: Option<JoinHandle<()>>,
}

impl Producer {
    /// Starts the sender; must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Config`] naming settings that contradict each other.
    pub fn new(client: Client, config: ProducerConfig) -> Result<Self> {
        if config.max_request_bytes > config.buffer_bytes {
            return Err(Error::Config("max.request.size exceeds buffer.memory".into()));
        }
        if config.delivery_timeout < config.linger {
            return Err(Error::Config("linger.ms exceeds delivery.timeout.ms".into()));
        }
        if config.transactional_id.as_deref() == Some("") {
            return Err(Error::Config("transactional.id must not be empty".into()));
        }
        let shared = Arc::new(Shared::new(config, client.config().retry_policy()));
        let (stop, stopped) = watch::channel(false);
        let task = sender::Sender::new(client.clone(), shared.clone());
        let sender = Some(tokio::spawn(task.run(stopped)));
        Ok(Self { client, shared, transaction: tokio::sync::Mutex::new(()), stop, sender })
    }

    /// Accepts a record; its outcome comes by the [`Delivery`]. Waits for the topic's metadata
    /// and for buffer space, at most `max_block`.
    ///
    /// # Errors
    /// The record was not accepted: it is too large, its topic or partition does not exist, no
    /// transaction is open, or an earlier error ended the transaction or the producer.
    ///
    /// # Cancel safety
    /// Dropping the future before it returned means that the record was not accepted.
    pub async fn send(&self, record: &ProducerRecord) -> Result<Delivery> {
        self.shared.check_sending()?;
        let deadline = Instant::now() + self.shared.config.max_block;
        let topic = self.topic(&record.topic, deadline).await?;
        let size = record_size(record);
        let limit = self.shared.config.max_request_bytes;
        if size > limit {
            return Err(Error::state(format!(
                "a record of {size} bytes for topic {} exceeds max.request.size={limit}",
                record.topic
            )));
        }
        let room = self.shared.reserve(size, deadline).await?;
        self.shared.append(record, &topic, room, record.timestamp.unwrap_or_else(now_ms))
    }

    /// As [`Producer::send`] without waiting: `None` if the topic is not known yet or there is no
    /// room, and the record was not accepted then.
    ///
    /// # Errors
    /// As [`Producer::send`].
    #[cfg(feature = "streams")]
    pub(crate) fn try_send(&self, record: &ProducerRecord) -> Result<Option<Delivery>> {
        let snapshot = self.client.metadata().snapshot();
        let known = snapshot.topic(&record.topic);
        let Some(topic) = known.filter(|t| t.error.is_ok() && !t.partitions.is_empty()) else {
            return Ok(None);
        };
        let size = record_size(record);
        if size > self.shared.config.max_request_bytes {
            // The other way words the error.
            return Ok(None);
        }
        let Some(room) = self.shared.try_reserve(size) else { return Ok(None) };
        let timestamp = record.timestamp.unwrap_or_else(now_ms);
        self.shared.append(record, topic, room, timestamp).map(Some)
    }

    /// The first record given up since the last call, whether or not somebody waited for it.
    #[cfg(feature = "streams")]
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.shared.state().take_failure()
    }

    /// Sends and waits for the outcome.
    ///
    /// # Errors
    /// As [`Producer::send`] and [`Delivery::wait`].
    pub async fn send_and_wait(&self, record: &ProducerRecord) -> Result<Placed> {
        self.send(record).await?.wait().await
    }

    /// Waits until every record accepted so far has its outcome, without lingering.
    ///
    /// # Errors
    /// The first failure among them; each record's own outcome is with its [`Delivery`].
    ///
    /// # Cancel safety
    /// Dropping the future stops the waiting, not the sending.
    pub async fn flush(&self) -> Result<()> {
        let mut first = Ok(());
        for completion in self.shared.begin_flush() {
            let outcome = completion.wait_all().await;
            first = first.and(outcome);
        }
        first
    }

    /// Delivers what was accepted, then ends the tasks. An open transaction is left to the
    /// broker, which aborts it after its timeout.
    ///
    /// # Errors
    /// As [`Producer::flush`].
    pub async fn close(mut self) -> Result<()> {
        let outcome = self.flush().await;
        self.stop.send_replace(true);
        if let Some(sender) = self.sender.take() {
            // A panic in it has been reported by tokio already.
            let _ = sender.await;
        }
        outcome
    }

    async fn topic(&self, name: &Arc<str>, deadline: Instant) -> Result<Arc<Topic>> {
        let metadata = self.client.metadata();
        let snapshot = metadata.snapshot();
        if let Some(topic) = snapshot.topic(name)
            && topic.error.is_ok()
            && !topic.partitions.is_empty()
        {
            return Ok(topic.clone());
        }
        metadata.topic(TopicKey::Name(name.clone()), deadline).await
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            // Its jobs are in a set that goes with it; what waits is completed by the queues' end.
            sender.abort();
            self.shared.fail_all(&Error::Closed);
        }
    }
}

/// Upper bound of a record's size in a batch of its own.
fn record_size(record: &ProducerRecord) -> usize {
    let bytes = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
    let headers: usize =
        record.headers.iter().map(|(name, value)| name.len() + bytes(value) + 10).sum();
    bytes(&record.key) + bytes(&record.value) + headers + 100
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Codes after which this producer can do nothing more.
fn is_fatal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ProducerFenced
            | ErrorCode::TransactionalIdAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::InvalidProducerIdMapping
            | ErrorCode::TransactionCoordinatorFenced
            | ErrorCode::UnsupportedForMessageFormat
    )
}

#[cfg(test)]
mod tests;
