//! The group's status codes, and what goes to the application.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::wire::ErrorCode;
use crate::wire::messages::streams_group_heartbeat::Status;

const STALE_TOPOLOGY: i8 = 0;
const MISSING_SOURCE_TOPICS: i8 = 1;
const INCORRECTLY_PARTITIONED_TOPICS: i8 = 2;
const MISSING_INTERNAL_TOPICS: i8 = 3;
const SHUTDOWN_APPLICATION: i8 = 4;
const ASSIGNMENT_DELAYED: i8 = 5;
const MISSING_CLIENT_TAGS: i8 = 6;

/// Something that the stream thread has to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Source topics are missing for longer than two heartbeats. Ends the thread.
    MissingSourceTopics(Arc<str>),
    /// Topics that are joined have unequal numbers of partitions. Ends the thread.
    IncorrectlyPartitioned(Arc<str>),
    /// A member asked for the end of the whole application.
    ShutdownApplication,
    /// A topic is not permitted; the membership goes on.
    TopicDenied(Arc<str>),
    /// The membership has ended. Ends the thread.
    Fatal(FatalError),
}

/// Why a membership ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("streams group {group}: {cause}")]
pub(crate) struct FatalError {
    pub(crate) group: Arc<str>,
    /// What the broker said.
    pub(crate) code: Option<ErrorCode>,
    /// The code and the broker's text, with the remedy where one is known.
    pub(crate) cause: Arc<str>,
}

impl FatalError {
    pub(super) fn of_code(group: &str, code: ErrorCode, text: &str) -> Self {
        let hint = match code {
            ErrorCode::UnsupportedVersion => {
                "; the brokers do not serve streams groups: they need Kafka 4.2 and the feature \
                 streams.version=1 (kafka-features.sh upgrade --feature streams.version=1)"
            }
            ErrorCode::GroupMaxSizeReached => "; see group.streams.max.size",
            ErrorCode::GroupIdNotFound => {
                "; a group of another kind has this name: delete it, or choose another \
                 application.id"
            }
            ErrorCode::UnreleasedInstanceId => {
                "; another member with this group.instance.id is still in the group: stop it, or \
                 wait until its session ends"
            }
            ErrorCode::FencedInstanceId => {
                "; another member has taken this group.instance.id: give each instance its own"
            }
            ErrorCode::GroupAuthorizationFailed => "; the group needs the right READ",
            _ => "",
        };
        let text = if text.is_empty() { String::new() } else { format!(" ({text})") };
        Self { group: group.into(), code: Some(code), cause: format!("{code}{text}{hint}").into() }
    }

    pub(super) fn of_text(group: &str, cause: impl Into<Arc<str>>) -> Self {
        Self { group: group.into(), code: None, cause: cause.into() }
    }
}

/// What heartbeats said lately about the group.
#[derive(Debug, Default)]
pub(super) struct GroupStatus {
    last: Vec<(i8, String)>,
    missing_since: Option<Instant>,
    missing_told: bool,
}

/// What a new status list means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Nothing is to be processed before the group is ready.
    pub(super) ready: bool,
    /// The group will be ready soon by itself: worth asking early.
    pub(super) soon: bool,
    pub(super) notices: Vec<Notice>,
}

impl GroupStatus {
    /// Takes the list of an answer, which is always complete.
    pub(super) fn update(&mut self, group: &str, list: &[Status], now: Instant) -> Verdict {
        let mut verdict = Verdict { ready: true, soon: false, notices: Vec::new() };
        let mut missing = false;
        for status in list {
            let detail: Arc<str> = status.status_detail.as_str().into();
            match status.status_code {
                MISSING_SOURCE_TOPICS => {
                    verdict.ready = false;
                    missing = true;
                }
                INCORRECTLY_PARTITIONED_TOPICS => {
                    verdict.ready = false;
                    verdict.notices.push(Notice::IncorrectlyPartitioned(detail));
                }
                MISSING_INTERNAL_TOPICS | ASSIGNMENT_DELAYED => {
                    verdict.ready = false;
                    verdict.soon = true;
                }
                SHUTDOWN_APPLICATION => verdict.notices.push(Notice::ShutdownApplication),
                _ => {}
            }
        }
        if missing {
            self.missing_since.get_or_insert(now);
        } else {
            self.missing_since = None;
            self.missing_told = false;
        }
        self.log(group, list);
        verdict
    }

