//! What callers and the sender task share. Locks are held for a few steps, never across an await.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::Instant;

use super::batch::{Batch, Completion, Delivery, Identity, ORDINAL_SPAN};
use super::partitioner::{Sticky, partition_of_key};
use super::queue::{Due, Queue};
use super::{ProducerConfig, ProducerRecord};
use crate::client::admin::TopicPartition;
use crate::client::backoff::BackoffPolicy;
use crate::client::error::{Error, Result};
use crate::client::metadata::Topic;
use crate::wire::records::{BatchBuilder, BatchOptions, HeaderRef};

pub(super) struct Shared {
    pub(super) config: ProducerConfig,
    /// The sender has something to do.
    pub(super) wake: Notify,
    /// The coordinator has answered about partitions of the transaction.
    pub(super) added: Notify,
    retry: BackoffPolicy,
    room: Arc<Semaphore>,
    starved: AtomicUsize,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) queues: HashMap<TopicPartition, Queue>,
    pub(super) identity: Option<Identity>,
    /// Ends the producer.
    pub(super) fatal: Option<Error>,
    pub(super) txn: Txn,
    /// What the present transaction has touched.
    pub(super) open: Open,
    /// The cluster runs KIP-890's second version: partitions join by being written to, and every
    /// end of a transaction raises the epoch.
    pub(super) v2: bool,
    incomplete: BTreeMap<u64, Arc<Completion>>,
    sticky: Sticky,
    next_ordinal: u64,
    flush_through: u64,
    /// The first record given up since somebody asked.
    failure: Option<Error>,
}

/// State of transactions.
#[derive(Debug, Clone)]
pub(super) enum Txn {
    /// No transactional id.
    Off,
    Uninitialized,
    Ready,
    Open,
    /// Nothing but an abort is possible.
    Failed(Error),
    /// The end was asked for; its outcome may be unknown.
    Ending {
        commit: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) partitions: HashSet<TopicPartition>,
    pub(super) adding: HashSet<TopicPartition>,
    pub(super) touched: bool,
}

