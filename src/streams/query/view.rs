//! Interactive queries, version 1: a read-only view over the local partitions of a store.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use super::error::QueryError;
use super::registry::{LocalStore, StoreRegistry};
use crate::streams::store::{
    KeyRange, KeyValueIter, KeyValueStore, Order, StoreError, ValueAndTimestamp,
};

/// Which store a view reads.
#[derive(Debug, Clone)]
pub struct StoreQueryParameters {
    name: Arc<str>,
    partition: Option<i32>,
    stale: bool,
}

impl StoreQueryParameters {
    /// The store of this name: all its local partitions, active tasks only.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), partition: None, stale: false }
    }

    /// Only this partition.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// Also stores that are behind: being restored, or standby copies.
    #[must_use]
    pub fn stale_stores(mut self, allowed: bool) -> Self {
        self.stale = allowed;
        self
    }
}

/// Reads the local partitions of a store as one, while processing runs.
///
/// A view may be kept: each call finds the stores that are local then, and fails with an error
/// that tells whether to retry here or elsewhere. With a plain value type it also reads
/// timestamped stores, without the timestamps; ask for [`ValueAndTimestamp`] to have them.
pub struct ReadOnlyKeyValueStore<K, V> {
    registry: Arc<StoreRegistry>,
    parameters: StoreQueryParameters,
    types: std::marker::PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for ReadOnlyKeyValueStore<K, V> {
    fn clone(&self) -> Self {
        Self {
            registry: self.registry.clone(),
            parameters: self.parameters.clone(),
            types: self.types,
        }
    }
}

impl<K, V> fmt::Debug for ReadOnlyKeyValueStore<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyKeyValueStore")
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

/// Entries of all local partitions, one partition after the other: ordered by key within each,
/// not over all.
pub type ViewIter<K, V> = Box<dyn Iterator<Item = Result<(K, V), StoreError>> + Send>;

/// A local store as the types of a view see it.
pub(super) enum Typed<'a, K, V> {
    Exact(&'a KeyValueStore<K, V>),
    Timestamped(&'a KeyValueStore<K, ValueAndTimestamp<V>>),
}

pub(super) fn typed<K: 'static, V: 'static>(local: &LocalStore) -> Option<Typed<'_, K, V>> {
    let exact = local.facade.downcast_ref().map(Typed::Exact);
    exact.or_else(|| local.facade.downcast_ref().map(Typed::Timestamped))
}

fn strip<K, V>(item: Result<(K, ValueAndTimestamp<V>), StoreError>) -> Result<(K, V), StoreError> {
    item.map(|(key, pair)| (key, pair.value))
}

impl<K: 'static, V: 'static> Typed<'_, K, V> {
    pub(super) fn get(&self, key: &K, skip_cache: bool) -> Result<Option<V>, StoreError> {
        match self {
            Self::Exact(store) => store.peek(key, skip_cache),
            Self::Timestamped(store) => Ok(store.peek(key, skip_cache)?.map(|pair| pair.value)),
        }
    }

    pub(super) fn key_range(
        &self,
        from: Option<&K>,
        to: Option<&K>,
    ) -> Result<KeyRange, StoreError> {
        match self {
            Self::Exact(store) => store.key_range(from, to),
            Self::Timestamped(store) => store.key_range(from, to),
        }
    }

    fn read(&self, range: &KeyRange, order: Order) -> Result<ViewIter<K, V>, StoreError> {
        Ok(match self {
            Self::Exact(store) => Box::new(store.read(range, order)?),
            Self::Timestamped(store) => Box::new(store.read(range, order)?.map(strip)),
        })
    }

    pub(super) fn read_below_cache(
        &self,
        range: &KeyRange,
        order: Order,
    ) -> Result<ViewIter<K, V>, StoreError> {
        Ok(match self {
            Self::Exact(store) => {
                let entries: KeyValueIter<K, V> = store.read_below_cache(range, order)?;
                Box::new(entries)
            }
            Self::Timestamped(store) => Box::new(store.read_below_cache(range, order)?.map(strip)),
        })
    }
}

