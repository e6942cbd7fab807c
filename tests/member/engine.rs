//! The child's end.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use llingr_kafka::{
    AsyncProcessHandler, Builder, DeadLetterHandler, DeadLetterTopic, DemuxConfig, HandlerError,
    KeylessOrder, Llingr, LlingrError, Message, Options, ProcessHandler, RetryPolicy, Timestamp,
    Traits, current_attempt,
};
use serde_json::{Value, json};

use super::journal::{Kind, Pen, Place};
use super::{Act, Ask, Ended, Fate, HealthNow, Letters, Question, ReadyNow, Reply, Seen, Spec};
use crate::support::{ChildSide, child_side};

/// Writes what the engine logs to the child's output, which a failing test
/// shows.
struct Log;

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        eprintln!("{:?} {}: {}", std::time::SystemTime::now(), record.level(), record.args());
    }
    fn flush(&self) {}
}

/// Runs an engine if this process is a member; nothing in the test process
/// itself.
pub(crate) fn child() {
    let Some(side) = child_side() else { return };
    // The panics of the handlers are meant; thousands of traces are not.
    std::panic::set_hook(Box::new(|info| {
        if !info.to_string().contains("as told") {
            eprintln!("{info}");
        }
    }));
    let _ = log::set_logger(&Log);
    log::set_max_level(log::LevelFilter::Debug);
    let spec: Spec = side.args();
    let world = Arc::new(World {
        pen: Pen::new(&spec.journal, &spec.name),
        topic: match &spec.letters {
            Letters::Topic(topic) => Some(DeadLetterTopic::new(topic)),
            _ => None,
        },
        side: side.clone(),
        gate: Gate::default(),
        engine: OnceLock::new(),
        running: AtomicUsize::new(0),
        peak: AtomicUsize::new(0),
        spec,
    });
    let engine = match build(&world) {
        Ok(engine) => engine,
        Err(e) => return side.emit("built", Some(e.to_string())),
    };
    let _ = world.engine.set(engine.clone());
    side.emit("built", None::<String>);
    if !world.spec.hold {
        start(&world, &engine);
    }
    while let Some(Question { id, ask }) = side.receive() {
        let value = answer(&world, &engine, ask);
        side.emit("reply", Reply { id, value });
    }
}

fn start(world: &Arc<World>, engine: &Llingr) {
    let (side, engine) = (world.side.clone(), engine.clone());
    std::thread::spawn(move || {
        let end = match engine.run() {
            Ok(()) => Ended { code: 0, text: String::new() },
            Err(e) => Ended { code: e.code(), text: e.text().to_owned() },
        };
        side.emit("ended", end);
    });
}

fn answer(world: &Arc<World>, engine: &Llingr, ask: Ask) -> Value {
    let text = |r: Result<(), LlingrError>| json!(r.err().map(|e| e.to_string()));
    match ask {
        Ask::Run => {
            start(world, engine);
            Value::Null
        }
        Ask::Stop => {
            let (side, engine) = (world.side.clone(), engine.clone());
            std::thread::spawn(move || {
                engine.stop();
                side.emit("stopped", Value::Null);
            });
            Value::Null
        }
        Ask::Emergency(reason) => {
            engine.emergency_stop(&reason);
            Value::Null
        }
        Ask::Open(key) => {
            world.gate.open(&key);
            Value::Null
        }
        Ask::Pause(partition) => text(engine.pause(partition)),
        Ask::Resume(partition) => text(engine.resume(partition)),
        Ask::Concurrent(keys) => text(engine.set_concurrent_keys(keys)),
        Ask::Snapshot => {
            let snapshot = engine.snapshot().expect("a snapshot");
            serde_json::to_value(snapshot).expect("a snapshot is JSON")
        }
        Ask::Health => {
            let health = engine.health();
            let oldest = health.oldest_blocked;
            json!(HealthNow {
                state: health.state.to_string(),
                cause: health.cause,
                progressed: health.last_progress.is_some(),
                oldest_age_ms: oldest.as_ref().map_or(0, |b| b.age.as_millis() as u64),
                oldest: oldest.map(|b| {
                    let key = b.key.map(|k| String::from_utf8_lossy(&k).into_owned());
                    (b.partition, b.offset, key)
                }),
            })
        }
        Ask::Ready => {
            let ready = engine.ready();
            json!(ReadyNow {
                ready: ready.ready,
                state: ready.state.to_string(),
                partitions: ready.assigned_partitions,
            })
        }
        Ask::Peak => {
            let now = world.running.load(Ordering::SeqCst);
            json!((world.peak.swap(now, Ordering::SeqCst), now))
        }
    }
}

