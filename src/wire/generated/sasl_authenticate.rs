//! SaslAuthenticate (API key 36).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// SaslAuthenticateRequest, versions 0 to 2.
#[derive(Clone, PartialEq, Default)]
pub struct SaslAuthenticateRequest {
    /// `AuthBytes`.
    pub auth_bytes: Bytes,
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for SaslAuthenticateRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SaslAuthenticateRequest").finish_non_exhaustive()
    }
}

impl Codec for SaslAuthenticateRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { auth_bytes: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.auth_bytes)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for SaslAuthenticateRequest {
    const NAME: &'static str = "SaslAuthenticateRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Request for SaslAuthenticateRequest {
    const API_KEY: i16 = 36;
    type Response = SaslAuthenticateResponse;
}

/// SaslAuthenticateResponse, versions 0 to 2.
#[derive(Clone, PartialEq)]
pub struct SaslAuthenticateResponse {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default empty, not null.
    pub error_message: Option<String>,
    /// `AuthBytes`.
    pub auth_bytes: Bytes,
    /// `SessionLifetimeMs`, versions 1 to 2 (left out of others).
    pub session_lifetime_ms: i64,
}

impl Default for SaslAuthenticateResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::default()),
            auth_bytes: Bytes::new(),
            session_lifetime_ms: 0,
        }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for SaslAuthenticateResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SaslAuthenticateResponse")
            .field("error_code", &self.error_code)
            .field("error_message", &self.error_message)
            .field("session_lifetime_ms", &self.session_lifetime_ms)
            .finish_non_exhaustive()
    }
}

impl Codec for SaslAuthenticateResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            error_code: r.get()?,
            error_message: r.get()?,
            auth_bytes: r.get()?,
            session_lifetime_ms: if v >= 1 { r.get()? } else { 0 },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.auth_bytes)?;
        if v >= 1 {
            w.put(&self.session_lifetime_ms)?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for SaslAuthenticateResponse {
    const NAME: &'static str = "SaslAuthenticateResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 2;
}

impl Response for SaslAuthenticateResponse {}
