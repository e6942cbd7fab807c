//! Locks that end, deliveries that are counted, and bytes that cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use llingr_kafka::share::{AckType, ShareError};

use crate::common::{
    SOON, block_on, builder, explicit, from_earliest, lag, number, poll_count, produce, set_up,
};
use crate::support::{Cluster, NewRecord, one_at_a_time, unique};

#[test]
fn share_22_locks_that_end_in_the_middle_of_a_batch_cost_the_other_records_nothing() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, Some(Duration::from_secs(4))).await;
        let build = || builder(broker.bootstrap(), &group, &topic).options(explicit()).build();
        let slow = build().await.unwrap();
        poll_count(&slow, 10).await;
        slow.pause(&topic, 0);
        let other = build().await.unwrap();
        // The slow one keeps the first five and lets the others go.
        let mut taken = BTreeMap::new();
        let started = Instant::now();
        while taken.len() < 5 {
            assert!(started.elapsed() < SOON, "{taken:?}");
            slow.acknowledge_range(&topic, 0, 0, 4, AckType::Renew).unwrap();
            assert!(slow.commit(SOON).await.unwrap().is_ok());
            for record in other.poll(Duration::from_millis(300)).await.unwrap() {
                taken.insert(record.offset(), record.delivery_count());
            }
        }
        assert_eq!(taken, BTreeMap::from([(5, 2), (6, 2), (7, 2), (8, 2), (9, 2)]));
        assert_eq!(slow.acknowledge_range(&topic, 0, 0, 9, AckType::Accept).unwrap(), 10);
        let report = slow.commit(SOON).await.unwrap();
        assert_eq!(report.acknowledged(), 5, "{report:?}");
        let mut failed = BTreeSet::new();
        for failure in report.failures() {
            assert_eq!(failure.result.as_ref().unwrap_err().code, Some(121), "{failure:?}");
            failed.extend(failure.first_offset..=failure.last_offset);
        }
        assert_eq!(failed, BTreeSet::from([5, 6, 7, 8, 9]));
        assert_eq!(other.acknowledge_range(&topic, 0, 5, 9, AckType::Accept).unwrap(), 5);
        let report = other.commit(SOON).await.unwrap();
        assert_eq!((report.is_ok(), report.acknowledged()), (true, 5), "{report:?}");
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        slow.close(SOON).await.unwrap();
        other.close(SOON).await.unwrap();
    });
}

#[test]
fn share_42_records_that_fail_again_and_again_come_in_shrinking_batches_then_alone_then_never() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..16);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        let mut deliveries: BTreeMap<i64, Vec<i16>> = BTreeMap::new();
        // Largest number of records of one fetch, by delivery count; its records share a deadline.
        let mut largest: BTreeMap<i16, usize> = BTreeMap::new();
        let started = Instant::now();
        while deliveries.values().map(Vec::len).sum::<usize>() < 16 * 5 {
            assert!(started.elapsed() < SOON, "{deliveries:?}");
            let mut fetches: BTreeMap<_, usize> = BTreeMap::new();
            for record in consumer.poll(Duration::from_secs(1)).await.unwrap() {
                deliveries.entry(record.offset()).or_default().push(record.delivery_count());
                *fetches.entry((record.delivery_count(), record.lock_deadline())).or_default() += 1;
                consumer.acknowledge(&record, AckType::Release).unwrap();
            }
            for ((count, _), records) in fetches {
                let most = largest.entry(count).or_default();
                *most = records.max(*most);
            }
            consumer.commit(SOON).await.unwrap();
        }
        assert_eq!(deliveries.len(), 16);
        for (offset, counts) in &deliveries {
            assert_eq!(counts, &[1, 2, 3, 4, 5], "offset {offset}");
        }
        let sizes: Vec<usize> = largest.values().copied().collect();
        // Whole while a delivery costs little, then half of it, then the last attempt alone.
        assert_eq!(sizes, [16, 16, 16, 8, 1], "{largest:?}");
        // Archived by the last release: nobody gets them any more.
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        produce(&tool, &topic, 1, 16..17);
        let next = poll_count(&consumer, 1).await;
        assert_eq!(next.iter().map(number).collect::<Vec<_>>(), [16]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn automatic_renewal_keeps_a_record_beyond_its_lock_and_ends_at_its_bound() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..1);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, Some(Duration::from_secs(3))).await;
        let build = || builder(broker.bootstrap(), &group, &topic).options(explicit());
        // Longer than two locks, so that it must be renewed more than once.
        let slow = build().auto_renew(Duration::from_secs(7)).build().await.unwrap();
        let record = poll_count(&slow, 1).await.remove(0);
        slow.pause(&topic, 0);
        let first = record.lock_deadline();
        let started = Instant::now();
        let mut deadlines = BTreeSet::from([first]);
        let other = build().build().await.unwrap();
        let back = loop {
            assert!(started.elapsed() < SOON, "{deadlines:?}");
            deadlines.extend(slow.lock_deadline(&record));
            if let Some(back) = other.poll(Duration::from_millis(100)).await.unwrap().first() {
                break back.clone();
            }
        };
        // Two renewals at least, and none so late that its lock would reach beyond the bound and
        // one lock more.
        assert!(deadlines.len() >= 3, "{deadlines:?}");
        let last = *deadlines.last().unwrap();
        assert!(last - first <= Duration::from_secs(7), "{deadlines:?}");
        assert_eq!(back.delivery_count(), 2);
        assert!(Instant::now() >= last, "the lock was not kept until {last:?}");
        other.acknowledge(&back, AckType::Accept).unwrap();
        assert!(other.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        slow.close(SOON).await.unwrap();
        other.close(SOON).await.unwrap();
    });
}

