//! [`TopologyTestDriver`]: a topology without a broker.
//!
//! | File | Holds |
//! |---|---|
//! | this one | the driver, its builder and errors |
//! | `topics` | [`TestInputTopic`], [`TestOutputTopic`] |
//! | `output` | what tasks have sent |

mod output;
mod topics;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use output::{Output, Sent};
pub use topics::{TestInputTopic, TestOutputTopic};

use super::error::{TaskError, TopologyError};
use super::record::RawRecord;
use super::serde::{DefaultSerde, Serde, SerdeError};
use super::store::{CacheBudget, CurrentRecord, StoreEnv, StoreError, TaskStores};
use super::task::{ErrorHandler, OpenStore, Task, TaskConfig, TaskEnv, TaskId};
use super::topology::{BuiltTopology, Subtopology, Topology};

/// Runs a topology in the calling thread: one task, one partition a topic, and clocks that are
/// moved by hand.
///
/// Each piped record is processed, stream-time punctuation runs, everything is committed (caches
/// are flushed), and what was written to topics that the topology reads is fed back, all before
/// the call returns.
///
/// ```
/// use llingr_kafka::streams::{Consumed, Produced, Topology, TopologyTestDriver};
///
/// let mut topology = Topology::new();
/// let lines = topology.add_source("lines", "input", Consumed::<String, i64>::new())?;
/// topology.add_sink("copy", "output", Produced::new(), &lines)?;
///
/// let driver = TopologyTestDriver::new(&topology)?;
/// let mut input = driver.input_topic::<String, i64>("input");
/// let output = driver.output_topic::<String, i64>("output");
/// input.pipe("a".to_owned(), 1)?;
/// assert_eq!(output.read_key_value()?, (Some("a".to_owned()), Some(1)));
/// assert!(output.is_empty());
/// # Ok::<(), llingr_kafka::streams::TestDriverError>(())
/// ```
///
/// A clone is a handle of the same driver, and so are its topics. Dropping it does not close the
/// processors; [`close`](Self::close) does.
#[derive(Clone)]
pub struct TopologyTestDriver(Arc<Mutex<Inner>>);

/// Why a call of the driver failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TestDriverError {
    /// The topology cannot be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The task failed; so does every later call.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A store could not be opened or committed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key or value has no bytes, or bytes are no key or value.
    #[error(transparent)]
    Serde(#[from] SerdeError),
    /// Nobody reads the topic.
    #[error("the topology does not read topic {topic}; it reads: {known}")]
    UnknownTopic {
        /// The topic.
        topic: String,
        /// Topics that it reads, comma-separated.
        known: String,
    },
    /// Nothing is left to read.
    #[error("topic {topic} has no further record")]
    NoRecord {
        /// The topic.
        topic: String,
    },
    /// A null key where the keys of a map are asked for.
    #[error("topic {topic} has a record with a null key, which a map cannot have")]
    NullKey {
        /// The topic.
        topic: String,
    },
    /// A store that is not there, or of another type.
    #[error("there is no store {store} of this type")]
    UnknownStore {
        /// The store.
        store: String,
    },
    /// A time that cannot be.
    #[error("{0}")]
    Time(String),
}

/// Settings of a driver.
pub struct TopologyTestDriverBuilder {
    config: TaskConfig,
    topics: Vec<String>,
    wall_clock: i64,
}

impl fmt::Debug for TopologyTestDriverBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyTestDriverBuilder")
            .field("config", &self.config)
            .field("wall_clock", &self.wall_clock)
            .finish_non_exhaustive()
    }
}

impl TopologyTestDriverBuilder {
    /// `application.id`; `test` without it.
    #[must_use]
    pub fn application_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.config.application_id = id.into();
        self
    }

    /// The wall clock at the start, in milliseconds since 1970; 0 without it.
    #[must_use]
    pub fn wall_clock(mut self, now: i64) -> Self {
        self.wall_clock = now;
        self
    }

    /// A setting that processors can ask for.
    #[must_use]
    pub fn app_config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.settings.insert(name.into(), value.into());
        self
    }

    /// `deserialization.exception.handler`.
    #[must_use]
    pub fn deserialization_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.config.deserialization_handler = Arc::new(handler);
        self
    }

    /// `processing.exception.handler`.
    #[must_use]
    pub fn processing_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.config.processing_handler = Arc::new(handler);
        self
    }

    /// `production.exception.handler`.
    #[must_use]
    pub fn production_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.config.production_handler = Arc::new(handler);
        self
    }

    /// `errors.dead.letter.queue.topic.name`.
    #[must_use]
    pub fn dead_letter_topic(mut self, topic: impl Into<Arc<str>>) -> Self {
        self.config.dead_letter_topic = Some(topic.into());
        self
    }

    /// Topics that patterns of sources are held against.
    #[must_use]
    pub fn cluster_topics<S: Into<String>>(mut self, topics: impl IntoIterator<Item = S>) -> Self {
        self.topics = topics.into_iter().map(Into::into).collect();
        self
    }

    /// Starts the processors.
    ///
    /// # Errors
    /// [`TestDriverError`] if the topology is none or a processor does not start.
    pub fn build(self, topology: &Topology) -> Result<TopologyTestDriver, TestDriverError> {
        let topics: Vec<&str> = self.topics.iter().map(String::as_str).collect();
        let built = topology.build_whole(&self.config.application_id, &topics)?;
        let inner = Inner::new(&built, Arc::new(self.config), self.wall_clock)?;
        Ok(TopologyTestDriver(Arc::new(Mutex::new(inner))))
    }
}

