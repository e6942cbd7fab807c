//! DeleteTopics (API key 20).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// DeleteTopicsRequest, versions 1 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicsRequest {
    /// `Topics`, version 6.
    pub topics: Vec<DeleteTopicState>,
    /// `TopicNames`, versions 1 to 5 (left out of others).
    pub topic_names: Vec<String>,
    /// `TimeoutMs`.
    pub timeout_ms: i32,
}

impl Codec for DeleteTopicsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topics: if v == 6 { r.get()? } else { Vec::new() },
            topic_names: if v <= 5 { r.get()? } else { Vec::new() },
            timeout_ms: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v == 6 {
            w.put(&self.topics)?;
        } else {
            w.absent(!self.topics.is_empty(), "DeleteTopicsRequest.topics")?;
        }
        if v <= 5 {
            w.put(&self.topic_names)?;
        }
        w.put(&self.timeout_ms)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteTopicsRequest {
    const NAME: &'static str = "DeleteTopicsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Request for DeleteTopicsRequest {
    const API_KEY: i16 = 20;
    type Response = DeleteTopicsResponse;
}

/// Part of [`DeleteTopicsRequest`] in version 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicState {
    /// `Name`, may be null, default null.
    pub name: Option<String>,
    /// `TopicId`.
    pub topic_id: Uuid,
}

impl Codec for DeleteTopicState {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, topic_id: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.topic_id)?;
        w.no_tags();
        Ok(())
    }
}

/// DeleteTopicsResponse, versions 1 to 6.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Responses`.
    pub responses: Vec<DeletableTopicResult>,
}

impl Codec for DeleteTopicsResponse {
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

impl Message for DeleteTopicsResponse {
    const NAME: &'static str = "DeleteTopicsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 6;
    const FIRST_FLEXIBLE: i16 = 4;
}

impl Response for DeleteTopicsResponse {}

/// Part of [`DeleteTopicsResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DeletableTopicResult {
    /// `Name`, may be null in version 6, default empty, not null.
    pub name: Option<String>,
    /// `TopicId`, version 6 (left out of others).
    pub topic_id: Uuid,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, versions 5 to 6 (left out of others), may be null, default null.
    pub error_message: Option<String>,
}

impl Default for DeletableTopicResult {
    fn default() -> Self {
        Self {
            name: Some(String::default()),
            topic_id: Uuid::ZERO,
            error_code: 0,
            error_message: None,
        }
    }
}

impl Codec for DeletableTopicResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            name: if v == 6 { r.get()? } else { Some(r.get()?) },
            topic_id: if v == 6 { r.get()? } else { Uuid::ZERO },
            error_code: r.get()?,
            error_message: if v >= 5 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v == 6 {
            w.put(&self.name)?;
        } else {
            w.put_some(&self.name, "DeletableTopicResult.name")?;
        }
        if v == 6 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.error_code)?;
        if v >= 5 {
            w.put(&self.error_message)?;
        }
        w.no_tags();
        Ok(())
    }
}
