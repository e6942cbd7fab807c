//! Against scripted brokers: sessions, leaders, acknowledgements, errors.

use super::scripted::*;
use super::*;
use crate::wire::messages::share_fetch::{
    AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use crate::wire::messages::{
    ShareAcknowledgeResponse, ShareFetchResponse, ShareGroupHeartbeatResponse,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn share_01_03_04_a_lost_session_opens_again_without_acks_and_sends_them_then_once() {
    for code in [122, 123] {
        let brokers = Brokers {
            on_fetch: Box::new(move |_, request, n| match n {
                0 => Some(records(request, 0, 10)),
                1 => Some(ShareFetchResponse { error_code: code, ..Default::default() }),
                _ => None,
            }),
            ..Brokers::default()
        };
        let (consumer, log) = brokers.start(ShareConsumer::builder("g", ["orders"]));
        poll_all(&consumer, 10).await;
        // Accepts the ten, which ride on the fetch that is refused or on one after it.
        assert!(consumer.poll(Duration::from_secs(3)).await.unwrap().is_empty());
        let report = consumer.commit(SOON).await.unwrap();
        assert!(report.is_ok(), "{report:?}");
        let openings: Vec<_> = fetches(&log)
            .into_iter()
            .map(|(_, request)| request)
            .filter(|request| request.share_session_epoch == 0)
            .collect();
        assert_eq!(openings.len(), 2);
        for opening in &openings {
            let parts: Vec<_> = opening.topics.iter().flat_map(|topic| &topic.partitions).collect();
            assert_eq!(parts.len(), 1, "the full list");
            assert!(parts[0].acknowledgement_batches.is_empty());
        }
        let sent = acknowledged(&log);
        assert!(sent.iter().all(|(epoch, ..)| *epoch > 0), "{sent:?}");
        let last = sent.last().map(|(_, first, last, kind)| (*first, *last, *kind));
        assert_eq!(last, Some((0, 9, 1)));
        assert!(sent.len() <= 2, "{sent:?}");
        consumer.close(SOON).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn share_07_a_moved_leader_fails_the_acks_and_the_partition_is_fetched_at_the_new_one() {
    let moved = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_moved = moved.clone();
    let brokers = Brokers {
        on_fetch: Box::new(move |host, request, n| match (host, n) {
            ("one", 0) => Some(records(request, 0, 10)),
            ("one", _) if !is_moved.load(std::sync::atomic::Ordering::Relaxed) => None,
            ("one", _) => {
                let mut response = fetched(vec![PartitionData {
                    error_code: 6,
                    acknowledge_error_code: 6,
                    current_leader: LeaderIdAndEpoch { leader_id: 2, leader_epoch: 6 },
                    ..Default::default()
                }]);
                response.node_endpoints =
                    vec![NodeEndpoint { node_id: 2, host: "two".into(), port: 9092, rack: None }];
                Some(response)
            }
            (_, _) if request.share_session_epoch == 0 => Some(records(request, 0, 10)),
            _ => None,
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    let first = poll_all(&consumer, 10).await;
    moved.store(true, std::sync::atomic::Ordering::Relaxed);
    consumer.acknowledge(&first[0], AckType::Accept).unwrap();
    let again = consumer.poll(Duration::from_secs(20)).await.unwrap();
    assert_eq!(again.len(), 10, "{:#?}", log.lock().unwrap());
    let late = consumer.acknowledge(&first[5], AckType::Accept).unwrap_err();
    assert!(matches!(late, ShareError::NotHeld { .. }), "{late}");
    for record in &again {
        consumer.acknowledge(record, AckType::Accept).unwrap();
    }
    let report = consumer.commit(SOON).await.unwrap();
    assert_eq!(report.acknowledged(), 10, "{report:?}");
    assert!(report.failures().all(|failure| failure.result.as_ref().unwrap_err().code == Some(6)));
    assert_eq!(report.failures().count(), 1, "the one of the old leader");
    assert!(fetches(&log).iter().any(|(host, _)| &**host == "two"));
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_08_an_older_leader_epoch_moves_nothing_and_causes_no_tight_loop() {
    let brokers = Brokers {
        on_fetch: Box::new(|_, _, _| {
            Some(fetched(vec![PartitionData {
                error_code: 6,
                current_leader: LeaderIdAndEpoch { leader_id: 2, leader_epoch: 4 },
                ..Default::default()
            }]))
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    assert!(consumer.poll(Duration::from_secs(10)).await.unwrap().is_empty());
    let fetches = fetches(&log);
    assert!(fetches.iter().all(|(host, _)| &**host == "one"));
    assert!((2..=60).contains(&fetches.len()), "{} fetches in ten seconds", fetches.len());
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_11_acks_of_a_deleted_topic_fail_at_once() {
    let brokers = Brokers {
        on_acks: Box::new(|request, _| Some(judged(request, 100))),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(explicit());
    let records = poll_all(&consumer, 10).await;
    consumer.acknowledge(&records[0], AckType::Accept).unwrap();
    let started = Instant::now();
    let report = consumer.commit(SOON).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let failure = report.failures().next().unwrap();
    assert_eq!((failure.first_offset, failure.last_offset), (0, 0));
    assert_eq!(failure.result.as_ref().unwrap_err().code, Some(100));
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_13_an_assigned_topic_that_metadata_does_not_know_yet_is_resolved_later() {
    let brokers = Brokers { unknown_for: 6, ..Brokers::default() };
    let (consumer, _) = brokers.start(explicit());
    assert_eq!(poll_all(&consumer, 10).await.len(), 10);
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_15_an_answer_without_the_partition_fails_its_acks_and_foreign_ones_are_ignored() {
    let brokers = Brokers {
        on_acks: Box::new(|request, n| {
            let mut response = judged(request, 0);
            if n == 0 {
                for part in response.responses.iter_mut().flat_map(|t| &mut t.partitions) {
                    part.partition_index = -3;
                }
            }
            Some(response)
        }),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(explicit());
    let records = poll_all(&consumer, 10).await;
    consumer.acknowledge(&records[0], AckType::Accept).unwrap();
    let report = consumer.commit(SOON).await.unwrap();
    let failure = report.failures().next().expect("a failure");
    assert!(failure.result.as_ref().unwrap_err().text.contains("does not mention"));
    consumer.acknowledge(&records[1], AckType::Accept).unwrap();
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_16_gaps_are_acknowledged_without_the_program() {
    let brokers = Brokers {
        on_fetch: Box::new(|_, _, n| {
            let acquired = AcquiredRecords { first_offset: 3, last_offset: 9, delivery_count: 1 };
            (n == 0).then(|| {
                fetched(vec![PartitionData { acquired_records: vec![acquired], ..no_leader() }])
            })
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    assert!(consumer.poll(Duration::from_secs(2)).await.unwrap().is_empty());
    assert_eq!(acknowledged(&log), [(1, 3, 9, 0)]);
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_22_one_invalid_offset_is_found_and_the_others_are_accepted() {
    let brokers = Brokers {
        on_acks: Box::new(|request, _| {
            let batches = &request.topics.first()?.partitions[0].acknowledgement_batches;
            let bad = batches.iter().any(|b| (b.first_offset..=b.last_offset).contains(&6));
            Some(judged(request, if bad { 121 } else { 0 }))
        }),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(explicit());
    for record in poll_all(&consumer, 10).await {
        consumer.acknowledge(&record, AckType::Accept).unwrap();
    }
    // Nothing rides on a fetch: commits send by themselves.
    let report = consumer.commit(SOON).await.unwrap();
    assert_eq!(report.acknowledged() + 1, 10, "{report:?}");
    let failed: Vec<_> = report.failures().map(|f| (f.first_offset, f.last_offset)).collect();
    assert_eq!(failed, [(6, 6)]);
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_24_a_renewal_at_version_1_is_a_clear_error_and_the_record_stays_ackable() {
    let brokers = Brokers { version: 1, ..Brokers::default() };
    let (consumer, log) = brokers.start(explicit());
    let records = poll_all(&consumer, 10).await;
    let error = consumer.acknowledge(&records[0], AckType::Renew).unwrap_err();
    assert!(error.to_string().contains("Kafka 4.2"), "{error}");
    consumer.acknowledge(&records[0], AckType::Accept).unwrap();
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    assert_eq!(acknowledged(&log).last().map(|a| (a.1, a.2, a.3)), Some((0, 0, 1)));
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_25_26_renewals_go_by_themselves_and_the_answers_lock_time_counts() {
    let brokers = Brokers {
        on_acks: Box::new(|request, _| {
            let lock = 50_000;
            Some(ShareAcknowledgeResponse {
                acquisition_lock_timeout_ms: lock,
                ..judged(request, 0)
            })
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    let records = poll_all(&consumer, 10).await;
    let before = consumer.lock_deadline(&records[0]).unwrap();
    assert_eq!(before, records[0].lock_deadline());
    consumer.acknowledge(&records[0], AckType::Renew).unwrap();
    consumer.acknowledge(&records[1], AckType::Accept).unwrap();
    let report = consumer.commit(SOON).await.unwrap();
    assert!(report.is_ok() && report.results.len() == 2, "{report:?}");
    let gained = consumer.lock_deadline(&records[0]).unwrap() - before;
    assert!(gained >= Duration::from_secs(20), "{gained:?}");
    assert!(fetches(&log).iter().all(|(_, request)| !request.is_renew_ack));
    for request in ack_requests(&log) {
        for part in request.topics.iter().flat_map(|topic| &topic.partitions) {
            for batch in &part.acknowledgement_batches {
                assert_eq!(request.is_renew_ack, batch.acknowledge_types == [4], "{request:?}");
            }
        }
    }
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_29_a_fenced_member_joins_again_and_its_records_stay_ackable() {
    let brokers = Brokers {
        on_heartbeat: Box::new(|_, n| match n {
            1 => ShareGroupHeartbeatResponse { error_code: 110, ..Default::default() },
            _ => assigned(),
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    let records = poll_all(&consumer, 10).await;
    // Past the next heartbeat, which fences.
    assert!(consumer.poll(Duration::from_secs(8)).await.unwrap().is_empty());
    let joins = log
        .lock()
        .unwrap()
        .iter()
        .filter(|sent| matches!(sent, Sent::Heartbeat(request) if request.member_epoch == 0))
        .count();
    assert_eq!(joins, 2);
    consumer.acknowledge_range("orders", 0, 0, 9, AckType::Accept).unwrap();
    assert_eq!(consumer.commit(SOON).await.unwrap().acknowledged(), records.len() as u64);
    let openings = fetches(&log).iter().filter(|(_, r)| r.share_session_epoch == 0).count();
    assert_eq!(openings, 1, "the session lives on");
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_33_missing_rights_reach_the_poll_and_a_fatal_error_every_later_one() {
    let brokers = Brokers {
        on_heartbeat: Box::new(|_, n| match n {
            0 => assigned(),
            1 => ShareGroupHeartbeatResponse {
                error_code: 29,
                error_message: Some("secret-topic".into()),
                ..Default::default()
            },
            _ => ShareGroupHeartbeatResponse { error_code: 30, ..Default::default() },
        }),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(explicit());
    poll_all(&consumer, 10).await;
    let error = consumer.poll(SOON).await.unwrap_err();
    assert!(!error.is_fatal() && error.to_string().contains("secret-topic"), "{error}");
    for _ in 0..3 {
        let error = consumer.poll(SOON).await.unwrap_err();
        assert!(error.is_fatal(), "{error}");
        assert!(error.to_string().contains("GROUP_AUTHORIZATION_FAILED"), "{error}");
    }
    assert!(consumer.commit(SOON).await.unwrap_err().is_fatal());
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_36_a_commit_ends_in_its_time_and_the_callbacks_panic_is_contained() {
    let heard = Arc::new(Mutex::new(0));
    let count = heard.clone();
    let builder = explicit().on_acknowledged(move |_| {
        *count.lock().unwrap() += 1;
        panic!("a program's mistake");
    });
    let brokers = Brokers {
        // An answer that takes longer than the commit may.
        on_fetch: Box::new(|_, request, n| (n == 0).then(|| records(request, 0, 10))),
        ..Brokers::default()
    };
    let (consumer, _) = brokers.start(builder);
    let records = poll_all(&consumer, 10).await;
    consumer.acknowledge(&records[0], AckType::Accept).unwrap();
    let error = consumer.commit(Duration::from_millis(1)).await.unwrap_err();
    assert!(matches!(error, ShareError::Timeout { .. }), "{error}");
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    consumer.close(SOON).await.unwrap();
    // One acceptance, and the release of the nine others.
    assert_eq!(*heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner), 2);
}

#[tokio::test(start_paused = true)]
async fn share_37_a_full_session_cache_is_asked_again_with_the_assignment_kept() {
    let brokers = Brokers {
        on_fetch: Box::new(|_, request, n| match n {
            0..3 => Some(ShareFetchResponse { error_code: 133, ..Default::default() }),
            3 => Some(records(request, 0, 10)),
            _ => None,
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    assert_eq!(poll_all(&consumer, 10).await.len(), 10);
    assert!(fetches(&log)[..4].iter().all(|(_, request)| request.share_session_epoch == 0));
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn records_nobody_polls_for_expire_without_being_fetched_again() {
    let brokers = Brokers {
        on_fetch: Box::new(|_, request, n| Some(records(request, n as i64 * 600, 600))),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    assert_eq!(consumer.poll(SOON).await.unwrap().len(), 500);
    tokio::time::sleep(Duration::from_secs(200)).await;
    let fetched = fetches(&log).len();
    assert!(fetched <= 4, "{fetched} fetches without a poll");
    assert!(!consumer.poll(SOON).await.unwrap().is_empty());
    consumer.close(SOON).await.unwrap();
}
