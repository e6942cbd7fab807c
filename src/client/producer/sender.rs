//! The task that takes due batches to their leaders.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::batch::{Batch, Identity};
use super::queue::{Ready, expired_error};
use super::settle::Answer;
use super::state::{Shared, State, Txn};
use super::transaction;
use crate::client::admin::TopicPartition;
use crate::client::cluster::Client;
use crate::client::connection::Connection;
use crate::client::error::{Error, ErrorCode, Result};
use crate::client::metadata::{LeaderHint, Snapshot, TopicKey, node};
use crate::client::pool::Purpose;
use crate::client::retry;
use crate::wire::Uuid;
use crate::wire::messages::produce::{NodeEndpoint, PartitionProduceData, TopicProduceData};
use crate::wire::messages::{ProduceRequest, ProduceResponse};

/// Requests on the wire to one broker.
const MAX_REQUESTS: usize = 5;
/// First version with record batches.
const MIN_VERSION: i16 = 3;
/// First version by which writing adds a partition to the transaction.
const IMPLICIT_ADD_VERSION: i16 = 12;
/// First version that names topics by id.
const BY_ID_VERSION: i16 = 13;

pub(super) struct Sender {
    client: Client,
    shared: Arc<Shared>,
    purpose: Purpose,
    links: HashMap<i32, Link>,
    jobs: JoinSet<Done>,
    identifying: bool,
}

/// The way to one broker.
#[derive(Default)]
struct Link {
    connection: Option<Connection>,
    connecting: bool,
    /// No attempt to connect before this.
    rest_until: Option<Instant>,
    on_wire: usize,
}

/// What a job brought.
enum Done {
    Connected(i32, Result<Connection>),
    Identified(Result<Identity>),
    Added(Vec<TopicPartition>, Result<()>),
    Answered { node: i32, batches: Vec<Batch>, ids: Ids, answer: Result<ProduceResponse> },
}

type Ids = HashMap<Uuid, Arc<str>>;

/// What can be done now.
#[derive(Default)]
struct Work {
    by_node: HashMap<i32, Vec<Batch>>,
    connect: Vec<i32>,
    add: Vec<TopicPartition>,
    identify: bool,
    topics: Vec<Arc<str>>,
    homeless: bool,
    wake_at: Option<Instant>,
}

impl Work {
    fn wake_at(&mut self, at: Instant) {
        self.wake_at = Some(self.wake_at.map_or(at, |other| other.min(at)));
    }
}

