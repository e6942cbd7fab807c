//! OffsetCommit (API key 8).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// OffsetCommitRequest, versions 2 to 10.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetCommitRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `GenerationIdOrMemberEpoch`, default -1.
    pub generation_id_or_member_epoch: i32,
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 7 to 10, may be null, default null.
    pub group_instance_id: Option<String>,
    /// `RetentionTimeMs`, versions 2 to 4 (left out of others), default -1.
    pub retention_time_ms: i64,
    /// `Topics`.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

impl Default for OffsetCommitRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

impl Codec for OffsetCommitRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            generation_id_or_member_epoch: r.get()?,
            member_id: r.get()?,
            group_instance_id: if v >= 7 { r.get()? } else { None },
            retention_time_ms: if v <= 4 { r.get()? } else { -1 },
            topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.generation_id_or_member_epoch)?;
        w.put(&self.member_id)?;
        if v >= 7 {
            w.put(&self.group_instance_id)?;
        } else {
            w.absent(self.group_instance_id.is_some(), "OffsetCommitRequest.group_instance_id")?;
        }
        if v <= 4 {
            w.put(&self.retention_time_ms)?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetCommitRequest {
    const NAME: &'static str = "OffsetCommitRequest";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 10;
    const FIRST_FLEXIBLE: i16 = 8;
}

impl Request for OffsetCommitRequest {
    const API_KEY: i16 = 8;
    type Response = OffsetCommitResponse;
}

/// Part of [`OffsetCommitRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitRequestTopic {
    /// `Name`, versions 2 to 9 (left out of others).
    pub name: String,
    /// `TopicId`, version 10 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

impl Codec for OffsetCommitRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 9 { r.get()? } else { String::new() },
            topic_id: if v == 10 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 9 {
            w.put(&self.name)?;
        }
        if v == 10 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetCommitRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetCommitRequestPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `CommittedOffset`.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`, versions 6 to 10 (left out of others), default -1.
    pub committed_leader_epoch: i32,
    /// `CommittedMetadata`, may be null, default empty, not null.
    pub committed_metadata: Option<String>,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::default()),
        }
    }
}

impl Codec for OffsetCommitRequestPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            committed_offset: r.get()?,
            committed_leader_epoch: if v >= 6 { r.get()? } else { -1 },
            committed_metadata: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.committed_offset)?;
        if v >= 6 {
            w.put(&self.committed_leader_epoch)?;
        }
        w.put(&self.committed_metadata)?;
        w.no_tags();
        Ok(())
    }
}

/// OffsetCommitResponse, versions 2 to 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponse {
    /// `ThrottleTimeMs`, versions 3 to 10 (left out of others).
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

impl Codec for OffsetCommitResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self { throttle_time_ms: if v >= 3 { r.get()? } else { 0 }, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 3 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetCommitResponse {
    const NAME: &'static str = "OffsetCommitResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 10;
    const FIRST_FLEXIBLE: i16 = 8;
}

impl Response for OffsetCommitResponse {}

/// Part of [`OffsetCommitResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponseTopic {
    /// `Name`, versions 2 to 9 (left out of others).
    pub name: String,
    /// `TopicId`, version 10 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

impl Codec for OffsetCommitResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 9 { r.get()? } else { String::new() },
            topic_id: if v == 10 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 9 {
            w.put(&self.name)?;
        }
        if v == 10 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetCommitResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for OffsetCommitResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}
