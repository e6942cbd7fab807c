//! Metadata (API key 3).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// MetadataRequest, versions 0 to 13.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataRequest {
    /// `Topics`, may be null in versions 1 to 13, default empty, not null.
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// `AllowAutoTopicCreation`, versions 4 to 13, default true.
    pub allow_auto_topic_creation: bool,
    /// `IncludeClusterAuthorizedOperations`, versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// `IncludeTopicAuthorizedOperations`, versions 8 to 13.
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequest {
    fn default() -> Self {
        Self {
            topics: Some(Vec::<MetadataRequestTopic>::default()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl Codec for MetadataRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topics: if v >= 1 { r.get()? } else { Some(r.get()?) },
            allow_auto_topic_creation: if v >= 4 { r.get()? } else { true },
            include_cluster_authorized_operations: if (8..=10).contains(&v) {
                r.get()?
            } else {
                false
            },
            include_topic_authorized_operations: if v >= 8 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 1 {
            w.put(&self.topics)?;
        } else {
            w.put_some(&self.topics, "MetadataRequest.topics")?;
        }
        if v >= 4 {
            w.put(&self.allow_auto_topic_creation)?;
        } else {
            w.absent(!self.allow_auto_topic_creation, "MetadataRequest.allow_auto_topic_creation")?;
        }
        if (8..=10).contains(&v) {
            w.put(&self.include_cluster_authorized_operations)?;
        } else {
            w.absent(
                self.include_cluster_authorized_operations,
                "MetadataRequest.include_cluster_authorized_operations",
            )?;
        }
        if v >= 8 {
            w.put(&self.include_topic_authorized_operations)?;
        } else {
            w.absent(
                self.include_topic_authorized_operations,
                "MetadataRequest.include_topic_authorized_operations",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for MetadataRequest {
    const NAME: &'static str = "MetadataRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 13;
    const FIRST_FLEXIBLE: i16 = 9;
}

impl Request for MetadataRequest {
    const API_KEY: i16 = 3;
    type Response = MetadataResponse;
}

/// Part of [`MetadataRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataRequestTopic {
    /// `TopicId`, versions 10 to 13 (left out of others).
    pub topic_id: Uuid,
    /// `Name`, may be null in versions 10 to 13, default empty, not null.
    pub name: Option<String>,
}

impl Default for MetadataRequestTopic {
    fn default() -> Self {
        Self { topic_id: Uuid::ZERO, name: Some(String::default()) }
    }
}

impl Codec for MetadataRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topic_id: if v >= 10 { r.get()? } else { Uuid::ZERO },
            name: if v >= 10 { r.get()? } else { Some(r.get()?) },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 10 {
            w.put(&self.topic_id)?;
        }
        if v >= 10 {
            w.put(&self.name)?;
        } else {
            w.put_some(&self.name, "MetadataRequestTopic.name")?;
        }
        w.no_tags();
        Ok(())
    }
}

/// MetadataResponse, versions 0 to 13.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponse {
    /// `ThrottleTimeMs`, versions 3 to 13 (left out of others).
    pub throttle_time_ms: i32,
    /// `Brokers`.
    pub brokers: Vec<MetadataResponseBroker>,
    /// `ClusterId`, versions 2 to 13 (left out of others), may be null, default null.
    pub cluster_id: Option<String>,
    /// `ControllerId`, versions 1 to 13 (left out of others), default -1.
    pub controller_id: i32,
    /// `Topics`.
    pub topics: Vec<MetadataResponseTopic>,
    /// `ClusterAuthorizedOperations`, versions 8 to 10, default -2147483648.
    pub cluster_authorized_operations: i32,
    /// `ErrorCode`, version 13 (left out of others).
    pub error_code: i16,
}

impl Default for MetadataResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: i32::MIN,
            error_code: 0,
        }
    }
}

