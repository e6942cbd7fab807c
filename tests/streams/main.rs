//! Streams against a real Apache Kafka.
#![cfg(feature = "streams")]

#[path = "../support/mod.rs"]
mod support;

mod app;
mod membership;
mod running;
