//! Stream processing with Kafka Streams' semantics, in native Rust.

pub mod store;
