use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn later(seconds: u64) -> Instant {
    start() + Duration::from_secs(seconds)
}

fn start() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Offsets 0 to 9, all with the program, locked for 30 s.
fn delivered() -> Book {
    let mut book = Book::default();
    book.acquire(0, 9, start(), later(30));
    book.deliver(0, 9);
    book
}

fn sent(book: &mut Book) -> Vec<(i64, i64, i8)> {
    book.take_group(false).map(|group| listed(&batches(group))).unwrap_or_default()
}

fn listed(batches: &[AcknowledgementBatch]) -> Vec<(i64, i64, i8)> {
    batches
        .iter()
        .map(|batch| {
            assert_eq!(batch.acknowledge_types.len(), 1);
            (batch.first_offset, batch.last_offset, batch.acknowledge_types[0])
        })
        .collect()
}

#[test]
fn share_28_acks_out_of_order_and_of_mixed_kinds_become_sorted_uniform_runs() {
    let mut book = delivered();
    for (offset, kind) in [
        (5, Kind::Accept),
        (3, Kind::Reject),
        (4, Kind::Accept),
        (0, Kind::Release),
        (6, Kind::Accept),
        (5, Kind::Accept),
        (1, Kind::Release),
    ] {
        book.acknowledge(offset, offset, kind, 0);
    }
    assert_eq!(sent(&mut book), [(0, 1, 2), (3, 3, 3), (4, 6, 1)]);
    assert_eq!(book.unacknowledged(), Some((2, 4)));
}

proptest! {
    #[test]
    fn share_28_whatever_is_acknowledged_makes_batches_the_broker_takes(
        acks in proptest::collection::vec((0i64..30, 0i64..6, 1u8..4, 0u64..3), 1..50)
    ) {
        let mut book = Book::default();
        book.acquire(0, 29, start(), later(30));
        book.deliver(0, 29);
        for (first, len, kind, ticket) in acks {
            let kind = [Kind::Accept, Kind::Release, Kind::Reject][usize::from(kind) - 1];
            book.acknowledge(first, first + len, kind, ticket);
        }
        let batches = sent(&mut book);
        for batch in &batches {
            prop_assert!(batch.0 <= batch.1 && batch.0 >= 0 && batch.1 <= 29);
        }
        for pair in batches.windows(2) {
            prop_assert!(pair[0].1 < pair[1].0);
            prop_assert!(pair[0].1 + 1 < pair[1].0 || pair[0].2 != pair[1].2);
        }
    }
}

#[test]
fn share_23_a_renewal_followed_by_accept_is_sent_as_accept_alone() {
    let mut book = delivered();
    assert_eq!(book.acknowledge(3, 3, Kind::Renew, 0), 1);
    assert_eq!(book.acknowledge(3, 3, Kind::Accept, 0), 1);
    assert_eq!(book.acknowledge(3, 3, Kind::Renew, 0), 0, "a final choice stays");
    assert!(!book.has_pending(true));
    assert_eq!(sent(&mut book), [(3, 3, 1)]);
}

#[test]
fn share_23_a_renewed_record_stays_open_to_a_final_choice() {
    let mut book = delivered();
    book.acknowledge(3, 4, Kind::Renew, 0);
    assert_eq!(listed(&batches(book.take_group(true).unwrap())), [(3, 4, 4)]);
    // The program decides while the renewal is on its way.
    assert_eq!(book.acknowledge(3, 3, Kind::Accept, 0), 1);
    let settled = book.complete(Verdict::Done(later(60)), later(1));
    assert_eq!(settled.len(), 1);
    assert_eq!(book.lock_until(4), Some(later(60)));
    assert_eq!(book.lock_until(5), Some(later(30)));
    assert_eq!(sent(&mut book), [(3, 3, 1)]);
}

