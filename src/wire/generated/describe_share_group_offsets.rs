//! DescribeShareGroupOffsets (API key 90).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// DescribeShareGroupOffsetsRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeShareGroupOffsetsRequest {
    /// `Groups`.
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
}

impl Codec for DescribeShareGroupOffsetsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { groups: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.groups)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeShareGroupOffsetsRequest {
    const NAME: &'static str = "DescribeShareGroupOffsetsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for DescribeShareGroupOffsetsRequest {
    const API_KEY: i16 = 90;
    type Response = DescribeShareGroupOffsetsResponse;
}

/// Part of [`DescribeShareGroupOffsetsRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`, may be null, default empty, not null.
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
}

impl Default for DescribeShareGroupOffsetsRequestGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Some(Vec::<DescribeShareGroupOffsetsRequestTopic>::default()),
        }
    }
}

impl Codec for DescribeShareGroupOffsetsRequestGroup {
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

/// Part of [`DescribeShareGroupOffsetsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    /// `TopicName`.
    pub topic_name: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for DescribeShareGroupOffsetsRequestTopic {
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

/// DescribeShareGroupOffsetsResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeShareGroupOffsetsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Groups`.
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
}

impl Codec for DescribeShareGroupOffsetsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, groups: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.groups)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeShareGroupOffsetsResponse {
    const NAME: &'static str = "DescribeShareGroupOffsetsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for DescribeShareGroupOffsetsResponse {}

/// Part of [`DescribeShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`.
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
}

impl Codec for DescribeShareGroupOffsetsResponseGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            group_id: r.get()?,
            topics: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.topics)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    /// `TopicName`.
    pub topic_name: String,
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
}

impl Codec for DescribeShareGroupOffsetsResponseTopic {
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

/// Part of [`DescribeShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `StartOffset`.
    pub start_offset: i64,
    /// `LeaderEpoch`.
    pub leader_epoch: i32,
    /// `Lag`, version 1 (left out of others), default -1.
    pub lag: i64,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
}

impl Default for DescribeShareGroupOffsetsResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            start_offset: 0,
            leader_epoch: 0,
            lag: -1,
            error_code: 0,
            error_message: None,
        }
    }
}

impl Codec for DescribeShareGroupOffsetsResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            start_offset: r.get()?,
            leader_epoch: r.get()?,
            lag: if v == 1 { r.get()? } else { -1 },
            error_code: r.get()?,
            error_message: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.start_offset)?;
        w.put(&self.leader_epoch)?;
        if v == 1 {
            w.put(&self.lag)?;
        }
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}
