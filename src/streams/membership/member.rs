//! The member of a streams group as a state machine. No I/O, no clock.
//!
//! ```text
//! Unsubscribed -> Joining -> Reconciling <-> Acknowledging -> Stable
//!                    ^            ^------------------------------+
//!                    |
//!       Fenced, Stale (all tasks lost, then join again)
//!
//! in the group -> PrepareLeaving -> Leaving -> Unsubscribed        any -> Fatal
//! in the group -> Leaving -> Stale              (no poll within max.poll.interval.ms)
//! ```
//!
//! # Rules
//! 1. The target is what the group wants, the owned assignment what the stream thread has carried
//!    out. Requests report what the thread has or is about to have, never less.
//! 2. One [`Work`] at a time. A newer target waits until the present round is done.
//! 3. A work of an earlier life of this member (before a fence or a rejoin) changes nothing when it
//!    is reported done.
//! 4. Joining, Acknowledging and Leaving send at once; everything waits after a failure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::assignment::{Assignment, TaskSet, to_wire};
use super::endpoints::{Endpoint, EndpointMap};
use super::offsets::{Reports, TaskOffsets};
use super::status::{FatalError, GroupStatus, Notice};
use crate::client::GroupMetadata;
use crate::wire::messages::StreamsGroupHeartbeatRequest;
use crate::wire::messages::streams_group_heartbeat::{KeyValue, RequestEndpoint, Topology};

const JOIN: i32 = 0;
const LEAVE: i32 = -1;
/// A static member that will be back.
const LEAVE_FOR_A_WHILE: i32 = -2;
/// No endpoint information is known.
const NO_ENDPOINTS: i32 = -1;
/// First version that serves static members, task offsets and warm-up tasks.
const FULL_VERSION: i16 = 1;

/// What a member is, for good.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The `application.id`.
    pub(crate) group: Arc<str>,
    /// Made by the client; kept over rejoins.
    pub(crate) member_id: String,
    /// Of a static member.
    pub(crate) instance_id: Option<String>,
    pub(crate) rack: Option<String>,
    /// Shared by all threads of one instance.
    pub(crate) process_id: String,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) client_tags: Vec<(String, String)>,
    /// How long the thread may be away; also how long the group waits for a revocation.
    pub(crate) max_poll_interval: Duration,
    pub(crate) topology: Topology,
}

/// Where the member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Not in the group and not trying.
    Unsubscribed,
    Joining,
    /// The stream thread carries out a new assignment.
    Reconciling,
    /// It has; the group is about to hear of it.
    Acknowledging,
    Stable,
    /// The group has thrown the member out; its tasks are lost.
    Fenced,
    /// The thread closes its tasks, the member is still in the group.
    PrepareLeaving,
    Leaving,
    /// Left because the thread did not poll.
    Stale,
    /// Over.
    Fatal,
}

impl State {
    /// Whether heartbeats keep the member in its group.
    pub(crate) fn is_in_group(self) -> bool {
        matches!(self, Self::Joining | Self::Reconciling | Self::Acknowledging | Self::Stable)
    }
}

/// How to leave the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Leave {
    /// A dynamic member for good, a static one for a while.
    #[default]
    Default,
    /// For good.
    ForGood,
    /// Without a word, until the session ends; a static one for a while.
    Silently,
}

/// What the stream thread has to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    /// Stop fetching for these active tasks, commit them, suspend them.
    Revoke(TaskSet),
    /// Have exactly these tasks.
    Assign(Assignment),
    /// The tasks belong to others by now: close all without committing.
    Lost,
}

/// Tells works apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WorkId(u64);

/// A request, and the life of the member that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) request: StreamsGroupHeartbeatRequest,
    pub(super) life: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Member {
    pub(super) settings: Settings,
    /// Numbers of the topology's subtopologies.
    pub(super) subtopologies: BTreeSet<i32>,
    pub(super) state: State,
    pub(super) epoch: i32,
    /// Changes with each fence, join and departure.
    pub(super) life: u64,
    pub(super) target: Assignment,
    pub(super) target_version: u64,
    owned: Assignment,
    pub(super) owned_version: u64,
    /// Version of the owned assignment that was sent last.
    sent_version: Option<u64>,
    work: Option<(WorkId, Work)>,
    next_work: u64,
    /// The target of the present round, and its version.
    round: Option<(Assignment, u64)>,
    pub(super) endpoint_epoch: i32,
    /// Not handed out yet.
    pub(super) endpoints: Option<Arc<EndpointMap>>,
    pub(super) status: GroupStatus,
    pub(super) reports: Reports,
    pub(super) notices: Vec<Notice>,
    shutdown_application: bool,
    /// Departure for not polling, not for closing.
    pub(super) going_stale: bool,
    leave_epoch: i32,
    pub(super) interval: Duration,
    pub(super) due: Instant,
    /// Backoff after a failure; stronger than `due`.
    pub(super) not_before: Instant,
    last_poll: Instant,
    pub(super) early: usize,
    pub(super) waiting: bool,
    pub(super) fences: u32,
}

