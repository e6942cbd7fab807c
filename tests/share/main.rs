//! Share groups against a real Apache Kafka.
#![cfg(feature = "share")]

#[path = "../support/mod.rs"]
mod support;

mod common;
mod consuming;
mod failing;