    /// Source topics that stay missing are an error after two heartbeats.
    pub(super) fn missing_too_long(&mut self, interval: Duration, now: Instant) -> Option<Notice> {
        let since = self.missing_since.filter(|_| !self.missing_told)?;
        if now < since + interval * 2 {
            return None;
        }
        self.missing_told = true;
        let detail = self.last.iter().find(|(code, _)| *code == MISSING_SOURCE_TOPICS);
        Some(Notice::MissingSourceTopics(detail.map_or("", |(_, text)| text).into()))
    }

    fn log(&mut self, group: &str, list: &[Status]) {
        let list: Vec<(i8, String)> =
            list.iter().map(|s| (s.status_code, s.status_detail.clone())).collect();
        for (code, detail) in list.iter().filter(|status| !self.last.contains(status)) {
            log::warn!(
                target: crate::LOG_TARGET,
                "streams group {group}: {}: {detail}", name(*code)
            );
        }
        self.last = list;
    }
}

/// Kafka's name for a status; a newer broker may know more.
fn name(code: i8) -> &'static str {
    match code {
        STALE_TOPOLOGY => "STALE_TOPOLOGY",
        MISSING_SOURCE_TOPICS => "MISSING_SOURCE_TOPICS",
        INCORRECTLY_PARTITIONED_TOPICS => "INCORRECTLY_PARTITIONED_TOPICS",
        MISSING_INTERNAL_TOPICS => "MISSING_INTERNAL_TOPICS",
        SHUTDOWN_APPLICATION => "SHUTDOWN_APPLICATION",
        ASSIGNMENT_DELAYED => "ASSIGNMENT_DELAYED",
        MISSING_CLIENT_TAGS => "MISSING_CLIENT_TAGS",
        _ => "a status this version does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: i8) -> Vec<Status> {
        vec![Status { status_code: code, status_detail: format!("detail {code}") }]
    }

    #[test]
    fn codes_1_2_3_and_5_hold_processing_back() {
        for code in -1..=9 {
            let verdict = GroupStatus::default().update("g", &status(code), Instant::now());
            assert_eq!(!verdict.ready, [1, 2, 3, 5].contains(&code), "status {code}");
            assert_eq!(verdict.soon, [3, 5].contains(&code), "status {code}");
        }
    }

    #[test]
    fn unequal_partitions_are_told_at_once_and_the_end_of_the_application_too() {
        let told = |code| GroupStatus::default().update("g", &status(code), Instant::now()).notices;
        assert_eq!(told(2), [Notice::IncorrectlyPartitioned("detail 2".into())]);
        assert_eq!(told(4), [Notice::ShutdownApplication]);
        for code in [0, 1, 3, 5, 6, 99] {
            assert_eq!(told(code), [], "status {code}");
        }
    }

    #[test]
    fn missing_source_topics_are_told_once_after_two_heartbeats_without_a_break() {
        let (now, interval) = (Instant::now(), Duration::from_secs(5));
        let mut group = GroupStatus::default();
        group.update("g", &status(1), now);
        assert_eq!(group.missing_too_long(interval, now + Duration::from_secs(9)), None);
        group.update("g", &[], now + Duration::from_secs(9));
        group.update("g", &status(1), now + Duration::from_secs(10));
        assert_eq!(group.missing_too_long(interval, now + Duration::from_secs(19)), None);
        let told = group.missing_too_long(interval, now + Duration::from_secs(20));
        assert_eq!(told, Some(Notice::MissingSourceTopics("detail 1".into())));
        assert_eq!(group.missing_too_long(interval, now + Duration::from_secs(30)), None);
    }
}
