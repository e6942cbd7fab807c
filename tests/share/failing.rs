use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use llingr_kafka::share::{AckType, ShareError};
use serde::{Deserialize, Serialize};

use crate::common::{
    SOON, accept_count, block_on, builder, explicit, from_earliest, lag, number, poll_count,
    produce, set_up,
};
use crate::support::{Child, ChildSide, Cluster, Proxy, child_side, one_at_a_time, unique};

#[derive(Serialize, Deserialize)]
struct Member {
    bootstrap: String,
    group: String,
    topic: String,
}

/// Accepts what comes, tells after each commit what was accepted for sure, and before it what it
/// holds.
fn work(side: &ChildSide) {
    let Member { bootstrap, group, topic } = side.args();
    block_on(async {
        let options = explicit().kafka_option("max.poll.records", "50");
        let consumer = builder(&bootstrap, &group, &topic).options(options).build().await.unwrap();
        loop {
            let records = consumer.poll(Duration::from_secs(1)).await.unwrap();
            if records.is_empty() {
                continue;
            }
            let numbers: Vec<i32> = records.iter().map(number).collect();
            side.emit("holds", &numbers);
            for record in &records {
                consumer.acknowledge(record, AckType::Accept).unwrap();
            }
            if consumer.commit(SOON).await.unwrap().is_ok() {
                side.emit("accepted", &numbers);
            }
        }
    });
}

#[test]
fn share_38_kill_9_of_one_of_three_consumers_loses_nothing() {
    if let Some(side) = child_side() {
        return work(&side);
    }
    let (broker, tool, topic, group) = set_up(3);
    block_on(from_earliest(broker.bootstrap(), &group, Some(Duration::from_secs(15))));
    let args = Member {
        bootstrap: broker.bootstrap().to_owned(),
        group: group.clone(),
        topic: topic.clone(),
    };
    let name = "failing::share_38_kill_9_of_one_of_three_consumers_loses_nothing";
    let mut children: Vec<Child> = (0..3).map(|_| Child::spawn(name, &args)).collect();
    produce(&tool, &topic, 3, 0..3000);
    children[0].wait_event("holds", SOON);
    produce(&tool, &topic, 3, 3000..6000);
    children[0].kill9();
    crate::support::wait_until("everything to be settled", 2 * SOON, || {
        block_on(lag(broker.bootstrap(), &group)) == [0, 0, 0]
    });
    let numbers = |child: &Child, name: &str| -> Vec<i32> {
        let events = child.events().into_iter().filter(|event| event.name == name);
        events.flat_map(|event| event.data::<Vec<i32>>()).collect()
    };
    // A confirmation that has reached a child may not have been told yet.
    let told = || -> BTreeMap<i32, usize> {
        let mut told = BTreeMap::new();
        for n in children.iter().flat_map(|child| numbers(child, "accepted")) {
            *told.entry(n).or_default() += 1;
        }
        told
    };
    // The killed one may have accepted what it held without telling; nobody else may.
    let held: BTreeSet<i32> = numbers(&children[0], "holds").into_iter().collect();
    crate::support::wait_until("every record to be accepted", SOON, || {
        let told = told();
        (0..6000).all(|n| told.contains_key(&n) || held.contains(&n))
    });
    // Whatever was confirmed as accepted is never handed out again.
    let twice: Vec<_> = told().into_iter().filter(|(_, count)| *count > 1).collect();
    assert!(twice.is_empty(), "accepted twice: {twice:?}");
}

