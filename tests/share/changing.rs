//! Load while members, leaders, brokers and topics come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use llingr_kafka::Options;
use llingr_kafka::share::{AckType, ShareAdmin, ShareConsumer, ShareError};

use crate::common::{
    SOON, accept_count, block_on, builder, explicit, from_earliest, lag, poll_count, produce,
    set_up,
};
use crate::support::{
    Bulk, Cluster, Listener, Login, Mechanism, NewTopic, Tool, one_at_a_time, shared_secure_broker,
    unique,
};

/// Longest time for all the records of a test on a machine that is busy with other things.
const FEED: Duration = Duration::from_secs(240);

/// How often each record of a bulk was confirmed as accepted, over all members.
#[derive(Clone, Default)]
struct Confirmed(Arc<Mutex<BTreeMap<u64, usize>>>);

impl Confirmed {
    fn add(&self, numbers: impl IntoIterator<Item = u64>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.into_iter().for_each(|n| *all.entry(n).or_default() += 1);
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// None is missing, and none was confirmed twice.
    #[track_caller]
    fn is_exactly(&self, count: u64) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<u64> = (0..count).filter(|n| !all.contains_key(n)).collect();
        let twice: Vec<_> = all.iter().filter(|(_, n)| **n > 1).collect();
        assert!(missing.is_empty() && twice.is_empty(), "missing {missing:?}, twice {twice:?}");
        assert_eq!(all.len() as u64, count);
    }
}

/// Accepts what one poll brings and counts what the broker confirmed. A record whose
/// acknowledgement failed counts nothing: it comes again.
async fn work_once(consumer: &ShareConsumer, confirmed: &Confirmed) {
    let records = match consumer.poll(Duration::from_millis(300)).await {
        Ok(records) => records,
        Err(error) => return assert!(!error.is_fatal(), "{error}"),
    };
    if records.is_empty() {
        return;
    }
    let mut numbers = BTreeMap::new();
    for record in &records {
        // Refused where the leader has moved since the poll.
        if consumer.acknowledge(record, AckType::Accept).is_ok() {
            let number = Bulk::number_of(record.value().expect("a value"));
            numbers.insert((record.partition(), record.offset()), number);
        }
    }
    let report = consumer.commit(2 * SOON).await.expect("a commit");
    for done in report.results.iter().filter(|r| r.result.is_ok()) {
        assert_eq!(done.ack, Some(AckType::Accept), "{done:?}");
        let offsets = done.first_offset..=done.last_offset;
        confirmed.add(offsets.filter_map(|offset| numbers.remove(&(done.partition, offset))));
    }
}

#[test]
fn leaders_that_move_and_a_broker_that_restarts_lose_nothing_and_double_nothing() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().brokers(3).start();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = cluster.tool();
    tool.create_topic(&NewTopic::new(&topic, 3).replicas(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]))
        .unwrap();
    const COUNT: u64 = 12_000;
    block_on(async {
        let bootstrap = cluster.bootstrap();
        from_earliest(&bootstrap, &group, Some(Duration::from_secs(15))).await;
        let (confirmed, done) = (Confirmed::default(), Arc::new(AtomicBool::new(false)));
        let mut members = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let consumer =
                builder(&bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
            let (confirmed, done) = (confirmed.clone(), done.clone());
            members.spawn(async move {
                while !done.load(Relaxed) {
                    work_once(&consumer, &confirmed).await;
                }
                consumer.close(SOON).await.expect("a close");
            });
        }
        let bulk = Bulk::new(&topic, COUNT).round_robin(3).per_second(1000);
        let feed = tool.clone().limit(FEED).start_bulk(&bulk);
        tokio::task::block_in_place(|| {
            let reached = |share: u64| {
                let what = format!("{share} records to be accepted");
                crate::support::wait_until(&what, FEED, || confirmed.len() as u64 >= share);
            };
            reached(1000);
            tool.move_leader(&topic, 0, 2).unwrap();
            reached(3000);
            cluster.restart(3);
            reached(6000);
            tool.move_leader(&topic, 1, 3).unwrap();
            tool.move_leader(&topic, 0, 3).unwrap();
            reached(8000);
            let fed = feed.wait().unwrap();
            assert_eq!((fed.acked, fed.failed), (COUNT, 0), "{}", fed.first_error);
            reached(COUNT);
        });
        done.store(true, Relaxed);
        while let Some(ended) = members.join_next().await {
            ended.expect("no panic");
        }
        confirmed.is_exactly(COUNT);
        assert_eq!(lag(&bootstrap, &group).await, [0, 0, 0]);
    });
}

