use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use llingr_kafka::client::{
    Client, Error, ErrorCode, GroupMetadata, OffsetToCommit, Producer, ProducerConfig,
    ProducerRecord, TopicPartition, partition_of_key,
};
use llingr_kafka::wire::records::Compression;

use crate::common::{block_on, create_topic, plain_client};
use crate::support::{
    Cluster, NewTopic, SOON, StoredRecord, Tool, one_at_a_time, shared_broker, unique, wait_until,
};

fn record(topic: &str, key: Option<&str>, value: &str) -> ProducerRecord {
    ProducerRecord {
        topic: topic.into(),
        key: key.map(|key| key.to_owned().into()),
        value: Some(value.to_owned().into()),
        ..ProducerRecord::default()
    }
}

fn transactional(client: &Client, id: &str) -> Producer {
    let config =
        ProducerConfig { transactional_id: Some(id.to_owned()), ..ProducerConfig::default() };
    Producer::new(client.clone(), config).expect("a producer")
}

fn values(records: &[StoredRecord]) -> Vec<&str> {
    records.iter().map(StoredRecord::value_str).collect()
}

#[test]
fn records_arrive_complete_in_every_compression_with_keys_where_java_puts_them() {
    let broker = shared_broker();
    let tool = broker.tool();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        for compression in [
            Compression::None,
            Compression::Gzip,
            Compression::Snappy,
            Compression::Lz4,
            Compression::Zstd,
        ] {
            let topic = unique("produce");
            create_topic(&client, &topic, 4).await;
            let config = ProducerConfig { compression, ..ProducerConfig::default() };
            let producer = Producer::new(client.clone(), config).unwrap();
            let mut deliveries = Vec::new();
            for n in 0..2000 {
                let key = format!("key-{}", n % 50);
                let mut record = record(&topic, (n % 3 > 0).then_some(&*key), &n.to_string());
                record.headers = vec![("h".into(), Some("1".into())), ("h".into(), None)];
                record.timestamp = Some(1_700_000_000_000 + n);
                deliveries.push((n, record.key.clone(), producer.send(&record).await.unwrap()));
            }
            producer.flush().await.unwrap();
            let stored = tool.read(&topic).unwrap();
            assert_eq!(stored.len(), 2000, "{compression:?}");
            let by_place: BTreeMap<(i32, i64), &StoredRecord> =
                stored.iter().map(|record| ((record.partition, record.offset), record)).collect();
            for (n, key, delivery) in deliveries {
                let placed = delivery.wait().await.unwrap();
                let place = (placed.partition.partition, placed.offset.expect("an offset"));
                let stored = by_place[&place];
                assert_eq!(stored.value_str(), n.to_string());
                assert_eq!(stored.timestamp_ms, 1_700_000_000_000 + n);
                assert_eq!(stored.headers.len(), 2);
                assert_eq!(stored.headers[1].value, None);
                if let Some(key) = key {
                    assert_eq!(place.0, partition_of_key(&key, 4));
                }
            }
            producer.close().await.unwrap();
        }
    });
}

