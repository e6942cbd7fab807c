//! The headers in front of requests and responses.

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::Message;

/// RequestHeader, versions 1 to 2.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestHeader {
    /// `RequestApiKey`.
    pub request_api_key: i16,
    /// `RequestApiVersion`.
    pub request_api_version: i16,
    /// `CorrelationId`.
    pub correlation_id: i32,
    /// `ClientId`, may be null, default empty, not null.
    pub client_id: Option<String>,
}

impl Default for RequestHeader {
    fn default() -> Self {
        Self {
            request_api_key: 0,
            request_api_version: 0,
            correlation_id: 0,
            client_id: Some(String::default()),
        }
    }
}

impl Codec for RequestHeader {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            request_api_key: r.get()?,
            request_api_version: r.get()?,
            correlation_id: r.get()?,
            client_id: r.get_classic_string()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.request_api_key)?;
        w.put(&self.request_api_version)?;
        w.put(&self.correlation_id)?;
        w.put_classic_string(&self.client_id)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for RequestHeader {
    const NAME: &'static str = "RequestHeader";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FIRST_FLEXIBLE: i16 = 2;
}

/// ResponseHeader, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResponseHeader {
    /// `CorrelationId`.
    pub correlation_id: i32,
}

impl Codec for ResponseHeader {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { correlation_id: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.correlation_id)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for ResponseHeader {
    const NAME: &'static str = "ResponseHeader";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 1;
}