impl Member {
    /// A member that is not in the group yet.
    pub(crate) fn new(settings: Settings, now: Instant) -> Self {
        let ids = settings.topology.subtopologies.iter();
        let subtopologies = ids.filter_map(|s| s.subtopology_id.parse().ok()).collect();
        Self {
            settings,
            subtopologies,
            state: State::Unsubscribed,
            epoch: JOIN,
            life: 0,
            target: Assignment::default(),
            target_version: 0,
            owned: Assignment::default(),
            owned_version: 0,
            sent_version: None,
            work: None,
            next_work: 1,
            round: None,
            endpoint_epoch: NO_ENDPOINTS,
            endpoints: None,
            status: GroupStatus::default(),
            reports: Reports::new(),
            notices: Vec::new(),
            shutdown_application: false,
            going_stale: false,
            leave_epoch: LEAVE,
            interval: super::answer::INTERVAL_FIRST,
            due: now,
            not_before: now,
            last_poll: now,
            early: 0,
            waiting: false,
            fences: 0,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// What the thread has, as it reported.
    #[cfg(test)]
    pub(crate) fn owned(&self) -> &Assignment {
        &self.owned
    }

    /// Which instance serves what, if that has changed since the last call.
    pub(crate) fn take_endpoints(&mut self) -> Option<Arc<EndpointMap>> {
        self.endpoints.take()
    }

    /// For commits of offsets.
    pub(crate) fn group_metadata(&self) -> GroupMetadata {
        GroupMetadata {
            group_id: self.settings.group.to_string(),
            member_epoch: self.epoch,
            member_id: self.settings.member_id.clone(),
            group_instance_id: self.settings.instance_id.clone(),
        }
    }

    /// The thread polls: it is alive, and joins if it is not in the group.
    pub(crate) fn poll(&mut self, now: Instant) {
        self.last_poll = now;
        if self.state == State::Unsubscribed {
            self.join(now);
        }
    }

    /// What the thread has to do; the same one until it is reported done or overtaken.
    pub(crate) fn work(&self) -> Option<&(WorkId, Work)> {
        self.work.as_ref()
    }

    /// What the thread has to hear of; each once.
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub(crate) fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// The thread has done a work.
    pub(crate) fn done(&mut self, id: WorkId, now: Instant) {
        let Some((_, work)) = self.work.take_if(|(present, _)| *present == id) else { return };
        match work {
            Work::Lost => {
                self.owned = Assignment::default();
                if matches!(self.state, State::Fenced | State::Stale) {
                    self.join(now);
                }
            }
            Work::Revoke(_) => {
                if let Some((target, _)) = &self.round {
                    let assign = Work::Assign(target.clone());
                    self.demand(assign);
                }
            }
            Work::Assign(_) => {
                if let Some((assignment, version)) = self.round.take() {
                    self.owned = assignment;
                    self.owned_version = version;
                    if self.state == State::Reconciling {
                        self.state = State::Acknowledging;
                        self.due = now;
                    }
                }
            }
        }
    }

    /// Lets all members of the group stop their applications.
    pub(crate) fn shutdown_application(&mut self, now: Instant) {
        self.shutdown_application = true;
        self.due = self.due.min(now);
    }

    pub(crate) fn set_task_offsets(&mut self, offsets: TaskOffsets) {
        self.reports.update(offsets);
    }

    /// The thread starts to close its tasks; heartbeats go on, so that it can still commit.
    pub(crate) fn prepare_leave(&mut self) {
        if self.in_group() {
            self.state = State::PrepareLeaving;
            self.work = None;
            self.round = None;
        }
    }

    /// The thread has closed its tasks.
    pub(crate) fn leave(&mut self, how: Leave, now: Instant) {
        if !self.in_group() && self.state != State::PrepareLeaving {
            // Fenced and stale members are out already. One that is leaving for not polling is
            // not: its leave is still to be sent, and is the one asked for now.
            if matches!(self.state, State::Fenced | State::Stale) {
                self.state = State::Unsubscribed;
            }
            self.going_stale = false;
            return;
        }
        let fixed = self.settings.instance_id.is_some();
        let epoch = match how {
            Leave::ForGood => Some(LEAVE),
            Leave::Default if !fixed => Some(LEAVE),
            Leave::Silently if !fixed => None,
            Leave::Default | Leave::Silently => Some(LEAVE_FOR_A_WHILE),
        };
        self.owned = Assignment::default();
        match epoch {
            Some(epoch) => self.depart(epoch, false, now),
            None => {
                self.life += 1;
                self.state = State::Unsubscribed;
            }
        }
    }

    /// Looks at the time: a thread that does not poll has to give its tasks up.
    pub(crate) fn tick(&mut self, now: Instant) {
        if !self.in_group() {
            return;
        }
        if now >= self.last_poll + self.settings.max_poll_interval {
            log::warn!(
                target: crate::LOG_TARGET,
                "streams group {}: the stream thread did not poll within max.poll.interval.ms \
                 ({:?}); leaving until it does",
                self.settings.group, self.settings.max_poll_interval
            );
            let fixed = self.settings.instance_id.is_some();
            self.depart(if fixed { LEAVE_FOR_A_WHILE } else { LEAVE }, true, now);
            self.lose_all();
            return;
        }
        if let Some(notice) = self.status.missing_too_long(self.interval, now) {
            self.notice(notice);
        }
    }

    /// When the next request is to be sent; `None` while there is nothing to say.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Unsubscribed | State::Fenced | State::Stale | State::Fatal => None,
            _ => Some(self.due.max(self.not_before)),
        }
    }

