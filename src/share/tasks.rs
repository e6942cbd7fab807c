//! The two tasks every consumer has: the membership's heartbeats, and the router that leads
//! assigned partitions to the tasks of their leaders.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::PartitionId;
use super::error::{AckError, ShareError};
use super::membership::{Membership, Phase, Reaction};
use super::node::{Worker, fatal};
use super::state::{Life, Shared};
use crate::client::{Backoff, CoordinatorKind, Error, ErrorCode, RetryVerdict, TopicKey, decide};
use crate::wire::Uuid;
use crate::wire::messages::share_group_heartbeat::Assignment;
use crate::wire::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

/// How often the router renews the interest in its topics' metadata, and looks at ids that no
/// broker has named yet.
const TOUCH: Duration = Duration::from_secs(60);
const UNRESOLVED: Duration = Duration::from_millis(200);

/// Keeps the membership until the consumer leaves or the group refuses it.
pub(super) async fn heartbeats(shared: Arc<Shared>) {
    let now = Instant::now();
    let (topics, mut subscription) = {
        let state = shared.lock();
        (state.topics.clone(), state.subscription)
    };
    let rack = &shared.settings.rack;
    let mut member =
        Membership::new(&shared.settings.group, shared.member.clone(), rack, topics, now);
    let mut backoff = Backoff::new(shared.client.config().retry_policy());
    loop {
        let now = Instant::now();
        let (life, topics, version, last_poll, polling) = {
            let state = shared.lock();
            let topics = state.topics.clone();
            (state.life, topics, state.subscription, state.last_poll, state.polling > 0)
        };
        if version != subscription {
            subscription = version;
            member.subscribe(topics, now);
        }
        if life == Life::Leaving {
            member.leave(now);
        }
        let idle_until = last_poll + shared.settings.max_poll_interval;
        match member.phase() {
            Phase::Fatal => return,
            Phase::Gone if life != Life::Running => return,
            Phase::Gone if polling || idle_until > now => {
                shared.lock().stale = false;
                member.rejoin(now);
            }
            Phase::Member if life == Life::Running && !polling && idle_until <= now => {
                log::warn!(
                    target: crate::LOG_TARGET,
                    "share group {}: no poll within max.poll.interval.ms ({:?}); leaving until the \
                     next one", shared.settings.group, shared.settings.max_poll_interval
                );
                member.leave(now);
                go_stale(&shared, now);
            }
            _ => {}
        }
        let wake_at = match member.phase() {
            Phase::Gone => None,
            _ => Some(member.due()),
        };
        if let Some(at) = wake_at
            && at <= now
        {
            if !beat(&shared, &mut member, &mut backoff).await {
                return;
            }
            continue;
        }
        // Due times that pass meanwhile, and the poll interval, end the wait.
        let until = wake_at.unwrap_or(now + TOUCH).min(idle_until.max(now + UNRESOLVED));
        tokio::select! {
            () = shared.beat.notified() => {}
            () = tokio::time::sleep_until(until) => {}
        }
    }
}

fn go_stale(shared: &Shared, now: Instant) {
    shared.with(|state| {
        state.stale = true;
        state.joined = false;
        state.assignment = Some(BTreeMap::new());
        state.may_fetch = false;
        state.release_ready(|_| true, now);
    });
    shared.route.notify_one();
}

/// Returns whether it makes sense to go on.
async fn beat(shared: &Shared, member: &mut Membership, backoff: &mut Backoff) -> bool {
    let request = member.request();
    match send(shared, &request).await {
        Ok(response) => {
            shared.stats.heartbeat();
            let pause = backoff.next_delay();
            let reaction = member.on_response(&request, response, Instant::now(), pause);
            react(shared, member, reaction, backoff);
        }
        Err(error) => {
            if decide(&error) == RetryVerdict::Fail {
                shared.fail(fatal(error));
                return false;
            }
            log::debug!(
                target: crate::LOG_TARGET,
                "heartbeat of share group {}: {error}", shared.settings.group
            );
            member.on_failure(Instant::now(), backoff.next_delay());
        }
    }
    true
}

