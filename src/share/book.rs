//! The acknowledgements of one partition at one broker over one connection. No I/O, no clock.
//!
//! # States of an offset
//! ```text
//! acquired -> buffered -> delivered -> queued -> in flight -> settled
//!                             ^  |                  |
//!                             +--+ renewed          +-> queued again (retriable, or bisected)
//! ```
//! 1. An offset is in at most one of `queued`, `retry` and `in_flight` with a final kind.
//! 2. A renewal leaves the offset held, so it stays open to a final kind; a final kind replaces a
//!    renewal that was not sent yet, never the other way round.
//! 3. What leaves this book without being settled comes out as a failed entry, exactly once.
//! 4. A new connection starts with new books: the broker gave the old locks away.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::runs::{Run, Runs};
use crate::wire::messages::share_fetch::AcknowledgementBatch;

/// What becomes of a record. The numbers are those of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Acquired, but there is no record: a control record, or compacted away.
    Gap = 0,
    Accept = 1,
    Release = 2,
    Reject = 3,
    Renew = 4,
}

/// Acknowledged offsets with what was said about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) kind: Kind,
    /// Commit that has to wait for it: see [`super::state`].
    pub(super) ticket: u64,
    /// When its locks may have ended; trying on after that is in vain.
    pub(super) until: Instant,
}

/// Entries that travel in one request and succeed or fail together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waits for a poll.
    Buffered,
    /// The program has it and said nothing yet.
    Delivered,
    /// The program has it and asked for more time.
    Renewed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    stage: Stage,
    /// When it was asked for.
    since: Instant,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Queued {
    kind: Kind,
    ticket: u64,
    until: Instant,
}

/// How a broker judged a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Settled; renewed locks now end at this time.
    Done(Instant),
    /// The state was not changed, and another attempt may succeed.
    Again,
    /// At least one entry is not acknowledgeable; the others may be (`INVALID_RECORD_STATE`).
    Invalid,
    /// None of it will ever succeed.
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Book {
    held: Runs<Held>,
    queued: Runs<Queued>,
    retry: VecDeque<Group>,
    in_flight: Option<Group>,
}

impl Book {
    /// The broker gave us these offsets. An acknowledgement still queued for one of them belongs
    /// to an acquisition that has expired: it comes back as lost.
    pub(super) fn acquire(
        &mut self,
        first: i64,
        last: i64,
        since: Instant,
        until: Instant,
    ) -> Vec<Entry> {
        let mut lost = Vec::new();
        self.queued.take(first, last, |_| true, |run| lost.push(entry(&run)));
        self.held.put(first, last, Held { stage: Stage::Buffered, since, until });
        lost
    }

    /// Acquired offsets that hold no record are answered without the program.
    pub(super) fn gap(&mut self, first: i64, last: i64, ticket: u64, until: Instant) {
        self.settle_unheld(first, last, Kind::Gap, ticket, until);
    }

    /// Acquired offsets whose fate is decided before a program sees them.
    pub(super) fn settle_unheld(
        &mut self,
        first: i64,
        last: i64,
        kind: Kind,
        ticket: u64,
        until: Instant,
    ) {
        self.held.take(first, last, |_| true, |_| {});
        self.queued.put(first, last, Queued { kind, ticket, until });
    }

    /// A poll handed these out.
    pub(super) fn deliver(&mut self, first: i64, last: i64) {
        self.restage(first, last, Stage::Buffered, Stage::Delivered);
    }

    fn restage(&mut self, first: i64, last: i64, from: Stage, to: Stage) {
        let held: Vec<_> =
            self.held.within(first, last).filter(|run| run.value.stage == from).collect();
        for run in held {
            self.held.put(run.first, run.last, Held { stage: to, ..run.value });
        }
    }