    /// When [`Member::tick`] has to look again, at the latest.
    pub(crate) fn wake_at(&self, now: Instant) -> Instant {
        let poll_limit = if self.in_group() {
            self.last_poll + self.settings.max_poll_interval
        } else {
            now + self.settings.max_poll_interval
        };
        let missing = now + self.interval;
        self.due().map_or(missing, |due| due.min(missing)).min(poll_limit)
    }

    /// The request to send now. Static members need a broker that serves them.
    ///
    /// # Errors
    /// If the broker's version cannot express what this member is; the membership is over then.
    pub(crate) fn request(&mut self, version: i16, now: Instant) -> Result<Outgoing, FatalError> {
        let life = self.life;
        let group = &self.settings.group;
        if self.settings.instance_id.is_some() && version < FULL_VERSION {
            let error = FatalError::of_text(
                group,
                "the broker does not serve static members of streams groups: unset \
                 group.instance.id, or use Kafka 4.4",
            );
            self.fail(error.clone());
            return Err(error);
        }
        let mut request = StreamsGroupHeartbeatRequest {
            group_id: group.to_string(),
            member_id: self.settings.member_id.clone(),
            member_epoch: self.epoch,
            endpoint_information_epoch: self.endpoint_epoch,
            instance_id: self.settings.instance_id.clone(),
            shutdown_application: self.shutdown_application,
            ..Default::default()
        };
        self.due = now + self.interval;
        match self.state {
            State::Leaving => {
                request.member_epoch = self.leave_epoch;
                if self.going_stale {
                    // Whatever is answered, the member is out.
                    self.state = State::Stale;
                    self.going_stale = false;
                    self.rejoin_if_lost(now);
                }
            }
            State::Joining => {
                self.describe(&mut request);
                self.sent_version = None;
                self.add_offsets(&mut request, version, true, now);
            }
            _ => {
                let changed = self.sent_version != Some(self.owned_version);
                if changed {
                    self.sent_version = Some(self.owned_version);
                    self.add_tasks(&mut request, version);
                }
                self.add_offsets(&mut request, version, changed, now);
                if self.state == State::Acknowledging {
                    // A target that moved on meanwhile waits for the answer: what this request
                    // no longer lists is free for others from the moment it arrives.
                    self.state = State::Stable;
                }
            }
        }
        Ok(Outgoing { request, life })
    }

    fn describe(&self, request: &mut StreamsGroupHeartbeatRequest) {
        let settings = &self.settings;
        let timeout = settings.max_poll_interval.as_millis();
        request.rebalance_timeout_ms = i32::try_from(timeout).unwrap_or(i32::MAX);
        request.topology = Some(settings.topology.clone());
        request.process_id = Some(settings.process_id.clone());
        request.rack_id = settings.rack.clone();
        request.user_endpoint = settings
            .endpoint
            .as_ref()
            .map(|endpoint| RequestEndpoint { host: endpoint.host.clone(), port: endpoint.port });
        let tags = settings.client_tags.iter();
        let tags = tags.map(|(key, value)| KeyValue { key: key.clone(), value: value.clone() });
        request.client_tags = Some(tags.collect());
        request.active_tasks = Some(Vec::new());
        request.standby_tasks = Some(Vec::new());
        request.warmup_tasks = Some(Vec::new());
    }

