//! ListOffsets (API key 2).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// ListOffsetsRequest, versions 1 to 11.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsRequest {
    /// `ReplicaId`.
    pub replica_id: i32,
    /// `IsolationLevel`, versions 2 to 11.
    pub isolation_level: i8,
    /// `Topics`.
    pub topics: Vec<ListOffsetsTopic>,
    /// `TimeoutMs`, versions 10 to 11 (left out of others).
    pub timeout_ms: i32,
}

impl Codec for ListOffsetsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            replica_id: r.get()?,
            isolation_level: if v >= 2 { r.get()? } else { 0 },
            topics: r.get()?,
            timeout_ms: if v >= 10 { r.get()? } else { 0 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.replica_id)?;
        if v >= 2 {
            w.put(&self.isolation_level)?;
        } else {
            w.absent(self.isolation_level != 0, "ListOffsetsRequest.isolation_level")?;
        }
        w.put(&self.topics)?;
        if v >= 10 {
            w.put(&self.timeout_ms)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for ListOffsetsRequest {
    const NAME: &'static str = "ListOffsetsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 11;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Request for ListOffsetsRequest {
    const API_KEY: i16 = 2;
    type Response = ListOffsetsResponse;
}

/// Part of [`ListOffsetsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<ListOffsetsPartition>,
}

impl Codec for ListOffsetsTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ListOffsetsRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct ListOffsetsPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `CurrentLeaderEpoch`, versions 4 to 11 (left out of others), default -1.
    pub current_leader_epoch: i32,
    /// `Timestamp`.
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self { partition_index: 0, current_leader_epoch: -1, timestamp: 0 }
    }
}

impl Codec for ListOffsetsPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            current_leader_epoch: if v >= 4 { r.get()? } else { -1 },
            timestamp: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        if v >= 4 {
            w.put(&self.current_leader_epoch)?;
        }
        w.put(&self.timestamp)?;
        w.no_tags();
        Ok(())
    }
}

/// ListOffsetsResponse, versions 1 to 11.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsResponse {
    /// `ThrottleTimeMs`, versions 2 to 11 (left out of others).
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

impl Codec for ListOffsetsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self { throttle_time_ms: if v >= 2 { r.get()? } else { 0 }, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 2 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ListOffsetsResponse {
    const NAME: &'static str = "ListOffsetsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 11;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Response for ListOffsetsResponse {}

/// Part of [`ListOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsTopicResponse {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

impl Codec for ListOffsetsTopicResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ListOffsetsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct ListOffsetsPartitionResponse {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Timestamp`, default -1.
    pub timestamp: i64,
    /// `Offset`, default -1.
    pub offset: i64,
    /// `LeaderEpoch`, versions 4 to 11, default -1.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: 0, timestamp: -1, offset: -1, leader_epoch: -1 }
    }
}

impl Codec for ListOffsetsPartitionResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            error_code: r.get()?,
            timestamp: r.get()?,
            offset: r.get()?,
            leader_epoch: if v >= 4 { r.get()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.put(&self.timestamp)?;
        w.put(&self.offset)?;
        if v >= 4 {
            w.put(&self.leader_epoch)?;
        } else {
            w.absent(self.leader_epoch != -1, "ListOffsetsPartitionResponse.leader_epoch")?;
        }
        w.no_tags();
        Ok(())
    }
}
