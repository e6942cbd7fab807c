//! Runs [`ProcessHandler`]s on a pool of threads.
//!
//! Threads are started as they are needed and stay. How many are awake is
//! decided from how long handlers take: for short ones as many as there are
//! cores, since more would only push each other off them; for long ones as
//! many as there are records. The timer's watch corrects the guess when a
//! handler blocks that used to be short.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use llingr_nexus::ProcessHandler;

use super::block::{OwnedRecord, POISON, RecordView};
use super::events::Shard;
use super::guard::{InHandler, contained};
use super::lanes::Waiting;
use super::retry::Verdict;
use super::runner::{Fate, Outcome, Runner, count_failure};
use super::work::{Active, Assignment, Batch, MayStart, Running, Single, Tick, Work};

/// How many threads are looked at in one tick: asking the system about each
/// costs some microseconds.
const SUSPECTS: usize = 64;
/// Work that one thread is left alone with.
const BACKLOG: usize = 8;
/// Handlers that take longer get a thread each.
const SHORT: Duration = Duration::from_micros(50);
/// A handler that runs for longer counts as blocked. Longer than a scheduler's
/// time slice: a thread that was pushed off its core is not blocked.
const BLOCKED: Duration = Duration::from_millis(5);
/// Weight of the past in the pace, in records, and what counts as slowest.
const PACE: u64 = 512;
const PACE_MAX: u64 = 1_000_000_000;
/// After so many records of one key a thread looks at other work.
const CHAIN: u32 = 16;

struct State {
    idle: Vec<usize>,
    threads: Vec<(Thread, Arc<Slot>)>,
    handles: Vec<JoinHandle<()>>,
    refused: bool,
}

/// What the pool and one of its threads share.
#[derive(Default)]
struct Slot {
    woken: AtomicBool,
    /// Where the system tells whether the thread runs or waits.
    stat: OnceLock<PathBuf>,
}

impl Slot {
    /// Whether the thread waits for a core: it is not blocked then, just slow
    /// to get on. False where the system does not tell.
    fn is_runnable(&self) -> bool {
        let Some(stat) = self.stat.get() else { return false };
        let Ok(text) = std::fs::read_to_string(stat) else { return false };
        text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('R'))
    }
}

pub(crate) struct Pool {
    runner: Arc<Runner>,
    handler: Arc<dyn ProcessHandler>,
    state: Mutex<State>,
    max_threads: usize,
    /// How many threads may run handlers.
    limit: AtomicUsize,
    awake: AtomicUsize,
    cores: usize,
    /// Nanoseconds per record, smoothed.
    pace: AtomicU64,
    stopping: AtomicBool,
}

