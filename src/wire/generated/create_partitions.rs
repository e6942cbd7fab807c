//! CreatePartitions (API key 37).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// CreatePartitionsRequest, versions 0 to 3.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsRequest {
    /// `Topics`.
    pub topics: Vec<CreatePartitionsTopic>,
    /// `TimeoutMs`.
    pub timeout_ms: i32,
    /// `ValidateOnly`.
    pub validate_only: bool,
}

impl Codec for CreatePartitionsRequest {
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

impl Message for CreatePartitionsRequest {
    const NAME: &'static str = "CreatePartitionsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Request for CreatePartitionsRequest {
    const API_KEY: i16 = 37;
    type Response = CreatePartitionsResponse;
}

/// Part of [`CreatePartitionsRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct CreatePartitionsTopic {
    /// `Name`.
    pub name: String,
    /// `Count`.
    pub count: i32,
    /// `Assignments`, may be null, default empty, not null.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

impl Default for CreatePartitionsTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: 0,
            assignments: Some(Vec::<CreatePartitionsAssignment>::default()),
        }
    }
}

impl Codec for CreatePartitionsTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, count: r.get()?, assignments: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.count)?;
        w.put(&self.assignments)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`CreatePartitionsRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsAssignment {
    /// `BrokerIds`.
    pub broker_ids: Vec<i32>,
}

impl Codec for CreatePartitionsAssignment {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { broker_ids: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.broker_ids)?;
        w.no_tags();
        Ok(())
    }
}

/// CreatePartitionsResponse, versions 0 to 3.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Results`.
    pub results: Vec<CreatePartitionsTopicResult>,
}

impl Codec for CreatePartitionsResponse {
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

impl Message for CreatePartitionsResponse {
    const NAME: &'static str = "CreatePartitionsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Response for CreatePartitionsResponse {}

/// Part of [`CreatePartitionsResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsTopicResult {
    /// `Name`.
    pub name: String,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
}

impl Codec for CreatePartitionsTopicResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, error_code: r.get()?, error_message: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.no_tags();
        Ok(())
    }
}
