//! A task: one partition's worth of a subtopology. No I/O, no clock.
//!
//! | File | Holds |
//! |---|---|
//! | this one | [`Task`]: which record is next, processing, punctuating, committing |
//! | `flow` | how records move from node to node |
//! | `queue` | one input: raw records, of which the first is read |
//! | `state` | what nodes may touch; settings |
//! | `handler` | what becomes of a record that fails; dead letters |
//! | `collector` | where output goes |
//! | `metadata` | the text that is committed with an offset |
//! | `id` | names of tasks |
//!
//! The runtime and the test driver use the same tasks.

mod collector;
mod flow;
mod handler;
mod id;
mod metadata;
mod queue;
mod state;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

pub(crate) use collector::{Collector, OutRecord};
pub(crate) use flow::{Flow, Node, take};
pub use handler::{
    DeadLetter, ErrorAnswer, ErrorContext, ErrorDecision, ErrorHandler, ErrorStage, LogAndContinue,
    LogAndFail,
};
pub use id::TaskId;
use metadata::CommitMetadata;
use queue::{Input, Loading};
pub(crate) use state::{OpenStore, TaskConfig};
use state::{SourceRecord, TaskState};

use super::error::{BoxError, TaskError};
use super::processor::{Due, PunctuationType};
use super::record::RawRecord;
use super::store::{CurrentRecord, TaskStores};
use super::topology::{BuiltTopology, HeadError, Subtopology};

/// What a task is made with, besides its topology.
pub(crate) struct TaskEnv {
    pub(crate) config: Arc<TaskConfig>,
    /// Its stores, open and complete by the time of [`Task::init`].
    pub(crate) stores: TaskStores,
    /// The cell that the stores were opened with.
    pub(crate) current: Arc<CurrentRecord>,
    /// Global stores as processors get them, by name.
    pub(crate) globals: HashMap<Arc<str>, OpenStore>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Made or suspended: no processor runs.
    Idle,
    Running,
    Closed,
}

/// One task.
///
/// ```text
/// new -> init -> (add, process, punctuate_*, flush, committed)* -> close
/// ```
/// After an error it can only be closed.
pub(crate) struct Task {
    sub: Arc<Subtopology>,
    nodes: Vec<Option<Box<dyn Node>>>,
    inputs: Vec<Input>,
    state: TaskState,
    stores: TaskStores,
    phase: Phase,
    commit_needed: bool,
    /// Times of processors, committed with the offsets.
    times: BTreeMap<String, i64>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.state.id)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

impl Task {
    /// A task whose processors are made but not started.
    ///
    /// # Errors
    /// If the topology has no such subtopology.
    pub(crate) fn new(
        topology: &Arc<BuiltTopology>,
        id: TaskId,
        env: TaskEnv,
    ) -> Result<Self, TaskError> {
        let found = topology.subtopology(id.subtopology).ok_or_else(|| TaskError::State {
            task: id,
            why: format!("the topology has no subtopology {}", id.subtopology),
        })?;
        Self::of(found.clone(), id, env)
    }

    /// A task of a subtopology that is at hand; the one of a global store is made so.
    ///
    /// # Errors
    /// If the stores are not those of the subtopology.
    pub(crate) fn of(sub: Arc<Subtopology>, id: TaskId, env: TaskEnv) -> Result<Self, TaskError> {
        let mut state = TaskState::new(id, env.config);
        state.stores = env.globals;
        for built in &sub.stores {
            let name = &built.spec.name;
            let store = env.stores.get(name).map_err(|error| TaskError::Store {
                place: state.place(None),
                store: name.clone(),
                cause: Arc::new(error),
            })?;
            let topic = built.changelog.clone().unwrap_or_else(|| {
                format!("{}-{name}-changelog", state.config.application_id).into()
            });
            state.stores.insert(name.clone(), (built.facade)(store.clone(), topic));
        }
        state.current = (!sub.stores.is_empty()).then_some(env.current);
        Ok(Self {
            nodes: sub.make_nodes(),
            inputs: sub.inputs.iter().map(|def| Input::new(def, id.partition)).collect(),
            state,
            stores: env.stores,
            phase: Phase::Idle,
            commit_needed: false,
            times: BTreeMap::new(),
            sub,
        })
    }

    /// Its stores.
    pub(crate) fn stores(&self) -> &TaskStores {
        &self.stores
    }

