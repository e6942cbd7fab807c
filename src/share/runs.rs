//! Offsets as sorted, non-overlapping runs that share a value.
//!
//! Work is by run, never by offset, so that a range of any length costs the same.

/// Offsets `first..=last` with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run<T> {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) value: T,
}

impl<T> Run<T> {
    /// Number of offsets.
    pub(super) fn len(&self) -> u64 {
        self.last.abs_diff(self.first).saturating_add(1)
    }
}

/// Runs in the order of their offsets; neighbours with equal values are one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runs<T>(Vec<Run<T>>);

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + PartialEq> Runs<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run<T>> {
        self.0.iter()
    }

    /// Number of offsets in all runs.
    pub(super) fn offsets(&self) -> u64 {
        self.0.iter().fold(0, |sum, run| sum.saturating_add(run.len()))
    }

    pub(super) fn get(&self, offset: i64) -> Option<T> {
        let at = self.0.partition_point(|run| run.last < offset);
        self.0.get(at).filter(|run| run.first <= offset).map(|run| run.value)
    }

    /// The parts of the runs that lie in the range.
    pub(super) fn within(&self, first: i64, last: i64) -> impl Iterator<Item = Run<T>> {
        let start = self.0.partition_point(|run| run.last < first);
        self.0[start..].iter().take_while(move |run| run.first <= last).map(move |run| Run {
            first: run.first.max(first),
            last: run.last.min(last),
            value: run.value,
        })
    }

    /// Removes all runs.
    pub(super) fn drain(&mut self) -> Vec<Run<T>> {
        std::mem::take(&mut self.0)
    }

    /// Gives the range a value, over whatever it had. Nothing happens to an empty range.
    pub(super) fn put(&mut self, first: i64, last: i64, value: T) {
        if first > last {
            return;
        }
        self.take(first, last, |_| true, |_| {});
        let at = self.0.partition_point(|run| run.last < first);
        let joins_left = at > 0 && {
            let left = &self.0[at - 1];
            left.last.checked_add(1) == Some(first) && left.value == value
        };
        let joins_right = self
            .0
            .get(at)
            .is_some_and(|right| last.checked_add(1) == Some(right.first) && right.value == value);
        match (joins_left, joins_right) {
            (true, true) => {
                self.0[at - 1].last = self.0[at].last;
                self.0.remove(at);
            }
            (true, false) => self.0[at - 1].last = last,
            (false, true) => self.0[at].first = first,
            (false, false) => self.0.insert(at, Run { first, last, value }),
        }
    }

    /// Takes out the parts in the range whose value is wanted, and shows each one taken.
    pub(super) fn take(
        &mut self,
        first: i64,
        last: i64,
        wanted: impl Fn(T) -> bool,
        mut taken: impl FnMut(Run<T>),
    ) {
        let mut at = self.0.partition_point(|run| run.last < first);
        while let Some(run) = self.0.get(at).copied().filter(|run| run.first <= last) {
            if !wanted(run.value) {
                at += 1;
                continue;
            }
            let (from, to) = (run.first.max(first), run.last.min(last));
            taken(Run { first: from, last: to, value: run.value });
            match (from > run.first, to < run.last) {
                (false, false) => {
                    self.0.remove(at);
                }
                (false, true) => {
                    self.0[at].first = to + 1;
                    at += 1;
                }
                (true, false) => {
                    self.0[at].last = from - 1;
                    at += 1;
                }
                (true, true) => {
                    self.0[at].last = from - 1;
                    self.0.insert(at + 1, Run { first: to + 1, ..run });
                    at += 2;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn listed(runs: &Runs<u8>) -> Vec<(i64, i64, u8)> {
        runs.iter().map(|run| (run.first, run.last, run.value)).collect()
    }

    #[test]
    fn neighbours_with_one_value_become_one_run() {
        let mut runs = Runs::default();
        runs.put(5, 5, 1);
        runs.put(7, 7, 1);
        runs.put(6, 6, 1);
        runs.put(8, 9, 2);
        assert_eq!(listed(&runs), [(5, 7, 1), (8, 9, 2)]);
        assert_eq!(runs.offsets(), 5);
    }

    #[test]
    fn the_largest_range_costs_one_run() {
        let mut runs = Runs::default();
        runs.put(i64::MIN, i64::MAX, 1);
        runs.put(0, 0, 2);
        assert_eq!(listed(&runs), [(i64::MIN, -1, 1), (0, 0, 2), (1, i64::MAX, 1)]);
    }

    proptest! {
        #[test]
        fn runs_agree_with_a_map_of_single_offsets(
            steps in proptest::collection::vec((0i64..40, 0i64..8, 0u8..3, any::<bool>()), 1..60)
        ) {
            let mut runs = Runs::default();
            let mut model = BTreeMap::new();
            for (first, len, value, put) in steps {
                let last = first + len;
                if put {
                    runs.put(first, last, value);
                    model.extend((first..=last).map(|offset| (offset, value)));
                } else {
                    let mut taken = Vec::new();
                    runs.take(first, last, |v| v == value, |run| {
                        taken.extend(run.first..=run.last);
                    });
                    let expected: Vec<i64> = model
                        .range(first..=last)
                        .filter(|(_, v)| **v == value)
                        .map(|(offset, _)| *offset)
                        .collect();
                    prop_assert_eq!(&taken, &expected);
                    for offset in taken {
                        model.remove(&offset);
                    }
                }
                for offset in -1..50 {
                    prop_assert_eq!(runs.get(offset), model.get(&offset).copied());
                }
                let all: Vec<_> = runs.iter().collect();
                for pair in all.windows(2) {
                    prop_assert!(pair[0].last < pair[1].first);
                    prop_assert!(
                        pair[0].last + 1 < pair[1].first || pair[0].value != pair[1].value
                    );
                }
            }
        }
    }
}
