//! Which record may run next.
//!
//! Every record belongs to a lane: its key on its partition (see [`lanes`]).
//! A record whose lane is free is ready at once and reaches executors in
//! batches, whose records any executor may claim: a handler that blocks keeps
//! its own record and nothing else. The others queue in their lane and are
//! taken, in order, by whoever finishes the one before.
//!
//! Lanes are told apart by a 64-bit seeded hash of the key. Two keys that
//! collide would share a lane, which costs them their concurrency and nothing
//! else; with 100,000 keys at work the chance is one in a billion.
//!
//! Locks are taken in this order, and never two of one kind: `ready`, an
//! assignment's `parked` or `intake`, its lanes. Event shards are taken alone.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant};

use super::block::{Block, BlockPool, Malformed, OwnedRecord, POISON, RecordView, prefetch};
use super::events::EventQueue;
use super::lanes::{self, KEYLESS_LANE, Lanes, NO_LANE, Waiting};
use super::stats::{Counts, Totals};

/// Moments of records. Reading the time costs a good part of a short handler,
/// so it is read from the processor's counter.
pub(crate) type Tick = quanta::Instant;

/// What happens to records without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeylessOrder {
    /// One after the other, in offset order per partition.
    #[default]
    Partition,
    /// All at once, in any order.
    Unordered,
}

/// One partition in one ownership by this member.
pub(crate) struct Assignment {
    pub(crate) id: u32,
    pub(crate) partition: i32,
    revoked: AtomicBool,
    released: AtomicBool,
    paused: AtomicBool,
    /// Executors and pending futures that run records of this assignment.
    active: AtomicUsize,
    lanes: Lanes,
    /// Held by a submit: lanes are entered by one thread at a time.
    intake: Mutex<()>,
    parked: Mutex<Vec<Work>>,
    pub(crate) totals: Arc<Totals>,
}

impl Assignment {
    fn new(id: u32, partition: i32, totals: Arc<Totals>, records: usize) -> Assignment {
        Assignment {
            id,
            partition,
            revoked: AtomicBool::new(false),
            released: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            lanes: Lanes::new(records),
            intake: Mutex::default(),
            parked: Mutex::default(),
            totals,
        }
    }

    /// Whether no record may start any more.
    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::SeqCst)
    }

    /// Whether another member may have the partition: what ends now is orphaned.
    pub(crate) fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Records that wait behind another of their key.
    pub(crate) fn queued(&self) -> usize {
        self.lanes.queued()
    }

    fn drop_everything(&self) {
        self.parked.lock().expect(POISON).clear();
        self.lanes.clear();
    }
}

/// Counts an executor (or a pending future) as running for an assignment.
pub(crate) struct Active {
    dispatch: Arc<Dispatch>,
    pub(crate) assignment: Arc<Assignment>,
}

impl Active {
    pub(crate) fn enter(dispatch: &Arc<Dispatch>, assignment: &Arc<Assignment>) -> Active {
        // SeqCst pairs with revoke: either the executor sees `revoked` after
        // this increment, or `drained` sees the increment.
        assignment.active.fetch_add(1, Ordering::SeqCst);
        Active { dispatch: dispatch.clone(), assignment: assignment.clone() }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if self.assignment.active.fetch_sub(1, Ordering::SeqCst) == 1
            && self.assignment.is_revoked()
        {
            drop(self.dispatch.drain_lock.lock().expect(POISON));
            self.dispatch.drain_changed.notify_all();
        }
    }
}

/// How many records before its turn a record is fetched into the cache.
const AHEAD: usize = 4;

/// A record of a batch that is ready to run.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    at: u32,
    index: u32,
    pub(crate) lane: u64,
}

/// Ready records of one block.
pub(crate) struct Batch {
    pub(crate) assignment: Arc<Assignment>,
    block: Option<Block>,
    pool: Arc<BlockPool>,
    first_seq: u64,
    entries: Vec<Entry>,
    next: AtomicUsize,
    pub(crate) handed: Tick,
}

impl Batch {
    /// Claims the next record for the caller.
    pub(crate) fn claim(&self) -> Option<Entry> {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        // The engine's thread wrote the record and entered its lane on another
        // core: fetch both while the records before are at work.
        if let Some(soon) = self.entries.get(i + AHEAD) {
            self.assignment.lanes.prefetch(soon.lane);
            let block = self.block.as_ref().expect("present until drop").bytes();
            let record = block[soon.at as usize..].as_ptr();
            prefetch(record);
            prefetch(record.wrapping_add(64));
        }
        self.entries.get(i).copied()
    }

