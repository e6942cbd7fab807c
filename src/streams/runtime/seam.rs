//! Between the runtime and a topology's tasks.
//!
//! The runtime knows topics, partitions, offsets and bytes; a task knows processors and stores. A
//! task does no I/O but by its [`Collector`] and its stores, has no clock of its own, and is used
//! by one thread at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::StreamsError;
use crate::streams::membership::TaskId;
use crate::streams::store::CacheBudget;
use crate::streams::task::Collector;
use crate::wire::messages::streams_group_heartbeat::Topology;
use crate::wire::records::Record;

/// A topology as the runtime needs it.
pub(super) trait Application: Send + Sync + 'static {
    /// The topology as members send it to the group.
    fn topology(&self) -> Topology;

    /// Topics of a subtopology; `None` if there is none with this number.
    fn inputs(&self, subtopology: i32) -> Option<Inputs>;

    /// A new task; nothing is opened yet. `cache` is the budget of its thread.
    fn task(&self, id: TaskId, cache: &Arc<CacheBudget>) -> Box<dyn StreamTask>;

    /// The instance has ended, and all its tasks are closed: another one may use the same
    /// directory from now on.
    fn ended(&self);
}

/// Topics that a task of a subtopology reads, by their full names.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs {
    /// Source and repartition topics.
    pub(super) sources: Vec<Source>,
    /// Changelogs of its stores.
    pub(super) changelogs: Vec<ChangelogTopic>,
}

/// A topic that a task reads.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Full name.
    pub(super) topic: Arc<str>,
    /// Written by the application itself: purged behind the committed offset.
    pub(super) repartition: bool,
    /// Where to begin without a committed offset; `None` for `auto.offset.reset`.
    pub(super) reset: Option<ResetPolicy>,
}

/// A topic that a store is restored from.
#[derive(Debug, Clone)]
pub(super) struct ChangelogTopic {
    /// Full name.
    pub(super) topic: Arc<str>,
    /// Name of the store.
    pub(super) store: Arc<str>,
}

pub(super) use crate::streams::topology::ResetPolicy;

/// Next offset to apply, by changelog topic; without an entry nothing is known.
pub(super) type StoreOffsets = BTreeMap<Arc<str>, i64>;

/// One task. Its inputs and changelogs are named by topic: the partition is the task's.
///
/// ```text
/// open -> restore* -> init -> (add, process, punctuate, prepare_commit, committed)* -> close
/// ```
pub(super) trait StreamTask: Send {
    /// Locks the task's directory and opens its stores; tells what they have of their changelogs.
    ///
    /// # Errors
    /// [`StreamsError::Locked`] while another thread still holds the task.
    fn open(&mut self) -> Result<StoreOffsets, StreamsError>;

    /// Applies records of a changelog, up to but without `next_offset`.
    ///
    /// # Errors
    /// Of the store.
    fn restore(
        &mut self,
        changelog: &str,
        records: Vec<Record>,
        next_offset: i64,
    ) -> Result<(), StreamsError>;

    /// The stores are complete: starts the processors. `metadata` is what was committed with the
    /// offset of each topic.
    ///
    /// # Errors
    /// Of the processors.
    fn init(
        &mut self,
        metadata: &[(Arc<str>, String)],
        now: i64,
        out: &mut dyn Collector,
    ) -> Result<(), StreamsError>;

    /// Queues records of an input, in their order.
    fn add(&mut self, topic: &str, records: Vec<Record>);

    /// Records queued of an input.
    fn buffered(&self, topic: &str) -> usize;

    /// Offset of the first queued record of an input.
    fn head(&self, topic: &str) -> Option<i64>;

    /// Processes up to `limit` records, the oldest first, as far as `now` allows; returns how many
    /// it took. `caught_up` says whether nothing is known to come for an input whose queue is empty.
    ///
    /// # Errors
    /// Of processors, stores, handlers and the collector.
    fn process(
        &mut self,
        limit: usize,
        now: i64,
        caught_up: &dyn Fn(&str) -> bool,
        out: &mut dyn Collector,
    ) -> Result<usize, StreamsError>;

    /// Runs the punctuations that are due.
    ///
    /// # Errors
    /// As [`StreamTask::process`].
    fn punctuate(&mut self, now: i64, out: &mut dyn Collector) -> Result<(), StreamsError>;

    /// When the next wall-clock punctuation or idle wait is due, in milliseconds since 1970.
    fn wake_at(&self) -> Option<i64>;

    /// Whether something was done since the last commit.
    fn commit_needed(&self) -> bool;

    /// Whether a processor asked for a commit, or a store holds too much that is not committed.
    fn commit_requested(&self) -> bool;

    /// Flushes what is cached; afterwards everything the offsets stand for has been sent.
    ///
    /// # Errors
    /// As [`StreamTask::process`].
    fn prepare_commit(&mut self, out: &mut dyn Collector) -> Result<(), StreamsError>;

    /// Text to be committed with an input's offset.
    fn metadata(&self, topic: &str) -> String;

    /// The commit is complete: stores make what they hold durable, with these offsets.
    ///
    /// # Errors
    /// Of the stores.
    fn committed(&mut self, offsets: &StoreOffsets) -> Result<(), StreamsError>;

    /// Closes processors and stores and unlocks. What was not committed is dropped.
    ///
    /// # Errors
    /// Of processors; everything is closed all the same.
    fn close(&mut self) -> Result<(), StreamsError>;

    /// Deletes what the closed task has on disk: it cannot be trusted any more.
    ///
    /// # Errors
    /// Of the file system.
    fn wipe(&mut self) -> Result<(), StreamsError>;
}
