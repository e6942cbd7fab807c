//! Brokers whose every answer a test decides, for consumers on a clock that only moves when all
//! wait.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
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
    AcquiredRecords, LeaderIdAndEpoch, PartitionData, ShareFetchableTopicResponse,
};
use crate::wire::messages::share_group_heartbeat::{Assignment, TopicPartitions};
use crate::wire::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
    ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareFetchRequest, ShareFetchResponse,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use crate::wire::records::{BatchBuilder, BatchOptions};

pub(super) const TOPIC: Uuid = Uuid([7; 16]);
pub(super) const SOON: Duration = Duration::from_secs(60);

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
pub(super) enum Sent {
    /// A look-up of the group's coordinator.
    Lookup,
    Heartbeat(ShareGroupHeartbeatRequest),
    Fetch(Arc<str>, ShareFetchRequest),
    Acks(ShareAcknowledgeRequest),
}

pub(super) type Log = Arc<Mutex<Vec<Sent>>>;
pub(super) type OnFetch =
    Box<dyn FnMut(&str, &ShareFetchRequest, usize) -> Option<ShareFetchResponse> + Send>;
pub(super) type OnAcks =
    Box<dyn FnMut(&ShareAcknowledgeRequest, usize) -> Option<ShareAcknowledgeResponse> + Send>;
pub(super) type OnLookup = Box<dyn FnMut(usize) -> i16 + Send>;
pub(super) type OnHeartbeat =
    Box<dyn FnMut(&ShareGroupHeartbeatRequest, usize) -> ShareGroupHeartbeatResponse + Send>;

/// Brokers `one` (leader and coordinator) and `two`, which answer as real ones where the test
/// does not say otherwise.
pub(super) struct Brokers {
    pub(super) version: i16,
    pub(super) on_fetch: OnFetch,
    pub(super) on_acks: OnAcks,
    pub(super) on_heartbeat: OnHeartbeat,
    /// The error of a look-up of the coordinator, 0 for none; by number of the look-up.
    pub(super) on_lookup: OnLookup,
    /// How many metadata answers do not know the topic yet.
    pub(super) unknown_for: usize,
    /// From now on nothing is answered.
    pub(super) silent: Arc<AtomicBool>,
}

impl Default for Brokers {
    fn default() -> Self {
        Self {
            version: 2,
            // Ten records with the opening fetch, then nothing.
            on_fetch: Box::new(|_, request, n| (n == 0).then(|| records(request, 0, 10))),
            on_acks: Box::new(|_, _| None),
            on_heartbeat: Box::new(|_, _| assigned()),
            on_lookup: Box::new(|_| 0),
            unknown_for: 0,
            silent: Arc::default(),
        }
    }
}

pub(super) fn assigned() -> ShareGroupHeartbeatResponse {
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
pub(super) fn taken(request: &ShareFetchRequest) -> ShareFetchResponse {
    let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
    let parts = parts
        .filter(|part| !part.acknowledgement_batches.is_empty())
        .map(|part| PartitionData { partition_index: part.partition_index, ..no_leader() });
    fetched(parts.collect())
}

pub(super) fn no_leader() -> PartitionData {
    let current_leader = LeaderIdAndEpoch { leader_id: -1, leader_epoch: -1 };
    PartitionData { current_leader, ..Default::default() }
}

pub(super) fn fetched(partitions: Vec<PartitionData>) -> ShareFetchResponse {
    let topic = ShareFetchableTopicResponse { topic_id: TOPIC, partitions };
    ShareFetchResponse {
        acquisition_lock_timeout_ms: 30_000,
        responses: vec![topic],
        ..Default::default()
    }
}

pub(super) fn records(request: &ShareFetchRequest, first: i64, count: i64) -> ShareFetchResponse {
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

pub(super) fn all_taken(request: &ShareAcknowledgeRequest) -> ShareAcknowledgeResponse {
    judged(request, 0)
}

pub(super) fn judged(request: &ShareAcknowledgeRequest, code: i16) -> ShareAcknowledgeResponse {
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

pub(super) fn metadata(known: bool) -> MetadataResponse {
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
    pub(super) fn start(mut self, builder: ShareConsumerBuilder) -> (ShareConsumer, Log) {
        let log: Log = Arc::default();
        let sent = log.clone();
        let (mut fetches, mut ack_requests, mut beats, mut asked, mut lookups) = (0, 0, 0, 0, 0);
        let apis = [
            api::<MetadataRequest>(),
            api::<FindCoordinatorRequest>(),
            api::<ShareGroupHeartbeatRequest>(),
            api_range::<ShareFetchRequest>(1, self.version),
            api_range::<ShareAcknowledgeRequest>(1, self.version),
        ];
        let cluster = ScriptedCluster::new(&apis, move |endpoint, incoming: &Incoming| {
            let push = |item| sent.lock().unwrap().push(item);
            if self.silent.load(Relaxed) {
                return Answer::Silence;
            }
            if incoming.is::<MetadataRequest>() {
                let by_id = incoming.decode::<MetadataRequest>().topics;
                asked += usize::from(by_id.is_some_and(|topics| !topics.is_empty()));
                let known = asked > self.unknown_for;
                Answer::Frame(incoming.answer::<MetadataRequest>(&metadata(known)))
            } else if incoming.is::<FindCoordinatorRequest>() {
                let code = (self.on_lookup)(lookups);
                lookups += 1;
                push(Sent::Lookup);
                let coordinator = Coordinator {
                    key: "g".into(),
                    error_code: code,
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
        let metrics = builder.metrics.clone();
        let (mut config, settings) = builder.brokers("one:9092").check().unwrap();
        config.bootstrap = vec![("one".into(), 9092)];
        let client = cluster.client(config);
        let topics = vec!["orders".to_owned()];
        (ShareConsumer::begin(client, settings, topics, metrics).unwrap(), log)
    }
}

pub(super) fn explicit() -> ShareConsumerBuilder {
    let options = crate::Options::new().kafka_option("share.acknowledgement.mode", "explicit");
    ShareConsumer::builder("g", ["orders"]).options(options)
}

pub(super) async fn poll_all(consumer: &ShareConsumer, count: usize) -> Vec<ShareRecord> {
    let mut records = Vec::new();
    let limit = Instant::now() + SOON;
    while records.len() < count {
        assert!(Instant::now() < limit, "{} of {count} records", records.len());
        records.extend(consumer.poll(SOON).await.unwrap());
    }
    records
}

pub(super) fn fetches(log: &Log) -> Vec<(Arc<str>, ShareFetchRequest)> {
    let log = log.lock().unwrap();
    let fetch = |sent: &Sent| match sent {
        Sent::Fetch(host, request) => Some((host.clone(), request.clone())),
        _ => None,
    };
    log.iter().filter_map(fetch).collect()
}

pub(super) fn ack_requests(log: &Log) -> Vec<ShareAcknowledgeRequest> {
    let log = log.lock().unwrap();
    let acks = |sent: &Sent| match sent {
        Sent::Acks(request) => Some(request.clone()),
        _ => None,
    };
    log.iter().filter_map(acks).collect()
}

/// Every acknowledged range that was sent, with the session epoch of its request.
pub(super) fn acknowledged(log: &Log) -> Vec<(i32, i64, i64, i8)> {
    let log = log.lock().unwrap();
    let mut all = Vec::new();
    for sent in log.iter() {
        match sent {
            Sent::Lookup | Sent::Heartbeat(_) => {}
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