impl Sender {
    pub(super) fn new(client: Client, shared: Arc<Shared>) -> Self {
        let purpose = Purpose::Produce(client.next_owner());
        let (links, jobs) = (HashMap::new(), JoinSet::new());
        Self { client, shared, purpose, links, jobs, identifying: false }
    }

    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let metadata = self.client.metadata().clone();
        let mut seen = metadata.subscribe();
        loop {
            let snapshot = seen.borrow_and_update().clone();
            let work = self.collect(&snapshot);
            for topic in &work.topics {
                metadata.touch(TopicKey::Name(topic.clone()));
            }
            if work.homeless {
                metadata.request_refresh();
            }
            let wake_at = work.wake_at;
            self.start(work, &snapshot);
            tokio::select! {
                // The producer, which holds the sender, is gone: this task is being aborted.
                _ = stop.wait_for(|stop| *stop) => break,
                () = self.shared.wake.notified() => {}
                Some(done) = self.jobs.join_next() => {
                    // A job that panicked dropped its batches, which tells their senders.
                    if let Ok(done) = done {
                        self.finish(done);
                    }
                }
                Ok(()) = seen.changed() => {}
                () = sleep_until_some(wake_at) => {}
            }
        }
        self.jobs.shutdown().await;
        self.shared.fail_all(&Error::Closed);
        self.client.release(self.purpose).await;
    }

    /// Takes what is due for brokers that can take it.
    fn collect(&mut self, snapshot: &Snapshot) -> Work {
        let now = Instant::now();
        let mut work = Work::default();
        let mut shared = self.shared.state();
        let state = &mut *shared;
        let due = self.shared.due(state);
        expire(state, &due, now, &mut work);
        renumber(state);
        if state.fatal.is_some() || !matches!(state.txn, Txn::Off | Txn::Open) {
            return work;
        }
        let mut candidates = Vec::new();
        for (tp, queue) in &state.queues {
            if queue.is_idle() {
                continue;
            }
            if !work.topics.contains(&tp.topic) {
                work.topics.push(tp.topic.clone());
            }
            match queue.readiness(&due, now) {
                Ready::Now => candidates.push(tp.clone()),
                Ready::At(at) => work.wake_at(at),
                Ready::No => {}
            }
        }
        let Some(identity) = state.identity else {
            // Also for a queue that is not ready because it waits for a new identity.
            work.identify = !work.topics.is_empty() && matches!(state.txn, Txn::Off);
            return work;
        };
        fastrand::shuffle(&mut candidates);
        let mut sizes: HashMap<i32, usize> = HashMap::new();
        for tp in candidates {
            let partition = snapshot.topic(&tp.topic).and_then(|t| t.partition(tp.partition));
            let Some(leader) = partition.map(|p| p.leader).filter(|leader| *leader >= 0) else {
                work.homeless = true;
                work.wake_at(now + self.client.config().retry_backoff);
                continue;
            };
            if matches!(state.txn, Txn::Open) && !state.v2 && !state.open.partitions.contains(&tp) {
                if state.open.adding.insert(tp.clone()) {
                    work.add.push(tp);
                }
                continue;
            }
            let link = self.links.entry(leader).or_default();
            if link.connection.as_ref().is_none_or(Connection::is_broken) {
                link.connection = None;
                if let Some(until) = link.rest_until.filter(|until| *until > now) {
                    work.wake_at(until);
                } else if !link.connecting {
                    link.connecting = true;
                    work.connect.push(leader);
                }
                continue;
            }
            let throttled = link.connection.as_ref().and_then(Connection::throttled_until);
            if let Some(until) = throttled {
                work.wake_at(until);
                continue;
            }
            if link.on_wire >= MAX_REQUESTS {
                continue;
            }
            let Some(queue) = state.queues.get_mut(&tp) else { continue };
            let size = sizes.entry(leader).or_default();
            let next = queue.last().map_or(0, |batch| batch.size());
            if *size > 0 && *size + next > self.shared.config.max_request_bytes {
                // Its turn comes with the next request, at once.
                self.shared.wake.notify_one();
                continue;
            }
            if let Some(batch) = queue.take(identity) {
                *size += batch.size();
                state.open.touched |= matches!(state.txn, Txn::Open);
                work.by_node.entry(leader).or_default().push(batch);
            }
        }
        work
    }

    fn start(&mut self, work: Work, snapshot: &Snapshot) {
        let deadline = Instant::now() + self.client.config().request_timeout;
        for node in work.connect {
            let (client, purpose) = (self.client.clone(), self.purpose);
            self.jobs.spawn(async move {
                Done::Connected(node, client.node(node, purpose, deadline).await)
            });
        }
        if work.identify && !self.identifying {
            self.identifying = true;
            let client = self.client.clone();
            self.jobs.spawn(async move { Done::Identified(transaction::identify(&client).await) });
        }
        if !work.add.is_empty() {
            let (client, shared) = (self.client.clone(), self.shared.clone());
            self.jobs.spawn(async move {
                let added = transaction::add_partitions(&client, &shared, &work.add).await;
                Done::Added(work.add, added)
            });
        }
        for (node, batches) in work.by_node {
            self.send(node, batches, snapshot);
        }
    }

    /// Puts one request on the wire; nothing here waits.
    fn send(&mut self, node: i32, mut batches: Vec<Batch>, snapshot: &Snapshot) {
        let sent = self.try_send(node, &mut batches, snapshot);
        match sent {
            Ok((answer, ids)) => {
                if let Some(link) = self.links.get_mut(&node) {
                    link.on_wire += 1;
                }
                self.jobs.spawn(async move {
                    Done::Answered { node, batches, ids, answer: answer.answer().await }
                });
            }
            Err(error) => {
                let mut state = self.shared.state();
                for batch in batches {
                    state.settle(batch, Err(error.clone()));
                }
                drop(state);
                self.shared.wake.notify_one();
            }
        }
    }

    fn try_send(
        &mut self,
        node: i32,
        batches: &mut Vec<Batch>,
        snapshot: &Snapshot,
    ) -> Result<(crate::client::connection::InFlight<ProduceRequest>, Ids)> {
        let transactional_id = self.shared.config.transactional_id.clone();
        let transactional = transactional_id.is_some();
        let implicit = self.shared.state().v2;
        let connection =
            self.links.get(&node).and_then(|link| link.connection.clone()).ok_or(Error::Closed)?;
        let mut ids = Ids::new();
        let mut known = true;
        for batch in batches.iter() {
            let topic = snapshot.topic(&batch.partition.topic);
            match topic.map(|topic| topic.id).filter(|id| !id.is_zero()) {
                Some(id) => {
                    ids.insert(id, batch.partition.topic.clone());
                }
                None => known = false,
            }
        }
        let oldest = if transactional && implicit { IMPLICIT_ADD_VERSION } else { MIN_VERSION };
        let newest = match (transactional && !implicit, known) {
            (true, _) => IMPLICIT_ADD_VERSION - 1,
            (false, false) => BY_ID_VERSION - 1,
            (false, true) => i16::MAX,
        };
        let version = connection.version_within::<ProduceRequest>(oldest..=newest)?;
        let timeout = self.client.config().request_timeout;
        let mut request = ProduceRequest {
            transactional_id,
            acks: -1,
            timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
            ..ProduceRequest::default()
        };
        let mut topics: HashMap<Arc<str>, Vec<PartitionProduceData>> = HashMap::new();
        let mut encoded = Vec::with_capacity(batches.len());
        for mut batch in batches.drain(..) {
            match batch.encode(transactional) {
                Ok(bytes) => {
                    let data = PartitionProduceData {
                        index: batch.partition.partition,
                        records: Some(bytes),
                    };
                    topics.entry(batch.partition.topic.clone()).or_default().push(data);
                    encoded.push(batch);
                }
                Err(error) => self.shared.state().give_up(batch, error),
            }
        }
        *batches = encoded;
        let by_id = version >= BY_ID_VERSION;
        request.topic_data = topics
            .into_iter()
            .map(|(name, partition_data)| {
                let id = ids.iter().find(|(_, other)| **other == name).map(|(id, _)| *id);
                TopicProduceData {
                    name: if by_id { String::new() } else { name.to_string() },
                    topic_id: id.filter(|_| by_id).unwrap_or(Uuid::ZERO),
                    partition_data,
                }
            })
            .collect();
        let deadline = Instant::now() + timeout;
        match connection.try_send_at(&request, version, deadline)? {
            Some(answer) => Ok((answer, ids)),
            // A throttle that began since the batches were taken: they go back for a moment.
            None => Err(Error::broker(
                ErrorCode::ThrottlingQuotaExceeded,
                format!("Produce at broker {}", connection.broker()),
            )),
        }
    }

    fn finish(&mut self, done: Done) {
        match done {
            Done::Connected(node, result) => {
                let link = self.links.entry(node).or_default();
                link.connecting = false;
                match result {
                    Ok(connection) => {
                        link.rest_until = None;
                        link.connection = Some(connection);
                    }
                    Err(error) => {
                        link.rest_until = Some(Instant::now() + self.client.config().retry_backoff);
                        self.unreachable(node, &error);
                    }
                }
            }
            Done::Identified(result) => {
                self.identifying = false;
                let mut state = self.shared.state();
                match result {
                    Ok(identity) => state.identity = Some(identity),
                    Err(error) if retry::decide(&error).is_retry() => {}
                    Err(error) => state.end(error),
                }
            }
            Done::Added(partitions, result) => {
                let mut state = self.shared.state();
                for tp in &partitions {
                    state.open.adding.remove(tp);
                }
                match result {
                    // Perhaps the transaction is about to be aborted; then with these partitions.
                    Ok(()) => state.open.partitions.extend(partitions),
                    Err(error) if error.code().is_some_and(super::is_fatal) => state.end(error),
                    Err(error) => state.fail_transaction(error),
                }
                drop(state);
                self.shared.added.notify_one();
            }
            Done::Answered { node, batches, ids, answer } => {
                if let Some(link) = self.links.get_mut(&node) {
                    link.on_wire = link.on_wire.saturating_sub(1);
                }
                self.settle(batches, &ids, answer);
            }
        }
    }

    /// Batches for a broker out of reach wait; a refusal is theirs to hear.
    fn unreachable(&self, node: i32, error: &Error) {
        log::debug!(target: crate::LOG_TARGET, "producing to broker {node}: {error}");
        if retry::decide(error).is_retry() {
            self.client.metadata().request_refresh();
        } else {
            let mut state = self.shared.state();
            state.drain_waiting(error);
            state.fail_transaction(error.clone());
        }
    }

    fn settle(&self, batches: Vec<Batch>, ids: &Ids, answer: Result<ProduceResponse>) {
        let mut stale = false;
        match answer {
            Err(error) => {
                let mut state = self.shared.state();
                for batch in batches {
                    stale |= state.settle(batch, Err(error.clone()));
                }
            }
            Ok(response) => stale = self.settle_each(batches, ids, response),
        }
        if stale {
            self.client.metadata().request_refresh();
        }
    }

    fn settle_each(&self, batches: Vec<Batch>, ids: &Ids, response: ProduceResponse) -> bool {
        let mut answers = HashMap::new();
        let nodes = response.node_endpoints;
        for topic in response.responses {
            let name = match ids.get(&topic.topic_id) {
                Some(name) if topic.name.is_empty() => name.clone(),
                _ => topic.name.into(),
            };
            for answer in topic.partition_responses {
                answers.insert((name.clone(), answer.index), answer);
            }
        }
        let mut stale = false;
        let mut state = self.shared.state();
        for batch in batches {
            let tp = batch.partition.clone();
            let answer = answers.remove(&(tp.topic.clone(), tp.partition));
            let Some(answer) = answer else {
                let error = Error::broker(
                    ErrorCode::UnknownTopicOrPartition,
                    format!("Produce to {tp}: the answer does not mention it"),
                );
                stale |= state.settle(batch, Err(error));
                continue;
            };
            let leader = (answer.current_leader.leader_id, answer.current_leader.leader_epoch);
            let code = ErrorCode::from(answer.error_code);
            let error = Error::Broker {
                code,
                context: format!("Produce to {tp}").into(),
                message: answer.error_message.map(Arc::from),
            };
            let moved = self.hint(&tp, leader, &nodes);
            let answer = Answer { code, base_offset: answer.base_offset, error };
            stale |= state.settle(batch, Ok(answer)) && !moved;
        }
        stale
    }

    fn hint(&self, tp: &TopicPartition, leader: (i32, i32), nodes: &[NodeEndpoint]) -> bool {
        let endpoint = nodes
            .iter()
            .find(|node| node.node_id == leader.0)
            .and_then(|n| node(n.node_id, &n.host, n.port, n.rack.as_deref()));
        let hint = LeaderHint { leader: leader.0, epoch: leader.1, endpoint };
        self.client.metadata().hint(&tp.topic, tp.partition, hint)
    }
}

/// Gives up what waited longer than `delivery.timeout.ms`.
fn expire(state: &mut State, due: &super::queue::Due, now: Instant, work: &mut Work) {
    let mut gone = Vec::new();
    for queue in state.queues.values_mut() {
        gone.extend(queue.expired(due, now));
        if let Some(at) = queue.expires_at(due) {
            work.wake_at(at);
        }
    }
    for batch in gone {
        let error = expired_error(&batch, due.delivery_timeout);
        state.complete(batch, Err(error.clone()));
        state.fail_transaction(error);
    }
}

/// Ends gaps of a producer without transactions; an abort ends those of one with.
fn renumber(state: &mut State) {
    if !matches!(state.txn, Txn::Off) || state.fatal.is_some() {
        return;
    }
    let waiting = state.queues.iter().filter(|(_, queue)| queue.wants_new_epoch());
    let waiting: Vec<TopicPartition> = waiting.map(|(tp, _)| tp.clone()).collect();
    for tp in waiting {
        // Without an identity a new one is on its way; the gap waits for it.
        let Some(identity) = state.raise_epoch() else { return };
        if let Some(queue) = state.queues.get_mut(&tp) {
            queue.renumber(identity);
        }
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
