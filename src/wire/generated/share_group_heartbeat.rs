//! ShareGroupHeartbeat (API key 76).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ShareGroupHeartbeatRequest, version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareGroupHeartbeatRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `MemberId`.
    pub member_id: String,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `RackId`, may be null, default null.
    pub rack_id: Option<String>,
    /// `SubscribedTopicNames`, may be null, default null.
    pub subscribed_topic_names: Option<Vec<String>>,
}

impl Codec for ShareGroupHeartbeatRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            group_id: r.get()?,
            member_id: r.get()?,
            member_epoch: r.get()?,
            rack_id: r.get()?,
            subscribed_topic_names: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.rack_id)?;
        w.put(&self.subscribed_topic_names)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareGroupHeartbeatRequest {
    const NAME: &'static str = "ShareGroupHeartbeatRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Request for ShareGroupHeartbeatRequest {
    const API_KEY: i16 = 76;
    type Response = ShareGroupHeartbeatResponse;
}

/// ShareGroupHeartbeatResponse, version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareGroupHeartbeatResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `MemberId`, may be null, default null.
    pub member_id: Option<String>,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `HeartbeatIntervalMs`.
    pub heartbeat_interval_ms: i32,
    /// `Assignment`, may be null, default null.
    pub assignment: Option<Assignment>,
}

impl Codec for ShareGroupHeartbeatResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            member_id: r.get()?,
            member_epoch: r.get()?,
            heartbeat_interval_ms: r.get()?,
            assignment: r.get_struct()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.heartbeat_interval_ms)?;
        w.put_struct(&self.assignment)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareGroupHeartbeatResponse {
    const NAME: &'static str = "ShareGroupHeartbeatResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Response for ShareGroupHeartbeatResponse {}

/// Part of [`ShareGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment {
    /// `TopicPartitions`.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Codec for Assignment {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for TopicPartitions {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}
