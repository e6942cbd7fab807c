//! AlterShareGroupOffsets (API key 91).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// AlterShareGroupOffsetsRequest, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`.
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
}

impl Codec for AlterShareGroupOffsetsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { group_id: r.get()?, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for AlterShareGroupOffsetsRequest {
    const NAME: &'static str = "AlterShareGroupOffsetsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for AlterShareGroupOffsetsRequest {
    const API_KEY: i16 = 91;
    type Response = AlterShareGroupOffsetsResponse;
}

/// Part of [`AlterShareGroupOffsetsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsRequestTopic {
    /// `TopicName`.
    pub topic_name: String,
    /// `Partitions`.
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
}

impl Codec for AlterShareGroupOffsetsRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_name: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`AlterShareGroupOffsetsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsRequestPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `StartOffset`.
    pub start_offset: i64,
}

impl Codec for AlterShareGroupOffsetsRequestPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, start_offset: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.start_offset)?;
        w.no_tags();
        Ok(())
    }
}

/// AlterShareGroupOffsetsResponse, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `Responses`.
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
}

impl Codec for AlterShareGroupOffsetsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            responses: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.responses)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for AlterShareGroupOffsetsResponse {
    const NAME: &'static str = "AlterShareGroupOffsetsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for AlterShareGroupOffsetsResponse {}

/// Part of [`AlterShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsResponseTopic {
    /// `TopicName`.
    pub topic_name: String,
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
}

impl Codec for AlterShareGroupOffsetsResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_name: r.get()?, topic_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.put(&self.topic_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`AlterShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterShareGroupOffsetsResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
}

impl Codec for AlterShareGroupOffsetsResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { partition_index: r.get()?, error_code: r.get()?, error_message: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}
