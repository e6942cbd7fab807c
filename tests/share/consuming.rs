use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use llingr_kafka::share::{AckType, ShareAdmin, ShareError};
use llingr_kafka::{Metrics, Options};

use crate::common::{
    SOON, accept_count, block_on, builder, explicit, from_earliest, lag, number, poll_count,
    produce, set_up,
};
use crate::support::{shared_broker, unique};

#[test]
fn implicit_mode_accepts_with_the_next_poll_and_hands_out_each_record_once() {
    let (broker, tool, topic, group) = set_up(3);
    produce(&tool, &topic, 3, 0..3000);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let metrics = Metrics::registry();
        let consumer =
            builder(broker.bootstrap(), &group, &topic).metrics(&metrics).build().await.unwrap();
        let records = poll_count(&consumer, 3000).await;
        let numbers: BTreeSet<i32> = records.iter().map(number).collect();
        assert_eq!((records.len(), numbers.len()), (3000, 3000));
        assert!(records.iter().all(|record| record.delivery_count() == 1));
        let report = consumer.commit(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(lag(broker.bootstrap(), &group).await, [0, 0, 0]);
        let scraped = metrics.handle().scrape();
        let expected = format!(
            "llingr_share_acknowledged_total{{consumer_group=\"{group}\",type=\"accept\"}} 3000"
        );
        assert!(scraped.contains(&expected), "{scraped}");
        assert_eq!(consumer.assignment().len(), 3);
        assert!(consumer.ready().ready);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn share_35_implicit_mode_releases_the_records_of_the_last_poll_on_close() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let first = builder(broker.bootstrap(), &group, &topic).build().await.unwrap();
        poll_count(&first, 10).await;
        let report = first.close(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(report.acknowledged(), 10);
        let second = builder(broker.bootstrap(), &group, &topic).build().await.unwrap();
        let again = poll_count(&second, 10).await;
        assert!(again.iter().all(|record| record.delivery_count() == 2), "{again:?}");
        second.close(SOON).await.unwrap();
        assert!(matches!(second.poll(SOON).await, Err(ShareError::Closed)));
    });
}

