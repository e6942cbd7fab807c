//! Keeps a task for each broker that leads assigned partitions, and finds start offsets.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::broker;
use super::state::{Plan, Shared};
use crate::client::admin::{OffsetSpec, TopicPartition};
use crate::client::cluster::Client;
use crate::client::error::{Error, ErrorCodeExt as _};
use crate::client::metadata::{Snapshot, TopicKey};
use crate::client::pool::Purpose;
use crate::client::retry;

/// How often the topics' interest in metadata is renewed; well within its lifetime.
const TICK: Duration = Duration::from_secs(60);
/// How long to wait for the brokers' tasks when the fetcher closes.
const CLOSING: Duration = Duration::from_secs(2);

pub(super) async fn run(client: Client, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let owner = client.next_owner();
    let metadata = client.metadata().clone();
    let mut seen = metadata.subscribe();
    let mut brokers = JoinSet::new();
    let mut look_ups = JoinSet::new();
    loop {
        let snapshot = seen.borrow_and_update().clone();
        let plan = shared.plan(&snapshot);
        for topic in &plan.topics {
            metadata.touch(TopicKey::Name(topic.clone()));
        }
        surface_refusals(&shared, &snapshot, &plan);
        for (node, wake) in plan.start {
            let worker = broker::Worker::new(client.clone(), shared.clone(), node, owner, wake);
            brokers.spawn(worker.run(stop.clone()));
        }
        if !plan.look_up.is_empty() {
            look_ups.spawn(look_up(client.clone(), shared.clone(), plan.look_up));
        }
        if plan.homeless {
            metadata.request_refresh();
        }
        let wake_at = plan.wake_at.unwrap_or_else(|| Instant::now() + TICK);
        let pause = if plan.homeless { client.config().retry_backoff } else { TICK };
        let wake_at = wake_at.min(Instant::now() + pause);
        tokio::select! {
            // The fetcher, which holds the sender, is gone: then this task is being aborted.
            _ = stop.wait_for(|stop| *stop) => break,
            Ok(()) = seen.changed() => {}
            () = shared.plan.notified() => {}
            Some(_) = brokers.join_next() => {}
            Some(_) = look_ups.join_next() => {}
            () = tokio::time::sleep_until(wake_at) => {}
        }
    }
    look_ups.shutdown().await;
    let ended = async { while brokers.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSING, ended).await.is_err() {
        brokers.shutdown().await;
    }
    client.release(Purpose::Fetch(owner)).await;
}

/// Topics that the broker will not let us see are an error of their partitions.
fn surface_refusals(shared: &Shared, snapshot: &Snapshot, plan: &Plan) {
    for name in &plan.topics {
        let Some(topic) = snapshot.topic(name) else { continue };
        if !topic.error.is_ok() && !retry::decide_code(topic.error).is_retry() {
            shared
                .fail_topic(name, &Error::broker(topic.error, format!("Metadata of topic {name}")));
        }
    }
}

async fn look_up(
    client: Client,
    shared: Arc<Shared>,
    questions: Vec<(TopicPartition, u64, OffsetSpec)>,
) {
    let epochs: HashMap<_, _> =
        questions.iter().map(|(tp, epoch, _)| (tp.clone(), *epoch)).collect();
    let asked = questions.into_iter().map(|(tp, _, spec)| (tp, spec)).collect();
    let deadline = client.api_deadline();
    let found = client.list_offsets(asked, shared.config.read_committed, deadline).await;
    for (tp, outcome) in found {
        if let Some(epoch) = epochs.get(&tp) {
            shared.looked_up(&tp, *epoch, outcome.map(|found| found.offset));
        }
    }
}
