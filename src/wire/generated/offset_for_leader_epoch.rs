//! OffsetForLeaderEpoch (API key 23).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// OffsetForLeaderEpochRequest, versions 2 to 4.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetForLeaderEpochRequest {
    /// `ReplicaId`, versions 3 to 4 (left out of others), default -2.
    pub replica_id: i32,
    /// `Topics`.
    pub topics: Vec<OffsetForLeaderTopic>,
}

impl Default for OffsetForLeaderEpochRequest {
    fn default() -> Self {
        Self { replica_id: -2, topics: Vec::new() }
    }
}

impl Codec for OffsetForLeaderEpochRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self { replica_id: if v >= 3 { r.get()? } else { -2 }, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 3 {
            w.put(&self.replica_id)?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetForLeaderEpochRequest {
    const NAME: &'static str = "OffsetForLeaderEpochRequest";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for OffsetForLeaderEpochRequest {
    const API_KEY: i16 = 23;
    type Response = OffsetForLeaderEpochResponse;
}

/// Part of [`OffsetForLeaderEpochRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderTopic {
    /// `Topic`.
    pub topic: String,
    /// `Partitions`.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

impl Codec for OffsetForLeaderTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetForLeaderEpochRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetForLeaderPartition {
    /// `Partition`.
    pub partition: i32,
    /// `CurrentLeaderEpoch`, default -1.
    pub current_leader_epoch: i32,
    /// `LeaderEpoch`.
    pub leader_epoch: i32,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self { partition: 0, current_leader_epoch: -1, leader_epoch: 0 }
    }
}

impl Codec for OffsetForLeaderPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { partition: r.get()?, current_leader_epoch: r.get()?, leader_epoch: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition)?;
        w.put(&self.current_leader_epoch)?;
        w.put(&self.leader_epoch)?;
        w.no_tags();
        Ok(())
    }
}

/// OffsetForLeaderEpochResponse, versions 2 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderEpochResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

impl Codec for OffsetForLeaderEpochResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetForLeaderEpochResponse {
    const NAME: &'static str = "OffsetForLeaderEpochResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for OffsetForLeaderEpochResponse {}

/// Part of [`OffsetForLeaderEpochResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderTopicResult {
    /// `Topic`.
    pub topic: String,
    /// `Partitions`.
    pub partitions: Vec<EpochEndOffset>,
}

impl Codec for OffsetForLeaderTopicResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetForLeaderEpochResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct EpochEndOffset {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Partition`.
    pub partition: i32,
    /// `LeaderEpoch`, default -1.
    pub leader_epoch: i32,
    /// `EndOffset`, default -1.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { error_code: 0, partition: 0, leader_epoch: -1, end_offset: -1 }
    }
}

impl Codec for EpochEndOffset {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            partition: r.get()?,
            leader_epoch: r.get()?,
            end_offset: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.partition)?;
        w.put(&self.leader_epoch)?;
        w.put(&self.end_offset)?;
        w.no_tags();
        Ok(())
    }
}
