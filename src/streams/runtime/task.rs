//! A topology's [`Task`] as the runtime's [`StreamTask`]: its stores are opened, restored, made
//! durable and closed around it.

use std::collections::HashMap;
use std::sync::Arc;

use super::application::Disk;
use super::error::StreamsError;
use super::seam::{StoreOffsets, StreamTask};
use crate::streams::membership::TaskId;
use crate::streams::store::{CacheBudget, CurrentRecord, RestoreRecord, StoreEnv, TaskStores};
use crate::streams::task::{Collector, Task, TaskConfig, TaskEnv};
use crate::streams::topology::{BuiltTopology, Subtopology};
use crate::wire::records::Record;

/// How far the task is.
enum Stage {
    /// Nothing is open.
    Closed,
    /// Its stores are open and being restored.
    Open { stores: TaskStores, current: Arc<CurrentRecord> },
    /// Processing; the stores are the task's.
    Running(Box<Task>),
}

pub(super) struct TopologyTask {
    topology: Arc<BuiltTopology>,
    id: TaskId,
    config: Arc<TaskConfig>,
    disk: Option<Disk>,
    cache: Arc<CacheBudget>,
    stage: Stage,
}

impl TopologyTask {
    pub(super) fn new(
        topology: Arc<BuiltTopology>,
        id: TaskId,
        config: Arc<TaskConfig>,
        disk: Option<Disk>,
        cache: Arc<CacheBudget>,
    ) -> Self {
        Self { topology, id, config, disk, cache, stage: Stage::Closed }
    }

    fn sub(&self) -> Result<&Arc<Subtopology>, StreamsError> {
        self.topology.subtopology(self.id.subtopology).ok_or_else(|| {
            StreamsError::State(format!("task {} is of no subtopology", self.id).into())
        })
    }

    fn wrong_stage(&self, call: &str) -> StreamsError {
        StreamsError::State(format!("task {}: {call} while it is not ready for it", self.id).into())
    }

    fn running(&mut self, call: &str) -> Result<&mut Task, StreamsError> {
        let error = self.wrong_stage(call);
        match &mut self.stage {
            Stage::Running(task) => Ok(task),
            _ => Err(error),
        }
    }

    fn task(&self) -> Option<&Task> {
        match &self.stage {
            Stage::Running(task) => Some(task),
            _ => None,
        }
    }

    fn stores(&self) -> Option<&TaskStores> {
        match &self.stage {
            Stage::Closed => None,
            Stage::Open { stores, .. } => Some(stores),
            Stage::Running(task) => Some(task.stores()),
        }
    }
}

impl StreamTask for TopologyTask {
    fn open(&mut self) -> Result<StoreOffsets, StreamsError> {
        let sub = self.sub()?.clone();
        // Tasks without persistent stores leave no directory behind.
        let persistent = sub.stores.iter().any(|store| store.spec.is_persistent());
        let disk = match &self.disk {
            Some(disk) if persistent => Some(disk.place(self.id)?),
            None if persistent => return Err(self.wrong_stage("opened")),
            _ => None,
        };
        let current = Arc::new(CurrentRecord::default());
        let env = StoreEnv {
            task: self.id.to_string().into(),
            disk,
            cache: self.cache.clone(),
            current: current.clone(),
        };
        let specs: Vec<_> = sub.stores.iter().map(|store| store.spec.clone()).collect();
        let stores = TaskStores::open(&specs, env)
            .map_err(|error| StreamsError::of_store(self.id, error))?;
        let mut known = StoreOffsets::new();
        for (store, built) in stores.iter().zip(&sub.stores) {
            if let (Some(topic), Some(last)) = (&built.changelog, store.checkpoint_offset()) {
                known.insert(topic.clone(), last + 1);
            }
        }
        self.stage = Stage::Open { stores, current };
        Ok(known)
    }

