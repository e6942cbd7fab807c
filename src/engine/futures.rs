//! Runs [`AsyncProcessHandler`]s on a tokio runtime.
//!
//! A few driver tasks claim records as pool threads do and poll each handler's
//! future once where they are, in a server: a future that lives on from record
//! to record. So a handler that does not wait costs neither a task nor an
//! allocation of its own. A server whose handler waits moves into a task, which
//! goes on with its lane's next records; the driver takes a new one.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use llingr_nexus::{Message, Traits};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::block::{OwnedRecord, POISON};
use super::guard::{InHandler, contained};
use super::lanes::Waiting;
use super::retry::Verdict;
use super::runner::{Fate, Outcome, Runner, count_failure};
use super::stats::Counts;
use super::work::{Active, Assignment, Dispatch, MayStart, Single, Tick, Work};

/// What an async handler returns on failure.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// Processes a record asynchronously.
///
/// The message borrows the record, which stays valid for the whole future. A
/// future that waits takes no thread; up to `concurrent_keys` of them run at
/// once. Blocking inside the future blocks a thread of the runtime, as in any
/// async code: use a sync `ProcessHandler` for that.
///
/// A future is dropped before its end only if the engine's runtime is shut
/// down; its record has then not been committed and runs again.
///
/// ```
/// use llingr_kafka::{AsyncProcessHandler, HandlerError, Message, Traits};
///
/// struct Orders;
///
/// impl AsyncProcessHandler for Orders {
///     async fn process(&self, message: &Message<'_>) -> Result<Traits, HandlerError> {
///         let order = message.value_str().ok_or("an order without text")?;
///         tokio::task::yield_now().await; // ask another service
///         let _ = order;
///         Ok(Traits::none())
///     }
/// }
/// ```
pub trait AsyncProcessHandler: Send + Sync + 'static {
    /// Processes one record. An error or a panic goes to the retry policy and
    /// then to the dead-letter handler.
    fn process(
        &self,
        message: &Message<'_>,
    ) -> impl Future<Output = Result<Traits, HandlerError>> + Send;
}

/// After so many records of one key a task makes room for others.
const CHAIN: u32 = 16;
/// Pieces of work that one driver is left alone with.
const BACKLOG: usize = 8;
/// A driver lets others run after so many records.
const YIELD: u32 = 256;
const PENDING_SHARDS: usize = 16;

/// A record whose future waits, for `health`.
pub(crate) struct PendingRecord {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) since: Tick,
    record: OwnedRecord,
}

impl PendingRecord {
    pub(crate) fn key(&self) -> Option<Vec<u8>> {
        self.record.view().key().map(<[u8]>::to_vec)
    }
}

/// The part of the executor that does not depend on the handler's type.
pub(crate) struct Futures {
    runner: Arc<Runner>,
    ready: Notify,
    freed: Notify,
    drivers: usize,
    limit: AtomicUsize,
    /// Drivers that are not asleep.
    awake: AtomicUsize,
    pending: AtomicUsize,
    /// Which drivers may be running a record, by index.
    active: Vec<DriverFlag>,
    /// Taken to decide on the last few places below the limit.
    last_places: Mutex<()>,
    starved: AtomicUsize,
    next_id: AtomicU64,
    waiting: [Mutex<HashMap<u64, PendingRecord>>; PENDING_SHARDS],
}

/// A driver's flag on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct DriverFlag(AtomicBool);

impl Futures {
    pub(crate) fn new(runner: Arc<Runner>, drivers: usize, limit: usize) -> Arc<Futures> {
        let futures = Arc::new(Futures {
            runner,
            ready: Notify::new(),
            freed: Notify::new(),
            drivers: drivers.max(1),
            limit: AtomicUsize::new(limit),
            awake: AtomicUsize::new(drivers.max(1)),
            pending: AtomicUsize::new(0),
            active: (0..drivers.max(1)).map(|_| DriverFlag::default()).collect(),
            last_places: Mutex::new(()),
            starved: AtomicUsize::new(0),
            next_id: AtomicU64::new(0),
            waiting: Default::default(),
        });
        let weak = Arc::downgrade(&futures);
        futures.runner.dispatch.on_ready(move |records| {
            if let Some(f) = weak.upgrade() {
                f.rouse(records);
                if f.runner.dispatch.is_dead() {
                    f.ready.notify_waiters();
                    f.freed.notify_waiters();
                }
            }
        });
        futures
    }

