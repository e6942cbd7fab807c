//! Heartbeat (API key 12).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// HeartbeatRequest, versions 0 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeartbeatRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `GenerationId`.
    pub generation_id: i32,
    /// `MemberId`.
    pub member_id: String,
    /// `GroupInstanceId`, versions 3 to 4, may be null, default null.
    pub group_instance_id: Option<String>,
}

impl Codec for HeartbeatRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            generation_id: r.get()?,
            member_id: r.get()?,
            group_instance_id: if v >= 3 { r.get()? } else { None },
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
            w.absent(self.group_instance_id.is_some(), "HeartbeatRequest.group_instance_id")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for HeartbeatRequest {
    const API_KEY: i16 = 12;
    type Response = HeartbeatResponse;
}

/// HeartbeatResponse, versions 0 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeartbeatResponse {
    /// `ThrottleTimeMs`, versions 1 to 4 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for HeartbeatResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this =
            Self { throttle_time_ms: if v >= 1 { r.get()? } else { 0 }, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 1 {
            w.put(&self.throttle_time_ms)?;
        }
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for HeartbeatResponse {
    const NAME: &'static str = "HeartbeatResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for HeartbeatResponse {}
