//! A native Kafka client on tokio.
#![allow(dead_code)]

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