    /// Queues what the program says about records it has. Returns how many offsets that are, and
    /// the earliest end of their locks; none if it has none of them.
    pub(super) fn acknowledge(&mut self, first: i64, last: i64, kind: Kind, ticket: u64) -> u64 {
        let has = |held: Held| held.stage != Stage::Buffered;
        let mut count = 0u64;
        if kind == Kind::Renew {
            let held: Vec<_> = self.held.within(first, last).filter(|r| has(r.value)).collect();
            for run in held {
                count += run.len();
                let until = run.value.until;
                self.held.put(run.first, run.last, Held { stage: Stage::Renewed, ..run.value });
                self.queued.put(run.first, run.last, Queued { kind, ticket, until });
            }
            return count;
        }
        let queued = &mut self.queued;
        self.held.take(first, last, has, |run| {
            count += run.len();
            queued.put(run.first, run.last, Queued { kind, ticket, until: run.value.until });
        });
        // The program changed its mind before anything was sent.
        let changed: Vec<_> = self
            .queued
            .within(first, last)
            .filter(|run| !matches!(run.value.kind, Kind::Gap | Kind::Renew))
            .filter(|run| run.value.kind != kind)
            .collect();
        for run in changed {
            count += run.len();
            self.queued.put(run.first, run.last, Queued { kind, ..run.value });
        }
        count
    }

    /// Acknowledges everything the program has and said nothing about. Renewed records are its
    /// business still.
    pub(super) fn acknowledge_delivered(&mut self, kind: Kind, ticket: u64) -> u64 {
        self.acknowledge_stages(&[Stage::Delivered], kind, ticket)
    }

    /// Acknowledges whatever is held, on the way out.
    pub(super) fn acknowledge_all(&mut self, kind: Kind, ticket: u64) -> u64 {
        let renewals: Vec<_> =
            self.queued.iter().filter(|run| run.value.kind == Kind::Renew).copied().collect();
        for run in renewals {
            self.queued.take(run.first, run.last, |_| true, |_| {});
        }
        self.acknowledge_stages(&[Stage::Buffered, Stage::Delivered, Stage::Renewed], kind, ticket)
    }

    /// Gives back what no poll has taken yet.
    pub(super) fn release_buffered(&mut self, ticket: u64) -> u64 {
        self.acknowledge_stages(&[Stage::Buffered], Kind::Release, ticket)
    }

    fn acknowledge_stages(&mut self, stages: &[Stage], kind: Kind, ticket: u64) -> u64 {
        let mut count = 0u64;
        let queued = &mut self.queued;
        let wanted = |held: Held| stages.contains(&held.stage);
        self.held.take(i64::MIN, i64::MAX, wanted, |run| {
            count += run.len();
            queued.put(run.first, run.last, Queued { kind, ticket, until: run.value.until });
        });
        count
    }

    /// Forgets held offsets whose lock has ended before a poll took them. The broker gives them to
    /// somebody else by itself.
    pub(super) fn expire_buffered(&mut self, now: Instant) -> u64 {
        let mut count = 0;
        let expired = |held: Held| held.stage == Stage::Buffered && held.until <= now;
        self.held.take(i64::MIN, i64::MAX, expired, |run| count += run.len());
        count
    }

    /// Drops delivered records whose lock ended so long ago that no answer can be meant for this
    /// acquisition; bounds the memory of a program that never acknowledges.
    pub(super) fn forget_stale(&mut self, before: Instant) -> u64 {
        let mut count = 0;
        self.held.take(i64::MIN, i64::MAX, |held| held.until <= before, |run| count += run.len());
        count
    }

    /// Runs with the program whose lock ends after `now` but before `limit`, and which were asked
    /// for after `since`: those to renew.
    pub(super) fn ending(&self, now: Instant, limit: Instant, since: Instant) -> Vec<(i64, i64)> {
        self.held
            .iter()
            .filter(|run| run.value.stage != Stage::Buffered)
            .filter(|run| (now..=limit).contains(&run.value.until) && run.value.since >= since)
            .map(|run| (run.first, run.last))
            .collect()
    }

