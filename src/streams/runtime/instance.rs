//! An instance of a streams application.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};

use super::application::{StoreSettings, TopologyApplication};
use super::error::StreamsError;
use super::manager::TaskParts;
use super::seam::{Application, ResetPolicy};
use super::settings::{ProcessingGuarantee, Settings};
use super::slot::message;
use super::state::{Listener, State, StateCell, UncaughtAction};
use super::thread::{self, Control, Failed, Parts};
use crate::client::{Client, Config, FetchConfig, ProducerConfig};
use crate::options::{Options, Part, default_value};
use crate::streams::membership::{Endpoint, Leave, Settings as MemberSettings};
use crate::streams::store::{CacheBudget, DiskOptions, RestoreListener};
use crate::streams::task::{ErrorHandler, TaskConfig};
use crate::streams::topology::{InternalTopics, Topology};
use crate::wire::Uuid;

/// Threads of the instance's own runtime: connections, heartbeats, fetching, producing.
const IO_THREADS: usize = 2;
/// `linger.ms` of Kafka Streams' producer.
const LINGER: Duration = Duration::from_millis(100);

/// Chooses what happens after a thread failed.
type UncaughtHandler = Box<dyn Fn(&StreamsError) -> UncaughtAction + Send + Sync>;

/// How an instance is set up.
#[must_use = "a builder does nothing before start()"]
pub struct Builder {
    application_id: String,
    topology: Topology,
    tasks: TaskConfig,
    stores: StoreSettings,
    internal: InternalTopics,
    cache_max_bytes: usize,
    restore_listener: Option<Arc<dyn RestoreListener>>,
    brokers: String,
    options: Options,
    threads: usize,
    guarantee: ProcessingGuarantee,
    commit_interval: Option<Duration>,
    buffered_records: usize,
    purge_interval: Duration,
    endpoint: Option<String>,
    client_tags: Vec<(String, String)>,
    process_id: Option<String>,
    transaction_timeout: Duration,
    listener: Option<Listener>,
    uncaught: Option<UncaughtHandler>,
}

impl Builder {
    fn new(application_id: impl Into<String>, topology: Topology) -> Self {
        let application_id = application_id.into();
        Self {
            tasks: TaskConfig::new(application_id.as_str()),
            application_id,
            topology,
            stores: StoreSettings::default(),
            internal: InternalTopics::default(),
            cache_max_bytes: 10 << 20,
            restore_listener: None,
            brokers: String::new(),
            options: Options::new(),
            threads: 1,
            guarantee: ProcessingGuarantee::AtLeastOnce,
            commit_interval: None,
            buffered_records: 1000,
            purge_interval: Duration::from_secs(30),
            endpoint: None,
            client_tags: Vec::new(),
            process_id: None,
            transaction_timeout: Duration::from_secs(10),
            listener: None,
            uncaught: None,
        }
    }

    /// `bootstrap.servers`: at least one broker as `host:port`, several separated by commas.
    pub fn brokers(mut self, brokers: impl Into<String>) -> Self {
        self.brokers = brokers.into();
        self
    }

    /// Settings of the Kafka client, security included.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// `num.stream.threads`, at least 1. Default 1.
    pub fn num_stream_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// `processing.guarantee`. Default at least once.
    pub fn processing_guarantee(mut self, guarantee: ProcessingGuarantee) -> Self {
        self.guarantee = guarantee;
        self
    }

    /// `commit.interval.ms`. Default 30 s; 100 ms for exactly once, where nobody who reads
    /// committed records sees a result earlier.
    pub fn commit_interval(mut self, interval: Duration) -> Self {
        self.commit_interval = Some(interval);
        self
    }

    /// `buffered.records.per.partition`: beyond so many an input is paused. Default 1000.
    pub fn buffered_records_per_partition(mut self, records: usize) -> Self {
        self.buffered_records = records;
        self
    }

    /// `repartition.purge.interval.ms`. Default 30 s.
    pub fn repartition_purge_interval(mut self, interval: Duration) -> Self {
        self.purge_interval = interval;
        self
    }

    /// `transaction.timeout.ms`: the broker aborts a transaction that is open for longer. Default
    /// 10 s; not less than the commit interval.
    pub fn transaction_timeout(mut self, timeout: Duration) -> Self {
        self.transaction_timeout = timeout;
        self
    }

