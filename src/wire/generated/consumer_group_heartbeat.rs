//! ConsumerGroupHeartbeat (API key 68).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ConsumerGroupHeartbeatRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumerGroupHeartbeatRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `MemberId`.
    pub member_id: String,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `InstanceId`, may be null, default null.
    pub instance_id: Option<String>,
    /// `RackId`, may be null, default null.
    pub rack_id: Option<String>,
    /// `RebalanceTimeoutMs`, default -1.
    pub rebalance_timeout_ms: i32,
    /// `SubscribedTopicNames`, may be null, default null.
    pub subscribed_topic_names: Option<Vec<String>>,
    /// `SubscribedTopicRegex`, version 1, may be null, default null.
    pub subscribed_topic_regex: Option<String>,
    /// `ServerAssignor`, may be null, default null.
    pub server_assignor: Option<String>,
    /// `TopicPartitions`, may be null, default null.
    pub topic_partitions: Option<Vec<RequestTopicPartitions>>,
}

impl Default for ConsumerGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
        }
    }
}

impl Codec for ConsumerGroupHeartbeatRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            member_id: r.get()?,
            member_epoch: r.get()?,
            instance_id: r.get()?,
            rack_id: r.get()?,
            rebalance_timeout_ms: r.get()?,
            subscribed_topic_names: r.get()?,
            subscribed_topic_regex: if v == 1 { r.get()? } else { None },
            server_assignor: r.get()?,
            topic_partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.instance_id)?;
        w.put(&self.rack_id)?;
        w.put(&self.rebalance_timeout_ms)?;
        w.put(&self.subscribed_topic_names)?;
        if v == 1 {
            w.put(&self.subscribed_topic_regex)?;
        } else {
            w.absent(
                self.subscribed_topic_regex.is_some(),
                "ConsumerGroupHeartbeatRequest.subscribed_topic_regex",
            )?;
        }
        w.put(&self.server_assignor)?;
        w.put(&self.topic_partitions)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ConsumerGroupHeartbeatRequest {
    const NAME: &'static str = "ConsumerGroupHeartbeatRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for ConsumerGroupHeartbeatRequest {
    const API_KEY: i16 = 68;
    type Response = ConsumerGroupHeartbeatResponse;
}

/// Part of [`ConsumerGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestTopicPartitions {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for RequestTopicPartitions {
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

/// ConsumerGroupHeartbeatResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupHeartbeatResponse {
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

impl Codec for ConsumerGroupHeartbeatResponse {
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

impl Message for ConsumerGroupHeartbeatResponse {
    const NAME: &'static str = "ConsumerGroupHeartbeatResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for ConsumerGroupHeartbeatResponse {}

/// Part of [`ConsumerGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment {
    /// `TopicPartitions`.
    pub topic_partitions: Vec<ResponseTopicPartitions>,
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

/// Part of [`ConsumerGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResponseTopicPartitions {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for ResponseTopicPartitions {
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
