use std::collections::BTreeMap;
use std::time::Duration;

use llingr_kafka::client::{
    Client, ErrorCode, FetchConfig, FetchError, Fetcher, OffsetSpec, Position, TopicPartition,
};

use crate::common::{block_on, plain_client};
use crate::support::{Bulk, Cluster, NewRecord, NewTopic, one_at_a_time, shared_broker, unique};

fn config() -> FetchConfig {
    FetchConfig { reset: Some(OffsetSpec::Earliest), ..FetchConfig::default() }
}

fn all_from(topic: &str, partitions: i32, position: Position) -> Vec<(TopicPartition, Position)> {
    (0..partitions).map(|n| (TopicPartition::new(topic, n), position)).collect()
}

/// Fetches until `count` records came; offsets must be without gap or repetition when `dense`.
async fn collect(fetcher: &Fetcher, count: usize) -> BTreeMap<i32, Vec<(i64, Vec<u8>)>> {
    let mut found: BTreeMap<i32, Vec<(i64, Vec<u8>)>> = BTreeMap::new();
    let mut total = 0;
    while total < count {
        let fetched = tokio::time::timeout(Duration::from_secs(60), fetcher.next())
            .await
            .unwrap_or_else(|_| panic!("{total} of {count} records came"))
            .expect("records");
        let records = found.entry(fetched.partition.partition).or_default();
        fetched
            .for_each(|record| {
                records.push((record.offset, record.value.unwrap_or_default().to_vec()));
                total += 1;
            })
            .expect("readable batches");
    }
    found
}

async fn expect_error(fetcher: &Fetcher) -> FetchError {
    tokio::time::timeout(Duration::from_secs(30), fetcher.next())
        .await
        .expect("an item")
        .expect_err("an error")
}

#[test]
fn records_of_every_compression_come_complete_and_in_order() {
    let broker = shared_broker();
    let tool = broker.tool();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        for compression in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let topic = unique("fetch");
            tool.create(&topic, 3).unwrap();
            tool.produce_bulk(&Bulk::new(&topic, 20_000).round_robin(3).compression(compression))
                .unwrap();
            let fetcher = Fetcher::new(client.clone(), config());
            fetcher.assign(&all_from(&topic, 3, Position::Spec(OffsetSpec::Earliest)));
            let found = collect(&fetcher, 20_000).await;
            let mut numbers: Vec<u64> = Vec::new();
            for records in found.values() {
                let offsets: Vec<i64> = records.iter().map(|(offset, _)| *offset).collect();
                assert_eq!(offsets, (0..offsets.len() as i64).collect::<Vec<_>>(), "{compression}");
                numbers.extend(records.iter().map(|(_, value)| Bulk::number_of(value)));
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (0..20_000).collect::<Vec<_>>(), "{compression}");
            fetcher.close().await;
        }
    });
}

#[test]
fn aborted_records_are_hidden_and_the_position_passes_them() {
    let broker = shared_broker();
    let tool = broker.tool();
    let topic = unique("aborted");
    tool.create(&topic, 1).unwrap();
    let records = |text: &str| vec![NewRecord::keyless(text).partition(0)];
    for (text, commit) in [("one", true), ("two", false), ("three", true), ("four", false)] {
        let transaction = tool.begin(&unique("txn"), Duration::from_secs(60)).unwrap();
        transaction.produce(&topic, &records(text)).unwrap();
        if commit { transaction.commit().unwrap() } else { transaction.abort().unwrap() }
    }
    let end = tool.end_offsets(&topic).unwrap()[0];
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let fetcher = Fetcher::new(client.clone(), config());
        fetcher.assign(&all_from(&topic, 1, Position::Offset(0)));
        let mut values = Vec::new();
        let mut position = 0;
        while position < end {
            let fetched = fetcher.next().await.unwrap();
            fetched.for_each(|r| values.push(r.value.unwrap().to_vec())).unwrap();
            position = fetched.next_offset;
        }
        assert_eq!(values, [b"one".to_vec(), b"three".to_vec()]);

        let all = FetchConfig { read_committed: false, ..config() };
        let fetcher = Fetcher::new(client, all);
        fetcher.assign(&all_from(&topic, 1, Position::Offset(0)));
        assert_eq!(collect(&fetcher, 4).await[&0].len(), 4);
    });
}

