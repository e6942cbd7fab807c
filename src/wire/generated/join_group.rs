//! JoinGroup (API key 11).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// JoinGroupRequest, versions 0 to 9.
#[derive(Clone, PartialEq, Debug)]
pub struct JoinGroupRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `SessionTimeoutMs`.
    pub session_timeout_ms: i32,
    /// `RebalanceTimeoutMs`, versions 1 to 9 (left out of others), default -1.
    pub rebalance_timeout_ms: i32,
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 5 to 9, may be null, default null.
    pub group_instance_id: Option<String>,
    /// `ProtocolType`.
    pub protocol_type: String,
    /// `Protocols`.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// `Reason`, versions 8 to 9 (left out of others), may be null, default null.
    pub reason: Option<String>,
}

impl Default for JoinGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: String::new(),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

impl Codec for JoinGroupRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            session_timeout_ms: r.get()?,
            rebalance_timeout_ms: if v >= 1 { r.get()? } else { -1 },
            member_id: r.get()?,
            group_instance_id: if v >= 5 { r.get()? } else { None },
            protocol_type: r.get()?,
            protocols: r.get()?,
            reason: if v >= 8 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.session_timeout_ms)?;
        if v >= 1 {
            w.put(&self.rebalance_timeout_ms)?;
        }
        w.put(&self.member_id)?;
        if v >= 5 {
            w.put(&self.group_instance_id)?;
        } else {
            w.absent(self.group_instance_id.is_some(), "JoinGroupRequest.group_instance_id")?;
        }
        w.put(&self.protocol_type)?;
        w.put(&self.protocols)?;
        if v >= 8 {
            w.put(&self.reason)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for JoinGroupRequest {
    const NAME: &'static str = "JoinGroupRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 9;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Request for JoinGroupRequest {
    const API_KEY: i16 = 11;
    type Response = JoinGroupResponse;
}

/// Part of [`JoinGroupRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JoinGroupRequestProtocol {
    /// `Name`.
    pub name: String,
    /// `Metadata`.
    pub metadata: Bytes,
}

impl Codec for JoinGroupRequestProtocol {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, metadata: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.metadata)?;
        w.no_tags();
        Ok(())
    }
}

/// JoinGroupResponse, versions 0 to 9.
#[derive(Clone, PartialEq, Debug)]
pub struct JoinGroupResponse {
    /// `ThrottleTimeMs`, versions 2 to 9 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `GenerationId`, default -1.
    pub generation_id: i32,
    /// `ProtocolType`, versions 7 to 9 (left out of others), may be null, default null.
    pub protocol_type: Option<String>,
    /// `ProtocolName`, may be null in versions 7 to 9, default empty, not null.
    pub protocol_name: Option<String>,
    /// `Leader`.
    pub leader: String,
    /// `SkipAssignment`, version 9.
    pub skip_assignment: bool,
    /// `MemberId`.
    pub member_id: String,
    /// `Members`.
    pub members: Vec<JoinGroupResponseMember>,
}

impl Default for JoinGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            generation_id: -1,
            protocol_type: None,
            protocol_name: Some(String::default()),
            leader: String::new(),
            skip_assignment: false,
            member_id: String::new(),
            members: Vec::new(),
        }
    }
}

impl Codec for JoinGroupResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 2 { r.get()? } else { 0 },
            error_code: r.get()?,
            generation_id: r.get()?,
            protocol_type: if v >= 7 { r.get()? } else { None },
            protocol_name: if v >= 7 { r.get()? } else { Some(r.get()?) },
            leader: r.get()?,
            skip_assignment: if v == 9 { r.get()? } else { false },
            member_id: r.get()?,
            members: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 2 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.error_code)?;
        w.put(&self.generation_id)?;
        if v >= 7 {
            w.put(&self.protocol_type)?;
        }
        if v >= 7 {
            w.put(&self.protocol_name)?;
        } else {
            w.put_some(&self.protocol_name, "JoinGroupResponse.protocol_name")?;
        }
        w.put(&self.leader)?;
        if v == 9 {
            w.put(&self.skip_assignment)?;
        } else {
            w.absent(self.skip_assignment, "JoinGroupResponse.skip_assignment")?;
        }
        w.put(&self.member_id)?;
        w.put(&self.members)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for JoinGroupResponse {
    const NAME: &'static str = "JoinGroupResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 9;
    const FIRST_FLEXIBLE: i16 = 6;
}

impl Response for JoinGroupResponse {}

/// Part of [`JoinGroupResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JoinGroupResponseMember {
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 5 to 9 (left out of others), may be null, default null.
    pub group_instance_id: Option<String>,
    /// `Metadata`.
    pub metadata: Bytes,
}

impl Codec for JoinGroupResponseMember {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            member_id: r.get()?,
            group_instance_id: if v >= 5 { r.get()? } else { None },
            metadata: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.member_id)?;
        if v >= 5 {
            w.put(&self.group_instance_id)?;
        }
        w.put(&self.metadata)?;
        w.no_tags();
        Ok(())
    }
}
