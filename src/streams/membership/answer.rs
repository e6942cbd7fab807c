//! What the answer to a heartbeat means to the member.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::assignment::{Assignment, Target};
use super::endpoints;
use super::member::{Member, Outgoing, State};
use super::status::{FatalError, Notice};
use crate::wire::ErrorCode;
use crate::wire::messages::StreamsGroupHeartbeatResponse;

/// Before the broker says its own.
pub(super) const INTERVAL_FIRST: Duration = Duration::from_secs(5);
/// Bounds for the interval that the broker dictates, so that a wrong value neither floods it nor
/// loses the membership.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(30);
/// Fences in a row after which rejoining waits.
const FENCES_AT_ONCE: u32 = 3;
/// Waits between heartbeats while the group is about to assign tasks: its own interval (5 s) would
/// be most of the time between start and first record. Bounded in number, so that a member for
/// which there are no tasks is quiet soon. Covers the interval in which another member gives up
/// what this one waits for.
const EARLY: [Duration; 16] = {
    let mut waits = [Duration::from_millis(500); 16];
    waits[0] = Duration::from_millis(50);
    waits[1] = Duration::from_millis(100);
    waits[2] = Duration::from_millis(200);
    waits[3] = Duration::from_millis(400);
    waits
};

/// What the driver has to do besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// The group took it: the backoff starts anew.
    Accepted,
    /// Refused, lost or of no concern any more.
    Other,
    /// The coordinator is to be looked up again.
    Rediscover,
    /// The departure is complete.
    Left,
}

impl Member {
    /// Judges an answer. `pause` is the backoff where it tells of a failure.
    pub(crate) fn on_response(
        &mut self,
        answered: &Outgoing,
        response: StreamsGroupHeartbeatResponse,
        version: i16,
        now: Instant,
        pause: Duration,
    ) -> Reaction {
        let out = [State::Unsubscribed, State::Fenced, State::Stale, State::Fatal];
        if answered.life != self.life || out.contains(&self.state) {
            // Of an earlier life; the answer to a leave for not polling is one, too.
            return Reaction::Other;
        }
        let code = ErrorCode::from(response.error_code);
        if self.state == State::Leaving {
            return self.on_leave_answer(code, now, pause);
        }
        if code == ErrorCode::None {
            self.accept(response, version, now);
            return Reaction::Accepted;
        }
        let text = response.error_message.unwrap_or_default();
        self.on_error(code, &text, now, pause)
    }

    fn accept(&mut self, response: StreamsGroupHeartbeatResponse, version: i16, now: Instant) {
        self.fences = 0;
        self.epoch = response.member_epoch;
        let interval = u64::try_from(response.heartbeat_interval_ms).unwrap_or(0);
        self.interval = Duration::from_millis(interval).clamp(INTERVAL_MIN, INTERVAL_MAX);
        if version >= 1 {
            self.reports
                .configure(response.task_offset_interval_ms, response.acceptable_recovery_lag);
        }
        let list = response.status.as_deref().unwrap_or_default();
        let verdict = self.status.update(&self.settings.group, list, now);
        for notice in verdict.notices {
            self.notice(notice);
        }
        if self.in_group() {
            let known = |id| self.subtopologies.contains(&id);
            match Assignment::from_answer(&response, verdict.ready, known) {
                Target::Malformed(why) => {
                    let group = &self.settings.group;
                    self.fail(FatalError::of_text(group, format!("the broker sent {why}")));
                    return;
                }
                Target::New(target) => self.aim(target),
                Target::Unchanged => {
                    let target = Assignment { ready: verdict.ready, ..self.target.clone() };
                    self.aim(target);
                }
            }
            self.reconcile();
        }
        if let Some(entries) = response.partitions_by_user_endpoint {
            self.endpoints = Some(Arc::new(endpoints::from_wire(entries)));
            self.endpoint_epoch = response.endpoint_information_epoch;
        }
        self.schedule(verdict.soon, now);
    }

    /// An identical target is no news, but one that came back after another one is.
    fn aim(&mut self, target: Assignment) {
        if target != self.target {
            self.target = target;
            self.target_version += 1;
        }
    }

    fn schedule(&mut self, soon: bool, now: Instant) {
        let waiting = soon || self.target.is_empty();
        if waiting && !self.waiting {
            self.early = 0;
        }
        self.waiting = waiting;
        let wait = match EARLY.get(self.early) {
            Some(wait) if waiting => {
                self.early += 1;
                (*wait).min(self.interval)
            }
            _ => self.interval,
        };
        self.not_before = now;
        // An acknowledgement that became ready meanwhile does not wait.
        self.due = if self.state == State::Acknowledging { now } else { now + wait };
    }

    fn on_error(&mut self, code: ErrorCode, text: &str, now: Instant, pause: Duration) -> Reaction {
        match code {
            // The next one is asked after a pause: a coordinator that moves for a while would
            // otherwise be asked as fast as it answers.
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.on_failure(now, pause);
                Reaction::Rediscover
            }
            ErrorCode::CoordinatorLoadInProgress => {
                self.on_failure(now, pause);
                Reaction::Other
            }
            ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch => {
                log::warn!(
                    target: crate::LOG_TARGET,
                    "streams group {}: {code}; all tasks are lost, joining again",
                    self.settings.group
                );
                self.fences += 1;
                self.state = State::Fenced;
                self.forget_sent();
                self.lose_all();
                if self.fences > FENCES_AT_ONCE {
                    self.not_before = now + pause.max(self.interval);
                }
                Reaction::Other
            }
            ErrorCode::TopicAuthorizationFailed => {
                self.on_failure(now, pause.max(self.interval));
                let text = format!("{code} ({text}); joining needs the right DESCRIBE");
                self.notice(Notice::TopicDenied(text.into()));
                Reaction::Other
            }
            other => {
                self.fail(FatalError::of_code(&self.settings.group, other, text));
                Reaction::Other
            }
        }
    }

    fn on_leave_answer(&mut self, code: ErrorCode, now: Instant, pause: Duration) -> Reaction {
        match code {
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.on_failure(now, pause);
                Reaction::Rediscover
            }
            other if other.is_retriable() => {
                self.on_failure(now, pause);
                Reaction::Other
            }
            other => {
                if !matches!(
                    other,
                    ErrorCode::None
                        | ErrorCode::UnknownMemberId
                        | ErrorCode::FencedMemberEpoch
                        | ErrorCode::GroupIdNotFound
                ) {
                    log::warn!(
                        target: crate::LOG_TARGET,
                        "streams group {}: leaving failed: {other}; the session's end will do it",
                        self.settings.group
                    );
                }
                self.state = State::Unsubscribed;
                Reaction::Left
            }
        }
    }
}
