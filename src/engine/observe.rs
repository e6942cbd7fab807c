//! What the engine shows of itself: the engine's status and the executors'
//! counts put together.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;

use super::block::POISON;
use super::control::Engine;
use super::futures::Futures;
use super::host::Host;
use super::pool::Pool;
use super::stats::{Counts, DURATION_BUCKETS, Histogram};
use super::work::Tick;
use crate::error::{ErrorKind, LlingrError};
use crate::metrics::MetricsSource;
use crate::metrics::reading::{
    AssignedReading, BandwidthReading, BrokerReading, Identity, PartitionBandwidth,
    PartitionReading, Reading,
};
use crate::metrics::render::HistogramReading;
use crate::snapshot::{Blocked, Health, OldestBlocked, Partition, Ready, Snapshot, State, Window};

/// The engine's status as `llingr_engine_status` gives it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    last_rebalance_ms: i64,
    held_records: u64,
    held_bytes: u64,
    commits: u64,
    commit_errors: u64,
    rebalances: u64,
    partitions: Vec<PartitionStatus>,
    counters: Vec<PartitionCounters>,
    bandwidth: Bandwidth,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct PartitionStatus {
    partition: i32,
    assignment: u32,
    position: i64,
    committed: i64,
    last_offset: i64,
    high_watermark: i64,
    lag: i64,
    held: u64,
    held_bytes: u64,
    span: u64,
    open: u64,
    paused: bool,
    last_progress_ms: i64,
    #[serde(default)]
    failing: String,
}

