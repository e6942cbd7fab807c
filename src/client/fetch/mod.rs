//! Fetches records of assigned partitions; who assigns them is not its business.
//!
//! # Tasks
//! A [`Fetcher`] owns one supervisor task, which owns a task for each broker that leads assigned
//! partitions and short jobs that look up start offsets. Dropping the fetcher aborts them all;
//! [`Fetcher::close`] ends them in order and closes the brokers' fetch sessions.
//!
//! # Flow
//! A broker's task has one request in flight. When the answer is there it is cut into batches,
//! which only reads their headers, and put into the partitions' buffers; then the next request
//! goes out while the consumer still works. Checksums and decompression happen where the consumer
//! iterates ([`Fetched::batches`]), on its thread and in the frame's own memory.
//!
//! # Bounds
//! A partition is left out of requests while its buffer holds `partition_buffer_bytes` or all
//! buffers together hold `buffer_bytes`, so memory stays below `buffer_bytes` plus one answer
//! (`max_bytes`) for each broker, compressed.
//!
//! # Rules
//! 1. Each assignment and each seek gives the partition a new epoch. Answers to requests of an
//!    older epoch change nothing.
//! 2. A position only moves forward within an epoch.
//! 3. An error of a partition is handed out once, then the partition is tried again after a
//!    backoff; the others flow on.

mod broker;
mod filter;
mod session;
mod state;
mod supervisor;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::state::Shared;
use super::admin::{OffsetSpec, TopicPartition};
use super::cluster::Client;
use super::error::{Error, Result};
use crate::wire::records::{Batch, BatchRecords, DecodeOptions, RecordRef};

/// How to fetch.
#[derive(Debug, Clone)]
pub struct FetchConfig {
    /// `fetch.min.bytes`: the broker waits for so much. Default 1.
    pub min_bytes: i32,
    /// `fetch.max.bytes`: of one answer. Default 50 MiB.
    pub max_bytes: i32,
    /// `max.partition.fetch.bytes`: of one partition in one answer. Default 1 MiB.
    pub max_partition_bytes: i32,
    /// `fetch.max.wait.ms`: how long the broker waits for `min_bytes`. Default 500 ms.
    pub max_wait: Duration,
    /// `isolation.level=read_committed`. Default true.
    pub read_committed: bool,
    /// `check.crcs`. Default true.
    pub check_crcs: bool,
    /// `auto.offset.reset`: where to go on when the position does not exist (any more).
    /// Default `None`: an error, and the partition waits for [`Fetcher::seek`].
    pub reset: Option<OffsetSpec>,
    /// Bytes buffered for one partition before it is left out. Default 4 MiB.
    pub partition_buffer_bytes: usize,
    /// Bytes buffered in all before no more is fetched. Default 64 MiB.
    pub buffer_bytes: usize,
    /// Largest size to which a batch may decompress. Default 128 MiB.
    pub max_decompressed_bytes: usize,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            min_bytes: 1,
            max_bytes: 50 << 20,
            max_partition_bytes: 1 << 20,
            max_wait: Duration::from_millis(500),
            read_committed: true,
            check_crcs: true,
            reset: None,
            partition_buffer_bytes: 4 << 20,
            buffer_bytes: 64 << 20,
            max_decompressed_bytes: 128 << 20,
        }
    }
}

/// Where to start in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// At this offset.
    Offset(i64),
    /// Where this leads.
    Spec(OffsetSpec),
}

/// Records of one partition, in order.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Topic and partition.
    pub partition: TopicPartition,
    /// The partition's epoch, as [`Fetcher::assign`] or [`Fetcher::seek`] returned it.
    pub epoch: u64,
    /// First offset asked for. The first batch may hold earlier records; they are not new.
    pub start_offset: i64,
    /// The offset after all this, past markers and hidden records too. There may be no batch at
    /// all, and still the position has moved.
    pub next_offset: i64,
    /// One past the last replicated record, when the answer was made.
    pub high_watermark: i64,
    /// One past the last record that `read_committed` could see; -1 if unknown.
    pub last_stable_offset: i64,
    /// First offset of the partition; -1 if unknown.
    pub log_start_offset: i64,
    batches: Vec<Batch>,
    decode: DecodeOptions,
    bytes: usize,
    /// `bytes` with the overhead that counts against the buffers' bounds.
    held: usize,
}

