//! The share session at one broker: its epoch and which partitions are in it. No I/O.
//!
//! The broker ties the session to the connection that opened it, so a new connection always
//! starts at epoch 0. Every accepted request advances the epoch, and after the largest comes 1.

use std::collections::BTreeSet;

use super::PartitionId;
#[cfg(test)]
use crate::wire::Uuid;
use crate::wire::messages::share_fetch::{FetchPartition, FetchTopic, ForgottenTopic};

/// Epoch that opens a session.
const OPENING: i32 = 0;
/// Epoch that closes it.
pub(super) const CLOSING: i32 = -1;

#[derive(Debug, Default)]
pub(super) struct Session {
    epoch: i32,
    members: BTreeSet<PartitionId>,
}

/// How a request changes the partitions of the session; takes effect when it was accepted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) add: BTreeSet<PartitionId>,
    pub(super) forget: BTreeSet<PartitionId>,
}

impl Session {
    /// Epoch of the next request.
    pub(super) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(super) fn is_open(&self) -> bool {
        self.epoch != OPENING
    }

    pub(super) fn contains(&self, partition: &PartitionId) -> bool {
        self.members.contains(partition)
    }

    /// What the next request must add and forget to reach `wanted`.
    pub(super) fn change(&self, wanted: &BTreeSet<PartitionId>) -> Change {
        Change {
            add: wanted.difference(&self.members).copied().collect(),
            forget: self.members.difference(wanted).copied().collect(),
        }
    }

    /// The broker accepted the request of the present epoch.
    pub(super) fn accepted(&mut self, change: Change) {
        self.members.extend(change.add);
        for partition in change.forget {
            self.members.remove(&partition);
        }
        self.epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
    }

    /// The broker no longer knows the session, or may have seen a request whose answer was lost.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Groups partitions by topic, as requests list them.
pub(super) fn by_topic(
    partitions: impl IntoIterator<Item = (PartitionId, FetchPartition)>,
) -> Vec<FetchTopic> {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (id, partition) in partitions {
        match topics.iter_mut().find(|topic| topic.topic_id == id.topic) {
            Some(topic) => topic.partitions.push(partition),
            None => topics.push(FetchTopic { topic_id: id.topic, partitions: vec![partition] }),
        }
    }
    topics
}

/// The same for the list of forgotten partitions.
pub(super) fn forgotten(partitions: &BTreeSet<PartitionId>) -> Vec<ForgottenTopic> {
    let mut topics: Vec<ForgottenTopic> = Vec::new();
    for id in partitions {
        match topics.last_mut().filter(|topic| topic.topic_id == id.topic) {
            Some(topic) => topic.partitions.push(id.partition),
            None => {
                topics.push(ForgottenTopic { topic_id: id.topic, partitions: vec![id.partition] })
            }
        }
    }
    topics
}

/// The next-to-last epoch before it wraps, for tests.
#[cfg(test)]
pub(super) fn at_epoch(epoch: i32) -> Session {
    Session { epoch, members: BTreeSet::new() }
}

/// Shorthand for the tests of this part.
#[cfg(test)]
pub(super) fn id(topic: u8, partition: i32) -> PartitionId {
    PartitionId { topic: Uuid([topic; 16]), partition }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[PartitionId]) -> BTreeSet<PartitionId> {
        ids.iter().copied().collect()
    }

    #[test]
    fn share_04_after_a_reset_the_next_request_opens_with_the_full_list() {
        let mut session = Session::default();
        let wanted = set(&[id(1, 0), id(1, 1)]);
        let change = session.change(&wanted);
        assert_eq!((session.epoch(), &change.add), (0, &wanted));
        session.accepted(change);
        assert_eq!((session.epoch(), session.change(&wanted)), (1, Change::default()));
        session.reset();
        assert_eq!((session.epoch(), session.change(&wanted).add), (0, wanted));
    }

    #[test]
    fn share_14_what_is_no_longer_wanted_is_forgotten_once() {
        let mut session = Session::default();
        session.accepted(session.change(&set(&[id(1, 0), id(2, 0)])));
        let change = session.change(&set(&[id(2, 0)]));
        assert_eq!((change.add.len(), &change.forget), (0, &set(&[id(1, 0)])));
        session.accepted(change);
        assert!(!session.contains(&id(1, 0)));
        assert_eq!(session.change(&set(&[id(2, 0)])), Change::default());
    }

    #[test]
    fn a_change_that_was_not_accepted_is_asked_for_again() {
        let session = Session::default();
        let wanted = set(&[id(1, 0)]);
        assert_eq!(session.change(&wanted), session.change(&wanted));
    }

    #[test]
    fn after_the_largest_epoch_comes_one() {
        let mut session = at_epoch(i32::MAX);
        session.accepted(Change::default());
        assert_eq!(session.epoch(), 1);
    }

    #[test]
    fn a_recreated_topic_is_another_partition() {
        let mut session = Session::default();
        session.accepted(session.change(&set(&[id(1, 0)])));
        let change = session.change(&set(&[id(9, 0)]));
        assert_eq!((change.add, change.forget), (set(&[id(9, 0)]), set(&[id(1, 0)])));
    }

    #[test]
    fn requests_list_each_topic_once() {
        let listed = by_topic([id(1, 0), id(2, 0), id(1, 3)].map(|id| {
            (id, FetchPartition { partition_index: id.partition, ..Default::default() })
        }));
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[0].partitions.len(), 2);
        let listed = forgotten(&set(&[id(1, 0), id(2, 0), id(1, 3)]));
        assert_eq!(
            listed.iter().map(|t| t.partitions.clone()).collect::<Vec<_>>(),
            [vec![0, 3], vec![0]]
        );
    }
}
