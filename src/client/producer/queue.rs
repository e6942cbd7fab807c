//! One partition's batches and sequence numbers. No I/O.
//!
//! # Rules
//! 1. A batch gets its sequence when it is first taken; the numbers of a partition have no gaps
//!    and no repetitions within one producer id and epoch.
//! 2. At most [`MAX_ON_WIRE`] batches are on the wire; brokers remember that many. Before the
//!    first acknowledgement of a producer id it is one: a broker takes any sequence from an id it
//!    does not know, so with two of them, the first refused for a moment and the second written,
//!    the first could never be written any more.
//! 3. A batch that comes back to be repeated goes in front, by its age, and is taken only when no
//!    older one is on the wire: then its predecessor's fate is known.
//! 4. Once a batch with a sequence is given up, its successors would leave a gap. No batch is
//!    taken until all on the wire came back; then the producer's epoch is raised (KIP-360) and
//!    what is left is numbered anew from 0.
//! 5. A batch that was too large for its topic comes back as two with its numbers, each of which
//!    stands for its own part of them: no gap.
//! 6. A new identity of the producer is adopted only when nothing numbered under the old one is
//!    outstanding.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::batch::{Batch, Identity, Stamp, advance};
use crate::client::backoff::{Backoff, BackoffPolicy};
use crate::client::error::Error;

/// Batches of a partition that brokers tell apart from repetitions.
pub(super) const MAX_ON_WIRE: usize = 5;

pub(super) struct Queue {
    waiting: VecDeque<Batch>,
    on_wire: BTreeSet<u64>,
    identity: Option<Identity>,
    next_sequence: i32,
    /// Producer id that the partition's brokers know, by an acknowledgement.
    known_as: Option<i64>,
    /// Rule 4 is in force.
    gap: bool,
    retry_at: Option<Instant>,
    backoff: Backoff,
}

/// Whether the first batch can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Now,
    /// Not before this.
    At(Instant),
    /// Not before something else happens.
    No,
}

/// When batches are due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) linger: Duration,
    pub(super) delivery_timeout: Duration,
    /// Batches up to this ordinal do not linger.
    pub(super) flush_through: u64,
    /// Senders wait for buffer space.
    pub(super) starved: bool,
}

impl Queue {
    pub(super) fn new(retry: BackoffPolicy) -> Self {
        Self {
            waiting: VecDeque::new(),
            on_wire: BTreeSet::new(),
            identity: None,
            next_sequence: 0,
            known_as: None,
            gap: false,
            retry_at: None,
            backoff: Backoff::new(retry),
        }
    }

    pub(super) fn last(&mut self) -> Option<&mut Batch> {
        self.waiting.back_mut()
    }

    pub(super) fn push(&mut self, batch: Batch) {
        self.waiting.push_back(batch);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.on_wire.is_empty()
    }

