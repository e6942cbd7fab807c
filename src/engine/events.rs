//! What the host reports to the engine: ended records, dead letters to
//! produce, and the one fatal event.
//!
//! Executors write into shards of their own, so that reporting a record is an
//! uncontended lock and usually just the growth of the newest range. A shard
//! that gets its first range announces itself in `dirty`; the engine's pump
//! looks at that list every few milliseconds and empties those shards. (An
//! engine may also wait here for events; ours does not, see `pumpEvents`.)
//! Because a range is visible as soon as its record ended, a handler that
//! blocks never hides what its thread finished before.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::block::POISON;
use super::stats::Tally;
use super::work::Running;

/// Consecutive ended records of one assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) assignment: u32,
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// A dead letter on its way to the engine.
pub(crate) struct Letter {
    pub(crate) token: u64,
    pub(crate) topic: u32,
    pub(crate) record: Vec<u8>,
}

/// One event as it is handed out.
pub(crate) enum Event {
    Ended(Ended),
    Letter(Letter),
    Fatal(String),
}

/// What one executor shares with the pump, the metrics and `health`.
#[derive(Default)]
pub(crate) struct Shard {
    ended: Vec<Ended>,
    /// The record this executor is working on.
    pub(crate) running: Option<Running>,
    pub(crate) tally: Tally,
}

impl Shard {
    /// Adds one ended record; true when the shard was empty before.
    pub(crate) fn push(&mut self, assignment: u32, seq: u64, bytes: u64) -> bool {
        if let Some(last) = self.ended.last_mut()
            && last.assignment == assignment
            && last.first + last.count == seq
        {
            last.count += 1;
            last.bytes += bytes;
            return false;
        }
        self.ended.push(Ended { assignment, first: seq, count: 1, bytes });
        self.ended.len() == 1
    }
}

#[repr(align(128))]
struct Padded(Mutex<Shard>);

#[derive(Default)]
struct Pending {
    dirty: Vec<usize>,
    letters: VecDeque<Letter>,
    fatal: Option<String>,
    /// Set by `wake`: the pump returns even without an event.
    woken: bool,
    waiting: bool,
}

impl Pending {
    fn any(&self) -> bool {
        !self.dirty.is_empty() || !self.letters.is_empty() || self.fatal.is_some() || self.woken
    }
}

/// How long a call that waits gathers before it empties the shards: short
/// against any commit interval, and long enough that its returns cost nothing.
const GATHER: Duration = Duration::from_millis(5);
const GATHER_URGENT: Duration = Duration::from_micros(500);

pub(crate) struct EventQueue {
    shards: Vec<Padded>,
    pending: Mutex<Pending>,
    arrived: Condvar,
}

impl EventQueue {
    pub(crate) fn new(shards: usize) -> EventQueue {
        EventQueue {
            shards: (0..shards.max(1)).map(|_| Padded(Mutex::default())).collect(),
            pending: Mutex::default(),
            arrived: Condvar::new(),
        }
    }

