//! When punctuation is due. The clock is an argument.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::streams::error::BoxError;
use crate::streams::processor::ProcessorContext;
use crate::streams::task::Flow;

/// Which clock a schedule follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PunctuationType {
    /// The task's stream time: the largest timestamp seen. First due with the first record;
    /// stands still without records.
    StreamTime,
    /// The wall clock. First due one interval after it was scheduled.
    WallClockTime,
}

/// Called when its schedule is due; see [`ProcessorContext::schedule_punctuator`]. Closures of
/// this shape are punctuators.
pub trait Punctuator<K, V>: Send + 'static {
    /// `timestamp` is the stream time or wall-clock time of the call.
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn punctuate(
        &mut self,
        cx: &mut ProcessorContext<'_, K, V>,
        timestamp: i64,
    ) -> Result<(), BoxError>;
}

impl<K, V, F> Punctuator<K, V> for F
where
    F: FnMut(&mut ProcessorContext<'_, K, V>, i64) -> Result<(), BoxError> + Send + 'static,
{
    fn punctuate(
        &mut self,
        cx: &mut ProcessorContext<'_, K, V>,
        timestamp: i64,
    ) -> Result<(), BoxError> {
        self(cx, timestamp)
    }
}

/// A schedule. It goes on when this is dropped; two are equal if they are of the same schedule.
#[derive(Clone)]
pub struct Cancellable(Arc<AtomicBool>);

impl Cancellable {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    /// Ends the schedule, from inside of its punctuator too.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Cancellable {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cancellable {}

impl fmt::Debug for Cancellable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellable").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// What is called: the processor itself, or a closure of its own.
pub(crate) type Call = Option<Box<dyn FnMut(Flow<'_>, i64) -> Result<(), BoxError> + Send>>;

struct Entry {
    node: usize,
    kind: PunctuationType,
    interval: i64,
    next: i64,
    cancel: Cancellable,
    /// `None` calls the processor; taken out while it runs.
    call: Call,
}

/// A punctuation that is due.
pub(crate) struct Due {
    pub(crate) node: usize,
    pub(crate) cancel: Cancellable,
    pub(crate) call: Call,
}

/// The schedules of a task.
#[derive(Default)]
pub(crate) struct Schedules {
    entries: Vec<Entry>,
}

/// Milliseconds of an interval, at least one.
fn interval_ms(interval: Duration) -> Result<i64, BoxError> {
    match i64::try_from(interval.as_millis()) {
        Ok(interval) if interval >= 1 => Ok(interval),
        _ => Err(format!("a punctuation interval of {interval:?}: give at least 1 ms").into()),
    }
}

impl Schedules {
    /// Adds one. `start` anchors the grid (KIP-1146); without it stream time starts at 0 and the
    /// wall clock one interval after `now`.
    pub(crate) fn add(
        &mut self,
        node: usize,
        kind: PunctuationType,
        interval: Duration,
        start: Option<i64>,
        now: i64,
        call: Call,
    ) -> Result<Cancellable, BoxError> {
        let interval = interval_ms(interval)?;
        let next = match (start, kind) {
            (Some(start), _) if start < 0 => {
                return Err(format!("a punctuation start of {start} ms: give 0 or later").into());
            }
            (Some(start), _) => on_grid(start, interval, now),
            (None, PunctuationType::StreamTime) => 0,
            (None, PunctuationType::WallClockTime) => now.saturating_add(interval),
        };
        let cancel = Cancellable::new();
        self.entries.push(Entry { node, kind, interval, next, cancel: cancel.clone(), call });
        Ok(cancel)
    }

    /// Takes the next one that is due at `now` and moves it to its next time. The closure has to
    /// be given back with [`Schedules::done`].
    pub(crate) fn take_due(&mut self, kind: PunctuationType, now: i64) -> Option<Due> {
        self.entries.retain(|entry| !entry.cancel.is_cancelled());
        let entry = self
            .entries
            .iter_mut()
            .filter(|entry| entry.kind == kind && entry.next <= now)
            .min_by_key(|entry| entry.next)?;
        entry.next = after(entry.next, entry.interval, now);
        Some(Due { node: entry.node, cancel: entry.cancel.clone(), call: entry.call.take() })
    }

    /// Gives the closure back.
    pub(crate) fn done(&mut self, due: Due) {
        if due.call.is_some()
            && let Some(entry) = self.entries.iter_mut().find(|entry| entry.cancel == due.cancel)
        {
            entry.call = due.call;
        }
    }

    /// When the next one of this kind is due.
    pub(crate) fn next(&self, kind: PunctuationType) -> Option<i64> {
        let live = |entry: &&Entry| entry.kind == kind && !entry.cancel.is_cancelled();
        self.entries.iter().filter(live).map(|entry| entry.next).min()
    }
}

/// The first point of the grid from `start` that is not before `now`.
fn on_grid(start: i64, interval: i64, now: i64) -> i64 {
    if start >= now {
        return start;
    }
    let missed = (now - start).div_euclid(interval) + i64::from((now - start) % interval != 0);
    start.saturating_add(missed.saturating_mul(interval))
}

/// The time after one that was due at `due` and is called at `now`: missed ones collapse.
fn after(due: i64, interval: i64, now: i64) -> i64 {
    let next = due.saturating_add(interval);
    if next > now {
        return next;
    }
    let steps = (now - due) / interval + 1;
    due.saturating_add(steps.saturating_mul(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn times(schedules: &mut Schedules, kind: PunctuationType, nows: &[i64]) -> Vec<i64> {
        let mut fired = Vec::new();
        for now in nows {
            while let Some(due) = schedules.take_due(kind, *now) {
                fired.push(*now);
                schedules.done(due);
            }
        }
        fired
    }

    #[test]
    fn stream_time_starts_at_zero_and_missed_times_collapse() {
        let mut schedules = Schedules::default();
        let kind = PunctuationType::StreamTime;
        let cancel = schedules.add(0, kind, MS * 10, None, -1, None).unwrap();
        assert_eq!(times(&mut schedules, kind, &[-1, 3, 9, 10, 35, 39, 40]), [3, 10, 35, 40]);
        cancel.cancel();
        assert!(times(&mut schedules, kind, &[1000]).is_empty());
        assert_eq!(schedules.next(kind), None);
    }

    #[test]
    fn the_wall_clock_starts_one_interval_later() {
        let mut schedules = Schedules::default();
        let kind = PunctuationType::WallClockTime;
        schedules.add(0, kind, MS * 10, None, 100, None).unwrap();
        assert_eq!(schedules.next(kind), Some(110));
        assert!(times(&mut schedules, PunctuationType::StreamTime, &[1000]).is_empty());
        assert_eq!(times(&mut schedules, kind, &[109, 110, 119, 120]), [110, 120]);
    }

    #[test]
    fn a_start_anchors_the_grid() {
        let mut schedules = Schedules::default();
        let kind = PunctuationType::WallClockTime;
        schedules.add(0, kind, MS * 10, Some(3), 100, None).unwrap();
        assert_eq!(schedules.next(kind), Some(103));
        assert!(schedules.add(0, kind, MS * 10, Some(-1), 100, None).is_err());
        assert!(schedules.add(0, kind, Duration::ZERO, None, 100, None).is_err());
        assert_eq!(on_grid(100, 10, 100), 100);
        assert_eq!(on_grid(90, 10, 100), 100);
        assert_eq!(on_grid(91, 10, 100), 101);
    }
}