#[test]
fn share_21_poison_bytes_in_the_log_are_told_and_rejected_and_what_is_around_them_arrives() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = cluster.tool();
    tool.create(&topic, 1).unwrap();
    // Each call makes a batch of its own.
    for n in 0..5 {
        let values: Vec<NewRecord> =
            (0..2).map(|i| NewRecord::keyless(format!("{}", 2 * n + i)).partition(0)).collect();
        let value = NewRecord::keyless(format!("poison-{n}")).partition(0);
        let batch = if n % 2 == 1 { vec![value.clone(), value] } else { values };
        assert_eq!(tool.produce(&topic, &batch).unwrap().len(), 2);
    }
    // Two batches get other bytes than their checksums say. After an orderly stop the broker does
    // not look at them.
    cluster.stop(1);
    let node = cluster.log_file(1).parent().unwrap().to_owned();
    let segment = node.join("data").join(format!("{topic}-0")).join("00000000000000000000.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    for poison in [&b"poison-1"[..], &b"poison-3"[..]] {
        let at = bytes.windows(poison.len()).position(|window| window == poison).unwrap();
        bytes[at] = b'P';
    }
    std::fs::write(&segment, bytes).unwrap();
    cluster.start(1);
    block_on(async {
        let bootstrap = cluster.bootstrap();
        from_earliest(&bootstrap, &group, None).await;
        let consumer =
            builder(&bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
        let (mut good, mut bad) = (BTreeSet::new(), BTreeSet::new());
        let started = Instant::now();
        while good.len() < 6 || bad.len() < 4 {
            assert!(started.elapsed() < SOON, "{good:?} {bad:?}");
            match consumer.poll(Duration::from_secs(1)).await {
                Ok(records) => {
                    for record in records {
                        assert_eq!(i64::from(number(&record)), record.offset());
                        consumer.acknowledge(&record, AckType::Accept).unwrap();
                        good.insert(record.offset());
                    }
                }
                Err(error @ ShareError::Corrupt { first_offset, last_offset, .. }) => {
                    assert!(!error.is_fatal());
                    let text = error.to_string();
                    assert!(text.contains(&format!("{topic}-0")), "{text}");
                    assert!(text.contains("checksum"), "{text}");
                    bad.extend(first_offset..=last_offset);
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(good, BTreeSet::from([0, 1, 4, 5, 8, 9]));
        assert_eq!(bad, BTreeSet::from([2, 3, 6, 7]));
        let report = consumer.commit(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(lag(&bootstrap, &group).await, [0], "rejected, not handed out for ever");
        consumer.close(SOON).await.unwrap();
    });
}
