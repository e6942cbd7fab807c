//! OffsetFetch (API key 9).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// OffsetFetchRequest, versions 1 to 10.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchRequest {
    /// `GroupId`, versions 1 to 7.
    pub group_id: String,
    /// `Topics`, versions 1 to 7, may be null in versions 2 to 7, default empty, not null.
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// `Groups`, versions 8 to 10.
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// `RequireStable`, versions 7 to 10.
    pub require_stable: bool,
}

impl Default for OffsetFetchRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Some(Vec::<OffsetFetchRequestTopic>::default()),
            groups: Vec::new(),
            require_stable: false,
        }
    }
}

impl Codec for OffsetFetchRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: if v <= 7 { r.get()? } else { String::new() },
            topics: if v <= 7 {
                if v >= 2 { r.get()? } else { Some(r.get()?) }
            } else {
                Some(Vec::<OffsetFetchRequestTopic>::default())
            },
            groups: if v >= 8 { r.get()? } else { Vec::new() },
            require_stable: if v >= 7 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 7 {
            w.put(&self.group_id)?;
        } else {
            w.absent(!self.group_id.is_empty(), "OffsetFetchRequest.group_id")?;
        }
        if v <= 7 {
            if v >= 2 {
                w.put(&self.topics)?;
            } else {
                w.put_some(&self.topics, "OffsetFetchRequest.topics")?;
            }
        } else {
            w.absent(
                self.topics.as_ref().is_none_or(|value| !value.is_empty()),
                "OffsetFetchRequest.topics",
            )?;
        }
        if v >= 8 {
            w.put(&self.groups)?;
        } else {
            w.absent(!self.groups.is_empty(), "OffsetFetchRequest.groups")?;
        }
        if v >= 7 {
            w.put(&self.require_stable)?;
        } else {
            w.absent(self.require_stable, "OffsetFetchRequest.require_stable")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetFetchRequest {
    const NAME: &'static str = "OffsetFetchRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 10;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Request for OffsetFetchRequest {
    const API_KEY: i16 = 9;
    type Response = OffsetFetchResponse;
}

/// Part of [`OffsetFetchRequest`] in versions 1 to 7.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchRequestTopic {
    /// `Name`.
    pub name: String,
    /// `PartitionIndexes`.
    pub partition_indexes: Vec<i32>,
}

impl Codec for OffsetFetchRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, partition_indexes: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partition_indexes)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetFetchRequest`] in versions 8 to 10.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchRequestGroup {
    /// `GroupId`.
    pub group_id: String,
    /// `MemberId`, versions 9 to 10 (left out of others), may be null, default null.
    pub member_id: Option<String>,
    /// `MemberEpoch`, versions 9 to 10 (left out of others), default -1.
    pub member_epoch: i32,
    /// `Topics`, may be null, default empty, not null.
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: None,
            member_epoch: -1,
            topics: Some(Vec::<OffsetFetchRequestTopics>::default()),
        }
    }
}

impl Codec for OffsetFetchRequestGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            member_id: if v >= 9 { r.get()? } else { None },
            member_epoch: if v >= 9 { r.get()? } else { -1 },
            topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        if v >= 9 {
            w.put(&self.member_id)?;
        }
        if v >= 9 {
            w.put(&self.member_epoch)?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetFetchRequest`] in versions 8 to 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchRequestTopics {
    /// `Name`, versions 8 to 9 (left out of others).
    pub name: String,
    /// `TopicId`, version 10 (left out of others).
    pub topic_id: Uuid,
    /// `PartitionIndexes`.
    pub partition_indexes: Vec<i32>,
}

impl Codec for OffsetFetchRequestTopics {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 9 { r.get()? } else { String::new() },
            topic_id: if v == 10 { r.get()? } else { Uuid::ZERO },
            partition_indexes: r.get()?,
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
        w.put(&self.partition_indexes)?;
        w.no_tags();
        Ok(())
    }
}

/// OffsetFetchResponse, versions 1 to 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponse {
    /// `ThrottleTimeMs`, versions 3 to 10 (left out of others).
    pub throttle_time_ms: i32,
    /// `Topics`, versions 1 to 7.
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// `ErrorCode`, versions 2 to 7 (left out of others).
    pub error_code: i16,
    /// `Groups`, versions 8 to 10.
    pub groups: Vec<OffsetFetchResponseGroup>,
}

impl Codec for OffsetFetchResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 3 { r.get()? } else { 0 },
            topics: if v <= 7 { r.get()? } else { Vec::new() },
            error_code: if (2..=7).contains(&v) { r.get()? } else { 0 },
            groups: if v >= 8 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 3 {
            w.put(&self.throttle_time_ms)?;
        }
        if v <= 7 {
            w.put(&self.topics)?;
        } else {
            w.absent(!self.topics.is_empty(), "OffsetFetchResponse.topics")?;
        }
        if (2..=7).contains(&v) {
            w.put(&self.error_code)?;
        }
        if v >= 8 {
            w.put(&self.groups)?;
        } else {
            w.absent(!self.groups.is_empty(), "OffsetFetchResponse.groups")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for OffsetFetchResponse {
    const NAME: &'static str = "OffsetFetchResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 10;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Response for OffsetFetchResponse {}

/// Part of [`OffsetFetchResponse`] in versions 1 to 7.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

impl Codec for OffsetFetchResponseTopic {
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

/// Part of [`OffsetFetchResponse`] in versions 1 to 7.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `CommittedOffset`.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`, versions 5 to 7 (left out of others), default -1.
    pub committed_leader_epoch: i32,
    /// `Metadata`, may be null, default empty, not null.
    pub metadata: Option<String>,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::default()),
            error_code: 0,
        }
    }
}

impl Codec for OffsetFetchResponsePartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            committed_offset: r.get()?,
            committed_leader_epoch: if v >= 5 { r.get()? } else { -1 },
            metadata: r.get()?,
            error_code: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.committed_offset)?;
        if v >= 5 {
            w.put(&self.committed_leader_epoch)?;
        }
        w.put(&self.metadata)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetFetchResponse`] in versions 8 to 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseGroup {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for OffsetFetchResponseGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { group_id: r.get()?, topics: r.get()?, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.topics)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`OffsetFetchResponse`] in versions 8 to 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseTopics {
    /// `Name`, versions 8 to 9 (left out of others).
    pub name: String,
    /// `TopicId`, version 10 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

impl Codec for OffsetFetchResponseTopics {
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

/// Part of [`OffsetFetchResponse`] in versions 8 to 10.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchResponsePartitions {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `CommittedOffset`.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`, default -1.
    pub committed_leader_epoch: i32,
    /// `Metadata`, may be null, default empty, not null.
    pub metadata: Option<String>,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::default()),
            error_code: 0,
        }
    }
}

impl Codec for OffsetFetchResponsePartitions {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            partition_index: r.get()?,
            committed_offset: r.get()?,
            committed_leader_epoch: r.get()?,
            metadata: r.get()?,
            error_code: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.committed_offset)?;
        w.put(&self.committed_leader_epoch)?;
        w.put(&self.metadata)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}