#[test]
fn a_position_that_does_not_exist_is_an_error_or_reset_by_policy() {
    let broker = shared_broker();
    let tool = broker.tool();
    let topic = unique("range");
    tool.create(&topic, 1).unwrap();
    tool.produce(&topic, &[NewRecord::keyless("a"), NewRecord::keyless("b")]).unwrap();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let strict = Fetcher::new(client.clone(), FetchConfig { reset: None, ..config() });
        strict.assign(&all_from(&topic, 1, Position::Offset(1000)));
        let error = expect_error(&strict).await;
        assert_eq!(error.error.code(), Some(ErrorCode::OffsetOutOfRange));
        assert!(error.to_string().contains(&format!("{topic}-0")), "{error}");
        // It waits for a seek, and goes on after one.
        let partition = TopicPartition::new(topic.as_str(), 0);
        let epoch = strict.seek(&partition, Position::Offset(1)).expect("assigned");
        let fetched = strict.next().await.unwrap();
        assert_eq!((fetched.epoch, fetched.start_offset, fetched.next_offset), (epoch, 1, 2));

        let lenient = Fetcher::new(client, config());
        lenient.assign(&all_from(&topic, 1, Position::Offset(1000)));
        assert_eq!(collect(&lenient, 2).await[&0][0].0, 0);
    });
}

#[test]
fn paused_and_unassigned_partitions_hand_out_nothing() {
    let broker = shared_broker();
    let tool = broker.tool();
    let topic = unique("pause");
    tool.create(&topic, 2).unwrap();
    for partition in 0..2 {
        tool.produce(&topic, &[NewRecord::keyless("a").partition(partition)]).unwrap();
    }
    block_on(async {
        let fetcher = Fetcher::new(plain_client(broker.bootstrap()), config());
        let zero = TopicPartition::new(topic.as_str(), 0);
        fetcher.assign(&all_from(&topic, 2, Position::Offset(0)));
        fetcher.pause(&zero);
        let found = collect(&fetcher, 1).await;
        assert!(found.contains_key(&1), "{found:?}");
        assert!(fetcher.try_next().is_none());
        fetcher.resume(&zero);
        assert!(collect(&fetcher, 1).await.contains_key(&0));
        fetcher.unassign(&[zero]);
        tool.produce(&topic, &[NewRecord::keyless("b").partition(0)]).unwrap();
        tool.produce(&topic, &[NewRecord::keyless("b").partition(1)]).unwrap();
        assert!(collect(&fetcher, 1).await.contains_key(&1));
        assert!(fetcher.try_next().is_none());
    });
}

#[test]
fn fetching_follows_the_leader_and_survives_the_loss_of_a_broker() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().brokers(3).start();
    let tool = cluster.tool();
    let topic = unique("moving");
    tool.create_topic(&NewTopic::new(&topic, 1).replicas(&[&[2, 3]])).unwrap();
    block_on(async {
        let client: Client = plain_client(&cluster.bootstrap());
        let fetcher = Fetcher::new(client, config());
        fetcher.assign(&all_from(&topic, 1, Position::Offset(0)));
        tool.produce_bulk(&Bulk::new(&topic, 1000)).unwrap();
        let mut offsets: Vec<i64> = Vec::new();
        offsets.extend(collect(&fetcher, 1000).await[&0].iter().map(|(offset, _)| *offset));

        tool.move_leader(&topic, 0, 3).unwrap();
        tool.produce_bulk(&Bulk::new(&topic, 1000).start(1000)).unwrap();
        offsets.extend(collect(&fetcher, 1000).await[&0].iter().map(|(offset, _)| *offset));

        cluster.kill9(3);
        tool.produce_bulk(&Bulk::new(&topic, 1000).start(2000)).unwrap();
        offsets.extend(collect(&fetcher, 1000).await[&0].iter().map(|(offset, _)| *offset));
        assert_eq!(offsets, (0..3000).collect::<Vec<_>>());
        fetcher.close().await;
    });
}