impl Fetched {
    /// Checks and decompresses one batch after the other. An error concerns one batch; the
    /// following ones still come.
    pub fn batches(&self) -> impl Iterator<Item = Result<BatchRecords>> + '_ {
        self.batches
            .iter()
            .map(|batch| batch.records(&self.decode).map_err(|error| self.corrupt(batch, error)))
    }

    /// Calls `visit` for each record from `start_offset` on, without copying any.
    ///
    /// # Errors
    /// Of the first batch that cannot be read.
    pub fn for_each(&self, mut visit: impl FnMut(RecordRef<'_>)) -> Result<()> {
        for batch in &self.batches {
            let records =
                batch.records(&self.decode).map_err(|error| self.corrupt(batch, error))?;
            for record in records.iter() {
                let record = record.map_err(|error| self.corrupt(batch, error))?;
                if record.offset >= self.start_offset {
                    visit(record);
                }
            }
        }
        Ok(())
    }

    /// The batches as they came, their checksums not compared.
    pub fn raw(&self) -> &[Batch] {
        &self.batches
    }

    /// Size of the batches in bytes, compressed.
    pub fn size(&self) -> usize {
        self.bytes
    }

    fn corrupt(&self, batch: &Batch, error: crate::wire::Error) -> Error {
        Error::CorruptRecords {
            partition: self.partition.clone(),
            first_offset: batch.header.base_offset,
            last_offset: batch.header.last_offset(),
            cause: error.to_string().into(),
        }
    }
}

/// A failure of one partition.
#[derive(Debug, Clone, thiserror::Error)]
#[error("fetching {partition}: {error}")]
pub struct FetchError {
    /// Topic and partition.
    pub partition: TopicPartition,
    /// The partition's epoch.
    pub epoch: u64,
    /// What happened.
    #[source]
    pub error: Error,
}

/// Fetches what was assigned. See the module's documentation.
pub struct Fetcher {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    supervisor: Option<JoinHandle<()>>,
}

impl Fetcher {
    /// Starts the supervisor; must be called on a tokio runtime.
    pub fn new(client: Client, config: FetchConfig) -> Self {
        let shared = Arc::new(Shared::new(config));
        let (stop, stopped) = watch::channel(false);
        let supervisor = tokio::spawn(supervisor::run(client, shared.clone(), stopped));
        Self { shared, stop, supervisor: Some(supervisor) }
    }

    /// Adds partitions and returns their epochs, in the same order. One that is assigned already
    /// starts anew at its position.
    pub fn assign(&self, partitions: &[(TopicPartition, Position)]) -> Vec<u64> {
        partitions.iter().map(|(tp, position)| self.shared.assign(tp, *position)).collect()
    }

    /// Takes partitions away with what is buffered of them. Nothing of them is handed out after
    /// this returned.
    pub fn unassign(&self, partitions: &[TopicPartition]) {
        for tp in partitions {
            self.shared.unassign(tp);
        }
    }

    /// Goes on elsewhere; what is buffered is dropped. Returns the new epoch, or `None` if the
    /// partition is not assigned.
    pub fn seek(&self, partition: &TopicPartition, position: Position) -> Option<u64> {
        self.shared.is_assigned(partition).then(|| self.shared.assign(partition, position))
    }

    /// Stops handing out and fetching a partition; what is buffered stays.
    pub fn pause(&self, partition: &TopicPartition) {
        self.shared.set_paused(partition, true);
    }

    /// Undoes [`Fetcher::pause`].
    pub fn resume(&self, partition: &TopicPartition) {
        self.shared.set_paused(partition, false);
    }

    /// The next records of any partition that is not paused, in turn.
    ///
    /// # Errors
    /// A partition's failure; the next call goes on with the others.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&self) -> Result<Fetched, FetchError> {
        loop {
            let ready = self.shared.data.notified();
            if let Some(item) = self.shared.take() {
                return item;
            }
            ready.await;
        }
    }

    /// As [`Fetcher::next`], if something is there now.
    pub fn try_next(&self) -> Option<Result<Fetched, FetchError>> {
        self.shared.take()
    }

    /// Ends the tasks and closes the fetch sessions; brokers that do not answer within a second
    /// are left.
    pub async fn close(mut self) {
        self.stop.send_replace(true);
        if let Some(supervisor) = self.supervisor.take() {
            // A panic in it has been reported by tokio already.
            let _ = supervisor.await;
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        if let Some(supervisor) = &self.supervisor {
            // Its tasks are in a set that goes with it.
            supervisor.abort();
        }
    }
}

#[cfg(test)]
mod tests;
