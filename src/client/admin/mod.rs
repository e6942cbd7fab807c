//! Administration: topics, configurations, offsets, groups, cluster.
//!
//! Each call is bounded by `default.api.timeout.ms` and tries again where [`super::retry`] says
//! so. Results are per item: one forbidden topic does not hide what happened to the others.
//! Dropping a call's future abandons it; whatever the broker has begun it finishes.

mod groups;
mod offsets;

pub use groups::ListedGroup;
pub use offsets::{ListedOffset, OffsetSpec, TopicPartition};

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::cluster::{Client, retrying};
use super::connection::{Connection, Throttled};
use super::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use super::pool::Purpose;
use crate::wire::messages::create_partitions::CreatePartitionsTopic;
use crate::wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig};
use crate::wire::messages::delete_topics::DeleteTopicState;
use crate::wire::messages::describe_configs::DescribeConfigsResource;
use crate::wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use crate::wire::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest,
    DescribeConfigsRequest, IncrementalAlterConfigsRequest,
};
use crate::wire::{Request, Uuid};

/// What happened to each item, by its name.
pub type PerItem<T> = Vec<(String, Result<T>)>;

/// Administrative calls of a [`Client`].
#[derive(Clone)]
pub struct Admin {
    client: Client,
}

/// A topic to create.
#[derive(Debug, Clone, Default)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` leaves it to the broker.
    pub partitions: Option<i32>,
    /// How many replicas; `None` leaves it to the broker.
    pub replication: Option<i16>,
    /// Topic configuration, for example `cleanup.policy`.
    pub configs: BTreeMap<String, String>,
}

/// What a configuration belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigResource {
    /// A topic.
    Topic(String),
    /// A broker by node id.
    Broker(i32),
    /// A consumer, share or streams group (KIP-848): needs Kafka 4.0.
    Group(String),
}

/// One setting as a broker reports it.
#[derive(Debug, Clone)]
pub struct ConfigEntry {
    /// Kafka's name.
    pub name: String,
    /// `None` for sensitive settings.
    pub value: Option<String>,
    /// Whether the value was set on this resource, rather than inherited or a default.
    pub is_set_here: bool,
    /// Whether it cannot be changed at run time.
    pub read_only: bool,
}

/// The cluster as a broker describes it.
#[derive(Debug, Clone)]
pub struct ClusterDescription {
    /// The cluster's id.
    pub cluster_id: String,
    /// Node id of the controller, or of a broker that forwards to it.
    pub controller: i32,
    /// Node id, host, port and rack of each broker.
    pub brokers: Vec<(i32, String, u16, Option<String>)>,
}

impl ConfigResource {
    fn type_id(&self) -> i8 {
        match self {
            Self::Topic(_) => 2,
            Self::Broker(_) => 4,
            Self::Group(_) => 32,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Topic(name) | Self::Group(name) => name.clone(),
            Self::Broker(id) => id.to_string(),
        }
    }
}

impl Admin {
    /// Uses the client's connections.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Creates topics and returns their ids.
    ///
    /// A call that is repeated after a lost answer reports `TOPIC_ALREADY_EXISTS` for what its
    /// first attempt created.
    ///
    /// # Errors
    /// Where no broker could be asked; refusals are in the results.
    pub async fn create_topics(&self, topics: &[NewTopic]) -> Result<PerItem<Uuid>> {
        let deadline = self.client.api_deadline();
        let request = CreateTopicsRequest {
            topics: topics.iter().map(creatable).collect(),
            timeout_ms: self.timeout_ms(),
            ..Default::default()
        };
        let response = self.call_controller(&request, deadline, |response| {
            let codes = response.topics.iter().map(|topic| topic.error_code);
            retriable_of_all(codes, "CreateTopics")
        });
        let results = response.await?.topics.into_iter().map(|topic| {
            let outcome = ErrorCode::from(topic.error_code)
                .check_with(topic.error_message.as_deref(), || {
                    format!("CreateTopics for topic {}", topic.name)
                });
            (topic.name, outcome.map(|()| topic.topic_id))
        });
        Ok(results.collect())
    }

