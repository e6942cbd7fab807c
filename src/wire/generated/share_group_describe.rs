//! ShareGroupDescribe (API key 77).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// ShareGroupDescribeRequest, version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareGroupDescribeRequest {
    /// `GroupIds`.
    pub group_ids: Vec<String>,
    /// `IncludeAuthorizedOperations`.
    pub include_authorized_operations: bool,
}

impl Codec for ShareGroupDescribeRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { group_ids: r.get()?, include_authorized_operations: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_ids)?;
        w.put(&self.include_authorized_operations)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ShareGroupDescribeRequest {
    const NAME: &'static str = "ShareGroupDescribeRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Request for ShareGroupDescribeRequest {
    const API_KEY: i16 = 77;
    type Response = ShareGroupDescribeResponse;
}

/// ShareGroupDescribeResponse, version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShareGroupDescribeResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Groups`.
    pub groups: Vec<DescribedGroup>,
}

impl Codec for ShareGroupDescribeResponse {
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

impl Message for ShareGroupDescribeResponse {
    const NAME: &'static str = "ShareGroupDescribeResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Response for ShareGroupDescribeResponse {}

/// Part of [`ShareGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedGroup {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `GroupId`.
    pub group_id: String,
    /// `GroupState`.
    pub group_state: String,
    /// `GroupEpoch`.
    pub group_epoch: i32,
    /// `AssignmentEpoch`.
    pub assignment_epoch: i32,
    /// `AssignorName`.
    pub assignor_name: String,
    /// `Members`.
    pub members: Vec<Member>,
    /// `AuthorizedOperations`, default -2147483648.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: String::new(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl Codec for DescribedGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            error_message: r.get()?,
            group_id: r.get()?,
            group_state: r.get()?,
            group_epoch: r.get()?,
            assignment_epoch: r.get()?,
            assignor_name: r.get()?,
            members: r.get()?,
            authorized_operations: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.group_id)?;
        w.put(&self.group_state)?;
        w.put(&self.group_epoch)?;
        w.put(&self.assignment_epoch)?;
        w.put(&self.assignor_name)?;
        w.put(&self.members)?;
        w.put(&self.authorized_operations)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Member {
    /// `MemberId`.
    pub member_id: String,
    /// `RackId`, may be null, default null.
    pub rack_id: Option<String>,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `ClientId`.
    pub client_id: String,
    /// `ClientHost`.
    pub client_host: String,
    /// `SubscribedTopicNames`.
    pub subscribed_topic_names: Vec<String>,
    /// `Assignment`.
    pub assignment: Assignment,
}

impl Codec for Member {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            member_id: r.get()?,
            rack_id: r.get()?,
            member_epoch: r.get()?,
            client_id: r.get()?,
            client_host: r.get()?,
            subscribed_topic_names: r.get()?,
            assignment: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.member_id)?;
        w.put(&self.rack_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.client_id)?;
        w.put(&self.client_host)?;
        w.put(&self.subscribed_topic_names)?;
        w.put(&self.assignment)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `TopicName`.
    pub topic_name: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for TopicPartitions {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_id: r.get()?, topic_name: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_id)?;
        w.put(&self.topic_name)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ShareGroupDescribeResponse`].
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
