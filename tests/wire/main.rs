//! The wire module against itself (random messages at every version), against bytes that
//! Apache Kafka's own client wrote, and against Kafka's schemas.
#![cfg(feature = "wire")]

mod batches;
mod drift;
mod fixtures;
mod messages;
mod purity;
mod round_trip;
mod sample;
mod samples;
#[allow(dead_code, reason = "the mutation tests and the fuzzers use the rest")]
mod targets;
