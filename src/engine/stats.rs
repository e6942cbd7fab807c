//! What executors count. A [`Tally`] is an executor's own and is added to the
//! partition's totals when the executor turns to other work; readers add up
//! both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::metrics::reading::{HANDLER_BUCKETS, QUEUE_BUCKETS};

/// Bounds of [`HANDLER_BUCKETS`] and one bucket without bound.
pub(crate) const DURATION_BUCKETS: usize = 16;
/// Bounds of [`QUEUE_BUCKETS`] and one bucket without bound.
pub(crate) const WAIT_BUCKETS: usize = 19;

const _: () = assert!(HANDLER_BUCKETS.bounds + 1 == DURATION_BUCKETS);
const _: () = assert!(QUEUE_BUCKETS.bounds + 1 == WAIT_BUCKETS);

/// A histogram of `N` buckets, not cumulative.
#[derive(Clone, Copy)]
pub(crate) struct Histogram<const N: usize> {
    pub(crate) counts: [u64; N],
    pub(crate) sum_ns: u64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Histogram { counts: [0; N], sum_ns: 0 }
    }
}

impl<const N: usize> Histogram<N> {
    fn add(&mut self, other: &Self) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Counts of one partition.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) processed: u64,
    pub(crate) errored: u64,
    pub(crate) panicked: u64,
    pub(crate) dead_lettered: u64,
    pub(crate) retries: u64,
    pub(crate) orphaned: u64,
    pub(crate) used_overflow: u64,
    pub(crate) traits: u64,
    pub(crate) process: Histogram<DURATION_BUCKETS>,
    pub(crate) dead_letter: Histogram<DURATION_BUCKETS>,
    pub(crate) wait: Histogram<WAIT_BUCKETS>,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.processed += other.processed;
        self.errored += other.errored;
        self.panicked += other.panicked;
        self.dead_lettered += other.dead_lettered;
        self.retries += other.retries;
        self.orphaned += other.orphaned;
        self.used_overflow += other.used_overflow;
        self.traits |= other.traits;
        self.process.add(&other.process);
        self.dead_letter.add(&other.dead_letter);
        self.wait.add(&other.wait);
    }

    pub(crate) fn handled(&mut self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.process.counts[HANDLER_BUCKETS.index(ns)] += 1;
        self.process.sum_ns = self.process.sum_ns.wrapping_add(ns);
    }

    pub(crate) fn lettered(&mut self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.dead_letter.counts[HANDLER_BUCKETS.index(ns)] += 1;
        self.dead_letter.sum_ns = self.dead_letter.sum_ns.wrapping_add(ns);
    }

    pub(crate) fn waited(&mut self, wait: Duration) {
        let ns = wait.as_nanos() as u64;
        self.wait.counts[QUEUE_BUCKETS.index(ns)] += 1;
        self.wait.sum_ns = self.wait.sum_ns.wrapping_add(ns);
    }
}

/// An executor's counts for the partition it works on.
#[derive(Default)]
pub(crate) struct Tally {
    /// What the counts belong to; none before the first work.
    pub(crate) totals: Option<Arc<Totals>>,
    pub(crate) counts: Counts,
}

impl Tally {
    /// The counts for a partition; those kept for another go to its totals.
    pub(crate) fn of(&mut self, totals: &Arc<Totals>) -> &mut Counts {
        if !self.totals.as_ref().is_some_and(|t| Arc::ptr_eq(t, totals)) {
            let before = self.totals.replace(totals.clone());
            let counts = std::mem::take(&mut self.counts);
            if let Some(before) = before {
                before.add(&counts);
            }
        }
        &mut self.counts
    }
}

/// A partition's totals, over all its assignments to this member.
#[derive(Default)]
pub(crate) struct Totals(Mutex<Counts>);

impl Totals {
    pub(crate) fn add(&self, counts: &Counts) {
        self.0.lock().expect(super::block::POISON).add(counts);
    }

    pub(crate) fn read(&self) -> Counts {
        *self.0.lock().expect(super::block::POISON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_add_up() {
        let mut a = Counts::default();
        a.handled(Duration::from_millis(3));
        a.processed = 1;
        let mut b = Counts { processed: 2, ..Counts::default() };
        b.handled(Duration::from_millis(5));
        b.handled(Duration::from_millis(1));
        a.add(&b);
        assert_eq!(a.processed, 3);
        assert_eq!(a.process.count(), 3);
        assert_eq!(a.process.sum_ns, 9_000_000);
    }
}
