//! LeaveGroup (API key 13).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// LeaveGroupRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaveGroupRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `MemberId`, versions 0 to 2.
    pub member_id: String,
    /// `Members`, versions 3 to 5.
    pub members: Vec<MemberIdentity>,
}

impl Codec for LeaveGroupRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            member_id: if v <= 2 { r.get()? } else { String::new() },
            members: if v >= 3 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        if v <= 2 {
            w.put(&self.member_id)?;
        } else {
            w.absent(!self.member_id.is_empty(), "LeaveGroupRequest.member_id")?;
        }
        if v >= 3 {
            w.put(&self.members)?;
        } else {
            w.absent(!self.members.is_empty(), "LeaveGroupRequest.members")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for LeaveGroupRequest {
    const NAME: &'static str = "LeaveGroupRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for LeaveGroupRequest {
    const API_KEY: i16 = 13;
    type Response = LeaveGroupResponse;
}

/// Part of [`LeaveGroupRequest`] in versions 3 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemberIdentity {
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, may be null, default null.
    pub group_instance_id: Option<String>,
    /// `Reason`, version 5 (left out of others), may be null, default null.
    pub reason: Option<String>,
}

impl Codec for MemberIdentity {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            member_id: r.get()?,
            group_instance_id: r.get()?,
            reason: if v == 5 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.member_id)?;
        w.put(&self.group_instance_id)?;
        if v == 5 {
            w.put(&self.reason)?;
        }
        w.no_tags();
        Ok(())
    }
}

/// LeaveGroupResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaveGroupResponse {
    /// `ThrottleTimeMs`, versions 1 to 5 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Members`, versions 3 to 5.
    pub members: Vec<MemberResponse>,
}

impl Codec for LeaveGroupResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 1 { r.get()? } else { 0 },
            error_code: r.get()?,
            members: if v >= 3 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 1 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.error_code)?;
        if v >= 3 {
            w.put(&self.members)?;
        } else {
            w.absent(!self.members.is_empty(), "LeaveGroupResponse.members")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for LeaveGroupResponse {
    const NAME: &'static str = "LeaveGroupResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for LeaveGroupResponse {}

/// Part of [`LeaveGroupResponse`] in versions 3 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberResponse {
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, may be null, default empty, not null.
    pub group_instance_id: Option<String>,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Default for MemberResponse {
    fn default() -> Self {
        Self { member_id: String::new(), group_instance_id: Some(String::default()), error_code: 0 }
    }
}

impl Codec for MemberResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { member_id: r.get()?, group_instance_id: r.get()?, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.member_id)?;
        w.put(&self.group_instance_id)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}
