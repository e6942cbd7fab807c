//! InitProducerId (API key 22).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// InitProducerIdRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct InitProducerIdRequest {
    /// `TransactionalId`, may be null, default empty, not null.
    pub transactional_id: Option<String>,
    /// `TransactionTimeoutMs`.
    pub transaction_timeout_ms: i32,
    /// `ProducerId`, versions 3 to 5, default -1.
    pub producer_id: i64,
    /// `ProducerEpoch`, versions 3 to 5, default -1.
    pub producer_epoch: i16,
}

impl Default for InitProducerIdRequest {
    fn default() -> Self {
        Self {
            transactional_id: Some(String::default()),
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
        }
    }
}

impl Codec for InitProducerIdRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            transactional_id: r.get()?,
            transaction_timeout_ms: r.get()?,
            producer_id: if v >= 3 { r.get()? } else { -1 },
            producer_epoch: if v >= 3 { r.get()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.transactional_id)?;
        w.put(&self.transaction_timeout_ms)?;
        if v >= 3 {
            w.put(&self.producer_id)?;
        } else {
            w.absent(self.producer_id != -1, "InitProducerIdRequest.producer_id")?;
        }
        if v >= 3 {
            w.put(&self.producer_epoch)?;
        } else {
            w.absent(self.producer_epoch != -1, "InitProducerIdRequest.producer_epoch")?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for InitProducerIdRequest {
    const NAME: &'static str = "InitProducerIdRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Request for InitProducerIdRequest {
    const API_KEY: i16 = 22;
    type Response = InitProducerIdResponse;
}

/// InitProducerIdResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct InitProducerIdResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ProducerId`, default -1.
    pub producer_id: i64,
    /// `ProducerEpoch`.
    pub producer_epoch: i16,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, producer_id: -1, producer_epoch: 0 }
    }
}

impl Codec for InitProducerIdResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            producer_id: r.get()?,
            producer_epoch: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.producer_id)?;
        w.put(&self.producer_epoch)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for InitProducerIdResponse {
    const NAME: &'static str = "InitProducerIdResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Response for InitProducerIdResponse {}