    /// When the lock of a record that the program has may end.
    pub(super) fn lock_until(&self, offset: i64) -> Option<Instant> {
        self.held.get(offset).filter(|held| held.stage != Stage::Buffered).map(|held| held.until)
    }

    /// First offset, and number, of records the program has said nothing about.
    pub(super) fn unacknowledged(&self) -> Option<(i64, u64)> {
        let mut open = self.held.iter().filter(|run| run.value.stage == Stage::Delivered);
        let first = open.next()?;
        Some((first.first, open.fold(first.len(), |sum, run| sum + run.len())))
    }

    /// The record that the program has had for longest, by when it was asked for.
    pub(super) fn oldest(&self) -> Option<(i64, Instant)> {
        let held = self.held.iter().filter(|run| run.value.stage != Stage::Buffered);
        held.map(|run| (run.first, run.value.since)).min_by_key(|(_, since)| *since)
    }

    /// Takes the next group to send, which stays in flight until [`Book::complete`]. Final kinds
    /// and renewals never share a group, so that a refused renewal fails no acceptance.
    pub(super) fn take_group(&mut self, renewals: bool) -> Option<&Group> {
        if self.in_flight.is_some() {
            return None;
        }
        let is_renewal = |group: &Group| group.entries.iter().any(|e| e.kind == Kind::Renew);
        let group = match self.retry.iter().position(|group| is_renewal(group) == renewals) {
            Some(at) => self.retry.remove(at)?,
            None => {
                let mut entries = Vec::new();
                let wanted = |queued: Queued| (queued.kind == Kind::Renew) == renewals;
                self.queued.take(i64::MIN, i64::MAX, wanted, |run| entries.push(entry(&run)));
                Group { entries }
            }
        };
        if group.entries.is_empty() {
            return None;
        }
        Some(self.in_flight.insert(group))
    }

    /// The broker's verdict on the group in flight. Returns what is settled by it: `true` for
    /// success. The rest is sent again.
    pub(super) fn complete(&mut self, verdict: Verdict, now: Instant) -> Vec<(Entry, bool)> {
        let Some(group) = self.in_flight.take() else { return Vec::new() };
        match verdict {
            Verdict::Done(until) => {
                for entry in group.entries.iter().filter(|entry| entry.kind == Kind::Renew) {
                    let held: Vec<_> = self.held.within(entry.first, entry.last).collect();
                    for run in held.iter().filter(|run| run.value.stage != Stage::Buffered) {
                        self.held.put(run.first, run.last, Held { until, ..run.value });
                    }
                }
                group.entries.into_iter().map(|entry| (entry, true)).collect()
            }
            Verdict::Again if group.entries.iter().any(|entry| now < entry.until) => {
                self.retry.push_front(group);
                Vec::new()
            }
            Verdict::Invalid if group.entries.iter().any(|entry| now < entry.until) => {
                match divide(group, now) {
                    Ok((left, right)) => {
                        self.retry.push_front(right);
                        self.retry.push_front(left);
                        Vec::new()
                    }
                    Err(single) => failed(single),
                }
            }
            Verdict::Again | Verdict::Invalid | Verdict::Failed => failed(group),
        }
    }

    /// Puts the group in flight back as if it had not been sent: the broker did not look at it.
    pub(super) fn unsend(&mut self) {
        if let Some(group) = self.in_flight.take() {
            self.retry.push_front(group);
        }
    }

    /// Empties the book; what was acknowledged and not settled comes back as lost.
    pub(super) fn abandon(&mut self) -> Vec<Entry> {
        self.held.drain();
        let waiting = self.in_flight.take().into_iter().chain(self.retry.drain(..));
        let mut lost: Vec<Entry> = waiting.flat_map(|group| group.entries).collect();
        lost.extend(self.queued.drain().iter().map(entry));
        lost
    }

    /// Whether there is something to send, of this sort.
    pub(super) fn has_pending(&self, renewals: bool) -> bool {
        self.in_flight.is_none()
            && (self.queued.iter().any(|run| (run.value.kind == Kind::Renew) == renewals)
                || self.retry.iter().any(|group| {
                    group.entries.iter().any(|entry| (entry.kind == Kind::Renew) == renewals)
                }))
    }