impl TopologyTestDriver {
    /// With an application id of `test`, the wall clock at 0 and Kafka's default handlers.
    ///
    /// # Errors
    /// [`TestDriverError`] if the topology is none or a processor does not start.
    pub fn new(topology: &Topology) -> Result<Self, TestDriverError> {
        Self::builder().build(topology)
    }

    /// With settings.
    pub fn builder() -> TopologyTestDriverBuilder {
        TopologyTestDriverBuilder {
            config: TaskConfig::new("test"),
            topics: Vec::new(),
            wall_clock: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of user code has been seen by the test already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A topic to pipe into, by its full name. Whether the topology reads it is seen by the
    /// first record.
    pub fn input_topic<K: DefaultSerde, V: DefaultSerde>(
        &self,
        topic: &str,
    ) -> TestInputTopic<K, V> {
        self.input_topic_with(topic, K::default_serde(), V::default_serde())
    }

    /// As [`input_topic`](Self::input_topic), with serdes.
    pub fn input_topic_with<K: 'static, V: 'static>(
        &self,
        topic: &str,
        key: impl Serde<K>,
        value: impl Serde<V>,
    ) -> TestInputTopic<K, V> {
        TestInputTopic::new(self.clone(), topic, Arc::new(key), Arc::new(value))
    }

    /// A topic to read from, by its full name; changelogs and repartition topics too.
    pub fn output_topic<K: DefaultSerde, V: DefaultSerde>(
        &self,
        topic: &str,
    ) -> TestOutputTopic<K, V> {
        self.output_topic_with(topic, K::default_serde(), V::default_serde())
    }

    /// As [`output_topic`](Self::output_topic), with serdes.
    pub fn output_topic_with<K: 'static, V: 'static>(
        &self,
        topic: &str,
        key: impl Serde<K>,
        value: impl Serde<V>,
    ) -> TestOutputTopic<K, V> {
        TestOutputTopic::new(self.clone(), topic, Arc::new(key), Arc::new(value))
    }

    /// Moves the wall clock, which does not move by itself, and runs what is due.
    ///
    /// # Errors
    /// Of the processors.
    pub fn advance_wall_clock(&self, by: Duration) -> Result<(), TestDriverError> {
        let mut inner = self.lock();
        let by = i64::try_from(by.as_millis())
            .map_err(|_| TestDriverError::Time(format!("an advance of {by:?} is too long")))?;
        inner.now = inner.now.saturating_add(by);
        let (now, Inner { task, output, .. }) = (inner.now, &mut *inner);
        task.punctuate_wall(now, output)?;
        inner.commit()?;
        inner.complete()
    }

    /// A store as processors get it, global ones too.
    ///
    /// # Errors
    /// [`TestDriverError::UnknownStore`] if there is none of this name and type.
    pub fn store<S: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<S, TestDriverError> {
        let inner = self.lock();
        let store = inner.task.store(name).and_then(|store| store.downcast_ref::<S>());
        store.cloned().ok_or_else(|| TestDriverError::UnknownStore { store: name.to_owned() })
    }

    /// Full names of all topics that something was written to, changelogs included, sorted.
    pub fn produced_topics(&self) -> Vec<String> {
        self.lock().output.topics().map(ToString::to_string).collect()
    }

    /// Records left out so far: by handlers, by timestamps, by operators.
    pub fn dropped_records(&self) -> u64 {
        let inner = self.lock();
        let globals = inner.globals.iter().map(Task::dropped_records);
        inner.task.dropped_records() + globals.sum::<u64>()
    }

    /// Closes the processors.
    ///
    /// # Errors
    /// The first of the processors; all are closed all the same.
    pub fn close(self) -> Result<(), TestDriverError> {
        let mut inner = self.lock();
        let mut first = inner.task.close();
        for global in &mut inner.globals {
            first = first.and(global.close());
        }
        Ok(first?)
    }
}

impl fmt::Debug for TopologyTestDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopologyTestDriver").finish_non_exhaustive()
    }
}

struct Inner {
    task: Task,
    globals: Vec<Task>,
    output: Output,
    now: i64,
    offsets: HashMap<Arc<str>, i64>,
}