    fn left(&self) -> usize {
        self.entries.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    pub(crate) fn seq(&self, entry: Entry) -> u64 {
        self.first_seq + u64::from(entry.index)
    }

    pub(crate) fn view(&self, entry: Entry) -> RecordView<'_> {
        let block = self.block.as_ref().expect("present until drop");
        RecordView::parse(&block.bytes()[entry.at as usize..]).expect("checked by submit")
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.release(block);
        }
    }
}

/// A record on its own: taken from a lane's queue, or due for a retry.
pub(crate) struct Single {
    pub(crate) assignment: Arc<Assignment>,
    pub(crate) record: OwnedRecord,
    pub(crate) seq: u64,
    pub(crate) lane: u64,
    /// Runs before this one.
    pub(crate) attempts: u32,
    pub(crate) handed: Tick,
}

pub(crate) enum Work {
    Batch(Arc<Batch>),
    Single(Single),
}

impl Work {
    pub(crate) fn assignment(&self) -> &Arc<Assignment> {
        match self {
            Work::Batch(b) => &b.assignment,
            Work::Single(s) => &s.assignment,
        }
    }

    fn records(&self) -> usize {
        match self {
            Work::Batch(b) => b.left(),
            Work::Single(_) => 1,
        }
    }
}

/// What an executor is working on, for `health`.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) since: Tick,
    key: Option<(*const u8, usize)>,
}

// SAFETY: the pointer is read only by `key`, whose contract the shard's lock
// upholds; see there.
unsafe impl Send for Running {}

impl Running {
    pub(crate) fn new(partition: i32, view: &RecordView<'_>, since: Tick) -> Running {
        Running {
            partition,
            offset: view.offset(),
            since,
            key: view.key().map(|k| (k.as_ptr(), k.len())),
        }
    }

    /// Copies the key.
    ///
    /// # Safety
    /// The record must be alive. An executor keeps it so while its shard names
    /// it as running, hence: call with that shard locked.
    pub(crate) unsafe fn key(&self) -> Option<Vec<u8>> {
        let (ptr, len) = self.key?;
        // SAFETY: the caller's contract: ptr and len are a live key slice.
        Some(unsafe { std::slice::from_raw_parts(ptr, len) }.to_vec())
    }
}

#[derive(Default)]
struct Ready {
    queue: VecDeque<Work>,
    /// Batches that an executor took and that may have unclaimed records.
    open: Vec<Arc<Batch>>,
}

impl Ready {
    fn take(&mut self, dropped: &mut Vec<Work>, paused: &mut Vec<Work>) -> Option<Work> {
        while let Some(work) = self.queue.pop_front() {
            let a = work.assignment();
            if a.is_revoked() {
                dropped.push(work);
            } else if a.is_paused() {
                paused.push(work);
            } else {
                if let Work::Batch(batch) = &work
                    && batch.left() > 1
                {
                    self.open.push(batch.clone());
                }
                return Some(work);
            }
        }
        while let Some(batch) = self.open.last() {
            let (left, a) = (batch.left(), &batch.assignment);
            if left > 0 && !a.is_revoked() && !a.is_paused() {
                return Some(Work::Batch(batch.clone()));
            }
            let keep = left > 0 && a.is_paused();
            let work = Work::Batch(self.open.pop().expect("just seen"));
            if keep { paused.push(work) } else { dropped.push(work) }
        }
        None
    }
}

/// Everything between submit and the executors.
pub(crate) struct Dispatch {
    assignments: RwLock<HashMap<u32, Arc<Assignment>>>,
    /// By partition: counters go on when a partition comes back.
    totals: Mutex<HashMap<i32, Arc<Totals>>>,
    ready: Mutex<Ready>,
    /// Called, without any lock, with the number of records that became ready.
    rouse: OnceLock<Box<dyn Fn(usize) + Send + Sync>>,
    pub(crate) events: EventQueue,
    pub(crate) blocks: Arc<BlockPool>,
    pub(crate) topic: String,
    keyless: KeylessOrder,
    /// About how many records of one assignment are held at most.
    held_records: usize,
    seed: foldhash::quality::RandomState,
    /// The engine is over: nothing starts any more.
    dead: AtomicBool,
    drain_lock: Mutex<()>,
    drain_changed: Condvar,
}

/// Why the host refuses a call of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    UnknownAssignment,
    Malformed(Malformed),
    WrongCount,
}

impl Dispatch {
    pub(crate) fn new(
        topic: String,
        keyless: KeylessOrder,
        shards: usize,
        held_records: usize,
    ) -> Dispatch {
        Dispatch {
            assignments: RwLock::default(),
            totals: Mutex::default(),
            ready: Mutex::default(),
            rouse: OnceLock::new(),
            events: EventQueue::new(shards),
            blocks: Arc::default(),
            topic,
            keyless,
            held_records,
            seed: foldhash::quality::RandomState::default(),
            dead: AtomicBool::new(false),
            drain_lock: Mutex::default(),
            drain_changed: Condvar::new(),
        }
    }