    /// The shard of executor `index`.
    pub(crate) fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.shards[index % self.shards.len()].0.lock().expect(POISON)
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(|s| s.0.lock().expect(POISON))
    }

    /// Tells the pump that shard `index` is no longer empty. Call after the
    /// shard's lock is released.
    pub(crate) fn announce(&self, index: usize) {
        self.add(|p| p.dirty.push(index % self.shards.len()));
    }

    pub(crate) fn letter(&self, letter: Letter) {
        self.add(|p| p.letters.push_back(letter));
    }

    /// The first fatal reason wins.
    pub(crate) fn fatal(&self, reason: String) {
        self.add(|p| {
            p.fatal.get_or_insert(reason);
        });
    }

    /// Makes a waiting pump look again.
    pub(crate) fn wake(&self) {
        self.add(|p| p.woken = true);
    }

    fn add(&self, f: impl FnOnce(&mut Pending)) {
        let mut pending = self.pending.lock().expect(POISON);
        f(&mut pending);
        if std::mem::take(&mut pending.waiting) {
            drop(pending);
            self.arrived.notify_one();
        }
    }

    /// Waits at most `wait` for events and moves up to `max` of them into `out`.
    pub(crate) fn collect(&self, out: &mut Vec<Event>, max: usize, wait: Duration, urgent: bool) {
        let deadline = Instant::now() + wait;
        let mut pending = self.pending.lock().expect(POISON);
        while !pending.any() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            pending.waiting = true;
            pending = self.arrived.wait_timeout(pending, left).expect(POISON).0;
        }
        pending.waiting = false;
        if !wait.is_zero() && pending.fatal.is_none() && !pending.woken {
            drop(pending);
            std::thread::sleep(if urgent { GATHER_URGENT } else { GATHER });
            pending = self.pending.lock().expect(POISON);
        }
        pending.woken = false;
        if let Some(reason) = pending.fatal.take() {
            out.push(Event::Fatal(reason));
        }
        while out.len() < max
            && let Some(letter) = pending.letters.pop_front()
        {
            out.push(Event::Letter(letter));
        }
        let dirty = std::mem::take(&mut pending.dirty);
        drop(pending);
        let mut left = dirty.into_iter();
        for index in left.by_ref() {
            let mut shard = self.shards[index].0.lock().expect(POISON);
            let room = max - out.len();
            let n = shard.ended.len().min(room);
            out.extend(shard.ended.drain(..n).map(Event::Ended));
            if !shard.ended.is_empty() {
                drop(shard);
                self.announce(index);
                break;
            }
        }
        for index in left {
            self.announce(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(q: &EventQueue, max: usize) -> Vec<Ended> {
        let mut out = Vec::new();
        q.collect(&mut out, max, Duration::ZERO, false);
        out.into_iter()
            .filter_map(|e| match e {
                Event::Ended(e) => Some(e),
                _ => None,
            })
            .collect()
    }

    fn push(q: &EventQueue, shard: usize, assignment: u32, seq: u64) {
        let first = q.shard(shard).push(assignment, seq, 10);
        if first {
            q.announce(shard);
        }
    }

    #[test]
    fn consecutive_records_of_one_assignment_become_one_range() {
        let q = EventQueue::new(2);
        for seq in 0..5 {
            push(&q, 0, 1, seq);
        }
        push(&q, 0, 2, 5);
        push(&q, 0, 2, 7);
        let got = drain(&q, 10);
        assert_eq!(
            got,
            [
                Ended { assignment: 1, first: 0, count: 5, bytes: 50 },
                Ended { assignment: 2, first: 5, count: 1, bytes: 10 },
                Ended { assignment: 2, first: 7, count: 1, bytes: 10 },
            ]
        );
        assert!(drain(&q, 10).is_empty());
    }

    #[test]
    fn what_does_not_fit_comes_with_the_next_call() {
        let q = EventQueue::new(3);
        for shard in 0..3 {
            for seq in 0..4 {
                push(&q, shard, 1, (shard * 100 + seq * 2) as u64);
            }
        }
        let mut seen = Vec::new();
        loop {
            let got = drain(&q, 5);
            if got.is_empty() {
                break;
            }
            assert!(got.len() <= 5);
            seen.extend(got.into_iter().map(|e| e.first));
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 2, 4, 6, 100, 102, 104, 106, 200, 202, 204, 206]);
    }

    #[test]
    fn a_waiting_pump_returns_when_something_arrives_or_it_is_woken() {
        for wake in [false, true] {
            let q = std::sync::Arc::new(EventQueue::new(1));
            let other = q.clone();
            let waiting = std::thread::spawn(move || {
                let mut out = Vec::new();
                other.collect(&mut out, 8, Duration::from_secs(60), false);
                out.len()
            });
            if wake {
                q.wake();
                assert_eq!(waiting.join().unwrap(), 0);
            } else {
                q.fatal("a reason".into());
                assert_eq!(waiting.join().unwrap(), 1);
            }
        }
    }

    #[test]
    fn the_first_fatal_reason_wins() {
        let q = EventQueue::new(1);
        q.fatal("first".into());
        q.fatal("second".into());
        let mut out = Vec::new();
        q.collect(&mut out, 8, Duration::ZERO, false);
        assert!(matches!(&out[..], [Event::Fatal(reason)] if reason == "first"));
    }
}
