//! Against brokers whose every answer the test decides, on a clock that only moves when all wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use super::*;
use crate::client::scripted::{Answer, Incoming, ScriptedCluster, api, api_range};
use crate::wire::messages::find_coordinator::Coordinator;
use crate::wire::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::messages::share_acknowledge as acks;
use crate::wire::messages::share_fetch::{
    AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchableTopicResponse,
};
use crate::wire::messages::share_group_heartbeat::{Assignment, TopicPartitions};
use crate::wire::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
    ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareFetchRequest, ShareFetchResponse,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use crate::wire::records::{BatchBuilder, BatchOptions};

const TOPIC: Uuid = Uuid([7; 16]);
const SOON: Duration = Duration::from_secs(60);

/// A batch with records `base..base + count`, as a broker stores it.
pub(super) fn batch(base: i64, count: i64) -> BytesMut {
    let mut builder = BatchBuilder::new(BatchOptions::default()).with_log_position(base, 0);
    for n in base..base + count {
        let value = n.to_string();
        builder.append(1000, None, Some(value.as_bytes()), std::iter::empty()).unwrap();
    }
    BytesMut::from(&builder.finish(None).unwrap()[..])
}

/// What arrived, in its order.
#[derive(Debug, Clone)]
enum Sent {
    Heartbeat(ShareGroupHeartbeatRequest),
    Fetch(Arc<str>, ShareFetchRequest),
    Acks(ShareAcknowledgeRequest),
}

type Log = Arc<Mutex<Vec<Sent>>>;
type OnFetch = Box<dyn FnMut(&str, &ShareFetchRequest, usize) -> Option<ShareFetchResponse> + Send>;
type OnAcks =
    Box<dyn FnMut(&ShareAcknowledgeRequest, usize) -> Option<ShareAcknowledgeResponse> + Send>;
type OnHeartbeat =
    Box<dyn FnMut(&ShareGroupHeartbeatRequest, usize) -> ShareGroupHeartbeatResponse + Send>;

/// Brokers `one` (leader and coordinator) and `two`, which answer as real ones where the test
/// does not say otherwise.
struct Brokers {
    version: i16,
    on_fetch: OnFetch,
    on_acks: OnAcks,
    on_heartbeat: OnHeartbeat,
    /// How many metadata answers do not know the topic yet.
    unknown_for: usize,
}

impl Default for Brokers {
    fn default() -> Self {
        Self {
            version: 2,
            // Ten records with the opening fetch, then nothing.
            on_fetch: Box::new(|_, request, n| (n == 0).then(|| records(request, 0, 10))),
            on_acks: Box::new(|_, _| None),
            on_heartbeat: Box::new(|_, _| assigned()),
            unknown_for: 0,
        }
    }
}

fn assigned() -> ShareGroupHeartbeatResponse {
    ShareGroupHeartbeatResponse {
        member_epoch: 1,
        heartbeat_interval_ms: 5000,
        assignment: Some(Assignment {
            topic_partitions: vec![TopicPartitions { topic_id: TOPIC, partitions: vec![0] }],
        }),
        ..Default::default()
    }
}

/// An answer that takes all acknowledgements of the request.
fn taken(request: &ShareFetchRequest) -> ShareFetchResponse {
    let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
    let parts = parts
        .filter(|part| !part.acknowledgement_batches.is_empty())
        .map(|part| PartitionData { partition_index: part.partition_index, ..no_leader() });
    fetched(parts.collect())
}

fn no_leader() -> PartitionData {
    let current_leader = LeaderIdAndEpoch { leader_id: -1, leader_epoch: -1 };
    PartitionData { current_leader, ..Default::default() }
}

fn fetched(partitions: Vec<PartitionData>) -> ShareFetchResponse {
    let topic = ShareFetchableTopicResponse { topic_id: TOPIC, partitions };
    ShareFetchResponse {
        acquisition_lock_timeout_ms: 30_000,
        responses: vec![topic],
        ..Default::default()
    }
}

fn records(request: &ShareFetchRequest, first: i64, count: i64) -> ShareFetchResponse {
    let mut response = taken(request);
    let acquired =
        AcquiredRecords { first_offset: first, last_offset: first + count - 1, delivery_count: 1 };
    let parts = &mut response.responses[0].partitions;
    if parts.is_empty() {
        parts.push(no_leader());
    }
    parts[0].records = Some(batch(first, count).freeze());
    parts[0].acquired_records = vec![acquired];
    response
}

fn all_taken(request: &ShareAcknowledgeRequest) -> ShareAcknowledgeResponse {
    judged(request, 0)
}

fn judged(request: &ShareAcknowledgeRequest, code: i16) -> ShareAcknowledgeResponse {
    let topic = |topic: &acks::AcknowledgeTopic| acks::ShareAcknowledgeTopicResponse {
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|part| acks::PartitionData {
                partition_index: part.partition_index,
                error_code: code,
                current_leader: acks::LeaderIdAndEpoch { leader_id: -1, leader_epoch: -1 },
                ..Default::default()
            })
            .collect(),
    };
    ShareAcknowledgeResponse {
        acquisition_lock_timeout_ms: 30_000,
        responses: request.topics.iter().map(topic).collect(),
        ..Default::default()
    }
}

fn metadata(known: bool) -> MetadataResponse {
    let broker = |node_id, host: &str| MetadataResponseBroker {
        node_id,
        host: host.into(),
        port: 9092,
        ..Default::default()
    };
    let partition = MetadataResponsePartition {
        partition_index: 0,
        leader_id: 1,
        leader_epoch: 5,
        ..Default::default()
    };
    let topic = if known {
        MetadataResponseTopic {
            name: Some("orders".into()),
            topic_id: TOPIC,
            partitions: vec![partition],
            ..Default::default()
        }
    } else {
        MetadataResponseTopic { error_code: 100, topic_id: TOPIC, ..Default::default() }
    };
    MetadataResponse {
        brokers: vec![broker(1, "one"), broker(2, "two")],
        controller_id: 1,
        topics: vec![topic],
        ..Default::default()
    }
}

