//! Offsets of partitions, asked from and changed at their leaders.

use std::collections::{BTreeMap, HashMap};

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Admin;
use crate::client::backoff::Backoff;
use crate::client::cluster::Client;
use crate::client::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use crate::client::pool::Purpose;
use crate::client::retry;
use crate::wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use crate::wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use crate::wire::messages::{DeleteRecordsRequest, ListOffsetsRequest};

/// One partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// Topic name.
    pub topic: std::sync::Arc<str>,
    /// Partition number.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition of this topic with this number.
    pub fn new(topic: impl Into<std::sync::Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Which offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffsetSpec {
    /// The first that is still there.
    Earliest,
    /// One past the last; with `read_committed` the last stable offset.
    Latest,
    /// The first record with this timestamp or a later one, in milliseconds since 1970.
    Timestamp(i64),
    /// The record with the largest timestamp (KIP-734).
    MaxTimestamp,
}

impl OffsetSpec {
    fn timestamp(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::Timestamp(ms) => ms.max(0),
        }
    }

    /// First version of ListOffsets that knows the question.
    fn min_version(self) -> i16 {
        if self == Self::MaxTimestamp { 7 } else { 1 }
    }
}

/// An offset with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// -1 if no record answers the question.
    pub offset: i64,
    /// -1 unless asked by timestamp.
    pub timestamp: i64,
    /// -1 if the broker is too old to tell.
    pub leader_epoch: i32,
}

/// One question put to a leader: a partition and what to ask.
type Item<Q> = (TopicPartition, Q);
type Outcomes<T> = Vec<(TopicPartition, Result<T>)>;

impl Admin {
    /// Looks up offsets; `read_committed` moves [`OffsetSpec::Latest`] to the last stable offset.
    ///
    /// # Errors
    /// Each partition has its own.
    pub async fn list_offsets(
        &self,
        questions: &[(TopicPartition, OffsetSpec)],
        read_committed: bool,
    ) -> Outcomes<ListedOffset> {
        let deadline = self.client.api_deadline();
        self.client.list_offsets(questions.to_vec(), read_committed, deadline).await
    }

    /// Deletes the records before an offset (-1: all there are) and returns the new first offset.
    ///
    /// # Errors
    /// Each partition has its own.
    pub async fn delete_records(&self, before: &[(TopicPartition, i64)]) -> Outcomes<i64> {
        let deadline = self.client.api_deadline();
        let client = self.client.clone();
        self.client
            .by_leader(before.to_vec(), deadline, move |node, items| {
                let client = client.clone();
                async move { delete_at(&client, node, items, deadline).await }
            })
            .await
    }
}

impl Client {
    /// As [`Admin::list_offsets`], for other parts of the client.
    pub(crate) async fn list_offsets(
        &self,
        questions: Vec<Item<OffsetSpec>>,
        read_committed: bool,
        deadline: Instant,
    ) -> Outcomes<ListedOffset> {
        let client = self.clone();
        self.by_leader(questions, deadline, move |node, items| {
            let client = client.clone();
            async move { list_at(&client, node, items, read_committed, deadline).await }
        })
        .await
    }

    /// Puts each item to the leader of its partition, all leaders at once, and again to the next
    /// leader where the answer says so.
    async fn by_leader<Q, T, F, Fut>(
        &self,
        items: Vec<Item<Q>>,
        deadline: Instant,
        ask: F,
    ) -> Outcomes<T>
    where
        Q: Clone + Send + 'static,
        T: Send + 'static,
        F: Fn(i32, Vec<Item<Q>>) -> Fut,
        Fut: Future<Output = Result<Outcomes<T>>> + Send + 'static,
    {
        let mut backoff = Backoff::new(self.config().retry_policy());
        let mut waiting: HashMap<TopicPartition, Q> = items.into_iter().collect();
        let mut done = Vec::with_capacity(waiting.len());
        loop {
            let (by_leader, mut failed) = self.leaders(&waiting, deadline).await;
            let mut asking = JoinSet::new();
            for (node, items) in by_leader {
                let partitions: Vec<_> = items.iter().map(|(tp, _)| tp.clone()).collect();
                let answer = ask(node, items);
                asking.spawn(async move {
                    answer.await.unwrap_or_else(|error| {
                        partitions.into_iter().map(|tp| (tp, Err(error.clone()))).collect()
                    })
                });
            }
            while let Some(answered) = asking.join_next().await {
                // Only aborting or a panic loses an answer; its partitions are asked again.
                failed.extend(answered.unwrap_or_default());
            }
            let wake = Instant::now() + backoff.next_delay();
            let last_chance = wake >= deadline;
            for (tp, outcome) in failed {
                let again =
                    !last_chance && outcome.as_ref().is_err_and(|e| retry::decide(e).is_retry());
                if !again && waiting.remove(&tp).is_some() {
                    done.push((tp, outcome));
                }
            }
            if waiting.is_empty() || last_chance {
                let what = "partition's leader";
                let lost = waiting.into_keys().map(|tp| {
                    let error =
                        Error::timeout(format!("{what} of {tp}"), self.config().api_timeout);
                    (tp, Err(error))
                });
                done.extend(lost);
                return done;
            }
            self.metadata().request_refresh();
            tokio::time::sleep_until(wake).await;
        }
    }