#[test]
fn share_24_a_refused_renewal_leaves_the_record_open() {
    let mut book = delivered();
    book.acknowledge(0, 4, Kind::Renew, 0);
    book.take_group(true);
    let settled = book.complete(Verdict::Invalid, later(1));
    assert_eq!(settled.len(), 1);
    assert!(!settled[0].1, "one failure, not one for each record");
    assert_eq!(book.acknowledge(0, 4, Kind::Accept, 0), 5);
}

#[test]
fn share_02_acks_made_while_a_request_runs_go_with_the_next() {
    let mut book = delivered();
    book.acknowledge(0, 3, Kind::Accept, 0);
    assert_eq!(sent(&mut book), [(0, 3, 1)]);
    book.acknowledge(4, 4, Kind::Accept, 0);
    assert!(book.take_group(false).is_none(), "one group at a time");
    assert_eq!(book.complete(Verdict::Done(later(30)), later(1)).len(), 1);
    assert_eq!(sent(&mut book), [(4, 4, 1)]);
}

#[test]
fn share_03_a_request_the_broker_did_not_look_at_is_sent_again_once() {
    let mut book = delivered();
    book.acknowledge(0, 3, Kind::Accept, 0);
    sent(&mut book);
    book.unsend();
    book.unsend();
    assert_eq!(sent(&mut book), [(0, 3, 1)]);
    assert_eq!(book.complete(Verdict::Done(later(30)), later(1)).len(), 1);
    assert!(!book.has_pending(false));
}

#[test]
fn share_22_one_expired_offset_costs_the_valid_ones_nothing() {
    let mut book = delivered();
    book.acknowledge(0, 9, Kind::Accept, 0);
    let (mut good, mut bad, mut requests) = (Vec::new(), Vec::new(), 0);
    while book.has_pending(false) {
        let batches = sent(&mut book);
        requests += 1;
        let verdict = if batches.iter().any(|b| (b.0..=b.1).contains(&6)) {
            Verdict::Invalid
        } else {
            Verdict::Done(later(30))
        };
        for (entry, ok) in book.complete(verdict, later(1)) {
            let list = if ok { &mut good } else { &mut bad };
            list.extend(entry.first..=entry.last);
        }
    }
    good.sort_unstable();
    assert_eq!((good, bad), (vec![0, 1, 2, 3, 4, 5, 7, 8, 9], vec![6]));
    assert!(requests <= 9, "{requests} requests");
}

#[test]
fn share_22_bisection_ends_when_the_locks_have_ended() {
    let mut book = delivered();
    book.acknowledge(0, 9, Kind::Accept, 0);
    sent(&mut book);
    let settled = book.complete(Verdict::Invalid, later(31));
    assert_eq!(
        settled.iter().map(|(entry, ok)| (entry.len(), *ok)).collect::<Vec<_>>(),
        [(10, false)]
    );
    assert!(book.is_empty());
}

#[test]
fn share_22_locks_that_have_ended_are_told_apart_from_those_that_have_not() {
    let mut book = delivered();
    // A lock of its own for the first half, as a renewal gives it.
    book.acquire(0, 4, start(), later(60));
    book.deliver(0, 4);
    book.acknowledge(0, 9, Kind::Accept, 0);
    assert_eq!(sent(&mut book), [(0, 9, 1)]);
    assert!(book.complete(Verdict::Invalid, later(40)).is_empty());
    assert_eq!(sent(&mut book), [(0, 4, 1)]);
    let good = book.complete(Verdict::Done(later(70)), later(41));
    assert!(good.iter().all(|(entry, ok)| *ok && entry.last <= 4), "{good:?}");
    assert_eq!(sent(&mut book), [(5, 9, 1)], "once more: the broker's clock decides");
    let bad = book.complete(Verdict::Invalid, later(42));
    assert!(bad.iter().all(|(entry, ok)| !*ok && entry.first >= 5), "{bad:?}");
    assert!(book.is_empty());
}

