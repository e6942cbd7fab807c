//! The tasks of one stream thread: created, restored, run, taken away.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;

use super::error::StreamsError;
use super::offsets;
use super::output::Output;
use super::seam::{Application, ResetPolicy};
use super::settings::Settings;
use super::slot::{Changelog, Input, Phase, Slot};
use crate::client::{
    Client, Error, ErrorCode, FetchConfig, FetchError, Fetched, Fetcher, GroupMetadata, OffsetSpec,
    Position, RetryVerdict, TopicPartition, decide,
};
use crate::streams::membership::{Assignment, TaskId, TaskOffsets, TaskSet};
use crate::streams::store::{CacheBudget, RestoreListener, RestoreProgress, RestoreSource};
use crate::wire::records::Record;

/// Waits before a locked task is tried again: doubled each time.
const LOCKED_FIRST: Duration = Duration::from_millis(100);
const LOCKED_MAX: Duration = Duration::from_secs(10);
/// Most records that one task processes before the next one's turn.
const LIMIT_MAX: usize = 1000;
/// A round should not take longer, so that polls, commits and punctuations stay in time.
const ROUND: Duration = Duration::from_millis(100);

/// What tasks are made with.
pub(super) struct TaskParts {
    pub(super) app: Arc<dyn Application>,
    /// This thread's part of the memory for caches.
    pub(super) cache: Arc<CacheBudget>,
    pub(super) listener: Option<Arc<dyn RestoreListener>>,
}

pub(super) struct Manager {
    pub(super) settings: Arc<Settings>,
    app: Arc<dyn Application>,
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) fetcher: Fetcher,
    pub(super) restorer: Fetcher,
    pub(super) output: Output,
    /// This thread's part of the memory for caches.
    cache: Arc<CacheBudget>,
    listener: Option<Arc<dyn RestoreListener>>,
    pub(super) slots: BTreeMap<TaskId, Slot>,
    /// Nothing is opened or processed while the group lacks something.
    ready: bool,
    by_input: HashMap<TopicPartition, TaskId>,
    by_changelog: HashMap<TopicPartition, TaskId>,
    standbys_held: bool,
    limit: usize,
    pub(super) last_commit: Instant,
}

impl Manager {
    pub(super) fn new(
        settings: Arc<Settings>,
        parts: TaskParts,
        client: Client,
        handle: Handle,
        output: Output,
        fetch: FetchConfig,
    ) -> Self {
        let _context = handle.enter();
        let fetcher = Fetcher::new(client.clone(), fetch.clone());
        let restorer = Fetcher::new(client.clone(), FetchConfig { reset: None, ..fetch });
        let TaskParts { app, cache, listener } = parts;
        Self {
            settings,
            app,
            client,
            handle: handle.clone(),
            fetcher,
            restorer,
            output,
            cache,
            listener,
            slots: BTreeMap::new(),
            ready: false,
            by_input: HashMap::new(),
            by_changelog: HashMap::new(),
            standbys_held: false,
            limit: 1,
            last_commit: Instant::now(),
        }
    }

    /// Whether everything assigned is processing.
    pub(super) fn is_settled(&self) -> bool {
        self.ready && self.slots.values().all(|slot| !slot.active || slot.is_running())
    }