impl Codec for MetadataResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 3 { r.get()? } else { 0 },
            brokers: r.get()?,
            cluster_id: if v >= 2 { r.get()? } else { None },
            controller_id: if v >= 1 { r.get()? } else { -1 },
            topics: r.get()?,
            cluster_authorized_operations: if (8..=10).contains(&v) { r.get()? } else { i32::MIN },
            error_code: if v == 13 { r.get()? } else { 0 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 3 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.brokers)?;
        if v >= 2 {
            w.put(&self.cluster_id)?;
        }
        if v >= 1 {
            w.put(&self.controller_id)?;
        }
        w.put(&self.topics)?;
        if (8..=10).contains(&v) {
            w.put(&self.cluster_authorized_operations)?;
        } else {
            w.absent(
                self.cluster_authorized_operations != i32::MIN,
                "MetadataResponse.cluster_authorized_operations",
            )?;
        }
        if v == 13 {
            w.put(&self.error_code)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for MetadataResponse {
    const NAME: &'static str = "MetadataResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 13;
    const FIRST_FLEXIBLE: i16 = 9;
}

impl Response for MetadataResponse {}

/// Part of [`MetadataResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MetadataResponseBroker {
    /// `NodeId`.
    pub node_id: i32,
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: i32,
    /// `Rack`, versions 1 to 13 (left out of others), may be null, default null.
    pub rack: Option<String>,
}

impl Codec for MetadataResponseBroker {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            node_id: r.get()?,
            host: r.get()?,
            port: r.get()?,
            rack: if v >= 1 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.node_id)?;
        w.put(&self.host)?;
        w.put(&self.port)?;
        if v >= 1 {
            w.put(&self.rack)?;
        }
        w.no_tags();
        Ok(())
    }
}

/// Part of [`MetadataResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponseTopic {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Name`, may be null in versions 12 to 13, default empty, not null.
    pub name: Option<String>,
    /// `TopicId`, versions 10 to 13 (left out of others).
    pub topic_id: Uuid,
    /// `IsInternal`, versions 1 to 13 (left out of others).
    pub is_internal: bool,
    /// `Partitions`.
    pub partitions: Vec<MetadataResponsePartition>,
    /// `TopicAuthorizedOperations`, versions 8 to 13, default -2147483648.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: Some(String::default()),
            topic_id: Uuid::ZERO,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

impl Codec for MetadataResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            error_code: r.get()?,
            name: if v >= 12 { r.get()? } else { Some(r.get()?) },
            topic_id: if v >= 10 { r.get()? } else { Uuid::ZERO },
            is_internal: if v >= 1 { r.get()? } else { false },
            partitions: r.get()?,
            topic_authorized_operations: if v >= 8 { r.get()? } else { i32::MIN },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        if v >= 12 {
            w.put(&self.name)?;
        } else {
            w.put_some(&self.name, "MetadataResponseTopic.name")?;
        }
        if v >= 10 {
            w.put(&self.topic_id)?;
        }
        if v >= 1 {
            w.put(&self.is_internal)?;
        }
        w.put(&self.partitions)?;
        if v >= 8 {
            w.put(&self.topic_authorized_operations)?;
        } else {
            w.absent(
                self.topic_authorized_operations != i32::MIN,
                "MetadataResponseTopic.topic_authorized_operations",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

/// Part of [`MetadataResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponsePartition {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `LeaderId`.
    pub leader_id: i32,
    /// `LeaderEpoch`, versions 7 to 13 (left out of others), default -1.
    pub leader_epoch: i32,
    /// `ReplicaNodes`.
    pub replica_nodes: Vec<i32>,
    /// `IsrNodes`.
    pub isr_nodes: Vec<i32>,
    /// `OfflineReplicas`, versions 5 to 13 (left out of others).
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

impl Codec for MetadataResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            error_code: r.get()?,
            partition_index: r.get()?,
            leader_id: r.get()?,
            leader_epoch: if v >= 7 { r.get()? } else { -1 },
            replica_nodes: r.get()?,
            isr_nodes: r.get()?,
            offline_replicas: if v >= 5 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        w.put(&self.partition_index)?;
        w.put(&self.leader_id)?;
        if v >= 7 {
            w.put(&self.leader_epoch)?;
        }
        w.put(&self.replica_nodes)?;
        w.put(&self.isr_nodes)?;
        if v >= 5 {
            w.put(&self.offline_replicas)?;
        }
        w.no_tags();
        Ok(())
    }
}
