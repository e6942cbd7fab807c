//! DeleteGroups (API key 42).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// DeleteGroupsRequest, versions 0 to 3.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteGroupsRequest {
    /// `GroupsNames`.
    pub groups_names: Vec<String>,
}

impl Codec for DeleteGroupsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { groups_names: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.groups_names)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteGroupsRequest {
    const NAME: &'static str = "DeleteGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Request for DeleteGroupsRequest {
    const API_KEY: i16 = 42;
    type Response = DeleteGroupsResponse;
}

/// DeleteGroupsResponse, versions 0 to 3.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteGroupsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Results`.
    pub results: Vec<DeletableGroupResult>,
}

impl Codec for DeleteGroupsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, results: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.results)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteGroupsResponse {
    const NAME: &'static str = "DeleteGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Response for DeleteGroupsResponse {}

/// Part of [`DeleteGroupsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeletableGroupResult {
    /// `GroupId`.
    pub group_id: String,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, version 3 (left out of others), may be null, default null.
    pub error_message: Option<String>,
}

impl Codec for DeletableGroupResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            error_code: r.get()?,
            error_message: if v == 3 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.error_code)?;
        if v == 3 {
            w.put(&self.error_message)?;
        }
        w.no_tags();
        Ok(())
    }
}
