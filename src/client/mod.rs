//! A native Kafka client on tokio.
#![allow(dead_code)]

mod backoff;
mod connection;
mod error;
mod retry;
mod sasl;
mod secret;
mod tls;

pub use error::{Error, ErrorCode, Result};
pub use sasl::{BoxError, SaslConfig, ScramHash, Token, TokenFuture, TokenProvider};
pub use secret::Secret;
pub use tls::{ClientIdentity, TlsConfig};
