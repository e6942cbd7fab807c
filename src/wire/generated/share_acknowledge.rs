//! ShareAcknowledge (API key 79).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ShareAcknowledgeRequest, versions 1 to 2.
#[derive(Clone, PartialEq, Debug)]
pub struct ShareAcknowledgeRequest {
    /// `GroupId`, may be null, default null.
    pub group_id: Option<String>,
    /// `MemberId`, may be null, default empty, not null.
    pub member_id: Option<String>,
    /// `ShareSessionEpoch`.
    pub share_session_epoch: i32,
    /// `IsRenewAck`, version 2.
    pub is_renew_ack: bool,
    /// `Topics`.
    pub topics: Vec<AcknowledgeTopic>,
}

impl Default for ShareAcknowledgeRequest {
    fn default() -> Self {
        Self {
            group_id: None,
            member_id: Some(String::default()),
            share_session_epoch: 0,
            is_renew_ack: false,
            topics: Vec::new(),
        }
    }
}

impl Codec for ShareAcknowledgeRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            member_id: r.get()?,
            share_session_epoch: r.get()?,
            is_renew_ack: if v == 2 { r.get()? } else { false },
            topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.member_id)?;
        w.put(&self.share_session_epoch)?;
        if v == 2 {
            w.put(&self.is_renew_ack)?;
        } else {
            w.absent(self.is_renew_ack, "ShareAcknowledgeRequest.is_renew_ack")?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareAcknowledgeRequest {
    const NAME: &'static str = "ShareAcknowledgeRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Request for ShareAcknowledgeRequest {
    const API_KEY: i16 = 79;
    type Response = ShareAcknowledgeResponse;
}

/// Part of [`ShareAcknowledgeRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AcknowledgeTopic {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<AcknowledgePartition>,
}

impl Codec for AcknowledgeTopic {
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

/// Part of [`ShareAcknowledgeRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AcknowledgePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `AcknowledgementBatches`.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

impl Codec for AcknowledgePartition {
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

/// Part of [`ShareAcknowledgeRequest`].
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

/// ShareAcknowledgeResponse, versions 1 to 2.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareAcknowledgeResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `AcquisitionLockTimeoutMs`, version 2 (left out of others).
    pub acquisition_lock_timeout_ms: i32,
    /// `Responses`.
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    /// `NodeEndpoints`.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Codec for ShareAcknowledgeResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            acquisition_lock_timeout_ms: if v == 2 { r.get()? } else { 0 },
            responses: r.get()?,
            node_endpoints: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        if v == 2 {
            w.put(&self.acquisition_lock_timeout_ms)?;
        }
        w.put(&self.responses)?;
        w.put(&self.node_endpoints)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareAcknowledgeResponse {
    const NAME: &'static str = "ShareAcknowledgeResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Response for ShareAcknowledgeResponse {}

/// Part of [`ShareAcknowledgeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareAcknowledgeTopicResponse {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<PartitionData>,
}

impl Codec for ShareAcknowledgeTopicResponse {
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

/// Part of [`ShareAcknowledgeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionData {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `CurrentLeader`.
    pub current_leader: LeaderIdAndEpoch,
}

impl Codec for PartitionData {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            partition_index: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            current_leader: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.current_leader)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareAcknowledgeResponse`].
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

/// Part of [`ShareAcknowledgeResponse`].
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
