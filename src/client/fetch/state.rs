//! Positions and buffers of the assigned partitions, shared by consumer, supervisor and broker
//! tasks. Each lock is held for a few steps, never across an await.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::filter::Cut;
use super::session::Wanted;
use super::{FetchConfig, FetchError, Fetched, Position};
use crate::client::admin::{OffsetSpec, TopicPartition};
use crate::client::backoff::{Backoff, BackoffPolicy};
use crate::client::error::{Error, Result};
use crate::client::metadata::Snapshot;
use crate::wire::Uuid;
use crate::wire::records::DecodeOptions;

/// Pauses of one partition after its failures.
const RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(1) };

/// What an item and each of its batches take besides their records: many small ones must not
/// escape the bounds.
const ITEM_BYTES: usize = 512;
const BATCH_BYTES: usize = 128;

pub(super) struct Shared {
    pub(super) config: FetchConfig,
    /// There is something to take.
    pub(super) data: Notify,
    /// The supervisor has something to do.
    pub(super) plan: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    partitions: HashMap<TopicPartition, Entry>,
    /// Partitions with something to take, in turn; each at most once.
    ready: VecDeque<TopicPartition>,
    buffered: usize,
    next_epoch: u64,
    /// Brokers with a task, and how to wake it.
    brokers: HashMap<i32, Arc<Notify>>,
}

struct Entry {
    epoch: u64,
    at: At,
    last_fetched_epoch: i32,
    topic_id: Uuid,
    leader: Option<(i32, i32)>,
    paused: bool,
    queued: bool,
    buffer: VecDeque<Fetched>,
    buffered: usize,
    error: Option<Error>,
    backoff: Backoff,
    retry_at: Option<Instant>,
    max_bytes: i32,
}

/// Where a partition's fetching stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// An offset must be looked up.
    Spec(OffsetSpec),
    /// A look-up is running.
    Looking(OffsetSpec),
    Offset(i64),
    /// Nothing before the next seek.
    Stuck,
}

/// A partition of a request, and the epoch it was in.
pub(super) struct Asked {
    pub(super) partition: TopicPartition,
    pub(super) epoch: u64,
    pub(super) wanted: Wanted,
}

/// What an answer said of a partition besides its records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start_offset: i64,
}

/// What the supervisor has to do.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) topics: Vec<Arc<str>>,
    pub(super) start: Vec<(i32, Arc<Notify>)>,
    pub(super) look_up: Vec<(TopicPartition, u64, OffsetSpec)>,
    /// Partitions without a known leader.
    pub(super) homeless: bool,
    pub(super) wake_at: Option<Instant>,
}

impl Shared {
    pub(super) fn new(config: FetchConfig) -> Self {
        Self { config, data: Notify::new(), plan: Notify::new(), state: Mutex::default() }
    }

    pub(super) fn assign(&self, partition: &TopicPartition, position: Position) -> u64 {
        let mut state = self.state();
        state.next_epoch += 1;
        let epoch = state.next_epoch;
        let old = state.remove(partition);
        let entry = Entry {
            epoch,
            at: match position {
                Position::Offset(offset) => At::Offset(offset),
                Position::Spec(spec) => At::Spec(spec),
            },
            last_fetched_epoch: -1,
            topic_id: old.as_ref().map_or(Uuid::ZERO, |old| old.topic_id),
            leader: old.as_ref().and_then(|old| old.leader),
            paused: old.as_ref().is_some_and(|old| old.paused),
            queued: old.as_ref().is_some_and(|old| old.queued),
            buffer: VecDeque::new(),
            buffered: 0,
            error: None,
            backoff: Backoff::new(RETRY),
            retry_at: None,
            max_bytes: self.config.max_partition_bytes,
        };
        state.wake_broker(entry.leader);
        state.partitions.insert(partition.clone(), entry);
        drop(state);
        self.plan.notify_one();
        epoch
    }

    pub(super) fn unassign(&self, partition: &TopicPartition) {
        let mut state = self.state();
        let removed = state.remove(partition);
        // Its broker may wait for a reason to end.
        state.wake_broker(removed.and_then(|entry| entry.leader));
    }

