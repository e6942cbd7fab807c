//! ApiVersions (API key 18).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// ApiVersionsRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiVersionsRequest {
    /// `ClientSoftwareName`, versions 3 to 5 (left out of others).
    pub client_software_name: String,
    /// `ClientSoftwareVersion`, versions 3 to 5 (left out of others).
    pub client_software_version: String,
    /// `ClusterId`, version 5 (left out of others), may be null, default null.
    pub cluster_id: Option<String>,
    /// `NodeId`, version 5 (left out of others), default -1.
    pub node_id: i32,
}

impl Default for ApiVersionsRequest {
    fn default() -> Self {
        Self {
            client_software_name: String::new(),
            client_software_version: String::new(),
            cluster_id: None,
            node_id: -1,
        }
    }
}

impl Codec for ApiVersionsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            client_software_name: if v >= 3 { r.get()? } else { String::new() },
            client_software_version: if v >= 3 { r.get()? } else { String::new() },
            cluster_id: if v == 5 { r.get()? } else { None },
            node_id: if v == 5 { r.get()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 3 {
            w.put(&self.client_software_name)?;
        }
        if v >= 3 {
            w.put(&self.client_software_version)?;
        }
        if v == 5 {
            w.put(&self.cluster_id)?;
        }
        if v == 5 {
            w.put(&self.node_id)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for ApiVersionsRequest {
    const NAME: &'static str = "ApiVersionsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for ApiVersionsRequest {
    const API_KEY: i16 = 18;
    type Response = ApiVersionsResponse;
}

/// ApiVersionsResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiVersionsResponse {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ApiKeys`.
    pub api_keys: Vec<ApiVersion>,
    /// `ThrottleTimeMs`, versions 1 to 5 (left out of others).
    pub throttle_time_ms: i32,
    /// `SupportedFeatures`, versions 3 to 5 (left out of others), tag 0.
    pub supported_features: Vec<SupportedFeatureKey>,
    /// `FinalizedFeaturesEpoch`, versions 3 to 5 (left out of others), tag 1, default -1.
    pub finalized_features_epoch: i64,
    /// `FinalizedFeatures`, versions 3 to 5 (left out of others), tag 2.
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// `ZkMigrationReady`, versions 3 to 5 (left out of others), tag 3.
    pub zk_migration_ready: bool,
}

impl Default for ApiVersionsResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

impl Codec for ApiVersionsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            error_code: r.get()?,
            api_keys: r.get()?,
            throttle_time_ms: if v >= 1 { r.get()? } else { 0 },
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        };
        r.tags(|tag, r| {
            match tag {
                0 => this.supported_features = r.get()?,
                1 => this.finalized_features_epoch = r.get()?,
                2 => this.finalized_features = r.get()?,
                3 => this.zk_migration_ready = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        w.put(&self.api_keys)?;
        if v >= 1 {
            w.put(&self.throttle_time_ms)?;
        }
        if w.flexible() {
            let tag0 = !self.supported_features.is_empty();
            let tag1 = self.finalized_features_epoch != -1;
            let tag2 = !self.finalized_features.is_empty();
            let tag3 = self.zk_migration_ready;
            w.tag_count(u32::from(tag0) + u32::from(tag1) + u32::from(tag2) + u32::from(tag3));
            if tag0 {
                w.tag(0, &self.supported_features)?;
            }
            if tag1 {
                w.tag(1, &self.finalized_features_epoch)?;
            }
            if tag2 {
                w.tag(2, &self.finalized_features)?;
            }
            if tag3 {
                w.tag(3, &self.zk_migration_ready)?;
            }
        }
        Ok(())
    }
}

impl Message for ApiVersionsResponse {
    const NAME: &'static str = "ApiVersionsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for ApiVersionsResponse {}

/// Part of [`ApiVersionsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ApiVersion {
    /// `ApiKey`.
    pub api_key: i16,
    /// `MinVersion`.
    pub min_version: i16,
    /// `MaxVersion`.
    pub max_version: i16,
}

impl Codec for ApiVersion {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { api_key: r.get()?, min_version: r.get()?, max_version: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.api_key)?;
        w.put(&self.min_version)?;
        w.put(&self.max_version)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ApiVersionsResponse`] in versions 3 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SupportedFeatureKey {
    /// `Name`.
    pub name: String,
    /// `MinVersion`.
    pub min_version: i16,
    /// `MaxVersion`.
    pub max_version: i16,
}

impl Codec for SupportedFeatureKey {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, min_version: r.get()?, max_version: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.min_version)?;
        w.put(&self.max_version)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`ApiVersionsResponse`] in versions 3 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FinalizedFeatureKey {
    /// `Name`.
    pub name: String,
    /// `MaxVersionLevel`.
    pub max_version_level: i16,
    /// `MinVersionLevel`.
    pub min_version_level: i16,
}

impl Codec for FinalizedFeatureKey {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this =
            Self { name: r.get()?, max_version_level: r.get()?, min_version_level: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.max_version_level)?;
        w.put(&self.min_version_level)?;
        w.no_tags();
        Ok(())
    }
}
