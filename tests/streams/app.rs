//! Small applications on the runtime's own seam, and how tests run them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use llingr_kafka::client::TopicPartition;
use llingr_kafka::streams::TaskId;
use llingr_kafka::streams::runtime::{
    Application, Builder, Collector, Inputs, KafkaStreams, OutRecord, Source, State, StoreOffsets,
    StreamTask, StreamsError,
};
use llingr_kafka::wire::messages::streams_group_heartbeat::{
    KeyValue, Subtopology, TopicInfo, Topology,
};
use llingr_kafka::wire::records::Record;

use crate::support::{NewRecord, Tool};

pub(crate) const SOON: Duration = Duration::from_secs(60);

/// What outlives a task on a machine: the stores, as they were made durable.
pub(crate) type Disk = Arc<Mutex<HashMap<TaskId, Saved>>>;

#[derive(Clone, Default)]
pub(crate) struct Saved {
    counts: BTreeMap<Bytes, u64>,
    offsets: StoreOffsets,
}

/// Copies records, or counts them by key in a store with a changelog.
#[derive(Clone)]
pub(crate) struct TestApp {
    pub(crate) input: Arc<str>,
    pub(crate) output: Arc<str>,
    pub(crate) counting: bool,
    pub(crate) disk: Disk,
    /// Changelog records that were applied.
    pub(crate) restored: Arc<Mutex<u64>>,
    /// Fails at a record with this value.
    pub(crate) poison: Option<&'static str>,
}

impl TestApp {
    pub(crate) fn new(input: &str, output: &str, counting: bool) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            counting,
            disk: Disk::default(),
            restored: Arc::default(),
            poison: None,
        }
    }

    fn changelog(application_id: &str) -> Arc<str> {
        format!("{application_id}-counts-changelog").into()
    }
}

impl Application for TestApp {
    fn topology(&self, application_id: &str) -> Topology {
        let config = |key: &str, value: &str| KeyValue { key: key.into(), value: value.into() };
        let changelog = TopicInfo {
            name: Self::changelog(application_id).to_string(),
            partitions: 0,
            replication_factor: -1,
            topic_configs: vec![
                config("cleanup.policy", "compact"),
                config("message.timestamp.type", "CreateTime"),
            ],
        };
        let subtopology = Subtopology {
            subtopology_id: "0".into(),
            source_topics: vec![self.input.to_string()],
            state_changelog_topics: if self.counting { vec![changelog] } else { vec![] },
            ..Default::default()
        };
        Topology { epoch: 0, subtopologies: vec![subtopology] }
    }

    fn inputs(&self, application_id: &str, subtopology: i32) -> Option<Inputs> {
        let source = Source { topic: self.input.clone(), repartition: false, reset: None };
        let changelog = self.counting.then(|| Self::changelog(application_id));
        (subtopology == 0)
            .then(|| Inputs { sources: vec![source], changelogs: changelog.into_iter().collect() })
    }

    fn task(&self, application_id: &str, id: TaskId) -> Result<Box<dyn StreamTask>, StreamsError> {
        Ok(Box::new(Task {
            app: self.clone(),
            id,
            changelog: Self::changelog(application_id),
            queue: VecDeque::new(),
            counts: BTreeMap::new(),
            dirty: false,
        }))
    }
}

struct Task {
    app: TestApp,
    id: TaskId,
    changelog: Arc<str>,
    queue: VecDeque<Record>,
    counts: BTreeMap<Bytes, u64>,
    dirty: bool,
}

impl Task {
    fn process_one(&mut self, record: Record, out: &mut dyn Collector) -> Result<(), StreamsError> {
        let value = record.value.clone().unwrap_or_default();
        if self.app.poison.is_some_and(|poison| value == poison.as_bytes()) {
            return Err(StreamsError::of_task(self.id, "poison"));
        }
        let mut sent = value;
        if self.app.counting {
            let key = record.key.clone().unwrap_or_default();
            let count = self.counts.entry(key).or_default();
            *count += 1;
            sent = count.to_string().into();
            out.send(OutRecord {
                topic: &self.changelog,
                partition: Some(self.id.partition),
                key: record.key.clone(),
                value: Some(sent.clone()),
                headers: vec![],
                timestamp: record.timestamp,
                changelog: true,
            })?;
        }
        out.send(OutRecord {
            topic: &self.app.output,
            partition: None,
            key: record.key,
            value: Some(sent),
            headers: vec![],
            timestamp: record.timestamp,
            changelog: false,
        })
    }
}

