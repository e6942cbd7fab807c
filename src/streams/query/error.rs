//! Why a query has no answer.

use std::sync::Arc;

use crate::streams::store::StoreError;

/// A query as a whole, or a call on a view, failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The client was not started.
    #[error("the streams client is not started; call start and wait for RUNNING before querying")]
    NotStarted,
    /// The client is closing or closed.
    #[error("the streams client is closed; query another instance")]
    Stopped,
    /// No store of this name is in the topology.
    #[error("there is no state store {store} in the topology; it has: {known}")]
    UnknownStore {
        /// The name asked for.
        store: Arc<str>,
        /// Names that exist, comma-separated, or `none`.
        known: String,
    },
    /// A thread is not running, so that the store may be incomplete or elsewhere. Retry.
    #[error(
        "state store {store} is not available while tasks are being assigned; retry, or allow stale stores"
    )]
    Rebalancing {
        /// Name of the store.
        store: Arc<str>,
    },
    /// No partition of the store is here. It may have moved to another instance: look up where.
    #[error(
        "state store {store} is not on this instance; it may have migrated, look up its host again"
    )]
    NotHere {
        /// Name of the store.
        store: Arc<str>,
    },
    /// The partition that was asked for is not here.
    #[error(
        "partition {partition} of state store {store} is not on this instance; look up its host again"
    )]
    PartitionNotHere {
        /// Name of the store.
        store: Arc<str>,
        /// The partition.
        partition: i32,
    },
    /// The store has other types than the query.
    #[error(
        "state store {store} has not the types asked for, {asked}; use those that the topology gives it"
    )]
    TypeMismatch {
        /// Name of the store.
        store: Arc<str>,
        /// Types of key and value that were asked for.
        asked: &'static str,
    },
    /// The store failed or was closed meanwhile.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why one partition gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureReason {
    /// The store cannot answer this kind of query, or not with these types.
    UnknownQueryType,
    /// Only a running active task may answer, and this is none.
    NotActive,
    /// The store is older than the position bound.
    NotUpToBound,
    /// The partition is not on this instance.
    NotPresent,
    /// No such partition exists.
    DoesNotExist,
    /// The store failed.
    StoreError,
}
