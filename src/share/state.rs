//! What the tasks of a consumer and its callers share.
//!
//! # Who may do what
//! 1. One lock guards [`State`]; nothing awaits, decodes or calls the program under it.
//! 2. A node's task alone sends to its node and alone changes that node's generation.
//! 3. Whoever changes something a poll waits for bumps `changed`; whoever queues an
//!    acknowledgement or frees room wakes the nodes.
//! 4. Acknowledgements that are settled are handed out under the lock to the commits that wait
//!    for them; the program's callback hears of them after it was released.
//!
//! # Commits
//! Every queued acknowledgement carries the ticket of its time. A commit takes the present ticket
//! and is done when no acknowledgement with that ticket or an earlier one is unsettled.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::book::{Book, Entry, Kind};
use super::config::Settings;
use super::error::{AckError, AckResult, CommitReport, ShareError};
use super::record::{Origin, ShareRecord, ShareRecords};
use super::stats::Stats;
use super::{AckType, PartitionId};
use crate::client::{Client, Purpose};
use crate::wire::Uuid;

/// Errors kept for polls; later ones replace nothing and are only logged.
const ERRORS_MAX: usize = 100;
/// Failures kept for the next commit.
const UNCLAIMED_MAX: usize = 1000;
/// The same error of one topic is told at most this often.
const ERROR_INTERVAL: Duration = Duration::from_secs(5);
/// Lock duration before a broker told its own.
const LOCK_DEFAULT: Duration = Duration::from_secs(30);
/// Delivered records whose lock ended this long ago are forgotten.
const STALE: Duration = Duration::from_secs(300);
/// A fetch may ask for as many records as the program takes in this time.
const AHEAD: f64 = 0.25;
/// Most records that a fetch asks for beyond `max.poll.records`.
const FETCH_RECORDS_MAX: usize = 8000;

pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) settings: Settings,
    pub(super) member: String,
    pub(super) purpose: Purpose,
    pub(super) stats: Stats,
    /// Bumped when a poll may have something to do.
    pub(super) changed: watch::Sender<u64>,
    /// Assignment, pauses or the phase changed.
    pub(super) route: Notify,
    /// Subscription, polling or leaving changed.
    pub(super) beat: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    /// Sessions end; the membership lasts until they have.
    Closing,
    /// The sessions have ended: leave the group.
    Leaving,
    Closed,
}

pub(super) struct State {
    pub(super) life: Life,
    pub(super) fatal: Option<ShareError>,
    pub(super) explicit: bool,
    errors: VecDeque<ShareError>,
    told: HashMap<String, Instant>,
    wakeup: bool,
    pub(super) topics: Vec<String>,
    pub(super) subscription: u64,
    /// From the coordinator, by topic id; `None` before the first.
    pub(super) assignment: Option<BTreeMap<Uuid, BTreeSet<i32>>>,
    pub(super) names: HashMap<Uuid, Arc<str>>,
    pub(super) paused: HashSet<(Arc<str>, i32)>,
    pub(super) nodes: HashMap<i32, Node>,
    ready: VecDeque<Chunk>,
    pub(super) ready_records: usize,
    pub(super) ready_bytes: usize,
    ticket: u64,
    waiters: Vec<Waiter>,
    unclaimed: VecDeque<AckResult>,
    /// Outcomes that the callback has not heard of.
    unheard: Vec<AckResult>,
    pub(super) last_poll: Instant,
    pub(super) polling: usize,
    /// Set by polls. Cleared when fetched records expired without one: fetching on would use up
    /// the deliveries of records that nobody looks at.
    pub(super) may_fetch: bool,
    /// Left for not polling.
    pub(super) stale: bool,
    pub(super) joined: bool,
    /// Record-limit mode: the node whose fetch is running.
    pub(super) fetching: Option<i32>,
    rate: Rate,
}

