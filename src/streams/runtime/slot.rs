//! One task of a thread, with its partitions and positions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::error::StreamsError;
use super::seam::{Inputs, ResetPolicy, StoreOffsets, StreamTask};
use crate::client::TopicPartition;
use crate::streams::membership::TaskId;
use crate::streams::store::RestoreProgress;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its stores are not open. Tried again at this time.
    Opening(Instant),
    /// Its changelogs are read: an active task until their ends, a standby for ever.
    Restoring,
    /// Processing.
    Running,
}

/// An input partition.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) reset: ResetPolicy,
    pub(super) repartition: bool,
    /// The offset after everything fetched; `None` before the first answer.
    pub(super) next: Option<i64>,
    /// End of what can be read, as the last answer said.
    pub(super) end: Option<i64>,
    pub(super) committed: Option<i64>,
    pub(super) paused: bool,
}

/// A changelog partition.
#[derive(Debug)]
pub(super) struct Changelog {
    /// Name of the store.
    pub(super) store: Arc<str>,
    /// Next offset to apply; `None` if the store knows nothing of it.
    pub(super) next: Option<i64>,
    /// Where restoring ends; `None` for a standby.
    pub(super) end: Option<i64>,
    /// What the listener hears of the restoring of an active task.
    pub(super) progress: Option<RestoreProgress>,
}

impl Changelog {
    fn is_restored(&self) -> bool {
        self.end.is_some_and(|end| end <= self.next.unwrap_or(0))
    }
}

pub(super) struct Slot {
    pub(super) id: TaskId,
    pub(super) active: bool,
    pub(super) phase: Phase,
    pub(super) task: Box<dyn StreamTask>,
    pub(super) topics: Inputs,
    pub(super) inputs: BTreeMap<TopicPartition, Input>,
    pub(super) changelogs: BTreeMap<TopicPartition, Changelog>,
    pub(super) attempts: u32,
}

impl Slot {
    pub(super) fn new(id: TaskId, active: bool, topics: Inputs, task: Box<dyn StreamTask>) -> Self {
        Self {
            id,
            active,
            phase: Phase::Opening(Instant::now()),
            task,
            topics,
            inputs: BTreeMap::new(),
            changelogs: BTreeMap::new(),
            attempts: 0,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub(super) fn is_restored(&self) -> bool {
        self.changelogs.values().all(Changelog::is_restored)
    }

    /// Calls the program's code; a panic becomes an error.
    pub(super) fn call<T>(
        &mut self,
        work: impl FnOnce(&mut dyn StreamTask) -> Result<T, StreamsError>,
    ) -> Result<T, StreamsError> {
        let task = &mut *self.task;
        match catch_unwind(AssertUnwindSafe(|| work(task))) {
            Ok(result) => result,
            Err(panic) => Err(StreamsError::Panic { task: self.id, text: message(&*panic) }),
        }
    }

    /// The stores' positions as they are made durable with a commit.
    pub(super) fn store_offsets(&self) -> StoreOffsets {
        let known = self.changelogs.iter();
        known.filter_map(|(tp, log)| Some((tp.topic.clone(), log.next?))).collect()
    }

    /// What a commit says of an input; `None` if nothing is known or nothing new.
    pub(super) fn to_commit(&self, tp: &TopicPartition) -> Option<i64> {
        let input = self.inputs.get(tp)?;
        let offset = self.task.head(&tp.topic).or(input.next)?;
        (input.committed != Some(offset)).then_some(offset)
    }
}

pub(super) fn message(panic: &(dyn std::any::Any + Send)) -> Arc<str> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").into()
}