    /// Has exactly these tasks from now on.
    pub(super) fn assign(&mut self, assignment: &Assignment) -> Result<(), StreamsError> {
        self.ready = assignment.ready;
        let standby: TaskSet = assignment.standby.union(&assignment.warmup).copied().collect();
        let gone: Vec<TaskId> = self
            .slots
            .iter()
            .filter(|(id, slot)| {
                let kept = assignment.active.contains(id) || standby.contains(id);
                !kept || (slot.active && !assignment.active.contains(id))
            })
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.close(id, true)?;
        }
        let wanted = assignment.active.iter().map(|id| (*id, true));
        for (id, active) in wanted.chain(standby.iter().map(|id| (*id, false))) {
            match self.slots.get_mut(&id) {
                Some(slot) if active && !slot.active => {
                    // A standby becomes active with the state that it has.
                    slot.active = true;
                    if slot.phase == Phase::Restoring {
                        self.find_ends(id)?;
                    }
                }
                Some(_) => {}
                None => self.create(id, active)?,
            }
        }
        Ok(())
    }

    fn create(&mut self, id: TaskId, active: bool) -> Result<(), StreamsError> {
        let topics = self.app.inputs(id.subtopology).ok_or_else(|| {
            StreamsError::Group(format!("task {id} is of no subtopology of this program").into())
        })?;
        let task = self.app.task(id, &self.cache);
        self.slots.insert(id, Slot::new(id, active, topics, task));
        Ok(())
    }

    /// Closes tasks whose work is committed, or is to be dropped.
    pub(super) fn close(&mut self, id: TaskId, clean: bool) -> Result<(), StreamsError> {
        let Some(mut slot) = self.slots.remove(&id) else { return Ok(()) };
        let inputs: Vec<TopicPartition> = slot.inputs.keys().cloned().collect();
        let changelogs: Vec<TopicPartition> = slot.changelogs.keys().cloned().collect();
        self.fetcher.unassign(&inputs);
        self.restorer.unassign(&changelogs);
        self.by_input.retain(|_, owner| *owner != id);
        self.by_changelog.retain(|_, owner| *owner != id);
        match slot.phase {
            Phase::Opening(_) => Ok(()),
            _ => {
                // A standby has applied what it has: that is as good as committed.
                if clean && !slot.is_running() {
                    let offsets = slot.store_offsets();
                    slot.call(|task| task.committed(&offsets))?;
                }
                if let Some(listener) = &self.listener {
                    for progress in slot.changelogs.values().filter_map(|log| log.progress.as_ref())
                    {
                        progress.suspend(&**listener);
                    }
                }
                slot.call(|task| task.close())
            }
        }
    }

    /// The tasks belong to others: closes the active ones without committing.
    pub(super) fn lose_all(&mut self) {
        self.output.abort();
        let active: Vec<TaskId> =
            self.slots.values().filter(|slot| slot.active).map(|slot| slot.id).collect();
        for id in active {
            self.close_logged(id, false);
        }
    }

    pub(super) fn close_logged(&mut self, id: TaskId, clean: bool) {
        if let Err(error) = self.close(id, clean) {
            log::warn!(target: crate::LOG_TARGET, "closing task {id}: {error}");
        }
    }

    /// Begins active tasks anew from what is committed, after something of them was lost.
    /// `wipe` is the one whose stores cannot be trusted.
    pub(super) fn revive(
        &mut self,
        ids: &[TaskId],
        wipe: Option<TaskId>,
    ) -> Result<(), StreamsError> {
        self.output.abort();
        for id in ids {
            let Some(active) = self.slots.get(id).map(|slot| slot.active) else { continue };
            self.close_logged(*id, false);
            self.create(*id, active)?;
            if wipe == Some(*id)
                && let Some(slot) = self.slots.get_mut(id)
            {
                slot.call(|task| task.wipe())?;
            }
        }
        Ok(())
    }

    /// Takes tasks one step further: opens what waits, starts what is restored. Returns whether
    /// anything changed.
    pub(super) fn advance(&mut self) -> Result<bool, StreamsError> {
        if !self.ready {
            return Ok(false);
        }
        let now = Instant::now();
        let mut changed = false;
        let ids: Vec<TaskId> = self.slots.keys().copied().collect();
        for id in ids {
            let Some(slot) = self.slots.get(&id) else { continue };
            match slot.phase {
                Phase::Opening(at) if at <= now => {
                    changed = true;
                    self.open(id, now)?;
                }
                Phase::Restoring if slot.active && slot.is_restored() => {
                    changed = true;
                    self.start(id)?;
                }
                _ => {}
            }
        }
        self.hold_standbys();
        Ok(changed)
    }

    fn open(&mut self, id: TaskId, now: Instant) -> Result<(), StreamsError> {
        let Some(slot) = self.slots.get_mut(&id) else { return Ok(()) };
        let known = match slot.call(|task| task.open()) {
            Ok(known) => known,
            Err(error @ StreamsError::Locked { .. }) => {
                log::debug!(target: crate::LOG_TARGET, "{error}; trying again");
                let wait = LOCKED_FIRST * 2u32.saturating_pow(slot.attempts.min(10));
                slot.attempts += 1;
                slot.phase = Phase::Opening(now + wait.min(LOCKED_MAX));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for changelog in &slot.topics.changelogs {
            let topic = changelog.topic.clone();
            let next = known.get(&topic).copied();
            let tp = TopicPartition { topic, partition: id.partition };
            let store = changelog.store.clone();
            let log = Changelog { store, next, end: None, progress: None };
            slot.changelogs.insert(tp.clone(), log);
            self.by_changelog.insert(tp, id);
        }
        slot.phase = Phase::Restoring;
        if slot.active {
            self.find_ends(id)?;
        }
        let Some(slot) = self.slots.get(&id) else { return Ok(()) };
        if slot.phase != Phase::Restoring || (slot.active && slot.is_restored()) {
            return Ok(());
        }
        let positions: Vec<_> = slot
            .changelogs
            .iter()
            .map(|(tp, log)| {
                let earliest = Position::Spec(OffsetSpec::Earliest);
                (tp.clone(), log.next.map_or(earliest, Position::Offset))
            })
            .collect();
        self.restorer.assign(&positions);
        Ok(())
    }

    /// Looks up where the restoration of an active task ends.
    fn find_ends(&mut self, id: TaskId) -> Result<(), StreamsError> {
        let Some(slot) = self.slots.get_mut(&id) else { return Ok(()) };
        let questions: Vec<_> =
            slot.changelogs.keys().map(|tp| (tp.clone(), OffsetSpec::Latest)).collect();
        if questions.is_empty() {
            return Ok(());
        }
        let starts: Vec<_> =
            questions.iter().map(|(tp, _)| (tp.clone(), OffsetSpec::Earliest)).collect();
        let deadline = self.client.api_deadline();
        // The very end: what an open transaction holds may yet be committed.
        let (starts, ends) = self.handle.block_on(async {
            tokio::join!(
                self.client.list_offsets(starts, false, deadline),
                self.client.list_offsets(questions, false, deadline),
            )
        });
        for (tp, answer) in starts {
            if let Some(log) = slot.changelogs.get_mut(&tp) {
                log.next.get_or_insert(answer?.offset);
            }
        }
        for (tp, answer) in ends {
            if let Some(log) = slot.changelogs.get_mut(&tp) {
                log.end = Some(answer?.offset);
            }
        }
        let beyond = slot.changelogs.iter().find(|(_, log)| log.next > log.end);
        if let Some((tp, log)) = beyond {
            log::warn!(
                target: crate::LOG_TARGET,
                "task {id}: the store is at {:?} of {tp}, which ends at {:?}: another topic of \
                 this name; restoring all of it",
                log.next, log.end
            );
            return self.revive(&[id], Some(id));
        }
        let Some(listener) = &self.listener else { return Ok(()) };
        for (tp, log) in &mut slot.changelogs {
            let (store, topic) = (log.store.clone(), tp.topic.clone());
            let source = RestoreSource { store, topic, partition: tp.partition };
            let (next, end) = (log.next.unwrap_or(0), log.end.unwrap_or(0));
            log.progress.insert(RestoreProgress::new(source, next, end)).start(&**listener);
        }
        Ok(())
    }

    /// A restored task begins to process.
    fn start(&mut self, id: TaskId) -> Result<(), StreamsError> {
        // Fences a predecessor before its last transaction's offsets are read.
        self.output.prepare()?;
        let Some(slot) = self.slots.get_mut(&id) else { return Ok(()) };
        let changelogs: Vec<TopicPartition> = slot.changelogs.keys().cloned().collect();
        self.restorer.unassign(&changelogs);
        let deadline = self.client.api_deadline();
        let mut inputs = BTreeMap::new();
        for source in &slot.topics.sources {
            let topic = self.handle.block_on(self.client.topic(&source.topic, deadline))?;
            // Inputs of unequal width: the task has a part of some only.
            if topic.partition(id.partition).is_none() {
                continue;
            }
            let tp = TopicPartition { topic: source.topic.clone(), partition: id.partition };
            let input = Input {
                reset: source.reset.unwrap_or(self.settings.reset),
                repartition: source.repartition,
                next: None,
                end: None,
                committed: None,
                paused: false,
            };
            inputs.insert(tp, input);
        }
        let group = GroupMetadata {
            group_id: self.settings.application_id.clone(),
            ..GroupMetadata::default()
        };
        let asked: Vec<TopicPartition> = inputs.keys().cloned().collect();
        let committed = self.handle.block_on(offsets::committed(&self.client, &group, &asked))?;
        let mut positions = Vec::with_capacity(inputs.len());
        for (tp, input) in &mut inputs {
            let position = match committed.get(tp) {
                Some(found) => {
                    input.committed = Some(found.offset);
                    input.next = Some(found.offset);
                    Position::Offset(found.offset)
                }
                None => reset_position(tp, input.reset)?,
            };
            positions.push((tp.clone(), position));
        }
        let metadata: Vec<_> =
            committed.into_iter().map(|(tp, found)| (tp.topic, found.metadata)).collect();
        let (now, output) = (now_ms(), &mut self.output);
        slot.call(|task| task.init(&metadata, now, output))?;
        for tp in inputs.keys() {
            self.by_input.insert(tp.clone(), id);
        }
        slot.inputs = inputs;
        slot.phase = Phase::Running;
        self.fetcher.assign(&positions);
        log::info!(target: crate::LOG_TARGET, "task {id} runs");
        Ok(())
    }

    /// Standbys wait while an active task is restored.
    fn hold_standbys(&mut self) {
        let hold = self.slots.values().any(|slot| slot.active && slot.phase == Phase::Restoring);
        if hold == self.standbys_held {
            return;
        }
        self.standbys_held = hold;
        for slot in self.slots.values().filter(|slot| !slot.active) {
            for tp in slot.changelogs.keys() {
                if hold {
                    self.restorer.pause(tp);
                } else {
                    self.restorer.resume(tp);
                }
            }
        }
    }

    /// Takes over what was fetched of an input.
    pub(super) fn receive(
        &mut self,
        item: Result<Fetched, FetchError>,
    ) -> Result<(), StreamsError> {
        let fetched = match item {
            Ok(fetched) => fetched,
            Err(failure) => return self.fetch_failed(failure),
        };
        let tp = &fetched.partition;
        let Some(slot) = self.by_input.get(tp).and_then(|id| self.slots.get_mut(id)) else {
            return Ok(());
        };
        let Some(input) = slot.inputs.get_mut(tp) else { return Ok(()) };
        let records = own(&fetched)?;
        input.next = Some(fetched.next_offset);
        let stable = (fetched.last_stable_offset >= 0 && self.settings.exactly_once())
            .then_some(fetched.last_stable_offset);
        input.end = Some(stable.unwrap_or(fetched.high_watermark));
        if !records.is_empty() {
            slot.task.add(&tp.topic, records);
        }
        if slot.task.buffered(&tp.topic) > self.settings.buffered_records {
            input.paused = true;
            self.fetcher.pause(tp);
        }
        Ok(())
    }

    fn fetch_failed(&mut self, failure: FetchError) -> Result<(), StreamsError> {
        let tp = &failure.partition;
        let input = self.by_input.get(tp).and_then(|id| self.slots.get(id)?.inputs.get(tp));
        let Some(input) = input else { return Ok(()) };
        if failure.error.code() == Some(ErrorCode::OffsetOutOfRange) {
            log::warn!(
                target: crate::LOG_TARGET,
                "{tp}: the position is out of range; resetting by {:?}", input.reset
            );
            let position = reset_position(tp, input.reset)?;
            self.fetcher.seek(tp, position);
            return Ok(());
        }
        tolerate(failure.error)
    }

    /// Applies what was fetched of a changelog.
    pub(super) fn receive_restored(
        &mut self,
        item: Result<Fetched, FetchError>,
    ) -> Result<(), StreamsError> {
        let fetched = match item {
            Ok(fetched) => fetched,
            Err(failure) => {
                let Some(id) = self.by_changelog.get(&failure.partition).copied() else {
                    return Ok(());
                };
                if failure.error.code() == Some(ErrorCode::OffsetOutOfRange) {
                    log::warn!(
                        target: crate::LOG_TARGET,
                        "task {id}: {} no longer has what the store lacks; restoring all of it",
                        failure.partition
                    );
                    return self.revive(&[id], Some(id));
                }
                return tolerate(failure.error);
            }
        };
        let tp = &fetched.partition;
        let Some(slot) = self.by_changelog.get(tp).and_then(|id| self.slots.get_mut(id)) else {
            return Ok(());
        };
        let mut records = own(&fetched)?;
        let Some(log) = slot.changelogs.get_mut(tp) else { return Ok(()) };
        let mut next = fetched.next_offset;
        if let Some(end) = log.end {
            // What comes after the end was written by somebody who is fenced, or by this task.
            records.retain(|record| record.offset < end);
            next = next.min(end.max(log.next.unwrap_or(0)));
        }
        records.retain(|record| record.key.is_some());
        log.next = Some(next);
        let count = records.len() as u64;
        slot.call(|task| task.restore(&tp.topic, records, next))?;
        let progress = slot.changelogs.get_mut(tp).and_then(|log| log.progress.as_mut());
        if let (Some(progress), Some(listener)) = (progress, &self.listener) {
            progress.advance(next, count, &**listener);
        }
        Ok(())
    }

    /// Lets partitions flow again whose queue has drained.
    pub(super) fn resume_drained(&mut self) {
        let limit = self.settings.buffered_records;
        for slot in self.slots.values_mut().filter(|slot| slot.is_running()) {
            for (tp, input) in slot.inputs.iter_mut().filter(|(_, input)| input.paused) {
                if slot.task.buffered(&tp.topic) <= limit {
                    input.paused = false;
                    self.fetcher.resume(tp);
                }
            }
        }
    }

    /// One turn for each task. Returns the number of records processed.
    pub(super) fn process(&mut self) -> Result<usize, StreamsError> {
        if !self.ready {
            return Ok(0);
        }
        let (started, limit) = (Instant::now(), self.limit);
        let mut total = 0;
        let output = &mut self.output;
        for slot in self.slots.values_mut().filter(|slot| slot.is_running()) {
            let now = now_ms();
            let inputs = std::mem::take(&mut slot.inputs);
            let caught_up = |topic: &str| {
                let input = inputs.iter().find(|(tp, _)| &*tp.topic == topic);
                input.is_some_and(|(_, input)| match (input.next, input.end) {
                    (Some(next), Some(end)) => next >= end,
                    _ => false,
                })
            };
            let done = slot.call(|task| {
                let done = task.process(limit, now, &caught_up, output)?;
                task.punctuate(now, output)?;
                Ok(done)
            });
            slot.inputs = inputs;
            total += done?;
        }
        let took = started.elapsed();
        if took > ROUND {
            self.limit = (limit / 2).max(1);
        } else if total > 0 {
            self.limit = (limit * 2).min(LIMIT_MAX);
        }
        Ok(total)
    }

    /// Sums for the group: see [`TaskOffsets`].
    pub(super) fn task_offsets(&self) -> TaskOffsets {
        let mut offsets = TaskOffsets::default();
        for slot in self.slots.values().filter(|slot| slot.phase == Phase::Restoring) {
            let current = slot.changelogs.values().map(|log| log.next.unwrap_or(0));
            let end = slot.changelogs.values().map(|log| log.end.unwrap_or(i64::MAX));
            offsets.current.insert(slot.id, current.fold(0, i64::saturating_add));
            offsets.end.insert(slot.id, end.fold(0, i64::saturating_add));
        }
        offsets
    }

    /// Committed offsets of repartition topics: what is before them has been processed.
    pub(super) fn purgeable(&self) -> Vec<(TopicPartition, i64)> {
        let slots = self.slots.values().filter(|slot| slot.is_running());
        slots
            .flat_map(|slot| &slot.inputs)
            .filter(|(_, input)| input.repartition)
            .filter_map(|(tp, input)| Some((tp.clone(), input.committed.filter(|at| *at > 0)?)))
            .collect()
    }

    /// When a task wants to be looked at again, in milliseconds since 1970.
    pub(super) fn wake_at(&self) -> Option<i64> {
        self.slots.values().filter(|slot| slot.is_running()).filter_map(|s| s.task.wake_at()).min()
    }

    /// Ends the fetching.
    pub(super) fn shut(self) {
        let (handle, output) = (self.handle, self.output);
        handle.block_on(async {
            tokio::join!(self.fetcher.close(), self.restorer.close());
        });
        output.close();
    }

    /// Tasks that are active here.
    pub(super) fn active(&self) -> HashSet<TaskId> {
        self.slots.values().filter(|slot| slot.active).map(|slot| slot.id).collect()
    }
}

/// Owned records from the position on.
fn own(fetched: &Fetched) -> Result<Vec<Record>, StreamsError> {
    let mut records = Vec::new();
    for batch in fetched.batches() {
        let batch = batch?;
        for record in &batch {
            let record = record.map_err(|error| Error::CorruptRecords {
                partition: fetched.partition.clone(),
                first_offset: batch.header().base_offset,
                last_offset: batch.header().last_offset(),
                cause: error.to_string().into(),
            })?;
            if record.offset >= fetched.start_offset {
                records.push(batch.own(&record));
            }
        }
    }
    Ok(records)
}

/// The fetcher tries again by itself what may pass.
fn tolerate(error: Error) -> Result<(), StreamsError> {
    match decide(&error) {
        RetryVerdict::Retry(_) => Ok(()),
        RetryVerdict::Fail => Err(error.into()),
    }
}

fn reset_position(tp: &TopicPartition, reset: ResetPolicy) -> Result<Position, StreamsError> {
    Ok(Position::Spec(match reset {
        ResetPolicy::Earliest => OffsetSpec::Earliest,
        ResetPolicy::Latest => OffsetSpec::Latest,
        ResetPolicy::ByDuration(millis) => {
            let back = i64::try_from(millis).unwrap_or(i64::MAX);
            OffsetSpec::Timestamp(now_ms().saturating_sub(back))
        }
        ResetPolicy::Fail => {
            return Err(StreamsError::Topics(
                format!(
                    "{tp} has no valid committed offset and its reset policy is none: commit one, \
                     or choose earliest, latest or by_duration"
                )
                .into(),
            ));
        }
    }))
}

pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
