//! DeleteRecords (API key 21).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// DeleteRecordsRequest, versions 0 to 2.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsRequest {
    /// `Topics`.
    pub topics: Vec<DeleteRecordsTopic>,
    /// `TimeoutMs`.
    pub timeout_ms: i32,
}

impl Codec for DeleteRecordsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topics: r.get()?, timeout_ms: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topics)?;
        w.put(&self.timeout_ms)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteRecordsRequest {
    const NAME: &'static str = "DeleteRecordsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Request for DeleteRecordsRequest {
    const API_KEY: i16 = 21;
    type Response = DeleteRecordsResponse;
}

/// Part of [`DeleteRecordsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<DeleteRecordsPartition>,
}

impl Codec for DeleteRecordsTopic {
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

/// Part of [`DeleteRecordsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `Offset`.
    pub offset: i64,
}

impl Codec for DeleteRecordsPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, offset: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.offset)?;
        w.no_tags();
        Ok(())
    }
}

/// DeleteRecordsResponse, versions 0 to 2.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

impl Codec for DeleteRecordsResponse {
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

impl Message for DeleteRecordsResponse {
    const NAME: &'static str = "DeleteRecordsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Response for DeleteRecordsResponse {}

/// Part of [`DeleteRecordsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsTopicResult {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

impl Codec for DeleteRecordsTopicResult {
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

/// Part of [`DeleteRecordsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsPartitionResult {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `LowWatermark`.
    pub low_watermark: i64,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for DeleteRecordsPartitionResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { partition_index: r.get()?, low_watermark: r.get()?, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.low_watermark)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}