    /// Wakes drivers for records that became ready. One driver that is awake
    /// gets on faster alone, unless a lot is waiting.
    fn rouse(&self, records: usize) {
        let awake = self.awake.load(Ordering::SeqCst);
        if awake == 0 {
            self.ready.notify_one();
        } else if awake < self.drivers && self.runner.dispatch.backlog() > BACKLOG {
            for _ in awake..self.drivers.min(awake + records) {
                self.ready.notify_one();
            }
        }
    }

    /// Wakes a driver if records wait although one is awake: it may be stuck in
    /// a handler that blocks its thread. Called every now and then.
    pub(crate) fn nudge(&self) {
        let awake = self.awake.load(Ordering::SeqCst);
        if awake < self.drivers && self.runner.dispatch.unclaimed() > 0 {
            self.ready.notify_one();
        }
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.freed.notify_waiters();
        for _ in 0..self.drivers {
            self.ready.notify_one();
        }
    }

    /// Futures that wait.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// The future that has been waiting longest, by `f` of it.
    pub(crate) fn oldest<R>(&self, f: impl Fn(&PendingRecord) -> R) -> Option<(Tick, R)> {
        let mut oldest: Option<(Tick, R)> = None;
        for shard in &self.waiting {
            let shard = shard.lock().expect(POISON);
            if let Some(p) = shard.values().min_by_key(|p| p.since)
                && oldest.as_ref().is_none_or(|(at, _)| p.since < *at)
            {
                oldest = Some((p.since, f(p)));
            }
        }
        oldest
    }

    /// Whether driver `index` may run one more record. Every driver runs at
    /// most one, so while there are places for all of them on top of the
    /// waiting futures, nobody has to count. For the last places the drivers
    /// that run are counted.
    fn has_room(&self, index: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let own = &self.active[index].0;
        if self.pending.load(Ordering::SeqCst) + self.drivers <= limit {
            if !own.load(Ordering::Relaxed) {
                own.store(true, Ordering::SeqCst);
            }
            return true;
        }
        let _one = self.last_places.lock().expect(POISON);
        // A driver whose future begins to wait counts as pending before it
        // rests: looked at in this order it is not overlooked.
        let others = (0..self.drivers)
            .filter(|&i| i != index && self.active[i].0.load(Ordering::SeqCst))
            .count();
        let room = others + self.pending.load(Ordering::SeqCst) < limit;
        if room {
            own.store(true, Ordering::SeqCst);
        }
        room
    }

    /// Driver `index` runs nothing for now.
    fn rest(&self, index: usize) {
        if self.active[index].0.swap(false, Ordering::SeqCst)
            && self.starved.load(Ordering::SeqCst) > 0
        {
            self.freed.notify_waiters();
        }
    }

