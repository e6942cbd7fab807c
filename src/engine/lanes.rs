//! The lanes of one assignment: which keys have a record at work, and what
//! waits behind it.
//!
//! Nearly always a lane is entered, runs one record and is gone. So a lane at
//! work is one word in a table of cache lines: entering looks at one line,
//! leaving clears the word. Only a lane that somebody waits in, or whose line
//! is full, has an entry in the side tables under a lock.
//!
//! Who may do what:
//!
//! 1. Only the intake enters lanes, one thread at a time (`Assignment` holds a
//!    lock for it). So an empty word that the intake saw stays empty until the
//!    intake fills it.
//! 2. Whoever runs a lane's record leaves the lane, exactly once per record.
//!    Only it clears the lane's word.
//! 3. The word's lowest bit says that records wait. It is changed under the
//!    side lock only. The leaver clears a word without that bit by a
//!    compare-and-swap without the lock: if the bit was set in between, the
//!    swap fails and the leaver takes the lock; if the swap came first, the
//!    intake, which holds the lock, sees an empty word and the lane is new.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::block::{OwnedRecord, POISON, prefetch};
use super::work::Tick;

/// Identity of records that share no lane with any other.
pub(crate) const NO_LANE: u64 = 0;
/// The lane of a partition's records without a key.
pub(crate) const KEYLESS_LANE: u64 = 2;
const WAITED_FOR: u64 = 1;

/// The lane of a key's hash.
pub(crate) fn lane_of(hash: u64) -> u64 {
    (hash & !WAITED_FOR).max(KEYLESS_LANE + 2)
}

/// A record that waits behind another of its lane.
pub(crate) struct Waiting {
    pub(crate) record: OwnedRecord,
    pub(crate) seq: u64,
    pub(crate) handed: Tick,
}

/// Lanes are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("lanes are u64")
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

type ByLane<V> = HashMap<u64, V, BuildHasherDefault<Identity>>;

#[derive(Default)]
struct Side {
    waiting: ByLane<VecDeque<Waiting>>,
    /// Lanes at work that found their line full.
    overflow: HashSet<u64, BuildHasherDefault<Identity>>,
    queued: usize,
}

const SLOTS: usize = 8;

#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; SLOTS]);

pub(crate) struct Lanes {
    lines: Box<[Line]>,
    overflowed: AtomicUsize,
    side: Mutex<Side>,
}

/// Lines beyond these would not stay in a core's cache.
const LINES_MAX: usize = 4096;
const LINES_MIN: usize = 64;

impl Lanes {
    /// Lanes for an assignment that holds up to `records`.
    pub(crate) fn new(records: usize) -> Lanes {
        let lines = (records / (SLOTS / 2)).clamp(LINES_MIN, LINES_MAX).next_power_of_two();
        Lanes {
            lines: (0..lines).map(|_| Line::default()).collect(),
            overflowed: AtomicUsize::new(0),
            side: Mutex::default(),
        }
    }

    fn line(&self, lane: u64) -> &Line {
        &self.lines[(lane >> 16) as usize & (self.lines.len() - 1)]
    }

    /// Brings the lane's line here.
    #[inline]
    pub(crate) fn prefetch(&self, lane: u64) {
        prefetch(self.line(lane));
    }

    /// Enters a lane: true when the record may run now. Otherwise `waiting` is
    /// called and what it makes queued.
    pub(crate) fn enter(&self, lane: u64, waiting: impl FnOnce() -> Waiting) -> bool {
        let mut free = None;
        for slot in &self.line(lane).0 {
            let word = slot.load(Ordering::Acquire);
            if word & !WAITED_FOR == lane {
                return self.queue(slot, lane, waiting);
            }
            if word == 0 && free.is_none() {
                free = Some(slot);
            }
        }
        if self.overflowed.load(Ordering::Acquire) > 0 {
            let mut side = self.side.lock().expect(POISON);
            if side.overflow.contains(&lane) {
                side.push(lane, waiting());
                return false;
            }
        }
        match free {
            Some(slot) => slot.store(lane, Ordering::Release),
            None => {
                let mut side = self.side.lock().expect(POISON);
                side.overflow.insert(lane);
                self.overflowed.fetch_add(1, Ordering::Release);
            }
        }
        true
    }

    fn queue(&self, slot: &AtomicU64, lane: u64, waiting: impl FnOnce() -> Waiting) -> bool {
        let mut side = self.side.lock().expect(POISON);
        loop {
            let word = slot.load(Ordering::Acquire);
            if word & !WAITED_FOR != lane {
                // Its last record ended in between: the lane is new.
                slot.store(lane, Ordering::Release);
                return true;
            }
            let marked = lane | WAITED_FOR;
            if slot.compare_exchange(word, marked, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                side.push(lane, waiting());
                return false;
            }
        }
    }

    /// Leaves a lane after one of its records: the next one to run, or none and
    /// the lane is gone.
    pub(crate) fn leave(&self, lane: u64) -> Option<Waiting> {
        let mut found = None;
        for slot in &self.line(lane).0 {
            if slot.load(Ordering::Acquire) & !WAITED_FOR == lane {
                if slot.compare_exchange(lane, 0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    return None;
                }
                found = Some(slot);
                break;
            }
        }
        let mut side = self.side.lock().expect(POISON);
        let (next, more) = side.pop(lane);
        match (found, next.is_some()) {
            (Some(slot), true) if !more => slot.store(lane, Ordering::Release),
            (Some(slot), false) => slot.store(0, Ordering::Release),
            (None, false) if side.overflow.remove(&lane) => {
                self.overflowed.fetch_sub(1, Ordering::Release);
            }
            _ => {}
        }
        next
    }