#[derive(Deserialize)]
struct PartitionCounters {
    partition: i32,
    skipped: u64,
    duplicates: u64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Bandwidth {
    brokers: Vec<BrokerStatus>,
    partitions: Vec<TrafficStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BrokerStatus {
    id: i32,
    host: String,
    port: u16,
    rack: String,
    received_bytes: u64,
    transmitted_bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrafficStatus {
    partition: i32,
    received_bytes: u64,
    received_messages: u64,
    compressed_bytes: u64,
    uncompressed_bytes: u64,
    codec: String,
}

/// Either kind of executor.
pub(crate) enum Executor {
    Threads(Arc<Pool>),
    Futures(Arc<Futures>),
}

/// Totals at one moment, kept for a few seconds to show what changed.
#[derive(Clone)]
struct Sample {
    at: Instant,
    wall: SystemTime,
    counts: Counts,
}

const WINDOWS: usize = 15;

pub(crate) struct Observer {
    engine: Engine,
    host: Arc<Host>,
    executor: Arc<Executor>,
    identity: Identity,
    limit: Arc<std::sync::atomic::AtomicUsize>,
    samples: Mutex<VecDeque<Sample>>,
    last: Mutex<Status>,
}

impl Observer {
    pub(crate) fn new(
        engine: Engine,
        host: Arc<Host>,
        executor: Arc<Executor>,
        identity: Identity,
        limit: Arc<std::sync::atomic::AtomicUsize>,
    ) -> Arc<Observer> {
        Arc::new(Observer {
            engine,
            host,
            executor,
            identity,
            limit,
            samples: Mutex::default(),
            last: Mutex::default(),
        })
    }

    /// Asks the engine; after its end, what it said last.
    fn refresh(&self) -> Result<(), LlingrError> {
        if self.host.end().is_some() {
            return Ok(());
        }
        match self.engine.status() {
            Ok(json) => {
                let status: Status = serde_json::from_slice(&json).map_err(|e| {
                    LlingrError::new(ErrorKind::Malformed, format!("the engine's status: {e}"))
                })?;
                *self.last.lock().expect(POISON) = status;
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::NoEngine => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Called from the engine's pump, every 50 ms at least.
    pub(crate) fn look(&self) {
        if let Executor::Futures(futures) = &*self.executor {
            futures.nudge();
        }
        if self.sample_due() {
            self.sample();
        }
    }

    /// Notes the totals, about once a second.
    fn sample(&self) {
        let sample = Sample {
            at: Instant::now(),
            wall: SystemTime::now(),
            counts: total(&self.host.dispatch.totals()),
        };
        let mut samples = self.samples.lock().expect(POISON);
        let due = samples.back().is_none_or(|s| sample.at - s.at >= Duration::from_secs(1));
        if due {
            samples.push_back(sample);
            while samples.len() > WINDOWS + 1 {
                samples.pop_front();
            }
        }
    }

    /// Whether `sample` would do something; cheap.
    fn sample_due(&self) -> bool {
        let samples = self.samples.lock().expect(POISON);
        samples.back().is_none_or(|s| s.at.elapsed() >= Duration::from_secs(1))
    }

    fn in_flight(&self) -> usize {
        match &*self.executor {
            Executor::Threads(pool) => {
                let _ = pool;
                self.host.dispatch.events.shards().filter(|s| s.running.is_some()).count()
            }
            Executor::Futures(futures) => futures.pending(),
        }
    }

    /// Records in a handler, by partition.
    fn running_by_partition(&self) -> BTreeMap<i32, u64> {
        let mut by = BTreeMap::new();
        match &*self.executor {
            Executor::Threads(_) => {
                for shard in self.host.dispatch.events.shards() {
                    if let Some(r) = &shard.running {
                        *by.entry(r.partition).or_default() += 1;
                    }
                }
            }
            Executor::Futures(futures) => {
                futures.each(|p| *by.entry(p.partition).or_default() += 1);
            }
        }
        by
    }

    /// The record that has been in work longest: in a handler, or waiting for
    /// its retry.
    fn oldest_blocked(&self) -> Option<Blocked> {
        let now = Tick::now();
        let mut oldest: Option<(Tick, Blocked)> = None;
        let mut consider = |since: Tick, blocked: &mut dyn FnMut(Duration) -> Blocked| {
            if oldest.as_ref().is_none_or(|(at, _)| since < *at) {
                oldest = Some((since, blocked(now.saturating_duration_since(since))));
            }
        };
        match &*self.executor {
            Executor::Threads(_) => {
                for shard in self.host.dispatch.events.shards() {
                    if let Some(r) = &shard.running {
                        consider(r.since, &mut |age| {
                            // SAFETY: the shard is locked and names the record
                            // as running, so its executor keeps it alive.
                            let key = unsafe { r.key() };
                            Blocked::new(r.partition, r.offset, key, age)
                        });
                    }
                }
            }
            Executor::Futures(futures) => {
                if let Some((since, (partition, offset, key))) =
                    futures.oldest(|p| (p.partition, p.offset, p.key()))
                {
                    consider(since, &mut |age| Blocked::new(partition, offset, key.clone(), age));
                }
            }
        }
        if let (_, Some(w)) = self.host.timer.waiting() {
            consider(w.handed, &mut |age| Blocked::new(w.partition, w.offset, w.key.clone(), age));
        }
        oldest.map(|(_, blocked)| blocked)
    }

    /// The state and, where the engine gave none, the cause that its
    /// partitions tell.
    fn state(&self) -> (State, Option<String>) {
        let (state, cause) = self.host.state();
        let failing = || {
            let last = self.last.lock().expect(POISON);
            last.partitions
                .iter()
                .find(|p| !p.failing.is_empty())
                .map(|p| format!("partition {}: {}", p.partition, p.failing))
        };
        let cause = cause.or_else(failing);
        (state, cause)
    }

    pub(crate) fn health(&self) -> Health {
        let refreshed = self.refresh();
        let (state, cause) = self.state();
        let mut health = Health::new(state);
        health.cause = cause.or_else(|| refreshed.err().map(|e| e.to_string()));
        let last = self.last.lock().expect(POISON);
        health.last_progress =
            last.partitions.iter().map(|p| p.last_progress_ms).max().and_then(time);
        drop(last);
        health.oldest_blocked = self.oldest_blocked();
        health
    }

    pub(crate) fn ready(&self) -> Ready {
        let refreshed = self.refresh();
        let (state, cause) = self.state();
        // After the end the last status still tells of offsets, not of rights.
        let assigned =
            if state.has_ended() { 0 } else { self.last.lock().expect(POISON).partitions.len() };
        Ready::new(state, assigned, cause.or_else(|| refreshed.err().map(|e| e.to_string())))
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot, LlingrError> {
        self.refresh()?;
        let totals = self.host.dispatch.totals();
        let all = total(&totals);
        let running = self.running_by_partition();
        let (state, cause) = self.state();
        let mut s = Snapshot::default();
        s.summary.topic_name = self.identity.topic.to_string();
        s.summary.state = state;
        s.summary.cause = cause;
        s.summary.total_processed = all.processed;
        {
            let last = self.last.lock().expect(POISON);
            let assigned = !state.has_ended();
            if assigned {
                s.summary.assigned_partition_count = last.partitions.len() as u32;
            }
            s.summary.last_rebalance_time = time(last.last_rebalance_ms);
            s.concurrency.held_records = last.held_records;
            s.concurrency.held_bytes = last.held_bytes;
            s.pre_commits.partitions = last
                .partitions
                .iter()
                .map(|p| {
                    let mut out = Partition::new(p.partition);
                    out.committed_offset = p.committed;
                    out.highest_ready_offset = p.position;
                    out.max_offset_seen = p.last_offset;
                    out.gap_buffer_depth = p.span - p.open;
                    out.assigned = assigned;
                    out.high_watermark = p.high_watermark;
                    out.lag = p.lag;
                    out.in_flight = running.get(&p.partition).copied().unwrap_or(0);
                    out.held_records = p.held;
                    out.held_bytes = p.held_bytes;
                    out.paused = p.paused;
                    out
                })
                .collect();
        }
        s.concurrency.guard_active = self.in_flight() as u64;
        s.concurrency.guard_capacity = self.limit.load(std::sync::atomic::Ordering::Relaxed) as u64;
        s.oldest_blocked = self.oldest_blocked().as_ref().map(OldestBlocked::from);
        self.throughput(&mut s, all);
        Ok(s)
    }

    fn throughput(&self, s: &mut Snapshot, now: Counts) {
        let mut samples: Vec<Sample> = self.samples.lock().expect(POISON).iter().cloned().collect();
        samples.push(Sample { at: Instant::now(), wall: SystemTime::now(), counts: now });
        for pair in samples.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            s.throughput.windows.push(Window::new(
                a.wall,
                b.wall.max(a.wall),
                b.counts.processed - a.counts.processed,
                b.counts.dead_lettered - a.counts.dead_lettered,
            ));
        }
        let over = s.throughput.windows.len().saturating_sub(WINDOWS);
        s.throughput.windows.drain(..over);
        let first = samples[over.min(samples.len() - 1)].counts;
        s.throughput.total_processed = now.processed - first.processed;
        s.throughput.total_dead_lettered = now.dead_lettered - first.dead_lettered;
        let process = since(&now.process, &first.process);
        let wait = since(&now.wait, &first.wait);
        s.throughput.avg_process_duration = average(&process);
        s.throughput.max_process_duration = longest(&process, Duration::from_millis(1));
        s.throughput.avg_end_to_end_duration = average(&process) + average(&wait);
        s.throughput.max_end_to_end_duration = longest(&process, Duration::from_millis(1))
            + longest(&wait, Duration::from_micros(100));
        s.throughput.min_end_to_end_duration = shortest(&process, Duration::from_millis(1))
            + shortest(&wait, Duration::from_micros(100));
    }
}

fn time(ms: i64) -> Option<SystemTime> {
    let ms = u64::try_from(ms).ok().filter(|ms| *ms > 0)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(ms))
}

fn total(by_partition: &[(i32, Counts)]) -> Counts {
    let mut all = Counts::default();
    for (_, counts) in by_partition {
        all.add(counts);
    }
    all
}

fn since<const N: usize>(now: &Histogram<N>, then: &Histogram<N>) -> Histogram<N> {
    let mut diff = *now;
    for (d, t) in diff.counts.iter_mut().zip(&then.counts) {
        *d -= t;
    }
    diff.sum_ns -= then.sum_ns;
    diff
}

fn average<const N: usize>(h: &Histogram<N>) -> Duration {
    Duration::from_nanos(h.sum_ns.checked_div(h.count()).unwrap_or(0))
}

/// Upper bound of the highest bucket in use.
fn longest<const N: usize>(h: &Histogram<N>, first: Duration) -> Duration {
    match h.counts.iter().rposition(|n| *n > 0) {
        Some(bucket) => first.saturating_mul(1 << bucket.min(N - 1)),
        None => Duration::ZERO,
    }
}

/// Lower bound of the lowest bucket in use.
fn shortest<const N: usize>(h: &Histogram<N>, first: Duration) -> Duration {
    match h.counts.iter().position(|n| *n > 0) {
        Some(bucket) if bucket > 0 => first.saturating_mul(1 << (bucket - 1)),
        _ => Duration::ZERO,
    }
}

fn reading<const N: usize>(h: &Histogram<N>) -> HistogramReading {
    HistogramReading { counts: h.counts.to_vec(), sum_nanos: h.sum_ns }
}

impl MetricsSource for Observer {
    fn read(&self) -> Reading {
        let _ = self.refresh();
        let running = self.running_by_partition();
        let oldest = self.oldest_blocked();
        let assignments = self.host.dispatch.assignments();
        let last = self.last.lock().expect(POISON);
        let partitions = self
            .host
            .dispatch
            .totals()
            .into_iter()
            .map(|(partition, c)| {
                let status = last.partitions.iter().find(|p| p.partition == partition);
                let counted = last.counters.iter().find(|c| c.partition == partition);
                let queued = assignments
                    .iter()
                    .find(|a| status.is_some_and(|s| s.assignment == a.id))
                    .map_or(0, |a| a.queued());
                PartitionReading {
                    partition,
                    processed: c.processed,
                    errored: c.errored,
                    panicked: c.panicked,
                    dead_lettered: c.dead_lettered,
                    duplicate: counted.map_or(0, |c| c.duplicates),
                    orphaned: c.orphaned,
                    used_overflow: c.used_overflow,
                    retries: c.retries,
                    skipped: counted.map_or(0, |c| c.skipped),
                    process_duration: reading::<DURATION_BUCKETS>(&c.process),
                    dead_letter_duration: reading(&c.dead_letter),
                    queue_wait: reading(&c.wait),
                    assigned: status.map(|s| AssignedReading {
                        queue_depth: queued as u64,
                        in_flight: running.get(&partition).copied().unwrap_or(0),
                        current_offset: known(s.committed),
                        high_watermark: known(s.high_watermark),
                        lag: known(s.lag),
                        gap_depth: s.span - s.open,
                        oldest_blocked: oldest
                            .as_ref()
                            .filter(|b| b.partition == partition)
                            .map(|b| b.age),
                        held_records: s.held,
                        held_bytes: s.held_bytes,
                        paused: s.paused,
                    }),
                }
            })
            .collect();
        Reading {
            identity: self.identity.clone(),
            state: self.host.state().0,
            commits: last.commits,
            commit_failures: last.commit_errors,
            rebalances: last.rebalances,
            concurrent_keys_limit: self.limit.load(std::sync::atomic::Ordering::Relaxed) as u64,
            concurrent_keys_in_use: self.in_flight() as u64,
            partitions,
            bandwidth: Some(bandwidth(&last.bandwidth)),
        }
    }
}

fn known(offset: i64) -> Option<i64> {
    (offset >= 0).then_some(offset)
}

fn bandwidth(b: &Bandwidth) -> BandwidthReading {
    BandwidthReading {
        stats_interval: Duration::ZERO,
        last_collection: SystemTime::now(),
        brokers: b
            .brokers
            .iter()
            .map(|b| BrokerReading {
                id: b.id,
                host: b.host.clone(),
                port: b.port,
                rack: Some(b.rack.clone()).filter(|r| !r.is_empty()),
                received_bytes: b.received_bytes,
                transmitted_bytes: b.transmitted_bytes,
            })
            .collect(),
        partitions: b
            .partitions
            .iter()
            .map(|p| PartitionBandwidth {
                partition: p.partition,
                received_bytes: p.received_bytes,
                transmitted_bytes: 0,
                received_messages: p.received_messages,
                compressed_bytes: p.compressed_bytes,
                uncompressed_bytes: p.uncompressed_bytes,
                compression: Some(p.codec.clone()).filter(|c| !c.is_empty()),
            })
            .collect(),
    }
}
