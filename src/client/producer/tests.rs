use std::sync::Mutex;

use super::*;
use crate::client::config::Config;
use crate::client::error::ErrorCode;
use crate::client::scripted::{Answer, Incoming, ScriptedCluster, api};
use crate::wire::Uuid;
use crate::wire::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::messages::produce::{PartitionProduceResponse, TopicProduceResponse};
use crate::wire::messages::{
    InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, MetadataResponse,
    ProduceRequest, ProduceResponse,
};
use crate::wire::records::{BatchHeader, Batches};

const ID: Uuid = Uuid([1; 16]);

fn metadata(incoming: &Incoming) -> Answer {
    let broker =
        MetadataResponseBroker { node_id: 1, host: "one".into(), port: 9092, ..Default::default() };
    let partition = MetadataResponsePartition { leader_id: 1, ..Default::default() };
    let topic = MetadataResponseTopic {
        name: Some("t".into()),
        topic_id: ID,
        partitions: vec![partition],
        ..Default::default()
    };
    let response =
        MetadataResponse { brokers: vec![broker], topics: vec![topic], ..Default::default() };
    Answer::Frame(incoming.answer::<MetadataRequest>(&response))
}

fn answer(incoming: &Incoming, code: ErrorCode, base_offset: i64) -> Answer {
    let partition =
        PartitionProduceResponse { error_code: code.code(), base_offset, ..Default::default() };
    let topic = TopicProduceResponse {
        topic_id: ID,
        partition_responses: vec![partition],
        ..Default::default()
    };
    let response = ProduceResponse { responses: vec![topic], ..Default::default() };
    Answer::Frame(incoming.answer::<ProduceRequest>(&response))
}

/// Epoch, base sequence and number of records of the batches a broker was sent.
type Seen = Arc<Mutex<Vec<(i16, i32, i32)>>>;

/// A producer whose broker answers the n-th request by `script`.
fn producer(
    config: ProducerConfig,
    mut script: impl FnMut(usize, &Incoming) -> Answer + Send + 'static,
) -> (Producer, Seen) {
    let seen = Seen::default();
    let noted = seen.clone();
    let mut count = 0;
    let apis = [api::<MetadataRequest>(), api::<InitProducerIdRequest>(), api::<ProduceRequest>()];
    let cluster = ScriptedCluster::new(&apis, move |_, incoming| {
        if incoming.is::<MetadataRequest>() {
            return metadata(incoming);
        }
        if incoming.is::<InitProducerIdRequest>() {
            let response = InitProducerIdResponse { producer_id: 7, ..Default::default() };
            return Answer::Frame(incoming.answer::<InitProducerIdRequest>(&response));
        }
        let header = only_batch(&incoming.decode::<ProduceRequest>());
        noted.lock().unwrap().push((
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        ));
        count += 1;
        script(count, incoming)
    });
    let client = cluster.client(Config::new("one:9092").unwrap());
    (Producer::new(client, config).unwrap(), seen)
}

fn only_batch(request: &ProduceRequest) -> BatchHeader {
    assert_eq!(request.acks, -1);
    let data = &request.topic_data[0].partition_data[0];
    let batch = Batches::new(data.records.clone().unwrap()).next().unwrap().unwrap();
    batch.check_crc().unwrap();
    batch.header
}

fn record(value: &str) -> ProducerRecord {
    ProducerRecord {
        topic: "t".into(),
        value: Some(value.to_owned().into()),
        ..ProducerRecord::default()
    }
}

fn config() -> ProducerConfig {
    ProducerConfig::default()
}