    /// `application.server`: `host:port` where other instances reach this one's stores.
    pub fn application_server(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// `client.tag.<key>`, used by brokers that spread standbys over zones.
    pub fn client_tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.client_tags.push((key.into(), value.into()));
        self
    }

    /// Id of this instance; by default the one in its state directory, or without persistent
    /// stores a new random UUID with each start. The group takes members
    /// with the same id for threads of one process; transactional ids are made from it.
    pub fn process_id(mut self, id: impl Into<String>) -> Self {
        self.process_id = Some(id.into());
        self
    }

    /// `state.dir`: persistent stores lie in `<state.dir>/<application.id>`, which one instance
    /// has for itself at a time. Default `kafka-streams` in the system's directory for temporary
    /// files, which a restart of the machine may empty: name another one for production. It is
    /// not touched by a topology without persistent stores.
    pub fn state_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.stores.state_dir = path.into();
        self
    }

    /// `allow.os.group.write.access`: the directories may be written by their group too. Default
    /// false.
    pub fn group_write_access(mut self, allowed: bool) -> Self {
        self.stores.group_write = allowed;
        self
    }

    /// Memory of persistent stores. Default [`DiskOptions::new`].
    pub fn disk_options(mut self, options: DiskOptions) -> Self {
        self.stores.disk = options;
        self
    }

    /// `statestore.cache.max.bytes`: memory of all caches of stores together, divided among the
    /// stream threads. Default 10 MiB; 0 for no caches.
    pub fn statestore_cache_max_bytes(mut self, bytes: usize) -> Self {
        self.cache_max_bytes = bytes;
        self
    }

    /// `replication.factor` of changelogs and repartition topics, which the brokers create. Default
    /// -1: the brokers' own default.
    pub fn replication_factor(mut self, factor: i16) -> Self {
        self.internal.replication_factor = factor;
        self
    }

    /// `topic.<name>`: a config of changelogs and repartition topics. What a store says of its
    /// changelog goes before it.
    pub fn internal_topic_config(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.internal.configs.insert(name.into(), value.into());
        self
    }

    /// `max.task.idle.ms`: how long a task whose inputs are not all there waits for the missing
    /// ones before it goes on out of order of time; `None` never waits, not even for records that
    /// are known to be at the broker. Default zero.
    pub fn max_task_idle(mut self, idle: Option<Duration>) -> Self {
        let millis = |idle: Duration| i64::try_from(idle.as_millis()).unwrap_or(i64::MAX);
        self.tasks.max_task_idle_ms = idle.map_or(-1, millis);
        self
    }

    /// `deserialization.exception.handler`. Default
    /// [`LogAndFail`](crate::streams::LogAndFail).
    pub fn deserialization_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.tasks.deserialization_handler = Arc::new(handler);
        self
    }

    /// `processing.exception.handler`. Default [`LogAndFail`](crate::streams::LogAndFail).
    pub fn processing_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.tasks.processing_handler = Arc::new(handler);
        self
    }

    /// `production.exception.handler`, for records that cannot be serialised or partitioned. What
    /// a broker refuses ends the thread. Default [`LogAndFail`](crate::streams::LogAndFail).
    pub fn production_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.tasks.production_handler = Arc::new(handler);
        self
    }

    /// `errors.dead.letter.queue.topic.name`, for handlers that write there. Default none.
    pub fn dead_letter_topic(mut self, topic: impl Into<Arc<str>>) -> Self {
        self.tasks.dead_letter_topic = Some(topic.into());
        self
    }

    /// A setting of the program's own, which processors ask for by
    /// [`ProcessorContext::app_config`](crate::streams::ProcessorContext::app_config).
    pub fn app_config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tasks.settings.insert(name.into(), value.into());
        self
    }

    /// Hears how far stores are restored, on the stream threads.
    pub fn restore_listener(mut self, listener: impl RestoreListener + 'static) -> Self {
        self.restore_listener = Some(Arc::new(listener));
        self
    }

    /// Hears of each change of state, as (new, old), on the thread that causes it: it must be
    /// quick, and must not close the instance and wait for that.
    pub fn on_state_change(
        mut self,
        listener: impl Fn(State, State) + Send + Sync + 'static,
    ) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Chooses what happens after a stream thread failed. Default
    /// [`UncaughtAction::ShutdownClient`].
    pub fn on_uncaught_error(
        mut self,
        handler: impl Fn(&StreamsError) -> UncaughtAction + Send + Sync + 'static,
    ) -> Self {
        self.uncaught = Some(Box::new(handler));
        self
    }

    /// Starts the stream threads. Brokers need not be reachable yet.
    ///
    /// # Errors
    /// [`StreamsError::Config`] naming the setting and the remedy, [`StreamsError::Topology`],
    /// [`StreamsError::StateDirectory`] if another process has it.
    pub fn start(self) -> Result<KafkaStreams, StreamsError> {
        self.check_id()?;
        let app = TopologyApplication::new(
            &self.topology,
            self.tasks.clone(),
            &self.stores,
            self.internal.clone(),
        )?;
        let process_id = self.process_id.clone().or_else(|| app.process_id());
        let process_id = process_id.unwrap_or_else(|| hyphenated(random_id()));
        let (config, settings, fetch, producer) = self.check(&process_id)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name(format!("{}-io", settings.application_id))
            .enable_all()
            .build()
            .map_err(|error| StreamsError::State(format!("starting threads: {error}").into()))?;
        let client = {
            let _context = runtime.enter();
            Client::new(config)?
        };
        let inner = Arc::new_cyclic(|myself| Inner {
            myself: myself.clone(),
            settings: Arc::new(settings),
            app: Arc::new(app),
            client,
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            process_id,
            fetch,
            producer,
            state: StateCell::new(self.listener),
            uncaught: self.uncaught,
            restore_listener: self.restore_listener,
            paused: Arc::new(AtomicBool::new(false)),
            threads: Mutex::default(),
            failure: Mutex::new(None),
        });
        inner.state.become_(State::Rebalancing);
        for _ in 0..inner.settings.threads {
            inner.spawn()?;
        }
        Ok(KafkaStreams { inner })
    }

    fn check_id(&self) -> Result<(), StreamsError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.application_id.is_empty() || !self.application_id.chars().all(legal) {
            return Err(StreamsError::Config(format!(
                "application.id={:?} must be letters, digits, '.', '_' and '-': names of topics \
                 are made from it",
                self.application_id
            )));
        }
        Ok(())
    }

    fn check(
        &self,
        process_id: &str,
    ) -> Result<(Config, Settings, FetchConfig, ProducerConfig), StreamsError> {
        let refuse = |text: String| Err(StreamsError::Config(text));
        if self.threads == 0 {
            return refuse("num.stream.threads must be at least 1".into());
        }
        if self.internal.replication_factor != -1 && self.internal.replication_factor < 1 {
            return refuse(format!(
                "replication.factor ({}) must be at least 1, or -1 for the brokers' default",
                self.internal.replication_factor
            ));
        }
        let exactly_once = self.guarantee == ProcessingGuarantee::ExactlyOnceV2;
        let default =
            if exactly_once { Duration::from_millis(100) } else { Duration::from_secs(30) };
        let commit_interval = self.commit_interval.unwrap_or(default);
        if exactly_once && self.transaction_timeout < commit_interval {
            return refuse(format!(
                "transaction.timeout.ms ({:?}) is less than commit.interval.ms \
                 ({commit_interval:?}): the broker would abort what is to be committed",
                self.transaction_timeout
            ));
        }
        let (mut config, values) = Config::of_part(Part::Streams, &self.brokers, &self.options)?;
        if !values.contains_key("client.id") {
            config.client_id = format!("{}-{process_id}", self.application_id);
        }
        let value = |key: &str| {
            values.get(key).map(String::as_str).or(default_value(Part::Streams, key)).unwrap_or("")
        };
        let number = |key: &str| -> Result<u64, StreamsError> {
            let parsed = value(key).parse();
            parsed.map_err(|_| StreamsError::Config(format!("{key} is not a number")))
        };
        let int = |key: &str| number(key).map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        let endpoint: Option<Endpoint> = match &self.endpoint {
            Some(text) => Some(text.parse().map_err(StreamsError::Config)?),
            None => None,
        };
        let settings = Settings {
            application_id: self.application_id.clone(),
            threads: self.threads,
            guarantee: self.guarantee,
            commit_interval,
            poll: Duration::from_millis(100),
            buffered_records: self.buffered_records,
            max_poll_interval: Duration::from_millis(number("max.poll.interval.ms")?),
            purge_interval: self.purge_interval,
            cache_max_bytes: self.cache_max_bytes,
            reset: match value("auto.offset.reset") {
                "latest" => ResetPolicy::Latest,
                _ => ResetPolicy::Earliest,
            },
            instance_id: values.get("group.instance.id").cloned(),
            endpoint,
            client_tags: self.client_tags.clone(),
            rack: Some(config.rack.clone()).filter(|rack| !rack.is_empty()),
        };
        let fetch = FetchConfig {
            min_bytes: int("fetch.min.bytes")?,
            max_bytes: int("fetch.max.bytes")?,
            max_partition_bytes: int("max.partition.fetch.bytes")?,
            max_wait: Duration::from_millis(number("fetch.max.wait.ms")?),
            read_committed: exactly_once,
            check_crcs: value("check.crcs") != "false",
            ..FetchConfig::default()
        };
        let producer = ProducerConfig {
            linger: LINGER,
            transaction_timeout: self.transaction_timeout,
            ..ProducerConfig::default()
        };
        Ok((config, settings, fetch, producer))
    }
}

