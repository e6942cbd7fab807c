//! Process Kafka topics in services.

#[cfg(feature = "client")]
#[doc(hidden)]
pub mod client;
#[cfg(feature = "wire")]
#[doc(hidden)]
pub mod wire;
