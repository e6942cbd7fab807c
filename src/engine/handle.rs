//! A built engine.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llingr_nexus::ShutdownHandler;
use tokio::runtime::Runtime;

use super::block::POISON;
use super::control::Engine;
use super::guard::{contained, current_attempt};
use super::host::Host;
use super::observe::{Executor, Observer};
use super::{signals, sys};
use crate::error::{ErrorKind, LlingrError};
use crate::metrics::Registration;
use crate::snapshot::{Health, Ready, Snapshot, State};

/// What the builder puts together.
pub(crate) struct Parts {
    pub(crate) engine: Engine,
    pub(crate) host: Arc<Host>,
    pub(crate) table: sys::llingr_host,
    pub(crate) executor: Arc<Executor>,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) registration: Option<Registration>,
    pub(crate) shutdown: Option<Box<dyn ShutdownHandler>>,
    pub(crate) limit: Arc<AtomicUsize>,
    pub(crate) drain_timeout: Duration,
}

/// An engine: one member of a consumer group on one topic.
///
/// A process holds one engine at a time; another can be built after `run` has
/// returned, or after the handle of one that never ran was dropped. Clones are
/// handles of the same engine. Dropping handles does not stop an engine that
/// runs.
///
/// All methods may be called from any thread, from handlers too.
#[derive(Clone)]
pub struct Llingr {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    host: Arc<Host>,
    executor: Arc<Executor>,
    observer: Arc<Observer>,
    limit: Arc<AtomicUsize>,
    drain_timeout: Duration,
    ran: AtomicBool,
    asked: Mutex<Option<String>>, // reason of an emergency stop before run
    teardown: Mutex<Option<Teardown>>,
}

/// What ends with the engine.
struct Teardown {
    table: sys::llingr_host,
    runtime: Option<Runtime>,
    _registration: Option<Registration>,
    shutdown: Option<Box<dyn ShutdownHandler>>,
}

// SAFETY: the table holds function pointers and the pointer of an Arc<Host>,
// and Host is Send and Sync; all other fields are Send by themselves.
unsafe impl Send for Teardown {}

impl fmt::Debug for Llingr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, cause) = self.shared.host.state();
        f.debug_struct("Llingr").field("state", &state).field("cause", &cause).finish()
    }
}

/// How long the end waits for handler threads that the drain gave up on.
const STUCK_WAIT: Duration = Duration::from_millis(200);

impl Llingr {
    pub(crate) fn new(parts: Parts) -> Llingr {
        let Parts {
            engine,
            host,
            table,
            executor,
            runtime,
            observer,
            registration,
            shutdown,
            limit,
            drain_timeout,
        } = parts;
        signals::use_alternate_stacks();
        Llingr {
            shared: Arc::new(Shared {
                engine,
                host,
                executor,
                observer,
                limit,
                drain_timeout,
                ran: AtomicBool::new(false),
                asked: Mutex::new(None),
                teardown: Mutex::new(Some(Teardown {
                    table,
                    runtime,
                    _registration: registration,
                    shutdown,
                })),
            }),
        }
    }

    /// Joins the group and consumes until the engine is stopped; blocks the
    /// calling thread.
    ///
    /// Returns after the shutdown handler has been called, the group left and
    /// all connections closed.
    ///
    /// Signal handlers of the program's should be installed before: `build` and
    /// `run` let those that exist use the alternate signal stack, without which
    /// they must not run on threads of the Go runtime.
    ///
    /// # Errors
    ///
    /// Everything but a stop as asked: an emergency stop (the failed dead-letter
    /// handler, the retry policy's stop, [`emergency_stop`](Llingr::emergency_stop)),
    /// a refused membership, fetching that failed for
    /// `llingr.poll.error.bail.after.ms`. Calling it a second time, or after a
    /// stop, is an error as well.
    pub fn run(&self) -> Result<(), LlingrError> {
        let shared = &self.shared;
        if shared.ran.swap(true, Ordering::SeqCst) {
            return Err(LlingrError::new(
                ErrorKind::State,
                "run was called before; build a new engine",
            ));
        }
        if current_attempt().is_some() {
            return Err(LlingrError::new(ErrorKind::State, "run was called inside a handler"));
        }
        signals::use_alternate_stacks();
        if let Err(e) = shared.engine.start() {
            let reason = shared.asked.lock().expect(POISON).take();
            let e = match reason {
                Some(reason) => LlingrError::new(ErrorKind::EmergencyStop, reason),
                None => e,
            };
            self.end(e.text());
            return Err(e);
        }
        let end = shared.host.wait_for_end(None).expect("waits without a limit");
        self.end(&end.reason);
        match end.code {
            0 => Ok(()),
            sys::LLINGR_ERR_STATE => Err(LlingrError::new(ErrorKind::EmergencyStop, end.reason)),
            code => Err(LlingrError::from_engine(code, end.reason.as_bytes())),
        }
    }

    /// Tells the shutdown handler and takes everything down.
    fn end(&self, reason: &str) {
        let Some(mut teardown) = self.shared.teardown.lock().expect(POISON).take() else { return };
        if let Some(handler) = teardown.shutdown.take()
            && let Err(panic) = contained(|| handler.handle(reason))
        {
            log::error!(target: crate::LOG_TARGET, "the shutdown handler panicked: {panic}");
        }
        self.shared.take_down(teardown);
    }

