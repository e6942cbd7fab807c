//! DescribeTopicPartitions (API key 75).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// DescribeTopicPartitionsRequest, version 0.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsRequest {
    /// `Topics`.
    pub topics: Vec<TopicRequest>,
    /// `ResponsePartitionLimit`, default 2000.
    pub response_partition_limit: i32,
    /// `Cursor`, may be null, default null.
    pub cursor: Option<RequestCursor>,
}

impl Default for DescribeTopicPartitionsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), response_partition_limit: 2000, cursor: None }
    }
}

impl Codec for DescribeTopicPartitionsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { topics: r.get()?, response_partition_limit: r.get()?, cursor: r.get_struct()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topics)?;
        w.put(&self.response_partition_limit)?;
        w.put_struct(&self.cursor)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeTopicPartitionsRequest {
    const NAME: &'static str = "DescribeTopicPartitionsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for DescribeTopicPartitionsRequest {
    const API_KEY: i16 = 75;
    type Response = DescribeTopicPartitionsResponse;
}

/// Part of [`DescribeTopicPartitionsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicRequest {
    /// `Name`.
    pub name: String,
}

impl Codec for TopicRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeTopicPartitionsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestCursor {
    /// `TopicName`.
    pub topic_name: String,
    /// `PartitionIndex`.
    pub partition_index: i32,
}

impl Codec for RequestCursor {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_name: r.get()?, partition_index: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.put(&self.partition_index)?;
        w.no_tags();
        Ok(())
    }
}

/// DescribeTopicPartitionsResponse, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeTopicPartitionsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// `NextCursor`, may be null, default null.
    pub next_cursor: Option<ResponseCursor>,
}

impl Codec for DescribeTopicPartitionsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { throttle_time_ms: r.get()?, topics: r.get()?, next_cursor: r.get_struct()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.topics)?;
        w.put_struct(&self.next_cursor)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeTopicPartitionsResponse {
    const NAME: &'static str = "DescribeTopicPartitionsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for DescribeTopicPartitionsResponse {}

/// Part of [`DescribeTopicPartitionsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Name`, may be null, default empty, not null.
    pub name: Option<String>,
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `IsInternal`.
    pub is_internal: bool,
    /// `Partitions`.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// `TopicAuthorizedOperations`, default -2147483648.
    pub topic_authorized_operations: i32,
}

impl Default for DescribeTopicPartitionsResponseTopic {
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

impl Codec for DescribeTopicPartitionsResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            name: r.get()?,
            topic_id: r.get()?,
            is_internal: r.get()?,
            partitions: r.get()?,
            topic_authorized_operations: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.name)?;
        w.put(&self.topic_id)?;
        w.put(&self.is_internal)?;
        w.put(&self.partitions)?;
        w.put(&self.topic_authorized_operations)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeTopicPartitionsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `LeaderId`.
    pub leader_id: i32,
    /// `LeaderEpoch`, default -1.
    pub leader_epoch: i32,
    /// `ReplicaNodes`.
    pub replica_nodes: Vec<i32>,
    /// `IsrNodes`.
    pub isr_nodes: Vec<i32>,
    /// `EligibleLeaderReplicas`, may be null, default null.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// `LastKnownElr`, may be null, default null.
    pub last_known_elr: Option<Vec<i32>>,
    /// `OfflineReplicas`.
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

impl Codec for DescribeTopicPartitionsResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            partition_index: r.get()?,
            leader_id: r.get()?,
            leader_epoch: r.get()?,
            replica_nodes: r.get()?,
            isr_nodes: r.get()?,
            eligible_leader_replicas: r.get()?,
            last_known_elr: r.get()?,
            offline_replicas: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.partition_index)?;
        w.put(&self.leader_id)?;
        w.put(&self.leader_epoch)?;
        w.put(&self.replica_nodes)?;
        w.put(&self.isr_nodes)?;
        w.put(&self.eligible_leader_replicas)?;
        w.put(&self.last_known_elr)?;
        w.put(&self.offline_replicas)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeTopicPartitionsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResponseCursor {
    /// `TopicName`.
    pub topic_name: String,
    /// `PartitionIndex`.
    pub partition_index: i32,
}

impl Codec for ResponseCursor {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_name: r.get()?, partition_index: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.put(&self.partition_index)?;
        w.no_tags();
        Ok(())
    }
}
