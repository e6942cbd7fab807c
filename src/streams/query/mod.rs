//! Interactive queries: reading the stores of a running application from outside.
//!
//! | Version | Entry | What |
//! |---|---|---|
//! | 1 | [`ReadOnlyKeyValueStore`] | a view that reads the local partitions of a store as one |
//! | 2 | [`StateQueryRequest`] | one query, a result per partition, position bounds |
//!
//! `registry` is what the runtime fills: which stores are here, of which partition, in which
//! role. Queries read while processing writes; none of them waits for a task.
//!
//! Queries for windows, sessions and versions come as further types in `request` and further
//! views beside `view`.

mod error;
mod registry;
mod request;
#[cfg(test)]
mod tests;
mod view;

pub use error::{FailureReason, QueryError};
pub(crate) use registry::{ClientPhase, LocalStore, Role, StoreRegistry};
pub(crate) use request::query;
pub use request::{
    InStore, KeyQuery, Query, QueryFailure, QueryResult, RangeQuery, StateQueryRequest,
    StateQueryResult, TimestampedKeyQuery, TimestampedRangeQuery,
};
pub use view::{ReadOnlyKeyValueStore, StoreQueryParameters, ViewIter};
