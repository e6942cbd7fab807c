//! The task that fetches from one broker.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::filter;
use super::session::Session;
use super::state::{Asked, Marks, Shared};
use crate::client::admin::TopicPartition;
use crate::client::backoff::Backoff;
use crate::client::cluster::Client;
use crate::client::connection::Connection;
use crate::client::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use crate::client::metadata::{LeaderHint, node};
use crate::client::pool::Purpose;
use crate::client::retry::{self, Before, Verdict};
use crate::wire::messages::fetch::{NodeEndpoint, PartitionData};
use crate::wire::messages::{FetchRequest, FetchResponse};
use crate::wire::{Message as _, Uuid};

/// First version with sessions (Kafka 1.1).
const MIN_VERSION: i16 = 7;
/// First version that names topics by id.
const BY_ID_VERSION: i16 = 13;
/// First version that tells of truncation.
const DIVERGING_VERSION: i16 = 12;

pub(super) struct Worker {
    client: Client,
    shared: Arc<Shared>,
    node: i32,
    purpose: Purpose,
    wake: Arc<Notify>,
    session: Session,
    /// Connection that the session lives on.
    generation: u64,
    backoff: Backoff,
}

impl Worker {
    pub(super) fn new(
        client: Client,
        shared: Arc<Shared>,
        node: i32,
        owner: u64,
        wake: Arc<Notify>,
    ) -> Self {
        let backoff = Backoff::new(client.config().retry_policy());
        let purpose = Purpose::Fetch(owner);
        let session = Session::default();
        Self { client, shared, node, purpose, wake, session, generation: 0, backoff }
    }

