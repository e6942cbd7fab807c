//! The cluster's brokers, topics and leaders, kept current by one task.
//!
//! # The task
//! [`Metadata::start`] spawns the refresher; dropping [`Refresher`] aborts it. It asks when
//! somebody wants news, when what is known is too old, and not more often than the retry backoff
//! allows. There is one question at a time, however many wait for the answer.
//!
//! # Whom it asks
//! The broker that answered last, then the others known, then the bootstrap addresses: so a
//! cluster whose brokers were all replaced is found again (KIP-899).
//!
//! # What it asks
//! The topics, by name or id, that were looked up within [`INTEREST`]; so it is bounded by what
//! the process uses. Each look-up renews the interest.

mod snapshot;

pub(crate) use snapshot::{Broker, LeaderHint, Snapshot, Topic, node};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::backoff::{Backoff, BackoffPolicy};
use super::connection::Connection;
use super::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use super::pool::{Endpoint, Pool, Purpose};
use super::retry::{self, Before, Verdict};
use crate::wire::Uuid;
use crate::wire::messages::metadata::MetadataRequestTopic;
use crate::wire::messages::{MetadataRequest, MetadataResponse};

/// How long a topic stays in the question after the last look-up.
const INTEREST: Duration = Duration::from_secs(300);
/// First version that takes topic ids.
const BY_ID_VERSION: i16 = 12;

/// A topic as callers name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TopicKey {
    Name(Arc<str>),
    Id(Uuid),
}

/// What the refresher needs of the client's settings.
#[derive(Debug, Clone)]
pub(crate) struct MetadataSettings {
    pub(crate) bootstrap: Vec<Endpoint>,
    pub(crate) max_age: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) retry: BackoffPolicy,
    pub(crate) auto_create_topics: bool,
}

/// The shared view; clones are cheap.
#[derive(Clone)]
pub(crate) struct Metadata(Arc<Inner>);

struct Inner {
    settings: MetadataSettings,
    snapshot: watch::Sender<Arc<Snapshot>>,
    interest: Mutex<HashMap<TopicKey, Instant>>,
    wanted: Notify,
}

/// Owns the refreshing task.
pub(crate) struct Refresher(JoinHandle<()>);

impl Drop for Refresher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Metadata {
    pub(crate) fn start(settings: MetadataSettings, pool: Arc<Pool>) -> (Self, Refresher) {
        let empty = Snapshot::unknown();
        let metadata = Self(Arc::new(Inner {
            settings,
            snapshot: watch::channel(Arc::new(empty)).0,
            interest: Mutex::default(),
            wanted: Notify::new(),
        }));
        let refresher = Refresher(tokio::spawn(refresh(metadata.clone(), pool)));
        (metadata, refresher)
    }