fn react(shared: &Shared, member: &Membership, reaction: Reaction, backoff: &mut Backoff) {
    let group = &shared.settings.group;
    match reaction {
        Reaction::Assigned(assignment) => {
            backoff.reset();
            shared.lock().joined = true;
            if let Some(assignment) = assignment {
                shared.stats.assigned();
                assign(shared, assignment);
            }
        }
        Reaction::Retry { .. } => {}
        Reaction::Rejoin => {
            log::info!(target: crate::LOG_TARGET, "share group {group}: joining again");
            shared.lock().joined = false;
        }
        Reaction::TopicDenied(text) => {
            // Taken out first: reporting takes the lock again.
            let topic = shared.lock().topics.join(", ").into();
            let cause = format!("{}: {text}", ErrorCode::TopicAuthorizationFailed).into();
            shared.report(ShareError::Topic { topic, cause });
        }
        Reaction::Fatal(ErrorCode::UnsupportedVersion, text) => {
            shared.fail(ShareError::Unsupported(format!(
                "share group {group}: the brokers do not serve share groups ({text}); enable \
                 the feature share.version: kafka-features.sh --bootstrap-server ... upgrade \
                 --feature share.version=1"
            )));
        }
        Reaction::Fatal(code, text) => {
            let hint = match code {
                ErrorCode::GroupMaxSizeReached => "; see group.share.max.size",
                ErrorCode::InconsistentGroupProtocol => {
                    "; a group of another kind has this name: choose another one"
                }
                _ => "",
            };
            shared.fail(ShareError::Group {
                group: group.clone(),
                cause: format!("{code} {text}{hint}").into(),
            });
        }
        Reaction::Left => {
            debug_assert_eq!(member.phase(), Phase::Gone);
        }
    }
}

fn assign(shared: &Shared, assignment: Assignment) {
    let assigned: BTreeMap<Uuid, BTreeSet<i32>> = assignment
        .topic_partitions
        .into_iter()
        // A negative number is no partition, whoever says so.
        .map(|topic| (topic.topic_id, topic.partitions.into_iter().filter(|p| *p >= 0).collect()))
        .collect();
    shared.lock().assignment = Some(assigned);
    shared.route.notify_one();
}

async fn send(
    shared: &Shared,
    request: &ShareGroupHeartbeatRequest,
) -> Result<ShareGroupHeartbeatResponse, Error> {
    let (client, group) = (&shared.client, &*shared.settings.group);
    let deadline = Instant::now() + client.config().request_timeout;
    let (node, connection) = client.coordinator(CoordinatorKind::Group, group, deadline).await?;
    let answer = async {
        let version = connection.version_within::<ShareGroupHeartbeatRequest>(1..=i16::MAX)?;
        connection.send_at(request, version, deadline).await?.answer().await
    }
    .await;
    match &answer {
        Ok(response) => {
            let code = ErrorCode::from(response.error_code);
            if code != ErrorCode::None {
                let error = Error::broker(code, "ShareGroupHeartbeat");
                client.distrust_coordinator(CoordinatorKind::Group, group, node, &error);
            }
        }
        Err(error) => client.distrust_coordinator(CoordinatorKind::Group, group, node, error),
    }
    answer
}

/// Leads partitions to the tasks of their leaders until the consumer closes; then waits until
/// these have ended their sessions.
pub(super) async fn router(shared: Arc<Shared>) {
    let mut workers = JoinSet::new();
    let mut seen = shared.client.metadata().subscribe();
    let mut touched = Instant::now();
    loop {
        seen.borrow_and_update();
        let unresolved = route(&shared, &mut workers);
        if shared.lock().life != Life::Running {
            break;
        }
        let next = if unresolved { Instant::now() + UNRESOLVED } else { touched + TOUCH };
        tokio::select! {
            changed = seen.changed() => if changed.is_err() { break },
            () = shared.route.notified() => {}
            Some(ended) = workers.join_next(), if !workers.is_empty() => log_panic(&shared, ended),
            () = tokio::time::sleep_until(next) => touched = Instant::now(),
        }
    }
    shared.lock().wake_nodes();
    while let Some(ended) = workers.join_next().await {
        log_panic(&shared, ended);
    }
}

