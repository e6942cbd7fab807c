//! One stream thread: polls its membership, fetches, processes, commits.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::error::StreamsError;
use super::manager::{Manager, TaskParts, now_ms};
use super::output::Output;
use super::settings::Settings;
use super::state::UncaughtAction;
use crate::client::{Admin, Client, FetchConfig, ProducerConfig};
use crate::streams::membership::{
    EndpointMap, Leave, Membership, Notice, Settings as MemberSettings, Work,
};

/// Records taken from the fetcher in one round.
const RECEIVE_MAX: usize = 64;
/// Batches of changelogs applied in one round, so that running tasks have their turns.
const RESTORE_MAX: usize = 8;
/// How long leaving the group may take.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// What a thread is asked to do, and what it says of itself.
pub(super) struct Control {
    /// Wakes the thread.
    pub(super) wake: Arc<Notify>,
    stop: AtomicBool,
    pub(super) paused: Arc<AtomicBool>,
    leave: AtomicU8,
    settled: AtomicBool,
    /// What the group told of all instances.
    endpoints: Mutex<Arc<EndpointMap>>,
    /// Tells the instance that `settled` changed.
    pub(super) report: Box<dyn Fn() + Send + Sync>,
}

impl Control {
    pub(super) fn new(paused: Arc<AtomicBool>, report: Box<dyn Fn() + Send + Sync>) -> Self {
        Self {
            wake: Arc::new(Notify::new()),
            stop: AtomicBool::new(false),
            paused,
            leave: AtomicU8::new(0),
            settled: AtomicBool::new(false),
            endpoints: Mutex::default(),
            report,
        }
    }

    pub(super) fn stop(&self, leave: Leave) {
        let code = match leave {
            Leave::Default => 0,
            Leave::ForGood => 1,
            Leave::Silently => 2,
        };
        self.leave.store(code, Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    fn leave(&self) -> Leave {
        match self.leave.load(Ordering::Relaxed) {
            1 => Leave::ForGood,
            2 => Leave::Silently,
            _ => Leave::Default,
        }
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Whether the thread processes everything it was assigned.
    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    pub(super) fn endpoints(&self) -> Arc<EndpointMap> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_endpoints(&self, endpoints: Arc<EndpointMap>) {
        *self.endpoints.lock().unwrap_or_else(PoisonError::into_inner) = endpoints;
    }

    fn set_settled(&self, settled: bool) {
        if self.settled.swap(settled, Ordering::AcqRel) != settled {
            (self.report)();
        }
    }
}

/// What a thread is made of.
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) member: MemberSettings,
    pub(super) tasks: TaskParts,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) control: Arc<Control>,
    pub(super) fetch: FetchConfig,
    pub(super) producer: ProducerConfig,
    /// Says that a member asked for the end of the application.
    pub(super) on_shutdown: Box<dyn Fn() + Send>,
    /// Asks the program what is to follow a failure.
    pub(super) decide: Box<dyn Fn(&StreamsError) -> UncaughtAction + Send>,
}

/// Why a thread ended, and what is to follow.
pub(super) struct Failed {
    pub(super) error: StreamsError,
    pub(super) action: UncaughtAction,
}

struct Thread {
    manager: Manager,
    membership: Membership,
    member: MemberSettings,
    control: Arc<Control>,
    on_shutdown: Box<dyn Fn() + Send>,
    decide: Box<dyn Fn(&StreamsError) -> UncaughtAction + Send>,
    last_purge: Instant,
    purging: Option<tokio::task::JoinHandle<()>>,
}

/// Runs until it is stopped or fails. Everything is closed when it returns.
pub(super) fn run(parts: Parts) -> Result<(), Failed> {
    let output = Output::new(parts.client.clone(), parts.handle.clone(), parts.producer);
    let manager =
        Manager::new(parts.settings, parts.tasks, parts.client, parts.handle, output, parts.fetch);
    let membership = join(&manager, &parts.member, &parts.control);
    let mut thread = Thread {
        manager,
        membership,
        member: parts.member,
        control: parts.control,
        on_shutdown: parts.on_shutdown,
        decide: parts.decide,
        last_purge: Instant::now(),
        purging: None,
    };
    let outcome = thread.work();
    thread.end(outcome)
}

fn join(manager: &Manager, member: &MemberSettings, control: &Control) -> Membership {
    let _context = manager.handle.enter();
    let wake = control.wake.clone();
    Membership::start(manager.client.clone(), member.clone(), Arc::new(move || wake.notify_one()))
}

