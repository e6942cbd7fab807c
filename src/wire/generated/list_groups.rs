//! ListGroups (API key 16).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// ListGroupsRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListGroupsRequest {
    /// `StatesFilter`, versions 4 to 5.
    pub states_filter: Vec<String>,
    /// `TypesFilter`, version 5.
    pub types_filter: Vec<String>,
}

impl Codec for ListGroupsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            states_filter: if v >= 4 { r.get()? } else { Vec::new() },
            types_filter: if v == 5 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 4 {
            w.put(&self.states_filter)?;
        } else {
            w.absent(!self.states_filter.is_empty(), "ListGroupsRequest.states_filter")?;
        }
        if v == 5 {
            w.put(&self.types_filter)?;
        } else {
            w.absent(!self.types_filter.is_empty(), "ListGroupsRequest.types_filter")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for ListGroupsRequest {
    const NAME: &'static str = "ListGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for ListGroupsRequest {
    const API_KEY: i16 = 16;
    type Response = ListGroupsResponse;
}

/// ListGroupsResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListGroupsResponse {
    /// `ThrottleTimeMs`, versions 1 to 5 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Groups`.
    pub groups: Vec<ListedGroup>,
}

impl Codec for ListGroupsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 1 { r.get()? } else { 0 },
            error_code: r.get()?,
            groups: r.get()?,
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
        w.put(&self.groups)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ListGroupsResponse {
    const NAME: &'static str = "ListGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for ListGroupsResponse {}

/// Part of [`ListGroupsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListedGroup {
    /// `GroupId`.
    pub group_id: String,
    /// `ProtocolType`.
    pub protocol_type: String,
    /// `GroupState`, versions 4 to 5 (left out of others).
    pub group_state: String,
    /// `GroupType`, version 5 (left out of others).
    pub group_type: String,
}

impl Codec for ListedGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_id: r.get()?,
            protocol_type: r.get()?,
            group_state: if v >= 4 { r.get()? } else { String::new() },
            group_type: if v == 5 { r.get()? } else { String::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_id)?;
        w.put(&self.protocol_type)?;
        if v >= 4 {
            w.put(&self.group_state)?;
        }
        if v == 5 {
            w.put(&self.group_type)?;
        }
        w.no_tags();
        Ok(())
    }
}
