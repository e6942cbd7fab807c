//! Process Kafka topics in services.

#[cfg(feature = "wire")]
#[doc(hidden)]
pub mod wire;