impl Brokers {
    fn start(mut self, builder: ShareConsumerBuilder) -> (ShareConsumer, Log) {
        let log: Log = Arc::default();
        let sent = log.clone();
        let (mut fetches, mut ack_requests, mut beats, mut asked) = (0, 0, 0, 0);
        let apis = [
            api::<MetadataRequest>(),
            api::<FindCoordinatorRequest>(),
            api::<ShareGroupHeartbeatRequest>(),
            api_range::<ShareFetchRequest>(1, self.version),
            api_range::<ShareAcknowledgeRequest>(1, self.version),
        ];
        let cluster = ScriptedCluster::new(&apis, move |endpoint, incoming: &Incoming| {
            let push = |item| sent.lock().unwrap().push(item);
            if incoming.is::<MetadataRequest>() {
                let by_id = incoming.decode::<MetadataRequest>().topics;
                asked += usize::from(by_id.is_some_and(|topics| !topics.is_empty()));
                let known = asked > self.unknown_for;
                Answer::Frame(incoming.answer::<MetadataRequest>(&metadata(known)))
            } else if incoming.is::<FindCoordinatorRequest>() {
                let coordinator = Coordinator {
                    key: "g".into(),
                    node_id: 1,
                    host: "one".into(),
                    port: 9092,
                    ..Default::default()
                };
                let response = FindCoordinatorResponse {
                    coordinators: vec![coordinator],
                    ..Default::default()
                };
                Answer::Frame(incoming.answer::<FindCoordinatorRequest>(&response))
            } else if incoming.is::<ShareGroupHeartbeatRequest>() {
                let request = incoming.decode::<ShareGroupHeartbeatRequest>();
                let response = (self.on_heartbeat)(&request, beats);
                beats += 1;
                push(Sent::Heartbeat(request));
                Answer::Frame(incoming.answer::<ShareGroupHeartbeatRequest>(&response))
            } else if incoming.is::<ShareFetchRequest>() {
                let request = incoming.decode::<ShareFetchRequest>();
                let wait = Duration::from_millis(request.max_wait_ms as u64);
                let response = (self.on_fetch)(&endpoint.host, &request, fetches);
                fetches += 1;
                let empty = incoming.answer::<ShareFetchRequest>(&taken(&request));
                push(Sent::Fetch(endpoint.host.clone(), request));
                match response {
                    Some(response) => {
                        Answer::Frame(incoming.answer::<ShareFetchRequest>(&response))
                    }
                    None => Answer::Later(wait, empty),
                }
            } else {
                let request = incoming.decode::<ShareAcknowledgeRequest>();
                let response =
                    (self.on_acks)(&request, ack_requests).unwrap_or_else(|| all_taken(&request));
                ack_requests += 1;
                push(Sent::Acks(request));
                Answer::Frame(incoming.answer::<ShareAcknowledgeRequest>(&response))
            }
        });
        let (mut config, settings) = builder.brokers("one:9092").check().unwrap();
        config.bootstrap = vec![("one".into(), 9092)];
        let client = cluster.client(config);
        let topics = vec!["orders".to_owned()];
        (ShareConsumer::begin(client, settings, topics, None).unwrap(), log)
    }
}

fn explicit() -> ShareConsumerBuilder {
    let options = crate::Options::new().kafka_option("share.acknowledgement.mode", "explicit");
    ShareConsumer::builder("g", ["orders"]).options(options)
}

async fn poll_all(consumer: &ShareConsumer, count: usize) -> Vec<ShareRecord> {
    let mut records = Vec::new();
    let limit = Instant::now() + SOON;
    while records.len() < count {
        assert!(Instant::now() < limit, "{} of {count} records", records.len());
        records.extend(consumer.poll(SOON).await.unwrap());
    }
    records
}

fn fetches(log: &Log) -> Vec<(Arc<str>, ShareFetchRequest)> {
    let log = log.lock().unwrap();
    let fetch = |sent: &Sent| match sent {
        Sent::Fetch(host, request) => Some((host.clone(), request.clone())),
        _ => None,
    };
    log.iter().filter_map(fetch).collect()
}

fn ack_requests(log: &Log) -> Vec<ShareAcknowledgeRequest> {
    let log = log.lock().unwrap();
    let acks = |sent: &Sent| match sent {
        Sent::Acks(request) => Some(request.clone()),
        _ => None,
    };
    log.iter().filter_map(acks).collect()
}

/// Every acknowledged range that was sent, with the session epoch of its request.
fn acknowledged(log: &Log) -> Vec<(i32, i64, i64, i8)> {
    let log = log.lock().unwrap();
    let mut all = Vec::new();
    for sent in log.iter() {
        match sent {
            Sent::Heartbeat(_) => {}
            Sent::Fetch(_, request) => {
                for part in request.topics.iter().flat_map(|topic| &topic.partitions) {
                    all.extend(part.acknowledgement_batches.iter().map(|b| {
                        (
                            request.share_session_epoch,
                            b.first_offset,
                            b.last_offset,
                            b.acknowledge_types[0],
                        )
                    }));
                }
            }
            Sent::Acks(request) => {
                for part in request.topics.iter().flat_map(|topic| &topic.partitions) {
                    all.extend(part.acknowledgement_batches.iter().map(|b| {
                        (
                            request.share_session_epoch,
                            b.first_offset,
                            b.last_offset,
                            b.acknowledge_types[0],
                        )
                    }));
                }
            }
        }
    }
    all
}

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