    /// Deletes topics by name.
    ///
    /// # Errors
    /// Where no broker could be asked; refusals are in the results.
    pub async fn delete_topics(&self, names: &[&str]) -> Result<PerItem<()>> {
        let deadline = self.client.api_deadline();
        let response = retrying!(self.client, deadline, {
            let connection = self.controller(deadline).await?;
            let version = connection.version_within::<DeleteTopicsRequest>(0..=i16::MAX)?;
            let request = delete_request(version, names, self.timeout_ms());
            let limit = self.client.request_deadline(deadline);
            let response = connection.send_at(&request, version, limit).await?.answer().await?;
            let codes = response.responses.iter().map(|topic| topic.error_code);
            retriable_of_all(codes, "DeleteTopics")?;
            Ok(response)
        })?;
        let results = response.responses.into_iter().map(|topic| {
            let name = topic.name.unwrap_or_default();
            let outcome = ErrorCode::from(topic.error_code)
                .check_with(topic.error_message.as_deref(), || {
                    format!("DeleteTopics for topic {name}")
                });
            (name, outcome)
        });
        Ok(results.collect())
    }

    /// Raises the number of partitions of a topic to `count`.
    ///
    /// # Errors
    /// The broker's refusal, or that no broker could be asked.
    pub async fn create_partitions(&self, topic: &str, count: i32) -> Result<()> {
        let request = CreatePartitionsRequest {
            topics: vec![CreatePartitionsTopic {
                name: topic.to_owned(),
                count,
                assignments: None,
            }],
            timeout_ms: self.timeout_ms(),
            ..Default::default()
        };
        let check = |response: &<CreatePartitionsRequest as Request>::Response| {
            response.results.iter().try_for_each(|result| {
                ErrorCode::from(result.error_code)
                    .check_with(result.error_message.as_deref(), || {
                        format!("CreatePartitions for topic {topic}")
                    })
            })
        };
        self.call_controller(&request, self.client.api_deadline(), check).await.map(drop)
    }

