use super::*;
use crate::client::admin::TopicPartition;
use crate::wire::records::{BatchBuilder, BatchOptions};

const RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(1) };
const FIRST: Identity = Identity { id: 7, epoch: 0 };
const SECOND: Identity = Identity { id: 7, epoch: 1 };

fn due() -> Due {
    Due {
        linger: Duration::from_millis(5),
        delivery_timeout: Duration::from_secs(120),
        flush_through: 0,
        starved: false,
    }
}

fn batch(ordinal: u64, records: i32) -> Batch {
    let builder = BatchBuilder::new(BatchOptions::default());
    let mut batch = Batch::new(TopicPartition::new("t", 0), ordinal, builder);
    batch.records = records;
    batch.closed = true;
    batch
}

/// A queue whose partition knows the producer by an earlier, empty batch.
fn queue_of(records: &[i32]) -> Queue {
    let mut queue = Queue::new(RETRY);
    queue.push(batch(0, 0));
    let known = queue.take(FIRST).unwrap();
    queue.acknowledged(&known);
    for (ordinal, records) in (1..).zip(records) {
        queue.push(batch(ordinal, *records));
    }
    queue
}

fn sequence(batch: &Batch) -> (i16, i32) {
    let stamp = batch.stamp.expect("a stamp");
    (stamp.identity.epoch, stamp.base_sequence)
}

fn later(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn sequences_follow_the_number_of_records_without_gap() {
    let mut queue = queue_of(&[3, 5, 1]);
    let taken: Vec<_> = (0..3).map(|_| sequence(&queue.take(FIRST).unwrap())).collect();
    assert_eq!(taken, [(0, 0), (0, 3), (0, 8)]);
}

#[test]
fn sequences_pass_from_the_largest_to_zero() {
    assert_eq!(advance(i32::MAX, 1), 0);
    assert_eq!(advance(i32::MAX - 1, 1), i32::MAX);
    assert_eq!(advance(i32::MAX - 1, 5), 3);
}

#[tokio::test(start_paused = true)]
async fn an_open_batch_lingers_unless_it_is_flushed_or_somebody_waits_for_room() {
    let mut queue = Queue::new(RETRY);
    let mut open = batch(1, 1);
    open.closed = false;
    queue.push(open);
    let now = Instant::now();
    assert_eq!(queue.readiness(&due(), now), Ready::At(now + due().linger));
    assert_eq!(queue.readiness(&due(), now + due().linger), Ready::Now);
    assert_eq!(queue.readiness(&Due { flush_through: 1, ..due() }, now), Ready::Now);
    assert_eq!(queue.readiness(&Due { starved: true, ..due() }, now), Ready::Now);
}

#[tokio::test(start_paused = true)]
async fn no_more_batches_are_on_the_wire_than_brokers_remember() {
    let mut queue = queue_of(&[1; 6]);
    for _ in 0..MAX_ON_WIRE {
        assert_eq!(queue.readiness(&due(), Instant::now()), Ready::Now);
        queue.take(FIRST).unwrap();
    }
    assert_eq!(queue.readiness(&due(), Instant::now()), Ready::No);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_does_not_know_the_producer_gets_one_batch_at_a_time() {
    let mut queue = Queue::new(RETRY);
    queue.push(batch(1, 1));
    queue.push(batch(2, 1));
    queue.push(batch(3, 1));
    let first = queue.take(FIRST).unwrap();
    assert_eq!(queue.readiness(&due(), Instant::now()), Ready::No);
    queue.acknowledged(&first);
    assert_eq!(queue.readiness(&due(), Instant::now()), Ready::Now);
    queue.take(FIRST).unwrap();
    assert_eq!(queue.readiness(&due(), Instant::now()), Ready::Now);
}

#[tokio::test(start_paused = true)]
async fn batches_that_come_back_are_repeated_in_order_with_their_sequences() {
    let mut queue = queue_of(&[1, 1, 1]);
    let one = queue.take(FIRST).unwrap();
    let two = queue.take(FIRST).unwrap();
    let three = queue.take(FIRST).unwrap();
    let now = Instant::now();
    // The second comes back before anything is known of the first.
    queue.requeue(two, now);
    assert!(matches!(queue.readiness(&due(), now), Ready::At(_)));
    assert_eq!(queue.readiness(&due(), later(5)), Ready::No, "the first is on the wire");
    queue.requeue(three, now);
    queue.requeue(one, now);
    let order: Vec<_> = (0..3)
        .map(|_| {
            assert_eq!(queue.readiness(&due(), later(5)), Ready::Now);
            let batch = queue.take(FIRST).unwrap();
            let found = (batch.ordinal, sequence(&batch));
            queue.acknowledged(&batch);
            found
        })
        .collect();
    assert_eq!(order, [(1, (0, 0)), (2, (0, 1)), (3, (0, 2))]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_next_only_when_nothing_older_is_outstanding() {
    let mut queue = queue_of(&[1, 1]);
    let one = queue.take(FIRST).unwrap();
    let two = queue.take(FIRST).unwrap();
    assert!(queue.is_next(&one));
    assert!(!queue.is_next(&two));
    queue.requeue(one, Instant::now());
    assert!(!queue.is_next(&two));
    let one = queue.take(FIRST).unwrap();
    queue.acknowledged(&one);
    assert!(queue.is_next(&two));
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_everything_waits_for_the_wire_and_is_numbered_anew() {
    let mut queue = queue_of(&[2, 3, 4, 5]);
    let one = queue.take(FIRST).unwrap();
    let two = queue.take(FIRST).unwrap();
    let three = queue.take(FIRST).unwrap();
    queue.given_up(one.ordinal);
    assert!(!queue.wants_new_epoch(), "two are on the wire");
    assert_eq!(queue.readiness(&due(), later(5)), Ready::No);
    queue.requeue(two, Instant::now());
    queue.requeue(three, Instant::now());
    assert!(queue.wants_new_epoch());
    queue.renumber(SECOND);
    let taken: Vec<_> = (0..3)
        .map(|_| {
            let batch = queue.take(SECOND).unwrap();
            queue.acknowledged(&batch);
            (batch.ordinal, sequence(&batch))
        })
        .collect();
    assert_eq!(taken, [(2, (1, 0)), (3, (1, 3)), (4, (1, 7))]);
}

#[tokio::test(start_paused = true)]
async fn a_new_identity_is_adopted_only_when_nothing_of_the_old_is_outstanding() {
    let mut queue = queue_of(&[1, 1, 1]);
    let one = queue.take(FIRST).unwrap();
    let two = queue.take(SECOND).unwrap();
    assert_eq!(sequence(&two), (0, 1), "the first is on the wire under the old identity");
    queue.acknowledged(&one);
    queue.acknowledged(&two);
    assert_eq!(sequence(&queue.take(SECOND).unwrap()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_expired_batch_that_was_numbered_leaves_a_gap_and_a_fresh_one_does_not() {
    let mut queue = queue_of(&[1]);
    assert_eq!(queue.expired(&due(), later(121)).len(), 1);
    assert!(!queue.wants_new_epoch());

    let mut queue = queue_of(&[1]);
    let one = queue.take(FIRST).unwrap();
    assert!(queue.expired(&due(), later(121)).is_empty(), "on the wire nothing expires");
    queue.requeue(one, Instant::now());
    assert_eq!(queue.expired(&due(), later(121)).len(), 1);
    assert!(queue.wants_new_epoch());
}
