//! What a consumer counts, and how it appears in the metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::AckType;
use super::error::AckResult;
use super::state::Shared;
use crate::metrics::SampleSource;
use crate::metrics::render::{Definition, Kind, Samples, Value};

#[derive(Debug, Default)]
pub(super) struct Stats {
    fetches: AtomicU64,
    fetch_errors: AtomicU64,
    fetched_bytes: AtomicU64,
    fetched: AtomicU64,
    delivered: AtomicU64,
    expired: AtomicU64,
    corrupt: AtomicU64,
    accepted: AtomicU64,
    released: AtomicU64,
    rejected: AtomicU64,
    renewed: AtomicU64,
    gaps: AtomicU64,
    ack_failures: AtomicU64,
    heartbeats: AtomicU64,
    assignments: AtomicU64,
    /// Milliseconds since 1970 of the last acknowledgement that a broker took; 0 before the first.
    progress_ms: AtomicU64,
}

impl Stats {
    pub(super) fn fetched(&self, records: u64, bytes: u64) {
        self.fetches.fetch_add(1, Relaxed);
        self.fetched.fetch_add(records, Relaxed);
        self.fetched_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn fetch_failed(&self) {
        self.fetch_errors.fetch_add(1, Relaxed);
    }

    pub(super) fn delivered(&self, records: u64) {
        self.delivered.fetch_add(records, Relaxed);
    }

    pub(super) fn expired(&self, records: u64) {
        self.expired.fetch_add(records, Relaxed);
    }

    pub(super) fn corrupt(&self, records: u64) {
        self.corrupt.fetch_add(records, Relaxed);
    }

    pub(super) fn heartbeat(&self) {
        self.heartbeats.fetch_add(1, Relaxed);
    }

    pub(super) fn assigned(&self) {
        self.assignments.fetch_add(1, Relaxed);
    }

    /// When a record was settled last.
    pub(super) fn last_progress(&self) -> Option<SystemTime> {
        match self.progress_ms.load(Relaxed) {
            0 => None,
            millis => Some(UNIX_EPOCH + Duration::from_millis(millis)),
        }
    }

    pub(super) fn acknowledged(&self, result: &AckResult) {
        // A renewal or a gap finishes no record.
        if result.result.is_ok() && !matches!(result.ack, None | Some(AckType::Renew)) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
            self.progress_ms.store(millis, Relaxed);
        }
        let count = result.last_offset.abs_diff(result.first_offset).saturating_add(1);
        let counter = match (&result.result, result.ack) {
            (Err(_), _) => &self.ack_failures,
            (Ok(()), Some(AckType::Accept)) => &self.accepted,
            (Ok(()), Some(AckType::Release)) => &self.released,
            (Ok(()), Some(AckType::Reject)) => &self.rejected,
            (Ok(()), Some(AckType::Renew)) => &self.renewed,
            (Ok(()), None) => &self.gaps,
        };
        counter.fetch_add(count, Relaxed);
    }
}

const GROUP: &[&str] = &["consumer_group"];
const ACK: &[&str] = &["consumer_group", "type"];

macro_rules! families {
    ($($id:ident: $name:literal, $kind:expr, $labels:ident, $help:literal;)+) => {
        $(static $id: Definition =
            Definition { name: $name, help: $help, kind: $kind, labels: $labels };)+

        /// All families, for the documentation.
        #[cfg(test)]
        pub(crate) static DEFINITIONS: &[&Definition] = &[$(&$id),+];
    };
}

