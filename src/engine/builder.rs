//! Putting an engine together.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use llingr_nexus::{DeadLetterHandler, ProcessHandler, ShutdownHandler};
use tokio::runtime::{Handle, Runtime};

use super::config::DemuxConfig;
use super::control::Engine;
use super::deadletter::{DeadLetterTopic, LetterBox};
use super::futures::{self, AsyncProcessHandler, Futures};
use super::handle::{Llingr, Parts};
use super::host::Host;
use super::observe::{Executor, Observer};
use super::pool::Pool;
use super::retry::RetryPolicy;
use super::runner::Runner;
use super::timer::Timer;
use super::work::Dispatch;
use crate::error::{ErrorKind, LlingrError};
use crate::metrics::{Metrics, reading::Identity};
use crate::options::{Options, Part};

/// What both builders have in common.
struct Common {
    topic: String,
    brokers: Vec<String>,
    group: String,
    options: Options,
    demux: DemuxConfig,
    metrics: Option<Metrics>,
    service: String,
    team: String,
    shutdown: Option<Box<dyn ShutdownHandler>>,
    retry: RetryPolicy,
    dead_letter: Arc<dyn DeadLetterHandler>,
    letters: Vec<DeadLetterTopic>,
}

impl Common {
    fn new<D: DeadLetterHandler>(topic: String, dead_letter: D) -> Common {
        let mut letters = Vec::new();
        if let Some(topic) = (&dead_letter as &dyn Any).downcast_ref::<DeadLetterTopic>() {
            letters.push(topic.clone());
        }
        Common {
            topic,
            brokers: Vec::new(),
            group: String::new(),
            options: Options::new(),
            demux: DemuxConfig::default(),
            metrics: None,
            service: String::new(),
            team: String::new(),
            shutdown: None,
            retry: RetryPolicy::default(),
            dead_letter: Arc::new(dead_letter),
            letters,
        }
    }

    /// Checks all that needs no broker.
    fn check(&self) -> Result<(), LlingrError> {
        let refuse = |text: String| Err(LlingrError::new(ErrorKind::Options, text));
        for (what, value) in [
            ("topic", &self.topic),
            ("consumer group", &self.group),
            ("service", &self.service),
            ("team", &self.team),
        ] {
            if value.contains('\0') {
                return refuse(format!("the {what} contains a NUL character"));
            }
        }
        if self.topic.is_empty() {
            return refuse("the topic is empty".into());
        }
        if self.group.is_empty() {
            return refuse("no consumer group is given; call consumer_group(...)".into());
        }
        if self.brokers.is_empty() {
            return refuse("no brokers are given; call brokers(\"host:port,...\")".into());
        }
        for broker in &self.brokers {
            check_address(broker)?;
        }
        for letters in &self.letters {
            let topic = letters.topic();
            if topic.is_empty() || topic.contains('\0') {
                return refuse(
                    "the dead-letter topic's name is empty or contains a NUL character".into(),
                );
            }
            if topic == self.topic {
                return refuse(format!(
                    "the dead-letter topic {topic} is the topic itself: its records would come back for ever"
                ));
            }
        }
        self.retry.check().map_err(|text| LlingrError::new(ErrorKind::Options, text))?;
        self.demux.check()
    }

    fn config(&self) -> Result<String, LlingrError> {
        let options = self.options.validate(Part::Engine)?;
        let d = &self.demux;
        let ms = |d: Duration| d.as_millis() as u64;
        let mut engine = serde_json::json!({
            "maxHeldRecords": d.max_held_records,
            "maxHeldBytes": d.max_held_bytes,
            "maxRunAheadPerPartition": d.max_run_ahead,
            "commitIntervalMs": ms(d.auto_commit_interval),
            "drainTimeoutMs": ms(d.drain_timeout),
            "assignmentTimeoutMs": ms(d.await_assignments_timeout),
            "commitMetadata": d.commit_metadata,
        });
        for (key, value) in [
            ("maxHeldRecordsPerPartition", d.partition_records),
            ("maxHeldBytesPerPartition", d.partition_bytes),
            ("memoryLimitBytes", d.go_memory_limit),
        ] {
            if let Some(value) = value {
                engine[key] = value.into();
            }
        }
        let letters: Vec<&str> = self.letters.iter().map(DeadLetterTopic::topic).collect();
        Ok(serde_json::json!({
            "brokers": self.brokers,
            "topic": self.topic,
            "group": self.group,
            "options": options,
            "deadLetterTopics": letters,
            "engine": engine,
        })
        .to_string())
    }

