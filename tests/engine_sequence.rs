//! Engines one after the other in one process, and what they leave behind.
//! Each test runs in a process of its own: a process holds one engine.
#![cfg(feature = "engine")]

mod support;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use llingr_kafka::{
    AsyncProcessHandler, AutoOffsetReset, Builder, DeadLetterHandler, DemuxConfig, ErrorKind,
    HandlerError, Llingr, LlingrError, Message, Options, ProcessHandler, Traits,
};
use serde::{Deserialize, Serialize};
use support::*;

#[derive(Serialize, Deserialize)]
struct Place {
    bootstrap: String,
    topic: String,
    group: String,
}

/// Runs the test's body in a child, where it panics if it fails.
fn in_child(name: &str, records: u64, keys: u64, body: impl FnOnce(Place)) {
    if let Some(side) = child_side() {
        return body(side.args());
    }
    let broker = shared_broker();
    let topic = unique("t");
    broker.tool().create(&topic, 3).unwrap();
    if records > 0 {
        broker.tool().produce_bulk(&Bulk::new(&topic, records).keys(keys)).unwrap();
    }
    let place = Place { bootstrap: broker.bootstrap().to_owned(), topic, group: unique("g") };
    Child::spawn(name, &place).wait_success(SOON * 2);
}

struct Count(Arc<AtomicUsize>);

impl ProcessHandler for Count {
    fn process(&self, _: &Message<'_>) -> Result<Traits, Box<dyn Error>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Traits::none())
    }
}

impl AsyncProcessHandler for Count {
    async fn process(&self, _: &Message<'_>) -> Result<Traits, HandlerError> {
        tokio::task::yield_now().await;
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Traits::none())
    }
}

struct NoLetters;

impl DeadLetterHandler for NoLetters {
    fn handle(&self, _: &Message<'_>, _: &str) -> Result<(), Box<dyn Error>> {
        Err("no letter is expected".into())
    }
}

fn options() -> Options {
    Options::new().auto_offset_reset(AutoOffsetReset::Earliest)
}

fn sync_engine(
    place: &Place,
    group: &str,
    count: &Arc<AtomicUsize>,
) -> Result<Llingr, LlingrError> {
    Builder::new(&place.topic, Count(count.clone()), NoLetters)
        .brokers(&place.bootstrap)
        .consumer_group(group)
        .options(options())
        .build()
}

/// Runs it until `count` has reached `wanted`.
fn run_until(engine: &Llingr, count: &AtomicUsize, wanted: usize) {
    let running = engine.clone();
    let run = std::thread::spawn(move || running.run());
    wait_until("the records", SOON, || count.load(Ordering::SeqCst) >= wanted);
    engine.stop();
    run.join().unwrap().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), wanted);
}

#[test]
fn a_second_engine_is_refused_and_a_new_one_possible_after_the_first() {
    in_child(
        "a_second_engine_is_refused_and_a_new_one_possible_after_the_first",
        100,
        10,
        |place| {
            let count = Arc::default();
            let first = sync_engine(&place, &place.group, &count).unwrap();
            let error = sync_engine(&place, "other", &count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
            // The refused one did the first no harm.
            run_until(&first, &count, 100);
            let error = first.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::State, "{error}");

            // The old handle exists and does not matter.
            let count = Arc::default();
            let second = sync_engine(&place, &unique("g"), &count).unwrap();
            first.stop();
            first.emergency_stop("too late");
            run_until(&second, &count, 100);
            assert_eq!(first.health().cause.as_deref(), Some("graceful shutdown"));

            // One that never ran makes room when its handle goes.
            drop(sync_engine(&place, &place.group, &Arc::default()).unwrap());
            drop(sync_engine(&place, &place.group, &Arc::default()).unwrap());
        },
    );
}