#[tokio::test(start_paused = true)]
async fn records_that_come_together_share_a_batch_and_know_their_offsets() {
    let (producer, seen) = producer(config(), |_, i| answer(i, ErrorCode::None, 40));
    let first = producer.send(&record("a")).await.unwrap();
    let second = producer.send(&record("b")).await.unwrap();
    assert_eq!(first.wait().await.unwrap().offset, Some(40));
    assert_eq!(second.wait().await.unwrap().offset, Some(41));
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again_with_the_same_sequence_and_a_duplicate_is_a_success() {
    let (producer, seen) = producer(config(), |n, i| match n {
        1 => Answer::HangUp,
        _ => answer(i, ErrorCode::DuplicateSequenceNumber, 5),
    });
    assert_eq!(producer.send_and_wait(&record("a")).await.unwrap().offset, Some(5));
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 1), (0, 0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_gap_at_the_broker_fails_the_batch_and_the_next_begins_in_a_new_epoch() {
    let (producer, seen) = producer(config(), |n, i| match n {
        2 => answer(i, ErrorCode::OutOfOrderSequenceNumber, -1),
        _ => answer(i, ErrorCode::None, 0),
    });
    producer.send_and_wait(&record("a")).await.unwrap();
    let error = producer.send_and_wait(&record("b")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OutOfOrderSequenceNumber));
    producer.send_and_wait(&record("c")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 1), (0, 1, 1), (1, 0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_producer_the_broker_forgot_repeats_the_batch_in_a_new_epoch() {
    let (producer, seen) = producer(config(), |n, i| match n {
        2 => answer(i, ErrorCode::UnknownProducerId, -1),
        _ => answer(i, ErrorCode::None, 0),
    });
    producer.send_and_wait(&record("a")).await.unwrap();
    producer.send_and_wait(&record("b")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 1), (0, 1, 1), (1, 0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn fencing_ends_the_producer_for_everything_waiting_and_later() {
    let (producer, _seen) = producer(config(), |_, i| answer(i, ErrorCode::ProducerFenced, -1));
    let error = producer.send_and_wait(&record("a")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::ProducerFenced));
    let later = producer.send(&record("b")).await.unwrap_err();
    assert_eq!(later.code(), Some(ErrorCode::ProducerFenced));
}

#[tokio::test(start_paused = true)]
async fn a_moved_leader_and_missing_replicas_are_waited_out() {
    let (producer, seen) = producer(config(), |n, i| match n {
        1 => answer(i, ErrorCode::NotLeaderOrFollower, -1),
        2 => answer(i, ErrorCode::NotEnoughReplicas, -1),
        _ => answer(i, ErrorCode::None, 3),
    });
    assert_eq!(producer.send_and_wait(&record("a")).await.unwrap().offset, Some(3));
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 1); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_record_the_topic_forbids_fails_at_once() {
    let (producer, seen) =
        producer(config(), |_, i| answer(i, ErrorCode::TopicAuthorizationFailed, -1));
    let error = producer.send_and_wait(&record("a")).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TopicAuthorizationFailed));
    assert!(error.to_string().contains("t-0"), "{error}");
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_holds_senders_back_until_their_limit() {
    let config = ProducerConfig {
        buffer_bytes: 2000,
        max_request_bytes: 1500,
        max_block: Duration::from_secs(3),
        ..config()
    };
    let (producer, _seen) = producer(config, |_, _| Answer::Silence);
    let kept = producer.send(&record(&"x".repeat(1200))).await.unwrap();
    let started = Instant::now();
    let error = producer.send(&record(&"x".repeat(1200))).await.unwrap_err();
    assert!(error.to_string().contains("buffer.memory"), "{error}");
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    drop(kept);
}

#[tokio::test(start_paused = true)]
async fn room_comes_back_with_the_outcome() {
    let config = ProducerConfig { buffer_bytes: 2000, max_request_bytes: 1500, ..config() };
    let (producer, seen) = producer(config, |_, i| answer(i, ErrorCode::None, 0));
    for _ in 0..20 {
        producer.send(&record(&"x".repeat(1200))).await.unwrap();
    }
    producer.flush().await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_record_is_given_up_at_its_delivery_limit() {
    let config = ProducerConfig { delivery_timeout: Duration::from_secs(50), ..config() };
    let (producer, _seen) = producer(config, |_, _| Answer::Silence);
    let started = Instant::now();
    let error = producer.send_and_wait(&record("a")).await.unwrap_err();
    assert!(error.to_string().contains("delivery.timeout.ms"), "{error}");
    // A request in flight is let come to its own end.
    assert!(started.elapsed() <= Duration::from_secs(81), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_producer_tells_everybody_who_waits() {
    let (producer, _seen) = producer(config(), |_, _| Answer::Silence);
    let delivery = producer.send(&record("a")).await.unwrap();
    drop(producer);
    assert!(matches!(delivery.wait().await, Err(Error::Closed)));
}