#[test]
fn ten_members_that_join_and_leave_lose_nothing_and_double_nothing() {
    const MEMBERS: usize = 10;
    const TURNS: usize = 4;
    const COUNT: u64 = 6000;
    let (broker, tool, topic, group) = set_up(3);
    block_on(async {
        let bootstrap = broker.bootstrap().to_owned();
        from_earliest(&bootstrap, &group, None).await;
        let admin = ShareAdmin::new(&bootstrap, &Options::new()).unwrap();
        // What a member that leaves had fetched ahead counts as delivered.
        admin.set_group_config(&group, "share.delivery.count.limit", Some("10")).await.unwrap();
        let (confirmed, started) = (Confirmed::default(), Instant::now());
        let bulk = Bulk::new(&topic, COUNT).round_robin(3).per_second(800);
        let feed = tool.clone().limit(FEED).start_bulk(&bulk);
        let mut members = tokio::task::JoinSet::new();
        for member in 0..MEMBERS {
            let (bootstrap, group, topic) = (bootstrap.clone(), group.clone(), topic.clone());
            let confirmed = confirmed.clone();
            members.spawn(async move {
                for turn in 0..TURNS {
                    let options = explicit().kafka_option("max.poll.records", "50");
                    let consumer =
                        builder(&bootstrap, &group, &topic).options(options).build().await.unwrap();
                    // Of different lengths, so that there is always one that comes or goes.
                    for _ in 0..2 + (member + turn) % 4 {
                        work_once(&consumer, &confirmed).await;
                    }
                    // Each one leaves once with records that it never acknowledged.
                    if turn == 1 {
                        drop(consumer.poll(Duration::from_millis(100)).await.expect("a poll"));
                    }
                    // The last turn lasts until everything is done: members that only come and go
                    // would use up the deliveries of what they release.
                    while turn + 1 == TURNS && (confirmed.len() as u64) < COUNT {
                        assert!(started.elapsed() < FEED, "{} confirmed", confirmed.len());
                        work_once(&consumer, &confirmed).await;
                    }
                    let report = consumer.close(SOON).await.expect("a close");
                    assert!(report.is_ok(), "{report:?}");
                }
            });
        }
        while let Some(ended) = members.join_next().await {
            ended.expect("no panic");
        }
        let fed = feed.wait().unwrap();
        assert_eq!((fed.acked, fed.failed), (COUNT, 0), "{}", fed.first_error);
        confirmed.is_exactly(COUNT);
        assert_eq!(lag(&bootstrap, &group).await, [0, 0, 0]);
    });
}

#[test]
fn share_11_a_topic_deleted_and_made_again_fails_its_acks_and_is_read_from_its_new_start() {
    let broker = shared_secure_broker();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = broker.tool();
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let consumer =
            builder(broker.bootstrap(), &group, &topic).options(explicit()).build().await.unwrap();
        let old = poll_count(&consumer, 10).await;
        for record in &old[..4] {
            consumer.acknowledge(record, AckType::Accept).unwrap();
        }
        let report = consumer.commit(SOON).await.unwrap();
        assert_eq!((report.is_ok(), report.acknowledged()), (true, 4), "{report:?}");
        tool.delete_topic(&topic).unwrap();
        // Unknown at once, or gone with its leader: either way it does not wait for the lock. Kafka
        // 4.4 also says UNKNOWN_SERVER_ERROR while it is taking the topic down.
        let mut failed = BTreeSet::new();
        for record in &old[4..] {
            match consumer.acknowledge(record, AckType::Accept) {
                Ok(()) => {}
                Err(ShareError::NotHeld { .. }) => drop(failed.insert(record.offset())),
                Err(other) => panic!("{other}"),
            }
        }
        let report = consumer.commit(SOON).await.unwrap();
        assert_eq!(report.acknowledged(), 0, "{report:?}");
        for failure in report.failures() {
            let code = failure.result.as_ref().unwrap_err().code;
            assert!(matches!(code, Some(-1 | 3 | 6 | 100)), "{failure:?}");
            failed.extend(failure.first_offset..=failure.last_offset);
        }
        assert_eq!(failed, (4..10).collect());
        tool.create(&topic, 1).unwrap();
        // Another way in, so that the tool has not met the old topic's id there.
        let conn =
            shared_secure_broker().conn(Listener::SaslPlaintext, &Login::new(Mechanism::Plain));
        produce(&Tool::new(conn), &topic, 1, 100..107);
        let mut seen = BTreeMap::new();
        let started = Instant::now();
        while seen.len() < 7 {
            assert!(started.elapsed() < SOON, "{seen:?}");
            // That the topic was away is an error that passes.
            let Ok(records) = consumer.poll(Duration::from_secs(1)).await else { continue };
            for record in records {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
                assert_eq!(crate::common::number(&record), 100 + record.offset() as i32);
                seen.insert(record.offset(), record.delivery_count());
            }
        }
        assert!(seen.keys().copied().eq(0..7) && seen.values().all(|n| *n == 1), "{seen:?}");
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        assert_eq!(consumer.assignment(), [(topic.clone(), 0)]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn share_38_dropping_one_of_two_consumers_of_a_process_releases_its_records_alone() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, Some(Duration::from_secs(60))).await;
        let build = |records: &str| {
            let options = explicit()
                .kafka_option("max.poll.records", records)
                .kafka_option("share.acquire.mode", "record_limit");
            builder(broker.bootstrap(), &group, &topic).options(options).build()
        };
        let (stays, dies) = (build("4").await.unwrap(), build("6").await.unwrap());
        let kept = poll_count(&stays, 4).await;
        let lost = poll_count(&dies, 6).await;
        // No close: as if it had been killed, but for its connections. The locks are good for a
        // minute, so only their release brings the records back within this test.
        drop(dies);
        let third = build("10").await.unwrap();
        let back = accept_count(&third, 6).await;
        let expected: BTreeSet<i32> = lost.iter().map(crate::common::number).collect();
        assert_eq!(back.keys().copied().collect::<BTreeSet<_>>(), expected);
        assert!(back.values().all(|count| *count == 2), "{back:?}");
        assert!(third.commit(SOON).await.unwrap().is_ok());
        for record in &kept {
            stays.acknowledge(record, AckType::Accept).unwrap();
        }
        let report = stays.commit(SOON).await.unwrap();
        assert_eq!((report.is_ok(), report.acknowledged()), (true, 4), "{report:?}");
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
        stays.close(SOON).await.unwrap();
        third.close(SOON).await.unwrap();
    });
}
