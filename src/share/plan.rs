//! Which request a node's task sends next. No I/O: it looks at the shared state, the session and
//! the time, and puts the acknowledgements of its choice in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::PartitionId;
use super::book::batches;
use super::error::AckError;
use super::session::{CLOSING, Change, Session, by_topic, forgotten};
use super::state::{Life, Node, Shared, State};
use crate::wire::messages::share_acknowledge::{AcknowledgePartition, AcknowledgeTopic};
use crate::wire::messages::share_fetch::{AcknowledgementBatch, FetchPartition};
use crate::wire::messages::{ShareAcknowledgeRequest, ShareFetchRequest};

/// Longest long poll when acknowledgements ride along, as their results ride back.
const WAIT_WITH_ACKS: Duration = Duration::from_millis(500);
/// Longest time between two looks at locks and buffers.
const LOOK: Duration = Duration::from_millis(250);

/// What to do next.
pub(super) enum Step {
    Fetch(ShareFetchRequest, Change),
    Acknowledge(ShareAcknowledgeRequest),
    CloseSession(ShareAcknowledgeRequest),
    Wait(Instant),
    End,
}

/// Chooses the next request; see [`Step`].
pub(super) struct Planner<'a> {
    pub(super) shared: &'a Shared,
    pub(super) session: &'a Session,
    pub(super) id: i32,
    pub(super) now: Instant,
}

