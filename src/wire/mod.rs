//! Kafka's bytes: messages, record batches, error codes. No socket, no clock.
//!
//! Messages are generated from Kafka's own schemas by `tools/wiregen`; see `docs/wire.md`
//! for why. Every decoder checks a length against the bytes that are there before it
//! allocates, so what a hostile peer can make it allocate is bounded by what it sent.
//!
//! The module is reachable from outside for tests, benches and fuzz targets only and
//! follows no compatibility promise.

mod codec;
mod error;
mod error_code;
mod message;
#[path = "generated/mod.rs"]
pub mod messages;
pub mod records;

pub use codec::{Codec, Failed, Reader, Uuid, Writer};
pub use error::{Error, Result};
pub use error_code::ErrorCode;
pub use message::{Message, Request, Response};
