//! Rebuilding stores from their changelogs: records, progress and the listener.

use std::sync::Arc;

use bytes::Bytes;

use super::position::Position;

/// A changelog record as it was fetched. Records without a key are skipped.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestoreRecord {
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub timestamp: i64,
    /// From header `c`, where the application has consistency headers switched on.
    pub position: Option<Position>,
}

/// Which changelog a store is restored from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RestoreSource {
    /// Name of the store.
    pub store: Arc<str>,
    /// Changelog topic.
    pub topic: Arc<str>,
    /// Its partition, which is the task's.
    pub partition: i32,
}

/// Watches stores being restored. Called on the thread that restores: return soon.
pub trait RestoreListener: Send + Sync {
    /// Restoring begins at `start`, and is over when `end` is reached (the offset after the
    /// last record to apply).
    fn restore_started(&self, source: &RestoreSource, start: i64, end: i64) {
        let _ = (source, start, end);
    }

    /// `count` records up to offset `last` were applied.
    fn batch_restored(&self, source: &RestoreSource, last: i64, count: u64) {
        let _ = (source, last, count);
    }

    /// The store is complete; `total` records were applied.
    fn restore_ended(&self, source: &RestoreSource, total: u64) {
        let _ = (source, total);
    }

    /// The task left before its store was complete; `total` records were applied so far.
    fn restore_suspended(&self, source: &RestoreSource, total: u64) {
        let _ = (source, total);
    }
}

/// How far one store's restore is; tells the listener at each step.
#[derive(Debug, Clone)]
pub(crate) struct RestoreProgress {
    source: RestoreSource,
    next: i64,
    end: i64,
    total: u64,
    started: bool,
}

impl RestoreProgress {
    /// `next` is the first offset to read, `end` the offset after the last one.
    pub(crate) fn new(source: RestoreSource, next: i64, end: i64) -> Self {
        Self { source, next, end, total: 0, started: false }
    }

    /// Says that reading begins. A store that is complete already begins and ends nothing.
    pub(crate) fn start(&mut self, listener: &dyn RestoreListener) {
        if !self.is_complete() && !std::mem::replace(&mut self.started, true) {
            listener.restore_started(&self.source, self.next, self.end);
        }
    }

    /// Says that `count` records were applied and `next` is the first offset not read yet.
    pub(crate) fn advance(&mut self, next: i64, count: u64, listener: &dyn RestoreListener) {
        let was_complete = self.is_complete();
        self.next = self.next.max(next);
        self.total += count;
        if !self.started || was_complete {
            return;
        }
        listener.batch_restored(&self.source, self.next - 1, count);
        if self.is_complete() {
            listener.restore_ended(&self.source, self.total);
        }
    }

    /// Says that the task leaves.
    pub(crate) fn suspend(&self, listener: &dyn RestoreListener) {
        if self.started && !self.is_complete() {
            listener.restore_suspended(&self.source, self.total);
        }
    }

    pub(crate) fn source(&self) -> &RestoreSource {
        &self.source
    }

    /// First offset not read yet.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    /// Offsets left to read; more than records where the topic is compacted.
    pub(crate) fn remaining(&self) -> i64 {
        (self.end - self.next).max(0)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.next >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl RestoreListener for Heard {
        fn restore_started(&self, source: &RestoreSource, start: i64, end: i64) {
            self.0.lock().push(format!("start {} {start}..{end}", source.store));
        }
        fn batch_restored(&self, _: &RestoreSource, last: i64, count: u64) {
            self.0.lock().push(format!("batch to {last}: {count}"));
        }
        fn restore_ended(&self, _: &RestoreSource, total: u64) {
            self.0.lock().push(format!("end {total}"));
        }
        fn restore_suspended(&self, _: &RestoreSource, total: u64) {
            self.0.lock().push(format!("suspend {total}"));
        }
    }

    fn progress(next: i64, end: i64) -> RestoreProgress {
        let source = RestoreSource { store: "counts".into(), topic: "t".into(), partition: 0 };
        RestoreProgress::new(source, next, end)
    }

    #[test]
    fn the_listener_hears_start_batches_and_one_end() {
        let heard = Heard::default();
        let mut progress = progress(5, 20);
        progress.start(&heard);
        progress.advance(12, 6, &heard);
        assert_eq!(progress.remaining(), 8);
        progress.advance(20, 8, &heard);
        progress.advance(25, 5, &heard);
        progress.suspend(&heard);
        assert_eq!(
            *heard.0.lock(),
            ["start counts 5..20", "batch to 11: 6", "batch to 19: 8", "end 14"]
        );
    }

    #[test]
    fn a_store_that_is_complete_is_silent_and_one_cut_off_says_so() {
        let heard = Heard::default();
        progress(20, 20).start(&heard);
        let mut cut = progress(0, 9);
        cut.start(&heard);
        cut.advance(3, 3, &heard);
        cut.suspend(&heard);
        assert_eq!(*heard.0.lock(), ["start counts 0..9", "batch to 2: 3", "suspend 3"]);
    }
}