    /// Whether more futures wait than the limit, which was lowered, allows.
    fn is_over(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    /// Waits until there is room or nothing may start any more.
    async fn room(&self, index: usize) {
        while !self.has_room(index) && !self.runner.dispatch.is_dead() {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            self.starved.fetch_add(1, Ordering::SeqCst);
            self.rest(index);
            if !self.has_room(index) && !self.runner.dispatch.is_dead() {
                freed.await;
            }
            self.starved.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Calls `f` with each record whose future waits.
    pub(crate) fn each(&self, mut f: impl FnMut(&PendingRecord)) {
        for shard in &self.waiting {
            shard.lock().expect(POISON).values().for_each(&mut f);
        }
    }

    fn leave(&self) {
        self.pending.fetch_sub(1, Ordering::SeqCst);
        if self.starved.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }

    fn shard_of(id: u64) -> usize {
        id as usize % PENDING_SHARDS
    }
}

/// Counts a future as waiting until dropped, also when its task is cancelled.
struct Pending {
    futures: Arc<Futures>,
    id: u64,
}

impl Pending {
    fn enter(futures: &Arc<Futures>, a: &Assignment, record: &OwnedRecord, since: Tick) -> Pending {
        futures.pending.fetch_add(1, Ordering::SeqCst);
        let pending = Pending {
            futures: futures.clone(),
            id: futures.next_id.fetch_add(1, Ordering::Relaxed),
        };
        pending.now_runs(a, record, since);
        pending
    }

    fn now_runs(&self, a: &Assignment, record: &OwnedRecord, since: Tick) {
        let entry = PendingRecord {
            partition: a.partition,
            offset: record.view().offset(),
            since,
            record: record.clone(),
        };
        let shard = &self.futures.waiting[Futures::shard_of(self.id)];
        shard.lock().expect(POISON).insert(self.id, entry);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let shard = &self.futures.waiting[Futures::shard_of(self.id)];
        shard.lock().expect(POISON).remove(&self.id);
        self.futures.leave();
    }
}

/// A record at work. A driver borrows the assignment of its batch, so that
/// drivers do not share a reference count for each record.
struct Job<A = Arc<Assignment>> {
    assignment: A,
    record: OwnedRecord,
    seq: u64,
    lane: u64,
    attempts: u32,
    handed: Tick,
}

impl<A: Borrow<Arc<Assignment>>> Job<A> {
    fn assignment(&self) -> &Arc<Assignment> {
        self.assignment.borrow()
    }

    fn behind(&self, waiting: Waiting) -> Job {
        Job {
            assignment: self.assignment().clone(),
            record: waiting.record,
            seq: waiting.seq,
            lane: self.lane,
            attempts: 0,
            handed: waiting.handed,
        }
    }

    fn owned(self) -> Job {
        let assignment = self.assignment().clone();
        let Job { record, seq, lane, attempts, handed, .. } = self;
        Job { assignment, record, seq, lane, attempts, handed }
    }

    fn single(self, attempts: u32) -> Single {
        let Job { assignment, record, seq, lane, handed, .. } = self.owned();
        Single { assignment, record, seq, lane, attempts, handed }
    }

    fn errand(&self) -> Errand {
        Errand {
            record: self.record.clone(),
            partition: self.assignment().partition,
            attempt: self.attempts + 1,
        }
    }
}

impl Job {
    fn of(single: Single) -> Job {
        let Single { assignment, record, seq, lane, attempts, handed } = single;
        Job { assignment, record, seq, lane, attempts, handed }
    }
}

/// Polls a handler's future with panics contained and the thread marked.
struct Contained<F> {
    future: F,
    attempt: u32,
}

impl<F: Future + Unpin> Future for Contained<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let _scope = InHandler::enter(self.attempt);
        let future = Pin::new(&mut self.future);
        match contained(|| future.poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(out)) => Poll::Ready(Ok(out)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// What a server is asked to run.
struct Errand {
    record: OwnedRecord,
    partition: i32,
    attempt: u32,
}

thread_local! {
    /// What the server that is polled next on this thread shall run, and what
    /// it has to say when that poll returns.
    static ERRAND: Cell<Option<Errand>> = const { Cell::new(None) };
    static OUTCOME: Cell<Option<Outcome>> = const { Cell::new(None) };
}

/// Runs one errand after the other, for ever. A future that lives on and is
/// handed its records costs less than one that is made, moved and dropped for
/// each. It owns the record of the errand it is at, so the message it lends out
/// lives as long as the handler's future does.
async fn serve<H: AsyncProcessHandler>(runner: Arc<Runner>, handler: Arc<H>) -> Infallible {
    loop {
        let Errand { record, partition, attempt } =
            poll_fn(|_| ERRAND.take().map_or(Poll::Pending, Poll::Ready)).await;
        let view = record.view();
        let names = view.header_names();
        let headers = view.headers_named(&names);
        let message = view.message_with(&runner.dispatch.topic, partition, &headers);
        let future = pin!(async { handler.process(&message).await });
        let result = Contained { future, attempt }.await;
        let result = result.map(|r| r.map_err(|e| e as Box<dyn Error>));
        OUTCOME.set(Some(runner.judge(result, &message, attempt)));
    }
}

/// A server and how it is asked.
struct Server<F>(Pin<Box<F>>);

impl<F: Future<Output = Infallible>> Server<F> {
    /// Polls the server, with a new errand if it has none.
    fn poll(&mut self, errand: Option<Errand>, cx: &mut Context<'_>) -> Poll<Outcome> {
        ERRAND.set(errand);
        match self.0.as_mut().poll(cx) {
            Poll::Pending => OUTCOME.take().map_or(Poll::Pending, Poll::Ready),
        }
    }

    /// Runs an errand, or what is left of the present one, to its end.
    async fn finish(&mut self, mut errand: Option<Errand>) -> Outcome {
        poll_fn(|cx| self.poll(errand.take(), cx)).await
    }
}

/// Starts the driver tasks; they end when the engine is dead.
pub(crate) fn start<H: AsyncProcessHandler>(
    futures: &Arc<Futures>,
    handler: Arc<H>,
    runtime: &Handle,
) {
    for index in 0..futures.drivers {
        let (runner, handler) = (futures.runner.clone(), handler.clone());
        let make = move || serve(runner.clone(), handler.clone());
        let driver = Driver { futures: futures.clone(), index, make, spare: None };
        runtime.spawn(driver.drive());
    }
}

/// Claims records and polls each once. `F` is the future of a server, `M` makes
/// one.
struct Driver<F, M> {
    futures: Arc<Futures>,
    index: usize,
    make: M,
    /// A server without an errand.
    spare: Option<Server<F>>,
}

impl<F, M> Driver<F, M>
where
    F: Future<Output = Infallible> + Send + 'static,
    M: Fn() -> F + Send + Sync + 'static,
{
    async fn drive(mut self) {
        let dispatch = self.futures.runner.dispatch.clone();
        while !dispatch.is_dead() {
            self.futures.room(self.index).await;
            match dispatch.next() {
                Some(work) => self.work(work).await,
                None => self.sleep(&dispatch).await,
            }
        }
        self.futures.rest(self.index);
        self.futures.awake.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until woken. Work that arrives between the look and the sleep is
    /// seen by a second look, made while already counted as asleep.
    async fn sleep(&mut self, dispatch: &Dispatch) {
        self.futures.rest(self.index);
        self.futures.awake.fetch_sub(1, Ordering::SeqCst);
        {
            let mut ready = pin!(self.futures.ready.notified());
            // Listed as waiting before the second look: a wake-up of all that
            // comes in between is not missed.
            ready.as_mut().enable();
            if dispatch.backlog() == 0 && !dispatch.is_dead() {
                ready.await;
            }
        }
        self.futures.awake.fetch_add(1, Ordering::SeqCst);
    }

    async fn work(&mut self, work: Work) {
        let assignment = work.assignment().clone();
        let dispatch = self.futures.runner.dispatch.clone();
        let mut active = Active::enter(&dispatch, &assignment);
        let mut start = Tick::now();
        let batch = match work {
            Work::Single(single) => {
                if self.may_start(&single.assignment) == MayStart::Later {
                    dispatch.park(Work::Single(single));
                } else {
                    self.first_poll(Job::of(single), &mut start).await;
                }
                return;
            }
            Work::Batch(batch) => batch,
        };
        let mut since_yield = 0;
        while let Some(entry) = batch.claim() {
            if !self.futures.has_room(self.index) {
                // Other partitions' futures may hold the room for long: a
                // revoke of this one must not wait for them.
                drop(active);
                let events = &dispatch.events;
                events.shard(self.index).tally.of(&assignment.totals).used_overflow += 1;
                self.futures.room(self.index).await;
                active = Active::enter(&dispatch, &assignment);
                start = Tick::now();
            }
            let job = Job {
                assignment: &assignment,
                record: OwnedRecord::copy_of(&batch.view(entry)),
                seq: batch.seq(entry),
                lane: entry.lane,
                attempts: 0,
                handed: batch.handed,
            };
            match self.may_start(&assignment) {
                MayStart::Now => self.first_poll(job, &mut start).await,
                MayStart::Never => break,
                MayStart::Later => {
                    dispatch.park(Work::Single(job.single(0)));
                    dispatch.park(Work::Batch(batch));
                    break;
                }
            }
            since_yield += 1;
            if since_yield == YIELD {
                since_yield = 0;
                tokio::task::yield_now().await;
                start = Tick::now();
            }
        }
        drop(active);
    }

    fn may_start(&self, a: &Assignment) -> MayStart {
        self.futures.runner.dispatch.may_start(a)
    }

    /// Polls a record's future once; what has to wait becomes a task.
    async fn first_poll<A: Borrow<Arc<Assignment>>>(&mut self, job: Job<A>, start: &mut Tick) {
        if self.may_start(job.assignment()) == MayStart::Never {
            return;
        }
        let mut server = match self.spare.take() {
            Some(server) => server,
            None => Server(Box::pin((self.make)())),
        };
        let mut errand = Some(job.errand());
        // A fresh budget: records of one driver must not starve each other.
        let polled = tokio::task::coop::unconstrained(poll_fn(|cx| {
            Poll::Ready(server.poll(errand.take(), cx))
        }))
        .await;
        let begun = *start;
        match polled {
            Poll::Ready(Outcome::Done(traits)) => {
                self.spare = Some(server);
                *start = Tick::now();
                let took = start.duration_since(begun);
                let next = self.futures.ended(self.index, &job, traits, begun, took);
                if let Some(next) = next {
                    self.futures.runner.requeue(next.single(0));
                }
            }
            // The dead-letter handler may take long: not here, where the next
            // record waits.
            Poll::Ready(outcome @ Outcome::Failed { verdict: Verdict::DeadLetter, .. }) => {
                self.spawn(server, job.owned(), begun, Some(outcome));
                *start = Tick::now();
            }
            Poll::Ready(outcome @ Outcome::Failed { .. }) => {
                self.spare = Some(server);
                let next = self.futures.failed(self.index, job.owned(), outcome, begun).await;
                if let Some(next) = next {
                    self.futures.runner.requeue(next.single(0));
                }
                *start = Tick::now();
            }
            Poll::Pending => {
                self.spawn(server, job.owned(), begun, None);
                *start = Tick::now();
            }
        }
    }

    /// Makes a task of a record that takes longer than one poll.
    fn spawn(&self, server: Server<F>, job: Job, begun: Tick, outcome: Option<Outcome>) {
        let pending = Pending::enter(&self.futures, &job.assignment, &job.record, begun);
        let active = Active::enter(&self.futures.runner.dispatch, &job.assignment);
        let task =
            Task { futures: self.futures.clone(), index: self.index, pending, _active: active };
        tokio::spawn(task.go_on(server, job, begun, outcome));
    }
}

/// A future that waits, and then its lane's next records.
struct Task {
    futures: Arc<Futures>,
    index: usize,
    pending: Pending,
    _active: Active,
}

impl Task {
    /// With an `outcome` the future has ended already.
    async fn go_on<F>(
        self,
        mut server: Server<F>,
        mut job: Job,
        mut begun: Tick,
        mut outcome: Option<Outcome>,
    ) where
        F: Future<Output = Infallible> + Send + 'static,
    {
        let mut errand = None;
        let runner = &self.futures.runner;
        let mut length = 1;
        loop {
            let outcome = match outcome.take() {
                Some(outcome) => outcome,
                None => server.finish(errand.take()).await,
            };
            let took = begun.elapsed();
            let next = match outcome {
                Outcome::Done(traits) => self.futures.ended(self.index, &job, traits, begun, took),
                failed => self.futures.failed(self.index, job, failed, begun).await,
            };
            let Some(next) = next else { return };
            job = next;
            length += 1;
            if self.futures.is_over() || length > CHAIN && runner.dispatch.backlog() > 0 {
                runner.requeue(job.single(0));
                return;
            }
            match runner.dispatch.may_start(&job.assignment) {
                MayStart::Now => {}
                MayStart::Never => return,
                MayStart::Later => {
                    runner.dispatch.park(Work::Single(job.single(0)));
                    return;
                }
            }
            begun = Tick::now();
            self.pending.now_runs(&job.assignment, &job.record, begun);
            errand = Some(job.errand());
        }
    }
}

impl Futures {
    /// Reports a record that succeeded; returns the lane's next.
    fn ended<A: Borrow<Arc<Assignment>>>(
        &self,
        index: usize,
        job: &Job<A>,
        traits: Traits,
        begun: Tick,
        took: Duration,
    ) -> Option<Job> {
        let orphaned = job.assignment().is_released();
        self.report(index, job, |counts| {
            if orphaned {
                counts.orphaned += 1;
            } else {
                counts.processed += 1;
            }
            counts.traits |= traits.raw();
            counts.handled(took);
            if job.attempts == 0 {
                counts.waited(begun.saturating_duration_since(job.handed));
            }
        });
        self.advance(job)
    }

    fn report<A: Borrow<Arc<Assignment>>>(
        &self,
        index: usize,
        job: &Job<A>,
        f: impl FnOnce(&mut Counts),
    ) {
        let events = &self.runner.dispatch.events;
        let mut shard = events.shard(index);
        f(shard.tally.of(&job.assignment().totals));
        let first = shard.push(job.assignment().id, job.seq, job.record.view().size() as u64);
        drop(shard);
        if first {
            events.announce(index);
        }
    }

    fn advance<A: Borrow<Arc<Assignment>>>(&self, job: &Job<A>) -> Option<Job> {
        let waiting = self.runner.dispatch.advance(job.assignment(), job.lane)?;
        Some(job.behind(waiting))
    }

    /// Deals with a failed run; returns the lane's next record if the failed
    /// one is done with.
    async fn failed(&self, index: usize, job: Job, outcome: Outcome, begun: Tick) -> Option<Job> {
        let Outcome::Failed { verdict, text, panicked } = outcome else { return None };
        let took = begun.elapsed();
        {
            let mut shard = self.runner.dispatch.events.shard(index);
            let counts = shard.tally.of(&job.assignment.totals);
            count_failure(counts, verdict, panicked);
            counts.handled(took);
        }
        let attempt = job.attempts + 1;
        let offset = job.record.view().offset();
        if verdict != Verdict::DeadLetter {
            let single = job.single(attempt);
            match self.runner.settle(verdict, &text, single, offset) {
                Fate::Waits | Fate::Fatal | Fate::Ended => return None,
            }
        }
        let begun = Tick::now();
        match self.dead_letter(&job, &text, attempt).await {
            Ok(()) => {
                self.report(index, &job, |counts| {
                    counts.processed += 1;
                    counts.dead_lettered += 1;
                    counts.lettered(begun.elapsed());
                });
                self.advance(&job)
            }
            Err(why) => {
                let what =
                    format!("the dead-letter handler {why}; the record's own error was: {text}");
                self.runner.fatal(&job.assignment, offset, &what);
                None
            }
        }
    }

    /// The dead-letter handler may block: it runs on a thread made for that.
    async fn dead_letter(&self, job: &Job, text: &str, attempt: u32) -> Result<(), String> {
        let runner = self.runner.clone();
        let (record, partition, text) =
            (job.record.clone(), job.assignment.partition, text.to_owned());
        let called = tokio::task::spawn_blocking(move || {
            record.view().with_message(&runner.dispatch.topic, partition, |message| {
                runner.dead_letter(message, &text, attempt)
            })
        });
        called.await.unwrap_or_else(|e| Err(format!("could not be called: {e}")))
    }
}