/// One broker that leads some of our partitions.
pub(super) struct Node {
    pub(super) wake: Arc<Notify>,
    pub(super) wanted: BTreeSet<PartitionId>,
    /// Partitions left alone until then.
    pub(super) postponed: BTreeMap<PartitionId, Instant>,
    pub(super) books: BTreeMap<PartitionId, Book>,
    pub(super) generation: u64,
    /// Version of ShareAcknowledge; 0 while unknown.
    pub(super) version: i16,
    pub(super) lock: Duration,
    /// When the first acknowledgement was queued that has not been sent.
    pub(super) queued_at: Option<Instant>,
    pub(super) has_gaps: bool,
    pub(super) turns: u64,
}

/// Records of one partition's answer.
struct Chunk {
    origin: Arc<Origin>,
    records: std::vec::IntoIter<ShareRecord>,
    bytes: usize,
    until: Instant,
}

struct Waiter {
    ticket: u64,
    results: Vec<AckResult>,
    done: oneshot::Sender<CommitReport>,
}

/// How fast the program takes records, smoothed.
#[derive(Debug, Default)]
struct Rate {
    per_second: f64,
    since: Option<Instant>,
    count: usize,
}

impl Rate {
    fn took(&mut self, records: usize, now: Instant) {
        let since = *self.since.get_or_insert(now);
        self.count += records;
        let elapsed = now.duration_since(since).as_secs_f64();
        if elapsed >= 0.02 {
            let current = self.count as f64 / elapsed;
            self.per_second = if self.per_second == 0.0 {
                current
            } else {
                0.7 * self.per_second + 0.3 * current
            };
            (self.since, self.count) = (Some(now), 0);
        }
    }
}

impl Node {
    fn new(wanted: BTreeSet<PartitionId>) -> Self {
        Self {
            wake: Arc::new(Notify::new()),
            wanted,
            postponed: BTreeMap::new(),
            books: BTreeMap::new(),
            generation: 0,
            version: 0,
            lock: LOCK_DEFAULT,
            queued_at: None,
            has_gaps: false,
            turns: 0,
        }
    }
}