impl Pool {
    pub(crate) fn new(
        runner: Arc<Runner>,
        handler: Arc<dyn ProcessHandler>,
        max_threads: usize,
        limit: usize,
    ) -> Arc<Pool> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let pool = Arc::new(Pool {
            runner,
            handler,
            state: Mutex::new(State {
                idle: Vec::new(),
                threads: Vec::new(),
                handles: Vec::new(),
                refused: false,
            }),
            max_threads,
            limit: AtomicUsize::new(limit),
            awake: AtomicUsize::new(0),
            cores,
            pace: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        });
        let (a, b) = (Arc::downgrade(&pool), Arc::downgrade(&pool));
        pool.runner.dispatch.on_ready(move |records| {
            if let Some(pool) = a.upgrade() {
                pool.rouse(records);
            }
        });
        pool.runner.timer.on_tick(move || b.upgrade().is_some_and(|pool| pool.tick()));
        pool
    }

    pub(crate) fn set_limit(self: &Arc<Self>, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.wake(limit);
    }

    fn is_full(&self) -> bool {
        self.awake.load(Ordering::Relaxed) >= self.limit.load(Ordering::Relaxed)
    }

    /// Whether more threads are awake than the limit, which was lowered, allows.
    fn is_over(&self) -> bool {
        self.awake.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    /// Notes what each of some records took. Weighed by their number: a thread
    /// that was pushed off its core during a single short one must not look
    /// like a long one.
    fn note_pace(&self, each_ns: u64, records: u32) {
        let weight = u64::from(records.min(64));
        let old = self.pace.load(Ordering::Relaxed);
        let new = (old * (PACE - weight) + each_ns.min(PACE_MAX) * weight) / PACE;
        self.pace.store(new, Ordering::Relaxed);
    }

    fn long_handlers(&self) -> bool {
        self.pace.load(Ordering::Relaxed) > SHORT.as_nanos() as u64
    }

    /// Wakes threads for records that became ready.
    fn rouse(self: &Arc<Self>, records: usize) {
        let awake = self.awake.load(Ordering::SeqCst);
        let wanted = if self.long_handlers() || self.runner.dispatch.is_dead() {
            records
        } else if awake == 0 || (awake < self.cores && self.runner.dispatch.backlog() > BACKLOG) {
            1
        } else {
            0
        };
        self.wake(wanted);
        self.runner.timer.watch();
    }

    /// Looks after blocked handlers; false when there is nothing to watch.
    fn tick(self: &Arc<Self>) -> bool {
        let unclaimed = self.runner.dispatch.unclaimed();
        if unclaimed == 0 {
            return false;
        }
        let awake = self.awake.load(Ordering::SeqCst);
        if self.long_handlers() {
            self.wake(unclaimed);
            return true;
        }
        let blocked = self.blocked();
        // Doubling, so that a burst of long handlers is met within a few ticks
        // and a single blocked one costs a single thread.
        let busy = awake.saturating_sub(blocked);
        if busy < self.cores {
            self.wake((self.cores - busy).max(blocked).min(unclaimed));
        }
        true
    }

    /// Threads whose handler runs for long without using a core.
    fn blocked(&self) -> usize {
        let now = Tick::now();
        let events = &self.runner.dispatch.events;
        let suspects: Vec<usize> = events
            .shards()
            .enumerate()
            .filter(|(_, s)| {
                s.running.as_ref().is_some_and(|r| now.duration_since(r.since) > BLOCKED)
            })
            .map(|(index, _)| index)
            .collect();
        let slots: Vec<Arc<Slot>> = {
            let state = self.state.lock().expect(POISON);
            let sample = suspects.iter().take(SUSPECTS);
            sample.filter_map(|&i| Some(state.threads.get(i)?.1.clone())).collect()
        };
        // The sample stands for all suspects.
        let blocked = slots.iter().filter(|slot| !slot.is_runnable()).count();
        (blocked * suspects.len()).div_ceil(slots.len().max(1))
    }

    fn wake(self: &Arc<Self>, wanted: usize) {
        if wanted == 0 {
            return;
        }
        let mut state = self.state.lock().expect(POISON);
        let limit = self.limit.load(Ordering::Relaxed);
        let room = limit.saturating_sub(self.awake.load(Ordering::SeqCst));
        for _ in 0..wanted.min(room) {
            if let Some(index) = state.idle.pop() {
                self.awake.fetch_add(1, Ordering::SeqCst);
                let (thread, slot) = &state.threads[index];
                slot.woken.store(true, Ordering::Release);
                thread.unpark();
            } else if state.threads.len() < self.max_threads {
                if !self.spawn(&mut state) {
                    break;
                }
            } else {
                break;
            }
        }
    }

    fn spawn(self: &Arc<Self>, state: &mut State) -> bool {
        if self.stopping.load(Ordering::SeqCst) {
            return false;
        }
        let index = state.threads.len();
        let pool = self.clone();
        let slot = Arc::new(Slot::default());
        slot.woken.store(true, Ordering::Relaxed);
        let own = slot.clone();
        let spawned = std::thread::Builder::new()
            .name(format!("llingr-{index}"))
            .spawn(move || Worker::new(pool, index, own).run());
        match spawned {
            Ok(handle) => {
                self.awake.fetch_add(1, Ordering::SeqCst);
                state.threads.push((handle.thread().clone(), slot));
                state.handles.push(handle);
                true
            }
            Err(e) => {
                if !std::mem::replace(&mut state.refused, true) {
                    log::warn!(target: crate::LOG_TARGET, "the system refuses further threads after {index}: {e}; going on with these");
                }
                if index == 0 {
                    self.runner.dispatch.events.fatal(format!("no thread could be started: {e}"));
                }
                false
            }
        }
    }

    /// Ends the threads; those stuck in a handler are left behind after `wait`.
    pub(crate) fn stop(&self, wait: Duration) -> usize {
        self.stopping.store(true, Ordering::SeqCst);
        let handles = {
            let mut state = self.state.lock().expect(POISON);
            for (thread, slot) in &state.threads {
                slot.woken.store(true, Ordering::Release);
                thread.unpark();
            }
            std::mem::take(&mut state.handles)
        };
        let deadline = Instant::now() + wait;
        let me = std::thread::current().id();
        let mut stuck = 0;
        for handle in handles {
            // There is no timed join: wait for the thread's end, then join.
            while !handle.is_finished() && handle.thread().id() != me && Instant::now() < deadline {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            if handle.is_finished() {
                let _ = handle.join();
            } else {
                stuck += 1;
            }
        }
        stuck
    }
}

/// The end of a run that still has to be told to the shard.
struct Finished {
    seq: u64,
    bytes: u64,
    took: Option<Duration>,
    waited: Option<Duration>,
    traits: u64,
    /// It had to wait for one of the `concurrent_keys`.
    overflow: bool,
}

struct Worker {
    pool: Arc<Pool>,
    runner: Arc<Runner>,
    index: usize,
    slot: Arc<Slot>,
    /// End of the previous run, which is the start of the next.
    now: Tick,
    finished: Option<Finished>,
}

/// Where a record's bytes are.
enum Bytes<'a> {
    InBatch(RecordView<'a>),
    Own(OwnedRecord),
}

impl Bytes<'_> {
    fn own(self) -> OwnedRecord {
        match self {
            Bytes::InBatch(view) => OwnedRecord::copy_of(&view),
            Bytes::Own(record) => record,
        }
    }
}