impl<K: 'static, V: 'static> ReadOnlyKeyValueStore<K, V> {
    /// A view, if the store is there now and has these types.
    ///
    /// # Errors
    /// As every later call.
    pub(crate) fn open(
        registry: Arc<StoreRegistry>,
        parameters: StoreQueryParameters,
    ) -> Result<Self, QueryError> {
        let view = Self { registry, parameters, types: std::marker::PhantomData };
        view.each(|_| Ok(()))?;
        Ok(view)
    }

    /// The value of `key`, from the first partition that has one.
    ///
    /// # Errors
    /// When the store is not readable here, or fails.
    pub fn get(&self, key: &K) -> Result<Option<V>, QueryError> {
        let mut found = None;
        self.each(|store| {
            if found.is_none() {
                found = store.get(key, false)?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Entries with keys from `from` to `to`, both included; `None` leaves an end open.
    ///
    /// # Errors
    /// When the store is not readable here; failing reads come from the iterator.
    pub fn range(&self, from: Option<&K>, to: Option<&K>) -> Result<ViewIter<K, V>, QueryError> {
        self.chain(Order::Ascending, |store| store.key_range(from, to))
    }

    /// As [`range`](Self::range), each partition from its largest key to its smallest.
    ///
    /// # Errors
    /// As [`range`](Self::range).
    pub fn reverse_range(
        &self,
        from: Option<&K>,
        to: Option<&K>,
    ) -> Result<ViewIter<K, V>, QueryError> {
        self.chain(Order::Descending, |store| store.key_range(from, to))
    }

    /// All entries.
    ///
    /// # Errors
    /// As [`range`](Self::range).
    pub fn all(&self) -> Result<ViewIter<K, V>, QueryError> {
        self.chain(Order::Ascending, |_| Ok(KeyRange::ALL))
    }

    /// All entries, each partition from its largest key to its smallest.
    ///
    /// # Errors
    /// As [`range`](Self::range).
    pub fn reverse_all(&self) -> Result<ViewIter<K, V>, QueryError> {
        self.chain(Order::Descending, |_| Ok(KeyRange::ALL))
    }

    /// Entries whose serialized key begins with `prefix`.
    ///
    /// # Errors
    /// As [`range`](Self::range).
    pub fn prefix_scan(&self, prefix: &[u8]) -> Result<ViewIter<K, V>, QueryError> {
        self.chain(Order::Ascending, |_| Ok(KeyRange::prefix(prefix)))
    }

    /// Number of entries over the local partitions, an estimate for stores on disk.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn approximate_num_entries(&self) -> Result<u64, QueryError> {
        let mut sum = 0_u64;
        self.each(|store| {
            let count = match store {
                Typed::Exact(store) => store.approximate_num_entries()?,
                Typed::Timestamped(store) => store.approximate_num_entries()?,
            };
            sum = sum.saturating_add(count);
            Ok(())
        })?;
        Ok(sum)
    }

    fn chain(
        &self,
        order: Order,
        range: impl Fn(&Typed<'_, K, V>) -> Result<KeyRange, StoreError>,
    ) -> Result<ViewIter<K, V>, QueryError> {
        let mut parts = Vec::new();
        self.each(|store| {
            parts.push(store.read(&range(store)?, order)?);
            Ok(())
        })?;
        Ok(Box::new(parts.into_iter().flatten()))
    }

    fn each(
        &self,
        mut act: impl FnMut(&Typed<'_, K, V>) -> Result<(), StoreError>,
    ) -> Result<(), QueryError> {
        let StoreQueryParameters { name, partition, stale } = &self.parameters;
        for local in self.registry.readable(name, *partition, *stale)? {
            let store = typed::<K, V>(&local).ok_or_else(|| QueryError::TypeMismatch {
                store: name.clone(),
                asked: type_name::<(K, V)>(),
            })?;
            act(&store)?;
        }
        Ok(())
    }
}
