//! How the engine spreads, bounds and commits its work.

use std::time::Duration;

use super::work::KeylessOrder;
use crate::error::{ErrorKind, LlingrError};

/// How the engine spreads, bounds and commits its work.
///
/// Values are checked by `build()`; one out of its range is an error that names
/// it.
///
/// ```
/// use std::time::Duration;
/// use llingr_kafka::DemuxConfig;
///
/// let config = DemuxConfig::default()
///     .concurrent_keys(2_000)
///     .worker_threads(64)
///     .drain_timeout(Duration::from_secs(10));
/// # let _ = config;
/// ```
#[derive(Debug, Clone)]
#[must_use = "a configuration does nothing until it is given to a builder"]
pub struct DemuxConfig {
    pub(crate) concurrent_keys: usize,
    pub(crate) worker_threads: Option<usize>,
    pub(crate) runtime_threads: Option<usize>,
    pub(crate) keyless: KeylessOrder,
    pub(crate) auto_commit_interval: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) await_assignments_timeout: Duration,
    pub(crate) max_held_records: u64,
    pub(crate) max_held_bytes: u64,
    pub(crate) partition_records: Option<u64>,
    pub(crate) partition_bytes: Option<u64>,
    pub(crate) max_run_ahead: u64,
    pub(crate) commit_metadata: bool,
    pub(crate) go_memory_limit: Option<u64>,
}

impl Default for DemuxConfig {
    fn default() -> Self {
        DemuxConfig {
            concurrent_keys: 250,
            worker_threads: None,
            runtime_threads: None,
            keyless: KeylessOrder::default(),
            auto_commit_interval: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(20),
            await_assignments_timeout: Duration::from_secs(50),
            max_held_records: 500_000,
            max_held_bytes: 64 << 20,
            partition_records: None,
            partition_bytes: None,
            max_run_ahead: 16 << 20,
            commit_metadata: true,
            go_memory_limit: None,
        }
    }
}

/// Beyond this, threads cost more than they bring: async handlers wait for less.
const DEFAULT_THREADS_MAX: usize = 512;

impl DemuxConfig {
    /// Keys whose handlers run at once: 1 to 100,000, default 250. May be
    /// changed while running
    /// ([`Llingr::set_concurrent_keys`](crate::Llingr::set_concurrent_keys)).
    pub fn concurrent_keys(mut self, keys: usize) -> Self {
        self.concurrent_keys = keys;
        self
    }

    /// Threads for sync handlers: 1 to 10,000, default `concurrent_keys` but at
    /// most 512. Threads are started as they are needed; fewer of them than
    /// `concurrent_keys` limit how many handlers run at once. Not used by async
    /// handlers.
    pub fn worker_threads(mut self, threads: usize) -> Self {
        self.worker_threads = Some(threads);
        self
    }

    /// Threads of the engine's own tokio runtime for async handlers: 1 to 512,
    /// default one for each core. Not used with a runtime of the caller's
    /// ([`AsyncBuilder::runtime`](crate::AsyncBuilder::runtime)) or by sync handlers.
    pub fn runtime_threads(mut self, threads: usize) -> Self {
        self.runtime_threads = Some(threads);
        self
    }

    /// What happens to records without a key; default: one after the other on
    /// each partition.
    pub fn keyless_order(mut self, order: KeylessOrder) -> Self {
        self.keyless = order;
        self
    }

    /// Time between commits: 100 ms to 60 s, default 1 s. What finished after
    /// the last commit runs again after a crash.
    pub fn auto_commit_interval(mut self, interval: Duration) -> Self {
        self.auto_commit_interval = interval;
        self
    }

    /// How long a stop or a revoke waits for running handlers: 0 to 10 min,
    /// default 20 s. Must be below `rebalance.timeout.ms`. Records of handlers
    /// that run longer are not committed and run again elsewhere.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// How long `run` waits for the first assignment before it ends with an
    /// error: 5 s to 5 min, default 50 s.
    pub fn await_assignments_timeout(mut self, timeout: Duration) -> Self {
        self.await_assignments_timeout = timeout;
        self
    }

    /// Records held at once over all partitions: 1 to 2,000,000,000, default
    /// 500,000. Fetching pauses at the bound.
    pub fn max_held_records(mut self, records: u64) -> Self {
        self.max_held_records = records;
        self
    }

    /// Bytes of records held at once over all partitions (keys, values, headers
    /// and 40 bytes each): 1 to 2^40, default 64 MiB. One round of fetched records
    /// (`max.partition.fetch.bytes` per partition) may come on top, and the
    /// client buffers up to `fetch.max.bytes` per broker ahead of this.
    pub fn max_held_bytes(mut self, bytes: u64) -> Self {
        self.max_held_bytes = bytes;
        self
    }

    /// Records of one partition held at once; default its share of
    /// `max_held_records`, at least 1,000. A partition at its bound is paused,
    /// the others flow.
    pub fn max_held_records_per_partition(mut self, records: u64) -> Self {
        self.partition_records = Some(records);
        self
    }

    /// Bytes of one partition held at once; default its share of
    /// `max_held_bytes`, at least 1 MiB.
    pub fn max_held_bytes_per_partition(mut self, bytes: u64) -> Self {
        self.partition_bytes = Some(bytes);
        self
    }

