//! Share groups (KIP-932): queue semantics on Kafka topics.
//!
//! Members of a share group take records from the same partitions. A record is locked for the
//! member that got it until it is acknowledged or its lock ends; then it goes to somebody else.
//! There is no order to rely on, and each record is handed out at least once until it is accepted,
//! rejected, or was delivered as often as the group allows (5 times by default).
//!
//! [`ShareConsumer`] is the member; [`ShareConsumer::stream`] gives its records one after the other,
//! [`ShareConsumer::run`] calls an async handler for each of them;
//! [`ShareAdmin`] describes groups and sets their offsets. Needs Apache Kafka 4.1 with
//! `share.version=1`, or 4.2 and later; renewing locks and exact limits of a poll need 4.2.
//!
//! Records come from the partitions' leaders alone: share groups have no fetching from followers
//! (KIP-392), as only the leader knows who holds what. `client.rack` goes to the group's assignor.
//!
//! A group starts at the end of its topics unless its setting `share.auto.offset.reset` says
//! `earliest`; see [`ShareAdmin::set_group_config`].
//!
//! # Acknowledging
//! | Mode | Records count as accepted |
//! |---|---|
//! | implicit (default) | by the next poll, or a commit; close releases those of the last poll |
//! | explicit | by [`ShareConsumer::acknowledge`]; what is not acknowledged comes back when its lock ends |
//! | explicit, strict | the same, and a poll before all are acknowledged is an error |
//!
//! Acknowledgements ride on the next fetch, and are sent by themselves after
//! [`flush_interval`](ShareConsumerBuilder::flush_interval) or when a commit waits. Each one ends
//! in an [`AckResult`]: in the report of the commit that waited for it, and in the callback
//! [`on_acknowledged`](ShareConsumerBuilder::on_acknowledged).
//!
//! # How it works inside
//! ```text
//! heartbeat task --assignment--> router task --partitions by leader--> one task per node
//!                                     ^ metadata                        | ShareFetch, one in flight
//! poll <-- buffer of records <----------------------------------------- + acknowledgements ride along
//! ```
//! `membership`, `session`, `book`, `runs` and `acquired` are state machines without I/O or clock;
//! `state` joins them under one lock; `node` and `tasks` do the I/O.

mod acquired;
mod admin;
mod book;
mod config;
mod consumer;
mod dead_letter;
mod decode;
mod error;
mod membership;
mod node;
mod plan;
mod record;
mod runner;
mod runs;
mod session;
mod state;
pub(crate) mod stats;
mod stream;
mod tasks;

pub use admin::{ShareAdmin, ShareGroupDescription, ShareMember, ShareOffset};
pub use config::ShareConsumerBuilder;
pub use consumer::{Commit, ShareConsumer};
pub use dead_letter::{DeadLetter, DeadLetterError};
pub use error::{AckError, AckResult, CommitReport, ShareError};
pub use record::{ShareHeader, ShareRecord, ShareRecords};
pub use runner::FailurePolicy;
pub use stream::ShareStream;

use crate::wire::Uuid;

/// What is said about a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AckType {
    /// Done: never handed out again.
    Accept,
    /// Not done: handed out again, unless it was delivered as often as the group allows.
    Release,
    /// Not to be done by anyone: archived, and copied to the group's dead-letter topic if it has
    /// one (Kafka 4.4).
    Reject,
    /// More time is needed: the lock starts anew (KIP-1222, Kafka 4.2). The record stays with
    /// this consumer and has to be acknowledged later.
    Renew,
}

impl AckType {
    fn kind(self) -> book::Kind {
        match self {
            Self::Accept => book::Kind::Accept,
            Self::Release => book::Kind::Release,
            Self::Reject => book::Kind::Reject,
            Self::Renew => book::Kind::Renew,
        }
    }

    fn of(kind: book::Kind) -> Option<Self> {
        match kind {
            book::Kind::Gap => None,
            book::Kind::Accept => Some(Self::Accept),
            book::Kind::Release => Some(Self::Release),
            book::Kind::Reject => Some(Self::Reject),
            book::Kind::Renew => Some(Self::Renew),
        }
    }
}

/// A partition by its topic's id: a topic created again under an old name is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct PartitionId {
    topic: Uuid,
    partition: i32,
}

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod scripted_ending_tests;
#[cfg(test)]
mod scripted_surface_tests;
#[cfg(test)]
mod scripted_tests;
