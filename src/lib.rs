//! Process Kafka topics in services: a handler for one record, and a library
//! that fetches, keeps the order of each key, runs different keys side by side,
//! retries, routes failures, commits only what is finished and stops in order.
//!
//! ```no_run
//! # #[cfg(feature = "engine")]
//! # mod example {
//! use llingr_kafka::{
//!     Builder, DeadLetterTopic, DemuxConfig, Message, ProcessHandler, RetryPolicy, Traits,
//! };
//!
//! struct Orders;
//!
//! impl ProcessHandler for Orders {
//!     fn process(&self, message: &Message) -> Result<Traits, Box<dyn std::error::Error>> {
//!         let order = message.value_str().ok_or("an order without text")?;
//!         println!("{:?}: {order}", message.key_str());
//!         Ok(Traits::none())
//!     }
//! }
//!
//! fn main() -> Result<(), llingr_kafka::LlingrError> {
//!     let engine = Builder::new("orders", Orders, DeadLetterTopic::new("orders.dead"))
//!         .brokers("localhost:9092")
//!         .consumer_group("billing")
//!         .demux(DemuxConfig::default().concurrent_keys(500))
//!         .retry(RetryPolicy::attempts(5))
//!         .build()?;
//!     let stop = engine.stopper(); // for the thread that watches for signals
//!     # let _ = stop;
//!     engine.run() // until stopped
//! }
//! # }
//! # fn main() {}
//! ```
//!
//! # Where to look
//!
//! | For | Look at |
//! |---|---|
//! | putting an engine together | `Builder`, `AsyncBuilder` |
//! | handling records | `ProcessHandler`, `AsyncProcessHandler`, `Message` |
//! | failures | `RetryPolicy`, `DeadLetterHandler`, `DeadLetterTopic` |
//! | concurrency, bounds, commits | `DemuxConfig` |
//! | running, stopping, pausing | `Llingr`, `ShutdownHandler` |
//! | settings of the Kafka client, security included | [`Options`] |
//! | metrics | [`Metrics`], [`MetricsHandle`] |
//! | probes and everything that can be seen | [`snapshot`] |
//! | what goes wrong | [`LlingrError`], [`ErrorKind`] |
//! | a broker for first steps and tests | `DevBroker` |
//!
//! Log lines go to the `log` facade under the target [`LOG_TARGET`].
//!
//! # Features
//!
//! - `engine` (default): all of the above. The engine is written in Go and linked
//!   as a static archive, so that building needs Go 1.26 and a C compiler, or a
//!   prebuilt archive in `LLINGR_LIB_DIR`.
//! - `share` (default): share groups in native Rust, without Go.
//! - `streams` (default): stream processing in native Rust on streams groups (KIP-1071): the
//!   Processor API with state stores, the stateless DSL, at-least-once and exactly-once, a test
//!   driver; no aggregations, windows, joins, global stores and queries yet.
//! - `dev-broker`: the embedded broker.
//!
//! # Guarantees and limits
//!
//! Delivery is at least once: the committed offset never passes an unfinished
//! record. Records of one key on one partition run one after the other, retries
//! included. What is fetched and unfinished is bounded in number and bytes.
//! `docs/guarantees.md` in the crate says it precisely.
//!
//! Linux with glibc and macOS; one engine in a process at a time; no `fork`
//! after an engine was built, except to `exec`. A panic in a handler is that
//! record's failure, unless the program is built with `panic = "abort"`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(test)]
mod bless;
#[cfg(feature = "client")]
#[doc(hidden)]
pub mod client;
#[cfg(feature = "engine")]
mod engine;
#[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "the engine makes these errors"))]
mod error;
mod log_target;
#[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "the engine registers itself"))]
mod metrics;
#[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "the engine checks options"))]
mod options;
#[cfg(feature = "share")]
pub mod share;
#[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "the engine fills it in"))]
pub mod snapshot;
#[cfg(feature = "streams")]
pub mod streams;

#[cfg(feature = "dev-broker")]
pub use engine::devbroker::DevBroker;
#[cfg(feature = "engine")]
pub use engine::{
    AsyncBuilder, AsyncProcessHandler, Builder, DeadLetterTopic, DemuxConfig, Failure,
    HandlerError, KeylessOrder, Llingr, RetryDecision, RetryPolicy, current_attempt,
    dead_letter_headers,
};
pub use error::{ErrorKind, LlingrError};
#[cfg(feature = "engine")]
pub use llingr_nexus::{
    DeadLetterHandler, Header, Headers, Message, ProcessHandler, ShutdownHandler, Timestamp, Traits,
};
pub use log_target::LOG_TARGET;
pub use metrics::{Metrics, MetricsHandle, OPENMETRICS_CONTENT_TYPE};
pub use options::{
    AutoOffsetReset, BalanceStrategy, ClientLogLevel, GroupProtocol, IsolationLevel, OAuthToken,
    Options, OptionsError, ShareAcknowledgementMode, ShareAcquireMode,
};
#[cfg(feature = "wire")]
#[doc(hidden)]
pub mod wire;