impl Shared {
    pub(super) fn new(
        client: Client,
        settings: Settings,
        member: String,
        topics: Vec<String>,
        now: Instant,
    ) -> Self {
        let purpose = Purpose::Share(client.next_owner());
        let state = State {
            life: Life::Running,
            fatal: None,
            explicit: settings.explicit,
            errors: VecDeque::new(),
            told: HashMap::new(),
            wakeup: false,
            topics,
            subscription: 0,
            assignment: None,
            names: HashMap::new(),
            paused: HashSet::new(),
            nodes: HashMap::new(),
            ready: VecDeque::new(),
            ready_records: 0,
            ready_bytes: 0,
            ticket: 1,
            waiters: Vec::new(),
            unclaimed: VecDeque::new(),
            unheard: Vec::new(),
            last_poll: now,
            polling: 0,
            may_fetch: false,
            stale: false,
            joined: false,
            fetching: None,
            rate: Rate::default(),
        };
        Self {
            client,
            settings,
            member,
            purpose,
            stats: Stats::default(),
            changed: watch::channel(0).0,
            route: Notify::new(),
            beat: Notify::new(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` under the lock, then tells polls, nodes and the callback what came of it.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let (result, unheard) = {
            let mut state = self.lock();
            let result = work(&mut state);
            state.finish_waiters();
            (result, std::mem::take(&mut state.unheard))
        };
        self.tell(unheard);
        result
    }

    fn tell(&self, unheard: Vec<AckResult>) {
        for result in unheard {
            self.stats.acknowledged(&result);
            let Some(callback) = &self.settings.callback else { continue };
            if catch_unwind(AssertUnwindSafe(|| callback(&result))).is_err() {
                log::error!(target: crate::LOG_TARGET, "the acknowledgement callback panicked");
            }
        }
    }

    pub(super) fn notify_polls(&self) {
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    /// Ends the consumer with this error.
    pub(super) fn fail(&self, error: ShareError) {
        log::error!(
            target: crate::LOG_TARGET,
            "share group {}: {error}", self.settings.group
        );
        self.with(|state| {
            state.fatal.get_or_insert(error);
        });
        self.notify_polls();
    }

    /// Keeps an error for the next poll.
    pub(super) fn report(&self, error: ShareError) {
        self.lock().report(error, Instant::now());
        self.notify_polls();
    }

    /// One look of a poll. `first` for the first look of a call, which accepts what the last call
    /// returned in implicit mode.
    pub(super) fn take(
        &self,
        first: bool,
        now: Instant,
    ) -> Result<Option<ShareRecords>, ShareError> {
        self.with(|state| state.take(first, &self.settings, &self.stats, now))
    }
}

impl State {
    pub(super) fn report(&mut self, error: ShareError, now: Instant) {
        let text = error.to_string();
        self.told.retain(|_, at| now.duration_since(*at) < ERROR_INTERVAL);
        if self.told.len() >= ERRORS_MAX || self.told.insert(text, now).is_some() {
            return;
        }
        log::warn!(target: crate::LOG_TARGET, "{error}");
        if self.errors.len() < ERRORS_MAX {
            self.errors.push_back(error);
        }
    }

    pub(super) fn check_open(&self) -> Result<(), ShareError> {
        match &self.fatal {
            Some(error) => Err(error.clone()),
            None if self.life != Life::Running => Err(ShareError::Closed),
            None => Ok(()),
        }
    }

    pub(super) fn wake_up(&mut self) {
        self.wakeup = true;
    }

    pub(super) fn wake_nodes(&self) {
        for node in self.nodes.values() {
            node.wake.notify_one();
        }
    }

    fn take(
        &mut self,
        first: bool,
        settings: &Settings,
        stats: &Stats,
        now: Instant,
    ) -> Result<Option<ShareRecords>, ShareError> {
        self.check_open()?;
        if first {
            self.last_poll = now;
            self.may_fetch = true;
            if !self.explicit {
                self.acknowledge_delivered(Kind::Accept, now);
            } else if settings.strict
                && let Some(error) = self.unacknowledged()
            {
                return Err(error);
            }
            self.wake_nodes();
        }
        if std::mem::take(&mut self.wakeup) {
            return Err(ShareError::Wakeup);
        }
        if let Some(error) = self.errors.pop_front() {
            return Err(error);
        }
        let mut records = Vec::new();
        let want = settings.max_poll_records;
        while records.len() < want {
            let Some(mut chunk) = self.ready.pop_front() else { break };
            let left = chunk.records.len();
            let alive = self.book(&chunk.origin).is_some();
            if !alive || chunk.until <= now {
                self.ready_records -= left;
                self.ready_bytes -= chunk.bytes;
                stats.expired(left as u64);
                continue;
            }
            let count = left.min(want - records.len());
            let start = records.len();
            records.extend(chunk.records.by_ref().take(count));
            if let (Some(from), Some(to)) = (records.get(start), records.last()) {
                let (from, to) = (from.offset(), to.offset());
                let origin = chunk.origin.clone();
                if let Some(book) = self.book(&origin) {
                    book.deliver(from, to);
                }
            }
            self.ready_records -= count;
            if count < left {
                self.ready.push_front(chunk);
            } else {
                self.ready_bytes -= chunk.bytes;
            }
        }
        if records.is_empty() {
            return Ok(None);
        }
        self.rate.took(records.len(), now);
        stats.delivered(records.len() as u64);
        self.wake_nodes();
        Ok(Some(ShareRecords(records)))
    }

    fn unacknowledged(&self) -> Option<ShareError> {
        let mut found: Option<(u64, Arc<str>, i32, i64)> = None;
        for (id, book) in self.nodes.values().flat_map(|node| &node.books) {
            let Some((offset, count)) = book.unacknowledged() else { continue };
            match &mut found {
                Some(found) => found.0 += count,
                None => found = Some((count, self.name(id.topic), id.partition, offset)),
            }
        }
        let (count, topic, partition, offset) = found?;
        Some(ShareError::Unacknowledged { count, topic, partition, offset })
    }

    /// The book of a record's acquisition, if it is still good.
    pub(super) fn book(&mut self, origin: &Origin) -> Option<&mut Book> {
        let node = self.nodes.get_mut(&origin.node)?;
        if node.generation != origin.generation {
            return None;
        }
        node.books.get_mut(&origin.id)
    }

    pub(super) fn name(&self, id: Uuid) -> Arc<str> {
        self.names.get(&id).cloned().unwrap_or_else(|| id.to_string().into())
    }

    /// Acknowledges everything that polls returned and nothing was said about.
    pub(super) fn acknowledge_delivered(&mut self, kind: Kind, now: Instant) -> u64 {
        let ticket = self.ticket;
        let mut total = 0;
        for node in self.nodes.values_mut() {
            let count: u64 =
                node.books.values_mut().map(|b| b.acknowledge_delivered(kind, ticket)).sum();
            if count > 0 {
                node.queued_at.get_or_insert(now);
            }
            total += count;
        }
        total
    }

    /// Acknowledges a record by where it was acquired.
    pub(super) fn acknowledge(
        &mut self,
        record: &ShareRecord,
        ack: AckType,
        now: Instant,
    ) -> Result<(), ShareError> {
        self.check_open()?;
        let ticket = self.ticket;
        let offset = record.offset();
        let origin = &record.origin;
        self.check_renewable(origin.node, ack)?;
        let count = match self.book(origin) {
            Some(book) => book.acknowledge(offset, offset, ack.kind(), ticket),
            None => 0,
        };
        if count == 0 {
            return Err(not_held(&origin.topic, origin.id.partition, offset, offset));
        }
        self.queued(origin.node, ack, now);
        Ok(())
    }

    /// Acknowledges what is held of a range, wherever it was acquired.
    pub(super) fn acknowledge_range(
        &mut self,
        topic: &str,
        partition: i32,
        first: i64,
        last: i64,
        ack: AckType,
        now: Instant,
    ) -> Result<u64, ShareError> {
        self.check_open()?;
        let ticket = self.ticket;
        let ids: Vec<Uuid> =
            self.names.iter().filter(|(_, name)| &***name == topic).map(|(id, _)| *id).collect();
        let mut total = 0;
        let nodes: Vec<i32> = self.nodes.keys().copied().collect();
        for at in nodes {
            for id in &ids {
                let id = PartitionId { topic: *id, partition };
                let Some(node) = self.nodes.get(&at).filter(|n| n.books.contains_key(&id)) else {
                    continue;
                };
                debug_assert!(node.books.contains_key(&id));
                self.check_renewable(at, ack)?;
                let book = self.nodes.get_mut(&at).and_then(|node| node.books.get_mut(&id));
                let count = book.map_or(0, |b| b.acknowledge(first, last, ack.kind(), ticket));
                if count > 0 {
                    total += count;
                    self.queued(at, ack, now);
                }
            }
        }
        if total == 0 { Err(not_held(topic, partition, first, last)) } else { Ok(total) }
    }

    fn check_renewable(&self, node: i32, ack: AckType) -> Result<(), ShareError> {
        let old = self.nodes.get(&node).is_some_and(|node| node.version == 1);
        if ack == AckType::Renew && old {
            return Err(ShareError::Unsupported(format!(
                "broker {node} cannot renew locks (KIP-1222): that needs Apache Kafka 4.2; the \
                 record is still held, so accept, release or reject it"
            )));
        }
        Ok(())
    }

    fn queued(&mut self, node: i32, ack: AckType, now: Instant) {
        if let Some(node) = self.nodes.get_mut(&node) {
            let first = node.queued_at.is_none();
            node.queued_at.get_or_insert(now);
            // The node has to learn when to flush; a renewal cannot wait for a fetch.
            if first || ack == AckType::Renew {
                node.wake.notify_one();
            }
        }
    }

    /// Starts a commit of everything acknowledged so far.
    pub(super) fn commit(&mut self) -> oneshot::Receiver<CommitReport> {
        let (done, receiver) = oneshot::channel();
        let results = self.unclaimed.drain(..).collect();
        self.waiters.push(Waiter { ticket: self.ticket, results, done });
        self.ticket += 1;
        self.wake_nodes();
        receiver
    }

    /// Whether a commit waits for this node.
    pub(super) fn is_awaited(&self, node: &Node) -> bool {
        let Some(ticket) = self.waiters.iter().map(|waiter| waiter.ticket).max() else {
            return false;
        };
        node.books.values().any(|book| book.awaits(ticket))
    }

    fn finish_waiters(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        let awaits = |ticket| {
            self.nodes.values().flat_map(|node| node.books.values()).any(|b| b.awaits(ticket))
        };
        let (open, done): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiters).into_iter().partition(|w| awaits(w.ticket));
        self.waiters = open;
        for waiter in done {
            let report = CommitReport { results: waiter.results };
            if let Err(report) = waiter.done.send(report) {
                // The caller went away; a failure must not go with it.
                for failure in report.results.into_iter().filter(|r| r.result.is_err()) {
                    self.keep(failure);
                }
            }
        }
    }

    fn keep(&mut self, failure: AckResult) {
        if self.unclaimed.len() >= UNCLAIMED_MAX {
            self.unclaimed.pop_front();
        }
        self.unclaimed.push_back(failure);
    }

    /// Tells everyone concerned what became of acknowledgements.
    pub(super) fn settle(
        &mut self,
        id: PartitionId,
        entries: impl IntoIterator<Item = Entry>,
        outcome: &Result<(), AckError>,
    ) {
        let topic = self.name(id.topic);
        for entry in entries {
            let result = AckResult {
                topic: topic.clone(),
                partition: id.partition,
                first_offset: entry.first,
                last_offset: entry.last,
                ack: AckType::of(entry.kind),
                result: outcome.clone(),
            };
            if let Err(error) = outcome {
                log::warn!(
                    target: crate::LOG_TARGET,
                    "acknowledgement of {topic}-{} {} to {} failed: {error}",
                    id.partition, entry.first, entry.last
                );
            }
            match self.waiters.iter_mut().find(|waiter| waiter.ticket >= entry.ticket) {
                Some(waiter) => waiter.results.push(result.clone()),
                None if outcome.is_err() => self.keep(result.clone()),
                None => {}
            }
            self.unheard.push(result);
        }
    }

    /// Everything acknowledged or held at a node is lost with its connection.
    pub(super) fn lose_node(&mut self, node: i32, why: &str) {
        let Some(state) = self.nodes.get_mut(&node) else { return };
        state.generation = 0;
        state.queued_at = None;
        let books = std::mem::take(&mut state.books);
        self.drop_ready(|origin| origin.node == node);
        let outcome = Err(AckError::lost(format!("{why}; the records are handed out again")));
        for (id, mut book) in books {
            self.settle(id, book.abandon(), &outcome);
        }
    }

    /// The same for one partition, whose leader is another now or which is gone.
    pub(super) fn lose_partition(&mut self, node: i32, id: PartitionId, why: &AckError) {
        let Some(mut book) = self.nodes.get_mut(&node).and_then(|n| n.books.remove(&id)) else {
            return;
        };
        self.drop_ready(|origin| origin.node == node && origin.id == id);
        self.settle(id, book.abandon(), &Err(why.clone()));
    }

    fn drop_ready(&mut self, gone: impl Fn(&Origin) -> bool) {
        let ready = std::mem::take(&mut self.ready);
        for chunk in ready {
            if gone(&chunk.origin) {
                self.ready_records -= chunk.records.len();
                self.ready_bytes -= chunk.bytes;
            } else {
                self.ready.push_back(chunk);
            }
        }
    }

    /// Gives back what no poll has taken of partitions that are not to be delivered now.
    pub(super) fn release_ready(&mut self, wanted: impl Fn(&Origin) -> bool, now: Instant) {
        let gone: Vec<Arc<Origin>> = self
            .ready
            .iter()
            .filter(|chunk| wanted(&chunk.origin))
            .map(|chunk| chunk.origin.clone())
            .collect();
        let ticket = self.ticket;
        for origin in gone {
            let count = self.book(&origin).map_or(0, |book| book.release_buffered(ticket));
            if count > 0 {
                self.queued(origin.node, AckType::Release, now);
            }
        }
        self.drop_ready(wanted);
    }

    /// On the way out: what becomes of everything held.
    pub(super) fn release_all(&mut self, accept: bool, now: Instant) {
        self.release_ready(|_| true, now);
        if accept {
            self.acknowledge_delivered(Kind::Accept, now);
        }
        let ticket = self.ticket;
        for node in self.nodes.values_mut() {
            let count: u64 =
                node.books.values_mut().map(|b| b.acknowledge_all(Kind::Release, ticket)).sum();
            if count > 0 {
                node.queued_at.get_or_insert(now);
            }
        }
    }

    /// Forgets what expired while no poll came. Returns when to look again.
    pub(super) fn expire(&mut self, stats: &Stats, now: Instant) {
        let expired: Vec<Arc<Origin>> = self
            .ready
            .iter()
            .filter(|chunk| chunk.until <= now)
            .map(|chunk| chunk.origin.clone())
            .collect();
        if !expired.is_empty() {
            self.may_fetch = false;
            for origin in &expired {
                if let Some(book) = self.book(origin) {
                    stats.expired(book.expire_buffered(now));
                }
            }
            let ready = std::mem::take(&mut self.ready);
            for chunk in ready {
                if chunk.until <= now {
                    self.ready_records -= chunk.records.len();
                    self.ready_bytes -= chunk.bytes;
                } else {
                    self.ready.push_back(chunk);
                }
            }
        }
        if let Some(before) = now.checked_sub(STALE) {
            for book in self.nodes.values_mut().flat_map(|node| node.books.values_mut()) {
                stats.expired(book.forget_stale(before));
            }
        }
    }

    /// Queues automatic renewals. `at_most` after delivery, as far as the lock tells.
    pub(super) fn renew_ending(&mut self, node: i32, at_most: Duration, now: Instant) {
        let ticket = self.ticket;
        let Some(state) = self.nodes.get_mut(&node).filter(|node| node.version >= 2) else {
            return;
        };
        let (limit, since) = (now + state.lock / 3, now.checked_sub(at_most));
        let mut any = false;
        for book in state.books.values_mut().filter(|book| !book.renews()) {
            for (first, last) in book.ending(now, limit, since.unwrap_or(now)) {
                any |= book.acknowledge(first, last, Kind::Renew, ticket) > 0;
            }
        }
        if any {
            state.queued_at.get_or_insert(now);
        }
    }

    /// Takes over records that a node acquired.
    pub(super) fn push(&mut self, origin: &Arc<Origin>, records: Vec<ShareRecord>, bytes: usize) {
        let Some(until) = records.first().map(|record| record.until) else { return };
        self.ready_records += records.len();
        self.ready_bytes += bytes;
        let records = records.into_iter();
        self.ready.push_back(Chunk { origin: origin.clone(), records, bytes, until });
    }

    /// When the first record that waits for a poll expires.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.ready.iter().map(|chunk| chunk.until).min()
    }

    /// How many records the next fetch asks for.
    pub(super) fn fetch_size(&self, settings: &Settings) -> usize {
        if settings.record_limit {
            return settings.max_poll_records;
        }
        let ahead = (self.rate.per_second * AHEAD) as usize;
        settings.max_poll_records.max(ahead.min(FETCH_RECORDS_MAX))
    }

    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Sets what a node is asked for, and says whether its task has to be started.
    pub(super) fn route(&mut self, node: i32, wanted: BTreeSet<PartitionId>) -> bool {
        match self.nodes.get_mut(&node) {
            Some(known) => {
                if known.wanted != wanted {
                    known.wanted = wanted;
                    known.wake.notify_one();
                }
                false
            }
            None if wanted.is_empty() => false,
            None => {
                self.nodes.insert(node, Node::new(wanted));
                true
            }
        }
    }

    pub(super) fn held(&self) -> u64 {
        self.nodes.values().flat_map(|node| node.books.values()).map(Book::held).sum()
    }

    /// The record that the program has had for longest without settling it.
    pub(super) fn oldest_held(&self) -> Option<(PartitionId, i64, Instant)> {
        let books = self.nodes.values().flat_map(|node| &node.books);
        let held = books.filter_map(|(id, book)| book.oldest().map(|(at, since)| (*id, at, since)));
        held.min_by_key(|(_, _, since)| *since)
    }

    pub(super) fn unsettled(&self) -> u64 {
        self.nodes.values().flat_map(|node| node.books.values()).map(Book::unsettled).sum()
    }
}

fn not_held(topic: &str, partition: i32, first_offset: i64, last_offset: i64) -> ShareError {
    ShareError::NotHeld { topic: topic.into(), partition, first_offset, last_offset }
}