impl Shared {
    pub(super) fn new(config: ProducerConfig, retry: BackoffPolicy) -> Self {
        let txn = match config.transactional_id {
            None => Txn::Off,
            Some(_) => Txn::Uninitialized,
        };
        let room = config.buffer_bytes.min(Semaphore::MAX_PERMITS);
        Self {
            config,
            wake: Notify::new(),
            added: Notify::new(),
            retry,
            room: Arc::new(Semaphore::new(room)),
            starved: AtomicUsize::new(0),
            state: Mutex::new(State {
                queues: HashMap::new(),
                identity: None,
                fatal: None,
                txn,
                open: Open::default(),
                v2: false,
                incomplete: BTreeMap::new(),
                sticky: Sticky::default(),
                next_ordinal: 1,
                flush_through: 0,
                failure: None,
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn due(&self, state: &State) -> Due {
        Due {
            linger: self.config.linger,
            delivery_timeout: self.config.delivery_timeout,
            flush_through: state.flush_through,
            starved: self.starved.load(Ordering::Relaxed) > 0,
        }
    }

    pub(super) fn check_sending(&self) -> Result<()> {
        self.state().check_sending()
    }

    /// Buffer space for a record, in the order of asking.
    pub(super) async fn reserve(
        &self,
        size: usize,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit> {
        let permits = u32::try_from(size).unwrap_or(u32::MAX);
        match self.room.clone().try_acquire_many_owned(permits) {
            Ok(room) => return Ok(room),
            Err(TryAcquireError::Closed) => return Err(Error::Closed),
            Err(TryAcquireError::NoPermits) => {}
        }
        let _starved = Starved::new(self);
        let waiting = self.room.clone().acquire_many_owned(permits);
        match tokio::time::timeout_at(deadline, waiting).await {
            Ok(room) => room.map_err(|_| Error::Closed),
            Err(_) => Err(Error::timeout(
                format!("room for {size} bytes (buffer.memory is full)"),
                self.config.max_block,
            )),
        }
    }

    /// As [`Shared::reserve`], if there is room now and nobody waits for it.
    #[cfg(feature = "streams")]
    pub(super) fn try_reserve(&self, size: usize) -> Option<OwnedSemaphorePermit> {
        let permits = u32::try_from(size).unwrap_or(u32::MAX);
        self.room.clone().try_acquire_many_owned(permits).ok()
    }

    /// Adds a record to its partition's last batch.
    pub(super) fn append(
        &self,
        record: &ProducerRecord,
        topic: &Topic,
        room: OwnedSemaphorePermit,
        timestamp: i64,
    ) -> Result<Delivery> {
        let mut state = self.state();
        // It may have changed while the caller waited for room.
        state.check_sending()?;
        let partition = state.choose(record, topic)?;
        let tp = TopicPartition { topic: topic.name.clone(), partition };
        let headers = record
            .headers
            .iter()
            .map(|(name, value)| HeaderRef { key: name.as_bytes(), value: value.as_deref() });
        let (key, value) = (record.key.as_deref(), record.value.as_deref());

        let State { queues, incomplete, next_ordinal, sticky, .. } = &mut *state;
        let retry = self.retry;
        let queue = queues.entry(tp.clone()).or_insert_with(|| Queue::new(retry));
        let fits = queue.last().and_then(Batch::builder).is_some_and(|builder| {
            builder.size_with(timestamp, key, value, headers.clone()) <= self.config.batch_bytes
        });
        if !fits {
            if let Some(last) = queue.last() {
                last.closed = true;
            }
            let options = BatchOptions {
                compression: self.config.compression,
                capacity: self.config.batch_bytes.min(16 << 10),
                ..BatchOptions::default()
            };
            let batch = Batch::new(tp.clone(), *next_ordinal, BatchBuilder::new(options));
            *next_ordinal += ORDINAL_SPAN;
            incomplete.insert(batch.ordinal, batch.completion.clone());
            queue.push(batch);
        }
        let Some(batch) = queue.last() else { return Err(Error::Closed) };
        let Some(builder) = batch.builder() else { return Err(Error::Closed) };
        let before = builder.size();
        builder.append(timestamp, key, value, headers).map_err(|error| {
            Error::state(format!("a record for {tp} cannot be encoded: {error}"))
        })?;
        let size = builder.size();
        batch.hold(room);
        let index = i64::from(batch.records);
        batch.records += 1;
        batch.closed = size >= self.config.batch_bytes;
        let due = batch.closed || !fits;
        let completion = batch.completion.clone();
        if record.partition.is_none() && record.key.is_none() {
            sticky.appended(&tp.topic, size - before, self.config.batch_bytes);
        }
        drop(state);
        if due {
            self.wake.notify_one();
        }
        Ok(Delivery { completion, index })
    }

    /// Makes everything accepted so far due, and returns what to wait for.
    pub(super) fn begin_flush(&self) -> Vec<Arc<Completion>> {
        let mut state = self.state();
        state.flush_through = state.next_ordinal - 1;
        let all = state.incomplete.values().cloned().collect();
        drop(state);
        self.wake.notify_one();
        all
    }

    /// Gives up everything that waits, and accepts nothing more.
    pub(super) fn fail_all(&self, error: &Error) {
        let mut state = self.state();
        state.fatal.get_or_insert_with(|| error.clone());
        state.drain_waiting(error);
        drop(state);
        self.room.close();
    }
}

/// Counts a caller that waits for room, so that batches stop lingering.
struct Starved<'a>(&'a Shared);

impl<'a> Starved<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.starved.fetch_add(1, Ordering::Relaxed);
        shared.wake.notify_one();
        Self(shared)
    }
}

impl Drop for Starved<'_> {
    fn drop(&mut self) {
        self.0.starved.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    pub(super) fn check_sending(&self) -> Result<()> {
        if let Some(fatal) = &self.fatal {
            return Err(fatal.clone());
        }
        match &self.txn {
            Txn::Off | Txn::Open => Ok(()),
            Txn::Failed(error) => Err(error.clone()),
            Txn::Uninitialized => Err(Error::state(
                "this producer has a transactional.id: call init_transactions and begin first",
            )),
            Txn::Ready | Txn::Ending { .. } => {
                Err(Error::state("no transaction is open: call begin_transaction first"))
            }
        }
    }

    /// Whether every record accepted has its outcome.
    pub(super) fn is_settled(&self) -> bool {
        self.incomplete.is_empty()
    }

    /// Puts the halves of a batch that is too large in its place.
    pub(super) fn split(&mut self, left: Batch, right: Batch) {
        for half in [&left, &right] {
            self.incomplete.insert(half.ordinal, half.completion.clone());
        }
        match self.queues.get_mut(&left.partition) {
            Some(queue) => queue.split(left, right),
            None => {
                self.complete(left, Err(Error::Closed));
                self.complete(right, Err(Error::Closed));
            }
        }
    }

    pub(super) fn complete(&mut self, batch: Batch, outcome: Result<Option<i64>>) {
        self.incomplete.remove(&batch.ordinal);
        if let Err(error) = &outcome {
            self.failure.get_or_insert_with(|| error.clone());
        }
        batch.complete(outcome);
    }

    #[cfg(feature = "streams")]
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Completes everything that is not on the wire.
    pub(super) fn drain_waiting(&mut self, error: &Error) {
        let waiting: Vec<Batch> = self.queues.values_mut().flat_map(Queue::drain).collect();
        for batch in waiting {
            self.complete(batch, Err(error.clone()));
        }
    }

    fn choose(&mut self, record: &ProducerRecord, topic: &Topic) -> Result<i32> {
        let count = topic.partitions.len();
        if let Some(partition) = record.partition {
            return match topic.partition(partition) {
                Some(_) => Ok(partition),
                None => Err(Error::state(format!(
                    "topic {} has {count} partitions, none with number {partition}",
                    topic.name
                ))),
            };
        }
        Ok(match &record.key {
            Some(key) => partition_of_key(key, i32::try_from(count).unwrap_or(i32::MAX)),
            None => self.sticky.partition(topic),
        })
    }
}
