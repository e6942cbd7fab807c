//! What the broker is told of the tasks' changelog offsets, and when.
//!
//! Each of the two maps is sent only if it changed since it was last sent, and only together with
//! changed tasks, after the interval that the broker asked for, or when a warm-up task has caught
//! up. Brokers before Kafka 4.4 (version 0) refuse them.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::assignment::{TaskId, TaskSet};
use crate::wire::messages::streams_group_heartbeat::TaskOffset;

/// Until the broker says another one.
const INTERVAL_DEFAULT: Duration = Duration::from_secs(60);

/// Sums of offsets over the changelog partitions of each task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskOffsets {
    /// Next offset to apply, of every task here that is not a running active one.
    pub(crate) current: BTreeMap<TaskId, i64>,
    /// End offsets of the tasks being restored or updated; `i64::MAX` where one is unknown.
    pub(crate) end: BTreeMap<TaskId, i64>,
}

/// Values to send and those sent.
#[derive(Debug)]
pub(super) struct Reports {
    latest: TaskOffsets,
    sent_current: Option<BTreeMap<TaskId, i64>>,
    sent_end: Option<BTreeMap<TaskId, i64>>,
    sent_at: Option<Instant>,
    interval: Duration,
    /// Negative: unsupported.
    acceptable_lag: i64,
}

/// Both lists of a request; null is "as before".
pub(super) type Lists = (Option<Vec<TaskOffset>>, Option<Vec<TaskOffset>>);

impl Reports {
    pub(super) fn new() -> Self {
        Self {
            latest: TaskOffsets::default(),
            sent_current: None,
            sent_end: None,
            sent_at: None,
            interval: INTERVAL_DEFAULT,
            acceptable_lag: -1,
        }
    }

    pub(super) fn update(&mut self, latest: TaskOffsets) {
        self.latest = latest;
    }

    /// The broker's wishes.
    pub(super) fn configure(&mut self, interval_ms: i32, acceptable_lag: i64) {
        if let Some(millis) = u64::try_from(interval_ms).ok().filter(|millis| *millis > 0) {
            self.interval = Duration::from_millis(millis);
        }
        self.acceptable_lag = acceptable_lag;
    }

    /// The broker may not know what was sent.
    pub(super) fn forget(&mut self) {
        self.sent_current = None;
        self.sent_end = None;
    }

    /// What goes with the next request, which carries new task lists or not.
    pub(super) fn take(&mut self, with_tasks: bool, warmup: &TaskSet, now: Instant) -> Lists {
        let waited = self.sent_at.is_none_or(|at| now >= at + self.interval);
        if !with_tasks && !waited && !self.caught_up(warmup) {
            return (None, None);
        }
        let changed = |sent: &mut Option<BTreeMap<TaskId, i64>>, latest: &BTreeMap<TaskId, i64>| {
            if sent.as_ref() == Some(latest) {
                return None;
            }
            *sent = Some(latest.clone());
            Some(to_wire(latest))
        };
        let lists = (
            changed(&mut self.sent_current, &self.latest.current),
            changed(&mut self.sent_end, &self.latest.end),
        );
        if lists.0.is_some() || lists.1.is_some() {
            self.sent_at = Some(now);
        }
        lists
    }

    fn caught_up(&self, warmup: &TaskSet) -> bool {
        self.acceptable_lag >= 0
            && warmup.iter().any(|task| {
                let (current, end) = (self.latest.current.get(task), self.latest.end.get(task));
                matches!((current, end), (Some(current), Some(end))
                    if end.saturating_sub(*current) <= self.acceptable_lag)
            })
    }
}

fn to_wire(offsets: &BTreeMap<TaskId, i64>) -> Vec<TaskOffset> {
    let offsets = offsets.iter().map(|(task, offset)| TaskOffset {
        subtopology_id: task.subtopology.to_string(),
        partition: task.partition,
        offset: *offset,
    });
    offsets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: TaskId = TaskId { subtopology: 0, partition: 3 };

    fn offsets(current: i64, end: i64) -> TaskOffsets {
        TaskOffsets { current: [(TASK, current)].into(), end: [(TASK, end)].into() }
    }

    fn counts(lists: &Lists) -> (Option<usize>, Option<usize>) {
        (lists.0.as_ref().map(Vec::len), lists.1.as_ref().map(Vec::len))
    }

    #[test]
    fn only_what_changed_is_sent_and_only_after_the_interval() {
        let now = Instant::now();
        let mut reports = Reports::new();
        reports.configure(60_000, 10);
        reports.update(offsets(1, 100));
        assert_eq!(counts(&reports.take(true, &TaskSet::new(), now)), (Some(1), Some(1)));
        reports.update(offsets(50, 100));
        assert_eq!(counts(&reports.take(false, &TaskSet::new(), now)), (None, None));
        let later = now + Duration::from_secs(60);
        assert_eq!(counts(&reports.take(false, &TaskSet::new(), later)), (Some(1), None));
        assert_eq!(counts(&reports.take(true, &TaskSet::new(), later)), (None, None));
    }

    #[test]
    fn a_warmup_task_that_caught_up_is_told_at_once() {
        let now = Instant::now();
        let mut reports = Reports::new();
        reports.configure(60_000, 10);
        reports.update(offsets(1, 100));
        reports.take(true, &TaskSet::new(), now);
        reports.update(offsets(89, 100));
        assert_eq!(counts(&reports.take(false, &[TASK].into(), now)), (None, None));
        reports.update(offsets(90, 100));
        assert_eq!(counts(&reports.take(false, &[TASK].into(), now)), (Some(1), None));
    }

    #[test]
    fn after_an_error_everything_is_sent_again() {
        let now = Instant::now();
        let mut reports = Reports::new();
        reports.update(offsets(1, 100));
        reports.take(true, &TaskSet::new(), now);
        reports.forget();
        assert_eq!(counts(&reports.take(true, &TaskSet::new(), now)), (Some(1), Some(1)));
    }
}
