//! Which offsets a broker's answer really gives us.
//!
//! Answers hold whole log batches and a list of acquired ranges. The list is not believed blindly:
//! brokers were seen to send duplicates and overlaps (KAFKA-19789), and nothing may be allocated by
//! the length of a range.

use super::runs::Runs;
use crate::wire::messages::share_fetch::AcquiredRecords;

/// The acquired offsets with their delivery counts, each offset once. What is inverted, negative,
/// or was already covered by an earlier range is left out; the second value counts such ranges.
pub(super) fn sanitise(ranges: &[AcquiredRecords]) -> (Runs<i16>, usize) {
    let mut clean: Runs<i16> = Runs::default();
    let mut suspicious = 0;
    for range in ranges {
        if range.first_offset < 0 || range.last_offset < range.first_offset {
            suspicious += 1;
            continue;
        }
        let covered: Vec<_> = clean.within(range.first_offset, range.last_offset).collect();
        suspicious += usize::from(!covered.is_empty());
        let mut next = Some(range.first_offset);
        for part in covered {
            if let Some(from) = next.filter(|from| *from < part.first) {
                clean.put(from, part.first - 1, range.delivery_count);
            }
            next = part.last.checked_add(1);
        }
        if let Some(from) = next.filter(|from| *from <= range.last_offset) {
            clean.put(from, range.last_offset, range.delivery_count);
        }
    }
    (clean, suspicious)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first_offset: i64, last_offset: i64, delivery_count: i16) -> AcquiredRecords {
        AcquiredRecords { first_offset, last_offset, delivery_count }
    }

    fn listed(ranges: &[AcquiredRecords]) -> (Vec<(i64, i64, i16)>, usize) {
        let (runs, suspicious) = sanitise(ranges);
        (runs.iter().map(|run| (run.first, run.last, run.value)).collect(), suspicious)
    }

    #[test]
    fn ranges_in_order_come_through_as_they_are() {
        assert_eq!(
            listed(&[range(0, 4, 1), range(5, 5, 2), range(9, 12, 1)]),
            (vec![(0, 4, 1), (5, 5, 2), (9, 12, 1)], 0)
        );
    }

    #[test]
    fn share_19_duplicate_and_overlapping_ranges_give_each_offset_once() {
        assert_eq!(
            listed(&[range(3, 6, 1), range(3, 6, 1), range(5, 9, 2), range(0, 20, 3)]),
            (vec![(0, 2, 3), (3, 6, 1), (7, 9, 2), (10, 20, 3)], 3)
        );
    }

    #[test]
    fn share_19_a_huge_range_costs_nothing_and_an_inverted_one_is_left_out() {
        assert_eq!(
            listed(&[range(0, 1 << 60, 1), range(9, 2, 1), range(-5, 3, 1), range(0, i64::MAX, 2)]),
            (vec![(0, 1 << 60, 1), ((1 << 60) + 1, i64::MAX, 2)], 3)
        );
    }
}
