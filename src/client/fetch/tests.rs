use std::sync::Mutex;

use super::*;
use crate::client::config::Config;
use crate::client::error::ErrorCode;
use crate::client::scripted::{Answer, Incoming, ScriptedCluster, api, at};
use crate::wire::Uuid;
use crate::wire::messages::fetch::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use crate::wire::messages::list_offsets::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use crate::wire::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::messages::{
    FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest,
    MetadataResponse,
};
use crate::wire::records::{BatchBuilder, BatchOptions};

const ID: Uuid = Uuid([1; 16]);

/// Two brokers; the first leads both partitions of topic `t`.
fn metadata(incoming: &Incoming) -> Answer {
    let brokers = [(1, "one"), (2, "two")].map(|(node_id, host)| MetadataResponseBroker {
        node_id,
        host: host.into(),
        port: 9092,
        ..Default::default()
    });
    let partitions = [0, 1].map(|partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: 1,
        leader_epoch: 5,
        ..Default::default()
    });
    let topic = MetadataResponseTopic {
        name: Some("t".into()),
        topic_id: ID,
        partitions: partitions.to_vec(),
        ..Default::default()
    };
    let response =
        MetadataResponse { brokers: brokers.to_vec(), topics: vec![topic], ..Default::default() };
    Answer::Frame(incoming.answer::<MetadataRequest>(&response))
}

fn answer(incoming: &Incoming, partitions: Vec<PartitionData>) -> Answer {
    let topic = FetchableTopicResponse { topic_id: ID, partitions, ..Default::default() };
    let response = FetchResponse { session_id: 9, responses: vec![topic], ..Default::default() };
    Answer::Frame(incoming.answer::<FetchRequest>(&response))
}

fn records(partition_index: i32, offset: i64, count: usize) -> PartitionData {
    let mut builder = BatchBuilder::new(BatchOptions::default()).with_log_position(offset, 5);
    for _ in 0..count {
        builder.append(0, None, Some(b"value"), std::iter::empty()).unwrap();
    }
    PartitionData {
        partition_index,
        records: Some(builder.finish(None).unwrap()),
        ..Default::default()
    }
}

fn failure(code: ErrorCode) -> PartitionData {
    PartitionData { error_code: code.code(), ..Default::default() }
}

fn apis() -> [crate::wire::messages::api_versions::ApiVersion; 3] {
    [api::<MetadataRequest>(), api::<FetchRequest>(), api::<ListOffsetsRequest>()]
}

/// A fetcher whose broker answers fetches by `script`.
fn fetcher(
    config: FetchConfig,
    mut script: impl FnMut(&str, &Incoming, FetchRequest) -> Answer + Send + 'static,
) -> (Fetcher, ScriptedCluster) {
    let cluster = ScriptedCluster::new(&apis(), move |endpoint, incoming| {
        if incoming.is::<MetadataRequest>() {
            return metadata(incoming);
        }
        if incoming.is::<ListOffsetsRequest>() {
            let answer = ListOffsetsPartitionResponse { offset: 3, ..Default::default() };
            let topic = ListOffsetsTopicResponse { name: "t".into(), partitions: vec![answer] };
            let response = ListOffsetsResponse { topics: vec![topic], ..Default::default() };
            return Answer::Frame(incoming.answer::<ListOffsetsRequest>(&response));
        }
        let request = incoming.decode::<FetchRequest>();
        if request.session_epoch == -1 {
            return answer(incoming, vec![]);
        }
        script(&endpoint.host, incoming, request)
    });
    let client = cluster.client(Config::new("one:9092").unwrap());
    (Fetcher::new(client, config), cluster)
}