#[test]
fn accept_release_and_reject_have_their_effects_and_the_report_names_the_ranges() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        let records = poll_count(&consumer, 10).await;
        for record in &records {
            let ack = match record.offset() {
                0..=3 => AckType::Accept,
                4..=6 => AckType::Reject,
                _ => AckType::Release,
            };
            consumer.acknowledge(record, ack).unwrap();
        }
        let report = consumer.commit(SOON).await.unwrap();
        let ranges: Vec<_> = report
            .results
            .iter()
            .map(|r| (r.first_offset, r.last_offset, r.ack, r.result.is_ok()))
            .collect();
        assert_eq!(
            ranges,
            [
                (0, 3, Some(AckType::Accept), true),
                (4, 6, Some(AckType::Reject), true),
                (7, 9, Some(AckType::Release), true),
            ]
        );
        let again = consumer.acknowledge(&records[0], AckType::Accept).unwrap_err();
        assert!(matches!(again, ShareError::NotHeld { first_offset: 0, .. }), "{again}");
        let back = poll_count(&consumer, 3).await;
        let back: Vec<_> = back.iter().map(|r| (r.offset(), r.delivery_count())).collect();
        assert_eq!(back, [(7, 2), (8, 2), (9, 2)]);
        assert_eq!(consumer.acknowledge_range(&topic, 0, 0, 100, AckType::Accept).unwrap(), 3);
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn a_renewed_lock_outlives_the_first_one() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..1);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, Some(Duration::from_secs(15))).await;
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        let record = poll_count(&consumer, 1).await.remove(0);
        let before = consumer.lock_deadline(&record).unwrap();
        consumer.acknowledge(&record, AckType::Renew).unwrap();
        let report = consumer.commit(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(report.results[0].ack, Some(AckType::Renew));
        assert!(consumer.lock_deadline(&record).unwrap() > before);
        consumer.acknowledge(&record, AckType::Accept).unwrap();
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn strict_mode_refuses_a_poll_before_everything_is_acknowledged() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..5);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer = builder(broker.bootstrap(), &group, &topic)
            .options(explicit())
            .strict(true)
            .build()
            .await
            .unwrap();
        poll_count(&consumer, 5).await;
        consumer.acknowledge_offset(&topic, 0, 0, AckType::Accept).unwrap();
        let error = consumer.poll(SOON).await.unwrap_err();
        assert!(matches!(error, ShareError::Unacknowledged { count: 4, offset: 1, .. }), "{error}");
        assert_eq!(consumer.acknowledge_range(&topic, 0, 1, 4, AckType::Accept).unwrap(), 4);
        assert!(consumer.poll(Duration::from_millis(100)).await.unwrap().is_empty());
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn two_consumers_share_one_partition_and_no_record_is_handed_out_twice() {
    let (broker, tool, topic, group) = set_up(1);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let options = || explicit().kafka_option("max.poll.records", "20");
        let a = builder(broker.bootstrap(), &group, &topic).options(options()).build();
        let b = builder(broker.bootstrap(), &group, &topic).options(options()).build();
        let (a, b) = (a.await.unwrap(), b.await.unwrap());
        let mut seen = BTreeSet::new();
        let (mut from_a, mut from_b) = (0, 0);
        let mut produced = 0;
        let started = Instant::now();
        // Until each of them got some: which one is faster is not ours to say.
        while from_a == 0 || from_b == 0 || seen.len() < produced as usize {
            assert!(started.elapsed() < SOON, "{from_a} and {from_b} of {produced}");
            if seen.len() == produced as usize {
                produce(&tool, &topic, 1, produced..produced + 200);
                produced += 200;
            }
            for (consumer, count) in [(&a, &mut from_a), (&b, &mut from_b)] {
                for record in consumer.poll(Duration::from_millis(100)).await.unwrap() {
                    assert!(seen.insert(number(&record)), "{record:?} came twice");
                    consumer.acknowledge(&record, AckType::Accept).unwrap();
                    *count += 1;
                }
            }
        }
        assert!(a.commit(SOON).await.unwrap().is_ok());
        assert!(b.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        a.close(SOON).await.unwrap();
        b.close(SOON).await.unwrap();
    });
}

#[test]
fn record_limit_mode_never_exceeds_the_limit_of_a_poll() {
    let (broker, tool, topic, group) = set_up(2);
    produce(&tool, &topic, 2, 0..100);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let options = Options::new()
            .kafka_option("share.acquire.mode", "record_limit")
            .kafka_option("max.poll.records", "7");
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(options).build().await.unwrap();
        let mut seen = BTreeSet::new();
        let started = Instant::now();
        while seen.len() < 100 {
            assert!(started.elapsed() < SOON, "{} records", seen.len());
            let records = consumer.poll(Duration::from_secs(1)).await.unwrap();
            assert!(records.len() <= 7);
            seen.extend(records.iter().map(number));
        }
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn topics_can_be_changed_and_partitions_paused() {
    let broker = shared_broker();
    let (one, two, group) = (unique("share"), unique("share"), unique("group"));
    let tool = broker.tool();
    tool.create(&one, 1).unwrap();
    tool.create(&two, 1).unwrap();
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer =
            builder(broker.bootstrap(), &group, &one).options(explicit()).build().await.unwrap();
        produce(&tool, &one, 1, 0..5);
        assert_eq!(accept_count(&consumer, 5).await.len(), 5);
        consumer.subscribe([two.as_str()]).unwrap();
        produce(&tool, &two, 1, 100..105);
        assert_eq!(accept_count(&consumer, 5).await.keys().min(), Some(&100));
        assert_eq!(consumer.assignment(), [(two.clone(), 0)]);
        consumer.pause(&two, 0);
        // A fetch from before the pause may still be on its way; its records are given back.
        produce(&tool, &two, 1, 105..106);
        assert!(consumer.poll(Duration::from_millis(1500)).await.unwrap().is_empty());
        consumer.resume(&two, 0);
        assert_eq!(accept_count(&consumer, 1).await.keys().max(), Some(&105));
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn the_runner_accepts_what_succeeds_and_brings_back_what_fails_or_panics() {
    use std::sync::{Arc, Mutex};
    let (broker, tool, topic, group) = set_up(2);
    produce(&tool, &topic, 2, 0..50);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer = builder(broker.bootstrap(), &group, &topic).build().await.unwrap();
        let done: Arc<Mutex<BTreeSet<i32>>> = Arc::default();
        let (seen, stop) = (done.clone(), consumer.stopper());
        let handler = move |record: llingr_kafka::share::ShareRecord| {
            let (seen, stop) = (seen.clone(), stop.clone());
            async move {
                let n = number(&record);
                if record.delivery_count() == 1 && n % 10 == 3 {
                    return Err("try again");
                }
                assert!(record.delivery_count() > 1 || n % 10 != 7, "panics once");
                let mut seen = seen.lock().unwrap();
                assert!(seen.insert(n), "{n} succeeded twice");
                if seen.len() == 50 {
                    stop();
                }
                Ok(())
            }
        };
        let report = tokio::time::timeout(SOON, consumer.run(handler, 8)).await.unwrap().unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(done.lock().unwrap().len(), 50);
        assert_eq!(lag(broker.bootstrap(), &group).await, [0, 0]);
    });
}

