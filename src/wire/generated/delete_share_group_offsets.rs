//! DeleteShareGroupOffsets (API key 92).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// DeleteShareGroupOffsetsRequest, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteShareGroupOffsetsRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `Topics`.
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
}

impl Codec for DeleteShareGroupOffsetsRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { group_id: r.get()?, topics: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteShareGroupOffsetsRequest {
    const NAME: &'static str = "DeleteShareGroupOffsetsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for DeleteShareGroupOffsetsRequest {
    const API_KEY: i16 = 92;
    type Response = DeleteShareGroupOffsetsResponse;
}

/// Part of [`DeleteShareGroupOffsetsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    /// `TopicName`.
    pub topic_name: String,
}

impl Codec for DeleteShareGroupOffsetsRequestTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic_name: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.no_tags();
        Ok(())
    }
}

/// DeleteShareGroupOffsetsResponse, version 0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteShareGroupOffsetsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `Responses`.
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
}

impl Codec for DeleteShareGroupOffsetsResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            responses: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.responses)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for DeleteShareGroupOffsetsResponse {
    const NAME: &'static str = "DeleteShareGroupOffsetsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for DeleteShareGroupOffsetsResponse {}

/// Part of [`DeleteShareGroupOffsetsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    /// `TopicName`.
    pub topic_name: String,
    /// `TopicId`.
    pub topic_id: Uuid,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
}

impl Codec for DeleteShareGroupOffsetsResponseTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            topic_name: r.get()?,
            topic_id: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic_name)?;
        w.put(&self.topic_id)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}
