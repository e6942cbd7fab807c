//! DescribeGroups (API key 15).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// DescribeGroupsRequest, versions 0 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeGroupsRequest {
    /// `Groups`.
    pub groups: Vec<String>,
    /// `IncludeAuthorizedOperations`, versions 3 to 6.
    pub include_authorized_operations: bool,
}

impl Codec for DescribeGroupsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            groups: r.get()?,
            include_authorized_operations: if v >= 3 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.groups)?;
        if v >= 3 {
            w.put(&self.include_authorized_operations)?;
        } else {
            w.absent(
                self.include_authorized_operations,
                "DescribeGroupsRequest.include_authorized_operations",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeGroupsRequest {
    const NAME: &'static str = "DescribeGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 5;
}

impl Request for DescribeGroupsRequest {
    const API_KEY: i16 = 15;
    type Response = DescribeGroupsResponse;
}

/// DescribeGroupsResponse, versions 0 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeGroupsResponse {
    /// `ThrottleTimeMs`, versions 1 to 6 (left out of others).
    pub throttle_time_ms: i32,
    /// `Groups`.
    pub groups: Vec<DescribedGroup>,
}

impl Codec for DescribeGroupsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self { throttle_time_ms: if v >= 1 { r.get()? } else { 0 }, groups: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 1 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.groups)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeGroupsResponse {
    const NAME: &'static str = "DescribeGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 5;
}

impl Response for DescribeGroupsResponse {}

/// Part of [`DescribeGroupsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedGroup {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, version 6, may be null, default null.
    pub error_message: Option<String>,
    /// `GroupId`.
    pub group_id: String,
    /// `GroupState`.
    pub group_state: String,
    /// `ProtocolType`.
    pub protocol_type: String,
    /// `ProtocolData`.
    pub protocol_data: String,
    /// `Members`.
    pub members: Vec<DescribedGroupMember>,
    /// `AuthorizedOperations`, versions 3 to 6, default -2147483648.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            protocol_type: String::new(),
            protocol_data: String::new(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl Codec for DescribedGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            error_code: r.get()?,
            error_message: if v == 6 { r.get()? } else { None },
            group_id: r.get()?,
            group_state: r.get()?,
            protocol_type: r.get()?,
            protocol_data: r.get()?,
            members: r.get()?,
            authorized_operations: if v >= 3 { r.get()? } else { i32::MIN },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        if v == 6 {
            w.put(&self.error_message)?;
        } else {
            w.absent(self.error_message.is_some(), "DescribedGroup.error_message")?;
        }
        w.put(&self.group_id)?;
        w.put(&self.group_state)?;
        w.put(&self.protocol_type)?;
        w.put(&self.protocol_data)?;
        w.put(&self.members)?;
        if v >= 3 {
            w.put(&self.authorized_operations)?;
        } else {
            w.absent(
                self.authorized_operations != i32::MIN,
                "DescribedGroup.authorized_operations",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeGroupsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribedGroupMember {
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 4 to 6 (left out of others), may be null, default null.
    pub group_instance_id: Option<String>,
    /// `ClientId`.
    pub client_id: String,
    /// `ClientHost`.
    pub client_host: String,
    /// `MemberMetadata`.
    pub member_metadata: Bytes,
    /// `MemberAssignment`.
    pub member_assignment: Bytes,
}

impl Codec for DescribedGroupMember {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            member_id: r.get()?,
            group_instance_id: if v >= 4 { r.get()? } else { None },
            client_id: r.get()?,
            client_host: r.get()?,
            member_metadata: r.get()?,
            member_assignment: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.member_id)?;
        if v >= 4 {
            w.put(&self.group_instance_id)?;
        }
        w.put(&self.client_id)?;
        w.put(&self.client_host)?;
        w.put(&self.member_metadata)?;
        w.put(&self.member_assignment)?;
        w.no_tags();
        Ok(())
    }
}