    pub(super) fn is_assigned(&self, partition: &TopicPartition) -> bool {
        self.state().partitions.contains_key(partition)
    }

    pub(super) fn set_paused(&self, partition: &TopicPartition, paused: bool) {
        let mut state = self.state();
        let Some(entry) = state.partitions.get_mut(partition) else { return };
        entry.paused = paused;
        let leader = entry.leader;
        state.queue(partition);
        state.wake_broker(leader);
        drop(state);
        self.data.notify_one();
    }

    /// The next item of the partition whose turn it is.
    pub(super) fn take(&self) -> Option<Result<Fetched, FetchError>> {
        let mut state = self.state();
        let item = state.take(&self.config);
        let more = !state.ready.is_empty();
        drop(state);
        if more {
            // One notification stands for several items: pass it on to the next consumer.
            self.data.notify_one();
        }
        item
    }

    /// Takes over leaders and ids, and tells what is to be done.
    pub(super) fn plan(&self, snapshot: &Snapshot) -> Plan {
        let now = Instant::now();
        let mut plan = Plan::default();
        let mut state = self.state();
        let state = &mut *state;
        let mut woken = Vec::new();
        for (tp, entry) in &mut state.partitions {
            if !plan.topics.contains(&tp.topic) {
                plan.topics.push(tp.topic.clone());
            }
            let topic = snapshot.topic(&tp.topic);
            let found = topic.and_then(|topic| topic.partition(tp.partition));
            let leader = found.filter(|p| p.leader >= 0).map(|p| (p.leader, p.leader_epoch));
            if let Some(topic) = topic.filter(|_| leader.is_some()) {
                entry.topic_id = topic.id;
            }
            if entry.leader != leader {
                // The former broker's task notices that it lost the partition.
                woken.extend(entry.leader.map(|(node, _)| node));
                entry.leader = leader;
                woken.extend(leader.map(|(node, _)| node));
            }
            plan.homeless |= leader.is_none();
            if let At::Spec(spec) = entry.at {
                match entry.retry_at.filter(|at| *at > now) {
                    Some(at) => plan.wake_at = Some(plan.wake_at.map_or(at, |w| w.min(at))),
                    None => {
                        entry.at = At::Looking(spec);
                        plan.look_up.push((tp.clone(), entry.epoch, spec));
                    }
                }
            }
        }
        let leaders = state.partitions.values().filter_map(|entry| entry.leader);
        for (node, _) in leaders.collect::<Vec<_>>() {
            state.brokers.entry(node).or_insert_with(|| {
                let wake = Arc::new(Notify::new());
                plan.start.push((node, wake.clone()));
                wake
            });
        }
        for node in woken {
            state.wake_broker(Some((node, 0)));
        }
        plan
    }

    /// What to ask this broker for now, and when to look again if that is nothing.
    pub(super) fn wanted(&self, node: i32) -> (Vec<Asked>, Option<Instant>) {
        let now = Instant::now();
        let state = self.state();
        let mut asked = Vec::new();
        let mut wake_at: Option<Instant> = None;
        if state.buffered >= self.config.buffer_bytes {
            return (asked, None);
        }
        for (tp, entry) in &state.partitions {
            let Some((leader, leader_epoch)) = entry.leader.filter(|(leader, _)| *leader == node)
            else {
                continue;
            };
            debug_assert_eq!(leader, node);
            let At::Offset(offset) = entry.at else { continue };
            if entry.paused
                || entry.error.is_some()
                || entry.buffered >= self.config.partition_buffer_bytes
            {
                continue;
            }
            if let Some(at) = entry.retry_at.filter(|at| *at > now) {
                wake_at = Some(wake_at.map_or(at, |wake| wake.min(at)));
                continue;
            }
            asked.push(Asked {
                partition: tp.clone(),
                epoch: entry.epoch,
                wanted: Wanted {
                    topic_id: entry.topic_id,
                    offset,
                    leader_epoch,
                    last_fetched_epoch: entry.last_fetched_epoch,
                    max_bytes: entry.max_bytes,
                },
            });
        }
        (asked, wake_at)
    }

