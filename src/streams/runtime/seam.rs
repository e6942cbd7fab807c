//! Between the runtime and a topology's tasks.
//!
//! The runtime knows topics, partitions, offsets and bytes; a task knows processors and stores. A
//! task does no I/O but by its [`Collector`] and its stores, has no clock of its own, and is used
//! by one thread at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::error::StreamsError;
use crate::client::TopicPartition;
use crate::streams::membership::TaskId;
use crate::wire::messages::streams_group_heartbeat::Topology;
use crate::wire::records::Record;

/// A topology as the runtime needs it.
pub trait Application: Send + Sync + 'static {
    /// The topology as members send it to the group.
    fn topology(&self, application_id: &str) -> Topology;

    /// Topics of a subtopology; `None` if there is none with this number.
    fn inputs(&self, application_id: &str, subtopology: i32) -> Option<Inputs>;

    /// A new task; nothing is opened yet.
    ///
    /// # Errors
    /// Of the program's suppliers.
    fn task(&self, application_id: &str, id: TaskId) -> Result<Box<dyn StreamTask>, StreamsError>;
}

/// Topics that a task of a subtopology reads, by their full names.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Source and repartition topics.
    pub sources: Vec<Source>,
    /// Changelogs of its stores.
    pub changelogs: Vec<Arc<str>>,
}

/// A topic that a task reads.
#[derive(Debug, Clone)]
pub struct Source {
    /// Full name.
    pub topic: Arc<str>,
    /// Written by the application itself: purged behind the committed offset.
    pub repartition: bool,
    /// Where to begin without a committed offset; `None` for `auto.offset.reset`.
    pub reset: Option<Reset>,
}

/// Where reading begins without a (valid) committed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reset {
    /// At the first record.
    #[default]
    Earliest,
    /// At the end.
    Latest,
    /// At the first record that is not older than so many milliseconds (KIP-1106).
    ByDuration(u64),
    /// Nowhere: an error.
    Fail,
}

/// Next offset to apply, by changelog topic; without an entry nothing is known.
pub type StoreOffsets = BTreeMap<Arc<str>, i64>;

/// One task.
///
/// ```text
/// open -> restore* -> init -> (add, process, punctuate, prepare_commit, committed)* -> close
/// ```
pub trait StreamTask: Send {
    /// Locks the task's directory and opens its stores; tells what they have of their changelogs.
    ///
    /// # Errors
    /// [`StreamsError::is_retriable`] while another thread still holds the task.
    fn open(&mut self) -> Result<StoreOffsets, StreamsError>;

    /// Applies records of a changelog, up to but without `next_offset`.
    ///
    /// # Errors
    /// Of the store.
    fn restore(
        &mut self,
        changelog: &str,
        records: &[Record],
        next_offset: i64,
    ) -> Result<(), StreamsError>;

    /// The stores are complete: starts the processors. `metadata` is what was committed with the
    /// offsets.
    ///
    /// # Errors
    /// Of the processors.
    fn init(&mut self, metadata: &[(TopicPartition, String)]) -> Result<(), StreamsError>;

    /// Queues records of an input, in their order.
    fn add(&mut self, partition: &TopicPartition, records: Vec<Record>);

    /// Records queued of an input.
    fn buffered(&self, partition: &TopicPartition) -> usize;

    /// Offset of the first queued record of an input.
    fn head(&self, partition: &TopicPartition) -> Option<i64>;

    /// Processes up to `limit` records, the oldest first, as far as `now` allows; returns how many
    /// it took. `caught_up` says whether nothing is known to come for an input whose queue is empty.
    ///
    /// # Errors
    /// Of processors, stores, handlers and the collector.
    fn process(
        &mut self,
        limit: usize,
        now: i64,
        caught_up: &dyn Fn(&TopicPartition) -> bool,
        out: &mut dyn Collector,
    ) -> Result<usize, StreamsError>;

    /// Runs the punctuations that are due; returns whether there were any.
    ///
    /// # Errors
    /// As [`StreamTask::process`].
    fn punctuate(&mut self, now: i64, out: &mut dyn Collector) -> Result<bool, StreamsError>;

    /// When the next wall-clock punctuation or idle wait is due, in milliseconds since 1970.
    fn wake_at(&self) -> Option<i64> {
        None
    }

    /// Whether something was done since the last commit.
    fn commit_needed(&self) -> bool;

    /// Whether a processor asked for a commit, or a store holds too much that is not committed.
    fn commit_requested(&self) -> bool {
        false
    }

    /// Flushes what is cached; afterwards everything the offsets stand for has been sent.
    ///
    /// # Errors
    /// As [`StreamTask::process`].
    fn prepare_commit(&mut self, out: &mut dyn Collector) -> Result<(), StreamsError>;

    /// Text to be committed with an input's offset.
    fn metadata(&self, partition: &TopicPartition) -> String;

    /// The commit is complete: stores make what they hold durable, with these offsets.
    ///
    /// # Errors
    /// Of the stores.
    fn committed(&mut self, offsets: &StoreOffsets) -> Result<(), StreamsError>;

    /// Closes processors and stores and unlocks. What was not committed is dropped. `clean` says
    /// that everything was committed.
    ///
    /// # Errors
    /// Of processors and stores; everything is closed all the same.
    fn close(&mut self, clean: bool) -> Result<(), StreamsError>;

    /// Deletes what the closed task has on disk: it cannot be trusted any more.
    ///
    /// # Errors
    /// Of the file system.
    fn wipe(&mut self) -> Result<(), StreamsError> {
        Ok(())
    }
}

/// A record that a task sends.
#[derive(Debug, Clone)]
pub struct OutRecord<'a> {
    /// Full name of the topic.
    pub topic: &'a Arc<str>,
    /// `None` chooses by the key's hash.
    pub partition: Option<i32>,
    /// Key, `None` for null.
    pub key: Option<Bytes>,
    /// Value, `None` for null.
    pub value: Option<Bytes>,
    /// Headers in order; names may repeat.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Of a store: its offset is remembered for the checkpoint.
    pub changelog: bool,
}

/// Where a task's output goes.
pub trait Collector {
    /// Sends a record, in order within its partition. Waits while the producer is full.
    ///
    /// # Errors
    /// Of this record or of an earlier one.
    fn send(&mut self, record: OutRecord<'_>) -> Result<(), StreamsError>;

    /// Number of a topic's partitions.
    ///
    /// # Errors
    /// If the topic does not exist or nobody can be asked.
    fn partitions(&mut self, topic: &Arc<str>) -> Result<i32, StreamsError>;
}