#[test]
fn batches_that_are_too_large_for_the_topic_are_split_and_keep_order_and_sequence() {
    let broker = shared_broker();
    let tool = broker.tool();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        for compression in [Compression::None, Compression::Lz4] {
            let topic = unique("produce");
            tool.create_topic(&NewTopic::new(&topic, 1).config("max.message.bytes", "3000"))
                .unwrap();
            // Batches of up to sixteen kilobytes, five of them on their way at once.
            let config = ProducerConfig {
                compression,
                linger: Duration::from_millis(50),
                ..ProducerConfig::default()
            };
            let producer = Producer::new(client.clone(), config).unwrap();
            let mut deliveries = Vec::new();
            for n in 0..600 {
                // Random letters, so that compression does not make them fit.
                let noise: String =
                    std::iter::repeat_with(fastrand::alphanumeric).take(200).collect();
                let mut next = record(&topic, Some("key"), &format!("{n} {noise}"));
                next.headers = vec![("h".into(), Some(n.to_string().into())), ("e".into(), None)];
                next.timestamp = Some(1_700_000_000_000 + n);
                deliveries.push(producer.send(&next).await.unwrap());
                if n == 300 {
                    // A record that is too large by itself is refused alone.
                    let large: String =
                        std::iter::repeat_with(fastrand::alphanumeric).take(8000).collect();
                    let large = record(&topic, Some("key"), &large);
                    producer.flush().await.unwrap();
                    let error = producer.send_and_wait(&large).await.unwrap_err();
                    assert!(error.to_string().contains("max.message.bytes"), "{error}");
                }
            }
            producer.flush().await.unwrap();
            for (n, delivery) in deliveries.into_iter().enumerate() {
                let placed = delivery.wait().await.unwrap();
                assert_eq!(placed.offset, Some(n as i64), "{compression:?}");
            }
            let stored = tool.read(&topic).unwrap();
            assert_eq!(stored.len(), 600, "{compression:?}");
            for (n, stored) in stored.iter().enumerate() {
                assert!(stored.value_str().starts_with(&format!("{n} ")), "{}", stored.value_str());
                assert_eq!(stored.timestamp_ms, 1_700_000_000_000 + n as i64);
                let value = Some(n.to_string().into_bytes());
                let headers: Vec<_> =
                    stored.headers.iter().map(|h| (h.key.as_str(), h.value.clone())).collect();
                assert_eq!(headers, [("h", value), ("e", None)]);
            }
        }
    });
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_setting_that_matters() {
    let broker = shared_broker();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let topic = unique("refused");
        create_topic(&client, &topic, 1).await;
        let config =
            ProducerConfig { max_block: Duration::from_secs(2), ..ProducerConfig::default() };
        let producer = Producer::new(client.clone(), config).unwrap();
        let large = record(&topic, None, &"x".repeat(2 << 20));
        let error = producer.send(&large).await.unwrap_err();
        assert!(error.to_string().contains("max.request.size"), "{error}");

        let mut nowhere = record(&topic, None, "x");
        nowhere.partition = Some(7);
        let error = producer.send(&nowhere).await.unwrap_err();
        assert!(error.to_string().contains("none with number 7"), "{error}");

        let error = producer.send(&record(&unique("missing"), None, "x")).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::UnknownTopicOrPartition));
    });
}

