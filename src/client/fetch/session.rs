//! Fetch sessions (KIP-227): what the broker remembers of the last request, so that the next one
//! names only what changed. No I/O.

use std::collections::HashMap;

use crate::client::admin::TopicPartition;
use crate::wire::Uuid;
use crate::wire::messages::FetchRequest;
use crate::wire::messages::fetch::{FetchPartition, FetchTopic, ForgottenTopic};

/// A partition as a request names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) topic_id: Uuid,
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) last_fetched_epoch: i32,
    pub(super) max_bytes: i32,
}

/// One broker's session.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: i32,
    /// Of the next request; 0 opens a session.
    epoch: i32,
    known: HashMap<TopicPartition, Wanted>,
}

impl Session {
    /// Forgets the session; the next request opens one with all its partitions.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Adds session, partitions and forgotten partitions to a request, and remembers what the
    /// broker will know once it accepted it.
    pub(super) fn fill(
        &mut self,
        request: &mut FetchRequest,
        wanted: HashMap<TopicPartition, Wanted>,
    ) {
        request.session_id = self.id;
        request.session_epoch = self.epoch;
        if self.epoch == 0 {
            request.topics = topics(wanted.iter());
        } else {
            let changed = wanted.iter().filter(|(tp, new)| self.known.get(tp) != Some(new));
            request.topics = topics(changed);
            // A recreated topic is forgotten under its former id.
            let gone = self
                .known
                .iter()
                .filter(|(tp, old)| wanted.get(tp).is_none_or(|new| new.topic_id != old.topic_id));
            request.forgotten_topics_data = forgotten(gone);
        }
        self.known = wanted;
    }

    /// Takes over the session that an answer without error gave.
    pub(super) fn accepted(&mut self, session_id: i32) {
        if session_id == 0 {
            // The broker has no room for sessions: every request names everything.
            self.reset();
            return;
        }
        self.id = session_id;
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
    }

    /// The request that closes the session, or `None` if there is none.
    pub(super) fn closing(&self) -> Option<FetchRequest> {
        (self.id != 0).then(|| FetchRequest {
            session_id: self.id,
            session_epoch: -1,
            ..FetchRequest::default()
        })
    }
}

fn topics<'a>(
    partitions: impl Iterator<Item = (&'a TopicPartition, &'a Wanted)>,
) -> Vec<FetchTopic> {
    let mut by_topic: HashMap<(&str, Uuid), Vec<FetchPartition>> = HashMap::new();
    for (tp, wanted) in partitions {
        by_topic.entry((&tp.topic, wanted.topic_id)).or_default().push(FetchPartition {
            partition: tp.partition,
            current_leader_epoch: wanted.leader_epoch,
            fetch_offset: wanted.offset,
            last_fetched_epoch: wanted.last_fetched_epoch,
            partition_max_bytes: wanted.max_bytes,
            ..FetchPartition::default()
        });
    }
    let topics = by_topic.into_iter().map(|((topic, topic_id), mut partitions)| {
        partitions.sort_by_key(|partition| partition.partition);
        FetchTopic { topic: topic.to_owned(), topic_id, partitions }
    });
    topics.collect()
}

fn forgotten<'a>(
    partitions: impl Iterator<Item = (&'a TopicPartition, &'a Wanted)>,
) -> Vec<ForgottenTopic> {
    let mut by_topic: HashMap<(&str, Uuid), Vec<i32>> = HashMap::new();
    for (tp, wanted) in partitions {
        by_topic.entry((&tp.topic, wanted.topic_id)).or_default().push(tp.partition);
    }
    let topics = by_topic.into_iter().map(|((topic, topic_id), partitions)| ForgottenTopic {
        topic: topic.to_owned(),
        topic_id,
        partitions,
    });
    topics.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Uuid = Uuid([1; 16]);

    fn wanted(offsets: &[(i32, i64)]) -> HashMap<TopicPartition, Wanted> {
        let entry = |offset| Wanted {
            topic_id: ID,
            offset,
            leader_epoch: 0,
            last_fetched_epoch: -1,
            max_bytes: 100,
        };
        let pairs = offsets
            .iter()
            .map(|(partition, offset)| (TopicPartition::new("t", *partition), entry(*offset)));
        pairs.collect()
    }

    fn named(request: &FetchRequest) -> Vec<i32> {
        let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.map(|partition| partition.partition).collect()
    }

    #[test]
    fn the_first_request_names_everything_and_the_next_only_changes() {
        let mut session = Session::default();
        let mut request = FetchRequest::default();
        session.fill(&mut request, wanted(&[(0, 5), (1, 7)]));
        assert_eq!((request.session_id, request.session_epoch), (0, 0));
        assert_eq!(named(&request), [0, 1]);
        session.accepted(42);

        let mut request = FetchRequest::default();
        session.fill(&mut request, wanted(&[(0, 6), (1, 7)]));
        assert_eq!((request.session_id, request.session_epoch), (42, 1));
        assert_eq!(named(&request), [0]);
        assert!(request.forgotten_topics_data.is_empty());
    }

    #[test]
    fn partitions_no_longer_wanted_are_forgotten() {
        let mut session = Session::default();
        session.fill(&mut FetchRequest::default(), wanted(&[(0, 5), (1, 7)]));
        session.accepted(42);
        let mut request = FetchRequest::default();
        session.fill(&mut request, wanted(&[(1, 7)]));
        assert!(request.topics.is_empty());
        assert_eq!(request.forgotten_topics_data[0].partitions, [0]);
    }

    #[test]
    fn a_recreated_topic_is_forgotten_under_its_former_id_and_named_under_the_new() {
        let mut session = Session::default();
        session.fill(&mut FetchRequest::default(), wanted(&[(0, 5)]));
        session.accepted(42);
        let mut recreated = wanted(&[(0, 0)]);
        for entry in recreated.values_mut() {
            entry.topic_id = Uuid([2; 16]);
        }
        let mut request = FetchRequest::default();
        session.fill(&mut request, recreated);
        assert_eq!(request.topics[0].topic_id, Uuid([2; 16]));
        assert_eq!(request.forgotten_topics_data[0].topic_id, ID);
    }

    #[test]
    fn a_broker_without_room_is_asked_in_full_each_time() {
        let mut session = Session::default();
        for _ in 0..2 {
            let mut request = FetchRequest::default();
            session.fill(&mut request, wanted(&[(0, 5)]));
            assert_eq!((request.session_id, request.session_epoch), (0, 0));
            assert_eq!(named(&request), [0]);
            session.accepted(0);
        }
        assert!(session.closing().is_none());
    }

    #[test]
    fn the_epoch_passes_from_the_largest_to_one() {
        let mut session = Session { id: 42, epoch: i32::MAX, known: HashMap::new() };
        session.accepted(42);
        assert_eq!(session.epoch, 1);
        assert_eq!(session.closing().unwrap().session_epoch, -1);
    }
}