    async fn leaders<Q: Clone, T>(
        &self,
        items: &HashMap<TopicPartition, Q>,
        deadline: Instant,
    ) -> (HashMap<i32, Vec<Item<Q>>>, Outcomes<T>) {
        let mut by_leader: HashMap<i32, Vec<Item<Q>>> = HashMap::new();
        let mut failed = Vec::new();
        for (tp, question) in items {
            match self.leader(tp, deadline).await {
                Ok(node) => {
                    by_leader.entry(node).or_default().push((tp.clone(), question.clone()));
                }
                Err(error) => failed.push((tp.clone(), Err(error))),
            }
        }
        (by_leader, failed)
    }

    /// Node id of a partition's leader; a retriable error while there is none.
    async fn leader(&self, tp: &TopicPartition, deadline: Instant) -> Result<i32> {
        let topic = self.topic(&tp.topic, deadline).await?;
        match topic.partition(tp.partition) {
            Some(partition) if partition.leader >= 0 => Ok(partition.leader),
            Some(_) => Err(Error::broker(
                ErrorCode::LeaderNotAvailable,
                format!("partition {tp} has no leader"),
            )),
            None => Err(Error::state(format!(
                "topic {} has {} partitions, none with number {}",
                tp.topic,
                topic.partitions.len(),
                tp.partition
            ))),
        }
    }
}

async fn list_at(
    client: &Client,
    node: i32,
    items: Vec<Item<OffsetSpec>>,
    read_committed: bool,
    deadline: Instant,
) -> Result<Outcomes<ListedOffset>> {
    let mut topics: BTreeMap<_, Vec<ListOffsetsPartition>> = BTreeMap::new();
    let mut min_version = if read_committed { 2 } else { 1 };
    for (tp, spec) in items {
        min_version = min_version.max(spec.min_version());
        topics.entry(tp.topic).or_default().push(ListOffsetsPartition {
            partition_index: tp.partition,
            current_leader_epoch: -1,
            timestamp: spec.timestamp(),
        });
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| ListOffsetsTopic { name: name.to_string(), partitions });
    let request = ListOffsetsRequest {
        replica_id: -1,
        isolation_level: i8::from(read_committed),
        topics: topics.collect(),
        ..Default::default()
    };
    let connection = client.node(node, Purpose::General, deadline).await?;
    let version = connection.version_within::<ListOffsetsRequest>(min_version..=i16::MAX)?;
    let limit = client.request_deadline(deadline);
    let response = connection.send_at(&request, version, limit).await?.answer().await?;
    let mut outcomes = Vec::new();
    for topic in response.topics {
        let name: std::sync::Arc<str> = topic.name.into();
        for answer in topic.partitions {
            let tp = TopicPartition::new(name.clone(), answer.partition_index);
            let outcome = ErrorCode::from(answer.error_code)
                .check(|| format!("ListOffsets for partition {tp}"))
                .map(|()| ListedOffset {
                    offset: answer.offset,
                    timestamp: answer.timestamp,
                    leader_epoch: answer.leader_epoch,
                });
            outcomes.push((tp, outcome));
        }
    }
    Ok(outcomes)
}

async fn delete_at(
    client: &Client,
    node: i32,
    items: Vec<Item<i64>>,
    deadline: Instant,
) -> Result<Outcomes<i64>> {
    let mut topics: BTreeMap<_, Vec<DeleteRecordsPartition>> = BTreeMap::new();
    for (tp, offset) in items {
        topics
            .entry(tp.topic)
            .or_default()
            .push(DeleteRecordsPartition { partition_index: tp.partition, offset });
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| DeleteRecordsTopic { name: name.to_string(), partitions });
    let timeout = client.config().request_timeout.as_millis();
    let request = DeleteRecordsRequest {
        topics: topics.collect(),
        timeout_ms: i32::try_from(timeout).unwrap_or(i32::MAX),
    };
    let connection = client.node(node, Purpose::General, deadline).await?;
    let response = connection.call(&request, client.request_deadline(deadline)).await?;
    let mut outcomes = Vec::new();
    for topic in response.topics {
        for answer in topic.partitions {
            let tp = TopicPartition::new(topic.name.as_str(), answer.partition_index);
            let outcome = ErrorCode::from(answer.error_code)
                .check(|| format!("DeleteRecords for partition {tp}"))
                .map(|()| answer.low_watermark);
            outcomes.push((tp, outcome));
        }
    }
    Ok(outcomes)
}