fn t(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

async fn next(fetcher: &Fetcher) -> Result<Fetched, FetchError> {
    tokio::time::timeout(Duration::from_secs(60), fetcher.next()).await.expect("an item")
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_request_before_a_seek_changes_nothing() {
    let mut asked = 0;
    let held: Arc<Mutex<Vec<i64>>> = Arc::default();
    let offsets = held.clone();
    let (fetcher, _cluster) = fetcher(FetchConfig::default(), move |_, incoming, request| {
        asked += 1;
        let offset = request.topics.first().map_or(-1, |topic| topic.partitions[0].fetch_offset);
        offsets.lock().unwrap().push(offset);
        match offset {
            50 => answer(incoming, vec![records(0, 50, 1)]),
            // The broker answers the first request only after the seek, with old records.
            0 if asked == 1 => Answer::Silence,
            _ => Answer::Silence,
        }
    });
    fetcher.assign(&[(t(0), Position::Offset(0))]);
    while held.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let epoch = fetcher.seek(&t(0), Position::Offset(50)).unwrap();
    let fetched = next(&fetcher).await.unwrap();
    assert_eq!((fetched.epoch, fetched.start_offset, fetched.next_offset), (epoch, 50, 51));
}

#[tokio::test(start_paused = true)]
async fn a_full_partition_is_left_out_until_there_is_room_and_the_other_flows() {
    let config = FetchConfig { partition_buffer_bytes: 1, ..FetchConfig::default() };
    let (fetcher, _cluster) = fetcher(config, move |_, incoming, request| {
        let wanted = request.topics.iter().flat_map(|topic| &topic.partitions);
        let data: Vec<_> = wanted.map(|p| records(p.partition, p.fetch_offset, 1)).collect();
        if data.is_empty() { Answer::Silence } else { answer(incoming, data) }
    });
    fetcher.assign(&[(t(0), Position::Offset(0)), (t(1), Position::Offset(0))]);
    let mut positions = [0, 0];
    for _ in 0..20 {
        let fetched = next(&fetcher).await.unwrap();
        let position = &mut positions[usize::try_from(fetched.partition.partition).unwrap()];
        assert_eq!(fetched.start_offset, *position, "in order, none skipped or repeated");
        *position = fetched.next_offset;
        assert!(fetcher.shared.buffered() <= 2 * fetched.held);
    }
    assert!(positions[0] > 5 && positions[1] > 5, "{positions:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_named_in_an_error_is_followed_without_asking_for_metadata() {
    let (fetcher, cluster) = fetcher(FetchConfig::default(), move |host, incoming, _| {
        if host == "two" {
            return answer(incoming, vec![records(0, 0, 1)]);
        }
        let moved = PartitionData {
            current_leader: LeaderIdAndEpoch { leader_id: 2, leader_epoch: 6 },
            ..failure(ErrorCode::NotLeaderOrFollower)
        };
        let topic =
            FetchableTopicResponse { topic_id: ID, partitions: vec![moved], ..Default::default() };
        let response = FetchResponse {
            session_id: 9,
            responses: vec![topic],
            node_endpoints: vec![NodeEndpoint {
                node_id: 2,
                host: "two".into(),
                port: 9092,
                rack: None,
            }],
            ..Default::default()
        };
        Answer::Frame(incoming.answer::<FetchRequest>(&response))
    });
    fetcher.assign(&[(t(0), Position::Offset(0))]);
    assert_eq!(next(&fetcher).await.unwrap().next_offset, 1);
    assert!(cluster.dials().contains(&at("two")));
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_opened_anew_with_all_partitions() {
    let mut asked = 0;
    let epochs: Arc<Mutex<Vec<(i32, usize)>>> = Arc::default();
    let seen = epochs.clone();
    let (fetcher, _cluster) = fetcher(FetchConfig::default(), move |_, incoming, request| {
        asked += 1;
        let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
        seen.lock().unwrap().push((request.session_epoch, named));
        match asked {
            1 => answer(incoming, vec![records(0, 0, 1)]),
            2 => {
                let lost = FetchResponse {
                    error_code: ErrorCode::FetchSessionIdNotFound.code(),
                    ..Default::default()
                };
                Answer::Frame(incoming.answer::<FetchRequest>(&lost))
            }
            3 => answer(incoming, vec![records(1, 0, 1)]),
            _ => Answer::Silence,
        }
    });
    fetcher.assign(&[(t(0), Position::Offset(0)), (t(1), Position::Offset(0))]);
    assert_eq!(next(&fetcher).await.unwrap().partition, t(0));
    assert_eq!(next(&fetcher).await.unwrap().partition, t(1));
    assert_eq!(epochs.lock().unwrap()[..3], [(0, 2), (1, 1), (0, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_repeats_the_request_at_the_same_offset() {
    let mut asked = 0;
    let (fetcher, _cluster) = fetcher(FetchConfig::default(), move |_, incoming, _| {
        asked += 1;
        match asked {
            1 => answer(incoming, vec![records(0, 0, 3)]),
            2 => Answer::HangUp,
            3 => answer(incoming, vec![records(0, 3, 1)]),
            _ => Answer::Silence,
        }
    });
    fetcher.assign(&[(t(0), Position::Offset(0))]);
    assert_eq!(next(&fetcher).await.unwrap().next_offset, 3);
    let second = next(&fetcher).await.unwrap();
    assert_eq!((second.start_offset, second.next_offset), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn a_truncated_log_moves_the_position_back_to_where_it_diverged() {
    let mut asked = 0;
    let config = FetchConfig { reset: Some(OffsetSpec::Earliest), ..FetchConfig::default() };
    let (fetcher, _cluster) = fetcher(config, move |_, incoming, request| {
        asked += 1;
        match asked {
            1 => answer(incoming, vec![records(0, 0, 10)]),
            2 => {
                assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, 5);
                let diverging = PartitionData {
                    diverging_epoch: EpochEndOffset { epoch: 4, end_offset: 6 },
                    ..Default::default()
                };
                answer(incoming, vec![diverging])
            }
            3 => answer(incoming, vec![records(0, 6, 1)]),
            _ => Answer::Silence,
        }
    });
    fetcher.assign(&[(t(0), Position::Offset(0))]);
    assert_eq!(next(&fetcher).await.unwrap().next_offset, 10);
    assert_eq!(next(&fetcher).await.unwrap().start_offset, 6);
}

#[tokio::test(start_paused = true)]
async fn a_missing_offset_is_looked_up_by_the_reset_policy() {
    let config = FetchConfig { reset: Some(OffsetSpec::Earliest), ..FetchConfig::default() };
    let (fetcher, _cluster) = fetcher(config, move |_, incoming, request| {
        let asked = request.topics.first().map(|topic| topic.partitions[0].fetch_offset);
        match asked {
            Some(100) => answer(incoming, vec![failure(ErrorCode::OffsetOutOfRange)]),
            Some(3) => answer(incoming, vec![records(0, 3, 1)]),
            _ => Answer::Silence,
        }
    });
    fetcher.assign(&[(t(0), Position::Offset(100))]);
    assert_eq!(next(&fetcher).await.unwrap().start_offset, 3);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_partition_is_an_error_and_the_other_flows_on() {
    let mut offset = 0;
    let config = FetchConfig { partition_buffer_bytes: 4000, ..FetchConfig::default() };
    let (fetcher, _cluster) = fetcher(config, move |_, incoming, request| {
        let mut data = vec![records(1, offset, 1)];
        offset += 1;
        if request.topics.iter().any(|topic| topic.partitions.iter().any(|p| p.partition == 0)) {
            data.push(failure(ErrorCode::TopicAuthorizationFailed));
        }
        answer(incoming, data)
    });
    fetcher.assign(&[(t(0), Position::Offset(0)), (t(1), Position::Offset(0))]);
    let (mut errors, mut records) = (0, 0);
    while errors < 2 || records < 5 {
        match next(&fetcher).await {
            Ok(fetched) => {
                assert_eq!(fetched.partition, t(1));
                records += 1;
            }
            Err(error) => {
                assert_eq!(error.partition, t(0));
                assert_eq!(error.error.code(), Some(ErrorCode::TopicAuthorizationFailed));
                errors += 1;
                // The scripted broker answers at once; real ones are slower than the backoff.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn closing_closes_the_brokers_session() {
    let closed: Arc<Mutex<bool>> = Arc::default();
    let seen = closed.clone();
    let cluster = ScriptedCluster::new(&apis(), move |_, incoming| {
        if incoming.is::<MetadataRequest>() {
            return metadata(incoming);
        }
        let request = incoming.decode::<FetchRequest>();
        if request.session_epoch == -1 {
            *seen.lock().unwrap() = request.session_id == 9;
        }
        match request.session_epoch {
            0 => answer(incoming, vec![records(0, 0, 1)]),
            _ => answer(incoming, vec![]),
        }
    });
    let client = cluster.client(Config::new("one:9092").unwrap());
    let fetcher = Fetcher::new(client, FetchConfig::default());
    fetcher.assign(&[(t(0), Position::Offset(0))]);
    next(&fetcher).await.unwrap();
    fetcher.close().await;
    assert!(*closed.lock().unwrap());
}
