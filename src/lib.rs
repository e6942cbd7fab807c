//! Process Kafka topics in services.

#[cfg(test)]
mod bless;
#[allow(dead_code, reason = "errors are made by the parts")]
mod error;
mod log_target;
#[allow(dead_code, reason = "sources are registered by the parts")]
mod metrics;
#[allow(dead_code, unused_imports, reason = "options are checked by the parts")]
mod options;
#[allow(dead_code, reason = "the engine fills it in")]
pub mod snapshot;

pub use error::{ErrorKind, LlingrError};
pub use log_target::LOG_TARGET;
pub use metrics::{Metrics, MetricsHandle, OPENMETRICS_CONTENT_TYPE};
pub use options::{
    AutoOffsetReset, BalanceStrategy, ClientLogLevel, GroupProtocol, IsolationLevel, OAuthToken,
    Options, OptionsError, ShareAcknowledgementMode, ShareAcquireMode,
};
