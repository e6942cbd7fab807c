//! EndTxn (API key 26).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// EndTxnRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EndTxnRequest {
    /// `TransactionalId`.
    pub transactional_id: String,
    /// `ProducerId`.
    pub producer_id: i64,
    /// `ProducerEpoch`.
    pub producer_epoch: i16,
    /// `Committed`.
    pub committed: bool,
}

impl Codec for EndTxnRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            transactional_id: r.get()?,
            producer_id: r.get()?,
            producer_epoch: r.get()?,
            committed: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.transactional_id)?;
        w.put(&self.producer_id)?;
        w.put(&self.producer_epoch)?;
        w.put(&self.committed)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for EndTxnRequest {
    const NAME: &'static str = "EndTxnRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for EndTxnRequest {
    const API_KEY: i16 = 26;
    type Response = EndTxnResponse;
}

/// EndTxnResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug)]
pub struct EndTxnResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ProducerId`, version 5 (left out of others), default -1.
    pub producer_id: i64,
    /// `ProducerEpoch`, version 5 (left out of others), default -1.
    pub producer_epoch: i16,
}

impl Default for EndTxnResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, producer_id: -1, producer_epoch: -1 }
    }
}

impl Codec for EndTxnResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            producer_id: if v == 5 { r.get()? } else { -1 },
            producer_epoch: if v == 5 { r.get()? } else { -1 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        if v == 5 {
            w.put(&self.producer_id)?;
        }
        if v == 5 {
            w.put(&self.producer_epoch)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for EndTxnResponse {
    const NAME: &'static str = "EndTxnResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for EndTxnResponse {}