struct Item<'a> {
    bytes: Bytes<'a>,
    seq: u64,
    lane: u64,
    attempts: u32,
    handed: Tick,
}

impl Worker {
    fn new(pool: Arc<Pool>, index: usize, slot: Arc<Slot>) -> Worker {
        let runner = pool.runner.clone();
        Worker { pool, runner, index, slot, now: Tick::now(), finished: None }
    }

    fn run(mut self) {
        if let Ok(me) = std::fs::read_link("/proc/thread-self") {
            let _ = self.slot.stat.set(PathBuf::from("/proc").join(me).join("stat"));
        }
        while !self.pool.stopping.load(Ordering::SeqCst) {
            match self.next() {
                Some(work) => self.work(work),
                None => self.sleep(),
            }
        }
        self.pool.awake.fetch_sub(1, Ordering::SeqCst);
    }

    fn next(&self) -> Option<Work> {
        // More threads than allowed are awake after the limit was lowered.
        if self.pool.is_over() {
            return None;
        }
        self.runner.dispatch.next()
    }

    /// Parks until woken. Work that arrives between the look and the sleep is
    /// seen by a second look, made while already listed as idle.
    fn sleep(&mut self) {
        self.slot.woken.store(false, Ordering::Release);
        {
            let mut state = self.pool.state.lock().expect(POISON);
            state.idle.push(self.index);
            self.pool.awake.fetch_sub(1, Ordering::SeqCst);
        }
        let over =
            self.pool.awake.load(Ordering::SeqCst) >= self.pool.limit.load(Ordering::Relaxed);
        if !over && self.runner.dispatch.unclaimed() > 0 && !self.runner.dispatch.is_dead() {
            let mut state = self.pool.state.lock().expect(POISON);
            if let Some(at) = state.idle.iter().position(|&i| i == self.index) {
                state.idle.swap_remove(at);
                self.pool.awake.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
        while !self.slot.woken.load(Ordering::Acquire) && !self.pool.stopping.load(Ordering::SeqCst)
        {
            std::thread::park();
        }
    }

    fn work(&mut self, work: Work) {
        let assignment = work.assignment().clone();
        let active = Active::enter(&self.runner.dispatch, &assignment);
        let start = Tick::now();
        self.now = start;
        let mut records = 0u32;
        match work {
            Work::Batch(batch) => {
                while let Some(entry) = batch.claim() {
                    let item = Item {
                        bytes: Bytes::InBatch(batch.view(entry)),
                        seq: batch.seq(entry),
                        lane: entry.lane,
                        attempts: 0,
                        handed: batch.handed,
                    };
                    if !self.chain(&assignment, item, &mut records) {
                        self.put_back(&batch);
                        break;
                    }
                    // Another thread goes on with the batch.
                    if self.pool.is_over() {
                        break;
                    }
                }
            }
            Work::Single(s) => {
                let item = Item {
                    bytes: Bytes::Own(s.record),
                    seq: s.seq,
                    lane: s.lane,
                    attempts: s.attempts,
                    handed: s.handed,
                };
                self.chain(&assignment, item, &mut records);
            }
        }
        self.tell(&assignment, None);
        drop(active);
        if records > 0 {
            let each = (start.elapsed().as_nanos() / u128::from(records)) as u64;
            self.pool.note_pace(each, records);
        }
    }

    /// A paused batch goes aside with what nobody claimed yet; a revoked one
    /// is dropped with its partition.
    fn put_back(&self, batch: &Arc<Batch>) {
        if self.runner.dispatch.may_start(&batch.assignment) != MayStart::Never {
            self.runner.dispatch.park(Work::Batch(batch.clone()));
        }
    }

    /// Runs a record and those that queued behind it on its lane; false when
    /// the partition must not go on.
    fn chain(&mut self, a: &Arc<Assignment>, item: Item<'_>, records: &mut u32) -> bool {
        let lane = item.lane;
        let mut next = self.one(a, item, records);
        let mut length = 1;
        loop {
            let waiting = match next {
                Step::Stop => return false,
                Step::Free => return true,
                Step::Next(waiting) => waiting,
            };
            length += 1;
            if self.pool.is_over() || length > CHAIN && self.runner.dispatch.backlog() > 0 {
                self.runner.requeue(single(a, waiting, lane));
                return true;
            }
            let item = Item {
                bytes: Bytes::Own(waiting.record),
                seq: waiting.seq,
                lane,
                attempts: 0,
                handed: waiting.handed,
            };
            next = self.one(a, item, records);
        }
    }

    fn one(&mut self, a: &Arc<Assignment>, item: Item<'_>, records: &mut u32) -> Step {
        match self.runner.dispatch.may_start(a) {
            MayStart::Now => {}
            MayStart::Never => return Step::Stop,
            MayStart::Later => {
                let Item { bytes, seq, lane, attempts, handed } = item;
                let single = Single {
                    assignment: a.clone(),
                    record: bytes.own(),
                    seq,
                    lane,
                    attempts,
                    handed,
                };
                self.runner.dispatch.park(Work::Single(single));
                return Step::Stop;
            }
        }
        *records += 1;
        let own_view;
        let view = match &item.bytes {
            Bytes::InBatch(view) => view,
            Bytes::Own(record) => {
                own_view = record.view();
                &own_view
            }
        };
        let start = self.now;
        self.tell(a, Some(Running::new(a.partition, view, start)));
        let attempt = item.attempts + 1;
        let handler = &*self.pool.handler;
        let runner = &*self.runner;
        let mut letter = None;
        let outcome = view.with_message(&runner.dispatch.topic, a.partition, |message| {
            let result = {
                let _scope = InHandler::enter(attempt);
                contained(|| handler.process(message))
            };
            let outcome = runner.judge(result, message, attempt);
            if let Outcome::Failed { verdict: Verdict::DeadLetter, text, .. } = &outcome {
                let begun = Tick::now();
                let told = runner.dead_letter(message, text, attempt);
                letter = Some((told, begun.elapsed()));
            }
            outcome
        });
        self.now = Tick::now();
        let took = self.now.duration_since(start);
        if took > SHORT {
            // At once, not after the batch: others may be needed for it.
            self.pool.note_pace(took.as_nanos() as u64, 1);
        }
        let overflow = attempt == 1 && self.pool.is_full();
        let waited = (attempt == 1).then(|| start.saturating_duration_since(item.handed));
        let bytes = view.size() as u64;
        match outcome {
            Outcome::Done(traits) => {
                let traits = traits.raw();
                self.finished = Some(Finished {
                    seq: item.seq,
                    bytes,
                    took: Some(took),
                    waited,
                    traits,
                    overflow,
                });
            }
            Outcome::Failed { verdict, text, panicked } => {
                let offset = view.offset();
                self.count(a, |counts| {
                    count_failure(counts, verdict, panicked);
                    let letter = letter.as_ref().map_or(Duration::ZERO, |l| l.1);
                    counts.handled(took.saturating_sub(letter));
                });
                match letter {
                    Some((Ok(()), spent)) => {
                        self.count(a, |counts| {
                            counts.dead_lettered += 1;
                            counts.lettered(spent);
                        });
                        self.finished = Some(Finished {
                            seq: item.seq,
                            bytes,
                            took: None,
                            waited,
                            traits: 0,
                            overflow,
                        });
                    }
                    Some((Err(why), _)) => {
                        self.runner.fatal(
                            a,
                            offset,
                            &format!(
                                "the dead-letter handler {why}; the record's own error was: {text}"
                            ),
                        );
                        return Step::Stop;
                    }
                    None => {
                        let single = Single {
                            assignment: a.clone(),
                            record: item.bytes.own(),
                            seq: item.seq,
                            lane: item.lane,
                            attempts: attempt,
                            handed: item.handed,
                        };
                        // The record is no longer running, whoever asks.
                        self.tell(a, None);
                        return match self.runner.settle(verdict, &text, single, offset) {
                            Fate::Fatal => Step::Stop,
                            Fate::Waits | Fate::Ended => Step::Free,
                        };
                    }
                }
            }
        }
        match self.runner.dispatch.advance(a, item.lane) {
            Some(waiting) => Step::Next(waiting),
            None => Step::Free,
        }
    }

    fn count(&self, a: &Assignment, f: impl FnOnce(&mut super::stats::Counts)) {
        let mut shard = self.runner.dispatch.events.shard(self.index);
        f(shard.tally.of(&a.totals));
    }

    /// One visit to the shard: the record before has ended, the next runs. A
    /// blocked handler therefore never hides an ended record.
    fn tell(&mut self, a: &Assignment, next: Option<Running>) {
        let finished = self.finished.take();
        let events = &self.runner.dispatch.events;
        let mut shard = events.shard(self.index);
        shard.running = next;
        let Some(f) = finished else { return };
        let first = ended(&mut shard, a, &f);
        drop(shard);
        if first {
            events.announce(self.index);
        }
    }
}

enum Step {
    /// The lane's next record.
    Next(Waiting),
    /// The lane is free or waits for a retry.
    Free,
    /// The partition must not go on.
    Stop,
}

fn ended(shard: &mut Shard, a: &Assignment, f: &Finished) -> bool {
    let counts = shard.tally.of(&a.totals);
    if a.is_released() {
        counts.orphaned += 1;
    } else {
        counts.processed += 1;
    }
    counts.traits |= f.traits;
    counts.used_overflow += u64::from(f.overflow);
    if let Some(took) = f.took {
        counts.handled(took);
    }
    if let Some(waited) = f.waited {
        counts.waited(waited);
    }
    shard.push(a.id, f.seq, f.bytes)
}

fn single(a: &Arc<Assignment>, waiting: Waiting, lane: u64) -> Single {
    Single {
        assignment: a.clone(),
        record: waiting.record,
        seq: waiting.seq,
        lane,
        attempts: 0,
        handed: waiting.handed,
    }
}