families! {
    FETCHES: "llingr_share_fetches", Kind::Counter, GROUP,
        "Fetches that were answered.";
    FETCH_ERRORS: "llingr_share_fetch_errors", Kind::Counter, GROUP,
        "Fetches and acknowledgement requests that failed as a whole.";
    FETCHED_BYTES: "llingr_share_fetched_bytes", Kind::Counter, GROUP,
        "Bytes of record batches received.";
    FETCHED: "llingr_share_fetched", Kind::Counter, GROUP,
        "Records acquired.";
    DELIVERED: "llingr_share_delivered", Kind::Counter, GROUP,
        "Records returned by polls.";
    EXPIRED: "llingr_share_expired", Kind::Counter, GROUP,
        "Records whose lock ended before a poll took them or before they were acknowledged.";
    CORRUPT: "llingr_share_corrupt", Kind::Counter, GROUP,
        "Records that could not be read.";
    ACKNOWLEDGED: "llingr_share_acknowledged", Kind::Counter, ACK,
        "Acknowledged offsets that the broker took, by type.";
    ACK_FAILURES: "llingr_share_acknowledge_failures", Kind::Counter, GROUP,
        "Acknowledged offsets that were not taken; their records are handed out again.";
    HEARTBEATS: "llingr_share_heartbeats", Kind::Counter, GROUP,
        "Heartbeats that were answered.";
    ASSIGNMENTS: "llingr_share_assignments", Kind::Counter, GROUP,
        "Assignments received.";
    HELD: "llingr_share_held_records", Kind::Gauge, GROUP,
        "Offsets locked for this consumer and not acknowledged.";
    BUFFERED: "llingr_share_buffered_records", Kind::Gauge, GROUP,
        "Records that wait for a poll.";
    UNSETTLED: "llingr_share_unsettled_acknowledgements", Kind::Gauge, GROUP,
        "Offsets acknowledged and not yet confirmed by a broker.";
    ASSIGNED: "llingr_share_assigned_partitions", Kind::Gauge, GROUP,
        "Partitions assigned now.";
    OLDEST_HELD: "llingr_share_oldest_held_seconds", Kind::Gauge, GROUP,
        "Age of the record that the program has had for longest without settling it, in seconds; 0 \
         when it has none.";
    SINCE_POLL: "llingr_share_last_poll_age_seconds", Kind::Gauge, GROUP,
        "Time since the last poll in seconds; 0 while one waits.";
    CONNECTIONS_OPENED: "llingr_client_connections_opened", Kind::Counter, GROUP,
        "Connections to brokers that were opened and logged in.";
    CONNECTION_FAILURES: "llingr_client_connection_failures", Kind::Counter, GROUP,
        "Attempts to connect or to log in that failed.";
    CONNECTIONS: "llingr_client_connections", Kind::Gauge, GROUP,
        "Connections to brokers that are open now.";
}

/// Reads a consumer at each scrape; nothing once it is gone.
pub(super) struct Source(pub(super) Weak<Shared>);

impl SampleSource for Source {
    fn collect(&self, samples: &mut Samples) {
        let Some(shared) = self.0.upgrade() else { return };
        let stats = &shared.stats;
        let group = [shared.settings.group.clone()];
        for (definition, counter) in [
            (&FETCHES, &stats.fetches),
            (&FETCH_ERRORS, &stats.fetch_errors),
            (&FETCHED_BYTES, &stats.fetched_bytes),
            (&FETCHED, &stats.fetched),
            (&DELIVERED, &stats.delivered),
            (&EXPIRED, &stats.expired),
            (&CORRUPT, &stats.corrupt),
            (&ACK_FAILURES, &stats.ack_failures),
            (&HEARTBEATS, &stats.heartbeats),
            (&ASSIGNMENTS, &stats.assignments),
        ] {
            samples.add(definition, &group, Value::Counter(counter.load(Relaxed)));
        }
        for (kind, counter) in [
            ("accept", &stats.accepted),
            ("release", &stats.released),
            ("reject", &stats.rejected),
            ("renew", &stats.renewed),
            ("gap", &stats.gaps),
        ] {
            let labels = [group[0].clone(), Arc::from(kind)];
            samples.add(&ACKNOWLEDGED, &labels, Value::Counter(counter.load(Relaxed)));
        }
        let now = Instant::now();
        let (held, buffered, unsettled, assigned, oldest, since_poll) = {
            let state = shared.lock();
            let assigned: usize =
                state.assignment.iter().flat_map(|a| a.values()).map(|set| set.len()).sum();
            let since_poll = if state.polling > 0 { now } else { state.last_poll };
            let oldest = state.oldest_held().map_or(now, |(_, _, since)| since);
            let buffered = state.ready_records as u64;
            (state.held(), buffered, state.unsettled(), assigned as u64, oldest, since_poll)
        };
        let connections = shared.client.connections();
        let open = connections.open;
        for (definition, value) in [
            (&HELD, held),
            (&BUFFERED, buffered),
            (&UNSETTLED, unsettled),
            (&ASSIGNED, assigned),
            (&CONNECTIONS, open),
        ] {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            samples.add(definition, &group, Value::Whole(value));
        }
        for (definition, since) in [(&OLDEST_HELD, oldest), (&SINCE_POLL, since_poll)] {
            let age = now.saturating_duration_since(since).as_secs_f64();
            samples.add(definition, &group, Value::Gauge(age));
        }
        for (definition, count) in
            [(&CONNECTIONS_OPENED, connections.opened), (&CONNECTION_FAILURES, connections.failed)]
        {
            samples.add(definition, &group, Value::Counter(count));
        }
    }
}