    /// What is known now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.snapshot.borrow().clone()
    }

    /// Sees every change; for owners of partitions.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.0.snapshot.subscribe()
    }

    /// Asks for news without waiting.
    pub(crate) fn request_refresh(&self) {
        self.0.wanted.notify_one();
    }

    /// Keeps a topic in the question.
    pub(crate) fn touch(&self, topic: TopicKey) {
        self.interest().insert(topic, Instant::now());
    }

    /// Waits for the outcome of an attempt that starts after this call.
    ///
    /// # Errors
    /// The attempt's failure. Cancel safe.
    #[allow(dead_code, reason = "for share groups and streams; tests use it already")]
    pub(crate) async fn refresh(&self, deadline: Instant) -> Result<Arc<Snapshot>> {
        let mut seen = self.subscribe();
        let round = seen.borrow_and_update().round;
        self.request_refresh();
        let next = self.next_round(&mut seen, round, deadline).await?;
        match &next.last_error {
            Some(error) => Err(error.clone()),
            None => Ok(next),
        }
    }

    /// The topic with all its partitions, waiting until a broker knows it.
    ///
    /// # Errors
    /// The broker's final answer, for example a missing permission; or, at the deadline, the last
    /// reason why the topic is not there. Cancel safe.
    pub(crate) async fn topic(&self, key: TopicKey, deadline: Instant) -> Result<Arc<Topic>> {
        let mut seen = self.subscribe();
        let mut pause = Backoff::new(self.0.settings.retry);
        loop {
            self.touch(key.clone());
            let snapshot = seen.borrow_and_update().clone();
            let missing = match find(&snapshot, &key) {
                Found::Yes(topic) => return Ok(topic),
                Found::Never(error) => return Err(error),
                Found::NotYet(error) => error,
            };
            if let Some(error) = &snapshot.last_error
                && !retry::decide(error).is_retry()
            {
                return Err(error.clone());
            }
            self.request_refresh();
            let round = snapshot.round;
            if self.next_round(&mut seen, round, deadline).await.is_err() {
                return Err(snapshot.last_error.clone().unwrap_or(missing));
            }
            let answered = matches!(find(&seen.borrow(), &key), Found::Yes(_));
            if !answered {
                let wake = Instant::now() + pause.next_delay();
                tokio::time::sleep_until(wake.min(deadline)).await;
            }
        }
    }

    /// Takes over a leader that another answer named. Returns whether it was news.
    pub(crate) fn hint(&self, topic: &str, partition: i32, hint: LeaderHint) -> bool {
        self.0
            .snapshot
            .send_if_modified(|snapshot| Arc::make_mut(snapshot).apply_hint(topic, partition, hint))
    }

    async fn next_round(
        &self,
        seen: &mut watch::Receiver<Arc<Snapshot>>,
        round: u64,
        deadline: Instant,
    ) -> Result<Arc<Snapshot>> {
        let started = Instant::now();
        let waiting = seen.wait_for(|snapshot| snapshot.round > round);
        match tokio::time::timeout_at(deadline, waiting).await {
            Ok(Ok(snapshot)) => Ok(snapshot.clone()),
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(Error::timeout("metadata of the cluster", started.elapsed())),
        }
    }

    fn interest(&self) -> std::sync::MutexGuard<'_, HashMap<TopicKey, Instant>> {
        self.0.interest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The topics to ask for, after dropping those without interest.
    fn question(&self) -> (Vec<MetadataRequestTopic>, Vec<MetadataRequestTopic>) {
        let mut interest = self.interest();
        let now = Instant::now();
        interest.retain(|_, touched| now.duration_since(*touched) < INTEREST);
        let (mut names, mut ids) = (Vec::new(), Vec::new());
        for key in interest.keys() {
            match key {
                TopicKey::Name(name) => names.push(MetadataRequestTopic {
                    name: Some(name.to_string()),
                    ..Default::default()
                }),
                TopicKey::Id(id) => {
                    ids.push(MetadataRequestTopic { topic_id: *id, ..Default::default() });
                }
            }
        }
        (names, ids)
    }

    /// Publishes an attempt's outcome.
    fn finish(&self, outcome: Result<Vec<MetadataResponse>>) {
        let interest: Vec<TopicKey> = self.interest().keys().cloned().collect();
        self.0.snapshot.send_modify(|snapshot| {
            let snapshot = Arc::make_mut(snapshot);
            snapshot.round += 1;
            match outcome {
                Ok(responses) => {
                    snapshot.last_error = None;
                    for response in responses {
                        snapshot.apply(response);
                    }
                    snapshot.retain(|topic| {
                        interest.iter().any(|key| match key {
                            TopicKey::Name(name) => *name == topic.name,
                            TopicKey::Id(id) => *id == topic.id,
                        })
                    });
                    snapshot.forget_unknown_ids(|id| interest.contains(&TopicKey::Id(id)));
                }
                Err(error) => snapshot.last_error = Some(error),
            }
        });
    }
}

enum Found {
    Yes(Arc<Topic>),
    NotYet(Error),
    Never(Error),
}

fn find(snapshot: &Snapshot, key: &TopicKey) -> Found {
    let (topic, code, label) = match key {
        TopicKey::Name(name) => {
            let topic = snapshot.topic(name);
            (topic, topic.map(|topic| topic.error), format!("topic {name}"))
        }
        TopicKey::Id(id) => {
            let topic = snapshot.topic_by_id(*id);
            let code = topic.map(|topic| topic.error).or_else(|| snapshot.id_error(*id));
            (topic, code, format!("topic with id {id:?}"))
        }
    };
    let code = match (topic, code) {
        // Partitions without a leader are the business of whoever wants to reach them.
        (Some(topic), Some(code)) if code.is_ok() && !topic.partitions.is_empty() => {
            return Found::Yes(topic.clone());
        }
        (_, Some(code)) if !code.is_ok() => code,
        _ => ErrorCode::UnknownTopicOrPartition,
    };
    let error = Error::broker(code, format!("Metadata of {label}"));
    match retry::decide(&error) {
        Verdict::Retry(_) => Found::NotYet(error),
        Verdict::Fail => Found::Never(error),
    }
}