#[test]
fn share_10_a_broker_restart_ends_every_acknowledgement_and_consumption_goes_on() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = cluster.tool();
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..20);
    block_on(async {
        from_earliest(&cluster.bootstrap(), &group, None).await;
        let consumer = builder(&cluster.bootstrap(), &group, &topic)
            .options(explicit())
            .build()
            .await
            .unwrap();
        let records = poll_count(&consumer, 20).await;
        for record in &records[..10] {
            consumer.acknowledge(record, AckType::Accept).unwrap();
        }
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        for record in &records[10..15] {
            consumer.acknowledge(record, AckType::Accept).unwrap();
        }
        cluster.restart(1);
        // Its locks went with the broker: the commit ends, with failures or in time.
        let report = consumer.commit(2 * SOON).await.unwrap();
        assert!(report.results.iter().all(|r| r.first_offset >= 10 && r.last_offset < 15));
        // The last five were never acknowledged; those before may have been taken or not.
        let mut seen = BTreeSet::new();
        let started = Instant::now();
        while lag(&cluster.bootstrap(), &group).await != [0] {
            assert!(started.elapsed() < SOON, "{seen:?}");
            for record in consumer.poll(Duration::from_secs(1)).await.unwrap() {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
                seen.insert(number(&record));
            }
            consumer.commit(SOON).await.unwrap();
        }
        assert!((15..20).all(|n| seen.contains(&n)) && seen.iter().all(|n| (10..20).contains(n)));
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn share_41_a_connection_whose_end_the_broker_does_not_see_costs_no_more_than_the_locks_time() {
    let _turn = one_at_a_time();
    let proxy = std::sync::Arc::new(Proxy::new());
    let cluster = Cluster::builder().behind(&proxy).start();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = cluster.tool();
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        let bootstrap = proxy.address();
        from_earliest(&bootstrap, &group, Some(Duration::from_secs(5))).await;
        let before = proxy.count();
        let consumer =
            builder(&bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
        let records = poll_count(&consumer, 10).await;
        assert_eq!(consumer.acknowledge_range(&topic, 0, 0, 3, AckType::Accept).unwrap(), 4);
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert!(proxy.cut_clients(before) > 0);
        // Too late: the lock belongs to the old connection. Either this consumer knows already, or
        // it learns by sending.
        if consumer.acknowledge(&records[4], AckType::Accept).is_ok() {
            let report = consumer.commit(SOON).await.unwrap();
            assert_eq!((report.failures().count(), report.acknowledged()), (1, 0), "{report:?}");
        }
        let mut back = BTreeMap::new();
        let started = Instant::now();
        while back.len() < 6 {
            assert!(started.elapsed() < SOON, "{back:?}");
            for record in consumer.poll(Duration::from_secs(1)).await.unwrap() {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
                back.insert(record.offset(), record.delivery_count());
            }
        }
        assert!(back.keys().copied().eq(4..10) && back.values().all(|n| *n == 2), "{back:?}");
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(lag(&bootstrap, &group).await, [0]);
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn close_ends_in_time_whatever_the_state() {
    let (broker, tool, topic, group) = set_up(1);
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(broker.bootstrap(), &group, None).await;
        let build = || builder(broker.bootstrap(), &group, &topic).options(explicit()).build();
        // Just built, before anything was answered.
        let consumer = build().await.unwrap();
        consumer.close(SOON).await.unwrap();
        consumer.close(SOON).await.unwrap();
        // With a poll that waits.
        let consumer = build().await.unwrap();
        poll_count(&consumer, 10).await;
        let (poll, close) = tokio::join!(consumer.poll(SOON), consumer.close(SOON));
        assert!(matches!(poll, Err(ShareError::Closed)), "{poll:?}");
        assert_eq!(close.unwrap().acknowledged(), 10, "released");
        // With acknowledgements queued: they are sent.
        let consumer = build().await.unwrap();
        accept_count(&consumer, 10).await;
        let report = consumer.close(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(lag(broker.bootstrap(), &group).await, [0]);
    });
}

#[test]
fn close_with_a_frozen_broker_ends_at_its_deadline() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = cluster.tool();
    tool.create(&topic, 1).unwrap();
    produce(&tool, &topic, 1, 0..10);
    block_on(async {
        from_earliest(&cluster.bootstrap(), &group, None).await;
        let consumer = builder(&cluster.bootstrap(), &group, &topic)
            .options(explicit())
            .build()
            .await
            .unwrap();
        accept_count(&consumer, 10).await;
        cluster.freeze(1);
        let started = Instant::now();
        let error = consumer.close(Duration::from_secs(2)).await.unwrap_err();
        assert!(matches!(error, ShareError::Timeout { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        cluster.thaw(1);
    });
}

#[test]
fn no_broker_at_all_is_an_error_of_build_that_names_the_address() {
    block_on(async {
        let options = explicit().kafka_option("default.api.timeout.ms", "1000");
        let build = builder("127.0.0.1:1", "g", "t").options(options).build();
        let error = build.await.map(drop).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    });
}