fn log_panic(shared: &Shared, ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        shared.fail(ShareError::Group {
            group: shared.settings.group.clone(),
            cause: "a task of the consumer panicked; please report it".into(),
        });
    }
}

/// Returns whether some assigned partition has no known topic or leader yet.
fn route(shared: &Arc<Shared>, workers: &mut JoinSet<()>) -> bool {
    let metadata = shared.client.metadata();
    let snapshot = metadata.snapshot();
    let mut unresolved = false;
    let mut by_node: HashMap<i32, BTreeSet<PartitionId>> = HashMap::new();
    let started = shared.with(|state| {
        let assignment = state.assignment.clone().unwrap_or_default();
        for (topic, partitions) in &assignment {
            metadata.touch(TopicKey::Id(*topic));
            let Some(known) = snapshot.topic_by_id(*topic) else {
                unresolved = true;
                continue;
            };
            state.names.insert(*topic, known.name.clone());
            for partition in partitions {
                match known.partition(*partition).map(|p| p.leader) {
                    Some(leader @ 0..) => {
                        let id = PartitionId { topic: *topic, partition: *partition };
                        by_node.entry(leader).or_default().insert(id);
                    }
                    _ => unresolved = true,
                }
            }
        }
        let nodes: Vec<i32> = state.nodes.keys().copied().collect();
        for node in nodes {
            let held: Vec<PartitionId> = state
                .nodes
                .get(&node)
                .map(|n| n.books.keys().copied().collect())
                .unwrap_or_default();
            for id in held {
                // Acknowledgements follow neither a deleted topic nor a moved leader.
                if snapshot.id_error(id.topic) == Some(ErrorCode::UnknownTopicId) {
                    let why = AckError::from_code(ErrorCode::UnknownTopicId, Some("topic deleted"));
                    state.lose_partition(node, id, &why);
                    continue;
                }
                let leader = snapshot
                    .topic_by_id(id.topic)
                    .and_then(|topic| topic.partition(id.partition))
                    .map(|partition| partition.leader);
                if leader.is_some_and(|leader| leader >= 0 && leader != node) {
                    let why = AckError::from_code(
                        ErrorCode::NotLeaderOrFollower,
                        Some("the partition has another leader now"),
                    );
                    state.lose_partition(node, id, &why);
                }
            }
            by_node.entry(node).or_default();
        }
        // Names are needed as long as something is held or assigned.
        let books: BTreeSet<Uuid> =
            state.nodes.values().flat_map(|node| node.books.keys().map(|id| id.topic)).collect();
        state.names.retain(|id, _| assignment.contains_key(id) || books.contains(id));
        let mut started = Vec::new();
        if state.life == Life::Running && state.fatal.is_none() {
            for (node, wanted) in by_node {
                if state.route(node, wanted) {
                    started.push(node);
                }
            }
        }
        started
    });
    for node in started {
        workers.spawn(Worker::new(shared.clone(), node).run());
    }
    if unresolved {
        metadata.request_refresh();
    }
    shared.notify_polls();
    unresolved
}

/// Whether the brokers offer share groups at all; asked before anything is started.
pub(super) async fn check_offered(client: &crate::client::Client) -> Result<(), ShareError> {
    let deadline = Instant::now() + client.config().api_timeout;
    client.ready(deadline).await?;
    let connection = client.any(deadline).await?;
    connection.version_within::<ShareGroupHeartbeatRequest>(1..=i16::MAX).map_err(fatal)?;
    Ok(())
}