#[test]
fn a_failed_state_write_is_repeated_until_the_lock_ends() {
    let mut book = delivered();
    book.acknowledge(0, 9, Kind::Accept, 0);
    sent(&mut book);
    assert!(book.complete(Verdict::Again, later(1)).is_empty());
    assert_eq!(sent(&mut book), [(0, 9, 1)]);
    assert_eq!(book.complete(Verdict::Again, later(30)).len(), 1);
    assert!(book.is_empty());
}

#[test]
fn share_16_gaps_are_sent_without_the_program_and_stay_gaps_on_the_way_out() {
    let mut book = Book::default();
    book.acquire(0, 9, start(), later(30));
    book.gap(4, 9, 0, later(30));
    assert_eq!(book.acknowledge(4, 9, Kind::Accept, 0), 0);
    book.acknowledge_all(Kind::Release, 0);
    assert_eq!(sent(&mut book), [(0, 3, 2), (4, 9, 0)]);
}

#[test]
fn share_35_what_the_last_poll_returned_is_released_on_the_way_out() {
    let mut book = delivered();
    book.acquire(10, 12, start(), later(30));
    book.acknowledge(0, 1, Kind::Accept, 0);
    book.acknowledge(2, 2, Kind::Renew, 0);
    assert_eq!(book.acknowledge_all(Kind::Release, 0), 11);
    assert!(!book.has_pending(true), "a renewal is pointless now");
    assert_eq!(sent(&mut book), [(0, 1, 1), (2, 12, 2)]);
}

#[test]
fn records_that_no_poll_has_returned_cannot_be_acknowledged() {
    let mut book = Book::default();
    book.acquire(0, 9, start(), later(30));
    assert_eq!(book.acknowledge(0, 9, Kind::Accept, 0), 0);
    assert_eq!(book.expire_buffered(later(29)), 0);
    assert_eq!(book.expire_buffered(later(30)), 10);
    assert!(book.is_empty());
}

#[test]
fn share_07_everything_acknowledged_and_not_settled_comes_back_when_the_leader_is_gone() {
    let mut book = delivered();
    book.acknowledge(0, 1, Kind::Accept, 0);
    sent(&mut book);
    book.acknowledge(2, 3, Kind::Reject, 0);
    let mut lost: Vec<_> = book.abandon().iter().map(|e| (e.first, e.last, e.kind)).collect();
    lost.sort_unstable();
    assert_eq!(lost, [(0, 1, Kind::Accept), (2, 3, Kind::Reject)]);
    assert!(book.is_empty());
    assert_eq!(book.acknowledge(4, 4, Kind::Accept, 0), 0, "its lock is gone too");
}

#[test]
fn an_offset_acquired_again_takes_its_unsent_ack_out_as_lost() {
    let mut book = delivered();
    book.acknowledge(2, 5, Kind::Accept, 0);
    let lost = book.acquire(4, 4, start(), later(60));
    assert_eq!(lost.iter().map(|e| (e.first, e.last)).collect::<Vec<_>>(), [(4, 4)]);
    assert_eq!(sent(&mut book), [(2, 3, 1), (5, 5, 1)]);
}

#[test]
fn tickets_tell_commits_apart_and_batches_do_not_show_them() {
    let mut book = delivered();
    book.acknowledge(0, 0, Kind::Accept, 1);
    book.acknowledge(1, 1, Kind::Accept, 2);
    assert!(book.awaits(1) && !book.awaits(0));
    assert_eq!(sent(&mut book), [(0, 1, 1)]);
    assert!(book.awaits(1));
    let settled = book.complete(Verdict::Done(later(30)), later(1));
    assert_eq!(settled.iter().map(|(e, _)| e.ticket).collect::<Vec<_>>(), [1, 2]);
    assert!(!book.awaits(2));
}

#[test]
fn the_program_may_change_its_mind_before_anything_was_sent() {
    let mut book = delivered();
    book.acknowledge(0, 9, Kind::Accept, 0);
    assert_eq!(book.acknowledge(4, 4, Kind::Release, 0), 1);
    assert_eq!(sent(&mut book), [(0, 3, 1), (4, 4, 2), (5, 9, 1)]);
}
