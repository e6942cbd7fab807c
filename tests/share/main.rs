//! Share groups against a real Apache Kafka.
#![cfg(feature = "share")]

#[path = "../support/mod.rs"]
mod support;

mod changing;
mod common;
mod consuming;
mod failing;
mod locks;
mod secured;
mod versions;
