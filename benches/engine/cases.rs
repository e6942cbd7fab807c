//! The cases and what each must reach.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Plan;
use crate::member::{Job, Measured};
use crate::support::{Bulk, Cluster, NewTopic, Tool, unique};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    run: fn(&Bench, &mut Table),
}

pub(crate) const ALL: &[Case] = &[
    Case {
        name: "noop",
        what: "no-op sync handler, 100 B, 100,000 keys, beside a bare loop",
        run: noop,
    },
    Case { name: "async-noop", what: "no-op async handler, the same", run: async_noop },
    Case { name: "noop-1k", what: "no-op sync handler, 1 KB, beside a bare loop", run: noop_1k },
    Case { name: "sync-20ms", what: "1000 keys x 20 ms, sync: share of the ideal", run: sync_20ms },
    Case {
        name: "async-20ms",
        what: "5000 keys x 20 ms, async: share of the ideal, threads",
        run: async_20ms,
    },
    Case {
        name: "waiting",
        what: "20,000 async handlers waiting, 1 KB: memory above idle",
        run: waiting,
    },
    Case { name: "stuck", what: "one key of 1000 stuck: rate of the others", run: stuck },
    Case { name: "metrics", what: "metrics on beside off", run: metrics },
    Case {
        name: "metadata",
        what: "commit metadata on beside off, half of the keys slow",
        run: metadata,
    },
];

struct Bench {
    brokers: String,
    tool: Tool,
    franz: PathBuf,
    quick: bool,
    runs: usize,
    topics: std::cell::RefCell<std::collections::HashMap<String, (String, u64)>>,
}

const PARTITIONS: i32 = 6;

pub(crate) fn run(plan: &Plan) -> bool {
    let own = std::env::var("KAFKA_BOOTSTRAP").ok();
    let cluster = own.is_none().then(|| Cluster::builder().for_benchmark().start());
    let (brokers, tool) = match (&own, &cluster) {
        (Some(at), _) => (at.clone(), Tool::new(crate::support::Conn::plaintext(at.clone()))),
        (None, Some(c)) => (c.bootstrap(), c.tool()),
        (None, None) => unreachable!("one of them is there"),
    };
    let bench = Bench {
        brokers,
        tool: tool.limit(std::time::Duration::from_secs(300)),
        franz: build_franz(),
        quick: plan.quick,
        runs: plan.runs,
        topics: Default::default(),
    };
    let mut table = Table::default();
    println!("{}", Table::HEAD);
    for case in ALL {
        if plan.only.is_empty() || plan.only.iter().any(|n| n == case.name) {
            (case.run)(&bench, &mut table);
        }
    }
    if table.short > 0 {
        println!("\n{} of {} lines fell short", table.short, table.lines);
    }
    table.short == 0
}

fn build_franz() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("franz");
    let built = Command::new("go")
        .current_dir(root.join("benches/peers/franz"))
        .args(["build", "-o"])
        .arg(&out)
        .arg(".")
        .status()
        .expect("go is needed to build the bare loop");
    assert!(built.success(), "go build of benches/peers/franz failed");
    out
}

#[derive(Default)]
struct Table {
    lines: usize,
    short: usize,
}

impl Table {
    const HEAD: &str =
        "| case | measured | beside | ratio | must reach | |\n|---|---|---|---|---|---|";

    fn line(
        &mut self,
        what: &str,
        value: String,
        beside: String,
        ratio: f64,
        bar: f64,
        at_least: bool,
    ) {
        let ok = if at_least { ratio >= bar } else { ratio <= bar };
        self.lines += 1;
        self.short += usize::from(!ok);
        let sign = if at_least { ">=" } else { "<=" };
        let verdict = if ok { "ok" } else { "SHORT" };
        println!("| {what} | {value} | {beside} | {ratio:.2} | {sign} {bar} | {verdict} |");
    }
}

fn rate(m: &Measured) -> String {
    format!(
        "{:.0} k/s, {:.2} us CPU, {} MB",
        m.rate() / 1e3,
        m.cpu_seconds * 1e6 / m.records as f64,
        m.peak_rss_bytes >> 20
    )
}

fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    runs.swap_remove(runs.len() / 2)
}

impl Bench {
    /// A topic with these records, made once.
    fn topic(&self, records: u64, keys: u64, size: usize) -> (String, u64) {
        let records = if self.quick { records / 4 } else { records };
        let name = format!("{records}-{keys}-{size}");
        if let Some(topic) = self.topics.borrow().get(&name) {
            return topic.clone();
        }
        let topic = unique("bench");
        self.tool.create_topic(&NewTopic::new(&topic, PARTITIONS)).expect("the topic is created");
        let mut bulk = Bulk::new(&topic, records).keys(keys);
        bulk.value_size = size;
        let acked = self.tool.produce_bulk(&bulk).expect("records are produced");
        assert_eq!(acked.acked, records, "{}", acked.first_error);
        self.topics.borrow_mut().insert(name, (topic.clone(), records));
        (topic, records)
    }

    fn job(&self, topic: &str, records: u64) -> Job {
        Job {
            brokers: self.brokers.clone(),
            topic: topic.to_owned(),
            group: unique("bench"),
            records,
            asynchronous: false,
            concurrent_keys: 250,
            handler_us: 0,
            half_slow: false,
            stuck_key: None,
            metrics: false,
            commit_metadata: true,
            hold: 0,
        }
    }

