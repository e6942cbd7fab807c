//! Membership of the streams group (KIP-1071).
//!
//! | Module | Does |
//! |---|---|
//! | `assignment` | which tasks, in which role; to and from the wire |
//! | `member` | the state machine: what to send when, what the stream thread has to do |
//! | `answer` | what a heartbeat's answer means to it |
//! | `status` | the group's status codes and what they ask of the application |
//! | `offsets` | sums of changelog offsets that the broker wants to know |
//! | `endpoints` | which instance serves which partitions |
//! | `driver` | the tokio task that sends the heartbeats |
//!
//! All but `driver` are free of I/O and clock.
//!
//! # Who does what
//! The driver's task sends heartbeats by itself, whatever the stream thread does. The thread takes
//! a [`Work`] with each poll, carries it out and reports it done; only then does the member tell
//! the group that it owns something else. At most one [`Work`] is outstanding, so nothing grows.

mod answer;
mod assignment;
mod driver;
mod endpoints;
mod member;
mod offsets;
mod status;

pub(crate) use crate::streams::task::TaskId;
pub(crate) use assignment::{Assignment, TaskSet};
pub(crate) use driver::Membership;
pub(crate) use endpoints::{Endpoint, EndpointMap};
pub(crate) use member::{Leave, Settings, Work};
pub(crate) use offsets::TaskOffsets;
pub(crate) use status::Notice;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod scripted_tests;
