//! FindCoordinator (API key 10).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// FindCoordinatorRequest, versions 0 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FindCoordinatorRequest {
    /// `Key`, versions 0 to 3.
    pub key: String,
    /// `KeyType`, versions 1 to 6.
    pub key_type: i8,
    /// `CoordinatorKeys`, versions 4 to 6.
    pub coordinator_keys: Vec<String>,
}

impl Codec for FindCoordinatorRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            key: if v <= 3 { r.get()? } else { String::new() },
            key_type: if v >= 1 { r.get()? } else { 0 },
            coordinator_keys: if v >= 4 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 3 {
            w.put(&self.key)?;
        } else {
            w.absent(!self.key.is_empty(), "FindCoordinatorRequest.key")?;
        }
        if v >= 1 {
            w.put(&self.key_type)?;
        } else {
            w.absent(self.key_type != 0, "FindCoordinatorRequest.key_type")?;
        }
        if v >= 4 {
            w.put(&self.coordinator_keys)?;
        } else {
            w.absent(!self.coordinator_keys.is_empty(), "FindCoordinatorRequest.coordinator_keys")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for FindCoordinatorRequest {
    const NAME: &'static str = "FindCoordinatorRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for FindCoordinatorRequest {
    const API_KEY: i16 = 10;
    type Response = FindCoordinatorResponse;
}

/// FindCoordinatorResponse, versions 0 to 6.
#[derive(Clone, PartialEq, Debug)]
pub struct FindCoordinatorResponse {
    /// `ThrottleTimeMs`, versions 1 to 6 (left out of others).
    pub throttle_time_ms: i32,
    /// `ErrorCode`, versions 0 to 3.
    pub error_code: i16,
    /// `ErrorMessage`, versions 1 to 3 (left out of others), may be null, default empty, not null.
    pub error_message: Option<String>,
    /// `NodeId`, versions 0 to 3.
    pub node_id: i32,
    /// `Host`, versions 0 to 3.
    pub host: String,
    /// `Port`, versions 0 to 3.
    pub port: i32,
    /// `Coordinators`, versions 4 to 6.
    pub coordinators: Vec<Coordinator>,
}

impl Default for FindCoordinatorResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: Some(String::default()),
            node_id: 0,
            host: String::new(),
            port: 0,
            coordinators: Vec::new(),
        }
    }
}

impl Codec for FindCoordinatorResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: if v >= 1 { r.get()? } else { 0 },
            error_code: if v <= 3 { r.get()? } else { 0 },
            error_message: if (1..=3).contains(&v) { r.get()? } else { Some(String::default()) },
            node_id: if v <= 3 { r.get()? } else { 0 },
            host: if v <= 3 { r.get()? } else { String::new() },
            port: if v <= 3 { r.get()? } else { 0 },
            coordinators: if v >= 4 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 1 {
            w.put(&self.throttle_time_ms)?;
        }
        if v <= 3 {
            w.put(&self.error_code)?;
        } else {
            w.absent(self.error_code != 0, "FindCoordinatorResponse.error_code")?;
        }
        if (1..=3).contains(&v) {
            w.put(&self.error_message)?;
        }
        if v <= 3 {
            w.put(&self.node_id)?;
        } else {
            w.absent(self.node_id != 0, "FindCoordinatorResponse.node_id")?;
        }
        if v <= 3 {
            w.put(&self.host)?;
        } else {
            w.absent(!self.host.is_empty(), "FindCoordinatorResponse.host")?;
        }
        if v <= 3 {
            w.put(&self.port)?;
        } else {
            w.absent(self.port != 0, "FindCoordinatorResponse.port")?;
        }
        if v >= 4 {
            w.put(&self.coordinators)?;
        } else {
            w.absent(!self.coordinators.is_empty(), "FindCoordinatorResponse.coordinators")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for FindCoordinatorResponse {
    const NAME: &'static str = "FindCoordinatorResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for FindCoordinatorResponse {}

/// Part of [`FindCoordinatorResponse`] in versions 4 to 6.
#[derive(Clone, PartialEq, Debug)]
pub struct Coordinator {
    /// `Key`.
    pub key: String,
    /// `NodeId`.
    pub node_id: i32,
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default empty, not null.
    pub error_message: Option<String>,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self {
            key: String::new(),
            node_id: 0,
            host: String::new(),
            port: 0,
            error_code: 0,
            error_message: Some(String::default()),
        }
    }
}

impl Codec for Coordinator {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            key: r.get()?,
            node_id: r.get()?,
            host: r.get()?,
            port: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.key)?;
        w.put(&self.node_id)?;
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}
