//! Process Kafka topics in services.

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
