//! DescribeConfigs (API key 32).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// DescribeConfigsRequest, versions 1 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsRequest {
    /// `Resources`.
    pub resources: Vec<DescribeConfigsResource>,
    /// `IncludeSynonyms`.
    pub include_synonyms: bool,
    /// `IncludeDocumentation`, versions 3 to 4.
    pub include_documentation: bool,
}

impl Codec for DescribeConfigsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            resources: r.get()?,
            include_synonyms: r.get()?,
            include_documentation: if v >= 3 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.resources)?;
        w.put(&self.include_synonyms)?;
        if v >= 3 {
            w.put(&self.include_documentation)?;
        } else {
            w.absent(self.include_documentation, "DescribeConfigsRequest.include_documentation")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for DescribeConfigsRequest {
    const NAME: &'static str = "DescribeConfigsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for DescribeConfigsRequest {
    const API_KEY: i16 = 32;
    type Response = DescribeConfigsResponse;
}

/// Part of [`DescribeConfigsRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeConfigsResource {
    /// `ResourceType`.
    pub resource_type: i8,
    /// `ResourceName`.
    pub resource_name: String,
    /// `ConfigurationKeys`, may be null, default empty, not null.
    pub configuration_keys: Option<Vec<String>>,
}

impl Default for DescribeConfigsResource {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            configuration_keys: Some(Vec::<String>::default()),
        }
    }
}

impl Codec for DescribeConfigsResource {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { resource_type: r.get()?, resource_name: r.get()?, configuration_keys: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.resource_type)?;
        w.put(&self.resource_name)?;
        w.put(&self.configuration_keys)?;
        w.no_tags();
        Ok(())
    }
}

/// DescribeConfigsResponse, versions 1 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Results`.
    pub results: Vec<DescribeConfigsResult>,
}

impl Codec for DescribeConfigsResponse {
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

impl Message for DescribeConfigsResponse {
    const NAME: &'static str = "DescribeConfigsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for DescribeConfigsResponse {}

/// Part of [`DescribeConfigsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeConfigsResult {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default empty, not null.
    pub error_message: Option<String>,
    /// `ResourceType`.
    pub resource_type: i8,
    /// `ResourceName`.
    pub resource_name: String,
    /// `Configs`.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

impl Default for DescribeConfigsResult {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::default()),
            resource_type: 0,
            resource_name: String::new(),
            configs: Vec::new(),
        }
    }
}

impl Codec for DescribeConfigsResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            error_code: r.get()?,
            error_message: r.get()?,
            resource_type: r.get()?,
            resource_name: r.get()?,
            configs: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.resource_type)?;
        w.put(&self.resource_name)?;
        w.put(&self.configs)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeConfigsResponse`].
#[derive(Clone, PartialEq)]
pub struct DescribeConfigsResourceResult {
    /// `Name`.
    pub name: String,
    /// `Value`, may be null, default empty, not null.
    pub value: Option<String>,
    /// `ReadOnly`.
    pub read_only: bool,
    /// `ConfigSource`, default -1.
    pub config_source: i8,
    /// `IsSensitive`.
    pub is_sensitive: bool,
    /// `Synonyms`.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// `ConfigType`, versions 3 to 4 (left out of others).
    pub config_type: i8,
    /// `Documentation`, versions 3 to 4 (left out of others), may be null, default empty, not null.
    pub documentation: Option<String>,
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::default()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: Some(String::default()),
        }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for DescribeConfigsResourceResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DescribeConfigsResourceResult")
            .field("name", &self.name)
            .field("read_only", &self.read_only)
            .field("config_source", &self.config_source)
            .field("is_sensitive", &self.is_sensitive)
            .field("synonyms", &self.synonyms)
            .field("config_type", &self.config_type)
            .field("documentation", &self.documentation)
            .finish_non_exhaustive()
    }
}

impl Codec for DescribeConfigsResourceResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: r.get()?,
            value: r.get()?,
            read_only: r.get()?,
            config_source: r.get()?,
            is_sensitive: r.get()?,
            synonyms: r.get()?,
            config_type: if v >= 3 { r.get()? } else { 0 },
            documentation: if v >= 3 { r.get()? } else { Some(String::default()) },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.name)?;
        w.put(&self.value)?;
        w.put(&self.read_only)?;
        w.put(&self.config_source)?;
        w.put(&self.is_sensitive)?;
        w.put(&self.synonyms)?;
        if v >= 3 {
            w.put(&self.config_type)?;
        }
        if v >= 3 {
            w.put(&self.documentation)?;
        }
        w.no_tags();
        Ok(())
    }
}

/// Part of [`DescribeConfigsResponse`].
#[derive(Clone, PartialEq)]
pub struct DescribeConfigsSynonym {
    /// `Name`.
    pub name: String,
    /// `Value`, may be null, default empty, not null.
    pub value: Option<String>,
    /// `Source`.
    pub source: i8,
}

impl Default for DescribeConfigsSynonym {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::default()), source: 0 }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for DescribeConfigsSynonym {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DescribeConfigsSynonym")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Codec for DescribeConfigsSynonym {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, value: r.get()?, source: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.value)?;
        w.put(&self.source)?;
        w.no_tags();
        Ok(())
    }
}