    /// A store as processors get it.
    pub(crate) fn store(&self, name: &str) -> Option<&OpenStore> {
        self.state.stores.get(name)
    }

    pub(crate) fn id(&self) -> TaskId {
        self.state.id
    }

    /// Topics that it reads, each at the task's partition.
    pub(crate) fn input_topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.inputs.iter().map(|input| &input.topic)
    }

    /// Takes what was committed with the offset of an input; before [`Task::init`].
    pub(crate) fn restore_metadata(&mut self, topic: &str, text: &str) {
        let Some(metadata) = CommitMetadata::decode(text) else { return };
        for (name, time) in metadata.processors {
            let known = self.times.entry(name).or_insert(time);
            *known = time.max(*known);
        }
        if let Some(input) = self.input_mut(topic) {
            input.partition_time = metadata.partition_time;
        }
        self.state.stream_time = self.state.stream_time.max(metadata.partition_time);
    }

    /// What is to be committed with the offset of an input.
    pub(crate) fn metadata(&self, topic: &str) -> String {
        let partition_time = self.input(topic).map_or(-1, |input| input.partition_time);
        CommitMetadata { partition_time, processors: self.times.clone() }.encode()
    }

    /// Starts the processors, parents before children.
    ///
    /// # Errors
    /// Of the first processor that does not start. Those before it are closed again.
    pub(crate) fn init(&mut self, now: i64, out: &mut dyn Collector) -> Result<(), TaskError> {
        if self.phase != Phase::Idle {
            return Err(self.wrong_phase("init"));
        }
        self.state.wall_time = now;
        self.state.begin(SourceRecord::none(-1));
        for index in 0..self.nodes.len() {
            let result = self.with_node(index, out, |node, flow| node.init(flow));
            if let Err(error) = result {
                let error = self.processing(index, error);
                for started in self.nodes[..index].iter_mut().flatten() {
                    if let Err(error) = started.close() {
                        log::warn!(
                            target: crate::LOG_TARGET,
                            "task {}: closing after a failed start: {error}",
                            self.state.id
                        );
                    }
                }
                self.phase = Phase::Closed;
                return Err(error);
            }
        }
        self.state.forwarding = true;
        self.phase = Phase::Running;
        Ok(())
    }

    fn wrong_phase(&self, call: &str) -> TaskError {
        TaskError::State {
            task: self.state.id,
            why: format!("{call} while the task is {:?}", self.phase),
        }
    }

    /// Calls a node that is taken out of the arena meanwhile; sources have none.
    fn with_node(
        &mut self,
        index: usize,
        out: &mut dyn Collector,
        call: impl FnOnce(&mut dyn Node, Flow<'_>) -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        let Some(mut node) = self.nodes[index].take() else { return Ok(()) };
        self.state.node = index;
        let graph = &self.sub.graph;
        let flow = Flow { nodes: &mut self.nodes, graph, state: &mut self.state, out };
        let result = call(&mut *node, flow);
        self.nodes[index] = Some(node);
        result
    }

    fn flow<'a>(&'a mut self, out: &'a mut dyn Collector) -> Flow<'a> {
        let graph = &self.sub.graph;
        Flow { nodes: &mut self.nodes, graph, state: &mut self.state, out }
    }

    fn processing(&mut self, node: usize, error: BoxError) -> TaskError {
        if let Some(fault) = &self.state.fault {
            return fault.clone();
        }
        let name = self.sub.graph.name(node).clone();
        let place = self.state.place(Some(name));
        TaskError::Processing { place, cause: error.into() }
    }

    fn input(&self, topic: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| &*input.topic == topic)
    }

    fn input_mut(&mut self, topic: &str) -> Option<&mut Input> {
        self.inputs.iter_mut().find(|input| &*input.topic == topic)
    }

    /// Queues records of an input, in their order; those of a topic that it does not read are
    /// left out.
    pub(crate) fn add(&mut self, topic: &str, records: impl IntoIterator<Item = RawRecord>) {
        if let Some(input) = self.input_mut(topic) {
            input.add(records);
        }
    }

    /// Records queued of an input.
    pub(crate) fn buffered(&self, topic: &str) -> usize {
        self.input(topic).map_or(0, Input::len)
    }

    /// Bytes queued of all inputs, with the overhead of each record.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.inputs.iter().map(Input::bytes).sum()
    }

    /// Offset of the first record of an input that is not processed yet: what to commit. Without
    /// one, everything that was fetched is done.
    pub(crate) fn head(&self, topic: &str) -> Option<i64> {
        self.input(topic).and_then(Input::head_offset)
    }

    /// Inputs from which something was taken since the last commit.
    pub(crate) fn consumed(&self) -> impl Iterator<Item = &Arc<str>> {
        self.inputs.iter().filter(|input| input.consumed).map(|input| &input.topic)
    }

    /// The largest timestamp seen, -1 before the first.
    pub(crate) fn stream_time(&self) -> i64 {
        self.state.stream_time
    }

    /// Records left out by handlers, extractors and operators so far.
    pub(crate) fn dropped_records(&self) -> u64 {
        self.state.dropped_records
    }

    /// Processes up to `limit` records, always the one with the smallest timestamp among the
    /// heads of the queues, and returns how many it took. It stops early where an input is empty
    /// and worth waiting for; `caught_up` says whether nothing is known to come for one.
    ///
    /// # Errors
    /// The first error that its handler did not forgive, and each time after that.
    pub(crate) fn process(
        &mut self,
        limit: usize,
        now: i64,
        caught_up: &dyn Fn(&str) -> bool,
        out: &mut dyn Collector,
    ) -> Result<usize, TaskError> {
        self.check_running("process")?;
        self.state.wall_time = now;
        let mut taken = 0;
        while taken < limit {
            self.load_heads(now, out)?;
            if !self.is_processable(now, caught_up) {
                break;
            }
            let first = self
                .inputs
                .iter()
                .enumerate()
                .filter_map(|(at, input)| input.head_timestamp().map(|time| (time, at)))
                .min();
            let Some((_, at)) = first else { break };
            self.process_head(at, out)?;
            taken += 1;
        }
        Ok(taken)
    }

    fn check_running(&self, call: &str) -> Result<(), TaskError> {
        if let Some(fault) = &self.state.fault {
            return Err(fault.clone());
        }
        if self.phase != Phase::Running {
            return Err(self.wrong_phase(call));
        }
        Ok(())
    }

    fn load_heads(&mut self, now: i64, out: &mut dyn Collector) -> Result<(), TaskError> {
        for at in 0..self.inputs.len() {
            loop {
                match self.inputs[at].load(now) {
                    Loading::Ready | Loading::Empty => break,
                    Loading::Dropped => {
                        self.state.dropped_records += 1;
                        self.commit_needed = true;
                    }
                    Loading::Failed(source, error) => self.unreadable(at, *source, error, out)?,
                }
            }
        }
        Ok(())
    }

    fn unreadable(
        &mut self,
        at: usize,
        source: SourceRecord,
        error: HeadError,
        out: &mut dyn Collector,
    ) -> Result<(), TaskError> {
        self.commit_needed = true;
        let node = self.inputs[at].node;
        self.state.begin(source);
        self.state.node = node;
        let place = self.state.place(Some(self.sub.graph.name(node).clone()));
        match error {
            HeadError::Timestamp(cause) => {
                let error = TaskError::Timestamp { place, cause: cause.into() };
                self.state.fault = Some(error.clone());
                Err(error)
            }
            HeadError::Serde(cause) => {
                let handled =
                    self.flow(out).failed(ErrorStage::Deserialization, Box::new(cause.clone()));
                if handled.is_ok() {
                    return Ok(());
                }
                // A dead letter that the collector refused is an error of its own.
                if let Some(TaskError::Processing { .. }) | None = &self.state.fault {
                    self.state.fault = Some(TaskError::Deserialization { place, cause });
                }
                Err(self.fault())
            }
        }
    }

    fn fault(&self) -> TaskError {
        self.state.fault.clone().unwrap_or_else(|| TaskError::State {
            task: self.state.id,
            why: "a node failed without saying why".to_owned(),
        })
    }

    /// Whether a record may be taken, given the heads that are loaded.
    fn is_processable(&mut self, now: i64, caught_up: &dyn Fn(&str) -> bool) -> bool {
        let idle = self.state.config.max_task_idle_ms;
        if self.inputs.len() == 1 || idle < 0 {
            return true;
        }
        if self.inputs.iter().all(Input::is_empty) {
            return false;
        }
        let mut processable = true;
        for input in &mut self.inputs {
            if !input.is_empty() {
                input.idle_since = None;
            } else if !caught_up(&input.topic) {
                // Records are known or feared to come: waiting for them costs nothing but time.
                input.idle_since = None;
                processable = false;
            } else {
                let since = *input.idle_since.get_or_insert(now);
                processable &= now - since >= idle;
            }
        }
        processable
    }

    /// When a wait for an empty input ends by itself, or the next wall-clock punctuation is due.
    pub(crate) fn wake_at(&self) -> Option<i64> {
        let idle = self.state.config.max_task_idle_ms;
        let waits = self.inputs.iter().filter_map(|input| input.idle_since);
        let until = waits.map(|since| since.saturating_add(idle)).max();
        let due = self.state.schedules.next(PunctuationType::WallClockTime);
        until.into_iter().chain(due).min()
    }

    fn process_head(&mut self, at: usize, out: &mut dyn Collector) -> Result<(), TaskError> {
        let Some(loaded) = self.inputs[at].take() else { return Ok(()) };
        self.commit_needed = true;
        self.state.stream_time = self.state.stream_time.max(loaded.timestamp);
        self.state.begin(loaded.source);
        self.state.set_timestamp(loaded.timestamp);
        self.state.node = self.inputs[at].node;
        let graph = &self.sub.graph;
        let flow = Flow { nodes: &mut self.nodes, graph, state: &mut self.state, out };
        match self.inputs[at].head().deliver(flow, loaded.timestamp) {
            Ok(()) => self.drain(out)?,
            Err(_) => return Err(self.fault()),
        }
        self.relieve_caches(out)
    }

    /// Sends what the stores have written to their changelogs.
    fn drain(&mut self, out: &mut dyn Collector) -> Result<(), TaskError> {
        if self.state.current.is_none() {
            return Ok(());
        }
        let (sub, partition) = (&self.sub, self.state.id.partition);
        let sent = self.stores.drain_changelog(|store, record| {
            let built = sub.stores.iter().find(|built| built.spec.name == *store);
            let Some(topic) = built.and_then(|built| built.changelog.as_ref()) else {
                return Ok(());
            };
            out.send(OutRecord {
                topic,
                partition: Some(partition),
                key: Some(record.key),
                value: record.value,
                headers: record.headers,
                timestamp: record.timestamp,
                changelog: true,
            })
        });
        sent.map_err(|cause| {
            let error = TaskError::Output { place: self.state.place(None), cause: cause.into() };
            self.state.fault.get_or_insert(error).clone()
        })
    }

    /// Flushes stores whose caches are over their budget.
    fn relieve_caches(&mut self, out: &mut dyn Collector) -> Result<(), TaskError> {
        if self.state.current.is_none() {
            return Ok(());
        }
        // Flushing one may fill another: each has one turn, the rest waits for the next record.
        for _ in 0..self.sub.stores.len() {
            let Some(name) = self.stores.flush_requested().map(|store| store.name().clone()) else {
                break;
            };
            for index in 0..self.nodes.len() {
                if self.sub.graph.stores(index).contains(&name) {
                    self.flush_node(index, out)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the stream-time punctuations that are due; returns whether there were any.
    ///
    /// # Errors
    /// As [`Task::process`].
    pub(crate) fn punctuate_stream(
        &mut self,
        now: i64,
        out: &mut dyn Collector,
    ) -> Result<bool, TaskError> {
        if self.state.stream_time < 0 {
            return Ok(false);
        }
        self.state.wall_time = now;
        self.punctuate(PunctuationType::StreamTime, self.state.stream_time, out)
    }

    /// Runs the wall-clock punctuations that are due; returns whether there were any.
    ///
    /// # Errors
    /// As [`Task::process`].
    pub(crate) fn punctuate_wall(
        &mut self,
        now: i64,
        out: &mut dyn Collector,
    ) -> Result<bool, TaskError> {
        self.state.wall_time = now;
        self.punctuate(PunctuationType::WallClockTime, now, out)
    }

    fn punctuate(
        &mut self,
        kind: PunctuationType,
        time: i64,
        out: &mut dyn Collector,
    ) -> Result<bool, TaskError> {
        self.check_running("punctuate")?;
        let mut any = false;
        while let Some(due) = self.state.schedules.take_due(kind, time) {
            any = true;
            self.commit_needed = true;
            self.punctuate_one(due, time, out)?;
        }
        Ok(any)
    }

    fn punctuate_one(
        &mut self,
        mut due: Due,
        time: i64,
        out: &mut dyn Collector,
    ) -> Result<(), TaskError> {
        self.state.begin(SourceRecord::none(time));
        self.state.node = due.node;
        let result = match &mut due.call {
            Some(call) => call(self.flow(out), time),
            None => {
                self.with_node(due.node, out, |node, flow| node.punctuate(flow, &due.cancel, time))
            }
        };
        let node = due.node;
        self.state.schedules.done(due);
        self.handle(node, result, out)?;
        self.drain(out)?;
        self.relieve_caches(out)
    }

    /// An error of a node that was called by the task itself.
    fn handle(
        &mut self,
        node: usize,
        result: Result<(), BoxError>,
        out: &mut dyn Collector,
    ) -> Result<(), TaskError> {
        self.state.node = node;
        let handled = match result {
            Ok(()) if self.state.fault.is_none() => return Ok(()),
            Ok(()) => return Err(self.fault()),
            Err(error) => self.flow(out).failed(ErrorStage::Processing, error),
        };
        handled.map_err(|_| self.fault())
    }

    /// Has every processor forward what it holds back, parents before children. Afterwards
    /// everything that the offsets stand for has been sent.
    ///
    /// # Errors
    /// As [`Task::process`].
    pub(crate) fn flush(&mut self, out: &mut dyn Collector) -> Result<(), TaskError> {
        self.check_running("flush")?;
        (0..self.nodes.len()).try_for_each(|index| self.flush_node(index, out))
    }

    fn flush_node(&mut self, index: usize, out: &mut dyn Collector) -> Result<(), TaskError> {
        self.state.begin(SourceRecord::none(self.state.stream_time));
        let result = self.with_node(index, out, |node, flow| node.flush(flow));
        self.handle(index, result, out)?;
        // What a processor has left in its caches is written without being forwarded.
        for name in self.sub.graph.stores(index) {
            let written = self.stores.get(name).and_then(|store| {
                let mut dirty = store.take_dirty().into_iter();
                dirty.try_for_each(|entry| store.write_back(&entry, false).map(drop))
            });
            written.map_err(|error| TaskError::Store {
                place: self.state.place(Some(self.sub.graph.name(index).clone())),
                store: name.clone(),
                cause: Arc::new(error),
            })?;
        }
        self.drain(out)
    }

    /// Whether something was done since the last commit.
    pub(crate) fn commit_needed(&self) -> bool {
        self.commit_needed
    }

    /// Whether a processor has asked for a commit, or the stores hold too much without one.
    pub(crate) fn commit_requested(&self) -> bool {
        self.state.commit_requested || self.stores.commit_requested()
    }

    /// The commit of offsets is complete; [`Task::stores`] are to be committed apart.
    pub(crate) fn committed(&mut self) {
        self.commit_needed = false;
        self.state.commit_requested = false;
        self.inputs.iter_mut().for_each(|input| input.consumed = false);
    }

    /// Closes the processors and forgets what is queued; [`Task::resume`] makes new ones.
    ///
    /// # Errors
    /// The first of the processors; all are closed all the same.
    pub(crate) fn suspend(&mut self) -> Result<(), TaskError> {
        if self.phase == Phase::Running {
            self.phase = Phase::Idle;
            self.end()?;
        }
        Ok(())
    }

    /// Makes a suspended task one that can be started again.
    ///
    /// # Errors
    /// If it is not suspended.
    pub(crate) fn resume(&mut self) -> Result<(), TaskError> {
        if self.phase != Phase::Idle || self.state.fault.is_some() {
            return Err(self.wrong_phase("resume"));
        }
        self.nodes = self.sub.make_nodes();
        Ok(())
    }

    /// Closes the processors. What was not committed is for another task to do again.
    ///
    /// # Errors
    /// The first of the processors; all are closed all the same.
    pub(crate) fn close(&mut self) -> Result<(), TaskError> {
        let running = self.phase == Phase::Running;
        self.phase = Phase::Closed;
        if running { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), TaskError> {
        self.state.forwarding = false;
        self.inputs.iter_mut().for_each(Input::clear);
        self.state.schedules = Default::default();
        self.state.begin(SourceRecord::none(-1));
        let mut first = None;
        for index in 0..self.nodes.len() {
            let Some(node) = &mut self.nodes[index] else { continue };
            if let Err(error) = node.close() {
                let name = self.sub.graph.name(index).clone();
                let place = self.state.place(Some(name));
                first.get_or_insert(TaskError::Processing { place, cause: error.into() });
            }
        }
        first.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod dispatch_bench;
#[cfg(test)]
mod tests;
