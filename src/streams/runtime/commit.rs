//! Commits: everything sent is written before the offsets that stand for it count.
//!
//! At least once: flush, then the offsets. Exactly once: the offsets within the transaction. Stores
//! make their part durable last; if that does not happen, their changelogs have it.

use std::collections::HashMap;
use std::time::Instant;

use super::error::StreamsError;
use super::manager::Manager;
use super::offsets;
use crate::client::{Error, ErrorCode, GroupMetadata, OffsetToCommit, TopicPartition};
use crate::streams::membership::TaskId;

/// Times that a commit is repeated with the member's newest epoch.
const STALE_MAX: usize = 3;

impl Manager {
    /// Commits all tasks that have something to commit; `group` gives the member's newest epoch.
    /// Returns whether there was anything.
    ///
    /// # Errors
    /// [`StreamsError::Migrated`] if the tasks are others' by now. Any other error means that what
    /// was done since the last commit is lost or in doubt.
    pub(super) fn commit(
        &mut self,
        group: impl Fn() -> GroupMetadata,
    ) -> Result<bool, StreamsError> {
        self.last_commit = Instant::now();
        let mut tasks: Vec<TaskId> = Vec::new();
        let output = &mut self.output;
        for slot in self.slots.values_mut().filter(|slot| slot.is_running()) {
            if slot.task.commit_needed() {
                slot.call(|task| task.prepare_commit(output))?;
                tasks.push(slot.id);
            } else if slot.inputs.keys().any(|tp| slot.to_commit(tp).is_some()) {
                // Only markers or aborted records were passed.
                tasks.push(slot.id);
            }
        }
        if tasks.is_empty() {
            return Ok(false);
        }
        let mut to_commit = Vec::new();
        // Tasks with the ends of their offsets in `to_commit`.
        let mut ends = Vec::with_capacity(tasks.len());
        for (id, slot) in tasks.iter().filter_map(|id| Some((*id, self.slots.get(id)?))) {
            for tp in slot.inputs.keys() {
                let Some(offset) = slot.to_commit(tp) else { continue };
                let metadata = slot.task.metadata(&tp.topic);
                let partition = tp.clone();
                to_commit.push(OffsetToCommit { partition, offset, leader_epoch: -1, metadata });
            }
            ends.push((id, to_commit.len()));
        }
        let written = self.output.flush()?;
        if self.output.is_transactional() {
            self.output.commit(&to_commit, &group())?;
        } else {
            self.commit_offsets(&to_commit, group)?;
        }
        self.finish(&ends, &to_commit, &written)?;
        Ok(true)
    }

    fn commit_offsets(
        &self,
        to_commit: &[OffsetToCommit],
        group: impl Fn() -> GroupMetadata,
    ) -> Result<(), StreamsError> {
        if to_commit.is_empty() {
            return Ok(());
        }
        let mut attempt = 0;
        loop {
            let member = group();
            let commit = offsets::commit(&self.client, &member, to_commit);
            let outcome: Result<(), Error> = self.handle.block_on(commit);
            let Err(error) = outcome else { return Ok(()) };
            attempt += 1;
            // The group may have moved on between reading the epoch and using it.
            let stale = error.code() == Some(ErrorCode::StaleMemberEpoch);
            if !stale || attempt >= STALE_MAX || group().member_epoch == member.member_epoch {
                return Err(StreamsError::of_output(error));
            }
        }
    }

    fn finish(
        &mut self,
        ends: &[(TaskId, usize)],
        committed: &[OffsetToCommit],
        written: &HashMap<TopicPartition, i64>,
    ) -> Result<(), StreamsError> {
        let mut start = 0;
        for (id, end) in ends {
            let own = &committed[std::mem::replace(&mut start, *end)..*end];
            let Some(slot) = self.slots.get_mut(id) else { continue };
            for (tp, log) in &mut slot.changelogs {
                if let Some(next) = written.get(tp) {
                    log.next = Some(*next);
                }
            }
            for offset in own {
                if let Some(input) = slot.inputs.get_mut(&offset.partition) {
                    input.committed = Some(offset.offset);
                }
            }
            let offsets = slot.store_offsets();
            slot.call(|task| task.committed(&offsets))?;
        }
        Ok(())
    }

    /// Whether a commit is due.
    pub(super) fn commit_due(&self, now: Instant) -> bool {
        now >= self.last_commit + self.settings.commit_interval
            || self.slots.values().any(|slot| slot.is_running() && slot.task.commit_requested())
    }
}
