//! Membership of the share group (ShareGroupHeartbeat): what to send when. No I/O, no clock.
//!
//! ```text
//! Joining (epoch 0) -> Member -> Leaving -> Gone
//!    ^                   |
//!    +---- fenced -------+          any -> Fatal
//! ```
//! There is nothing to revoke or confirm: an assignment holds from the moment it arrives, and the
//! same partition may be given to many members.
//!
//! The first answer often comes before the coordinator has computed an assignment, and the next
//! heartbeat is due only after the interval (5 s). The protocol sets no lower bound for the time
//! between heartbeats, so a few early ones follow a join or a changed subscription.

use std::time::Duration;

use tokio::time::Instant;

use crate::wire::ErrorCode;
use crate::wire::messages::share_group_heartbeat::Assignment;
use crate::wire::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

const JOIN: i32 = 0;
const LEAVE: i32 = -1;
/// Waits before the early heartbeats.
const EARLY: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// Bounds for the interval that the broker dictates, so that a wrong value neither floods it nor
/// loses the membership.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(30);
/// Fences in a row after which rejoining waits: the broker keeps a former member of this id
/// until its session ends.
const FENCES_AT_ONCE: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Joining,
    Member,
    Leaving,
    Gone,
    Fatal,
}

#[derive(Debug)]
pub(super) struct Membership {
    group: String,
    id: String,
    rack: Option<String>,
    topics: Vec<String>,
    phase: Phase,
    epoch: i32,
    /// The next request carries names and rack again.
    full: bool,
    interval: Duration,
    due: Instant,
    early: usize,
    fences: u32,
}

/// What an answer means to the others.
#[derive(Debug, PartialEq)]
pub(super) enum Reaction {
    /// A member; with a new assignment where there is one.
    Assigned(Option<Assignment>),
    /// The coordinator moved or is not ready: ask again after backoff.
    Retry {
        rediscover: bool,
    },
    /// The member must join again; sessions and acknowledgements live on.
    Rejoin,
    /// A topic is not permitted: the program must know, the membership goes on.
    TopicDenied(String),
    /// The end of this membership.
    Fatal(ErrorCode, String),
    Left,
}

impl Membership {
    pub(super) fn new(
        group: &str,
        id: String,
        rack: &str,
        topics: Vec<String>,
        now: Instant,
    ) -> Self {
        Self {
            group: group.to_owned(),
            id,
            // An empty rack is refused; none is null.
            rack: (!rack.is_empty()).then(|| rack.to_owned()),
            topics,
            phase: Phase::Joining,
            epoch: JOIN,
            full: true,
            interval: INTERVAL_MIN,
            due: now,
            early: 0,
            fences: 0,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// When the next heartbeat is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// The program wants other topics.
    pub(super) fn subscribe(&mut self, topics: Vec<String>, now: Instant) {
        self.topics = topics;
        self.full = true;
        self.early = 0;
        self.due = now;
    }

    pub(super) fn leave(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Member | Phase::Joining) {
            // A join that failed on the way may have succeeded at the broker.
            self.phase = Phase::Leaving;
            self.epoch = LEAVE;
            self.due = now;
        }
    }

    /// Joins again after having left for not polling.
    pub(super) fn rejoin(&mut self, now: Instant) {
        if self.phase == Phase::Gone {
            self.start_over(now);
        }
    }

    pub(super) fn request(&self) -> ShareGroupHeartbeatRequest {
        let full = self.full && self.phase != Phase::Leaving;
        ShareGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            rack_id: self.rack.clone().filter(|_| full),
            subscribed_topic_names: full.then(|| self.topics.clone()),
        }
    }

    /// No answer came. `pause` is the backoff.
    pub(super) fn on_failure(&mut self, now: Instant, pause: Duration) {
        self.full = true;
        self.due = now + pause;
    }

    /// Judges an answer to a request with these topics. `pause` is the backoff where it fails.
    pub(super) fn on_response(
        &mut self,
        answered: &ShareGroupHeartbeatRequest,
        response: ShareGroupHeartbeatResponse,
        now: Instant,
        pause: Duration,
    ) -> Reaction {
        let code = ErrorCode::from(response.error_code);
        let text = response.error_message.unwrap_or_default();
        if self.phase == Phase::Leaving {
            return self.on_leave_answer(code, text, now, pause);
        }
        match code {
            ErrorCode::None => {
                self.phase = Phase::Member;
                self.epoch = response.member_epoch;
                self.fences = 0;
                let interval = u64::try_from(response.heartbeat_interval_ms).unwrap_or(0);
                self.interval = Duration::from_millis(interval).clamp(INTERVAL_MIN, INTERVAL_MAX);
                // The subscription may have changed while the request was on its way.
                let current = answered.subscribed_topic_names.as_ref() == Some(&self.topics);
                self.full &= !current;
                let empty = response
                    .assignment
                    .as_ref()
                    .is_none_or(|assignment| assignment.topic_partitions.is_empty());
                if !empty {
                    self.early = EARLY.len();
                }
                let wait = match EARLY.get(self.early) {
                    Some(early) => (*early).min(self.interval),
                    None => self.interval,
                };
                self.early = (self.early + 1).min(EARLY.len());
                self.due = if self.full { now } else { now + wait };
                Reaction::Assigned(response.assignment)
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.on_failure(now, pause);
                Reaction::Retry { rediscover: true }
            }
            ErrorCode::CoordinatorLoadInProgress => {
                self.on_failure(now, pause);
                Reaction::Retry { rediscover: false }
            }
            ErrorCode::UnknownMemberId
            | ErrorCode::FencedMemberEpoch
            | ErrorCode::GroupIdNotFound => {
                self.fences += 1;
                let wait = if self.fences <= FENCES_AT_ONCE {
                    Duration::ZERO
                } else {
                    pause.max(self.interval)
                };
                self.start_over(now + wait);
                Reaction::Rejoin
            }
            ErrorCode::TopicAuthorizationFailed => {
                self.full = true;
                self.due = now + self.interval.max(pause);
                Reaction::TopicDenied(text)
            }
            other if other.is_retriable() => {
                self.on_failure(now, pause);
                Reaction::Retry { rediscover: false }
            }
            other => {
                self.phase = Phase::Fatal;
                Reaction::Fatal(other, text)
            }
        }
    }

    fn on_leave_answer(
        &mut self,
        code: ErrorCode,
        text: String,
        now: Instant,
        pause: Duration,
    ) -> Reaction {
        match code {
            // Not being a member is what was asked for.
            ErrorCode::None | ErrorCode::UnknownMemberId | ErrorCode::GroupIdNotFound => {
                self.phase = Phase::Gone;
                Reaction::Left
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.due = now + pause;
                Reaction::Retry { rediscover: true }
            }
            other if other.is_retriable() => {
                self.due = now + pause;
                Reaction::Retry { rediscover: false }
            }
            other => {
                self.phase = Phase::Fatal;
                Reaction::Fatal(other, text)
            }
        }
    }

    fn start_over(&mut self, due: Instant) {
        self.phase = Phase::Joining;
        self.epoch = JOIN;
        self.full = true;
        self.early = 0;
        self.due = due;
    }
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