impl Planner<'_> {
    pub(super) fn plan(&self, state: &mut State) -> Step {
        let Some(mut node) = state.nodes.remove(&self.id) else { return Step::End };
        node.postponed.retain(|_, until| *until > self.now);
        let ending = state.life != Life::Running || state.fatal.is_some();
        let step = if ending { self.plan_end(&mut node) } else { self.plan_work(state, &mut node) };
        if let Step::Fetch(request, _) = &step
            && self.shared.settings.record_limit
            && request.max_records > 0
        {
            state.fetching = Some(self.id);
        }
        match step {
            Step::End => {
                // What could not be sent has failed; nobody will try again.
                let why = Err(AckError::lost("the consumer was closed before it could be sent"));
                for (id, mut book) in std::mem::take(&mut node.books) {
                    state.settle(id, book.abandon(), &why);
                }
            }
            _ => {
                state.nodes.insert(self.id, node);
            }
        }
        step
    }

    fn plan_end(&self, node: &mut Node) -> Step {
        if !self.session.is_open() {
            return Step::End;
        }
        match self.acks(node, false, |_| true) {
            Some(request) => Step::Acknowledge(request),
            None => Step::CloseSession(self.acknowledge_request(CLOSING, Vec::new(), false)),
        }
    }

    fn plan_work(&self, state: &State, node: &mut Node) -> Step {
        let settings = &self.shared.settings;
        node.books.retain(|_, book| !book.is_empty());
        let idle = node.wanted.is_empty() && node.books.is_empty();
        if idle {
            return if self.session.is_open() {
                Step::CloseSession(self.acknowledge_request(CLOSING, Vec::new(), false))
            } else {
                Step::End
            };
        }
        let paused = |id: &PartitionId| {
            state
                .names
                .get(&id.topic)
                .is_some_and(|name| state.paused.contains(&(name.clone(), id.partition)))
        };
        let wanted: BTreeSet<PartitionId> = node
            .wanted
            .iter()
            .filter(|id| !node.postponed.contains_key(id) && !paused(id))
            .copied()
            .collect();
        let can_fetch = !wanted.is_empty() && self.has_room(state, node);
        let pending = node.books.values().any(|book| book.has_pending(false));
        let renewals = node.books.values().any(|book| book.has_pending(true));
        let change = self.session.change(&wanted);
        if !self.session.is_open() {
            // Acknowledgements cannot open a session; an empty fetch can.
            return if can_fetch || pending || renewals {
                self.fetch(state, node, &wanted, change, can_fetch, false)
            } else {
                Step::Wait(self.next_look(state, node))
            };
        }
        if renewals && let Some(request) = self.acks(node, true, |_| true) {
            return Step::Acknowledge(request);
        }
        if pending {
            let due = node.queued_at.is_none_or(|at| at + settings.flush_interval <= self.now);
            let rides = |id: &PartitionId| wanted.contains(id) && self.session.contains(id);
            let strays = node.books.iter().any(|(id, book)| book.has_pending(false) && !rides(id));
            let now = state.is_awaited(node) || strays || (!can_fetch && (due || node.has_gaps));
            if now && let Some(request) = self.acks(node, false, |_| true) {
                return Step::Acknowledge(request);
            }
        }
        if can_fetch || !change.forget.is_empty() {
            return self.fetch(state, node, &wanted, change, can_fetch, true);
        }
        Step::Wait(self.next_look(state, node))
    }

    fn has_room(&self, state: &State, node: &Node) -> bool {
        let settings = &self.shared.settings;
        if !state.may_fetch {
            return false;
        }
        if settings.record_limit {
            // One node at a time and only for a poll that waits, so that no poll is given more
            // than it may have; the one that has waited longest first.
            let first = state
                .nodes
                .values()
                .filter(|other| !other.wanted.iter().all(|id| other.postponed.contains_key(id)))
                .all(|other| node.turns <= other.turns);
            return state.polling > 0
                && state.ready_records == 0
                && state.fetching.is_none()
                && first;
        }
        let target = state.fetch_size(settings);
        state.ready_records.saturating_mul(2) <= target
            && state.ready_bytes <= settings.max_bytes as usize / 2
    }

    fn next_look(&self, state: &State, node: &Node) -> Instant {
        let mut next = self.now + LOOK;
        if node.books.values().any(|book| book.has_pending(false)) {
            let flush = self.shared.settings.flush_interval;
            next = next.min(node.queued_at.unwrap_or(self.now) + flush);
        }
        for at in node.postponed.values().copied().chain(state.next_expiry()) {
            next = next.min(at);
        }
        // Never at once: a step that cannot be taken now must not be tried in a tight loop.
        next.max(self.now + Duration::from_millis(1))
    }

    fn fetch(
        &self,
        state: &State,
        node: &mut Node,
        wanted: &BTreeSet<PartitionId>,
        change: Change,
        data: bool,
        with_acks: bool,
    ) -> Step {
        let settings = &self.shared.settings;
        let mut parts: BTreeMap<PartitionId, Vec<AcknowledgementBatch>> =
            change.add.iter().map(|id| (*id, Vec::new())).collect();
        let mut rides = false;
        if with_acks {
            let in_session = |id: &PartitionId| wanted.contains(id) && self.session.contains(id);
            for (id, batches) in take_batches(node, false, in_session) {
                parts.insert(id, batches);
                rides = true;
            }
        }
        let max_wait = if !data {
            Duration::ZERO
        } else if rides {
            settings.max_wait.min(WAIT_WITH_ACKS)
        } else if settings.record_limit {
            settings.max_wait / u32::try_from(state.nodes.len() + 1).unwrap_or(1)
        } else {
            settings.max_wait
        };
        let records = if data { clamp(state.fetch_size(settings)) } else { 0 };
        if settings.record_limit && data {
            node.turns += 1;
        }
        let topics = by_topic(parts.into_iter().map(|(id, acknowledgement_batches)| {
            let partition_index = id.partition;
            (id, FetchPartition { partition_index, acknowledgement_batches })
        }));
        let request = ShareFetchRequest {
            group_id: Some(settings.group.to_string()),
            member_id: Some(self.shared.member.clone()),
            share_session_epoch: self.session.epoch(),
            max_wait_ms: clamp(usize::try_from(max_wait.as_millis()).unwrap_or(usize::MAX)),
            min_bytes: if data { settings.min_bytes } else { 0 },
            max_bytes: if data { settings.max_bytes } else { 0 },
            max_records: records,
            batch_size: records,
            share_acquire_mode: i8::from(settings.record_limit),
            is_renew_ack: false,
            topics,
            forgotten_topics_data: forgotten(&change.forget),
        };
        Step::Fetch(request, change)
    }

    fn acks(
        &self,
        node: &mut Node,
        renewals: bool,
        of: impl Fn(&PartitionId) -> bool,
    ) -> Option<ShareAcknowledgeRequest> {
        let mut topics: Vec<AcknowledgeTopic> = Vec::new();
        for (id, batches) in take_batches(node, renewals, of) {
            let acknowledgement_batches = batches
                .into_iter()
                .map(|batch| crate::wire::messages::share_acknowledge::AcknowledgementBatch {
                    first_offset: batch.first_offset,
                    last_offset: batch.last_offset,
                    acknowledge_types: batch.acknowledge_types,
                })
                .collect();
            let part =
                AcknowledgePartition { partition_index: id.partition, acknowledgement_batches };
            match topics.last_mut().filter(|topic| topic.topic_id == id.topic) {
                Some(topic) => topic.partitions.push(part),
                None => {
                    topics.push(AcknowledgeTopic { topic_id: id.topic, partitions: vec![part] });
                }
            }
        }
        let request = self.acknowledge_request(self.session.epoch(), topics, renewals);
        (!request.topics.is_empty()).then_some(request)
    }

    fn acknowledge_request(
        &self,
        epoch: i32,
        topics: Vec<AcknowledgeTopic>,
        renewals: bool,
    ) -> ShareAcknowledgeRequest {
        ShareAcknowledgeRequest {
            group_id: Some(self.shared.settings.group.to_string()),
            member_id: Some(self.shared.member.clone()),
            share_session_epoch: epoch,
            is_renew_ack: renewals,
            topics,
        }
    }
}

/// Puts the next group of each partition in flight.
fn take_batches(
    node: &mut Node,
    renewals: bool,
    of: impl Fn(&PartitionId) -> bool,
) -> Vec<(PartitionId, Vec<AcknowledgementBatch>)> {
    let mut taken = Vec::new();
    for (id, book) in node.books.iter_mut().filter(|(id, _)| of(id)) {
        if let Some(group) = book.take_group(renewals) {
            taken.push((*id, batches(group)));
        }
    }
    if !node.books.values().any(|book| book.has_pending(false)) {
        node.queued_at = None;
        node.has_gaps = false;
    }
    taken
}

fn clamp(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
