//! What works with each version of Apache Kafka, and what is said where something does not.

use std::time::Duration;

use llingr_kafka::Options;
use llingr_kafka::share::{AckType, ShareAdmin, ShareError};

use crate::common::{
    SOON, accept_count, block_on, builder, explicit, from_earliest, poll_count, produce,
};
use crate::support::{Cluster, KafkaVersion, Tool, one_at_a_time, unique};

/// Consumes, releases, accepts and closes; the same with every version.
async fn round_trip(bootstrap: &str, tool: &Tool) -> (String, String) {
    let (topic, group) = (unique("share"), unique("group"));
    tool.create(&topic, 2).unwrap();
    produce(tool, &topic, 2, 0..20);
    from_earliest(bootstrap, &group, None).await;
    let consumer = builder(bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
    let records = poll_count(&consumer, 20).await;
    assert!(records.iter().all(|record| record.delivery_count() == 1));
    for record in &records {
        let ack = if record.offset() < 3 { AckType::Release } else { AckType::Accept };
        consumer.acknowledge(record, ack).unwrap();
    }
    let report = consumer.commit(SOON).await.unwrap();
    assert_eq!((report.is_ok(), report.acknowledged()), (true, 20), "{report:?}");
    let again = accept_count(&consumer, 6).await;
    assert!(again.values().all(|count| *count == 2), "{again:?}");
    let report = consumer.close(SOON).await.unwrap();
    assert_eq!((report.is_ok(), report.acknowledged()), (true, 6), "{report:?}");
    // Nothing is left for a second member.
    let second = builder(bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
    produce(tool, &topic, 2, 20..21);
    let last = accept_count(&second, 1).await;
    assert_eq!(last.into_iter().collect::<Vec<_>>(), [(20, 1)]);
    assert!(second.close(SOON).await.unwrap().is_ok());
    (topic, group)
}

#[test]
fn kafka_4_1_with_its_preview_switched_on_serves_all_but_what_came_later() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().version(KafkaVersion::V4_1).feature("share.version", 1);
    let cluster = cluster.start();
    let (bootstrap, tool) = (cluster.bootstrap(), cluster.tool());
    block_on(async {
        let (topic, group) = round_trip(&bootstrap, &tool).await;
        // Version 0 of the offsets' list does not tell the lag.
        let admin = ShareAdmin::new(&bootstrap, &Options::new()).unwrap();
        let offsets = admin.list_offsets(&group, None).await.unwrap();
        assert!(offsets.len() == 2 && offsets.iter().all(|o| o.lag.is_none()), "{offsets:?}");
        // Renewals and exact limits came with 4.2.
        produce(&tool, &topic, 2, 21..22);
        let consumer =
            builder(&bootstrap, &group, &topic).options(explicit()).build().await.unwrap();
        let record = poll_count(&consumer, 1).await.remove(0);
        let error = consumer.acknowledge(&record, AckType::Renew).unwrap_err();
        assert!(error.to_string().contains("Kafka 4.2"), "{error}");
        consumer.acknowledge(&record, AckType::Accept).unwrap();
        assert!(consumer.close(SOON).await.unwrap().is_ok());
        let exact = explicit().kafka_option("share.acquire.mode", "record_limit");
        let consumer = builder(&bootstrap, &group, &topic).options(exact).build().await.unwrap();
        let error = consumer.poll(SOON).await.unwrap_err();
        assert!(matches!(error, ShareError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("batch_optimized"), "{error}");
        consumer.close(SOON).await.unwrap();
    });
}

#[test]
fn kafka_4_2_serves_everything() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().version(KafkaVersion::V4_2).start();
    let (bootstrap, tool) = (cluster.bootstrap(), cluster.tool());
    block_on(async {
        let (topic, group) = round_trip(&bootstrap, &tool).await;
        let admin = ShareAdmin::new(&bootstrap, &Options::new()).unwrap();
        let lags: Vec<_> =
            admin.list_offsets(&group, None).await.unwrap().iter().map(|o| o.lag).collect();
        assert_eq!(lags, [Some(0), Some(0)]);
        produce(&tool, &topic, 2, 21..29);
        let exact = explicit()
            .kafka_option("share.acquire.mode", "record_limit")
            .kafka_option("max.poll.records", "3");
        let consumer = builder(&bootstrap, &group, &topic).options(exact).build().await.unwrap();
        let records = poll_count(&consumer, 1).await;
        assert!(records.len() <= 3, "{records:?}");
        for record in &records {
            consumer.acknowledge(record, AckType::Renew).unwrap();
        }
        let report = consumer.commit(SOON).await.unwrap();
        assert!(report.is_ok() && report.acknowledged() == records.len() as u64, "{report:?}");
        for record in &records {
            consumer.acknowledge(record, AckType::Accept).unwrap();
        }
        assert_eq!(accept_count(&consumer, 8 - records.len()).await.len(), 8 - records.len());
        assert!(consumer.close(SOON).await.unwrap().is_ok());
        let report = admin.list_offsets(&group, None).await.unwrap();
        assert!(report.iter().all(|offset| offset.lag == Some(0)), "{report:?}");
    });
}

#[test]
fn a_broker_without_share_groups_gives_an_error_that_names_the_setting() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().version(KafkaVersion::V4_1).start();
    let (topic, group) = (unique("share"), unique("group"));
    cluster.tool().create(&topic, 1).unwrap();
    block_on(async {
        let error = match builder(&cluster.bootstrap(), &group, &topic).build().await {
            Err(error) => error,
            Ok(consumer) => consumer.poll(Duration::from_secs(60)).await.unwrap_err(),
        };
        assert!(matches!(error, ShareError::Unsupported(_)), "{error:?}");
        assert!(error.is_fatal() && error.to_string().contains("share.version"), "{error}");
    });
}
