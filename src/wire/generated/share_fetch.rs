//! ShareFetch (API key 78).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ShareFetchRequest, versions 1 to 2.
#[derive(Clone, PartialEq, Debug)]
pub struct ShareFetchRequest {
    /// `GroupId`, may be null, default null.
    pub group_id: Option<String>,
    /// `MemberId`, may be null, default empty, not null.
    pub member_id: Option<String>,
    /// `ShareSessionEpoch`.
    pub share_session_epoch: i32,
    /// `MaxWaitMs`.
    pub max_wait_ms: i32,
    /// `MinBytes`.
    pub min_bytes: i32,
    /// `MaxBytes`, default 0x7fffffff.
    pub max_bytes: i32,
    /// `MaxRecords`.
    pub max_records: i32,
    /// `BatchSize`.
    pub batch_size: i32,
    /// `ShareAcquireMode`, version 2 (left out of others).
    pub share_acquire_mode: i8,
    /// `IsRenewAck`, version 2.
    pub is_renew_ack: bool,
    /// `Topics`.
    pub topics: Vec<FetchTopic>,
    /// `ForgottenTopicsData`.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
}

impl Default for ShareFetchRequest {
    fn default() -> Self {
        Self {
            group_id: None,
            member_id: Some(String::default()),
            share_session_epoch: 0,
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            max_records: 0,
            batch_size: 0,
            share_acquire_mode: 0,
            is_renew_ack: false,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
        }
    }
}

impl Codec for ShareFetchRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            member_id: r.get()?,
            share_session_epoch: r.get()?,
            max_wait_ms: r.get()?,
            min_bytes: r.get()?,
            max_bytes: r.get()?,
            max_records: r.get()?,
            batch_size: r.get()?,
            share_acquire_mode: if v == 2 { r.get()? } else { 0 },
            is_renew_ack: if v == 2 { r.get()? } else { false },
            topics: r.get()?,
            forgotten_topics_data: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.member_id)?;
        w.put(&self.share_session_epoch)?;
        w.put(&self.max_wait_ms)?;
        w.put(&self.min_bytes)?;
        w.put(&self.max_bytes)?;
        w.put(&self.max_records)?;
        w.put(&self.batch_size)?;
        if v == 2 {
            w.put(&self.share_acquire_mode)?;
        }
        if v == 2 {
            w.put(&self.is_renew_ack)?;
        } else {
            w.absent(self.is_renew_ack, "ShareFetchRequest.is_renew_ack")?;
        }
        w.put(&self.topics)?;
        w.put(&self.forgotten_topics_data)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareFetchRequest {
    const NAME: &'static str = "ShareFetchRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Request for ShareFetchRequest {
    const API_KEY: i16 = 78;
    type Response = ShareFetchResponse;
}

/// Part of [`ShareFetchRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchTopic {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<FetchPartition>,
}

impl Codec for FetchTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `AcknowledgementBatches`.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

impl Codec for FetchPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, acknowledgement_batches: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.acknowledgement_batches)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AcknowledgementBatch {
    /// `FirstOffset`.
    pub first_offset: i64,
    /// `LastOffset`.
    pub last_offset: i64,
    /// `AcknowledgeTypes`.
    pub acknowledge_types: Vec<i8>,
}

impl Codec for AcknowledgementBatch {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { first_offset: r.get()?, last_offset: r.get()?, acknowledge_types: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.first_offset)?;
        w.put(&self.last_offset)?;
        w.put(&self.acknowledge_types)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ForgottenTopic {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for ForgottenTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// ShareFetchResponse, versions 1 to 2.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareFetchResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `AcquisitionLockTimeoutMs`.
    pub acquisition_lock_timeout_ms: i32,
    /// `Responses`.
    pub responses: Vec<ShareFetchableTopicResponse>,
    /// `NodeEndpoints`.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Codec for ShareFetchResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            acquisition_lock_timeout_ms: r.get()?,
            responses: r.get()?,
            node_endpoints: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.acquisition_lock_timeout_ms)?;
        w.put(&self.responses)?;
        w.put(&self.node_endpoints)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareFetchResponse {
    const NAME: &'static str = "ShareFetchResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Response for ShareFetchResponse {}

/// Part of [`ShareFetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareFetchableTopicResponse {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<PartitionData>,
}

impl Codec for ShareFetchableTopicResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchResponse`].
#[derive(Clone, PartialEq, Default)]
pub struct PartitionData {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `AcknowledgeErrorCode`.
    pub acknowledge_error_code: i16,
    /// `AcknowledgeErrorMessage`, may be null, default null.
    pub acknowledge_error_message: Option<String>,
    /// `CurrentLeader`.
    pub current_leader: LeaderIdAndEpoch,
    /// `Records`.
    pub records: Option<Bytes>,
    /// `AcquiredRecords`.
    pub acquired_records: Vec<AcquiredRecords>,
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for PartitionData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartitionData")
            .field("partition_index", &self.partition_index)
            .field("error_code", &self.error_code)
            .field("error_message", &self.error_message)
            .field("acknowledge_error_code", &self.acknowledge_error_code)
            .field("acknowledge_error_message", &self.acknowledge_error_message)
            .field("current_leader", &self.current_leader)
            .field("acquired_records", &self.acquired_records)
            .finish_non_exhaustive()
    }
}

impl Codec for PartitionData {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            partition_index: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            acknowledge_error_code: r.get()?,
            acknowledge_error_message: r.get()?,
            current_leader: r.get()?,
            records: r.get()?,
            acquired_records: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.acknowledge_error_code)?;
        w.put(&self.acknowledge_error_message)?;
        w.put(&self.current_leader)?;
        w.put(&self.records)?;
        w.put(&self.acquired_records)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaderIdAndEpoch {
    /// `LeaderId`.
    pub leader_id: i32,
    /// `LeaderEpoch`.
    pub leader_epoch: i32,
}

impl Codec for LeaderIdAndEpoch {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { leader_id: r.get()?, leader_epoch: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.leader_id)?;
        w.put(&self.leader_epoch)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AcquiredRecords {
    /// `FirstOffset`.
    pub first_offset: i64,
    /// `LastOffset`.
    pub last_offset: i64,
    /// `DeliveryCount`.
    pub delivery_count: i16,
}

impl Codec for AcquiredRecords {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { first_offset: r.get()?, last_offset: r.get()?, delivery_count: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.first_offset)?;
        w.put(&self.last_offset)?;
        w.put(&self.delivery_count)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareFetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeEndpoint {
    /// `NodeId`.
    pub node_id: i32,
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: i32,
    /// `Rack`, may be null, default null.
    pub rack: Option<String>,
}

impl Codec for NodeEndpoint {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { node_id: r.get()?, host: r.get()?, port: r.get()?, rack: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.node_id)?;
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.put(&self.rack)?;
        w.no_tags();
        Ok(())
    }
}