fn reading(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn twenty_engines_one_after_the_other_leave_nothing_behind() {
    in_child("twenty_engines_one_after_the_other_leave_nothing_behind", 3_000, 300, |place| {
        let mut after_few = (0, 0);
        for round in 0..20 {
            let count: Arc<AtomicUsize> = Arc::default();
            let group = unique("g");
            let engine = if round % 2 == 0 {
                sync_engine(&place, &group, &count).unwrap()
            } else {
                Builder::new_async(&place.topic, Count(count.clone()), NoLetters)
                    .brokers(&place.bootstrap)
                    .consumer_group(&group)
                    .options(options())
                    .build()
                    .unwrap()
            };
            run_until(&engine, &count, 3_000);
            drop(engine);
            // Nobody but the test holds the handler.
            wait_until("the handler to be dropped", SOON, || Arc::strong_count(&count) == 1);
            if round == 5 {
                after_few = (reading("Threads:"), reading("VmRSS:"));
            }
        }
        // Go's threads may still change by a few; a leak would be one per
        // engine at least.
        let (threads, memory) = (reading("Threads:"), reading("VmRSS:"));
        assert!(threads < after_few.0 + 10, "{} threads became {threads}", after_few.0);
        assert!(memory < after_few.1 + 32 * 1024, "{} kB became {memory}", after_few.1);
    });
}

const RUNTIME: &str = "callers-own";

/// Waits in the middle; both phases run on the caller's runtime.
struct Waits(Sender<usize>, Arc<tokio::sync::Semaphore>);

impl Waits {
    fn tell(&self, phase: usize) -> Result<(), HandlerError> {
        assert_eq!(std::thread::current().name(), Some(RUNTIME));
        Ok(self.0.send(phase)?)
    }
}

impl AsyncProcessHandler for Waits {
    async fn process(&self, message: &Message<'_>) -> Result<Traits, HandlerError> {
        let (key, value) = (message.key().map(<[u8]>::to_vec), message.value().map(<[u8]>::to_vec));
        self.tell(0)?;
        self.1.acquire().await?.forget();
        // The record is there for the whole future, byte for byte.
        assert_eq!(message.key(), key.as_deref());
        assert_eq!(message.value(), value.as_deref());
        let number = Bulk::number_of(message.value().ok_or("no value")?);
        assert_eq!(message.key_str(), Some(format!("key-{}", number % 500).as_str()));
        self.tell(1)?;
        Ok(Traits::none())
    }
}

#[test]
fn handlers_run_on_the_callers_runtime_and_messages_outlive_their_wait() {
    in_child(
        "handlers_run_on_the_callers_runtime_and_messages_outlive_their_wait",
        2_000,
        500,
        |place| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name(RUNTIME)
                .enable_all()
                .build()
                .unwrap();
            let (sender, events): (_, Receiver<usize>) = channel();
            let gate = Arc::new(tokio::sync::Semaphore::new(0));
            let engine = Builder::new_async(&place.topic, Waits(sender, gate.clone()), NoLetters)
                .brokers(&place.bootstrap)
                .consumer_group(&place.group)
                .options(options())
                .demux(DemuxConfig::default().concurrent_keys(500))
                .runtime(runtime.handle().clone())
                .build()
                .unwrap();
            let running = engine.clone();
            let run = std::thread::spawn(move || running.run());
            let mut phases = [0, 0];
            let mut take = |n: usize| {
                for _ in 0..n {
                    let phase = events.recv_timeout(SOON).expect("an event");
                    phases[phase] += 1;
                }
                phases
            };
            // All keys wait at once; then everything flows.
            assert_eq!(take(500), [500, 0]);
            gate.add_permits(2_000);
            assert_eq!(take(3_500), [2_000, 2_000]);
            engine.stop();
            run.join().unwrap().unwrap();
            // The runtime is the caller's: it works on.
            assert_eq!(runtime.block_on(async { 7 }), 7);
            runtime.shutdown_timeout(Duration::from_secs(10));
        },
    );
}