/// Sends numbered records without pause while `disturb` runs, and checks that each was written
/// once and in order.
async fn exactly_once_while<F>(client: Client, tool: &Tool, topic: &str, disturb: F)
where
    F: FnOnce() + Send + 'static,
{
    let producer = Arc::new(Producer::new(client, ProducerConfig::default()).unwrap());
    let disturbance = tokio::task::spawn_blocking(disturb);
    let mut deliveries = Vec::new();
    let mut n = 0;
    let mut after = 0;
    while after < 2000 {
        let mut record = record(topic, None, &n.to_string());
        record.partition = Some(n % 2);
        deliveries.push(producer.send(&record).await.expect("accepted"));
        n += 1;
        after += i32::from(disturbance.is_finished());
        if n % 50 == 0 {
            // Several batches for each disturbance rather than one large one.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    disturbance.await.expect("the disturbance");
    producer.flush().await.expect("all delivered");
    for delivery in deliveries {
        delivery.wait().await.expect("delivered");
    }
    let stored = tool.read(topic).unwrap();
    assert_eq!(stored.len(), usize::try_from(n).unwrap());
    for partition in 0..2 {
        let numbers: Vec<i32> = stored
            .iter()
            .filter(|record| record.partition == partition)
            .map(|record| record.value_str().parse().unwrap())
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "partition {partition} in order, each once");
    }
}

#[test]
fn records_are_written_once_and_in_order_over_a_broker_restart() {
    let _turn = one_at_a_time();
    let cluster = Arc::new(Cluster::builder().start());
    let tool = cluster.tool();
    let topic = unique("restart");
    tool.create(&topic, 2).unwrap();
    block_on(async {
        let client = plain_client(&cluster.bootstrap());
        let other = cluster.clone();
        exactly_once_while(client, &tool, &topic, move || {
            let id = other.ids()[0];
            other.kill9(id);
            other.start(id);
            other.wait_ready();
        })
        .await;
    });
}

#[test]
fn records_are_written_once_and_in_order_over_moving_leaders_and_a_lost_broker() {
    let _turn = one_at_a_time();
    let cluster = Arc::new(Cluster::builder().brokers(3).start());
    let tool = cluster.tool();
    let topic = unique("moving");
    tool.create_topic(&NewTopic::new(&topic, 2).replicas(&[&[1, 2, 3], &[2, 3, 1]])).unwrap();
    block_on(async {
        let client = plain_client(&cluster.bootstrap());
        let (other, name) = (cluster.clone(), topic.clone());
        exactly_once_while(client, &tool, &topic, move || {
            let tool = other.tool();
            for leader in [2, 3, 1, 3] {
                tool.move_leader(&name, 0, leader).unwrap();
            }
            other.kill9(3);
        })
        .await;
    });
}

fn offset_of(tool: &Tool, group: &str) -> Option<i64> {
    tool.committed(group).unwrap().first().map(|committed| committed.offset)
}

async fn commit_abort_and_offsets(bootstrap: &str, tool: &Tool) {
    let client = plain_client(bootstrap);
    let (topic, group) = (unique("txn"), unique("group"));
    create_topic(&client, &topic, 1).await;
    let producer = transactional(&client, &unique("id"));
    assert!(producer.begin_transaction().is_err(), "not initialised");
    producer.init_transactions().await.unwrap();
    assert!(producer.send(&record(&topic, None, "early")).await.is_err(), "not begun");
    let offset = |offset| OffsetToCommit {
        partition: TopicPartition::new(topic.as_str(), 0),
        offset,
        leader_epoch: -1,
        metadata: format!("at {offset}"),
    };
    let member = GroupMetadata { group_id: group.clone(), member_epoch: -1, ..Default::default() };
    for round in 0..6 {
        producer.begin_transaction().unwrap();
        for n in 0..3 {
            let value = format!("{round}.{n}");
            producer.send(&record(&topic, None, &value)).await.unwrap();
        }
        producer.send_offsets(&[offset(round)], &member).await.unwrap();
        if round % 2 == 0 {
            producer.commit_transaction().await.unwrap();
            // The marker reaches the group's offsets a moment after the commit is decided.
            wait_until("the committed offset", SOON, || offset_of(tool, &group) == Some(round));
        } else {
            producer.abort_transaction().await.unwrap();
            assert_eq!(offset_of(tool, &group), Some(round - 1));
        }
    }
    // An empty one costs nothing and does no harm.
    producer.begin_transaction().unwrap();
    producer.commit_transaction().await.unwrap();
    producer.begin_transaction().unwrap();
    producer.abort_transaction().await.unwrap();
    let expected = ["0.0", "0.1", "0.2", "2.0", "2.1", "2.2", "4.0", "4.1", "4.2"];
    wait_until("the committed records alone", SOON, || {
        values(&tool.read(&topic).unwrap()) == expected
    });
}

#[test]
fn committed_records_and_offsets_count_and_aborted_ones_do_not() {
    let broker = shared_broker();
    block_on(commit_abort_and_offsets(broker.bootstrap(), &broker.tool()));
}

#[test]
fn transactions_work_where_partitions_must_be_announced() {
    let cluster = Cluster::builder().feature("transaction.version", 1).start();
    block_on(commit_abort_and_offsets(&cluster.bootstrap(), &cluster.tool()));
}

#[test]
fn a_second_producer_of_an_id_fences_the_first_for_good() {
    let broker = shared_broker();
    let tool = broker.tool();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let (topic, id) = (unique("fence"), unique("id"));
        create_topic(&client, &topic, 1).await;
        let first = transactional(&client, &id);
        first.init_transactions().await.unwrap();
        first.begin_transaction().unwrap();
        first.send_and_wait(&record(&topic, None, "first")).await.unwrap();

        let second = transactional(&client, &id);
        second.init_transactions().await.unwrap();
        let error = first.commit_transaction().await.unwrap_err();
        let code = error.code().expect("the coordinator's word");
        assert!(
            matches!(code, ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch),
            "{error}"
        );
        assert!(error.to_string().contains(&id), "{error}");
        for outcome in [
            first.begin_transaction(),
            first.abort_transaction().await,
            first.send(&record(&topic, None, "late")).await.map(drop),
        ] {
            assert_eq!(outcome.unwrap_err().code(), Some(code), "it stays fenced");
        }

        second.begin_transaction().unwrap();
        second.send(&record(&topic, None, "second")).await.unwrap();
        second.commit_transaction().await.unwrap();
        wait_until("the committed record", SOON, || {
            values(&tool.read(&topic).unwrap()) == ["second"]
        });
    });
}

