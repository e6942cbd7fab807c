//! Against scripted brokers: the stream, health and metrics.

use std::time::{Duration, SystemTime};

use super::scripted::*;
use super::*;
use crate::metrics::Metrics;
use crate::snapshot::State;

/// What was sent, without session epochs.
fn sent(log: &Log) -> Vec<(i64, i64, i8)> {
    acknowledged(log).iter().map(|ack| (ack.1, ack.2, ack.3)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_yields_every_record_and_accepts_a_poll_with_the_next_one() {
    let brokers = Brokers {
        on_fetch: Box::new(|_, request, n| match n {
            0 => Some(records(request, 0, 10)),
            1 => Some(records(request, 10, 5)),
            _ => None,
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(ShareConsumer::builder("g", ["orders"]));
    let mut stream = consumer.stream();
    for offset in 0..15 {
        assert_eq!(stream.next().await.unwrap().unwrap().offset(), offset);
    }
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    assert!(sent(&log).iter().all(|(_, _, kind)| *kind == 1), "{:?}", sent(&log));
    // Asking again and giving up loses nothing; the end comes with the consumer's.
    assert!(tokio::time::timeout(Duration::from_secs(2), stream.next()).await.is_err());
    let (next, closed) = tokio::join!(stream.next(), consumer.close(SOON));
    assert!(next.is_none() && closed.is_ok(), "{next:?} {closed:?}");
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_releases_what_it_has_not_yielded() {
    for explicit_mode in [false, true] {
        let builder =
            if explicit_mode { explicit() } else { ShareConsumer::builder("g", ["orders"]) };
        let (consumer, log) = Brokers::default().start(builder);
        let mut stream = consumer.stream();
        for _ in 0..4 {
            let record = stream.next().await.unwrap().unwrap();
            if explicit_mode {
                consumer.acknowledge(&record, AckType::Accept).unwrap();
            }
        }
        drop(stream);
        assert!(consumer.commit(SOON).await.unwrap().is_ok());
        assert_eq!(sent(&log), [(0, 3, 1), (4, 9, 2)]);
        consumer.close(SOON).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_gives_errors_as_items_and_ends_with_a_fatal_one() {
    let brokers = Brokers {
        on_heartbeat: Box::new(|_, n| match n {
            0 => assigned(),
            1 => crate::wire::messages::ShareGroupHeartbeatResponse {
                error_code: 29,
                ..Default::default()
            },
            _ => crate::wire::messages::ShareGroupHeartbeatResponse {
                error_code: 30,
                ..Default::default()
            },
        }),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(explicit());
    let mut stream = consumer.stream();
    for _ in 0..10 {
        stream.next().await.unwrap().unwrap();
    }
    assert!(!stream.next().await.unwrap().unwrap_err().is_fatal());
    assert!(stream.next().await.unwrap().unwrap_err().is_fatal());
    assert!(stream.next().await.is_none());
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn health_tells_state_progress_and_the_oldest_record_of_the_program() {
    let (consumer, _) = Brokers::default().start(explicit());
    let health = consumer.health();
    assert_eq!((health.state, health.last_progress), (State::Joining, None));
    assert_eq!(health.oldest_blocked, None);
    let started = SystemTime::now();
    let records = poll_all(&consumer, 10).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    let health = consumer.health();
    assert_eq!((health.state, health.last_progress), (State::Running, None));
    let oldest = health.oldest_blocked.clone().expect("ten are held");
    assert_eq!((oldest.topic.as_deref(), oldest.partition, oldest.offset), (Some("orders"), 0, 0));
    assert!(oldest.age >= Duration::from_secs(8), "{oldest:?}");
    assert!(health.is_stalled(Duration::from_secs(7)) && !health.is_stalled(SOON));
    for record in &records[..9] {
        consumer.acknowledge(record, AckType::Accept).unwrap();
    }
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    let health = consumer.health();
    assert!(health.last_progress.expect("progress") + Duration::from_secs(1) >= started);
    assert_eq!(health.oldest_blocked.expect("one is left").offset, 9);
    // A renewal is no progress of the record.
    consumer.acknowledge(&records[9], AckType::Renew).unwrap();
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    assert!(consumer.health().oldest_blocked.is_some());
    consumer.acknowledge(&records[9], AckType::Accept).unwrap();
    assert_eq!(consumer.health().oldest_blocked, None);
    consumer.close(SOON).await.unwrap();
    assert_eq!(consumer.health().state, State::Stopped);
}

#[tokio::test(start_paused = true)]
async fn every_documented_family_is_scraped_and_no_other() {
    let metrics = Metrics::registry();
    let (consumer, _) = Brokers::default().start(explicit().metrics(&metrics));
    let records = poll_all(&consumer, 10).await;
    consumer.acknowledge(&records[0], AckType::Accept).unwrap();
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    let text = metrics.handle().scrape();
    let mut scraped: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    scraped.sort_unstable();
    let mut documented: Vec<&str> = stats::DEFINITIONS.iter().map(|family| family.name).collect();
    documented.sort_unstable();
    assert_eq!(scraped, documented);
    for line in [
        "llingr_share_fetched_total{consumer_group=\"g\"} 10",
        "llingr_share_delivered_total{consumer_group=\"g\"} 10",
        "llingr_share_acknowledged_total{consumer_group=\"g\",type=\"accept\"} 1",
        "llingr_share_held_records{consumer_group=\"g\"} 9",
        "llingr_share_assigned_partitions{consumer_group=\"g\"} 1",
        "llingr_client_connection_failures_total{consumer_group=\"g\"} 0",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    let open = text.lines().find(|line| line.starts_with("llingr_client_connections{"));
    assert_ne!(open.and_then(|line| line.rsplit(' ').next()), Some("0"), "{text}");
    consumer.close(SOON).await.unwrap();
    drop(consumer);
    assert!(!metrics.handle().scrape().contains("llingr_share_"), "gone with its consumer");
}
