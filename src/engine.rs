//! The engine: per-key ordered, highly concurrent consumption of one topic.
//!
//! A Go engine (franz-go) linked as a static archive fetches, tracks offsets,
//! commits and takes part in the group; this side runs the handlers, keeps the
//! order per key and says how each record ended. `include/llingr.h` is the
//! contract between the two, [`sys`] its bindings.
//!
//! From the boundary inwards: [`control`] calls the engine, [`host`] is called
//! by it; [`block`] holds the records it hands over; [`work`] decides which may
//! run; [`pool`] and [`futures`] run them; [`runner`], [`retry`], [`timer`] and
//! [`deadletter`] deal with failures; [`events`] reports back; [`stats`] counts
//! and [`observe`] shows. [`builder`] and [`handle`] are the public face.
//!
//! This module is the only place of the crate where `unsafe` is allowed.

mod block;
mod builder;
mod config;
mod control;
mod deadletter;
#[cfg(feature = "dev-broker")]
pub(crate) mod devbroker;
mod events;
mod futures;
mod guard;
mod handle;
mod host;
mod lanes;
mod observe;
mod pool;
mod retry;
mod runner;
mod stats;
mod sys;
mod timer;
mod work;

pub use builder::{AsyncBuilder, Builder};
pub use config::DemuxConfig;
pub use deadletter::{DeadLetterTopic, dead_letter_headers};
pub use futures::{AsyncProcessHandler, HandlerError};
pub use guard::current_attempt;
pub use handle::Llingr;
pub use retry::{Failure, RetryDecision, RetryPolicy};
pub use work::KeylessOrder;