/// Opens the stores of a subtopology in memory.
fn open(
    sub: &Subtopology,
    id: TaskId,
) -> Result<(TaskStores, Arc<CurrentRecord>), TestDriverError> {
    let current = Arc::new(CurrentRecord::default());
    let specs: Vec<_> = sub.stores.iter().map(|store| store.spec.clone()).collect();
    let env = StoreEnv {
        task: id.to_string().into(),
        disk: None,
        cache: CacheBudget::new(CACHE_BYTES),
        current: current.clone(),
    };
    Ok((TaskStores::open(&specs, env)?, current))
}

/// Kafka's default of `statestore.cache.max.bytes`.
const CACHE_BYTES: usize = 10 * 1024 * 1024;

impl Inner {
    fn new(
        built: &BuiltTopology,
        config: Arc<TaskConfig>,
        now: i64,
    ) -> Result<Self, TestDriverError> {
        let mut output = Output::default();
        let mut globals = Vec::new();
        let mut shared: HashMap<Arc<str>, OpenStore> = HashMap::new();
        for global in built.globals() {
            let id = TaskId { subtopology: -1, partition: -1 };
            let (stores, current) = open(&global.sub, id)?;
            let env = TaskEnv { config: config.clone(), stores, current, globals: HashMap::new() };
            let mut task = Task::of(global.sub.clone(), id, env)?;
            task.init(now, &mut output)?;
            for store in &global.sub.stores {
                if let Some(open) = task.store(&store.spec.name) {
                    shared.insert(store.spec.name.clone(), open.clone());
                }
            }
            globals.push(task);
        }
        let id = TaskId { subtopology: 0, partition: 0 };
        let sub = match built.subtopology(0) {
            Some(sub) => sub.clone(),
            None => Arc::new(Subtopology::empty()),
        };
        let (stores, current) = open(&sub, id)?;
        let env = TaskEnv { config, stores, current, globals: shared };
        let mut task = Task::of(sub, id, env)?;
        task.init(now, &mut output)?;
        Ok(Self { task, globals, output, now, offsets: HashMap::new() })
    }

    fn known(&self) -> String {
        let globals = self.globals.iter().flat_map(Task::input_topics);
        let all: Vec<&str> = self.task.input_topics().chain(globals).map(Arc::as_ref).collect();
        all.join(", ")
    }

    fn pipe(&mut self, topic: &str, record: Sent) -> Result<(), TestDriverError> {
        let (now, Self { globals, output, offsets, .. }) = (self.now, &mut *self);
        let global = globals.iter_mut().find(|g| g.input_topics().any(|t| &**t == topic));
        if let Some(global) = global {
            let offset = next(offsets, topic);
            global.add(topic, [record.into_raw(offset)]);
            while global.process(1, now, &|_| true, output)? > 0 {}
            global.flush(output)?;
            global.committed();
            return Ok(());
        }
        if !self.task.input_topics().any(|input| &**input == topic) {
            let known = self.known();
            return Err(TestDriverError::UnknownTopic { topic: topic.to_owned(), known });
        }
        let offset = next(&mut self.offsets, topic);
        self.task.add(topic, [record.into_raw(offset)]);
        self.complete()
    }

    /// Processes, commits and feeds back until nothing is left to do.
    fn complete(&mut self) -> Result<(), TestDriverError> {
        loop {
            let mut any = false;
            let now = self.now;
            while self.task.process(1, now, &|_| true, &mut self.output)? > 0 {
                any = true;
                self.task.punctuate_stream(now, &mut self.output)?;
                self.commit()?;
            }
            if self.task.commit_needed() {
                self.commit()?;
            }
            let back =
                self.output.take_new(|topic| self.task.input_topics().any(|input| input == topic));
            any |= !back.is_empty();
            for (topic, record) in back {
                let offset = next(&mut self.offsets, &topic);
                self.task.add(&topic, [record.into_raw(offset)]);
            }
            if !any {
                return Ok(());
            }
        }
    }

    fn commit(&mut self) -> Result<(), TestDriverError> {
        self.task.flush(&mut self.output)?;
        self.task.stores().commit(|_| None)?;
        self.task.committed();
        Ok(())
    }
}

fn next(offsets: &mut HashMap<Arc<str>, i64>, topic: &str) -> i64 {
    let offset = match offsets.get_mut(topic) {
        Some(offset) => offset,
        None => offsets.entry(topic.into()).or_insert(0),
    };
    *offset += 1;
    *offset - 1
}

/// Values by key, the last one of each.
type ByKey<K, V> = BTreeMap<K, Option<V>>;

impl Sent {
    fn into_raw(self, offset: i64) -> RawRecord {
        RawRecord {
            offset,
            timestamp: self.timestamp,
            key: self.key,
            value: self.value,
            headers: self.headers,
        }
    }
}

#[cfg(test)]
mod tests;
