//! The tokio task that keeps a member in its group, and the stream thread's side of it.
//!
//! The task owns the sending: one request in flight, sent when the member says so. The member
//! itself is behind a lock that is held for a few steps only, so that the thread's polls never
//! wait for the network. Whenever there is something for the thread, its waker is called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::answer::Reaction;
use super::endpoints::EndpointMap;
use super::member::{Leave, Member, Settings, State, Work, WorkId};
use super::offsets::TaskOffsets;
use super::status::{FatalError, Notice};
use crate::client::{
    Backoff, Client, CoordinatorKind, Error, ErrorCode, GroupMetadata, RetryVerdict, decide,
};
use crate::wire::messages::StreamsGroupHeartbeatRequest;

/// Called, on a thread of the runtime, when the stream thread should poll.
pub(crate) type Waker = Arc<dyn Fn() + Send + Sync>;

/// Membership of one stream thread. Dropping it ends the heartbeats without a leave.
pub(crate) struct Membership {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    client: Client,
    group: Arc<str>,
    state: Mutex<Inner>,
    beat: Notify,
    waker: Waker,
}

struct Inner {
    member: Member,
    closing: bool,
}

/// What a poll finds.
#[derive(Debug)]
pub(crate) struct Polled {
    /// To be carried out and reported by [`Membership::done`].
    pub(crate) work: Option<(WorkId, Work)>,
    /// Each is handed out once.
    pub(crate) notices: Vec<Notice>,
    /// Which instance serves what, if that has changed.
    pub(crate) endpoints: Option<Arc<EndpointMap>>,
    pub(crate) state: State,
}

impl Membership {
    /// Starts the heartbeats' task, on the tokio runtime of the caller. The group is joined by the
    /// first [`Membership::poll`].
    pub(crate) fn start(client: Client, settings: Settings, waker: Waker) -> Self {
        let group = settings.group.clone();
        let member = Member::new(settings, Instant::now());
        let state = Mutex::new(Inner { member, closing: false });
        let shared = Arc::new(Shared { client, group, state, beat: Notify::new(), waker });
        let task = tokio::spawn(heartbeats(shared.clone()));
        Self { shared, task }
    }

    /// The thread is alive and asks what there is to do.
    pub(crate) fn poll(&self) -> Polled {
        let mut inner = self.shared.lock();
        let before = inner.member.state();
        inner.member.poll(Instant::now());
        let polled = Polled {
            work: inner.member.work().cloned(),
            notices: inner.member.take_notices(),
            endpoints: inner.member.take_endpoints(),
            state: inner.member.state(),
        };
        drop(inner);
        if before != polled.state {
            self.shared.beat.notify_one();
        }
        polled
    }

    /// The thread has carried out a work of a poll.
    pub(crate) fn done(&self, id: WorkId) {
        self.shared.lock().member.done(id, Instant::now());
        self.shared.beat.notify_one();
    }

    /// For commits of offsets.
    pub(crate) fn group_metadata(&self) -> GroupMetadata {
        self.shared.lock().member.group_metadata()
    }

    /// What the broker may want to know of the tasks' progress.
    pub(crate) fn set_task_offsets(&self, offsets: TaskOffsets) {
        self.shared.lock().member.set_task_offsets(offsets);
    }

    /// Lets all members of the group stop their applications.
    pub(crate) fn shutdown_application(&self) {
        self.shared.lock().member.shutdown_application(Instant::now());
        self.shared.beat.notify_one();
    }

    /// The thread begins to close its tasks; heartbeats go on meanwhile.
    pub(crate) fn prepare_leave(&self) {
        self.shared.lock().member.prepare_leave();
    }

