//! The engine's metrics: plain values, and the families they become.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::render::{Definition, DurationBuckets, HistogramReading, Kind, Samples, Value};
use crate::snapshot::State;

/// Buckets of handler durations: 1 ms to 16.4 s.
pub(crate) const HANDLER_BUCKETS: DurationBuckets =
    DurationBuckets { first_nanos: 1_000_000, bounds: 15 };

/// Buckets of the time between fetch and handler: 0.1 ms to 13.1 s.
pub(crate) const QUEUE_BUCKETS: DurationBuckets =
    DurationBuckets { first_nanos: 100_000, bounds: 18 };

/// Values of the labels that all of an engine's metrics carry.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) topic: Arc<str>,
    pub(crate) consumer_group: Arc<str>,
    pub(crate) service: Arc<str>,
    pub(crate) team: Arc<str>,
}

/// All of an engine's values at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) identity: Identity,
    pub(crate) state: State,
    pub(crate) commits: u64,
    pub(crate) commit_failures: u64,
    pub(crate) rebalances: u64,
    pub(crate) concurrent_keys_limit: u64,
    pub(crate) concurrent_keys_in_use: u64,
    /// Every partition that was assigned since the start: counters must not vanish with a
    /// revocation. Gauges of those that are not assigned now are left out.
    pub(crate) partitions: Vec<PartitionReading>,
    pub(crate) bandwidth: Option<BandwidthReading>,
}

/// One partition: counters since the start of the engine, gauges while assigned.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartitionReading {
    pub(crate) partition: i32,
    pub(crate) processed: u64,
    pub(crate) errored: u64,
    pub(crate) panicked: u64,
    pub(crate) dead_lettered: u64,
    pub(crate) duplicate: u64,
    pub(crate) used_overflow: u64,
    pub(crate) orphaned: u64,
    pub(crate) retries: u64,
    pub(crate) skipped: u64,
    pub(crate) process_duration: HistogramReading,
    pub(crate) dead_letter_duration: HistogramReading,
    pub(crate) queue_wait: HistogramReading,
    pub(crate) assigned: Option<AssignedReading>,
}

/// Gauges of an assigned partition; `None` where a value is not known yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct AssignedReading {
    pub(crate) queue_depth: u64,
    pub(crate) in_flight: u64,
    pub(crate) current_offset: Option<i64>,
    pub(crate) high_watermark: Option<i64>,
    pub(crate) lag: Option<i64>,
    pub(crate) gap_depth: u64,
    pub(crate) oldest_blocked: Option<Duration>,
    pub(crate) held_records: u64,
    pub(crate) held_bytes: u64,
    pub(crate) paused: bool,
}

/// What went over the network.
#[derive(Debug, Clone)]
pub(crate) struct BandwidthReading {
    pub(crate) stats_interval: Duration,
    pub(crate) last_collection: SystemTime,
    pub(crate) brokers: Vec<BrokerReading>,
    pub(crate) partitions: Vec<PartitionBandwidth>,
}