async fn refresh(metadata: Metadata, pool: Arc<Pool>) {
    let settings = metadata.0.settings.clone();
    let mut asker = Asker { pool, settings: settings.clone(), preferred: None };
    let mut backoff = Backoff::new(settings.retry);
    let mut not_before = Instant::now();
    let mut due = None;
    loop {
        tokio::select! {
            () = metadata.0.wanted.notified() => {}
            () = sleep_until_some(due) => {}
        }
        // Questions that arrive meanwhile are part of the next attempt.
        tokio::time::sleep_until(not_before).await;
        let (names, ids) = metadata.question();
        let outcome = asker.ask(&metadata.snapshot(), names, ids).await;
        let failed = outcome.is_err();
        if let Err(error) = &outcome {
            log::debug!(target: crate::LOG_TARGET, "metadata refresh failed: {error}");
        } else {
            backoff.reset();
        }
        metadata.finish(outcome);
        not_before = Instant::now() + backoff.next_delay();
        if !failed {
            backoff.reset();
        }
        due = Some(if failed { not_before } else { Instant::now() + settings.max_age });
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Puts the question to one broker after the other.
struct Asker {
    pool: Arc<Pool>,
    settings: MetadataSettings,
    preferred: Option<Endpoint>,
}

impl Asker {
    async fn ask(
        &mut self,
        known: &Snapshot,
        names: Vec<MetadataRequestTopic>,
        ids: Vec<MetadataRequestTopic>,
    ) -> Result<Vec<MetadataResponse>> {
        let mut last = Error::Closed;
        for endpoint in self.candidates(known) {
            match self.ask_one(&endpoint, &names, &ids).await {
                Ok(responses) => {
                    self.preferred = Some(endpoint);
                    return Ok(responses);
                }
                // A refusal is the same everywhere; trying on would lock accounts.
                Err(error) if !retry::decide(&error).is_retry() => return Err(error),
                Err(error) => {
                    if retry::decide(&error) == Verdict::Retry(Before::Rebootstrap) {
                        self.preferred = None;
                    }
                    last = error;
                }
            }
        }
        Err(last)
    }

    fn candidates(&self, known: &Snapshot) -> Vec<Endpoint> {
        let mut others: Vec<Endpoint> =
            known.brokers.values().map(|broker| broker.endpoint.clone()).collect();
        fastrand::shuffle(&mut others);
        let mut bootstrap = self.settings.bootstrap.clone();
        fastrand::shuffle(&mut bootstrap);
        let mut all: Vec<Endpoint> = self.preferred.iter().cloned().collect();
        for endpoint in others.into_iter().chain(bootstrap) {
            if !all.contains(&endpoint) {
                all.push(endpoint);
            }
        }
        all
    }

    async fn ask_one(
        &self,
        endpoint: &Endpoint,
        names: &[MetadataRequestTopic],
        ids: &[MetadataRequestTopic],
    ) -> Result<Vec<MetadataResponse>> {
        let deadline = Instant::now() + self.settings.request_timeout;
        let connection = self.pool.get(endpoint, Purpose::General, deadline).await?;
        // Brokers look at either names or ids of a request, never at both.
        let mut responses = vec![self.send(&connection, names.to_vec(), deadline).await?];
        if !ids.is_empty() {
            connection.version_within::<MetadataRequest>(BY_ID_VERSION..=i16::MAX)?;
            responses.push(self.send(&connection, ids.to_vec(), deadline).await?);
        }
        Ok(responses)
    }

    async fn send(
        &self,
        connection: &Connection,
        topics: Vec<MetadataRequestTopic>,
        deadline: Instant,
    ) -> Result<MetadataResponse> {
        let request = MetadataRequest {
            topics: Some(topics),
            allow_auto_topic_creation: self.settings.auto_create_topics,
            ..Default::default()
        };
        let response = connection.call(&request, deadline).await?;
        ErrorCode::from(response.error_code)
            .check(|| format!("Metadata at broker {}", connection.broker()))?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests;
