//! CreateTopics (API key 19).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// CreateTopicsRequest, versions 2 to 7.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTopicsRequest {
    /// `Topics`.
    pub topics: Vec<CreatableTopic>,
    /// `timeoutMs`, default 60000.
    pub timeout_ms: i32,
    /// `validateOnly`.
    pub validate_only: bool,
}

impl Default for CreateTopicsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), timeout_ms: 60000, validate_only: false }
    }
}

impl Codec for CreateTopicsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topics: r.get()?, timeout_ms: r.get()?, validate_only: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topics)?;
        w.put(&self.timeout_ms)?;
        w.put(&self.validate_only)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for CreateTopicsRequest {
    const NAME: &'static str = "CreateTopicsRequest";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 7;
    const FIRST_FLEXIBLE: i16 = 5;
}

impl Request for CreateTopicsRequest {
    const API_KEY: i16 = 19;
    type Response = CreateTopicsResponse;
}

/// Part of [`CreateTopicsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatableTopic {
    /// `Name`.
    pub name: String,
    /// `NumPartitions`.
    pub num_partitions: i32,
    /// `ReplicationFactor`.
    pub replication_factor: i16,
    /// `Assignments`.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// `Configs`.
    pub configs: Vec<CreatableTopicConfig>,
}

impl Codec for CreatableTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            name: r.get()?,
            num_partitions: r.get()?,
            replication_factor: r.get()?,
            assignments: r.get()?,
            configs: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.num_partitions)?;
        w.put(&self.replication_factor)?;
        w.put(&self.assignments)?;
        w.put(&self.configs)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`CreateTopicsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatableReplicaAssignment {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `BrokerIds`.
    pub broker_ids: Vec<i32>,
}

impl Codec for CreatableReplicaAssignment {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, broker_ids: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.broker_ids)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`CreateTopicsRequest`].
#[derive(Clone, PartialEq)]
pub struct CreatableTopicConfig {
    /// `Name`.
    pub name: String,
    /// `Value`, may be null, default empty, not null.
    pub value: Option<String>,
}

impl Default for CreatableTopicConfig {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::default()) }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for CreatableTopicConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatableTopicConfig").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Codec for CreatableTopicConfig {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, value: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.value)?;
        w.no_tags();
        Ok(())
    }
}

/// CreateTopicsResponse, versions 2 to 7.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreateTopicsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Topics`.
    pub topics: Vec<CreatableTopicResult>,
}

impl Codec for CreateTopicsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for CreateTopicsResponse {
    const NAME: &'static str = "CreateTopicsResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 7;
    const FIRST_FLEXIBLE: i16 = 5;
}

impl Response for CreateTopicsResponse {}

/// Part of [`CreateTopicsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct CreatableTopicResult {
    /// `Name`.
    pub name: String,
    /// `TopicId`, version 7 (left out of others).
    pub topic_id: Uuid,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default empty, not null.
    pub error_message: Option<String>,
    /// `TopicConfigErrorCode`, versions 5 to 7 (left out of others), tag 0.
    pub topic_config_error_code: i16,
    /// `NumPartitions`, versions 5 to 7 (left out of others), default -1.
    pub num_partitions: i32,
    /// `ReplicationFactor`, versions 5 to 7 (left out of others), default -1.
    pub replication_factor: i16,
    /// `Configs`, versions 5 to 7 (left out of others), may be null, default empty, not null.
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Uuid::ZERO,
            error_code: 0,
            error_message: Some(String::default()),
            topic_config_error_code: 0,
            num_partitions: -1,
            replication_factor: -1,
            configs: Some(Vec::<CreatableTopicConfigs>::default()),
        }
    }
}

impl Codec for CreatableTopicResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            name: r.get()?,
            topic_id: if v == 7 { r.get()? } else { Uuid::ZERO },
            error_code: r.get()?,
            error_message: r.get()?,
            topic_config_error_code: 0,
            num_partitions: if v >= 5 { r.get()? } else { -1 },
            replication_factor: if v >= 5 { r.get()? } else { -1 },
            configs: if v >= 5 { r.get()? } else { Some(Vec::<CreatableTopicConfigs>::default()) },
        };
        r.tags(|tag, r| {
            match tag {
                0 => this.topic_config_error_code = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.name)?;
        if v == 7 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        if v >= 5 {
            w.put(&self.num_partitions)?;
        }
        if v >= 5 {
            w.put(&self.replication_factor)?;
        }
        if v >= 5 {
            w.put(&self.configs)?;
        }
        if w.flexible() {
            let tag0 = self.topic_config_error_code != 0;
            w.tag_count(u32::from(tag0));
            if tag0 {
                w.tag(0, &self.topic_config_error_code)?;
            }
        }
        Ok(())
    }
}

/// Part of [`CreateTopicsResponse`] in versions 5 to 7.
#[derive(Clone, PartialEq, Debug)]
pub struct CreatableTopicConfigs {
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
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::default()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
        }
    }
}

impl Codec for CreatableTopicConfigs {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            name: r.get()?,
            value: r.get()?,
            read_only: r.get()?,
            config_source: r.get()?,
            is_sensitive: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.value)?;
        w.put(&self.read_only)?;
        w.put(&self.config_source)?;
        w.put(&self.is_sensitive)?;
        w.no_tags();
        Ok(())
    }
}
