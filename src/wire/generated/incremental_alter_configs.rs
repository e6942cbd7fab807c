//! IncrementalAlterConfigs (API key 44).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// IncrementalAlterConfigsRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncrementalAlterConfigsRequest {
    /// `Resources`.
    pub resources: Vec<AlterConfigsResource>,
    /// `ValidateOnly`.
    pub validate_only: bool,
}

impl Codec for IncrementalAlterConfigsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { resources: r.get()?, validate_only: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.resources)?;
        w.put(&self.validate_only)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for IncrementalAlterConfigsRequest {
    const NAME: &'static str = "IncrementalAlterConfigsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Request for IncrementalAlterConfigsRequest {
    const API_KEY: i16 = 44;
    type Response = IncrementalAlterConfigsResponse;
}

/// Part of [`IncrementalAlterConfigsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterConfigsResource {
    /// `ResourceType`.
    pub resource_type: i8,
    /// `ResourceName`.
    pub resource_name: String,
    /// `Configs`.
    pub configs: Vec<AlterableConfig>,
}

impl Codec for AlterConfigsResource {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { resource_type: r.get()?, resource_name: r.get()?, configs: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.resource_type)?;
        w.put(&self.resource_name)?;
        w.put(&self.configs)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`IncrementalAlterConfigsRequest`].
#[derive(Clone, PartialEq)]
pub struct AlterableConfig {
    /// `Name`.
    pub name: String,
    /// `ConfigOperation`.
    pub config_operation: i8,
    /// `Value`, may be null, default empty, not null.
    pub value: Option<String>,
}

impl Default for AlterableConfig {
    fn default() -> Self {
        Self { name: String::new(), config_operation: 0, value: Some(String::default()) }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for AlterableConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlterableConfig")
            .field("name", &self.name)
            .field("config_operation", &self.config_operation)
            .finish_non_exhaustive()
    }
}

impl Codec for AlterableConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, config_operation: r.get()?, value: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.config_operation)?;
        w.put(&self.value)?;
        w.no_tags();
        Ok(())
    }
}

/// IncrementalAlterConfigsResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncrementalAlterConfigsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Responses`.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

impl Codec for IncrementalAlterConfigsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, responses: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.responses)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for IncrementalAlterConfigsResponse {
    const NAME: &'static str = "IncrementalAlterConfigsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}

impl Response for IncrementalAlterConfigsResponse {}

/// Part of [`IncrementalAlterConfigsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct AlterConfigsResourceResponse {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default empty, not null.
    pub error_message: Option<String>,
    /// `ResourceType`.
    pub resource_type: i8,
    /// `ResourceName`.
    pub resource_name: String,
}

impl Default for AlterConfigsResourceResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::default()),
            resource_type: 0,
            resource_name: String::new(),
        }
    }
}

impl Codec for AlterConfigsResourceResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            error_message: r.get()?,
            resource_type: r.get()?,
            resource_name: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.resource_type)?;
        w.put(&self.resource_name)?;
        w.no_tags();
        Ok(())
    }
}
