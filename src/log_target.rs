//! The target of all log lines.

/// Target of every line that this crate writes through the `log` facade, the Go
/// engine's and the Kafka client's included.
///
/// ```
/// assert_eq!(llingr_kafka::LOG_TARGET, "llingr");
/// ```
pub const LOG_TARGET: &str = "llingr";
