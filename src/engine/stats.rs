//! What executors count. A [`Tally`] is an executor's own and is added to the
//! partition's totals when the executor turns to other work; readers add up
//! both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Buckets of durations of handlers: up to 1 ms, then doubling; the last one
/// is unbounded.
pub(crate) const DURATION_BUCKETS: usize = 16;
/// Buckets of waiting times: up to 0.1 ms, then doubling; the last one is
/// unbounded.
pub(crate) const WAIT_BUCKETS: usize = 19;

const DURATION_FIRST_NS: u64 = 1_000_000;
const WAIT_FIRST_NS: u64 = 100_000;

fn bucket(ns: u64, first: u64, buckets: usize) -> usize {
    if ns <= first {
        return 0;
    }
    let doublings = 64 - ((ns - 1) / first).leading_zeros() as usize;
    doublings.min(buckets - 1)
}

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
        self.traits |= other.traits;
        self.process.add(&other.process);
        self.dead_letter.add(&other.dead_letter);
        self.wait.add(&other.wait);
    }

    pub(crate) fn handled(&mut self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.process.counts[bucket(ns, DURATION_FIRST_NS, DURATION_BUCKETS)] += 1;
        self.process.sum_ns = self.process.sum_ns.wrapping_add(ns);
    }

    pub(crate) fn lettered(&mut self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.dead_letter.counts[bucket(ns, DURATION_FIRST_NS, DURATION_BUCKETS)] += 1;
        self.dead_letter.sum_ns = self.dead_letter.sum_ns.wrapping_add(ns);
    }

    pub(crate) fn waited(&mut self, wait: Duration) {
        let ns = wait.as_nanos() as u64;
        self.wait.counts[bucket(ns, WAIT_FIRST_NS, WAIT_BUCKETS)] += 1;
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
    fn a_bucket_includes_its_upper_bound() {
        let ms = 1_000_000;
        for (ns, want) in [
            (0, 0),
            (ms, 0),
            (ms + 1, 1),
            (2 * ms, 1),
            (2 * ms + 1, 2),
            (4 * ms, 2),
            (8192 * ms, 13),
            (16384 * ms, 14),
            (16384 * ms + 1, 15),
            (u64::MAX, 15),
        ] {
            assert_eq!(bucket(ns, DURATION_FIRST_NS, DURATION_BUCKETS), want, "{ns}");
        }
        assert_eq!(bucket(100_000, WAIT_FIRST_NS, WAIT_BUCKETS), 0);
        assert_eq!(bucket(100_001, WAIT_FIRST_NS, WAIT_BUCKETS), 1);
    }

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
