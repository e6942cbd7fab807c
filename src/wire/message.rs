//! What every request, response and header has in common.

use std::fmt::Debug;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::codec::{Codec, Reader, Writer};
use super::error::{Error, Result};
use super::messages::RequestHeader;

/// A message with versions of its own.
pub trait Message: Codec + Clone + Debug + Default + PartialEq {
    /// Kafka's name for it.
    const NAME: &'static str;
    /// Oldest version this crate writes and reads.
    const MIN_VERSION: i16;
    /// Newest version this crate writes and reads.
    const MAX_VERSION: i16;
    /// First version with compact lengths and tagged fields; `i16::MAX` if none has them.
    const FIRST_FLEXIBLE: i16;

    /// Appends the message to `buf`. On an error `buf` is left as it was.
    fn encode(&self, version: i16, buf: &mut BytesMut) -> Result<()> {
        check_version::<Self>(version)?;
        let start = buf.len();
        let mut writer = Writer::new(buf, version, is_flexible::<Self>(version));
        self.write(&mut writer)
            .map_err(|failed| writer.into_error(failed))
            .inspect_err(|_| buf.truncate(start))
    }

    /// Reads the message from the front of `frame` and moves `frame` past it. Byte fields
    /// share the frame's memory. On an error `frame` is left as it was.
    fn decode(version: i16, frame: &mut Bytes) -> Result<Self> {
        check_version::<Self>(version)?;
        let flexible = is_flexible::<Self>(version);
        let mut reader = Reader::new(frame, Self::NAME, version, flexible);
        let message = match Self::read(&mut reader) {
            Ok(message) => message,
            Err(failed) => return Err(reader.into_error(failed)),
        };
        let consumed = reader.position();
        frame.advance(consumed);
        Ok(message)
    }
}

/// A message that a client sends.
pub trait Request: Message {
    /// Number of the API.
    const API_KEY: i16;
    /// What the broker answers with, in the same version.
    type Response: Response;

    /// Version of the request header that goes with `version` of the request.
    fn request_header_version(version: i16) -> i16 {
        if is_flexible::<Self>(version) { 2 } else { 1 }
    }

    /// Version of the response header that goes with `version` of the request.
    fn response_header_version(version: i16) -> i16 {
        // A broker that does not know the version of ApiVersions answers in version 0,
        // so that its header can never be the flexible one.
        let api_versions = Self::API_KEY == super::messages::ApiVersionsRequest::API_KEY;
        i16::from(is_flexible::<Self>(version) && !api_versions)
    }

    /// Appends a complete frame: size, header, request. On an error `buf` is left as it was.
    fn encode_frame(
        &self,
        version: i16,
        correlation_id: i32,
        client_id: &str,
        buf: &mut BytesMut,
    ) -> Result<()> {
        let start = buf.len();
        let header = RequestHeader {
            request_api_key: Self::API_KEY,
            request_api_version: version,
            correlation_id,
            client_id: Some(client_id.to_owned()),
        };
        buf.put_i32(0);
        header
            .encode(Self::request_header_version(version), buf)
            .and_then(|()| self.encode(version, buf))
            .and_then(|()| frame_size(buf.len() - start - 4))
            .map(|size| buf[start..start + 4].copy_from_slice(&size.to_be_bytes()))
            .inspect_err(|_| buf.truncate(start))
    }
}

/// A message that a broker answers with.
pub trait Response: Message {}

fn frame_size(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::TooLong { what: "request", len, max: i32::MAX as usize })
}

fn is_flexible<M: Message>(version: i16) -> bool {
    version >= M::FIRST_FLEXIBLE
}

fn check_version<M: Message>(version: i16) -> Result<()> {
    if (M::MIN_VERSION..=M::MAX_VERSION).contains(&version) {
        return Ok(());
    }
    Err(Error::UnsupportedVersion {
        message: M::NAME,
        version,
        min: M::MIN_VERSION,
        max: M::MAX_VERSION,
    })
}