    /// Ends a broker's task if no partition needs it any more.
    pub(super) fn detach(&self, node: i32) -> bool {
        let mut state = self.state();
        let needed = state
            .partitions
            .values()
            .any(|entry| entry.leader.is_some_and(|(leader, _)| leader == node));
        if !needed {
            state.brokers.remove(&node);
        }
        !needed
    }

    /// Takes the records of an answer over.
    pub(super) fn deliver(&self, asked: &Asked, cut: Cut, marks: Marks) {
        let mut state = self.state();
        let state = &mut *state;
        let buffered = &mut state.buffered;
        let Some(entry) = current(&mut state.partitions, asked) else { return };
        entry.backoff.reset();
        entry.retry_at = None;
        entry.max_bytes = self.config.max_partition_bytes;
        if let Some(needed) = cut.too_large {
            entry.max_bytes = i32::try_from(needed).unwrap_or(i32::MAX);
        }
        if cut.next_offset > asked.wanted.offset {
            entry.at = At::Offset(cut.next_offset);
            if cut.last_epoch >= 0 {
                entry.last_fetched_epoch = cut.last_epoch;
            }
            let bytes = cut.batches.iter().map(|batch| batch.bytes().len()).sum();
            let held = bytes + ITEM_BYTES + cut.batches.len() * BATCH_BYTES;
            entry.buffer.push_back(Fetched {
                partition: asked.partition.clone(),
                epoch: asked.epoch,
                start_offset: asked.wanted.offset,
                next_offset: cut.next_offset,
                high_watermark: marks.high_watermark,
                last_stable_offset: marks.last_stable_offset,
                log_start_offset: marks.log_start_offset,
                batches: cut.batches,
                decode: DecodeOptions {
                    check_crc: self.config.check_crcs,
                    max_decompressed: self.config.max_decompressed_bytes,
                },
                bytes,
                held,
            });
            entry.buffered += held;
            *buffered += held;
        }
        if let Some(error) = cut.error {
            entry.fail(Error::CorruptRecords {
                partition: asked.partition.clone(),
                first_offset: cut.next_offset,
                last_offset: cut.next_offset,
                cause: error.to_string().into(),
            });
        }
        if state.queue(&asked.partition) {
            self.data.notify_one();
        }
    }

    /// Leaves the partition out for a while; with an error to hand out, if there is one.
    pub(super) fn postpone(&self, asked: &Asked, error: Option<Error>) {
        let mut state = self.state();
        let Some(entry) = current(&mut state.partitions, asked) else { return };
        match error {
            Some(error) => entry.fail(error),
            None => entry.retry_at = Some(Instant::now() + entry.backoff.next_delay()),
        }
        if state.queue(&asked.partition) {
            self.data.notify_one();
        }
    }

    /// Goes on elsewhere because the position does not exist: by the reset policy, or not before
    /// a seek.
    pub(super) fn out_of_range(&self, asked: &Asked, error: Error) {
        let mut state = self.state();
        let Some(entry) = current(&mut state.partitions, asked) else { return };
        match self.config.reset {
            Some(spec) => {
                log::warn!(target: crate::LOG_TARGET, "{error}; going on at {spec:?}");
                entry.at = At::Spec(spec);
                entry.last_fetched_epoch = -1;
                entry.retry_at = Some(Instant::now() + entry.backoff.next_delay());
                self.plan.notify_one();
            }
            None => {
                entry.at = At::Stuck;
                entry.error = Some(error);
                if state.queue(&asked.partition) {
                    self.data.notify_one();
                }
            }
        }
    }

    /// Goes back to where the log diverged from what was read (KIP-320).
    pub(super) fn truncated(&self, asked: &Asked, end_offset: i64, error: Error) {
        if self.config.reset.is_none() || end_offset < 0 {
            return self.out_of_range(asked, error);
        }
        let mut state = self.state();
        let Some(entry) = current(&mut state.partitions, asked) else { return };
        log::warn!(target: crate::LOG_TARGET, "{error}; going on at offset {end_offset}");
        entry.at = At::Offset(end_offset.min(asked.wanted.offset));
        entry.last_fetched_epoch = -1;
    }