struct Inner {
    myself: Weak<Inner>,
    settings: Arc<Settings>,
    app: Arc<dyn Application>,
    client: Client,
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    process_id: String,
    fetch: FetchConfig,
    producer: ProducerConfig,
    state: StateCell,
    uncaught: Option<UncaughtHandler>,
    restore_listener: Option<Arc<dyn RestoreListener>>,
    paused: Arc<AtomicBool>,
    threads: Mutex<BTreeMap<usize, Running>>,
    failure: Mutex<Option<StreamsError>>,
}

/// A stream thread that has not ended.
struct Running {
    control: Arc<Control>,
    cache: Arc<CacheBudget>,
    #[allow(dead_code, reason = "a thread's end is reported by itself; dropping detaches")]
    thread: JoinHandle<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// Starts a thread at the lowest free number.
    fn spawn(&self) -> Result<usize, StreamsError> {
        let mut threads = lock(&self.threads);
        let index = (1..).find(|index| !threads.contains_key(index)).unwrap_or(1);
        let settings = &self.settings;
        let name = format!("{}-StreamThread-{index}", settings.application_id);
        let report = self.myself.clone();
        let report = move || {
            if let Some(inner) = report.upgrade() {
                inner.look();
            }
        };
        let control = Arc::new(Control::new(self.paused.clone(), Box::new(report)));
        let mut producer = self.producer.clone();
        if settings.exactly_once() {
            let id = format!("{}-{}-{index}", settings.application_id, self.process_id);
            producer.transactional_id = Some(id);
            producer.delivery_timeout = Duration::from_millis(i32::MAX as u64);
        }
        let cache = CacheBudget::new(self.cache_share(threads.len() + 1));
        let (shutdown, decide) = (self.myself.clone(), self.myself.clone());
        let parts = Parts {
            settings: settings.clone(),
            member: self.member(index),
            tasks: TaskParts {
                app: self.app.clone(),
                cache: cache.clone(),
                listener: self.restore_listener.clone(),
            },
            client: self.client.clone(),
            handle: self.handle.clone(),
            control: control.clone(),
            fetch: self.fetch.clone(),
            producer,
            on_shutdown: Box::new(move || {
                if let Some(inner) = shutdown.upgrade() {
                    inner.fail(StreamsError::State(
                        "a member of the group asked for the end of the application".into(),
                    ));
                }
            }),
            decide: Box::new(move |error| {
                decide.upgrade().map(|inner| inner.decide(error)).unwrap_or_default()
            }),
        };
        // The thread keeps the instance alive: it needs its runtime until it has ended.
        let inner = self.myself.upgrade();
        let body = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| thread::run(parts)));
            let outcome = outcome.unwrap_or_else(|panic| {
                let text = format!("the stream thread panicked: {}", message(&*panic));
                let error = StreamsError::State(text.into());
                let action = inner.as_ref().map(|inner| inner.decide(&error)).unwrap_or_default();
                Err(Failed { error, action })
            });
            if let Some(inner) = inner {
                inner.ended(index, outcome);
            }
        };
        let thread = std::thread::Builder::new().name(name).spawn(body);
        let thread = thread
            .map_err(|error| StreamsError::State(format!("starting a thread: {error}").into()))?;
        threads.insert(index, Running { control, cache, thread });
        self.share_caches(&threads);
        Ok(index)
    }

    /// What each of so many threads has for its caches.
    fn cache_share(&self, threads: usize) -> usize {
        self.settings.cache_max_bytes / threads.max(1)
    }

    fn share_caches(&self, threads: &BTreeMap<usize, Running>) {
        let share = self.cache_share(threads.len());
        threads.values().for_each(|thread| thread.cache.resize(share));
    }

    fn member(&self, index: usize) -> MemberSettings {
        let settings = &self.settings;
        MemberSettings {
            group: settings.application_id.as_str().into(),
            member_id: Uuid(random_id()).to_string(),
            instance_id: settings.instance_id.as_ref().map(|id| format!("{id}-{index}")),
            rack: settings.rack.clone(),
            process_id: self.process_id.clone(),
            endpoint: settings.endpoint.clone(),
            client_tags: settings.client_tags.clone(),
            max_poll_interval: settings.max_poll_interval,
            topology: self.app.topology(),
        }
    }

    /// Works out whether all threads process.
    fn look(&self) {
        let settled = {
            let threads = lock(&self.threads);
            !threads.is_empty() && threads.values().all(|thread| thread.control.is_settled())
        };
        self.state.become_(if settled { State::Running } else { State::Rebalancing });
    }

    /// The program's choice; a handler that panics has made none.
    fn decide(&self, error: &StreamsError) -> UncaughtAction {
        let chosen = catch_unwind(AssertUnwindSafe(|| {
            self.uncaught.as_ref().map(|handler| handler(error)).unwrap_or_default()
        }));
        chosen.unwrap_or_default()
    }

    fn ended(&self, index: usize, outcome: Result<(), Failed>) {
        let mut replace = false;
        if let Err(Failed { error, action }) = outcome {
            log::error!(target: crate::LOG_TARGET, "stream thread {index} failed: {error}");
            replace = action == UncaughtAction::ReplaceThread;
            if !replace {
                self.fail(error);
            }
        }
        {
            let mut threads = lock(&self.threads);
            threads.remove(&index);
            self.share_caches(&threads);
        }
        let closing = matches!(self.state.get(), State::PendingShutdown | State::PendingError);
        if replace && !closing {
            if let Err(error) = self.spawn() {
                self.fail(error);
            }
            return;
        }
        if lock(&self.threads).is_empty() {
            self.finish();
        } else {
            self.look();
        }
    }

    fn finish(&self) {
        let next = match self.state.get() {
            State::PendingError => State::Error,
            // The last thread was removed: there is nothing to wait for.
            State::Rebalancing | State::Running => return,
            _ => State::NotRunning,
        };
        self.app.ended();
        if let Some(runtime) = lock(&self.runtime).take() {
            let client = self.client.clone();
            runtime.spawn(async move { client.close().await });
            runtime.shutdown_background();
        }
        self.state.become_(next);
    }

    /// Ends all threads because of an error.
    fn fail(&self, error: StreamsError) {
        if self.state.become_(State::PendingError) {
            lock(&self.failure).get_or_insert(error);
            self.stop_threads(Leave::ForGood);
        }
    }

    fn stop_threads(&self, how: Leave) {
        for thread in lock(&self.threads).values() {
            thread.control.stop(how);
        }
    }

    fn shut_down(&self, how: Leave) {
        if self.state.become_(State::PendingShutdown) {
            self.stop_threads(how);
            if lock(&self.threads).is_empty() {
                self.finish();
            }
        }
    }
}