    /// Leaves the group after the thread has closed its tasks. At the deadline the rest is left to
    /// the end of the session.
    ///
    /// # Cancel safety
    /// Dropping the future ends the heartbeats; whether the group heard of the leave is unknown.
    pub(crate) async fn leave(mut self, how: Leave, deadline: Instant) {
        {
            let mut inner = self.shared.lock();
            inner.member.leave(how, Instant::now());
            inner.closing = true;
        }
        self.shared.beat.notify_one();
        if tokio::time::timeout_at(deadline, &mut self.task).await.is_err() {
            log::warn!(
                target: crate::LOG_TARGET,
                "streams group {}: no answer to the leave in time; the session's end will do it",
                self.shared.group
            );
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `step` on the member and wakes the thread if that left something for it.
    fn step<T>(&self, step: impl FnOnce(&mut Member) -> T) -> T {
        let mut inner = self.lock();
        let before = inner.member.work().map(|(id, _)| *id);
        let result = step(&mut inner.member);
        let news = inner.member.work().map(|(id, _)| *id) != before || inner.member.has_notices();
        drop(inner);
        if news {
            (self.waker)();
        }
        result
    }
}

/// Keeps the membership until it is left or ends by an error.
async fn heartbeats(shared: Arc<Shared>) {
    let mut backoff = Backoff::new(shared.client.config().retry_policy());
    loop {
        let now = Instant::now();
        let (due, wake_at) = shared.step(|member| {
            member.tick(now);
            (member.due(), member.wake_at(now))
        });
        let over = {
            let inner = shared.lock();
            inner.member.state() == State::Fatal || (inner.closing && due.is_none())
        };
        if over {
            return;
        }
        if due.is_some_and(|due| due <= now) {
            beat(&shared, &mut backoff).await;
            continue;
        }
        tokio::select! {
            () = shared.beat.notified() => {}
            () = tokio::time::sleep_until(wake_at) => {}
        }
    }
}

async fn beat(shared: &Shared, backoff: &mut Backoff) {
    let client = &shared.client;
    let pause = backoff.next_delay();
    let sent = send(shared, pause).await;
    let now = Instant::now();
    match sent {
        Ok(None) => {}
        Ok(Some(reaction)) => {
            if matches!(reaction, Reaction::Accepted | Reaction::Left) {
                backoff.reset();
            }
        }
        Err(error) if decide(&error) == RetryVerdict::Fail => {
            let fatal = match &error {
                Error::UnsupportedVersion { detail, .. } => {
                    FatalError::of_code(&shared.group, ErrorCode::UnsupportedVersion, detail)
                }
                other => FatalError::of_text(&shared.group, other.to_string()),
            };
            shared.step(|member| member.fail(fatal));
        }
        Err(error) => {
            log::debug!(
                target: crate::LOG_TARGET,
                "heartbeat of streams group {}: {error}", shared.group
            );
            client.metadata().request_refresh();
            shared.step(|member| member.on_failure(now, pause));
        }
    }
}

/// One request and its answer, with `pause` as backoff where it fails. `None` if there is nothing to send after all.
async fn send(shared: &Shared, pause: Duration) -> Result<Option<Reaction>, Error> {
    let (client, group) = (&shared.client, &*shared.group);
    let deadline = Instant::now() + client.config().request_timeout;
    let kind = CoordinatorKind::Group;
    let (node, connection) = client.coordinator(kind, group, deadline).await?;
    let version = connection.version_within::<StreamsGroupHeartbeatRequest>(0..=i16::MAX)?;
    // Made only now: what the member has to say may have changed while it connected.
    let outgoing = shared.step(|member| {
        let now = Instant::now();
        member.due().filter(|due| *due <= now).map(|_| member.request(version, now))
    });
    let Some(Ok(outgoing)) = outgoing else { return Ok(None) };
    let answer =
        async { connection.send_at(&outgoing.request, version, deadline).await?.answer().await };
    let response = match answer.await {
        Ok(response) => response,
        Err(error) => {
            client.distrust_coordinator(kind, group, node, &error);
            return Err(error);
        }
    };
    let reaction = shared
        .step(|member| member.on_response(&outgoing, response, version, Instant::now(), pause));
    if reaction == Reaction::Rediscover {
        let error = Error::broker(ErrorCode::NotCoordinator, "StreamsGroupHeartbeat");
        client.distrust_coordinator(kind, group, node, &error);
    }
    Ok(Some(reaction))
}
