//! The consumer as programs hold it.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::AckType;
use super::config::{Settings, ShareConsumerBuilder, check_topics};
use super::error::{CommitReport, ShareError};
use super::record::{ShareRecord, ShareRecords};
use super::state::{Life, Shared};
use super::stats::Source;
use super::tasks;
use crate::client::Client;
use crate::metrics::{Metrics, Registration};
use crate::snapshot::{Blocked, Health, Ready, State as Stage};
use crate::wire::Uuid;

/// A member of a share group. Clones are handles of the same member.
///
/// Dropping the last handle without [`close`](ShareConsumer::close) ends its tasks and
/// connections: brokers hand its records out again at once, the group counts it as a member for
/// up to its session timeout (45 s).
#[derive(Clone)]
pub struct ShareConsumer {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    tasks: Mutex<Option<Tasks>>,
    pub(super) stop: tokio::sync::watch::Sender<bool>,
    _registration: Option<Registration>,
}

struct Tasks {
    router: JoinHandle<()>,
    heartbeats: JoinHandle<()>,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.router.abort();
        self.heartbeats.abort();
    }
}

/// A poll that waits; tells the planner of record-limit mode, and stops doing so when dropped.
struct Polling<'a>(&'a Shared);

impl<'a> Polling<'a> {
    fn start(shared: &'a Shared) -> Self {
        let mut state = shared.lock();
        state.polling += 1;
        if state.stale {
            shared.beat.notify_one();
        }
        drop(state);
        Self(shared)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.polling = state.polling.saturating_sub(1);
        state.last_poll = Instant::now();
    }
}

impl ShareConsumer {
    /// A builder for a member of `group` that reads `topics`.
    pub fn builder<T: Into<String>>(
        group: impl Into<String>,
        topics: impl IntoIterator<Item = T>,
    ) -> ShareConsumerBuilder {
        let topics: BTreeSet<String> = topics.into_iter().map(Into::into).collect();
        ShareConsumerBuilder::new(group.into(), topics.into_iter().collect())
    }

    pub(super) async fn start(
        client: Client,
        settings: Settings,
        topics: Vec<String>,
        metrics: Option<Metrics>,
    ) -> Result<Self, ShareError> {
        tasks::check_offered(&client).await?;
        Self::begin(client, settings, topics, metrics)
    }