    fn build(
        self,
        shards: usize,
        executor: impl FnOnce(Arc<Runner>) -> Result<(Executor, Option<Runtime>), LlingrError>,
    ) -> Result<Llingr, LlingrError> {
        self.check()?;
        let config = self.config()?;
        let dispatch = Arc::new(Dispatch::new(
            self.topic.clone(),
            self.demux.keyless,
            shards,
            self.demux.max_held_records as usize,
        ));
        let timer = Timer::new(&dispatch);
        let letter_box = LetterBox::new();
        letter_box.attach(&dispatch);
        let runner = Arc::new(Runner {
            dispatch: dispatch.clone(),
            timer: timer.clone(),
            dead_letter: self.dead_letter,
            retry: self.retry,
        });
        let host = Host::new(dispatch, timer, letter_box.clone(), self.options.token_provider());
        let table = host.table();
        let engine = match Engine::new(table, config) {
            Ok(engine) => engine,
            Err(e) => {
                // SAFETY: without an engine nobody calls the table's functions.
                unsafe { Host::reclaim(&table) };
                return Err(e);
            }
        };
        let (executor, runtime) = match executor(runner) {
            Ok(made) => made,
            Err(e) => {
                if engine.free().is_ok() {
                    // SAFETY: the engine was freed and calls no more.
                    unsafe { Host::reclaim(&table) };
                }
                return Err(e);
            }
        };
        for (index, topic) in self.letters.iter().enumerate() {
            topic.bind(&letter_box, index as u32);
        }
        let identity = Identity {
            topic: self.topic.into(),
            consumer_group: self.group.into(),
            service: self.service.into(),
            team: self.team.into(),
        };
        let limit = Arc::new(AtomicUsize::new(self.demux.concurrent_keys));
        let executor = Arc::new(executor);
        let observer =
            Observer::new(engine, host.clone(), executor.clone(), identity, limit.clone());
        host.observe(&observer);
        let registration = match &self.metrics {
            Some(metrics) => Some(metrics.register_engine("engine", observer.clone())?),
            None => None,
        };
        Ok(Llingr::new(Parts {
            engine,
            host,
            table,
            executor,
            runtime,
            observer,
            registration,
            shutdown: self.shutdown,
            limit,
            drain_timeout: self.demux.drain_timeout,
        }))
    }
}

/// `host:port`, `[v6]:port`; the name itself is resolved by the engine.
fn check_address(broker: &str) -> Result<(), LlingrError> {
    let wrong = |why: &str| {
        Err(LlingrError::new(
            ErrorKind::Options,
            format!("broker address {broker:?}: {why}; expected host:port"),
        ))
    };
    if broker.contains('\0') || broker.chars().any(char::is_whitespace) {
        return wrong("it contains a space or a control character");
    }
    let Some((host, port)) = broker.rsplit_once(':') else {
        return wrong("the port is missing");
    };
    if host.is_empty() || (host.contains(':') && !(host.starts_with('[') && host.ends_with(']'))) {
        return wrong("the host is missing, or an IPv6 address is not in brackets");
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(()),
        _ => wrong("the port is not a number between 1 and 65535"),
    }
}

fn split(brokers: &str) -> Vec<String> {
    brokers.split(',').map(str::trim).filter(|b| !b.is_empty()).map(str::to_owned).collect()
}

/// The setters that both builders share.
macro_rules! common_setters {
    () => {
        /// Addresses to find the cluster by: `host:port`, several separated by
        /// commas. Required. All of them are tried.
        pub fn brokers(mut self, brokers: impl AsRef<str>) -> Self {
            self.common.brokers = split(brokers.as_ref());
            self
        }

        /// The consumer group. Required.
        pub fn consumer_group(mut self, group: impl Into<String>) -> Self {
            self.common.group = group.into();
            self
        }

        /// Settings of the Kafka client, security included.
        pub fn options(mut self, options: Options) -> Self {
            self.common.options = options;
            self
        }

        /// How work is spread, bounded and committed.
        pub fn demux(mut self, config: DemuxConfig) -> Self {
            self.common.demux = config;
            self
        }

        /// Shows the engine's metrics there.
        pub fn metrics(mut self, metrics: &Metrics) -> Self {
            self.common.metrics = Some(metrics.clone());
            self
        }

        /// Values of the metrics' labels `service` and `team`; default empty.
        pub fn service(mut self, name: impl Into<String>, team: impl Into<String>) -> Self {
            self.common.service = name.into();
            self.common.team = team.into();
            self
        }

        /// Hears, exactly once, why the engine ended: `graceful shutdown` or
        /// the failure. It is called before `run` returns, after the engine has
        /// left the group.
        pub fn shutdown(mut self, handler: impl ShutdownHandler) -> Self {
            self.common.shutdown = Some(Box::new(handler));
            self
        }

        /// What happens to a record whose handler failed; default: the
        /// dead-letter handler at once.
        pub fn retry(mut self, policy: RetryPolicy) -> Self {
            self.common.retry = policy;
            self
        }

        /// Makes a [`DeadLetterTopic`] usable that is not the dead-letter
        /// handler itself but used inside of a handler: `build()` checks the
        /// topic, and `handle` works while the engine runs.
        pub fn dead_letter_topic(mut self, topic: &DeadLetterTopic) -> Self {
            self.common.letters.push(topic.clone());
            self
        }
    };
}

