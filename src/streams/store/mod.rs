//! State stores: where a stream task keeps what it must remember.
//!
//! # Layers
//!
//! | Layer | File | What |
//! |---|---|---|
//! | facade | `typed` | serdes, null keys refused, `KeyValueStore<K, V>` and its timestamped twin, read-only views |
//! | cache | `cache` | optional: writes of one key between two commits become one |
//! | state store | `state_store` | one store of one task: cache, changelog records, position, value format |
//! | bytes | `bytes_store` | the trait; `memory` and `persistent` implement it |
//!
//! `ordered`, `rows` and `merge` are the building bricks below; `database` is the disk's engine; `task_stores` holds the stores of one
//! task and drives opening, restoring, committing and rolling back; `restore` has the listener;
//! `state_dir` has the directory, its locks and the cleaner.
//!
//! # Life, as the task drives it
//!
//! 1. `StateDirectory::open` once per process; `task_directory(id)` takes the task's lock.
//! 2. `TaskStores::open(specs, env)` opens all stores. `checkpoint(store)` says how far each
//!    is; the changelog is read from the offset after it, and fed by `restore(store, batch)`.
//! 3. Before each record the task sets `CurrentRecord`; processors write through the facades.
//! 4. After each record the task takes `drain_changelog` to its collector. If
//!    `flush_requested`, a cache is over its budget: the task runs the flush of that store now.
//! 5. Flush: `store.take_dirty()` gives the dirty entries in the order in which they are to be
//!    forwarded; `store.write_back(entry)` writes each to store and changelog and gives the
//!    change to forward, or nothing. The entry stays readable all the while.
//! 6. Commit: flush in registration order, let the producer finish, then
//!    `commit(offsets of the changelogs)`. Data and offsets become durable together or not
//!    at all. An aborted transaction is `rollback()`.
//!
//! # Room for other kinds
//!
//! Windows and sessions are key schemas over the same `BytesStore` with expiry by segments: they
//! go into `window/` and `session/` beside `typed`, each with its schema, its facade and, for
//! the cache, segment-prefixed keys. Versioned stores go into `versioned/`, over one
//! `BytesStore` with the segment id as key prefix. `ValueFormat` gains a variant for values that
//! carry headers.

mod bytes_store;
mod cache;
mod context;
mod database;
mod error;
mod memory;
mod merge;
mod ordered;
mod persistent;
mod position;
mod restore;
mod rows;
mod spec;
mod state_dir;
mod state_store;
mod task_stores;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod typed;

pub use bytes_store::{BytesStore, Checkpoint, Entry, EntryIter, KeyRange, Order, RestoreEntry};
pub(crate) use cache::CacheBudget;
pub(crate) use context::{CurrentRecord, WriteContext};
pub(crate) use database::DiskEngine;
pub use database::DiskOptions;
pub use error::StoreError;
pub use position::{Position, PositionBound};
pub use restore::{RestoreListener, RestoreSource};
pub(crate) use restore::{RestoreProgress, RestoreRecord};
pub(crate) use spec::StoreSpec;
pub use spec::{StoreSupplier, Stores};
pub(crate) use state_dir::StateDirectory;
pub(crate) use state_store::StateStore;
pub(crate) use task_stores::{DiskPlace, StoreEnv, TaskStores};
pub(crate) use typed::Facade;
pub use typed::{
    KeyValueIter, KeyValueStore, StoreBuilder, TimestampedKeyValueStore, ValueAndTimestamp,
};