    /// Sets how executors are woken. Once, before the engine starts.
    pub(crate) fn on_ready(&self, rouse: impl Fn(usize) + Send + Sync + 'static) {
        let set = self.rouse.set(Box::new(rouse));
        assert!(set.is_ok(), "executors are attached once");
    }

    fn rouse(&self, records: usize) {
        if let Some(rouse) = self.rouse.get() {
            rouse(records);
        }
    }

    pub(crate) fn assigned(&self, id: u32, partition: i32) {
        let totals = self.totals.lock().expect(POISON).entry(partition).or_default().clone();
        let a = Arc::new(Assignment::new(id, partition, totals, self.held_records));
        self.assignments.write().expect(POISON).insert(id, a);
    }

    pub(crate) fn assignment(&self, id: u32) -> Option<Arc<Assignment>> {
        self.assignments.read().expect(POISON).get(&id).cloned()
    }

    pub(crate) fn assignments(&self) -> Vec<Arc<Assignment>> {
        self.assignments.read().expect(POISON).values().cloned().collect()
    }

    /// Totals of every partition that this member has had, by partition.
    pub(crate) fn totals(&self) -> Vec<(i32, Counts)> {
        let totals: Vec<_> =
            self.totals.lock().expect(POISON).iter().map(|(p, t)| (*p, t.clone())).collect();
        let mut counts: Vec<(i32, Arc<Totals>, Counts)> = totals
            .into_iter()
            .map(|(p, t)| {
                let c = t.read();
                (p, t, c)
            })
            .collect();
        for shard in self.events.shards() {
            if let Some(of) = &shard.tally.totals
                && let Some((_, _, c)) = counts.iter_mut().find(|(_, t, _)| Arc::ptr_eq(t, of))
            {
                c.add(&shard.tally.counts);
            }
        }
        counts.sort_by_key(|(p, _, _)| *p);
        counts.into_iter().map(|(p, _, c)| (p, c)).collect()
    }

    fn lane_of(&self, key: Option<&[u8]>) -> u64 {
        match (key, self.keyless) {
            (Some(key), _) => {
                let mut h = self.seed.build_hasher();
                h.write(key);
                lanes::lane_of(h.finish())
            }
            (None, KeylessOrder::Partition) => KEYLESS_LANE,
            (None, KeylessOrder::Unordered) => NO_LANE,
        }
    }

    /// Takes over a block of records; on error the block comes back.
    pub(crate) fn submit(
        &self,
        id: u32,
        first_seq: u64,
        block: Block,
        count: u32,
    ) -> Result<(), (Refused, Block)> {
        let Some(assignment) = self.assignment(id) else {
            return Err((Refused::UnknownAssignment, block));
        };
        let handed = Tick::now();
        // A wrong count is found out below; it must not size an allocation.
        let most = block.bytes().len() / size_of::<super::sys::llingr_record>();
        let mut entries = Vec::with_capacity((count as usize).min(most));
        // Nothing is queued before the whole block has been checked.
        let mut at = 0;
        let bytes = block.bytes();
        for index in 0..count {
            let view = match RecordView::parse(&bytes[at..]) {
                Ok(view) => view,
                Err(e) => return Err((Refused::Malformed(e), block)),
            };
            let lane = self.lane_of(view.key());
            assignment.lanes.prefetch(lane);
            entries.push(Entry { at: at as u32, index, lane });
            at += view.size();
        }
        if at != bytes.len() {
            return Err((Refused::WrongCount, block));
        }
        let intake = assignment.intake.lock().expect(POISON);
        entries.retain(|e| {
            e.lane == NO_LANE
                || assignment.lanes.enter(e.lane, || {
                    let view = RecordView::parse(&bytes[e.at as usize..]).expect("just checked");
                    Waiting {
                        record: OwnedRecord::copy_of(&view),
                        seq: first_seq + u64::from(e.index),
                        handed,
                    }
                })
        });
        drop(intake);
        let ready = entries.len();
        if ready == 0 {
            self.blocks.release(block);
            return Ok(());
        }
        let batch = Batch {
            assignment,
            block: Some(block),
            pool: self.blocks.clone(),
            first_seq,
            entries,
            next: AtomicUsize::new(0),
            handed,
        };
        self.push(Work::Batch(Arc::new(batch)));
        Ok(())
    }

    /// Queues work and wakes executors for it.
    pub(crate) fn push(&self, work: Work) {
        let records = work.records();
        self.ready.lock().expect(POISON).queue.push_back(work);
        self.rouse(records);
    }

