//! TxnOffsetCommit (API key 28).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// TxnOffsetCommitRequest, versions 0 to 6.
#[derive(Clone, PartialEq, Debug)]
pub struct TxnOffsetCommitRequest {
    /// `TransactionalId`.
    pub transactional_id: String,
    /// `GroupId`.
    pub group_id: String,
    /// `ProducerId`.
    pub producer_id: i64,
    /// `ProducerEpoch`.
    pub producer_epoch: i16,
    /// `GenerationIdOrMemberEpoch`, versions 3 to 6, default -1.
    pub generation_id_or_member_epoch: i32,
    /// `MemberId`, versions 3 to 6.
    pub member_id: String,
    /// `GroupInstanceId`, versions 3 to 6, may be null, default null.
    pub group_instance_id: Option<String>,
    /// `Topics`.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

impl Default for TxnOffsetCommitRequest {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            group_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            topics: Vec::new(),
        }
    }
}

impl Codec for TxnOffsetCommitRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            transactional_id: r.get()?,
            group_id: r.get()?,
            producer_id: r.get()?,
            producer_epoch: r.get()?,
            generation_id_or_member_epoch: if v >= 3 { r.get()? } else { -1 },
            member_id: if v >= 3 { r.get()? } else { String::new() },
            group_instance_id: if v >= 3 { r.get()? } else { None },
            topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.transactional_id)?;
        w.put(&self.group_id)?;
        w.put(&self.producer_id)?;
        w.put(&self.producer_epoch)?;
        if v >= 3 {
            w.put(&self.generation_id_or_member_epoch)?;
        } else {
            w.absent(
                self.generation_id_or_member_epoch != -1,
                "TxnOffsetCommitRequest.generation_id_or_member_epoch",
            )?;
        }
        if v >= 3 {
            w.put(&self.member_id)?;
        } else {
            w.absent(!self.member_id.is_empty(), "TxnOffsetCommitRequest.member_id")?;
        }
        if v >= 3 {
            w.put(&self.group_instance_id)?;
        } else {
            w.absent(self.group_instance_id.is_some(), "TxnOffsetCommitRequest.group_instance_id")?;
        }
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for TxnOffsetCommitRequest {
    const NAME: &'static str = "TxnOffsetCommitRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for TxnOffsetCommitRequest {
    const API_KEY: i16 = 28;
    type Response = TxnOffsetCommitResponse;
}

/// Part of [`TxnOffsetCommitRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TxnOffsetCommitRequestTopic {
    /// `Name`, versions 0 to 5 (left out of others).
    pub name: String,
    /// `TopicId`, version 6 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

impl Codec for TxnOffsetCommitRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 5 { r.get()? } else { String::new() },
            topic_id: if v == 6 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 5 {
            w.put(&self.name)?;
        }
        if v == 6 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`TxnOffsetCommitRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct TxnOffsetCommitRequestPartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `CommittedOffset`.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`, versions 2 to 6 (left out of others), default -1.
    pub committed_leader_epoch: i32,
    /// `CommittedMetadata`, may be null, default empty, not null.
    pub committed_metadata: Option<String>,
}

impl Default for TxnOffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::default()),
        }
    }
}

impl Codec for TxnOffsetCommitRequestPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            partition_index: r.get()?,
            committed_offset: r.get()?,
            committed_leader_epoch: if v >= 2 { r.get()? } else { -1 },
            committed_metadata: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.committed_offset)?;
        if v >= 2 {
            w.put(&self.committed_leader_epoch)?;
        }
        w.put(&self.committed_metadata)?;
        w.no_tags();
        Ok(())
    }
}

/// TxnOffsetCommitResponse, versions 0 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TxnOffsetCommitResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

impl Codec for TxnOffsetCommitResponse {
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

impl Message for TxnOffsetCommitResponse {
    const NAME: &'static str = "TxnOffsetCommitResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for TxnOffsetCommitResponse {}

/// Part of [`TxnOffsetCommitResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TxnOffsetCommitResponseTopic {
    /// `Name`, versions 0 to 5 (left out of others).
    pub name: String,
    /// `TopicId`, version 6 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

impl Codec for TxnOffsetCommitResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v <= 5 { r.get()? } else { String::new() },
            topic_id: if v == 6 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 5 {
            w.put(&self.name)?;
        }
        if v == 6 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`TxnOffsetCommitResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TxnOffsetCommitResponsePartition {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for TxnOffsetCommitResponsePartition {
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