    /// Whether renewals are queued or on their way.
    pub(super) fn renews(&self) -> bool {
        let is_renewal = |group: &Group| group.entries.iter().any(|e| e.kind == Kind::Renew);
        self.has_pending(true) || self.in_flight.as_ref().is_some_and(is_renewal)
    }

    /// Whether an acknowledgement with at most this ticket is not settled yet.
    pub(super) fn awaits(&self, ticket: u64) -> bool {
        let groups = self.in_flight.iter().chain(&self.retry);
        self.queued.iter().any(|run| run.value.ticket <= ticket)
            || groups.flat_map(|group| &group.entries).any(|entry| entry.ticket <= ticket)
    }

    /// Offsets queued or in flight.
    pub(super) fn unsettled(&self) -> u64 {
        let groups = self.in_flight.iter().chain(&self.retry);
        let sent: u64 = groups.flat_map(|group| &group.entries).map(Entry::len).sum();
        self.queued.offsets().saturating_add(sent)
    }

    /// Offsets the broker has locked for us and nothing was said about.
    pub(super) fn held(&self) -> u64 {
        self.held.offsets()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
            && self.queued.is_empty()
            && self.retry.is_empty()
            && self.in_flight.is_none()
    }
}

impl Entry {
    /// Number of offsets.
    pub(super) fn len(&self) -> u64 {
        self.last.abs_diff(self.first).saturating_add(1)
    }
}

fn entry(run: &Run<Queued>) -> Entry {
    let Queued { kind, ticket, until } = run.value;
    Entry { first: run.first, last: run.last, kind, ticket, until }
}

fn failed(group: Group) -> Vec<(Entry, bool)> {
    group.entries.into_iter().map(|entry| (entry, false)).collect()
}

/// Two groups, one of which is more likely to be taken. Locks that may have ended are the first
/// suspects; they get one more request together, as the broker's clock may see it otherwise.
fn divide(group: Group, now: Instant) -> Result<(Group, Group), Group> {
    let (good, ended): (Vec<_>, Vec<_>) =
        group.entries.into_iter().partition(|entry| now < entry.until);
    if ended.is_empty() || good.is_empty() {
        return halves(Group { entries: [good, ended].concat() });
    }
    Ok((Group { entries: good }, Group { entries: ended }))
}

/// Two groups of about the same number of offsets. A single offset cannot be divided, and
/// renewals are not: where the group forbids them, each one would be refused in turn.
fn halves(group: Group) -> Result<(Group, Group), Group> {
    let total: u64 = group.entries.iter().map(Entry::len).fold(0, u64::saturating_add);
    if total < 2 || group.entries.iter().any(|entry| entry.kind == Kind::Renew) {
        return Err(group);
    }
    let mut room = total / 2;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for entry in group.entries {
        if room >= entry.len() {
            room -= entry.len();
            left.push(entry);
        } else if room == 0 {
            right.push(entry);
        } else {
            let cut = entry.first + i64::try_from(room).unwrap_or(i64::MAX) - 1;
            left.push(Entry { last: cut, ..entry });
            right.push(Entry { first: cut + 1, ..entry });
            room = 0;
        }
    }
    Ok((Group { entries: left }, Group { entries: right }))
}

/// Entries in the form of the protocol: sorted, not overlapping, one kind for each batch, adjacent
/// ones merged whatever commit they belong to.
pub(super) fn batches(group: &Group) -> Vec<AcknowledgementBatch> {
    let mut runs: Runs<Kind> = Runs::default();
    for entry in &group.entries {
        runs.put(entry.first, entry.last, entry.kind);
    }
    runs.iter()
        .map(|run| AcknowledgementBatch {
            first_offset: run.first,
            last_offset: run.last,
            acknowledge_types: vec![run.value as i8],
        })
        .collect()
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
