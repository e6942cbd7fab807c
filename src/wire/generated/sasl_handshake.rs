//! SaslHandshake (API key 17).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// SaslHandshakeRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SaslHandshakeRequest {
    /// `Mechanism`.
    pub mechanism: String,
}

impl Codec for SaslHandshakeRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { mechanism: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.mechanism)?;
        Ok(())
    }
}

impl Message for SaslHandshakeRequest {
    const NAME: &'static str = "SaslHandshakeRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = i16::MAX;
}

impl Request for SaslHandshakeRequest {
    const API_KEY: i16 = 17;
    type Response = SaslHandshakeResponse;
}

/// SaslHandshakeResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SaslHandshakeResponse {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `Mechanisms`.
    pub mechanisms: Vec<String>,
}

impl Codec for SaslHandshakeResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { error_code: r.get()?, mechanisms: r.get()? })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.error_code)?;
        w.put(&self.mechanisms)?;
        Ok(())
    }
}

impl Message for SaslHandshakeResponse {
    const NAME: &'static str = "SaslHandshakeResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = i16::MAX;
}

impl Response for SaslHandshakeResponse {}