    pub(super) fn readiness(&self, due: &Due, now: Instant) -> Ready {
        let Some(first) = self.waiting.front() else { return Ready::No };
        let known = self.known_as.is_some() && self.known_as == self.identity.map(|own| own.id);
        let limit = if known { MAX_ON_WIRE } else { 1 };
        if self.gap || self.on_wire.len() >= limit {
            return Ready::No;
        }
        if let Some(at) = self.retry_at.filter(|at| *at > now) {
            return Ready::At(at);
        }
        if first.stamp.is_some() {
            // Rule 3.
            let oldest = self.on_wire.first().is_none_or(|oldest| first.ordinal < *oldest);
            return if oldest { Ready::Now } else { Ready::No };
        }
        let full = first.closed || self.waiting.len() > 1;
        if full || due.starved || first.ordinal <= due.flush_through {
            return Ready::Now;
        }
        let at = first.created + due.linger;
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// When the oldest waiting batch is given up.
    pub(super) fn expires_at(&self, due: &Due) -> Option<Instant> {
        self.waiting.iter().map(|batch| batch.created + due.delivery_timeout).min()
    }

    /// The first batch with its sequence; only after [`Ready::Now`].
    pub(super) fn take(&mut self, identity: Identity) -> Option<Batch> {
        let outstanding =
            !self.on_wire.is_empty() || self.waiting.front().is_some_and(|b| b.stamp.is_some());
        if self.identity != Some(identity) && !outstanding {
            self.identity = Some(identity);
            self.next_sequence = 0;
        }
        let mut batch = self.waiting.pop_front()?;
        batch.closed = true;
        if batch.stamp.is_none() {
            batch.stamp = Some(self.stamp(batch.records)?);
        }
        self.on_wire.insert(batch.ordinal);
        Some(batch)
    }

    fn stamp(&mut self, records: i32) -> Option<Stamp> {
        let base_sequence = self.next_sequence;
        self.next_sequence = advance(base_sequence, records);
        Some(Stamp { identity: self.identity?, base_sequence })
    }

    /// Whether no batch older than this one is outstanding: its predecessor was acknowledged.
    pub(super) fn is_next(&self, batch: &Batch) -> bool {
        let older = |ordinal: u64| ordinal < batch.ordinal;
        let waiting = self.waiting.iter().any(|b| b.stamp.is_some() && older(b.ordinal));
        !waiting && !self.on_wire.iter().any(|ordinal| older(*ordinal))
    }

    /// A batch was acknowledged.
    pub(super) fn acknowledged(&mut self, batch: &Batch) {
        self.on_wire.remove(&batch.ordinal);
        self.known_as = batch.stamp.map(|stamp| stamp.identity.id);
        self.backoff.reset();
        self.retry_at = None;
    }

    /// A batch comes back to be repeated after a pause.
    pub(super) fn requeue(&mut self, batch: Batch, now: Instant) {
        self.on_wire.remove(&batch.ordinal);
        self.retry_at = Some(now + self.backoff.next_delay());
        let at = self.waiting.partition_point(|other| other.ordinal < batch.ordinal);
        self.waiting.insert(at, batch);
    }

    /// A batch that no broker has written comes back as two, which keep its numbers.
    pub(super) fn split(&mut self, left: Batch, right: Batch) {
        self.on_wire.remove(&left.ordinal);
        let at = self.waiting.partition_point(|other| other.ordinal < left.ordinal);
        self.waiting.insert(at, right);
        self.waiting.insert(at, left);
    }

    /// A batch that was numbered is given up: rule 4.
    pub(super) fn given_up(&mut self, ordinal: u64) {
        self.on_wire.remove(&ordinal);
        self.gap = true;
    }

    /// Whether all came back that rule 4 waits for.
    pub(super) fn wants_new_epoch(&self) -> bool {
        self.gap && self.on_wire.is_empty()
    }

    /// Numbers what is left anew: the end of rule 4.
    pub(super) fn renumber(&mut self, identity: Identity) {
        self.gap = false;
        self.identity = Some(identity);
        self.next_sequence = 0;
        let mut next = 0;
        for batch in self.waiting.iter_mut().filter(|batch| batch.stamp.is_some()) {
            batch.stamp = Some(Stamp { identity, base_sequence: next });
            next = advance(next, batch.records);
        }
        self.next_sequence = next;
    }

    /// Takes out the batches that waited too long.
    pub(super) fn expired(&mut self, due: &Due, now: Instant) -> Vec<Batch> {
        let limit = due.delivery_timeout;
        if self.waiting.iter().all(|batch| batch.created + limit > now) {
            return Vec::new();
        }
        let all = std::mem::take(&mut self.waiting);
        let mut gone = Vec::new();
        for batch in all {
            if batch.created + limit <= now {
                gone.push(batch)
            } else {
                self.waiting.push_back(batch)
            }
        }
        self.gap |= gone.iter().any(|batch| batch.stamp.is_some());
        gone
    }

    /// Takes out everything that waits, for an abort or a fatal error.
    pub(super) fn drain(&mut self) -> VecDeque<Batch> {
        self.gap |= self.waiting.iter().any(|batch| batch.stamp.is_some());
        std::mem::take(&mut self.waiting)
    }

    /// After a transaction ended with a new epoch: the gap is in the past.
    pub(super) fn settle(&mut self) {
        if self.is_idle() {
            self.gap = false;
            self.identity = None;
        }
    }
}

/// The error of a batch that waited too long.
pub(super) fn expired_error(batch: &Batch, limit: Duration) -> Error {
    Error::timeout(
        format!(
            "delivery of {} record(s) to {} (delivery.timeout.ms)",
            batch.records, batch.partition
        ),
        limit,
    )
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
