//! What the tests of share groups have in common.

use std::collections::BTreeMap;
use std::time::Duration;

use llingr_kafka::Options;
use llingr_kafka::share::{AckType, ShareAdmin, ShareConsumer, ShareConsumerBuilder, ShareRecord};

use crate::support::{NewRecord, SharedBroker, Tool, shared_broker, unique};

pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A runtime of two threads, as services have.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

pub(crate) fn explicit() -> Options {
    Options::new().kafka_option("share.acknowledgement.mode", "explicit")
}

/// The broker that tests share, a new topic on it, and the name of a group.
pub(crate) fn set_up(partitions: i32) -> (&'static SharedBroker, Tool, String, String) {
    let broker = shared_broker();
    let (topic, group) = (unique("share"), unique("group"));
    let tool = broker.tool();
    tool.create(&topic, partitions).unwrap();
    (broker, tool, topic, group)
}

/// A builder for one topic.
pub(crate) fn builder(bootstrap: &str, group: &str, topic: &str) -> ShareConsumerBuilder {
    ShareConsumer::builder(group, [topic]).brokers(bootstrap)
}

/// Makes a new group begin at the first record; with a lock duration if given.
pub(crate) async fn from_earliest(bootstrap: &str, group: &str, lock: Option<Duration>) {
    let admin = ShareAdmin::new(bootstrap, &Options::new()).expect("an admin");
    admin.set_group_config(group, "share.auto.offset.reset", Some("earliest")).await.unwrap();
    if let Some(lock) = lock {
        let millis = lock.as_millis().to_string();
        admin
            .set_group_config(group, "share.record.lock.duration.ms", Some(&millis))
            .await
            .unwrap();
    }
}

/// Records of the group that are not settled, by partition. The start offset alone would not tell:
/// brokers store it with the next change only.
pub(crate) async fn lag(bootstrap: &str, group: &str) -> Vec<i64> {
    let admin = ShareAdmin::new(bootstrap, &Options::new()).expect("an admin");
    let offsets = admin.list_offsets(group, None).await.expect("offsets");
    offsets.iter().map(|offset| offset.lag.expect("a broker that tells the lag")).collect()
}

/// Records with their number as value, keyless, to partition `n % partitions`.
pub(crate) fn produce(tool: &Tool, topic: &str, partitions: i32, numbers: std::ops::Range<i32>) {
    let records: Vec<NewRecord> = numbers
        .map(|n| NewRecord { partition: Some(n % partitions), ..NewRecord::keyless(n.to_string()) })
        .collect();
    tool.produce(topic, &records).expect("produced");
}

pub(crate) fn number(record: &ShareRecord) -> i32 {
    std::str::from_utf8(record.value().expect("a value")).unwrap().parse().expect("a number")
}

/// Polls until `count` records came; panics after a minute.
pub(crate) async fn poll_count(consumer: &ShareConsumer, count: usize) -> Vec<ShareRecord> {
    let mut records = Vec::new();
    let started = tokio::time::Instant::now();
    while records.len() < count {
        assert!(started.elapsed() < SOON, "{} of {count} records came", records.len());
        records.extend(consumer.poll(Duration::from_secs(1)).await.expect("a poll"));
    }
    records
}

/// As [`poll_count`], accepting each record, in explicit mode.
pub(crate) async fn accept_count(consumer: &ShareConsumer, count: usize) -> BTreeMap<i32, i16> {
    let mut seen = BTreeMap::new();
    let started = tokio::time::Instant::now();
    while seen.len() < count {
        assert!(started.elapsed() < SOON, "{} of {count} records came", seen.len());
        for record in consumer.poll(Duration::from_secs(1)).await.expect("a poll") {
            consumer.acknowledge(&record, AckType::Accept).expect("held");
            seen.insert(number(&record), record.delivery_count());
        }
    }
    seen
}