/// A running instance. Dropping the handle does not stop it.
pub struct KafkaStreams {
    inner: Arc<Inner>,
}

impl KafkaStreams {
    /// Sets up an instance of `application_id`: the group's id and the prefix of all topics that
    /// belong to the application.
    pub fn builder(application_id: impl Into<String>, topology: Topology) -> Builder {
        Builder::new(application_id, topology)
    }

    /// The present state.
    pub fn state(&self) -> State {
        self.inner.state.get()
    }

    /// Why the instance ended in [`State::Error`].
    pub fn failure(&self) -> Option<StreamsError> {
        lock(&self.inner.failure).clone()
    }

    /// Waits until `wanted` holds of the state.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn wait_for(&self, wanted: impl Fn(State) -> bool) -> State {
        let mut states = self.inner.state.watch();
        match states.wait_for(|state| wanted(*state)).await {
            Ok(state) => *state,
            Err(_) => self.state(),
        }
    }

    /// Blocks until the instance has ended. Call it outside of async code.
    ///
    /// # Errors
    /// What ended it, unless it was stopped.
    pub fn run(&self) -> Result<(), StreamsError> {
        let mut states = self.inner.state.watch();
        let waiting = tokio::runtime::Builder::new_current_thread().build();
        let waiting = waiting
            .map_err(|error| StreamsError::State(format!("starting to wait: {error}").into()))?;
        waiting.block_on(async {
            let _ = states.wait_for(|state| state.is_final()).await;
        });
        match self.failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Stops the instance from any thread; it may be called more than once.
    pub fn stopper(&self) -> Stopper {
        Stopper { inner: Arc::downgrade(&self.inner) }
    }

    /// Commits, closes all tasks and leaves the group; waits for that, at most `limit`. Returns
    /// whether it is complete; it goes on in any case.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the closing.
    pub async fn close(&self, limit: Duration) -> bool {
        self.inner.shut_down(Leave::Default);
        tokio::time::timeout(limit, self.wait_for(State::is_final)).await.is_ok()
    }

    /// Stops processing; membership, heartbeats and stores stay.
    pub fn pause(&self) {
        self.inner.paused.store(true, Ordering::Relaxed);
    }

    /// Undoes [`KafkaStreams::pause`].
    pub fn resume(&self) {
        self.inner.paused.store(false, Ordering::Relaxed);
        for thread in lock(&self.inner.threads).values() {
            thread.control.wake.notify_one();
        }
    }

    /// Whether processing is paused.
    pub fn is_paused(&self) -> bool {
        self.inner.paused.load(Ordering::Relaxed)
    }

    /// All instances of the application that have an `application.server`, this one too, with the
    /// partitions of their tasks. Empty until the group has told.
    pub fn metadata(&self) -> Vec<InstanceMetadata> {
        let threads = lock(&self.inner.threads);
        let maps = threads.values().map(|thread| thread.control.endpoints());
        // All threads are told the same, one a little earlier than the other.
        let Some(map) = maps.max_by_key(|map| map.len()) else { return Vec::new() };
        let instances = map.iter().map(|(endpoint, served)| InstanceMetadata {
            host: endpoint.host.clone(),
            port: endpoint.port,
            active: served.active.iter().cloned().collect(),
            standby: served.standby.iter().cloned().collect(),
        });
        instances.collect()
    }

    /// Adds a stream thread and returns its number.
    ///
    /// # Errors
    /// [`StreamsError::State`] if the instance is not running.
    pub fn add_stream_thread(&self) -> Result<usize, StreamsError> {
        match self.state() {
            State::Running | State::Rebalancing => self.inner.spawn(),
            other => Err(StreamsError::State(
                format!("the instance is {other}: threads are added while it runs").into(),
            )),
        }
    }

    /// Ends the stream thread with the highest number, which leaves the group, and returns that
    /// number; `None` if there is none.
    pub fn remove_stream_thread(&self) -> Option<usize> {
        let threads = lock(&self.inner.threads);
        let (index, thread) = threads.iter().next_back()?;
        thread.control.stop(Leave::ForGood);
        Some(*index)
    }
}

/// What one instance serves. See [`KafkaStreams::metadata`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceMetadata {
    /// Host of its `application.server`.
    pub host: String,
    /// Port of its `application.server`.
    pub port: u16,
    /// Source and repartition partitions of its active tasks.
    pub active: Vec<(String, i32)>,
    /// The same of its standby and warm-up tasks.
    pub standby: Vec<(String, i32)>,
}

/// Stops an instance. See [`KafkaStreams::stopper`].
#[derive(Clone)]
pub struct Stopper {
    inner: Weak<Inner>,
}

impl Stopper {
    /// Begins the orderly stop; does not wait.
    pub fn stop(&self) {
        if let Some(inner) = self.inner.upgrade() {
            inner.shut_down(Leave::Default);
        }
    }
}

/// A random UUID of version 4.
fn random_id() -> [u8; 16] {
    let mut id = fastrand::u128(..).to_be_bytes();
    id[6] = (id[6] & 0x0f) | 0x40;
    id[8] = (id[8] & 0x3f) | 0x80;
    id
}

fn hyphenated(id: [u8; 16]) -> String {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