/// Where blocked handlers wait.
#[derive(Default)]
struct Gate {
    opened: Mutex<BTreeSet<String>>,
    changed: Condvar,
    notify: tokio::sync::Notify,
}

impl Gate {
    fn open(&self, key: &str) {
        self.opened.lock().expect("no panic").insert(key.to_owned());
        self.changed.notify_all();
        self.notify.notify_waiters();
    }

    fn is_open(&self, key: &str) -> bool {
        let opened = self.opened.lock().expect("no panic");
        opened.contains(key) || opened.contains("*")
    }

    fn wait(&self, key: &str) {
        let mut opened = self.opened.lock().expect("no panic");
        while !opened.contains(key) && !opened.contains("*") {
            opened = self.changed.wait(opened).expect("no panic");
        }
    }

    async fn wait_async(&self, key: &str) {
        loop {
            let mut notified = std::pin::pin!(self.notify.notified());
            notified.as_mut().enable();
            if self.is_open(key) {
                return;
            }
            notified.await;
        }
    }
}

struct World {
    spec: Spec,
    pen: Pen,
    side: ChildSide,
    gate: Gate,
    engine: OnceLock<Llingr>,
    topic: Option<DeadLetterTopic>,
    running: AtomicUsize,
    peak: AtomicUsize,
}

/// Counts a handler as running.
struct Running<'a>(&'a World);

impl<'a> Running<'a> {
    fn enter(world: &'a World) -> Running<'a> {
        let now = world.running.fetch_add(1, Ordering::SeqCst) + 1;
        world.peak.fetch_max(now, Ordering::SeqCst);
        Running(world)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn key_of(message: &Message<'_>) -> String {
    message.key().map_or("-".to_owned(), |k| String::from_utf8_lossy(k).replace(['\n', '\r'], "?"))
}

fn place_of(message: &Message<'_>) -> Place {
    (message.partition(), message.offset())
}

impl World {
    fn begin(&self, message: &Message<'_>) -> (String, Place, u32) {
        let key = key_of(message);
        let attempt = current_attempt().expect("inside a handler the attempt is known");
        self.pen.note(Kind::Started, place_of(message), attempt, &key);
        if self.spec.echo {
            self.side.emit("message", seen(message));
        }
        (key, place_of(message), attempt)
    }

    fn act(&self, key: &str) -> Option<&Act> {
        self.spec.acts.get(key)
    }

    /// What is left after the waiting.
    fn finish(&self, key: &str, place: Place, attempt: u32) -> Result<Traits, String> {
        let engine = || self.engine.get().expect("the engine has been built");
        let fate = match self.act(key) {
            None => self.spec.load.fate(place.0, place.1, attempt),
            Some(Act::Fail) => Fate::Failed,
            Some(Act::Panic) => Fate::Panicked,
            Some(Act::FailTimes(n)) if attempt <= *n => Fate::Failed,
            Some(Act::FailTimes(_) | Act::Block) => Fate::Done,
            Some(Act::Stop) => {
                engine().stop();
                Fate::Done
            }
            Some(Act::Emergency(reason)) => {
                engine().emergency_stop(reason);
                Fate::Done
            }
        };
        match fate {
            Fate::Done => {
                self.pen.note(Kind::Done, place, attempt, key);
                Ok(Traits::none())
            }
            Fate::Failed => {
                self.pen.note(Kind::Failed, place, attempt, key);
                Err(format!("failed as told, attempt {attempt}"))
            }
            Fate::Panicked => {
                self.pen.note(Kind::Panicked, place, attempt, key);
                panic!("panicked as told, attempt {attempt}")
            }
        }
    }
}

fn seen(message: &Message<'_>) -> Seen {
    let (kind, ms) = match message.timestamp() {
        Timestamp::NotAvailable => ("none", -1),
        Timestamp::CreateTime { millis } => ("create", millis),
        Timestamp::LogAppendTime { millis } => ("append", millis),
    };
    Seen {
        topic: message.topic().to_owned(),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.value().map(<[u8]>::to_vec),
        headers: message
            .headers()
            .iter()
            .map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec)))
            .collect(),
        timestamp_kind: kind.to_owned(),
        timestamp_ms: ms,
    }
}

struct Handler(Arc<World>);