    fn restore(
        &mut self,
        changelog: &str,
        records: Vec<Record>,
        next_offset: i64,
    ) -> Result<(), StreamsError> {
        // Nothing is before the first offset.
        let Some(last) = next_offset.checked_sub(1).filter(|last| *last >= 0) else {
            return Ok(());
        };
        let sub = self.sub()?;
        let built = sub.stores.iter().find(|built| built.changelog.as_deref() == Some(changelog));
        let (Some(built), Stage::Open { stores, .. }) = (built, &self.stage) else {
            return Err(self.wrong_stage("restored"));
        };
        let record = |record: Record| RestoreRecord {
            key: record.key,
            value: record.value,
            timestamp: record.timestamp,
            position: None,
        };
        let records: Vec<RestoreRecord> = records.into_iter().map(record).collect();
        stores
            .restore(&built.spec.name, &records, last)
            .map_err(|error| StreamsError::of_store(self.id, error))
    }

    fn init(
        &mut self,
        metadata: &[(Arc<str>, String)],
        now: i64,
        out: &mut dyn Collector,
    ) -> Result<(), StreamsError> {
        let Stage::Open { stores, current } = std::mem::replace(&mut self.stage, Stage::Closed)
        else {
            return Err(self.wrong_stage("started"));
        };
        let config = self.config.clone();
        let env = TaskEnv { config, stores, current, globals: HashMap::new() };
        let mut task = Task::new(&self.topology, self.id, env)?;
        for (topic, text) in metadata {
            task.restore_metadata(topic, text);
        }
        task.init(now, out)?;
        self.stage = Stage::Running(Box::new(task));
        Ok(())
    }

    fn add(&mut self, topic: &str, records: Vec<Record>) {
        if let Stage::Running(task) = &mut self.stage {
            task.add(topic, records.into_iter().map(Into::into));
        }
    }

    fn buffered(&self, topic: &str) -> usize {
        self.task().map_or(0, |task| task.buffered(topic))
    }

    fn head(&self, topic: &str) -> Option<i64> {
        self.task()?.head(topic)
    }

    fn process(
        &mut self,
        limit: usize,
        now: i64,
        caught_up: &dyn Fn(&str) -> bool,
        out: &mut dyn Collector,
    ) -> Result<usize, StreamsError> {
        Ok(self.running("processed")?.process(limit, now, caught_up, out)?)
    }

    fn punctuate(&mut self, now: i64, out: &mut dyn Collector) -> Result<(), StreamsError> {
        let task = self.running("punctuated")?;
        task.punctuate_stream(now, out)?;
        task.punctuate_wall(now, out)?;
        Ok(())
    }

    fn wake_at(&self) -> Option<i64> {
        self.task()?.wake_at()
    }

    fn commit_needed(&self) -> bool {
        self.task().is_some_and(Task::commit_needed)
    }

    fn commit_requested(&self) -> bool {
        self.task().is_some_and(Task::commit_requested)
    }

    fn prepare_commit(&mut self, out: &mut dyn Collector) -> Result<(), StreamsError> {
        Ok(self.running("flushed")?.flush(out)?)
    }

    fn metadata(&self, topic: &str) -> String {
        self.task().map(|task| task.metadata(topic)).unwrap_or_default()
    }

    fn committed(&mut self, offsets: &StoreOffsets) -> Result<(), StreamsError> {
        let sub = self.sub()?;
        // A checkpoint names the last record that is in the store.
        let last = |store: &str| {
            let built = sub.stores.iter().find(|built| &*built.spec.name == store)?;
            let next = offsets.get(built.changelog.as_ref()?)?;
            Some(next - 1).filter(|last| *last >= 0)
        };
        if let Some(stores) = self.stores() {
            stores.commit(last).map_err(|error| StreamsError::of_store(self.id, error))?;
        }
        if let Stage::Running(task) = &mut self.stage {
            task.committed();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), StreamsError> {
        // Stores are closed and the directory unlocked when they are dropped.
        match std::mem::replace(&mut self.stage, Stage::Closed) {
            Stage::Running(mut task) => Ok(task.close()?),
            _ => Ok(()),
        }
    }

    fn wipe(&mut self) -> Result<(), StreamsError> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let wiped = disk.place(self.id)?.directory.wipe();
        wiped.map_err(|error| StreamsError::of_store(self.id, error))
    }
}
