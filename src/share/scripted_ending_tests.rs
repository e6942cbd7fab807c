//! Against scripted brokers: joining, waking, closing and what nobody answers.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::scripted::*;
use super::*;
use crate::wire::messages::ShareGroupHeartbeatResponse;
use crate::wire::messages::share_group_heartbeat::Assignment;

fn lookups(log: &Log) -> usize {
    log.lock().unwrap().iter().filter(|sent| matches!(sent, Sent::Lookup)).count()
}

fn heartbeats(log: &Log) -> usize {
    log.lock().unwrap().iter().filter(|sent| matches!(sent, Sent::Heartbeat(_))).count()
}

/// A member without partitions, as the first answers of a coordinator say.
fn unassigned() -> ShareGroupHeartbeatResponse {
    let assignment = Some(Assignment { topic_partitions: Vec::new() });
    ShareGroupHeartbeatResponse { assignment, ..assigned() }
}

#[tokio::test(start_paused = true)]
async fn early_heartbeats_bring_the_assignment_long_before_the_interval_is_over() {
    let brokers = Brokers {
        on_heartbeat: Box::new(|_, n| if n < 3 { unassigned() } else { assigned() }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    let started = Instant::now();
    poll_all(&consumer, 10).await;
    // The broker's interval is five seconds; the clock of this test moves by due times alone.
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(heartbeats(&log), 4, "a join and three early ones");
    tokio::time::sleep(Duration::from_millis(14_900)).await;
    assert_eq!(heartbeats(&log), 6, "the interval again once there is an assignment");
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_05_dropped_polls_lose_no_record_and_send_no_acknowledgement_twice() {
    let (consumer, log) = Brokers::default().start(ShareConsumer::builder("g", ["orders"]));
    let mut records = Vec::new();
    // The fetch takes half a second each time; these polls are dropped long before.
    for _ in 0..50 {
        let poll = consumer.poll(SOON);
        if let Ok(some) = tokio::time::timeout(Duration::from_millis(20), poll).await {
            records.extend(some.unwrap());
        }
    }
    assert_eq!(records.iter().map(ShareRecord::offset).collect::<Vec<_>>(), Vec::from_iter(0..10));
    assert!(consumer.commit(SOON).await.unwrap().is_ok());
    let sent: Vec<_> = acknowledged(&log).iter().map(|ack| (ack.1, ack.2, ack.3)).collect();
    assert_eq!(sent, [(0, 9, 1)]);
    let epochs: Vec<i32> = fetches(&log).iter().map(|(_, r)| r.share_session_epoch).collect();
    assert!(epochs.windows(2).all(|pair| pair[0] < pair[1]), "one session: {epochs:?}");
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_06_a_wakeup_before_close_or_during_a_commit_holds_back_no_acknowledgement() {
    for commit_first in [false, true] {
        let (consumer, log) = Brokers::default().start(explicit());
        let records = poll_all(&consumer, 10).await;
        consumer.acknowledge(&records[3], AckType::Accept).unwrap();
        let waiting = consumer.clone();
        let poll = tokio::spawn(async move { waiting.poll(SOON).await });
        tokio::task::yield_now().await;
        if commit_first {
            let commit = consumer.commit_async().unwrap();
            consumer.wakeup();
            assert!(commit.await.unwrap().is_ok());
        } else {
            consumer.wakeup();
        }
        consumer.close(SOON).await.unwrap();
        let poll = poll.await.unwrap();
        assert!(matches!(poll, Err(ShareError::Wakeup | ShareError::Closed)), "{poll:?}");
        let sent: Vec<_> = acknowledged(&log).iter().map(|ack| (ack.1, ack.2, ack.3)).collect();
        assert!(sent.contains(&(3, 3, 1)), "{sent:?}");
        assert!(sent.contains(&(0, 2, 2)) && sent.contains(&(4, 9, 2)), "the rest: {sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn share_14_what_is_acknowledged_after_a_changed_assignment_adds_nothing_to_the_session() {
    let brokers = Brokers {
        on_heartbeat: Box::new(|_, n| if n == 1 { unassigned() } else { assigned() }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    poll_all(&consumer, 10).await;
    // Past the second heartbeat, which takes the partition away.
    assert!(consumer.poll(Duration::from_secs(6)).await.unwrap().is_empty());
    assert!(consumer.assignment().is_empty());
    let before = fetches(&log).len();
    assert_eq!(consumer.acknowledge_range("orders", 0, 0, 9, AckType::Accept).unwrap(), 10);
    assert_eq!(consumer.commit(SOON).await.unwrap().acknowledged(), 10);
    let after = &fetches(&log)[before..];
    for (_, request) in after {
        assert!(request.topics.is_empty(), "only ShareAcknowledge adds nothing: {request:?}");
    }
    let forgotten = fetches(&log).iter().any(|(_, r)| !r.forgotten_topics_data.is_empty());
    let closed = ack_requests(&log).iter().any(|r| r.share_session_epoch == -1);
    assert!(forgotten || closed, "the broker goes on acquiring for us: {:#?}", log.lock().unwrap());
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_32_a_missing_coordinator_costs_a_look_up_for_each_backoff_and_no_more() {
    // COORDINATOR_NOT_AVAILABLE for the first thirty seconds.
    let until = Instant::now() + Duration::from_secs(30);
    let brokers = Brokers {
        on_lookup: Box::new(move |_| if Instant::now() < until { 15 } else { 0 }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(explicit());
    assert!(consumer.poll(Duration::from_secs(29)).await.unwrap().is_empty());
    let count = lookups(&log);
    // Backoff grows from 0.1 s to 1 s, less a fifth of jitter.
    assert!((20..=60).contains(&count), "{count} look-ups in 29 seconds");
    assert_eq!(heartbeats(&log), 0);
    assert_eq!(poll_all(&consumer, 10).await.len(), 10);
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn share_32_a_coordinator_that_is_none_any_more_is_looked_up_again() {
    for code in [16, 15] {
        let brokers = Brokers {
            on_heartbeat: Box::new(move |_, n| match n {
                1 => ShareGroupHeartbeatResponse { error_code: code, ..Default::default() },
                _ => assigned(),
            }),
            ..Brokers::default()
        };
        let (consumer, log) = brokers.start(explicit());
        poll_all(&consumer, 10).await;
        assert_eq!(lookups(&log), 1);
        assert!(consumer.poll(Duration::from_secs(8)).await.unwrap().is_empty());
        assert_eq!(lookups(&log), 2, "code {code}");
        assert!(consumer.ready().ready);
        consumer.close(SOON).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn share_38_two_consumers_of_one_client_address_have_sessions_of_their_own() {
    let (one, log_one) = Brokers::default().start(explicit());
    let (two, log_two) = Brokers::default().start(explicit());
    poll_all(&one, 10).await;
    poll_all(&two, 10).await;
    let member = |log: &Log| fetches(log)[0].1.member_id.clone().expect("a member");
    assert_ne!(member(&log_one), member(&log_two));
    assert_eq!((member(&log_one).len(), member(&log_two).len()), (22, 22), "what Kafka 4.1 takes");
    one.close(SOON).await.unwrap();
    two.acknowledge_range("orders", 0, 0, 9, AckType::Accept).unwrap();
    assert_eq!(two.commit(SOON).await.unwrap().acknowledged(), 10);
    two.close(SOON).await.unwrap();
}

/// What a consumer is doing when it is closed.
#[derive(Debug, Clone, Copy)]
enum During {
    Joining,
    Fetching,
    Holding,
    Committing,
    Renewing,
    Waiting,
    Failed,
}

#[tokio::test(start_paused = true)]
async fn close_ends_by_its_deadline_in_every_state_though_no_broker_answers_any_more() {
    use During::*;
    for during in [Joining, Fetching, Holding, Committing, Renewing, Waiting, Failed] {
        let brokers = Brokers {
            on_heartbeat: Box::new(move |_, n| match during {
                Failed if n > 0 => {
                    ShareGroupHeartbeatResponse { error_code: 30, ..Default::default() }
                }
                _ => assigned(),
            }),
            ..Brokers::default()
        };
        let silent = brokers.silent.clone();
        if matches!(during, Joining) {
            silent.store(true, Relaxed);
        }
        let (consumer, _) = brokers.start(explicit());
        let records = match during {
            Joining => Vec::new(),
            _ => poll_all(&consumer, 10).await,
        };
        if matches!(during, Failed) {
            assert!(consumer.poll(SOON).await.unwrap_err().is_fatal());
        }
        silent.store(true, Relaxed);
        let other = consumer.clone();
        let waiting = matches!(during, Waiting | Fetching)
            .then(|| tokio::spawn(async move { other.poll(Duration::MAX).await }));
        let commit = match during {
            Committing | Renewing => {
                let ack = if matches!(during, Renewing) { AckType::Renew } else { AckType::Accept };
                consumer.acknowledge(&records[0], ack).unwrap();
                Some(consumer.commit_async().unwrap())
            }
            _ => None,
        };
        tokio::time::sleep(Duration::from_millis(700)).await;
        let limit = Duration::from_secs(3);
        let started = Instant::now();
        let closed = consumer.close(limit).await;
        let took = started.elapsed();
        assert!(took <= limit + Duration::from_millis(200), "{during:?}: {took:?}, {closed:?}");
        if !matches!(during, Failed) {
            assert!(matches!(closed, Err(ShareError::Timeout { .. })), "{during:?}: {closed:?}");
        }
        // Nobody is left waiting, and the second call has nothing to do.
        if let Some(waiting) = waiting {
            assert!(matches!(waiting.await.unwrap(), Err(ShareError::Closed)), "{during:?}");
        }
        if let Some(commit) = commit {
            let report = commit.await.expect("a report");
            assert!(!report.is_ok(), "{during:?}: {report:?}");
        }
        consumer.close(limit).await.unwrap();
        assert!(consumer.poll(SOON).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn close_can_be_dropped_and_ends_everything_then() {
    let brokers = Brokers::default();
    let silent = brokers.silent.clone();
    let (consumer, log) = brokers.start(explicit());
    poll_all(&consumer, 10).await;
    silent.store(true, Relaxed);
    let close = consumer.close(SOON);
    assert!(tokio::time::timeout(Duration::from_millis(10), close).await.is_err());
    silent.store(false, Relaxed);
    let before = log.lock().unwrap().len();
    tokio::time::sleep(SOON).await;
    assert_eq!(log.lock().unwrap().len(), before, "a task lives on");
}

#[tokio::test(start_paused = true)]
async fn in_implicit_mode_close_accepts_the_last_poll_where_that_is_asked_for() {
    for (accept, kind) in [(false, 2), (true, 1)] {
        let builder = ShareConsumer::builder("g", ["orders"]).accept_on_close(accept);
        let (consumer, log) = Brokers::default().start(builder);
        poll_all(&consumer, 10).await;
        let report = consumer.close(SOON).await.unwrap();
        assert_eq!((report.is_ok(), report.acknowledged()), (true, 10), "{report:?}");
        let sent: Vec<_> = acknowledged(&log).iter().map(|ack| (ack.1, ack.2, ack.3)).collect();
        assert_eq!(sent, [(0, 9, kind)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_poll_leaves_the_group_and_is_back_with_its_next_poll() {
    let options = crate::Options::new()
        .kafka_option("share.acknowledgement.mode", "explicit")
        .kafka_option("max.poll.interval.ms", "12000");
    let brokers = Brokers {
        // Ten records whenever the partition is added to the session.
        on_fetch: Box::new(|_, request, _| {
            (!request.topics.is_empty()).then(|| records(request, 0, 10))
        }),
        ..Brokers::default()
    };
    let (consumer, log) = brokers.start(ShareConsumer::builder("g", ["orders"]).options(options));
    poll_all(&consumer, 10).await;
    assert!(consumer.ready().ready);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let ready = consumer.ready();
    assert!(!ready.ready);
    let cause = ready.cause.expect("a cause");
    assert!(cause.contains("max.poll.interval.ms"), "{cause}");
    let epochs = |log: &Log| -> Vec<i32> {
        let log = log.lock().unwrap();
        let beats = log.iter().filter_map(|sent| match sent {
            Sent::Heartbeat(request) => Some(request.member_epoch),
            _ => None,
        });
        beats.collect()
    };
    assert_eq!(epochs(&log).last(), Some(&-1), "it has left: {:?}", epochs(&log));
    let away = epochs(&log).len();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(epochs(&log).len(), away, "and stays away");
    let again = consumer.poll(SOON).await.unwrap();
    assert!(!again.is_empty());
    assert_eq!(epochs(&log)[away], 0, "joined again");
    assert!(consumer.ready().ready);
    consumer.close(SOON).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_failure_policy_acknowledges_as_it_says() {
    let fails = |record: &ShareRecord| record.offset() % 2 == 1;
    let decide = |record: &ShareRecord, error: &(dyn std::error::Error + 'static)| {
        assert_eq!(error.to_string(), "no");
        if record.offset() < 5 { AckType::Release } else { AckType::Reject }
    };
    let cases: [(FailurePolicy, &[(i64, i8)]); 5] = [
        (FailurePolicy::Release, &[(1, 2), (3, 2), (5, 2), (7, 2), (9, 2)]),
        (FailurePolicy::Reject, &[(1, 3), (3, 3), (5, 3), (7, 3), (9, 3)]),
        (FailurePolicy::RejectAfter(1), &[(1, 3), (3, 3), (5, 3), (7, 3), (9, 3)]),
        (FailurePolicy::RejectAfter(2), &[(1, 2), (3, 2), (5, 2), (7, 2), (9, 2)]),
        (FailurePolicy::Decide(Arc::new(decide)), &[(1, 2), (3, 2), (5, 3), (7, 3), (9, 3)]),
    ];
    for (policy, expected) in cases {
        let shown = format!("{policy:?}");
        let builder = ShareConsumer::builder("g", ["orders"]).on_failure(policy);
        let (consumer, log) = Brokers::default().start(builder);
        let (seen, stop) = (Arc::new(Mutex::new(0)), consumer.stopper());
        let count = seen.clone();
        let handler = move |record: ShareRecord| {
            let (count, stop) = (count.clone(), stop.clone());
            async move {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == 10 {
                    stop();
                }
                if fails(&record) { Err("no") } else { Ok(()) }
            }
        };
        let report = consumer.run(handler, 1).await.unwrap();
        assert!(report.is_ok(), "{shown}: {report:?}");
        let mut failed: Vec<(i64, i8)> = Vec::new();
        let mut accepted = Vec::new();
        for (_, first, last, kind) in acknowledged(&log) {
            for offset in first..=last {
                if kind == 1 { accepted.push(offset) } else { failed.push((offset, kind)) }
            }
        }
        failed.sort_unstable();
        accepted.sort_unstable();
        assert_eq!(accepted, [0, 2, 4, 6, 8], "{shown}");
        assert_eq!(failed, expected, "{shown}");
    }
}