#[test]
fn a_transaction_with_a_failed_record_can_only_be_aborted_and_the_next_one_works() {
    for version in [1, 2] {
        let cluster = Cluster::builder().feature("transaction.version", version).start();
        let tool = cluster.tool();
        block_on(async {
            let client = plain_client(&cluster.bootstrap());
            let topic = unique("failed");
            let small = NewTopic::new(&topic, 1).config("max.message.bytes", "2000");
            tool.create_topic(&small).unwrap();
            let producer = transactional(&client, &unique("id"));
            producer.init_transactions().await.unwrap();
            producer.begin_transaction().unwrap();
            producer.send_and_wait(&record(&topic, None, "gone")).await.unwrap();
            let large = record(&topic, None, &"x".repeat(5000));
            let error = producer.send_and_wait(&large).await.unwrap_err();
            assert!(error.to_string().contains("max.message.bytes"), "{error}");
            assert!(producer.send(&record(&topic, None, "x")).await.is_err());
            assert!(producer.commit_transaction().await.is_err());
            producer.abort_transaction().await.unwrap();

            producer.begin_transaction().unwrap();
            producer.send(&record(&topic, None, "kept")).await.unwrap();
            producer.commit_transaction().await.unwrap();
            wait_until("the committed record alone", SOON, || {
                values(&tool.read(&topic).unwrap()) == ["kept"]
            });
        });
    }
}

#[test]
fn an_idempotent_producer_goes_on_after_a_batch_was_refused() {
    let broker = shared_broker();
    let tool = broker.tool();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let topic = unique("gap");
        tool.create_topic(&NewTopic::new(&topic, 1).config("max.message.bytes", "2000")).unwrap();
        let producer = Producer::new(client, ProducerConfig::default()).unwrap();
        for (size, accepted) in [(10, true), (5000, false), (20, true), (5000, false), (30, true)] {
            let outcome = producer.send_and_wait(&record(&topic, None, &"x".repeat(size))).await;
            assert_eq!(outcome.is_ok(), accepted, "{outcome:?}");
        }
        let sizes: Vec<usize> =
            tool.read(&topic).unwrap().iter().map(|r| r.value_str().len()).collect();
        assert_eq!(sizes, [10, 20, 30]);
    });
}

#[test]
fn an_unreachable_broker_gives_records_up_at_their_time_limit() {
    let cluster = Cluster::builder().start();
    let tool = cluster.tool();
    let topic = unique("timeout");
    tool.create(&topic, 1).unwrap();
    block_on(async {
        let client = plain_client(&cluster.bootstrap());
        let config = ProducerConfig {
            delivery_timeout: Duration::from_secs(2),
            ..ProducerConfig::default()
        };
        let producer = Producer::new(client, config).unwrap();
        producer.send_and_wait(&record(&topic, None, "one")).await.unwrap();
        cluster.kill9(cluster.ids()[0]);
        let error = producer.send_and_wait(&record(&topic, None, "two")).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert!(error.to_string().contains("delivery.timeout.ms"), "{error}");
    });
}