    /// The next work for an executor. Work of paused partitions is put aside,
    /// that of revoked ones dropped.
    pub(crate) fn next(&self) -> Option<Work> {
        if self.is_dead() {
            return None;
        }
        // Both are dealt with after the lock.
        let (mut dropped, mut paused) = (Vec::new(), Vec::new());
        let found = {
            let mut ready = self.ready.lock().expect(POISON);
            ready.take(&mut dropped, &mut paused)
        };
        for work in paused {
            self.park(work);
        }
        found
    }

    /// Records that nobody has claimed.
    pub(crate) fn unclaimed(&self) -> usize {
        let ready = self.ready.lock().expect(POISON);
        ready.queue.iter().map(Work::records).sum::<usize>()
            + ready.open.iter().map(|b| b.left()).sum::<usize>()
    }

    /// Work that no executor took yet, in pieces; cheaper than `unclaimed`.
    pub(crate) fn backlog(&self) -> usize {
        self.ready.lock().expect(POISON).queue.len()
    }

    /// Puts work of a paused partition aside until it is resumed.
    pub(crate) fn park(&self, work: Work) {
        let a = work.assignment().clone();
        let mut parked = a.parked.lock().expect(POISON);
        parked.push(work);
        drop(parked);
        // A resume that ran in between has emptied `parked` already.
        if !a.is_paused() {
            self.unpark(&a);
        }
    }

    fn unpark(&self, a: &Assignment) {
        let work = std::mem::take(&mut *a.parked.lock().expect(POISON));
        let records = work.iter().map(Work::records).sum();
        if records == 0 {
            return;
        }
        self.ready.lock().expect(POISON).queue.extend(work);
        self.rouse(records);
    }

    /// Whether a record of this assignment may start now.
    pub(crate) fn may_start(&self, a: &Assignment) -> MayStart {
        if a.is_revoked() || self.is_dead() {
            MayStart::Never
        } else if a.is_paused() {
            MayStart::Later
        } else {
            MayStart::Now
        }
    }

    /// Ends a lane's running record: the next of the lane, or none and the
    /// lane is gone.
    pub(crate) fn advance(&self, a: &Assignment, lane: u64) -> Option<Waiting> {
        if lane == NO_LANE {
            return None;
        }
        a.lanes.leave(lane)
    }

    pub(crate) fn revoke(&self, id: u32) -> Result<(), Refused> {
        let a = self.assignment(id).ok_or(Refused::UnknownAssignment)?;
        a.revoked.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Waits until nothing of the assignment runs; returns what still does.
    pub(crate) fn drained(&self, id: u32, wait: Duration) -> Result<usize, Refused> {
        let a = self.assignment(id).ok_or(Refused::UnknownAssignment)?;
        let deadline = Instant::now() + wait;
        let mut lock = self.drain_lock.lock().expect(POISON);
        loop {
            let running = a.active.load(Ordering::SeqCst);
            let left = deadline.saturating_duration_since(Instant::now());
            if running == 0 || left.is_zero() {
                drop(lock);
                self.events.wake();
                return Ok(running);
            }
            lock = self.drain_changed.wait_timeout(lock, left).expect(POISON).0;
        }
    }

    /// Forgets an assignment and frees what is queued of it.
    pub(crate) fn released(&self, id: u32) -> Result<(), Refused> {
        let removed = self.assignments.write().expect(POISON).remove(&id);
        let a = removed.ok_or(Refused::UnknownAssignment)?;
        a.revoked.store(true, Ordering::SeqCst);
        a.released.store(true, Ordering::Relaxed);
        let mut ready = self.ready.lock().expect(POISON);
        let (gone, kept): (VecDeque<_>, VecDeque<_>) =
            ready.queue.drain(..).partition(|w| w.assignment().id == id);
        ready.queue = kept;
        ready.open.retain(|b| b.assignment.id != id);
        drop(ready);
        drop(gone);
        a.drop_everything();
        Ok(())
    }

    /// Pauses or resumes the start of records, of one assignment or (0) of all.
    pub(crate) fn pause(&self, id: u32, paused: bool) -> Result<(), Refused> {
        let affected = if id == 0 {
            self.assignments()
        } else {
            vec![self.assignment(id).ok_or(Refused::UnknownAssignment)?]
        };
        for a in affected {
            a.paused.store(paused, Ordering::SeqCst);
            if !paused {
                self.unpark(&a);
            }
        }
        Ok(())
    }

    /// Nothing starts any more; what is queued is dropped.
    pub(crate) fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        let ready = std::mem::take(&mut *self.ready.lock().expect(POISON));
        drop(ready);
        self.rouse(usize::MAX);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }
}

/// Whether a record may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayStart {
    Now,
    /// Its partition is paused.
    Later,
    /// Its partition was given up, or the engine is over.
    Never,
}
