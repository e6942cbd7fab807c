//! The task of one node: its session, one request in flight, and what the answers bring.
//!
//! The request is chosen under the lock from what is known at that moment; the answer is decoded
//! outside of it. Whatever goes wrong with a request on the wire costs the connection: the broker
//! may or may not have seen it, and releases the locks when the connection ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::book::Verdict;
use super::decode::{Decoded, decode};
use super::error::{AckError, ShareError};
use super::plan::{Planner, Step};
use super::record::Origin;
use super::session::{Change, Session};
use super::state::{Life, Shared, State};
use super::{AckType, PartitionId};
use crate::client::{
    Backoff, Connection, Error, ErrorCode, LeaderHint, RetryVerdict, decide, leader_node,
};
use crate::wire::messages::share_fetch::PartitionData;
use crate::wire::messages::{
    ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareFetchRequest, ShareFetchResponse,
};
use crate::wire::{Message as _, Uuid};

/// How long a partition is left alone after its leader could not serve it.
const POSTPONE: Duration = Duration::from_millis(500);
/// The same where only an operator can help.
const POSTPONE_DENIED: Duration = Duration::from_secs(5);

pub(super) struct Worker {
    shared: Arc<Shared>,
    node: i32,
    wake: Arc<Notify>,
    session: Session,
    backoff: Backoff,
    connection: Option<Connection>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, node: i32) -> Self {
        let wake = shared
            .lock()
            .nodes
            .get(&node)
            .map_or_else(|| Arc::new(Notify::new()), |node| node.wake.clone());
        let backoff = Backoff::new(shared.client.config().retry_policy());
        Self { shared, node, wake, session: Session::default(), backoff, connection: None }
    }

    pub(super) async fn run(mut self) {
        loop {
            let outcome = match self.next_step() {
                Step::End => break,
                Step::Wait(until) => {
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = tokio::time::sleep_until(until) => {}
                    }
                    continue;
                }
                Step::Fetch(request, change) => self.fetch(request, change).await,
                Step::Acknowledge(request) => self.acknowledge(request).await,
                Step::CloseSession(request) => {
                    self.close_session(request).await;
                    continue;
                }
            };
            match outcome {
                Ok(()) => self.backoff.reset(),
                Err(error) => self.recover(error).await,
            }
        }
    }

    /// A request that did not end well on the wire, or that the broker refused as a whole.
    async fn recover(&mut self, error: Error) {
        self.shared.stats.fetch_failed();
        log::debug!(
            target: crate::LOG_TARGET,
            "share group {} at broker {}: {error}", self.shared.settings.group, self.node
        );
        self.session.reset();
        if error.code().is_none() {
            self.disconnect(&error.to_string()).await;
            if decide(&error) == RetryVerdict::Fail {
                self.shared.fail(fatal(error));
                return;
            }
        }
        self.shared.client.metadata().request_refresh();
        let pause = self.backoff.next_delay();
        // A close need not wait for a broker that is down.
        let until = Instant::now() + pause;
        while Instant::now() < until && self.shared.lock().life == Life::Running {
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    async fn disconnect(&mut self, why: &str) {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
        self.session.reset();
        self.shared.with(|state| {
            state.lose_node(self.node, why);
            release_turn(state, self.node);
        });
        self.shared.notify_polls();
    }

    /// The connection that the session lives on; a new one starts a new generation.
    async fn connection(&mut self, limit: Instant) -> Result<Connection, Error> {
        if let Some(open) = self.connection.clone() {
            if !open.is_broken() {
                return Ok(open);
            }
            let why = open.broken().await.to_string();
            self.disconnect(&why).await;
        }
        let new = self.shared.client.node(self.node, self.shared.purpose, limit).await?;
        let version = new.version_within::<ShareFetchRequest>(1..=2)?;
        if self.shared.settings.record_limit && version < 2 {
            return Err(Error::UnsupportedVersion {
                broker: new.broker().clone(),
                api: ShareFetchRequest::NAME,
                detail: "share.acquire.mode=record_limit needs Apache Kafka 4.2 (ShareFetch \
                         version 2); use batch_optimized"
                    .into(),
            });
        }
        self.session.reset();
        self.shared.with(|state| {
            state.lose_node(self.node, "the connection to the broker was replaced");
            if let Some(node) = state.nodes.get_mut(&self.node) {
                node.generation = new.generation();
                node.version = version;
            }
        });
        self.connection = Some(new.clone());
        Ok(new)
    }

    fn next_step(&mut self) -> Step {
        let (shared, session, node) = (&self.shared, &self.session, self.node);
        let now = Instant::now();
        let step = shared.with(|state| {
            state.expire(&shared.stats, now);
            if let Some(at_most) = shared.settings.auto_renew {
                state.renew_ending(node, at_most, now);
            }
            Planner { shared, session, id: node, now }.plan(state)
        });
        if matches!(step, Step::End) && self.shared.settings.record_limit {
            self.shared.with(|state| release_turn(state, node));
        }
        step
    }

    async fn fetch(&mut self, request: ShareFetchRequest, change: Change) -> Result<(), Error> {
        let generation = self.connection.as_ref().map(Connection::generation);
        let result = self.send_fetch(request, generation).await;
        self.shared.with(|state| release_turn(state, self.node));
        let (sent, response) = match result {
            Ok(answered) => answered,
            Err(error) => {
                self.shared.with(|state| unsend(state, self.node));
                return Err(error);
            }
        };
        let code = ErrorCode::from(response.error_code);
        if code != ErrorCode::None {
            return Err(self.refused("ShareFetch", code, response.error_message.as_deref()));
        }
        self.session.accepted(change);
        self.take_over(sent, response);
        Ok(())
    }

    /// A session that opens takes the connection that is there now; a running one must find its
    /// own.
    async fn send_fetch(
        &mut self,
        mut request: ShareFetchRequest,
        generation: Option<u64>,
    ) -> Result<(Instant, ShareFetchResponse), Error> {
        let limit = self.limit(Duration::from_millis(request.max_wait_ms.max(0) as u64));
        let connection = self.connection(limit).await?;
        if request.share_session_epoch != 0 && Some(connection.generation()) != generation {
            return Err(session_gone());
        }
        let version = connection.version_within::<ShareFetchRequest>(1..=2)?;
        if version < 2 {
            request.share_acquire_mode = 0;
        }
        let sent = Instant::now();
        let response = connection.send_at(&request, version, limit).await?.answer().await?;
        Ok((sent, response))
    }

    async fn acknowledge(&mut self, request: ShareAcknowledgeRequest) -> Result<(), Error> {
        let (sent, response) = match self.send_acks(&request).await {
            Ok(answered) => answered,
            Err(error) => {
                self.shared.with(|state| unsend(state, self.node));
                return Err(error);
            }
        };
        let code = ErrorCode::from(response.error_code);
        if code != ErrorCode::None {
            return Err(self.refused("ShareAcknowledge", code, response.error_message.as_deref()));
        }
        self.session.accepted(Change::default());
        self.settle(sent, response);
        Ok(())
    }

    async fn send_acks(
        &mut self,
        request: &ShareAcknowledgeRequest,
    ) -> Result<(Instant, ShareAcknowledgeResponse), Error> {
        let limit = self.limit(Duration::ZERO);
        let Some(connection) = self.connection.clone().filter(|open| !open.is_broken()) else {
            // On the way out a lost connection is an end, not a reason to connect again.
            if self.shared.lock().life == Life::Running {
                self.connection(limit).await?;
            }
            return Err(session_gone());
        };
        let version = connection.version_within::<ShareAcknowledgeRequest>(1..=2)?;
        let sent = Instant::now();
        let response = connection.send_at(request, version, limit).await?.answer().await?;
        Ok((sent, response))
    }

    async fn close_session(&mut self, request: ShareAcknowledgeRequest) {
        // Whatever the answer: the session is over, and the end of the connection says so too.
        if let Err(error) = self.send_acks(&request).await {
            log::debug!(target: crate::LOG_TARGET, "closing a share session: {error}");
        }
        self.session.reset();
    }

    fn limit(&self, wait: Duration) -> Instant {
        Instant::now() + self.shared.client.config().request_timeout + wait
    }

    /// The broker refused the request as a whole: acknowledgements in it were not looked at.
    fn refused(&self, api: &'static str, code: ErrorCode, message: Option<&str>) -> Error {
        let context = format!("{api} of share group {}", self.shared.settings.group);
        let retriable = decide(&Error::broker(code, context.as_str())) != RetryVerdict::Fail;
        let outcome = AckError::from_code(code, message);
        self.shared.with(|state| {
            if retriable {
                unsend(state, self.node);
            } else {
                complete_all(state, self.node, Verdict::Failed, &Err(outcome));
            }
        });
        match code {
            ErrorCode::GroupAuthorizationFailed => self.shared.fail(ShareError::Group {
                group: self.shared.settings.group.clone(),
                cause: format!("{code}: no right to read the group").into(),
            }),
            code if !retriable => self.shared.report(ShareError::Topic {
                topic: "(all)".into(),
                cause: format!("{context}: {code} {}", message.unwrap_or_default()).into(),
            }),
            _ => {}
        }
        Error::broker(code, context)
    }

    /// Results of a standalone acknowledgement.
    fn settle(&self, sent: Instant, response: ShareAcknowledgeResponse) {
        let hints: Vec<_> = response
            .node_endpoints
            .iter()
            .map(|end| (end.node_id, end.host.clone(), end.port, end.rack.clone()))
            .collect();
        self.shared.with(|state| {
            if let Some(node) = state.nodes.get_mut(&self.node)
                && let Ok(lock @ 1..) = u64::try_from(response.acquisition_lock_timeout_ms)
            {
                node.lock = Duration::from_millis(lock);
            }
            for topic in response.responses {
                for part in topic.partitions {
                    let id = PartitionId { topic: topic.topic_id, partition: part.partition_index };
                    let code = ErrorCode::from(part.error_code);
                    self.judge(state, id, code, part.error_message.as_deref(), sent);
                    let leader = (part.current_leader.leader_id, part.current_leader.leader_epoch);
                    self.hint(state, id, leader, &hints);
                }
            }
            self.unanswered(state);
        });
    }

    /// Acknowledgements whose partition the answer does not mention have failed.
    fn unanswered(&self, state: &mut State) {
        let outcome = Err(AckError::lost("the broker's answer does not mention the partition"));
        complete_all(state, self.node, Verdict::Failed, &outcome);
    }

    /// The broker's word on the acknowledgements of one partition.
    fn judge(
        &self,
        state: &mut State,
        id: PartitionId,
        code: ErrorCode,
        message: Option<&str>,
        sent: Instant,
    ) {
        let Some(node) = state.nodes.get_mut(&self.node) else { return };
        let lock_end = sent + node.lock;
        let Some(book) = node.books.get_mut(&id) else { return };
        let verdict = match code {
            ErrorCode::None => Verdict::Done(lock_end),
            ErrorCode::InvalidRecordState => Verdict::Invalid,
            // The locks went with the old leader, or the topic is gone.
            ErrorCode::NotLeaderOrFollower
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId => {
                let why = AckError::from_code(code, message);
                let now = Instant::now();
                node.postponed.insert(id, now + POSTPONE);
                state.lose_partition(self.node, id, &why);
                self.shared.client.metadata().request_refresh();
                return;
            }
            code if code.is_retriable() => Verdict::Again,
            _ => Verdict::Failed,
        };
        let (done, failed): (Vec<_>, Vec<_>) =
            book.complete(verdict, Instant::now()).into_iter().partition(|(_, ok)| *ok);
        if matches!(verdict, Verdict::Again) {
            node.queued_at = Some(Instant::now());
        }
        state.settle(id, done.into_iter().map(|(entry, _)| entry), &Ok(()));
        if !failed.is_empty() {
            let error = AckError::from_code(code, message);
            state.settle(id, failed.into_iter().map(|(entry, _)| entry), &Err(error));
        }
    }

    fn hint(
        &self,
        state: &State,
        id: PartitionId,
        (leader, epoch): (i32, i32),
        endpoints: &[(i32, String, i32, Option<String>)],
    ) {
        if leader < 0 || epoch < 0 {
            return;
        }
        let Some(name) = state.names.get(&id.topic) else { return };
        let endpoint = endpoints
            .iter()
            .find(|(node, ..)| *node == leader)
            .and_then(|(node, host, port, rack)| leader_node(*node, host, *port, rack.as_deref()));
        let hint = LeaderHint { leader, epoch, endpoint };
        if self.shared.client.metadata().hint(name, id.partition, hint) {
            self.shared.route.notify_one();
        }
    }

    fn take_over(&self, sent: Instant, response: ShareFetchResponse) {
        let lock = u64::try_from(response.acquisition_lock_timeout_ms).unwrap_or(0);
        let Some((generation, lock, names)) = self.shared.with(|state| {
            let node = state.nodes.get_mut(&self.node)?;
            if lock > 0 {
                node.lock = Duration::from_millis(lock);
            }
            Some((node.generation, node.lock, state.names.clone()))
        }) else {
            return;
        };
        let until = sent + lock;
        let name = |id: Uuid| names.get(&id).cloned().unwrap_or_else(|| id.to_string().into());
        let mut answers = Vec::new();
        let (mut records, mut bytes) = (0, 0);
        for topic in response.responses {
            for mut part in topic.partitions {
                let id = PartitionId { topic: topic.topic_id, partition: part.partition_index };
                let origin =
                    Arc::new(Origin { topic: name(id.topic), id, node: self.node, generation });
                let options = &self.shared.settings.decode;
                let data = part.records.take();
                let decoded = decode(&origin, data, &part.acquired_records, until, options);
                records += decoded.records.len() as u64;
                bytes += decoded.bytes as u64;
                answers.push((origin, part, decoded));
            }
        }
        self.shared.stats.fetched(records, bytes);
        let hints: Vec<_> = response
            .node_endpoints
            .into_iter()
            .map(|end| (end.node_id, end.host, end.port, end.rack))
            .collect();
        let mut errors = Vec::new();
        self.shared.with(|state| {
            for (origin, part, decoded) in answers {
                let ack = ErrorCode::from(part.acknowledge_error_code);
                self.judge(state, origin.id, ack, part.acknowledge_error_message.as_deref(), sent);
                let leader = (part.current_leader.leader_id, part.current_leader.leader_epoch);
                self.hint(state, origin.id, leader, &hints);
                self.enter(state, &origin, decoded, sent, until, &mut errors);
                self.judge_fetch(state, &origin, &part, &mut errors);
            }
            self.unanswered(state);
            for error in errors {
                state.report(error, Instant::now());
            }
        });
        self.shared.notify_polls();
    }

    /// Enters what was acquired.
    fn enter(
        &self,
        state: &mut State,
        origin: &Arc<Origin>,
        decoded: Decoded,
        sent: Instant,
        until: Instant,
        errors: &mut Vec<ShareError>,
    ) {
        let nothing = decoded.records.is_empty()
            && decoded.gaps.is_empty()
            && decoded.missing.is_empty()
            && decoded.corrupt.is_empty();
        if decoded.suspicious > 0 {
            log::warn!(
                target: crate::LOG_TARGET,
                "{} acquired ranges of {}-{} were inverted or given twice",
                decoded.suspicious, origin.topic, origin.id.partition
            );
        }
        if nothing {
            return;
        }
        let (ticket, now) = (state.ticket(), Instant::now());
        let paused = state.paused.contains(&(origin.topic.clone(), origin.id.partition));
        let Some(node) = state.nodes.get_mut(&self.node) else { return };
        let book = node.books.entry(origin.id).or_default();
        let mut lost = Vec::new();
        let mut start = 0;
        // Runs of consecutive offsets, as most answers are.
        for at in 0..decoded.records.len() {
            let last = decoded.records[at].offset();
            let ends = decoded.records.get(at + 1).is_none_or(|next| next.offset() != last + 1);
            if ends {
                let first = decoded.records[start].offset();
                lost.extend(book.acquire(first, last, sent, until));
                start = at + 1;
            }
        }
        for (first, last) in &decoded.gaps {
            book.gap(*first, *last, ticket, until);
            node.has_gaps = true;
        }
        for (first, last) in &decoded.missing {
            book.settle_unheld(*first, *last, AckType::Release.kind(), ticket, until);
        }
        for (first, last, cause) in &decoded.corrupt {
            let kind = self.shared.settings.corrupt.kind();
            book.settle_unheld(*first, *last, kind, ticket, until);
            self.shared.stats.corrupt(last.abs_diff(*first).saturating_add(1));
            errors.push(ShareError::Corrupt {
                topic: origin.topic.clone(),
                partition: origin.id.partition,
                first_offset: *first,
                last_offset: *last,
                cause: cause.clone(),
            });
        }
        if paused {
            book.release_buffered(ticket);
        }
        if book.has_pending(false) {
            node.queued_at.get_or_insert(now);
        }
        if !lost.is_empty() {
            let why = AckError::lost("the lock ended before the acknowledgement was sent");
            state.settle(origin.id, lost, &Err(why));
        }
        if !paused {
            state.push(origin, decoded.records, decoded.bytes);
        }
    }

    /// What the leader says about fetching a partition.
    fn judge_fetch(
        &self,
        state: &mut State,
        origin: &Origin,
        part: &PartitionData,
        errors: &mut Vec<ShareError>,
    ) {
        let code = ErrorCode::from(part.error_code);
        if code == ErrorCode::None {
            return;
        }
        let now = Instant::now();
        let why = AckError::from_code(code, part.error_message.as_deref());
        let pause = match code {
            ErrorCode::TopicAuthorizationFailed => POSTPONE_DENIED,
            code if code.is_retriable() && code != ErrorCode::CorruptMessage => POSTPONE,
            // Share-partition state that is not ready shows as codes of coordinators and groups.
            ErrorCode::GroupIdNotFound => POSTPONE,
            _ => POSTPONE_DENIED,
        };
        if pause == POSTPONE_DENIED {
            errors.push(ShareError::Topic {
                topic: origin.topic.clone(),
                cause: format!("partition {}: {why}", origin.id.partition).into(),
            });
        }
        if let Some(node) = state.nodes.get_mut(&self.node) {
            node.postponed.insert(origin.id, now + pause);
        }
        match code {
            ErrorCode::NotLeaderOrFollower
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId => state.lose_partition(self.node, origin.id, &why),
            _ => {}
        }
        self.shared.client.metadata().request_refresh();
    }
}

/// The broker did not look at what was sent.
fn unsend(state: &mut State, node: i32) {
    if let Some(node) = state.nodes.get_mut(&node) {
        node.books.values_mut().for_each(super::book::Book::unsend);
        if node.books.values().any(|book| book.has_pending(false)) {
            node.queued_at.get_or_insert(Instant::now());
        }
    }
}

fn complete_all(state: &mut State, node: i32, verdict: Verdict, outcome: &Result<(), AckError>) {
    let Some(node) = state.nodes.get_mut(&node) else { return };
    let now = Instant::now();
    let settled: Vec<_> =
        node.books.iter_mut().map(|(id, book)| (*id, book.complete(verdict, now))).collect();
    for (id, entries) in settled {
        state.settle(id, entries.into_iter().map(|(entry, _)| entry), outcome);
    }
}

fn release_turn(state: &mut State, node: i32) {
    if state.fetching == Some(node) {
        state.fetching = None;
        state.wake_nodes();
    }
}

fn session_gone() -> Error {
    Error::broker(ErrorCode::ShareSessionNotFound, "the connection of the session was replaced")
}

/// What a broker that cannot be talked to means for the program.
pub(super) fn fatal(error: Error) -> ShareError {
    match error {
        Error::UnsupportedVersion { ref detail, .. } if !detail.contains("record_limit") => {
            ShareError::Unsupported(format!(
                "{error}; share groups need Apache Kafka 4.1 or later with the feature \
                 share.version at 1: kafka-features.sh --bootstrap-server ... upgrade --feature \
                 share.version=1"
            ))
        }
        Error::UnsupportedVersion { .. } => ShareError::Unsupported(error.to_string()),
        other => ShareError::Client(other),
    }
}
