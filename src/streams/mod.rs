//! Stream processing: streams groups (KIP-1071) in native Rust.

pub(crate) mod membership;
#[doc(hidden)]
pub mod runtime;

pub use membership::TaskId;