    /// Fetches until told to stop or until no partition is left here.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let (asked, wake_at) = self.shared.wanted(self.node);
            if asked.is_empty() {
                if self.shared.detach(self.node) {
                    break;
                }
                tokio::select! {
                    _ = stop.wait_for(|stop| *stop) => break,
                    () = self.wake.notified() => {}
                    () = sleep_until_some(wake_at) => {}
                }
                continue;
            }
            let outcome = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                outcome = self.fetch(&asked) => outcome,
            };
            match outcome {
                Ok(()) => self.backoff.reset(),
                Err(error) => {
                    self.session.reset();
                    self.report(&asked, &error);
                    let pause = self.backoff.next_delay();
                    tokio::select! {
                        _ = stop.wait_for(|stop| *stop) => break,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
        self.close_session().await;
    }

    /// A broker out of reach is a matter of waiting, its refusal one of the application.
    fn report(&self, asked: &[Asked], error: &Error) {
        log::debug!(target: crate::LOG_TARGET, "fetching from broker {}: {error}", self.node);
        match retry::decide(error) {
            Verdict::Retry(Before::Nothing) => {}
            Verdict::Retry(_) => self.client.metadata().request_refresh(),
            Verdict::Fail => {
                for asked in asked {
                    self.shared.postpone(asked, Some(error.clone()));
                }
            }
        }
    }

    /// One request and what its answer brings.
    async fn fetch(&mut self, asked: &[Asked]) -> Result<()> {
        let config = &self.shared.config;
        let deadline = Instant::now() + self.client.config().request_timeout + config.max_wait;
        let connection = self.client.node(self.node, self.purpose, deadline).await?;
        if connection.generation() != self.generation {
            self.session.reset();
            self.generation = connection.generation();
        }
        let by_id = asked.iter().all(|asked| !asked.wanted.topic_id.is_zero());
        let newest = if by_id { i16::MAX } else { BY_ID_VERSION - 1 };
        let version = connection.version_within::<FetchRequest>(MIN_VERSION..=newest)?;

        let mut request = FetchRequest {
            max_wait_ms: i32::try_from(config.max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: config.min_bytes,
            max_bytes: config.max_bytes,
            isolation_level: i8::from(config.read_committed),
            ..FetchRequest::default()
        };
        let wanted = asked.iter().map(|asked| {
            let mut wanted = asked.wanted;
            if version < DIVERGING_VERSION {
                wanted.last_fetched_epoch = -1;
            }
            (asked.partition.clone(), wanted)
        });
        self.session.fill(&mut request, wanted.collect());
        let response = connection.send_at(&request, version, deadline).await?.answer().await?;
        let code = ErrorCode::from(response.error_code);
        code.check(|| format!("Fetch at broker {}", connection.broker()))?;
        self.session.accepted(response.session_id);
        self.take_over(asked, version >= BY_ID_VERSION, response);
        Ok(())
    }

    fn take_over(&self, asked: &[Asked], by_id: bool, response: FetchResponse) {
        let mut waiting: HashMap<TopicPartition, &Asked> =
            asked.iter().map(|asked| (asked.partition.clone(), asked)).collect();
        let names: HashMap<Uuid, &Arc<str>> =
            asked.iter().map(|a| (a.wanted.topic_id, &a.partition.topic)).collect();
        for topic in response.responses {
            let name: Arc<str> = match names.get(&topic.topic_id) {
                Some(name) if by_id => Arc::clone(name),
                None if by_id => continue,
                _ => topic.topic.into(),
            };
            for data in topic.partitions {
                let tp = TopicPartition { topic: name.clone(), partition: data.partition_index };
                // Taken out, so that a partition named twice counts once.
                if let Some(asked) = waiting.remove(&tp) {
                    self.take_over_partition(asked, data, &response.node_endpoints);
                }
            }
        }
    }

    fn take_over_partition(&self, asked: &Asked, data: PartitionData, nodes: &[NodeEndpoint]) {
        let tp = &asked.partition;
        let code = ErrorCode::from(data.error_code);
        if !code.is_ok() {
            return self.partition_failed(asked, code, &data, nodes);
        }
        if data.diverging_epoch.end_offset >= 0 || data.diverging_epoch.epoch >= 0 {
            let end = data.diverging_epoch.end_offset;
            let error = Error::broker(
                ErrorCode::OffsetOutOfRange,
                format!(
                    "the log of {tp} was truncated: it diverges at offset {end} from what was \
                     read before offset {}",
                    asked.wanted.offset
                ),
            );
            return self.shared.truncated(asked, end, error);
        }
        let aborted = self
            .shared
            .config
            .read_committed
            .then(|| data.aborted_transactions.unwrap_or_default());
        let records = data.records.unwrap_or_default();
        if records.is_empty() {
            return;
        }
        let marks = Marks {
            high_watermark: data.high_watermark,
            last_stable_offset: data.last_stable_offset,
            log_start_offset: data.log_start_offset,
        };
        self.shared.deliver(asked, filter::cut(records, asked.wanted.offset, aborted), marks);
    }

    fn partition_failed(
        &self,
        asked: &Asked,
        code: ErrorCode,
        data: &PartitionData,
        nodes: &[NodeEndpoint],
    ) {
        let tp = &asked.partition;
        let error = Error::broker(code, format!("Fetch of {tp} at offset {}", asked.wanted.offset));
        if code == ErrorCode::OffsetOutOfRange {
            return self.shared.out_of_range(asked, error);
        }
        let hint = LeaderHint {
            leader: data.current_leader.leader_id,
            epoch: data.current_leader.leader_epoch,
            endpoint: nodes
                .iter()
                .find(|node| node.node_id == data.current_leader.leader_id)
                .and_then(|n| node(n.node_id, &n.host, n.port, n.rack.as_deref())),
        };
        if self.client.metadata().hint(&tp.topic, tp.partition, hint) {
            // The supervisor hears of it and moves the partition.
            return;
        }
        match retry::decide(&error) {
            Verdict::Retry(before) => {
                if before != Before::Nothing {
                    self.client.metadata().request_refresh();
                }
                self.shared.postpone(asked, None);
            }
            Verdict::Fail => self.shared.postpone(asked, Some(error)),
        }
    }

    /// Frees the broker's memory early; it would expire there anyway, so nobody waits long.
    async fn close_session(&mut self) {
        let Some(request) = self.session.closing() else { return };
        let limit = Instant::now() + Duration::from_secs(1);
        let Ok(connection) = self.client.node(self.node, self.purpose, limit).await else { return };
        if connection.generation() != self.generation {
            return;
        }
        self.send_closing(&connection, &request, limit).await;
    }

    async fn send_closing(&self, connection: &Connection, request: &FetchRequest, limit: Instant) {
        let range = MIN_VERSION..=FetchRequest::MAX_VERSION;
        let Ok(version) = connection.version_within::<FetchRequest>(range) else { return };
        if let Ok(sent) = connection.send_at(request, version, limit).await {
            let _ = sent.answer().await;
        }
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