    /// All settings of a topic, broker or group.
    ///
    /// # Errors
    /// The broker's refusal, or that no broker could be asked.
    pub async fn describe_configs(&self, resource: &ConfigResource) -> Result<Vec<ConfigEntry>> {
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: resource.type_id(),
                resource_name: resource.name(),
                configuration_keys: None,
            }],
            ..Default::default()
        };
        let context = || format!("DescribeConfigs for {resource:?}");
        let check = |response: &<DescribeConfigsRequest as Request>::Response| {
            response.results.iter().try_for_each(|result| {
                ErrorCode::from(result.error_code)
                    .check_with(result.error_message.as_deref(), context)
            })
        };
        let deadline = self.client.api_deadline();
        let response = self.call_owner(resource, &request, deadline, check).await?;
        // Source 1 is a topic's, 2 a broker's, 8 a group's own value.
        let own = match resource {
            ConfigResource::Topic(_) => 1,
            ConfigResource::Broker(_) => 2,
            ConfigResource::Group(_) => 8,
        };
        let entries = response.results.into_iter().flat_map(|result| result.configs);
        let entries = entries.map(|entry| ConfigEntry {
            name: entry.name,
            value: entry.value,
            is_set_here: entry.config_source == own,
            read_only: entry.read_only,
        });
        Ok(entries.collect())
    }

    /// Sets (`Some`) or removes (`None`) settings and leaves the others as they are.
    ///
    /// # Errors
    /// The broker's refusal, or that no broker could be asked.
    pub async fn alter_configs(
        &self,
        resource: &ConfigResource,
        changes: &[(&str, Option<&str>)],
    ) -> Result<()> {
        let configs = changes.iter().map(|(name, value)| AlterableConfig {
            name: (*name).to_owned(),
            config_operation: if value.is_some() { 0 } else { 1 },
            value: value.map(str::to_owned),
        });
        let request = IncrementalAlterConfigsRequest {
            resources: vec![AlterConfigsResource {
                resource_type: resource.type_id(),
                resource_name: resource.name(),
                configs: configs.collect(),
            }],
            ..Default::default()
        };
        let check = |response: &<IncrementalAlterConfigsRequest as Request>::Response| {
            response.responses.iter().try_for_each(|result| {
                ErrorCode::from(result.error_code)
                    .check_with(result.error_message.as_deref(), || {
                        format!("IncrementalAlterConfigs for {resource:?}")
                    })
            })
        };
        let deadline = self.client.api_deadline();
        self.call_owner(resource, &request, deadline, check).await.map(drop)
    }

    /// Brokers and controller.
    ///
    /// # Errors
    /// The broker's refusal, or that no broker could be asked.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription> {
        let request = DescribeClusterRequest::default();
        let response = self
            .client
            .call_any(&request, self.client.api_deadline(), |response| {
                ErrorCode::from(response.error_code)
                    .check_with(response.error_message.as_deref(), || "DescribeCluster")
            })
            .await?;
        let brokers = response.brokers.into_iter().filter_map(|broker| {
            let port = u16::try_from(broker.port).ok()?;
            Some((broker.broker_id, broker.host, port, broker.rack))
        });
        Ok(ClusterDescription {
            cluster_id: response.cluster_id,
            controller: response.controller_id,
            brokers: brokers.collect(),
        })
    }

    /// Settings of a broker are that broker's to answer; those of others go by the controller.
    async fn call_owner<R>(
        &self,
        resource: &ConfigResource,
        request: &R,
        deadline: Instant,
        check: impl Fn(&R::Response) -> Result<()>,
    ) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        let ConfigResource::Broker(id) = resource else {
            return self.call_controller(request, deadline, check).await;
        };
        retrying!(self.client, deadline, {
            self.client.brokers(deadline).await?;
            let connection = self.client.node(*id, Purpose::General, deadline).await?;
            let limit = self.client.request_deadline(deadline);
            let response = connection.call(request, limit).await?;
            check(&response).map(|()| response)
        })
    }

    async fn call_controller<R>(
        &self,
        request: &R,
        deadline: Instant,
        check: impl Fn(&R::Response) -> Result<()>,
    ) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        retrying!(self.client, deadline, {
            let connection = self.controller(deadline).await?;
            let limit = self.client.request_deadline(deadline);
            let response = connection.call(request, limit).await?;
            check(&response).map(|()| response)
        })
    }

    /// KRaft brokers name any broker here and forward; older ones name the controller itself.
    async fn controller(&self, deadline: Instant) -> Result<Connection> {
        let snapshot = self.client.brokers(deadline).await?;
        match self.client.node(snapshot.controller_id, Purpose::General, deadline).await {
            Ok(connection) => Ok(connection),
            Err(_) => self.client.any(deadline).await,
        }
    }

    fn timeout_ms(&self) -> i32 {
        i32::try_from(self.client.config().request_timeout.as_millis()).unwrap_or(i32::MAX)
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic.configs.iter().map(|(name, value)| CreatableTopicConfig {
        name: name.clone(),
        value: Some(value.clone()),
    });
    CreatableTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions.unwrap_or(-1),
        replication_factor: topic.replication.unwrap_or(-1),
        configs: configs.collect(),
        ..Default::default()
    }
}

fn delete_request(version: i16, names: &[&str], timeout_ms: i32) -> DeleteTopicsRequest {
    let owned = names.iter().map(|name| (*name).to_owned());
    let mut request = DeleteTopicsRequest { timeout_ms, ..Default::default() };
    if version >= 6 {
        request.topics =
            owned.map(|name| DeleteTopicState { name: Some(name), ..Default::default() }).collect();
    } else {
        request.topic_names = owned.collect();
    }
    request
}

/// An error if every item failed for a reason that passes, so that the request is repeated as a
/// whole; repeating it for some would do to the others twice what they asked for once.
fn retriable_of_all(codes: impl Iterator<Item = i16>, context: impl Into<Arc<str>>) -> Result<()> {
    let mut last = None;
    for code in codes.map(ErrorCode::from) {
        if !super::retry::decide_code(code).is_retry() {
            return Ok(());
        }
        last = Some(code);
    }
    match last {
        Some(code) => Err(Error::broker(code, context)),
        None => Ok(()),
    }
}