/// Builds an engine that runs a sync [`ProcessHandler`].
///
/// ```no_run
/// use llingr_kafka::{Builder, DeadLetterTopic, LlingrError, Message, ProcessHandler, Traits};
///
/// struct Orders;
///
/// impl ProcessHandler for Orders {
///     fn process(&self, message: &Message) -> Result<Traits, Box<dyn std::error::Error>> {
///         println!("{:?}: {:?}", message.key_str(), message.value_str());
///         Ok(Traits::none())
///     }
/// }
///
/// fn main() -> Result<(), LlingrError> {
///     let engine = Builder::new("orders", Orders, DeadLetterTopic::new("orders.dead"))
///         .brokers("localhost:9092")
///         .consumer_group("billing")
///         .build()?;
///     engine.run()
/// }
/// ```
#[must_use = "a builder does nothing until build()"]
pub struct Builder {
    common: Common,
    handler: Arc<dyn ProcessHandler>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.common.show(f, "Builder")
    }
}

impl Common {
    fn show(&self, f: &mut std::fmt::Formatter<'_>, name: &str) -> std::fmt::Result {
        f.debug_struct(name)
            .field("topic", &self.topic)
            .field("brokers", &self.brokers)
            .field("consumer_group", &self.group)
            .field("options", &self.options)
            .field("demux", &self.demux)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// An engine for one topic. A record whose handler fails goes to the retry
    /// policy and then to `dead_letter`; when that fails too, the engine stops
    /// and the record is not committed.
    pub fn new(
        topic: impl Into<String>,
        process: impl ProcessHandler,
        dead_letter: impl DeadLetterHandler,
    ) -> Builder {
        Builder { common: Common::new(topic.into(), dead_letter), handler: Arc::new(process) }
    }

    /// An engine whose handler is async; see [`AsyncBuilder`].
    pub fn new_async<H: AsyncProcessHandler>(
        topic: impl Into<String>,
        process: H,
        dead_letter: impl DeadLetterHandler,
    ) -> AsyncBuilder<H> {
        AsyncBuilder {
            common: Common::new(topic.into(), dead_letter),
            handler: Arc::new(process),
            runtime: None,
        }
    }

    common_setters!();

    /// Checks everything, connects, logs in, and makes sure that the topic, the
    /// group and the dead-letter topics can be used. Blocks up to 60 s.
    ///
    /// # Errors
    ///
    /// Names the setting, or the broker, topic or group, and the cause. No
    /// engine exists afterwards; the call may be tried again with a new builder.
    pub fn build(self) -> Result<Llingr, LlingrError> {
        let Builder { common, handler } = self;
        let (threads, limit) = (common.demux.threads(), common.demux.concurrent_keys);
        common.build(threads, move |runner| {
            Ok((Executor::Threads(Pool::new(runner, handler, threads, limit)), None))
        })
    }
}

/// Builds an engine that runs an [`AsyncProcessHandler`].
///
/// Made by [`Builder::new_async`]; the same settings, and the runtime.
#[must_use = "a builder does nothing until build()"]
pub struct AsyncBuilder<H> {
    common: Common,
    handler: Arc<H>,
    runtime: Option<Handle>,
}

impl<H> std::fmt::Debug for AsyncBuilder<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.common.show(f, "AsyncBuilder")
    }
}

impl<H: AsyncProcessHandler> AsyncBuilder<H> {
    common_setters!();

