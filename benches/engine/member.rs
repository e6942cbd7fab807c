//! The process that is measured: one engine that consumes a topic once.

use std::cell::Cell;
use std::error::Error;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use llingr_kafka::{
    AsyncProcessHandler, AutoOffsetReset, Builder, DeadLetterHandler, DemuxConfig, HandlerError,
    Llingr, Message, Metrics, Options, ProcessHandler, Traits,
};
use serde::{Deserialize, Serialize};

/// What a member is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) brokers: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    /// Ends after so many records.
    pub(crate) records: u64,
    pub(crate) asynchronous: bool,
    pub(crate) concurrent_keys: usize,
    /// What each handler takes; 0: nothing.
    pub(crate) handler_us: u64,
    /// Only keys that end in an odd digit take their time.
    pub(crate) half_slow: bool,
    /// This key never ends.
    pub(crate) stuck_key: Option<String>,
    pub(crate) metrics: bool,
    pub(crate) commit_metadata: bool,
    /// Does not count records but waits until so many handlers wait at once.
    pub(crate) hold: u64,
}

/// What it measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Measured {
    pub(crate) records: u64,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) idle_rss_bytes: u64,
    pub(crate) held_rss_bytes: u64,
}

impl Measured {
    pub(crate) fn rate(&self) -> f64 {
        self.records as f64 / self.seconds
    }
}

#[repr(align(128))]
#[derive(Default)]
struct Lane(AtomicU64);

/// Counts without sharing a cache line between threads.
#[derive(Default)]
struct Counter {
    lanes: [Lane; 16],
    started: OnceLock<Instant>,
    waiting: AtomicU64,
}

thread_local! {
    static LANE: Cell<usize> = const { Cell::new(usize::MAX) };
}
static NEXT_LANE: AtomicUsize = AtomicUsize::new(0);

impl Counter {
    fn add(&self) {
        let mut lane = LANE.get();
        if lane == usize::MAX {
            lane = NEXT_LANE.fetch_add(1, Ordering::Relaxed) % 16;
            LANE.set(lane);
            self.started.get_or_init(Instant::now);
        }
        self.lanes[lane].0.fetch_add(1, Ordering::Relaxed);
    }

    fn total(&self) -> u64 {
        self.lanes.iter().map(|l| l.0.load(Ordering::Relaxed)).sum()
    }
}

struct Handler {
    counter: Arc<Counter>,
    job: Job,
}

impl Handler {
    fn time(&self, message: &Message) -> Duration {
        if self.job.half_slow {
            let odd = message.key().and_then(|k| k.last()).is_some_and(|b| b % 2 == 1);
            return if odd { Duration::from_micros(self.job.handler_us) } else { Duration::ZERO };
        }
        Duration::from_micros(self.job.handler_us)
    }

    fn is_stuck(&self, message: &Message) -> bool {
        self.job.stuck_key.as_deref().is_some_and(|k| message.key() == Some(k.as_bytes()))
    }
}

impl ProcessHandler for Handler {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        if self.job.stuck_key.is_some() && self.is_stuck(message) {
            std::thread::sleep(Duration::from_secs(3600));
        }
        if self.job.handler_us > 0 {
            let time = self.time(message);
            if !time.is_zero() {
                std::thread::sleep(time);
            }
        }
        self.counter.add();
        Ok(Traits::none())
    }
}

impl AsyncProcessHandler for Handler {
    async fn process(&self, message: &Message<'_>) -> Result<Traits, HandlerError> {
        if self.job.hold > 0 {
            self.counter.started.get_or_init(Instant::now);
            self.counter.waiting.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        if self.job.handler_us > 0 {
            tokio::time::sleep(self.time(message)).await;
        }
        self.counter.add();
        Ok(Traits::none())
    }
}

struct Letters;
impl DeadLetterHandler for Letters {
    fn handle(&self, _: &Message, error: &str) -> Result<(), Box<dyn Error>> {
        Err(error.into())
    }
}

pub(crate) fn main(job: &str) {
    let job: Job = serde_json::from_str(job).expect("the parent writes JSON");
    let metrics = Metrics::registry();
    let counter = Arc::new(Counter::default());
    let engine = build(&job, &counter, &metrics);
    let scraped = job.metrics.then(|| metrics.handle());
    let idle_rss_bytes = status("VmRSS:") * 1024;
    let runner = {
        let engine = engine.clone();
        std::thread::spawn(move || engine.run())
    };
    let first = loop {
        if let Some(at) = counter.started.get() {
            break *at;
        }
        assert!(!runner.is_finished(), "the engine ended: {:?}", runner.join());
        std::thread::sleep(Duration::from_millis(1));
    };
    let cpu = cpu_seconds();
    let mut threads = 0;
    let mut scrape_at = Instant::now() + Duration::from_secs(1);
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        let (reached, wanted) = match job.hold {
            0 => (counter.total(), job.records),
            hold => (counter.waiting.load(Ordering::Relaxed), hold),
        };
        if reached >= wanted {
            break;
        }
        assert!(!runner.is_finished(), "the engine ended: {:?}", runner.join());
        assert!(Instant::now() < limit, "{reached} of {wanted} after five minutes");
        if Instant::now() >= scrape_at {
            threads = threads.max(status("Threads:"));
            scrape_at = Instant::now() + Duration::from_secs(1);
            if let Some(handle) = &scraped {
                assert!(handle.scrape().contains("llingr_engine_processed"));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let measured = Measured {
        records: counter.total(),
        seconds: first.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds() - cpu,
        peak_rss_bytes: status("VmHWM:") * 1024,
        threads: threads.max(status("Threads:")),
        idle_rss_bytes,
        held_rss_bytes: status("VmRSS:") * 1024,
    };
    println!("{}", serde_json::to_string(&measured).expect("plain numbers"));
    // Handlers that wait for ever would only be waited for.
    std::process::exit(0);
}

fn build(job: &Job, counter: &Arc<Counter>, metrics: &Metrics) -> Llingr {
    let handler = Handler { counter: counter.clone(), job: job.clone() };
    let options = Options::new().auto_offset_reset(AutoOffsetReset::Earliest);
    let demux = DemuxConfig::default()
        .concurrent_keys(job.concurrent_keys)
        .worker_threads(job.concurrent_keys.min(10_000))
        .commit_metadata(job.commit_metadata);
    let built = if job.asynchronous {
        let mut builder = Builder::new_async(&job.topic, handler, Letters)
            .brokers(&job.brokers)
            .consumer_group(&job.group)
            .options(options)
            .demux(demux);
        if job.metrics {
            builder = builder.metrics(metrics);
        }
        builder.build()
    } else {
        let mut builder = Builder::new(&job.topic, handler, Letters)
            .brokers(&job.brokers)
            .consumer_group(&job.group)
            .options(options)
            .demux(demux);
        if job.metrics {
            builder = builder.metrics(metrics);
        }
        builder.build()
    };
    built.expect("the engine is built")
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// User and system time of this process; the kernel counts in ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let field = |n: usize| after.split_whitespace().nth(n).and_then(|t| t.parse::<f64>().ok());
    (field(11).unwrap_or(0.0) + field(12).unwrap_or(0.0)) / 100.0
}
