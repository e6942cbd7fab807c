//! Produce (API key 0).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ProduceRequest, versions 3 to 13.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProduceRequest {
    /// `TransactionalId`, may be null, default null.
    pub transactional_id: Option<String>,
    /// `Acks`.
    pub acks: i16,
    /// `TimeoutMs`.
    pub timeout_ms: i32,
    /// `TopicData`.
    pub topic_data: Vec<TopicProduceData>,
}

impl Codec for ProduceRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            transactional_id: r.get()?,
            acks: r.get()?,
            timeout_ms: r.get()?,
            topic_data: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.transactional_id)?;
        w.put(&self.acks)?;
        w.put(&self.timeout_ms)?;
        w.put(&self.topic_data)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ProduceRequest {
    const NAME: &'static str = "ProduceRequest";
    const MIN_VERSION: i16 = 3;
    const MAX_VERSION: i16 = 13;
    const FIRST_FLEXIBLE: i16 = 9;
}

impl Request for ProduceRequest {
    const API_KEY: i16 = 0;
    type Response = ProduceResponse;
}

/// Part of [`ProduceRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicProduceData {
    /// `Name`, versions 3 to 12 (left out of others).
    pub name: String,
    /// `TopicId`, version 13 (left out of others).
    pub topic_id: Uuid,
    /// `PartitionData`.
    pub partition_data: Vec<PartitionProduceData>,
}

impl Codec for TopicProduceData {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 12 { r.get()? } else { String::new() },
            topic_id: if v == 13 { r.get()? } else { Uuid::ZERO },
            partition_data: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 12 {
            w.put(&self.name)?;
        }
        if v == 13 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partition_data)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ProduceRequest`].
#[derive(Clone, PartialEq, Default)]
pub struct PartitionProduceData {
    /// `Index`.
    pub index: i32,
    /// `Records`, may be null.
    pub records: Option<Bytes>,
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for PartitionProduceData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartitionProduceData").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Codec for PartitionProduceData {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { index: r.get()?, records: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.index)?;
        w.put(&self.records)?;
        w.no_tags();
        Ok(())
    }
}

/// ProduceResponse, versions 3 to 13.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProduceResponse {
    /// `Responses`.
    pub responses: Vec<TopicProduceResponse>,
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `NodeEndpoints`, versions 10 to 13, tag 0.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Codec for ProduceResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this =
            Self { responses: r.get()?, throttle_time_ms: r.get()?, node_endpoints: Vec::new() };
        r.tags(|tag, r| {
            match tag {
                0 if v >= 10 => this.node_endpoints = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.responses)?;
        w.put(&self.throttle_time_ms)?;
        if v < 10 {
            w.absent(!self.node_endpoints.is_empty(), "ProduceResponse.node_endpoints")?;
        }
        if w.flexible() {
            let tag0 = v >= 10 && !self.node_endpoints.is_empty();
            w.tag_count(u32::from(tag0));
            if tag0 {
                w.tag(0, &self.node_endpoints)?;
            }
        }
        Ok(())
    }
}

impl Message for ProduceResponse {
    const NAME: &'static str = "ProduceResponse";
    const MIN_VERSION: i16 = 3;
    const MAX_VERSION: i16 = 13;
    const FIRST_FLEXIBLE: i16 = 9;
}

impl Response for ProduceResponse {}

/// Part of [`ProduceResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicProduceResponse {
    /// `Name`, versions 3 to 12 (left out of others).
    pub name: String,
    /// `TopicId`, version 13 (left out of others).
    pub topic_id: Uuid,
    /// `PartitionResponses`.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

impl Codec for TopicProduceResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 12 { r.get()? } else { String::new() },
            topic_id: if v == 13 { r.get()? } else { Uuid::ZERO },
            partition_responses: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 12 {
            w.put(&self.name)?;
        }
        if v == 13 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partition_responses)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ProduceResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionProduceResponse {
    /// `Index`.
    pub index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `BaseOffset`.
    pub base_offset: i64,
    /// `LogAppendTimeMs`, default -1.
    pub log_append_time_ms: i64,
    /// `LogStartOffset`, versions 5 to 13 (left out of others), default -1.
    pub log_start_offset: i64,
    /// `RecordErrors`, versions 8 to 13 (left out of others).
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// `ErrorMessage`, versions 8 to 13 (left out of others), may be null, default null.
    pub error_message: Option<String>,
    /// `CurrentLeader`, versions 10 to 13, tag 0.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: 0,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

impl Codec for PartitionProduceResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            index: r.get()?,
            error_code: r.get()?,
            base_offset: r.get()?,
            log_append_time_ms: r.get()?,
            log_start_offset: if v >= 5 { r.get()? } else { -1 },
            record_errors: if v >= 8 { r.get()? } else { Vec::new() },
            error_message: if v >= 8 { r.get()? } else { None },
            current_leader: LeaderIdAndEpoch::default(),
        };
        r.tags(|tag, r| {
            match tag {
                0 if v >= 10 => this.current_leader = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.index)?;
        w.put(&self.error_code)?;
        w.put(&self.base_offset)?;
        w.put(&self.log_append_time_ms)?;
        if v >= 5 {
            w.put(&self.log_start_offset)?;
        }
        if v >= 8 {
            w.put(&self.record_errors)?;
        }
        if v >= 8 {
            w.put(&self.error_message)?;
        }
        if v < 10 {
            w.absent(
                self.current_leader != LeaderIdAndEpoch::default(),
                "PartitionProduceResponse.current_leader",
            )?;
        }
        if w.flexible() {
            let tag0 = v >= 10 && self.current_leader != LeaderIdAndEpoch::default();
            w.tag_count(u32::from(tag0));
            if tag0 {
                w.tag(0, &self.current_leader)?;
            }
        }
        Ok(())
    }
}

/// Part of [`ProduceResponse`] in versions 8 to 13.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BatchIndexAndErrorMessage {
    /// `BatchIndex`.
    pub batch_index: i32,
    /// `BatchIndexErrorMessage`, may be null, default null.
    pub batch_index_error_message: Option<String>,
}

impl Codec for BatchIndexAndErrorMessage {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { batch_index: r.get()?, batch_index_error_message: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.batch_index)?;
        w.put(&self.batch_index_error_message)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ProduceResponse`] in versions 10 to 13.
#[derive(Clone, PartialEq, Debug)]
pub struct LeaderIdAndEpoch {
    /// `LeaderId`, default -1.
    pub leader_id: i32,
    /// `LeaderEpoch`, default -1.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
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

/// Part of [`ProduceResponse`] in versions 10 to 13.
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