    /// Stops in order: records in handlers are waited for (at most
    /// `drain_timeout`), what ended is committed, the group is left. Blocks
    /// until `run` is about to return, at most `drain_timeout` and 30 s more.
    ///
    /// Inside a handler it only asks and returns at once, since the stop waits
    /// for that handler. Before `run` it makes `run` return an error. After the
    /// end it does nothing.
    pub fn stop(&self) {
        let shared = &self.shared;
        shared.engine.stop();
        if shared.ran.load(Ordering::SeqCst) && current_attempt().is_none() {
            let limit = shared.drain_timeout + Duration::from_secs(30);
            if shared.host.wait_for_end(Some(limit)).is_none() {
                log::error!(target: crate::LOG_TARGET, "the engine has not ended within {limit:?} after stop");
            }
        }
    }

    /// A closure that calls [`stop`](Llingr::stop), for a signal watcher's
    /// thread. It keeps no engine from ending.
    ///
    /// Not for use inside a signal handler itself: it takes locks.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let engine = self.clone();
        move || engine.stop()
    }

    /// Ends at once: no handler is waited for, nothing is committed, `run`
    /// returns an error with this reason. Does not block. Before `run` it makes
    /// `run` fail; after the end it does nothing.
    pub fn emergency_stop(&self, reason: &str) {
        let reason = if reason.is_empty() { "emergency stop" } else { reason };
        self.shared.asked.lock().expect(POISON).get_or_insert_with(|| reason.to_owned());
        self.shared.engine.emergency_stop(reason.to_owned());
    }

    /// Stops fetching and starting records; running handlers go on. The
    /// membership stays. With a partition, only that one, until it is revoked
    /// or resumed; it must be assigned.
    ///
    /// # Errors
    ///
    /// The partition is not assigned to this member, or the engine has ended.
    pub fn pause(&self, partition: Option<i32>) -> Result<(), LlingrError> {
        self.set_paused(partition, true)
    }

    /// Undoes [`pause`](Llingr::pause). Resuming all resumes single partitions
    /// too.
    ///
    /// # Errors
    ///
    /// As `pause`; a single partition while all are paused.
    pub fn resume(&self, partition: Option<i32>) -> Result<(), LlingrError> {
        self.set_paused(partition, false)
    }

    fn set_paused(&self, partition: Option<i32>, paused: bool) -> Result<(), LlingrError> {
        if let Some(p) = partition
            && p < 0
        {
            return Err(LlingrError::new(
                ErrorKind::Argument,
                format!("partition {p} does not exist"),
            ));
        }
        self.shared.engine.pause(partition.unwrap_or(-1), paused)
    }

    /// Changes how many keys run at once, 1 to 100,000, from the next record
    /// on. Sync handlers have no more threads than `worker_threads`.
    ///
    /// # Errors
    ///
    /// The number is out of its range.
    pub fn set_concurrent_keys(&self, keys: usize) -> Result<(), LlingrError> {
        if !(1..=100_000).contains(&keys) {
            return Err(LlingrError::new(
                ErrorKind::Argument,
                format!("concurrent_keys is {keys}; it must be between 1 and 100000"),
            ));
        }
        self.shared.limit.store(keys, Ordering::Relaxed);
        match &*self.shared.executor {
            Executor::Threads(pool) => pool.set_limit(keys),
            Executor::Futures(futures) => futures.set_limit(keys),
        }
        Ok(())
    }

    /// How the engine is, for a liveness probe. Costs a call into the engine.
    pub fn health(&self) -> Health {
        self.shared.observer.health()
    }

    /// Whether the engine takes part in its group, for a readiness probe.
    pub fn ready(&self) -> Ready {
        self.shared.observer.ready()
    }

    /// Waits until the engine is a member with a known assignment; false if that
    /// did not happen within `limit` or the engine ended.
    pub fn wait_until_ready(&self, limit: Duration) -> bool {
        let wanted = |s| matches!(s, State::Running | State::Paused);
        self.shared.host.wait_for_state(limit, wanted).is_some_and(wanted)
    }

    /// Everything worth knowing of the engine at this moment.
    ///
    /// # Errors
    ///
    /// The engine's answer could not be understood.
    pub fn snapshot(&self) -> Result<Snapshot, LlingrError> {
        self.shared.observer.snapshot()
    }

    /// [`snapshot`](Llingr::snapshot) as JSON.
    ///
    /// # Errors
    ///
    /// As `snapshot`.
    pub fn snapshot_json(&self) -> Result<String, LlingrError> {
        let snapshot = self.snapshot()?;
        serde_json::to_string(&snapshot)
            .map_err(|e| LlingrError::new(ErrorKind::Malformed, format!("the snapshot: {e}")))
    }
}

impl Shared {
    fn take_down(&self, teardown: Teardown) {
        self.host.dispatch.die();
        self.host.timer.stop();
        if let Executor::Threads(pool) = &*self.executor {
            let stuck = pool.stop(STUCK_WAIT);
            if stuck > 0 {
                log::warn!(target: crate::LOG_TARGET, "{stuck} handlers still run after the end; their threads are left behind");
            }
        }
        if let Some(runtime) = teardown.runtime {
            runtime.shutdown_background();
        }
        match self.engine.free() {
            // SAFETY: freed: the engine calls no more, and only this teardown
            // had the table.
            Ok(()) => unsafe { Host::reclaim(&teardown.table) },
            Err(e) => {
                log::error!(target: crate::LOG_TARGET, "the engine could not be released: {e}")
            }
        }
    }
}

impl Drop for Shared {
    /// An engine that was never run makes room for another one.
    fn drop(&mut self) {
        if let Some(teardown) = self.teardown.get_mut().expect(POISON).take()
            && !*self.ran.get_mut()
        {
            self.take_down(teardown);
        }
    }
}
