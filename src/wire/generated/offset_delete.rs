//! OffsetDelete (API key 47).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// OffsetDeleteRequest, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

impl Codec for OffsetDeleteRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { group_id: r.get()?, topics: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.topics)?;
        Ok(())
    }
}

impl Message for OffsetDeleteRequest {
    const NAME: &'static str = "OffsetDeleteRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = i16::MAX;
}

impl Request for OffsetDeleteRequest {
    const API_KEY: i16 = 47;
    type Response = OffsetDeleteResponse;
}

/// Part of [`OffsetDeleteRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequestTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

impl Codec for OffsetDeleteRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { name: r.get()?, partitions: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        Ok(())
    }
}

/// Part of [`OffsetDeleteRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequestPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
}

impl Codec for OffsetDeleteRequestPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { partition_index: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        Ok(())
    }
}

/// OffsetDeleteResponse, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponse {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

impl Codec for OffsetDeleteResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { error_code: r.get()?, throttle_time_ms: r.get()?, topics: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.throttle_time_ms)?;
        w.put(&self.topics)?;
        Ok(())
    }
}

impl Message for OffsetDeleteResponse {
    const NAME: &'static str = "OffsetDeleteResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = i16::MAX;
}

impl Response for OffsetDeleteResponse {}

/// Part of [`OffsetDeleteResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponseTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

impl Codec for OffsetDeleteResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { name: r.get()?, partitions: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        Ok(())
    }
}

/// Part of [`OffsetDeleteResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for OffsetDeleteResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { partition_index: r.get()?, error_code: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        Ok(())
    }
}
