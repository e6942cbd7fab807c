//! SyncGroup (API key 14).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// SyncGroupRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SyncGroupRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `GenerationId`.
    pub generation_id: i32,
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 3 to 5, may be null, default null.
    pub group_instance_id: Option<String>,
    /// `ProtocolType`, version 5 (left out of others), may be null, default null.
    pub protocol_type: Option<String>,
    /// `ProtocolName`, version 5 (left out of others), may be null, default null.
    pub protocol_name: Option<String>,
    /// `Assignments`.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

impl Codec for SyncGroupRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            generation_id: r.get()?,
            member_id: r.get()?,
            group_instance_id: if v >= 3 { r.get()? } else { None },
            protocol_type: if v == 5 { r.get()? } else { None },
            protocol_name: if v == 5 { r.get()? } else { None },
            assignments: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.generation_id)?;
        w.put(&self.member_id)?;
        if v >= 3 {
            w.put(&self.group_instance_id)?;
        } else {
            w.absent(self.group_instance_id.is_some(), "SyncGroupRequest.group_instance_id")?;
        }
        if v == 5 {
            w.put(&self.protocol_type)?;
        }
        if v == 5 {
            w.put(&self.protocol_name)?;
        }
        w.put(&self.assignments)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for SyncGroupRequest {
    const NAME: &'static str = "SyncGroupRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for SyncGroupRequest {
    const API_KEY: i16 = 14;
    type Response = SyncGroupResponse;
}

/// Part of [`SyncGroupRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SyncGroupRequestAssignment {
    /// `MemberId`.
    pub member_id: String,
    /// `Assignment`.
    pub assignment: Bytes,
}

impl Codec for SyncGroupRequestAssignment {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { member_id: r.get()?, assignment: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.member_id)?;
        w.put(&self.assignment)?;
        w.no_tags();
        Ok(())
    }
}

/// SyncGroupResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SyncGroupResponse {
    /// `ThrottleTimeMs`, versions 1 to 5 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ProtocolType`, version 5 (left out of others), may be null, default null.
    pub protocol_type: Option<String>,
    /// `ProtocolName`, version 5 (left out of others), may be null, default null.
    pub protocol_name: Option<String>,
    /// `Assignment`.
    pub assignment: Bytes,
}

impl Codec for SyncGroupResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 1 { r.get()? } else { 0 },
            error_code: r.get()?,
            protocol_type: if v == 5 { r.get()? } else { None },
            protocol_name: if v == 5 { r.get()? } else { None },
            assignment: r.get()?,
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
        if v == 5 {
            w.put(&self.protocol_type)?;
        }
        if v == 5 {
            w.put(&self.protocol_name)?;
        }
        w.put(&self.assignment)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for SyncGroupResponse {
    const NAME: &'static str = "SyncGroupResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for SyncGroupResponse {}
