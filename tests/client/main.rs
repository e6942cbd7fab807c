//! The native client against a real Apache Kafka.
#![cfg(feature = "client")]

#[path = "../support/mod.rs"]
mod support;

mod common;
mod fetching;
mod producing;
mod security;
mod topics;
