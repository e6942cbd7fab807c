//! Small applications, and how tests run them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use llingr_kafka::streams::runtime::{Builder, KafkaStreams, State};
use llingr_kafka::streams::serde::DefaultSerde;
use llingr_kafka::streams::store::{KeyValueStore, RestoreListener, RestoreSource, Stores};
use llingr_kafka::streams::{
    BoxError, Consumed, Processor, ProcessorContext, Produced, Record, Topology,
};

use crate::support::{NewRecord, Tool, unique};

pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A directory for stores, removed with this.
pub(crate) struct StateDir(PathBuf);

impl StateDir {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("state"))))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What an application does with each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Copies it.
    Copy,
    /// Counts its key in a store of this kind.
    CountInMemory,
    CountOnDisk,
}

/// Copies records, or counts them by key in a store with a changelog.
#[derive(Clone)]
pub(crate) struct TestApp {
    pub(crate) input: String,
    pub(crate) output: String,
    pub(crate) work: Work,
    pub(crate) state: Arc<StateDir>,
    /// Changelog records that were applied.
    pub(crate) restored: Restored,
    /// Fails at a record with this value.
    pub(crate) poison: Option<&'static str>,
    /// Whether the store has a cache.
    pub(crate) caching: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Restored(Arc<AtomicU64>);

impl Restored {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl RestoreListener for Restored {
    fn batch_restored(&self, source: &RestoreSource, _: i64, count: u64) {
        assert_eq!(&*source.store, "counts");
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl TestApp {
    pub(crate) fn new(input: &str, output: &str, work: Work) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            work,
            state: StateDir::new(),
            restored: Restored::default(),
            poison: None,
            caching: false,
        }
    }

    pub(crate) fn topology(&self) -> Topology {
        let mut topology = Topology::new();
        let consumed = Consumed::<String, String>::new();
        let source = topology.add_source("in", self.input.as_str(), consumed).unwrap();
        let (poison, count) = (self.poison, self.work != Work::Copy);
        let each = move || Each { poison, count, counts: None };
        let each = topology.add_processor("each", each, &source).unwrap();
        let store = match self.work {
            Work::Copy => None,
            Work::CountInMemory => Some(Stores::in_memory_key_value("counts")),
            Work::CountOnDisk => Some(Stores::persistent_key_value("counts")),
        };
        if let Some(store) = store {
            let (keys, values) = (String::default_serde(), i64::default_serde());
            let store = Stores::key_value_builder(store, keys, values).caching(self.caching);
            topology.add_state_store(store).unwrap();
            topology.connect_processor_stores("each", ["counts"]).unwrap();
        }
        topology.add_sink("out", self.output.as_str(), Produced::new(), &each).unwrap();
        topology
    }
}

struct Each {
    poison: Option<&'static str>,
    count: bool,
    counts: Option<KeyValueStore<String, i64>>,
}

impl Processor for Each {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn init(&mut self, cx: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
        if self.count {
            self.counts = Some(cx.store("counts")?);
        }
        Ok(())
    }

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, String, String>,
        record: Record<String, String>,
    ) -> Result<(), BoxError> {
        if self.poison.is_some() && self.poison == record.value.as_deref() {
            return Err("poison".into());
        }
        let (Some(counts), Some(key)) = (&self.counts, &record.key) else {
            return Ok(cx.forward(record)?);
        };
        let count = counts.get(key)?.unwrap_or(0) + 1;
        counts.put(key, Some(&count))?;
        Ok(cx.forward(record.with_value(count.to_string()))?)
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
    KafkaStreams::builder(application_id, app.topology())
        .brokers(bootstrap)
        .commit_interval(Duration::from_millis(100))
        .state_dir(app.state.path())
        .restore_listener(app.restored.clone())
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