impl ProcessHandler for Handler {
    fn process(&self, message: &Message<'_>) -> Result<Traits, Box<dyn Error>> {
        let world = &*self.0;
        let _running = Running::enter(world);
        let (key, place, attempt) = world.begin(message);
        match world.act(&key) {
            Some(Act::Block) => world.gate.wait(&key),
            Some(_) => {}
            None => {
                let latency = world.spec.load.latency(place.0, place.1, attempt);
                if !latency.is_zero() {
                    std::thread::sleep(latency);
                }
            }
        }
        Ok(world.finish(&key, place, attempt)?)
    }
}

impl AsyncProcessHandler for Handler {
    async fn process(&self, message: &Message<'_>) -> Result<Traits, HandlerError> {
        let world = &*self.0;
        let _running = Running::enter(world);
        let (key, place, attempt) = world.begin(message);
        match world.act(&key) {
            Some(Act::Block) => world.gate.wait_async(&key).await,
            Some(_) => {}
            None => {
                let latency = world.spec.load.latency(place.0, place.1, attempt);
                if !latency.is_zero() {
                    tokio::time::sleep(latency).await;
                }
            }
        }
        assert_eq!(key, key_of(message), "the message changed while the future waited");
        assert_eq!(place, place_of(message), "the message changed while the future waited");
        Ok(world.finish(&key, place, attempt)?)
    }
}

struct LetterHandler(Arc<World>);

impl DeadLetterHandler for LetterHandler {
    fn handle(&self, message: &Message<'_>, error: &str) -> Result<(), Box<dyn Error>> {
        let world = &*self.0;
        let (key, place) = (key_of(message), place_of(message));
        let attempt = current_attempt().expect("inside a handler the attempt is known");
        let note = |kind| world.pen.note(kind, place, attempt, &key);
        match &world.spec.letters {
            Letters::Keep => {}
            Letters::Fail => {
                note(Kind::Refused);
                return Err(format!("no room for letters; its error was {error}").into());
            }
            Letters::Panic => {
                note(Kind::Refused);
                panic!("the letter handler panicked as told");
            }
            Letters::Block => {
                world.side.emit("letter", json!([place.0, place.1]));
                world.gate.wait("letter");
            }
            Letters::Topic(_) => {
                let topic = world.topic.as_ref().expect("made with the spec");
                topic.handle(message, error)?;
            }
        }
        note(Kind::Lettered);
        Ok(())
    }
}

fn build(world: &Arc<World>) -> Result<Llingr, LlingrError> {
    let spec = &world.spec;
    let mut demux = DemuxConfig::default()
        .concurrent_keys(spec.concurrent)
        .auto_commit_interval(Duration::from_millis(spec.commit_ms))
        .drain_timeout(Duration::from_millis(spec.drain_ms))
        .commit_metadata(spec.metadata);
    if let Some(n) = spec.threads {
        demux = demux.worker_threads(n);
    }
    if let Some(n) = spec.held_records {
        demux = demux.max_held_records(n);
    }
    if let Some(n) = spec.held_bytes {
        demux = demux.max_held_bytes(n);
    }
    if let Some(n) = spec.partition_records {
        demux = demux.max_held_records_per_partition(n);
    }
    if let Some(n) = spec.run_ahead {
        demux = demux.max_run_ahead(n);
    }
    if spec.keyless_unordered {
        demux = demux.keyless_order(KeylessOrder::Unordered);
    }
    let (first, cap) = spec.backoff_ms;
    let retry = RetryPolicy::attempts(spec.attempts)
        .backoff(Duration::from_millis(first), Duration::from_millis(cap));
    let options: &BTreeMap<String, String> = &spec.options;
    let options = Options::new().kafka_options(options.clone());
    let shutdown = Shutdown(world.side.clone());
    let letters = LetterHandler(world.clone());
    // The two builders are types of their own with the same setters.
    macro_rules! finish {
        ($builder:expr) => {{
            let mut builder = $builder
                .brokers(&spec.brokers)
                .consumer_group(&spec.group)
                .options(options)
                .demux(demux)
                .retry(retry)
                .shutdown(shutdown);
            if let Some(topic) = &world.topic {
                builder = builder.dead_letter_topic(topic);
            }
            builder.build()
        }};
    }
    if spec.asynchronous {
        finish!(Builder::new_async(&spec.topic, Handler(world.clone()), letters))
    } else {
        finish!(Builder::new(&spec.topic, Handler(world.clone()), letters))
    }
}

struct Shutdown(ChildSide);

impl llingr_kafka::ShutdownHandler for Shutdown {
    fn handle(&self, reason: &str) {
        self.0.emit("shutdown", reason);
    }
}