    /// Runs the handlers on this runtime instead of one of the engine's own. It
    /// must have time and I/O enabled if the handlers use them, and live until
    /// `run` has returned.
    pub fn runtime(mut self, handle: Handle) -> Self {
        self.runtime = Some(handle);
        self
    }

    /// See [`Builder::build`].
    ///
    /// # Errors
    ///
    /// As [`Builder::build`]; besides, when the runtime cannot be made.
    pub fn build(self) -> Result<Llingr, LlingrError> {
        let AsyncBuilder { common, handler, runtime } = self;
        let limit = common.demux.concurrent_keys;
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        let threads = common.demux.runtime_threads.unwrap_or(cores);
        common.build(threads, move |runner| {
            let (handle, own) = match runtime {
                Some(handle) => (handle, None),
                None => {
                    let own = own_runtime(threads)?;
                    (own.handle().clone(), Some(own))
                }
            };
            let futures = Futures::new(runner, threads, limit);
            futures::start(&futures, handler, &handle);
            Ok((Executor::Futures(futures), own))
        })
    }
}

/// Dead-letter handlers run on blocking threads: more than these would only
/// wait for the same producer.
const BLOCKING_THREADS: usize = 64;

fn own_runtime(threads: usize) -> Result<Runtime, LlingrError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("llingr-async")
        .enable_all()
        .build()
        .map_err(|e| {
            LlingrError::new(
                ErrorKind::Runtime,
                format!("the async runtime could not be started: {e}"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;
    impl ProcessHandler for Nothing {
        fn process(
            &self,
            _: &llingr_nexus::Message,
        ) -> Result<llingr_nexus::Traits, Box<dyn std::error::Error>> {
            Ok(llingr_nexus::Traits::none())
        }
    }
    impl DeadLetterHandler for Nothing {
        fn handle(
            &self,
            _: &llingr_nexus::Message,
            _: &str,
        ) -> Result<(), Box<dyn std::error::Error>> {
            Ok(())
        }
    }

    fn valid() -> Builder {
        Builder::new("orders", Nothing, Nothing).brokers("b1:9092, b2:9092").consumer_group("g")
    }

    fn refusal(builder: Builder) -> String {
        let error = builder.build().expect_err("refused before anything is contacted");
        assert_eq!(error.kind(), ErrorKind::Options, "{error}");
        error.to_string()
    }

    #[test]
    fn missing_and_malformed_names_are_refused_before_anything_is_contacted() {
        assert!(refusal(Builder::new("", Nothing, Nothing)).contains("topic"));
        assert!(refusal(valid().consumer_group("")).contains("consumer_group"));
        assert!(refusal(valid().brokers("")).contains("brokers("));
        assert!(refusal(valid().brokers(" , ,")).contains("brokers("));
        for bad in ["host", "host:", ":9092", "host:0", "host:65536", "a b:1", "::1:9092", "h\0:1"]
        {
            assert!(refusal(valid().brokers(bad)).contains("host:port"), "{bad:?}");
        }
        assert!(
            refusal(Builder::new("a\0b", Nothing, Nothing).brokers("h:1").consumer_group("g"))
                .contains("NUL")
        );
        assert!(refusal(valid().consumer_group("g\0")).contains("NUL"));
        assert!(refusal(valid().service("s\0", "")).contains("NUL"));
    }

    #[test]
    fn a_dead_letter_topic_must_not_be_the_topic_itself() {
        let builder = Builder::new("orders", Nothing, DeadLetterTopic::new("orders"))
            .brokers("h:1")
            .consumer_group("g");
        assert!(refusal(builder).contains("come back for ever"));
        assert!(refusal(valid().dead_letter_topic(&DeadLetterTopic::new(""))).contains("empty"));
    }

    #[test]
    fn policies_and_bounds_are_checked() {
        assert!(refusal(valid().retry(RetryPolicy::attempts(0))).contains("attempts"));
        assert!(
            refusal(valid().demux(DemuxConfig::default().concurrent_keys(0)))
                .contains("concurrent_keys")
        );
    }

    #[test]
    fn addresses_of_every_form_are_accepted() {
        for good in ["localhost:9092", "10.0.0.1:1", "[::1]:9092", "a.b-c.example:65535"] {
            check_address(good).unwrap();
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let builder = valid().options(Options::new().sasl_plain("user", "hunter2"));
        let text = format!("{builder:?}");
        assert!(text.contains("orders") && !text.contains("hunter2"), "{text}");
    }
}