    /// Takes over what a look-up found.
    pub(super) fn looked_up(&self, partition: &TopicPartition, epoch: u64, found: Result<i64>) {
        let mut state = self.state();
        let Some(entry) = state.partitions.get_mut(partition) else { return };
        let At::Looking(spec) = entry.at else { return };
        if entry.epoch != epoch {
            return;
        }
        match found {
            Ok(offset) => {
                entry.at = At::Offset(offset.max(0));
                entry.backoff.reset();
                entry.retry_at = None;
                let leader = entry.leader;
                state.wake_broker(leader);
            }
            Err(error) => {
                entry.at = At::Spec(spec);
                entry.fail(error);
                if state.queue(partition) {
                    self.data.notify_one();
                }
            }
        }
        drop(state);
        self.plan.notify_one();
    }

    /// Hands out an error for all partitions of a topic.
    pub(super) fn fail_topic(&self, topic: &str, error: &Error) {
        let mut state = self.state();
        let now = Instant::now();
        let mut failed = Vec::new();
        for (tp, entry) in &mut state.partitions {
            let resting = entry.retry_at.is_some_and(|at| at > now);
            if &*tp.topic == topic && entry.error.is_none() && !resting {
                entry.fail(error.clone());
                failed.push(tp.clone());
            }
        }
        for tp in failed {
            state.queue(&tp);
        }
        drop(state);
        self.data.notify_one();
    }

    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.state().buffered
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn fail(&mut self, error: Error) {
        self.error = Some(error);
        self.retry_at = Some(Instant::now() + self.backoff.next_delay());
    }
}

/// The entry, unless it was assigned anew since it was asked for.
fn current<'a>(
    partitions: &'a mut HashMap<TopicPartition, Entry>,
    asked: &Asked,
) -> Option<&'a mut Entry> {
    let entry = partitions.get_mut(&asked.partition)?;
    (entry.epoch == asked.epoch && entry.at == At::Offset(asked.wanted.offset)).then_some(entry)
}

impl State {
    fn remove(&mut self, partition: &TopicPartition) -> Option<Entry> {
        let entry = self.partitions.remove(partition)?;
        self.buffered -= entry.buffered;
        Some(entry)
    }

    /// Puts a partition in the queue of those with something to take. Returns whether it did.
    fn queue(&mut self, partition: &TopicPartition) -> bool {
        let Some(entry) = self.partitions.get_mut(partition) else { return false };
        let has_item = !entry.buffer.is_empty() || entry.error.is_some();
        if entry.queued || entry.paused || !has_item {
            return false;
        }
        entry.queued = true;
        self.ready.push_back(partition.clone());
        true
    }

    fn take(&mut self, config: &FetchConfig) -> Option<Result<Fetched, FetchError>> {
        while let Some(partition) = self.ready.pop_front() {
            let Some(entry) = self.partitions.get_mut(&partition) else { continue };
            entry.queued = false;
            if entry.paused {
                continue;
            }
            // Records read before the failure come first.
            if let Some(fetched) = entry.buffer.pop_front() {
                let full = entry.buffered >= config.partition_buffer_bytes;
                entry.buffered -= fetched.held;
                let room = full && entry.buffered < config.partition_buffer_bytes;
                let leader = entry.leader;
                let all_full = self.buffered >= config.buffer_bytes;
                self.buffered -= fetched.held;
                if all_full && self.buffered < config.buffer_bytes {
                    self.brokers.values().for_each(|wake| wake.notify_one());
                } else if room {
                    self.wake_broker(leader);
                }
                self.queue(&partition);
                return Some(Ok(fetched));
            }
            if let Some(error) = entry.error.take() {
                let (epoch, leader) = (entry.epoch, entry.leader);
                self.wake_broker(leader);
                return Some(Err(FetchError { partition, epoch, error }));
            }
        }
        None
    }

    fn wake_broker(&self, leader: Option<(i32, i32)>) {
        if let Some(wake) = leader.and_then(|(node, _)| self.brokers.get(&node)) {
            wake.notify_one();
        }
    }
}