    pub(super) fn begin(
        client: Client,
        settings: Settings,
        topics: Vec<String>,
        metrics: Option<Metrics>,
    ) -> Result<Self, ShareError> {
        // 22 characters of URL-safe base64: Kafka 4.1 takes no other form of a member's id.
        let mut id = [0; 16];
        id.iter_mut().for_each(|byte| *byte = fastrand::u8(..));
        let member = Uuid(id).to_string();
        let shared = Arc::new(Shared::new(client, settings, member, topics, Instant::now()));
        let registration = metrics
            .map(|metrics| {
                let name = format!("share {} {}", shared.settings.group, shared.member);
                metrics.register(&name, Arc::new(Source(Arc::downgrade(&shared))))
            })
            .transpose()
            .map_err(|error| ShareError::Config(error.to_string()))?;
        let tasks = Tasks {
            router: tokio::spawn(tasks::router(shared.clone())),
            heartbeats: tokio::spawn(tasks::heartbeats(shared.clone())),
        };
        let inner = Inner {
            shared,
            tasks: Mutex::new(Some(tasks)),
            stop: tokio::sync::watch::channel(false).0,
            _registration: registration,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The member's id, as the group's description shows it.
    pub fn member_id(&self) -> &str {
        &self.inner.shared.member
    }

    /// Waits up to `timeout` for records, at most `max.poll.records` of them (in batch-optimised
    /// mode too: what a broker gave beyond that is kept for the next poll). Empty when the time
    /// is over.
    ///
    /// In implicit mode the records of the last poll are accepted by this one. Records are
    /// fetched only after a first poll, and not while nobody polls for longer than their locks.
    ///
    /// # Errors
    /// A fatal one at each call, see [`ShareError::is_fatal`]; others once, and the next poll goes
    /// on. [`ShareError::Unacknowledged`] in strict mode.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: records stay in the buffer for the next poll, and
    /// requests go on in tasks of their own.
    pub async fn poll(&self, timeout: Duration) -> Result<ShareRecords, ShareError> {
        let shared = &*self.inner.shared;
        let deadline = Instant::now().checked_add(timeout);
        let mut changed = shared.changed.subscribe();
        let mut first = true;
        let _polling = Polling::start(shared);
        loop {
            changed.borrow_and_update();
            if let Some(records) = shared.take(first, Instant::now())? {
                return Ok(records);
            }
            first = false;
            let news = changed.changed();
            match deadline {
                Some(deadline) => {
                    if tokio::time::timeout_at(deadline, news).await.is_err() {
                        return Ok(ShareRecords::default());
                    }
                }
                None => drop(news.await),
            }
        }
    }

    /// Says what is to become of a record that a poll returned. Sent with the next fetch, a
    /// commit, or after the flush interval. Until it was sent, a later word replaces it; but a
    /// renewal never replaces a final one.
    ///
    /// # Errors
    /// [`ShareError::NotHeld`] if it was acknowledged before or its lock is lost;
    /// [`ShareError::Unsupported`] for [`AckType::Renew`] at Kafka 4.1; fatal errors.
    pub fn acknowledge(&self, record: &ShareRecord, ack: AckType) -> Result<(), ShareError> {
        self.inner.shared.with(|state| state.acknowledge(record, ack, Instant::now()))
    }

    /// The same by topic, partition and offset.
    ///
    /// # Errors
    /// As [`acknowledge`](ShareConsumer::acknowledge).
    pub fn acknowledge_offset(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
        ack: AckType,
    ) -> Result<(), ShareError> {
        self.acknowledge_range(topic, partition, offset, offset, ack).map(drop)
    }

    /// The same for all records of polls with offsets from `first` to `last`, both included. Other
    /// offsets in the range are skipped. Returns how many records that were.
    ///
    /// # Errors
    /// As [`acknowledge`](ShareConsumer::acknowledge); [`ShareError::NotHeld`] if none is held.
    pub fn acknowledge_range(
        &self,
        topic: &str,
        partition: i32,
        first: i64,
        last: i64,
        ack: AckType,
    ) -> Result<u64, ShareError> {
        self.inner.shared.with(|state| {
            state.acknowledge_range(topic, partition, first, last, ack, Instant::now())
        })
    }

    /// Sends everything acknowledged so far and waits for the outcome, at most `timeout`. In
    /// implicit mode it accepts the records of the last poll first.
    ///
    /// # Errors
    /// [`ShareError::Timeout`]; the acknowledgements stay on their way, and failures among them
    /// are in the next report. Fatal errors. What single ranges failed of is in the report.
    ///
    /// # Cancel safety
    /// Dropping the future gives up waiting only.
    pub async fn commit(&self, timeout: Duration) -> Result<CommitReport, ShareError> {
        let commit = self.commit_async()?;
        match tokio::time::timeout(timeout, commit).await {
            Ok(result) => result,
            Err(_) => Err(ShareError::Timeout { what: "commit", after: timeout }),
        }
    }

    /// Starts a [`commit`](ShareConsumer::commit) and returns at once. The outcome may be awaited
    /// or not.
    ///
    /// # Errors
    /// Fatal errors.
    pub fn commit_async(&self) -> Result<Commit, ShareError> {
        self.inner.shared.with(|state| {
            state.check_open()?;
            if !state.explicit {
                state.acknowledge_delivered(super::book::Kind::Accept, Instant::now());
            }
            Ok(Commit(state.commit()))
        })
    }

    /// Reads other topics from now on. Records held of former ones can still be acknowledged.
    ///
    /// # Errors
    /// [`ShareError::Config`] for no or impossible names; fatal errors.
    pub fn subscribe<T: Into<String>>(
        &self,
        topics: impl IntoIterator<Item = T>,
    ) -> Result<(), ShareError> {
        let topics: BTreeSet<String> = topics.into_iter().map(Into::into).collect();
        let topics: Vec<String> = topics.into_iter().collect();
        check_topics(&topics)?;
        let mut state = self.inner.shared.lock();
        state.check_open()?;
        state.topics = topics;
        state.subscription += 1;
        drop(state);
        self.inner.shared.beat.notify_one();
        Ok(())
    }

    /// Topics read.
    pub fn subscription(&self) -> Vec<String> {
        self.inner.shared.lock().topics.clone()
    }

    /// Topics and partitions assigned now, as far as their names are known, sorted.
    pub fn assignment(&self) -> Vec<(String, i32)> {
        let state = self.inner.shared.lock();
        let mut assigned: Vec<_> = state
            .assignment
            .iter()
            .flatten()
            .filter_map(|(id, partitions)| Some((state.names.get(id)?, partitions)))
            .flat_map(|(name, partitions)| partitions.iter().map(|p| (name.to_string(), *p)))
            .collect();
        assigned.sort();
        assigned
    }

    /// Makes the poll that waits, or else the next one, return [`ShareError::Wakeup`].
    pub fn wakeup(&self) {
        self.inner.shared.lock().wake_up();
        self.inner.shared.notify_polls();
    }

    /// Takes no more records of a partition until [`resume`](ShareConsumer::resume). Records that
    /// no poll has returned yet are released, which counts as a delivery.
    pub fn pause(&self, topic: &str, partition: i32) {
        let shared = &self.inner.shared;
        shared.with(|state| {
            state.paused.insert((topic.into(), partition));
            let of = |origin: &super::record::Origin| {
                &*origin.topic == topic && origin.id.partition == partition
            };
            state.release_ready(of, Instant::now());
            state.wake_nodes();
        });
    }

    /// Ends a [`pause`](ShareConsumer::pause).
    pub fn resume(&self, topic: &str, partition: i32) {
        let mut state = self.inner.shared.lock();
        state.paused.remove(&(topic.into(), partition));
        state.wake_nodes();
    }

    /// When the lock of a record may end, renewals included; `None` if it is not held any more.
    pub fn lock_deadline(&self, record: &ShareRecord) -> Option<std::time::Instant> {
        let mut state = self.inner.shared.lock();
        let until = state.book(&record.origin)?.lock_until(record.offset())?;
        Some(until.into_std())
    }

    /// Where the consumer is in its life, for a liveness probe. Progress is an acknowledgement that
    /// a broker took, other than a renewal; the oldest record is the one that polls returned and
    /// that was not acknowledged for longest, its age counted from its fetch. Keys are not kept.
    pub fn health(&self) -> Health {
        let now = Instant::now();
        let state = self.inner.shared.lock();
        let mut health = Health::new(stage(&state));
        health.cause = state.fatal.as_ref().map(ToString::to_string);
        health.last_progress = self.inner.shared.stats.last_progress();
        health.oldest_blocked = state.oldest_held().map(|(id, offset, since)| {
            let age = now.saturating_duration_since(since);
            let mut blocked = Blocked::new(id.partition, offset, None, age);
            blocked.topic = Some(state.name(id.topic).to_string());
            blocked
        });
        health
    }

    /// Whether it is a member with a known assignment, for a readiness probe.
    pub fn ready(&self) -> Ready {
        let state = self.inner.shared.lock();
        let assigned = state.assignment.iter().flat_map(|a| a.values()).map(BTreeSet::len).sum();
        let cause = match &state.fatal {
            Some(error) => Some(error.to_string()),
            None if state.stale => Some("no poll within max.poll.interval.ms".to_owned()),
            None => None,
        };
        Ready::new(stage(&state), assigned, cause)
    }

    /// Ends the membership within `deadline`: queued acknowledgements are sent, everything else
    /// that is held is released (or accepted, see
    /// [`accept_on_close`](ShareConsumerBuilder::accept_on_close)), sessions end, the member
    /// leaves. Harmless when repeated.
    ///
    /// # Errors
    /// [`ShareError::Timeout`] if something could not be ended in time: it was cut off then, and
    /// the brokers release what is left. The consumer is closed either way.
    ///
    /// # Cancel safety
    /// Dropping the future ends the tasks at once, as dropping the consumer does.
    pub async fn close(&self, deadline: Duration) -> Result<CommitReport, ShareError> {
        let shared = &self.inner.shared;
        let tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut tasks) = tasks else { return Ok(CommitReport::default()) };
        let limit = Instant::now() + deadline;
        let commit = shared.with(|state| {
            state.life = Life::Closing;
            let accept = !state.explicit && shared.settings.accept_on_close;
            state.release_all(accept, Instant::now());
            state.commit()
        });
        shared.route.notify_one();
        shared.notify_polls();
        let work = async {
            let _ = (&mut tasks.router).await;
            shared.lock().life = Life::Leaving;
            shared.beat.notify_one();
            let was_fatal = shared.lock().fatal.is_some();
            if !was_fatal {
                let _ = (&mut tasks.heartbeats).await;
            }
        };
        let in_time = tokio::time::timeout_at(limit, work).await.is_ok();
        drop(tasks);
        shared.with(|state| {
            state.life = Life::Closed;
            let left: Vec<i32> = state.nodes.keys().copied().collect();
            for node in left {
                state.lose_node(node, "the consumer was closed before an answer came");
            }
            state.nodes.clear();
        });
        shared.client.release(shared.purpose).await;
        shared.client.close().await;
        shared.notify_polls();
        let report = commit.await.unwrap_or_default();
        if in_time {
            Ok(report)
        } else {
            Err(ShareError::Timeout { what: "close", after: deadline })
        }
    }
}

fn stage(state: &super::state::State) -> Stage {
    match state.life {
        _ if state.fatal.is_some() => Stage::Failed,
        Life::Closing | Life::Leaving => Stage::Draining,
        Life::Closed => Stage::Stopped,
        Life::Running if state.joined && state.assignment.is_some() => Stage::Running,
        Life::Running => Stage::Joining,
    }
}

impl std::fmt::Debug for ShareConsumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShareConsumer")
            .field("group", &self.inner.shared.settings.group)
            .field("member", &self.inner.shared.member)
            .finish_non_exhaustive()
    }
}

/// A commit on its way; a future of its report. Dropping it gives up waiting only.
#[derive(Debug)]
#[must_use = "without awaiting it, failures are told by the next commit and the callback"]
pub struct Commit(oneshot::Receiver<CommitReport>);

impl Future for Commit {
    type Output = Result<CommitReport, ShareError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // The sender is dropped with the consumer alone.
        Pin::new(&mut self.0).poll(cx).map(|result| result.map_err(|_| ShareError::Closed))
    }
}