#[test]
fn share_05_a_poll_can_be_dropped_and_woken() {
    let (broker, tool, topic, group) = set_up(1);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        produce(&tool, &topic, 1, 0..200);
        let mut seen = BTreeSet::new();
        let started = Instant::now();
        while seen.len() < 200 {
            assert!(started.elapsed() < SOON, "{} records", seen.len());
            // Most of these polls are dropped while they wait.
            let poll = consumer.poll(SOON);
            if let Ok(records) = tokio::time::timeout(Duration::from_millis(3), poll).await {
                for record in records.unwrap() {
                    assert!(seen.insert(record.offset()));
                    assert_eq!(record.delivery_count(), 1);
                    consumer.acknowledge(&record, AckType::Accept).unwrap();
                }
            }
        }
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        let waiting = consumer.poll(SOON);
        let waker = consumer.clone();
        let (woken, ()) = tokio::join!(waiting, async move { waker.wakeup() });
        assert!(matches!(woken, Err(ShareError::Wakeup)), "{woken:?}");
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn groups_are_described_and_their_offsets_listed_moved_and_deleted() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let admin = ShareAdmin::new(broker.bootstrap(), &Options::new()).unwrap();
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        accept_count(&consumer, 10).await;
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        let described = admin.describe_group(&group).await.unwrap();
        assert_eq!((described.state.as_str(), described.members.len()), ("Stable", 1));
        assert_eq!(described.members[0].id, consumer.member_id());
        assert_eq!(described.members[0].assignment, [(topic.clone(), 0)]);
        consumer.close(SOON).await.unwrap();
        let described = admin.describe_group(&group).await.unwrap();
        assert_eq!((described.state.as_str(), described.members.len()), ("Empty", 0));
        let offsets = admin.list_offsets(&group, None).await.unwrap();
        assert_eq!((offsets.len(), offsets[0].lag), (1, Some(0)));
        admin.alter_offsets(&group, &topic, &[(0, 4)]).await.unwrap();
        let asked = [(topic.as_str(), vec![0])];
        let offsets = admin.list_offsets(&group, Some(&asked)).await.unwrap();
        assert_eq!(offsets[0].start_offset, Some(4));
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        let again = accept_count(&consumer, 6).await;
        assert_eq!(again.keys().copied().collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9]);
        consumer.close(SOON).await.unwrap();
        admin.delete_offsets(&group, &[&topic]).await.unwrap();
        assert!(admin.list_offsets(&group, None).await.unwrap().is_empty());
        let config = admin.group_config(&group).await.unwrap();
        let reset = config.iter().find(|(name, _)| name == "share.auto.offset.reset").unwrap();
        assert_eq!(reset.1.as_deref(), Some("earliest"));
        admin.delete_group(&group).await.unwrap();
        assert!(admin.describe_group(&group).await.is_err());
    });
}
