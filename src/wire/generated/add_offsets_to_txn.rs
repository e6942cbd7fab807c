//! AddOffsetsToTxn (API key 25).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// AddOffsetsToTxnRequest, versions 0 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddOffsetsToTxnRequest {
    /// `TransactionalId`.
    pub transactional_id: String,
    /// `ProducerId`.
    pub producer_id: i64,
    /// `ProducerEpoch`.
    pub producer_epoch: i16,
    /// `GroupId`.
    pub group_id: String,
}

impl Codec for AddOffsetsToTxnRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            transactional_id: r.get()?,
            producer_id: r.get()?,
            producer_epoch: r.get()?,
            group_id: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.transactional_id)?;
        w.put(&self.producer_id)?;
        w.put(&self.producer_epoch)?;
        w.put(&self.group_id)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for AddOffsetsToTxnRequest {
    const NAME: &'static str = "AddOffsetsToTxnRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for AddOffsetsToTxnRequest {
    const API_KEY: i16 = 25;
    type Response = AddOffsetsToTxnResponse;
}

/// AddOffsetsToTxnResponse, versions 0 to 4.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddOffsetsToTxnResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
}

impl Codec for AddOffsetsToTxnResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for AddOffsetsToTxnResponse {
    const NAME: &'static str = "AddOffsetsToTxnResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for AddOffsetsToTxnResponse {}