    /// How many records a partition may run ahead of its oldest unfinished one:
    /// 64 to 2^30, default 2^24. Costs one bit of memory a record.
    pub fn max_run_ahead(mut self, records: u64) -> Self {
        self.max_run_ahead = records;
        self
    }

    /// Whether finished records above the committed offset are noted in the
    /// commit's metadata, so that they do not run again after a crash; default
    /// yes. Turn it off where another tool owns the metadata.
    pub fn commit_metadata(mut self, on: bool) -> Self {
        self.commit_metadata = on;
        self
    }

    /// Soft limit for the memory of the Go runtime in bytes, which does not see
    /// container limits by itself: 32 MiB to 2^44, default none. It covers the
    /// Kafka client; records held are counted by `max_held_bytes`.
    pub fn go_memory_limit(mut self, bytes: u64) -> Self {
        self.go_memory_limit = Some(bytes);
        self
    }

    pub(crate) fn threads(&self) -> usize {
        self.worker_threads.unwrap_or(self.concurrent_keys.min(DEFAULT_THREADS_MAX))
    }

    pub(crate) fn check(&self) -> Result<(), LlingrError> {
        let ms = |d: Duration| d.as_millis() as u64;
        let opt = |v: Option<usize>, default: u64| v.map_or(default, |v| v as u64);
        let ranges = [
            ("concurrent_keys", self.concurrent_keys as u64, 1, 100_000, ""),
            ("worker_threads", opt(self.worker_threads, 1), 1, 10_000, ""),
            ("runtime_threads", opt(self.runtime_threads, 1), 1, 512, ""),
            ("auto_commit_interval", ms(self.auto_commit_interval), 100, 60_000, " ms"),
            ("drain_timeout", ms(self.drain_timeout), 0, 600_000, " ms"),
            (
                "await_assignments_timeout",
                ms(self.await_assignments_timeout),
                5_000,
                300_000,
                " ms",
            ),
            ("max_held_records", self.max_held_records, 1, 2_000_000_000, ""),
            ("max_held_bytes", self.max_held_bytes, 1, 1 << 40, " bytes"),
            (
                "max_held_records_per_partition",
                self.partition_records.unwrap_or(1),
                1,
                2_000_000_000,
                "",
            ),
            (
                "max_held_bytes_per_partition",
                self.partition_bytes.unwrap_or(1),
                1,
                1 << 40,
                " bytes",
            ),
            ("max_run_ahead", self.max_run_ahead, 64, 1 << 30, ""),
            (
                "go_memory_limit",
                self.go_memory_limit.unwrap_or(1 << 30),
                32 << 20,
                1 << 44,
                " bytes",
            ),
        ];
        for (name, value, min, max, unit) in ranges {
            if value < min || value > max {
                return Err(LlingrError::new(
                    ErrorKind::Options,
                    format!(
                        "DemuxConfig::{name} is {value}{unit}; it must be between {min} and {max}{unit}"
                    ),
                ));
            }
        }
        for (name, part, whole) in [
            ("max_held_records_per_partition", self.partition_records, self.max_held_records),
            ("max_held_bytes_per_partition", self.partition_bytes, self.max_held_bytes),
        ] {
            if let Some(part) = part
                && part > whole
            {
                return Err(LlingrError::new(
                    ErrorKind::Options,
                    format!(
                        "DemuxConfig::{name} is {part}, above the {whole} for all partitions together"
                    ),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        DemuxConfig::default().check().unwrap();
    }

    #[test]
    fn each_value_out_of_its_range_is_named() {
        let d = DemuxConfig::default;
        let ms = Duration::from_millis;
        let cases = [
            ("concurrent_keys", d().concurrent_keys(0)),
            ("concurrent_keys", d().concurrent_keys(100_001)),
            ("worker_threads", d().worker_threads(0)),
            ("worker_threads", d().worker_threads(10_001)),
            ("runtime_threads", d().runtime_threads(0)),
            ("runtime_threads", d().runtime_threads(513)),
            ("auto_commit_interval", d().auto_commit_interval(ms(99))),
            ("auto_commit_interval", d().auto_commit_interval(ms(60_001))),
            ("drain_timeout", d().drain_timeout(ms(600_001))),
            ("await_assignments_timeout", d().await_assignments_timeout(ms(4_999))),
            ("await_assignments_timeout", d().await_assignments_timeout(ms(300_001))),
            ("max_held_records", d().max_held_records(0)),
            ("max_held_bytes", d().max_held_bytes(0)),
            ("max_held_records_per_partition", d().max_held_records_per_partition(0)),
            ("max_held_records_per_partition", d().max_held_records_per_partition(500_001)),
            ("max_held_bytes_per_partition", d().max_held_bytes_per_partition(0)),
            ("max_held_bytes_per_partition", d().max_held_bytes_per_partition(65 << 20)),
            ("max_run_ahead", d().max_run_ahead(63)),
            ("go_memory_limit", d().go_memory_limit(1 << 20)),
        ];
        for (name, config) in cases {
            let error = config.check().expect_err(name);
            assert!(error.text().contains(name), "{name}: {error}");
        }
    }
}