    /// What the thread has. During a round it may have the round's target at any moment: leaving
    /// that out (in a repetition after a lost answer) would tell the group that these tasks are
    /// free.
    fn add_tasks(&self, request: &mut StreamsGroupHeartbeatRequest, version: i16) {
        let round = self.round.as_ref().map(|(target, _)| target);
        let role = |of: fn(&Assignment) -> &TaskSet| -> TaskSet {
            of(&self.owned).iter().chain(round.into_iter().flat_map(of)).copied().collect()
        };
        let active = role(|assignment| &assignment.active);
        let without = |mut tasks: TaskSet, others: &[&TaskSet]| {
            tasks.retain(|task| others.iter().all(|other| !other.contains(task)));
            tasks
        };
        let standby = without(role(|assignment| &assignment.standby), &[&active]);
        let warmup = without(role(|assignment| &assignment.warmup), &[&active, &standby]);
        request.active_tasks = Some(to_wire(&active));
        request.standby_tasks = Some(to_wire(&standby));
        let sent = version >= FULL_VERSION;
        request.warmup_tasks = Some(if sent { to_wire(&warmup) } else { Vec::new() });
    }

    fn add_offsets(
        &mut self,
        request: &mut StreamsGroupHeartbeatRequest,
        version: i16,
        with_tasks: bool,
        now: Instant,
    ) {
        if version >= FULL_VERSION {
            let lists = self.reports.take(with_tasks, &self.owned.warmup, now);
            (request.task_offsets, request.task_end_offsets) = lists;
        }
    }

    /// No answer came; `pause` is the backoff.
    pub(crate) fn on_failure(&mut self, now: Instant, pause: Duration) {
        self.forget_sent();
        self.not_before = now + pause;
        self.due = self.not_before;
    }

    /// The membership cannot go on.
    pub(crate) fn fail(&mut self, error: FatalError) {
        self.state = State::Fatal;
        self.lose_all();
        self.notice(Notice::Fatal(error));
    }

    pub(super) fn in_group(&self) -> bool {
        self.state.is_in_group()
    }

    /// The broker may not have got what was sent last.
    pub(super) fn forget_sent(&mut self) {
        self.sent_version = None;
        self.reports.forget();
    }

    /// Starts a round if the target is not what the thread has.
    pub(super) fn reconcile(&mut self) {
        if self.target_version == self.owned_version {
            if self.state == State::Joining {
                self.state = State::Stable;
            }
            return;
        }
        if matches!(self.state, State::Joining | State::Stable) {
            self.state = State::Reconciling;
            let target = self.target.clone();
            let revoked: TaskSet = self.owned.active.difference(&target.active).copied().collect();
            let work = if revoked.is_empty() {
                Work::Assign(target.clone())
            } else {
                Work::Revoke(revoked)
            };
            self.round = Some((target, self.target_version));
            self.demand(work);
        }
    }

    /// All tasks are lost, whatever the thread is at.
    pub(super) fn lose_all(&mut self) {
        self.life += 1;
        self.round = None;
        self.epoch = JOIN;
        self.demand(Work::Lost);
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    fn demand(&mut self, work: Work) {
        self.work = Some((WorkId(self.next_work), work));
        self.next_work += 1;
    }

    fn join(&mut self, now: Instant) {
        self.life += 1;
        self.state = State::Joining;
        self.epoch = JOIN;
        self.endpoint_epoch = NO_ENDPOINTS;
        self.target = Assignment::default();
        self.owned = Assignment::default();
        self.target_version += 1;
        self.owned_version = self.target_version;
        self.work = None;
        self.round = None;
        self.status = GroupStatus::default();
        self.forget_sent();
        self.early = 0;
        self.waiting = false;
        self.due = now;
    }

    /// The thread may have given everything up before the leave was sent.
    fn rejoin_if_lost(&mut self, now: Instant) {
        if self.work.is_none() {
            self.join(now);
        }
    }

    fn depart(&mut self, epoch: i32, stale: bool, now: Instant) {
        self.life += 1;
        self.state = State::Leaving;
        self.leave_epoch = epoch;
        self.going_stale = stale;
        self.due = now;
    }
}

#[cfg(test)]
#[path = "member_tests.rs"]
mod tests;
