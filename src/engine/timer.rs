//! Retries that wait for their time, and the pool's watch over blocked
//! handlers: one thread for both, started when first needed.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::block::POISON;
use super::work::{Dispatch, Single, Tick, Work};

struct Due {
    at: Instant,
    order: u64,
    single: Single,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
/// The heap's greatest is the one due first.
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

#[derive(Default)]
struct State {
    heap: BinaryHeap<Due>,
    order: u64,
    watching: bool,
    stop: bool,
    thread: Option<JoinHandle<()>>,
}

/// Called about every [`TICK`] while it returns true.
type Watch = Box<dyn Fn() -> bool + Send + Sync>;

pub(crate) struct Timer {
    state: Mutex<State>,
    changed: Condvar,
    dispatch: Weak<Dispatch>,
    watch: std::sync::OnceLock<Watch>,
}

/// How soon a blocked handler is noticed.
const TICK: Duration = Duration::from_millis(2);

/// What waits for a retry, for `health`.
pub(crate) struct RetryWaiting {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) handed: Tick,
    pub(crate) key: Option<Vec<u8>>,
}

impl Timer {
    pub(crate) fn new(dispatch: &Arc<Dispatch>) -> Arc<Timer> {
        Arc::new(Timer {
            state: Mutex::default(),
            changed: Condvar::new(),
            dispatch: Arc::downgrade(dispatch),
            watch: std::sync::OnceLock::new(),
        })
    }

    /// Sets the function that `watch` runs. Once.
    pub(crate) fn on_tick(&self, f: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.watch.set(Box::new(f));
    }

    /// Runs the record again after `wait`.
    pub(crate) fn retry(self: &Arc<Self>, single: Single, wait: Duration) {
        let mut state = self.state.lock().expect(POISON);
        if state.stop {
            return;
        }
        state.order += 1;
        let due = Due { at: Instant::now() + wait, order: state.order, single };
        state.heap.push(due);
        self.run(&mut state);
        drop(state);
        self.changed.notify_one();
    }

    /// Starts ticking if it does not already.
    pub(crate) fn watch(self: &Arc<Self>) {
        let mut state = self.state.lock().expect(POISON);
        if state.watching || state.stop {
            return;
        }
        state.watching = true;
        self.run(&mut state);
        drop(state);
        self.changed.notify_one();
    }

    fn run(self: &Arc<Self>, state: &mut State) {
        if state.thread.is_some() {
            return;
        }
        let me = self.clone();
        let spawned =
            std::thread::Builder::new().name("llingr-timer".into()).spawn(move || me.work());
        match spawned {
            Ok(thread) => state.thread = Some(thread),
            Err(e) => {
                if let Some(d) = self.dispatch.upgrade() {
                    d.events.fatal(format!("the timer thread could not be started: {e}"));
                }
            }
        }
    }

    fn work(&self) {
        let mut state = self.state.lock().expect(POISON);
        while !state.stop {
            let now = Instant::now();
            let mut due = Vec::new();
            while state.heap.peek().is_some_and(|d| d.at <= now) {
                due.extend(state.heap.pop());
            }
            let watching = state.watching;
            drop(state);
            let Some(dispatch) = self.dispatch.upgrade() else { return };
            for d in due {
                dispatch.push(Work::Single(d.single));
            }
            drop(dispatch);
            let go_on = watching && self.watch.get().is_some_and(|tick| tick());
            state = self.state.lock().expect(POISON);
            if watching && !go_on {
                state.watching = false;
            }
            let next = state.heap.peek().map(|d| d.at.saturating_duration_since(Instant::now()));
            let wait = if state.watching { Some(next.unwrap_or(TICK).min(TICK)) } else { next };
            if state.stop {
                break;
            }
            state = match wait {
                Some(wait) => self.changed.wait_timeout(state, wait).expect(POISON).0,
                None => self.changed.wait(state).expect(POISON),
            };
        }
        let heap = std::mem::take(&mut state.heap);
        drop(state);
        drop(heap);
    }

    /// Drops the retries of an assignment that was given up.
    pub(crate) fn forget(&self, assignment: u32) {
        let mut state = self.state.lock().expect(POISON);
        let heap = std::mem::take(&mut state.heap);
        let (gone, kept): (Vec<_>, Vec<_>) =
            heap.into_iter().partition(|d| d.single.assignment.id == assignment);
        state.heap = kept.into();
        drop(state);
        drop(gone);
    }

    /// Number of records that wait for a retry, and the one handed over first.
    pub(crate) fn waiting(&self) -> (usize, Option<RetryWaiting>) {
        let state = self.state.lock().expect(POISON);
        let oldest = state.heap.iter().min_by_key(|d| d.single.handed).map(|d| {
            let view = d.single.record.view();
            RetryWaiting {
                partition: d.single.assignment.partition,
                offset: view.offset(),
                handed: d.single.handed,
                key: view.key().map(<[u8]>::to_vec),
            }
        });
        (state.heap.len(), oldest)
    }

    /// Ends the thread and drops what waits.
    pub(crate) fn stop(&self) {
        let thread = {
            let mut state = self.state.lock().expect(POISON);
            state.stop = true;
            state.thread.take()
        };
        self.changed.notify_one();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