impl Thread {
    fn work(&mut self) -> Result<(), StreamsError> {
        while !self.control.stopping() {
            match self.round() {
                Ok(()) => {}
                Err(StreamsError::Migrated(why)) => {
                    log::warn!(target: crate::LOG_TARGET, "{why}; joining the group again");
                    self.rejoin();
                }
                Err(StreamsError::Corrupted { task, cause }) => {
                    log::warn!(target: crate::LOG_TARGET, "task {task}: {cause}; restoring it");
                    // What else is in the open transaction goes with it.
                    let ids: Vec<_> = match self.manager.output.is_transactional() {
                        true => self.manager.active().into_iter().collect(),
                        false => vec![task],
                    };
                    self.manager.revive(&ids, Some(task))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One turn of the loop.
    fn round(&mut self) -> Result<(), StreamsError> {
        let mut busy = self.poll()?;
        if self.control.paused.load(Ordering::Relaxed) {
            self.wait()?;
            return Ok(());
        }
        self.manager.resume_drained();
        for _ in 0..RECEIVE_MAX {
            let Some(item) = self.manager.fetcher.try_next() else { break };
            self.manager.receive(item)?;
            busy = true;
        }
        for _ in 0..RESTORE_MAX {
            let Some(item) = self.manager.restorer.try_next() else { break };
            self.manager.receive_restored(item)?;
            busy = true;
        }
        busy |= self.manager.advance()?;
        busy |= self.manager.process()? > 0;
        let now = Instant::now();
        if self.manager.commit_due(now) {
            self.commit()?;
        }
        self.purge(now);
        self.control.set_settled(self.manager.is_settled());
        if !busy {
            self.wait()?;
        }
        Ok(())
    }

    /// Does what the group asks for. Returns whether it asked for anything.
    fn poll(&mut self) -> Result<bool, StreamsError> {
        let polled = self.membership.poll();
        for notice in polled.notices {
            match notice {
                Notice::ShutdownApplication => (self.on_shutdown)(),
                Notice::TopicDenied(text) => return Err(StreamsError::Topics(text)),
                Notice::MissingSourceTopics(detail) => {
                    let text = format!("source topics are missing: {detail}; create them first");
                    return Err(StreamsError::Topics(text.into()));
                }
                Notice::IncorrectlyPartitioned(detail) => {
                    let text = format!("topics have unsuitable numbers of partitions: {detail}");
                    return Err(StreamsError::Topics(text.into()));
                }
                Notice::Fatal(error) => {
                    return Err(StreamsError::Group(error.to_string().into()));
                }
            }
        }
        if let Some(endpoints) = polled.endpoints {
            self.control.set_endpoints(endpoints);
        }
        let Some((id, work)) = polled.work else { return Ok(false) };
        self.control.set_settled(false);
        match work {
            Work::Revoke(tasks) => {
                log::info!(target: crate::LOG_TARGET, "giving up {} tasks", tasks.len());
                self.commit()?;
                for task in &tasks {
                    self.manager.close(*task, true)?;
                }
            }
            Work::Assign(assignment) => {
                log::info!(
                    target: crate::LOG_TARGET,
                    "assigned {} active and {} other tasks{}",
                    assignment.active.len(),
                    assignment.standby.len() + assignment.warmup.len(),
                    if assignment.ready { "" } else { ", the group is not ready yet" }
                );
                self.manager.assign(&assignment)?;
            }
            Work::Lost => self.manager.lose_all(),
        }
        self.membership.done(id);
        self.membership.set_task_offsets(self.manager.task_offsets());
        Ok(true)
    }

    fn commit(&mut self) -> Result<bool, StreamsError> {
        let membership = &self.membership;
        let outcome = self.manager.commit(|| membership.group_metadata());
        match outcome {
            Err(error) if error.is_retriable() => {
                // In doubt: begin again from what is committed.
                log::warn!(target: crate::LOG_TARGET, "commit failed: {error}; beginning again");
                let ids: Vec<_> = self.manager.active().into_iter().collect();
                self.manager.output.discard();
                self.manager.revive(&ids, None)?;
                Ok(true)
            }
            other => other,
        }
    }

    /// The tasks are others' by now: a new producer and a new member.
    fn rejoin(&mut self) {
        self.control.set_settled(false);
        self.manager.lose_all();
        self.manager.output.discard();
        let next = join(&self.manager, &self.member, &self.control);
        let last = std::mem::replace(&mut self.membership, next);
        self.leave(last, Leave::Default);
    }

    fn leave(&self, membership: Membership, how: Leave) {
        let deadline = tokio::time::Instant::now() + LEAVE_LIMIT;
        self.manager.handle.block_on(membership.leave(how, deadline));
    }

    /// Deletes records of repartition topics that have been processed. One request at a time;
    /// failures only leave them there longer.
    fn purge(&mut self, now: Instant) {
        let idle = self.purging.as_ref().is_none_or(tokio::task::JoinHandle::is_finished);
        if !idle || now < self.last_purge + self.manager.settings.purge_interval {
            return;
        }
        self.last_purge = now;
        let before = self.manager.purgeable();
        if before.is_empty() {
            return;
        }
        let client = self.manager.client.clone();
        self.purging = Some(self.manager.handle.spawn(async move {
            for (tp, outcome) in Admin::new(client).delete_records(&before).await {
                if let Err(error) = outcome {
                    log::debug!(target: crate::LOG_TARGET, "purging {tp}: {error}");
                }
            }
        }));
    }

    /// Waits for something to do.
    fn wait(&mut self) -> Result<(), StreamsError> {
        let settings = &self.manager.settings;
        let mut limit = settings.poll;
        let commit_in = (self.manager.last_commit + settings.commit_interval)
            .saturating_duration_since(Instant::now());
        limit = limit.min(commit_in.max(Duration::from_millis(1)));
        if let Some(at) = self.manager.wake_at() {
            let millis = u64::try_from(at.saturating_sub(now_ms())).unwrap_or(0).max(1);
            limit = limit.min(Duration::from_millis(millis));
        }
        let paused = self.control.paused.load(Ordering::Relaxed);
        let (manager, wake) = (&self.manager, &self.control.wake);
        let (fetched, restored) = manager.handle.block_on(async {
            tokio::select! {
                item = manager.fetcher.next(), if !paused => (Some(item), None),
                item = manager.restorer.next(), if !paused => (None, Some(item)),
                () = wake.notified() => (None, None),
                () = tokio::time::sleep(limit) => (None, None),
            }
        });
        if let Some(item) = fetched {
            self.manager.receive(item)?;
        }
        if let Some(item) = restored {
            self.manager.receive_restored(item)?;
        }
        Ok(())
    }

    /// Lets the group tell all its members to end; waits until it has heard.
    fn stop_application(&self) {
        self.membership.shutdown_application();
        let deadline = Instant::now() + LEAVE_LIMIT;
        while Instant::now() < deadline {
            let polled = self.membership.poll();
            let over =
                |notice: &Notice| matches!(notice, Notice::ShutdownApplication | Notice::Fatal(_));
            if polled.notices.iter().any(over) || !polled.state.is_in_group() {
                return;
            }
            let wake = &self.control.wake;
            self.manager.handle.block_on(async {
                let _ = tokio::time::timeout(Duration::from_millis(50), wake.notified()).await;
            });
        }
    }

    /// Closes everything: committed if all is well, dropped otherwise.
    fn end(mut self, outcome: Result<(), StreamsError>) -> Result<(), Failed> {
        self.control.set_settled(false);
        let outcome = outcome.map_err(|error| {
            let action = (self.decide)(&error);
            Failed { error, action }
        });
        if let Err(Failed { action: UncaughtAction::ShutdownApplication, .. }) = &outcome {
            self.stop_application();
        }
        self.membership.prepare_leave();
        let committed = match &outcome {
            Ok(()) => {
                let membership = &self.membership;
                self.manager.commit(|| membership.group_metadata()).map(drop)
            }
            Err(_) => Ok(()),
        };
        let clean = outcome.is_ok() && committed.is_ok();
        if let Err(error) = &committed {
            log::warn!(target: crate::LOG_TARGET, "the last commit failed: {error}");
        }
        if !clean {
            self.manager.output.abort();
        }
        let ids: Vec<_> = self.manager.slots.keys().copied().collect();
        for id in ids {
            self.manager.close_logged(id, clean);
        }
        if let Some(purging) = self.purging.take() {
            purging.abort();
        }
        let Thread { manager, membership, control, .. } = self;
        let how = if outcome.is_ok() { control.leave() } else { Leave::ForGood };
        let deadline = tokio::time::Instant::now() + LEAVE_LIMIT;
        manager.handle.block_on(membership.leave(how, deadline));
        manager.shut();
        outcome
    }
}