    fn member(&self, job: &Job) -> Measured {
        let mut job = job.clone();
        job.group = unique("bench");
        let json = serde_json::to_string(&job).expect("plain values");
        let mut command = Command::new(std::env::current_exe().expect("this executable"));
        measured(command.arg("--member").arg(json))
    }

    fn franz(&self, topic: &str, records: u64) -> Measured {
        let mut command = Command::new(&self.franz);
        measured(command.args([&self.brokers, topic, &unique("bench"), &records.to_string()]))
    }

    /// Both sides in turn, so that a machine that drifts drifts for both.
    fn pair(&self, a: impl Fn() -> Measured, b: impl Fn() -> Measured) -> (Measured, Measured) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            left.push(a());
            right.push(b());
        }
        (median(left), median(right))
    }
}

fn measured(command: &mut Command) -> Measured {
    let out = command.stderr(Stdio::inherit()).output().expect("the process starts");
    assert!(out.status.success(), "a measured process failed: {}", out.status);
    serde_json::from_slice(&out.stdout).expect("it prints its measures as JSON")
}

fn beside_franz(
    b: &Bench,
    t: &mut Table,
    what: &str,
    topic: (String, u64),
    change: impl Fn(&mut Job),
    bar: f64,
) {
    let (topic, records) = topic;
    let mut job = b.job(&topic, records);
    change(&mut job);
    let (engine, bare) = b.pair(|| b.member(&job), || b.franz(&topic, records));
    t.line(what, rate(&engine), rate(&bare), engine.rate() / bare.rate(), bar, true);
}

fn noop(b: &Bench, t: &mut Table) {
    beside_franz(b, t, "no-op sync, 100 B", b.topic(12_000_000, 100_000, 100), |_| {}, 0.8);
}

fn async_noop(b: &Bench, t: &mut Table) {
    let topic = b.topic(12_000_000, 100_000, 100);
    beside_franz(b, t, "no-op async, 100 B", topic, |j| j.asynchronous = true, 0.7);
}

fn noop_1k(b: &Bench, t: &mut Table) {
    beside_franz(b, t, "no-op sync, 1 KB", b.topic(3_000_000, 100_000, 1000), |_| {}, 0.9);
}

/// Records a second that `keys` handlers of `ms` milliseconds could do at best.
fn ideal(keys: u64, ms: u64) -> f64 {
    keys as f64 * 1000.0 / ms as f64
}

fn sync_20ms(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(800_000, 1000, 100);
    let mut job = b.job(&topic, records * 9 / 10);
    (job.concurrent_keys, job.handler_us) = (1000, 20_000);
    let m = median((0..b.runs).map(|_| b.member(&job)).collect());
    let best = ideal(1000, 20);
    let value = format!("{:.0} k/s, {} threads", m.rate() / 1e3, m.threads);
    t.line(
        "1000 keys x 20 ms, sync",
        value,
        format!("{:.0} k/s ideal", best / 1e3),
        m.rate() / best,
        0.95,
        true,
    );
}

fn async_20ms(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(4_000_000, 5000, 100);
    let mut job = b.job(&topic, records * 9 / 10);
    (job.concurrent_keys, job.handler_us, job.asynchronous) = (5000, 20_000, true);
    let m = median((0..b.runs).map(|_| b.member(&job)).collect());
    let best = ideal(5000, 20);
    let value = format!("{:.0} k/s", m.rate() / 1e3);
    t.line(
        "5000 keys x 20 ms, async",
        value,
        format!("{:.0} k/s ideal", best / 1e3),
        m.rate() / best,
        0.9,
        true,
    );
    t.line("the same: threads", m.threads.to_string(), "12".into(), m.threads as f64, 12.0, false);
}

fn waiting(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(200_000, 100_000, 1000);
    let mut job = b.job(&topic, records);
    (job.concurrent_keys, job.asynchronous, job.hold) = (20_000, true, 20_000);
    let m = b.member(&job);
    let above = m.held_rss_bytes.saturating_sub(m.idle_rss_bytes) as f64 / f64::from(1 << 20);
    let value = format!("{above:.0} MB above {} MB idle", m.idle_rss_bytes >> 20);
    t.line("20,000 async waiting, 1 KB", value, "100 MB".into(), above, 100.0, false);
}

fn stuck(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(12_000_000, 1000, 100);
    let mut with = b.job(&topic, records - records / 1000 - 10_000);
    let without = with.clone();
    with.stuck_key = Some("key-7".into());
    let (with, without) = b.pair(|| b.member(&with), || b.member(&without));
    t.line(
        "one key of 1000 stuck",
        rate(&with),
        rate(&without),
        with.rate() / without.rate(),
        0.95,
        true,
    );
}

fn metrics(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(12_000_000, 100_000, 100);
    let off = b.job(&topic, records);
    let mut on = off.clone();
    on.metrics = true;
    let (on, off) = b.pair(|| b.member(&on), || b.member(&off));
    t.line("metrics on", rate(&on), rate(&off), on.rate() / off.rate(), 0.97, true);
}

fn metadata(b: &Bench, t: &mut Table) {
    let (topic, records) = b.topic(2_000_000, 10_000, 100);
    let mut on = b.job(&topic, records);
    (on.asynchronous, on.concurrent_keys, on.handler_us, on.half_slow) =
        (true, 10_000, 20_000, true);
    let mut off = on.clone();
    off.commit_metadata = false;
    let (on, off) = b.pair(|| b.member(&on), || b.member(&off));
    t.line("commit metadata on", rate(&on), rate(&off), on.rate() / off.rate(), 0.97, true);
}