    /// Records that wait behind another of their lane.
    pub(crate) fn queued(&self) -> usize {
        self.side.lock().expect(POISON).queued
    }

    /// Drops what waits.
    pub(crate) fn clear(&self) {
        let side = std::mem::take(&mut *self.side.lock().expect(POISON));
        drop(side);
    }
}

impl Side {
    fn push(&mut self, lane: u64, waiting: Waiting) {
        self.waiting.entry(lane).or_default().push_back(waiting);
        self.queued += 1;
    }

    /// The lane's oldest, and whether more wait.
    fn pop(&mut self, lane: u64) -> (Option<Waiting>, bool) {
        let Some(queue) = self.waiting.get_mut(&lane) else { return (None, false) };
        let next = queue.pop_front();
        self.queued -= usize::from(next.is_some());
        let more = !queue.is_empty();
        if !more {
            self.waiting.remove(&lane);
        }
        (next, more)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::block::{Block, RecordView};

    fn waiting(seq: u64) -> Waiting {
        let block = Block::of_record(None, Some(&seq.to_be_bytes()), seq as i64);
        let view = RecordView::parse(block.bytes()).unwrap();
        Waiting { record: OwnedRecord::copy_of(&view), seq, handed: Tick::now() }
    }

    #[test]
    fn the_first_of_a_lane_runs_and_the_others_follow_in_order() {
        let lanes = Lanes::new(1000);
        assert!(lanes.enter(8, || unreachable!()));
        assert!(lanes.enter(10, || unreachable!()));
        for seq in 1..4 {
            assert!(!lanes.enter(8, || waiting(seq)));
        }
        assert_eq!(lanes.queued(), 3);
        for seq in 1..4 {
            assert_eq!(lanes.leave(8).unwrap().seq, seq);
        }
        assert!(lanes.leave(8).is_none());
        assert!(lanes.leave(10).is_none());
        assert!(lanes.enter(8, || unreachable!()), "the lane is new again");
        assert_eq!(lanes.queued(), 0);
    }

    #[test]
    fn a_full_line_overflows_and_keeps_its_order() {
        let lanes = Lanes::new(0);
        // All in one line: equal above the bits that choose it.
        let ids: Vec<u64> = (0..40).map(|n| 100 + 2 * n).collect();
        for &lane in &ids {
            assert!(lanes.enter(lane, || unreachable!()));
            assert!(!lanes.enter(lane, || waiting(lane)));
        }
        for &lane in &ids {
            assert_eq!(lanes.leave(lane).unwrap().seq, lane);
            assert!(lanes.leave(lane).is_none());
        }
        assert_eq!(lanes.overflowed.load(Ordering::Relaxed), 0);
        for &lane in &ids {
            assert!(lanes.enter(lane, || unreachable!()));
        }
    }

    #[test]
    fn no_hash_meets_the_special_lanes() {
        for hash in [0, 1, 2, 3, 4, 5, u64::MAX] {
            let lane = lane_of(hash);
            assert!(lane != NO_LANE && lane != KEYLESS_LANE && lane & WAITED_FOR == 0);
        }
    }

    /// One intake and several leavers at full speed: each lane's records come
    /// out once, in order, and never two of one lane at a time.
    #[test]
    fn entering_and_leaving_race_without_losing_order() {
        const RECORDS: u64 = 200_000;
        const KEYS: u64 = 23; // few lines, so lanes meet in them
        let lanes = Arc::new(Lanes::new(0));
        let (to_run, runnable) = std::sync::mpsc::channel::<(u64, u64)>();
        let runnable = Arc::new(Mutex::new(runnable));
        let at_work: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        let runners: Vec<_> = (0..3)
            .map(|_| {
                let (lanes, runnable, at_work) = (lanes.clone(), runnable.clone(), at_work.clone());
                std::thread::spawn(move || {
                    let mut seen: Vec<(u64, u64)> = Vec::new();
                    loop {
                        let got = runnable.lock().unwrap().recv();
                        let Ok((lane, mut seq)) = got else { return seen };
                        let key = (lane >> 1) - 50;
                        assert_eq!(at_work[key as usize].fetch_add(1, Ordering::SeqCst), 0);
                        loop {
                            seen.push((key, seq));
                            // Others may take the lane over once it is left.
                            at_work[key as usize].fetch_sub(1, Ordering::SeqCst);
                            match lanes.leave(lane) {
                                Some(next) => {
                                    assert_eq!(
                                        at_work[key as usize].fetch_add(1, Ordering::SeqCst),
                                        0
                                    );
                                    seq = next.seq;
                                }
                                None => break,
                            }
                        }
                    }
                })
            })
            .collect();
        for seq in 0..RECORDS {
            let lane = 100 + 2 * (seq.wrapping_mul(7919) % KEYS);
            if lanes.enter(lane, || waiting(seq)) {
                to_run.send((lane, seq)).unwrap();
            }
        }
        drop(to_run);
        let mut all: Vec<(u64, u64)> = Vec::new();
        for runner in runners {
            let seen = runner.join().unwrap();
            // What one runner saw of a key ascends.
            let mut last = vec![None; KEYS as usize];
            for (key, seq) in &seen {
                assert!(last[*key as usize].is_none_or(|l| l < *seq));
                last[*key as usize] = Some(*seq);
            }
            all.extend(seen);
        }
        assert_eq!(all.len() as u64, RECORDS);
        let mut seqs: Vec<u64> = all.into_iter().map(|(_, s)| s).collect();
        seqs.sort_unstable();
        seqs.dedup();
        assert_eq!(seqs.len() as u64, RECORDS);
    }
}
