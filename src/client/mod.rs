//! A native Kafka client on tokio, under `share` and `streams`.
//!
//! It is reachable from outside for tests and benches only and follows no compatibility promise.
//!
//! # Layers, from below
//! | Module | Does |
//! |---|---|
//! | `sasl`, `tls`, `secret`, `config` | who we are and whom we trust; no I/O |
//! | `connection` | one TCP stream: versions, login, frames, slots, deadlines |
//! | `pool` | connections by broker and purpose, reconnect backoff |
//! | `metadata`, `coordinator` | who leads, who coordinates |
//! | `retry`, `backoff` | whether and when to try again |
//! | `cluster` | [`Client`]: the above for users |
//! | `admin`, `producer`, `fetch` | what it is all for |
//!
//! # Tasks
//! Every task has an owner that aborts it when dropped: a connection its reader and writer, the
//! [`Client`] the metadata refresher, a [`Producer`] its sender, a [`Fetcher`] its supervisor.
//! Those two own their jobs in sets that end with them. Nothing is spawned without an owner.
//!
//! # Bounds
//! In flight: five requests a connection, which is also the length of its queue. Answers: a frame
//! limit. Records: `buffer_bytes` of producer and fetcher. Topics: those looked up lately.
//! Coordinators: a fixed number of entries. Every wait has a deadline.
//!
//! # Cancelling
//! Dropping a future of this module is always safe for the client: no frame is cut, no slot is
//! lost. Whether the broker has acted is another matter, and each function says so where it is.

mod admin;
mod backoff;
mod cluster;
mod config;
mod connection;
mod coordinator;
mod error;
mod fetch;
mod metadata;
mod pool;
mod producer;
mod retry;
mod sasl;
#[cfg(test)]
pub(crate) mod scripted;
mod secret;
mod tls;

#[cfg(any(feature = "share", feature = "streams"))]
pub(crate) use backoff::Backoff;
#[cfg(feature = "share")]
pub(crate) use connection::Connection;
#[cfg(any(feature = "share", feature = "streams"))]
pub(crate) use coordinator::CoordinatorKind;
#[cfg(any(feature = "share", feature = "streams"))]
pub(crate) use error::ErrorCodeExt;
#[cfg(feature = "share")]
pub(crate) use metadata::{LeaderHint, TopicKey, node as leader_node};
#[cfg(feature = "share")]
pub(crate) use pool::Purpose;
#[cfg(any(feature = "share", feature = "streams"))]
pub(crate) use retry::{Verdict as RetryVerdict, decide};

pub use admin::{
    Admin, ClusterDescription, ConfigEntry, ConfigResource, ListedGroup, ListedOffset, NewTopic,
    OffsetSpec, PerItem, TopicPartition,
};
pub use cluster::Client;
pub use config::Config;
pub use error::{Error, ErrorCode, Result};
pub use fetch::{FetchConfig, FetchError, Fetched, Fetcher, Position};
pub use producer::{
    Delivery, GroupMetadata, OffsetToCommit, Placed, Producer, ProducerConfig, ProducerRecord,
    murmur2, partition_of_key,
};
pub use sasl::{BoxError, SaslConfig, ScramHash, Token, TokenFuture, TokenProvider};
pub use secret::Secret;
pub use tls::{ClientIdentity, TlsConfig};