#[derive(Debug, Clone)]
pub(crate) struct BrokerReading {
    pub(crate) id: i32,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    pub(crate) received_bytes: u64,
    pub(crate) transmitted_bytes: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct PartitionBandwidth {
    pub(crate) partition: i32,
    pub(crate) received_bytes: u64,
    pub(crate) transmitted_bytes: u64,
    pub(crate) received_messages: u64,
    pub(crate) compressed_bytes: u64,
    pub(crate) uncompressed_bytes: u64,
    /// The codec's name; `None` is shown as `unknown`.
    pub(crate) compression: Option<String>,
}

const ENGINE: &[&str] = &["topic", "consumer_group", "service", "team"];
const PARTITION: &[&str] = &["topic", "consumer_group", "service", "team", "partition"];
const STATE: &[&str] = &["topic", "consumer_group", "service", "team", "state"];
const COMPRESSION: &[&str] =
    &["topic", "consumer_group", "service", "team", "partition", "compression"];
const BROKER: &[&str] = &["topic", "consumer_group", "service", "team", "broker_id"];
const BROKER_INFO: &[&str] =
    &["topic", "consumer_group", "service", "team", "broker_id", "host", "port", "rack"];

/// Declares families and the list of all of them for the documentation.
macro_rules! families {
    ($($id:ident: $name:literal, $kind:expr, $labels:ident, $help:literal;)+) => {
        $(static $id: Definition = Definition {
            name: $name, help: $help, kind: $kind, labels: $labels,
        };)+

        /// All families of the engine, for the documentation.
        #[cfg(test)]
        pub(crate) static DEFINITIONS: &[&Definition] = &[$(&$id),+];
    };
}

families! {
    PROCESSED: "llingr_engine_processed", Kind::Counter, PARTITION,
        "Records whose handling ended, by the handler or by the dead-letter handler.";
    ERRORED: "llingr_engine_errored", Kind::Counter, PARTITION,
        "Attempts in which the handler returned an error.";
    PANICKED: "llingr_engine_panicked", Kind::Counter, PARTITION,
        "Attempts in which the handler panicked.";
    DEAD_LETTERED: "llingr_engine_dead_lettered", Kind::Counter, PARTITION,
        "Records that the dead-letter handler took.";
    DUPLICATE: "llingr_engine_duplicate", Kind::Counter, PARTITION,
        "Records fetched again within one assignment and dropped.";
    USED_OVERFLOW: "llingr_engine_used_overflow", Kind::Counter, PARTITION,
        "Records that were next of their key and had to wait because concurrent_keys was used up.";
    ORPHANED: "llingr_engine_orphaned", Kind::Counter, PARTITION,
        "Records whose handling ended after their partition had been given up; they are handled again elsewhere.";
    RETRIES: "llingr_engine_retries", Kind::Counter, PARTITION,
        "Attempts after the first one.";
    SKIPPED: "llingr_engine_skipped", Kind::Counter, PARTITION,
        "Records not handled because the commit metadata said that they were finished before a restart or rebalance.";
    PROCESS_DURATION: "llingr_engine_process_duration_seconds", Kind::Histogram(HANDLER_BUCKETS), PARTITION,
        "Duration of one attempt of the handler in seconds.";
    DEAD_LETTER_DURATION: "llingr_engine_dead_letter_duration_seconds", Kind::Histogram(HANDLER_BUCKETS), PARTITION,
        "Duration of one call of the dead-letter handler in seconds.";
    QUEUE_WAIT: "llingr_engine_queue_wait_duration_seconds", Kind::Histogram(QUEUE_BUCKETS), PARTITION,
        "Time between the fetch of a record and the start of its first attempt in seconds.";
    QUEUE_DEPTH: "llingr_engine_queue_depth", Kind::Gauge, PARTITION,
        "Records that wait for their key or for a slot.";
    IN_FLIGHT: "llingr_engine_in_flight", Kind::Gauge, PARTITION,
        "Records in a handler.";
    CURRENT_OFFSET: "llingr_engine_current_offset", Kind::Gauge, PARTITION,
        "Committed offset: everything before it is finished.";
    HIGH_WATERMARK: "llingr_engine_high_watermark", Kind::Gauge, PARTITION,
        "Offset after the last record that the broker hands out, as of the last fetch.";
    LAG: "llingr_engine_lag", Kind::Gauge, PARTITION,
        "Offsets between the committed offset and the high watermark.";
    GAP_DEPTH: "llingr_engine_gap_depth", Kind::Gauge, PARTITION,
        "Finished records above the first unfinished one.";
    OLDEST_BLOCKED: "llingr_engine_oldest_blocked_seconds", Kind::Gauge, PARTITION,
        "Age of the first unfinished record since its fetch in seconds; 0 when there is none.";
    HELD_RECORDS: "llingr_engine_held_records", Kind::Gauge, PARTITION,
        "Fetched and unfinished records in memory.";
    HELD_BYTES: "llingr_engine_held_bytes", Kind::Gauge, PARTITION,
        "Bytes of the fetched and unfinished records in memory.";
    PAUSED: "llingr_engine_paused", Kind::Gauge, PARTITION,
        "1 while fetching is paused, by the program or at a bound, otherwise 0.";
    COMMITS: "llingr_engine_commits", Kind::Counter, ENGINE,
        "Commits that the broker accepted.";
    COMMIT_FAILURES: "llingr_engine_commit_failures", Kind::Counter, ENGINE,
        "Commits that failed; they are repeated.";
    REBALANCES: "llingr_engine_rebalances", Kind::Counter, ENGINE,
        "Changes of the assignment.";
    ASSIGNED: "llingr_engine_assigned_partitions", Kind::Gauge, ENGINE,
        "Partitions assigned now.";
    KEYS_LIMIT: "llingr_engine_concurrent_keys_limit", Kind::Gauge, ENGINE,
        "Most keys handled at once, as configured now.";
    KEYS_IN_USE: "llingr_engine_concurrent_keys_in_use", Kind::Gauge, ENGINE,
        "Keys handled now.";
    ENGINE_STATE: "llingr_engine_state", Kind::Gauge, STATE,
        "1 for the present state, 0 for the others.";
    RECEIVED_BYTES: "llingr_bandwidth_received_bytes", Kind::Counter, PARTITION,
        "Bytes of record batches received for a partition.";
    TRANSMITTED_BYTES: "llingr_bandwidth_transmitted_bytes", Kind::Counter, PARTITION,
        "Bytes sent for a partition.";
    RECEIVED_MESSAGES: "llingr_bandwidth_received_messages", Kind::Counter, PARTITION,
        "Records received for a partition.";
    COMPRESSED_BYTES: "llingr_bandwidth_compressed_bytes", Kind::Counter, COMPRESSION,
        "Bytes of record batches as received.";
    UNCOMPRESSED_BYTES: "llingr_bandwidth_uncompressed_bytes", Kind::Counter, COMPRESSION,
        "Bytes of the same record batches after decompression.";
    BROKER_COUNT: "llingr_bandwidth_broker_count", Kind::Gauge, ENGINE,
        "Brokers known.";
    PARTITION_COUNT: "llingr_bandwidth_partition_count", Kind::Gauge, ENGINE,
        "Partitions with bandwidth figures.";
    STATS_INTERVAL: "llingr_bandwidth_stats_interval_seconds", Kind::Gauge, ENGINE,
        "Interval of collection in seconds.";
    LAST_COLLECTION: "llingr_bandwidth_last_collection_timestamp_seconds", Kind::Gauge, ENGINE,
        "Unix time of the last collection in seconds.";
    BROKER_INFO_FAMILY: "llingr_bandwidth_broker_info", Kind::Gauge, BROKER_INFO,
        "1 for every broker known, with its address and rack.";
    BROKER_RECEIVED: "llingr_bandwidth_broker_received_bytes", Kind::Counter, BROKER,
        "Bytes read from a broker.";
    BROKER_TRANSMITTED: "llingr_bandwidth_broker_transmitted_bytes", Kind::Counter, BROKER,
        "Bytes written to a broker.";
}

impl Reading {
    /// Adds everything to a scrape.
    pub(crate) fn collect(self, samples: &mut Samples) {
        let base = [
            self.identity.topic,
            self.identity.consumer_group,
            self.identity.service,
            self.identity.team,
        ];
        let assigned =
            self.partitions.iter().filter(|partition| partition.assigned.is_some()).count();
        samples.add(&COMMITS, &base, Value::Counter(self.commits));
        samples.add(&COMMIT_FAILURES, &base, Value::Counter(self.commit_failures));
        samples.add(&REBALANCES, &base, Value::Counter(self.rebalances));
        samples.add(&ASSIGNED, &base, whole(assigned as u64));
        samples.add(&KEYS_LIMIT, &base, whole(self.concurrent_keys_limit));
        samples.add(&KEYS_IN_USE, &base, whole(self.concurrent_keys_in_use));
        for state in State::ALL {
            let value = Value::Whole(i64::from(state == self.state));
            samples.add(&ENGINE_STATE, &with(&base, [state.as_str()]), value);
        }
        for partition in self.partitions {
            partition.collect(&base, samples);
        }
        if let Some(bandwidth) = self.bandwidth {
            bandwidth.collect(&base, samples);
        }
    }
}

impl PartitionReading {
    fn collect(self, base: &[Arc<str>], samples: &mut Samples) {
        let labels = with(base, [self.partition.to_string().as_str()]);
        for (definition, count) in [
            (&PROCESSED, self.processed),
            (&ERRORED, self.errored),
            (&PANICKED, self.panicked),
            (&DEAD_LETTERED, self.dead_lettered),
            (&DUPLICATE, self.duplicate),
            (&USED_OVERFLOW, self.used_overflow),
            (&ORPHANED, self.orphaned),
            (&RETRIES, self.retries),
            (&SKIPPED, self.skipped),
        ] {
            samples.add(definition, &labels, Value::Counter(count));
        }
        for (definition, reading) in [
            (&PROCESS_DURATION, self.process_duration),
            (&DEAD_LETTER_DURATION, self.dead_letter_duration),
            (&QUEUE_WAIT, self.queue_wait),
        ] {
            samples.add(definition, &labels, Value::Histogram(reading));
        }
        let Some(assigned) = self.assigned else {
            return;
        };
        for (definition, value) in [
            (&QUEUE_DEPTH, assigned.queue_depth),
            (&IN_FLIGHT, assigned.in_flight),
            (&GAP_DEPTH, assigned.gap_depth),
            (&HELD_RECORDS, assigned.held_records),
            (&HELD_BYTES, assigned.held_bytes),
            (&PAUSED, u64::from(assigned.paused)),
        ] {
            samples.add(definition, &labels, whole(value));
        }
        for (definition, value) in [
            (&CURRENT_OFFSET, assigned.current_offset),
            (&HIGH_WATERMARK, assigned.high_watermark),
            (&LAG, assigned.lag),
        ] {
            if let Some(value) = value {
                samples.add(definition, &labels, Value::Whole(value));
            }
        }
        let age = assigned.oldest_blocked.unwrap_or_default().as_secs_f64();
        samples.add(&OLDEST_BLOCKED, &labels, Value::Gauge(age));
    }
}

impl BandwidthReading {
    fn collect(self, base: &[Arc<str>], samples: &mut Samples) {
        let collected =
            self.last_collection.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        samples.add(&BROKER_COUNT, base, whole(self.brokers.len() as u64));
        samples.add(&PARTITION_COUNT, base, whole(self.partitions.len() as u64));
        samples.add(&STATS_INTERVAL, base, Value::Gauge(self.stats_interval.as_secs_f64()));
        samples.add(&LAST_COLLECTION, base, Value::Gauge(collected.as_secs_f64()));
        for partition in self.partitions {
            let id = partition.partition.to_string();
            let labels = with(base, [id.as_str()]);
            for (definition, count) in [
                (&RECEIVED_BYTES, partition.received_bytes),
                (&TRANSMITTED_BYTES, partition.transmitted_bytes),
                (&RECEIVED_MESSAGES, partition.received_messages),
            ] {
                samples.add(definition, &labels, Value::Counter(count));
            }
            let codec = partition.compression.as_deref().unwrap_or("unknown");
            let labels = with(base, [id.as_str(), codec]);
            samples.add(&COMPRESSED_BYTES, &labels, Value::Counter(partition.compressed_bytes));
            samples.add(&UNCOMPRESSED_BYTES, &labels, Value::Counter(partition.uncompressed_bytes));
        }
        for broker in self.brokers {
            let (id, port) = (broker.id.to_string(), broker.port.to_string());
            let labels = with(base, [id.as_str()]);
            samples.add(&BROKER_RECEIVED, &labels, Value::Counter(broker.received_bytes));
            samples.add(&BROKER_TRANSMITTED, &labels, Value::Counter(broker.transmitted_bytes));
            let rack = broker.rack.as_deref().unwrap_or("");
            let labels = with(base, [id.as_str(), &broker.host, &port, rack]);
            samples.add(&BROKER_INFO_FAMILY, &labels, Value::Whole(1));
        }
    }
}

fn with<const N: usize>(base: &[Arc<str>], more: [&str; N]) -> Vec<Arc<str>> {
    base.iter().cloned().chain(more.map(Arc::from)).collect()
}

fn whole(value: u64) -> Value {
    Value::Whole(i64::try_from(value).unwrap_or(i64::MAX))
}