impl StreamTask for Task {
    fn open(&mut self) -> Result<StoreOffsets, StreamsError> {
        let saved = self.app.disk.lock().unwrap().get(&self.id).cloned().unwrap_or_default();
        self.counts = saved.counts;
        Ok(saved.offsets)
    }

    fn restore(&mut self, _: &str, records: &[Record], _: i64) -> Result<(), StreamsError> {
        *self.app.restored.lock().unwrap() += records.len() as u64;
        for record in records {
            let key = record.key.clone().expect("null keys are left out");
            let value = record.value.as_deref().expect("no deletes here");
            let count = std::str::from_utf8(value).unwrap().parse().expect("a count");
            self.counts.insert(key, count);
        }
        Ok(())
    }

    fn init(&mut self, _: &[(TopicPartition, String)]) -> Result<(), StreamsError> {
        Ok(())
    }

    fn add(&mut self, _: &TopicPartition, records: Vec<Record>) {
        self.queue.extend(records);
    }

    fn buffered(&self, _: &TopicPartition) -> usize {
        self.queue.len()
    }

    fn head(&self, _: &TopicPartition) -> Option<i64> {
        self.queue.front().map(|record| record.offset)
    }

    fn process(
        &mut self,
        limit: usize,
        _: i64,
        _: &dyn Fn(&TopicPartition) -> bool,
        out: &mut dyn Collector,
    ) -> Result<usize, StreamsError> {
        let count = self.queue.len().min(limit);
        for _ in 0..count {
            let Some(record) = self.queue.pop_front() else { break };
            self.dirty = true;
            self.process_one(record, out)?;
        }
        Ok(count)
    }

    fn punctuate(&mut self, _: i64, _: &mut dyn Collector) -> Result<bool, StreamsError> {
        Ok(false)
    }

    fn commit_needed(&self) -> bool {
        self.dirty
    }

    fn prepare_commit(&mut self, _: &mut dyn Collector) -> Result<(), StreamsError> {
        Ok(())
    }

    fn metadata(&self, _: &TopicPartition) -> String {
        String::new()
    }

    fn committed(&mut self, offsets: &StoreOffsets) -> Result<(), StreamsError> {
        self.dirty = false;
        let saved = Saved { counts: self.counts.clone(), offsets: offsets.clone() };
        self.app.disk.lock().unwrap().insert(self.id, saved);
        Ok(())
    }

    fn close(&mut self, _: bool) -> Result<(), StreamsError> {
        Ok(())
    }

    fn wipe(&mut self) -> Result<(), StreamsError> {
        self.app.disk.lock().unwrap().remove(&self.id);
        Ok(())
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

pub(crate) fn builder(bootstrap: &str, application_id: &str, app: &TestApp) -> Builder {
    KafkaStreams::builder(application_id, app.clone())
        .brokers(bootstrap)
        .commit_interval(Duration::from_millis(100))
}

/// Waits until the instance is in this state; any other end fails the test.
#[track_caller]
pub(crate) fn reach(streams: &KafkaStreams, wanted: State) {
    let wait = streams.wait_for(|state| state == wanted || state.is_final());
    let reached = block_on(async { tokio::time::timeout(SOON, wait).await });
    assert_eq!(reached.ok(), Some(wanted), "now {}: {:?}", streams.state(), streams.failure());
}

#[track_caller]
pub(crate) fn close(streams: &KafkaStreams) {
    assert!(block_on(streams.close(SOON)), "closing took too long");
    assert_eq!(streams.state(), State::NotRunning, "{:?}", streams.failure());
}

/// Records with their number as value, under `keys` keys, spread by key.
pub(crate) fn produce(tool: &Tool, topic: &str, keys: u32, numbers: std::ops::Range<u32>) {
    let records: Vec<NewRecord> =
        numbers.map(|n| NewRecord::new(format!("k{}", n % keys), n.to_string())).collect();
    tool.produce(topic, &records).expect("produced");
}

/// The values of a topic by key, in order.
pub(crate) fn values(tool: &Tool, topic: &str) -> BTreeMap<String, Vec<u32>> {
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for record in tool.read(topic).expect("records") {
        let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone().unwrap()).unwrap();
        let value = text(&record.value).parse().expect("a number");
        values.entry(text(&record.key)).or_default().push(value);
    }
    values
}

/// Waits until the topic holds this many committed records.
#[track_caller]
pub(crate) fn wait_records(tool: &Tool, topic: &str, count: usize) {
    crate::support::wait_until(&format!("{count} records in {topic}"), SOON, || {
        tool.read(topic).expect("records").len() >= count
    });
}
