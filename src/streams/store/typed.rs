//! Stores with types: serdes over the bytes.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

use super::bytes_store::{EntryIter, KeyRange, Order};
use super::error::StoreError;
use super::spec::{StoreSpec, StoreSupplier, Stores};
use super::state_store::{StateStore, join_timestamp, split_timestamp};
use crate::streams::error::BoxError;
use crate::streams::record::Headers;
use crate::streams::serde::{DeserializeContext, Part, Serde, SerializeContext};

type Encode<T> = dyn Fn(&str, &T) -> Result<Option<Bytes>, BoxError> + Send + Sync;
type Decode<T> = dyn Fn(&str, &Bytes) -> Result<T, BoxError> + Send + Sync;

/// Both directions between a type and its bytes, as a store uses them.
pub(crate) struct Codec<T> {
    encode: Arc<Encode<T>>,
    decode: Arc<Decode<T>>,
}

impl<T> Clone for Codec<T> {
    fn clone(&self) -> Self {
        Self { encode: self.encode.clone(), decode: self.decode.clone() }
    }
}

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Codec<{}>", std::any::type_name::<T>())
    }
}

impl<T: 'static> Codec<T> {
    /// The codec of a serde. A value that the serde writes as null is none to the store.
    pub(crate) fn of(serde: impl Serde<T>, part: Part) -> Self {
        let serde = Arc::new(serde);
        let (writer, reader) = (serde.clone(), serde);
        let scratch = Mutex::new(BytesMut::new());
        Self {
            encode: Arc::new(move |topic, value| {
                if writer.is_null(value) {
                    return Ok(None);
                }
                let mut headers = Headers::new();
                let mut cx = SerializeContext { topic, part, headers: &mut headers };
                let mut scratch = scratch.lock();
                scratch.clear();
                writer.serialize(&mut cx, value, &mut scratch)?;
                // Memory of its own and no larger than needed: stores keep it for long.
                Ok(Some(Bytes::copy_from_slice(&scratch)))
            }),
            decode: Arc::new(move |topic, bytes| {
                let headers = Headers::new();
                let cx = DeserializeContext { topic, part, headers: &headers };
                Ok(reader.deserialize(&cx, bytes)?)
            }),
        }
    }

    /// The codec of a timestamped store: eight bytes of timestamp, then the value.
    fn timestamped(self, store: Arc<str>) -> Codec<ValueAndTimestamp<T>> {
        let Self { encode, decode } = self;
        Codec {
            encode: Arc::new(move |topic, pair: &ValueAndTimestamp<T>| {
                let value = encode(topic, &pair.value)?;
                Ok(value.map(|value| join_timestamp(pair.timestamp, &value)))
            }),
            decode: Arc::new(move |topic, bytes| {
                let (timestamp, value) = split_timestamp(&store, bytes)?;
                Ok(ValueAndTimestamp { value: decode(topic, &value)?, timestamp })
            }),
        }
    }
}

/// A value and the time, in milliseconds, of the record that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueAndTimestamp<V> {
    /// The value.
    pub value: V,
    /// Its time; -1 where unknown.
    pub timestamp: i64,
}

/// A key-value store of one task.
///
/// A clone is another handle of the same store. The order of keys is that of their serialized
/// bytes, compared unsigned: negative integers come after positive ones.
///
/// All methods fail when the disk fails, when a serde fails, and after the store was closed.
pub struct KeyValueStore<K, V> {
    store: Arc<StateStore>,
    /// Changelog topic, for the serdes.
    topic: Arc<str>,
    keys: Codec<K>,
    values: Codec<V>,
}

/// A key-value store whose values carry the time of the record that set them; what the DSL uses
/// for tables.
pub type TimestampedKeyValueStore<K, V> = KeyValueStore<K, ValueAndTimestamp<V>>;

impl<K, V> Clone for KeyValueStore<K, V> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            topic: self.topic.clone(),
            keys: self.keys.clone(),
            values: self.values.clone(),
        }
    }
}

impl<K, V> fmt::Debug for KeyValueStore<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValueStore").field("name", self.store.name()).finish_non_exhaustive()
    }
}

/// Entries of a store, read as the iterator advances. After an error there are no more.
pub struct KeyValueIter<K, V> {
    entries: EntryIter,
    store: Arc<str>,
    topic: Arc<str>,
    keys: Codec<K>,
    values: Codec<V>,
    failed: bool,
}

impl<K, V> fmt::Debug for KeyValueIter<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValueIter").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<K, V> Iterator for KeyValueIter<K, V> {
    type Item = Result<(K, V), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.entries.next()?.and_then(|(key, value)| {
            Ok((
                decode(&self.store, &self.topic, "key", &self.keys, &key)?,
                decode(&self.store, &self.topic, "value", &self.values, &value)?,
            ))
        });
        self.failed = item.is_err();
        Some(item)
    }
}

fn decode<T>(
    store: &Arc<str>,
    topic: &str,
    what: &'static str,
    codec: &Codec<T>,
    bytes: &Bytes,
) -> Result<T, StoreError> {
    (codec.decode)(topic, bytes).map_err(|error| serde_error(store, "deserialize", what, &error))
}

fn serde_error(
    store: &Arc<str>,
    direction: &'static str,
    what: &'static str,
    error: &BoxError,
) -> StoreError {
    StoreError::Serde { store: store.clone(), direction, what, cause: error.to_string().into() }
}

impl<K, V> KeyValueStore<K, V> {
    /// `topic` is what the serdes are told.
    pub(crate) fn new(
        store: Arc<StateStore>,
        topic: Arc<str>,
        keys: Codec<K>,
        values: Codec<V>,
    ) -> Self {
        Self { store, topic, keys, values }
    }

    pub(crate) fn state(&self) -> &Arc<StateStore> {
        &self.store
    }

    /// Name of the store.
    pub fn name(&self) -> &str {
        self.store.name()
    }

    /// Whether the data survives the process.
    pub fn persistent(&self) -> bool {
        self.store.persistent()
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Result<Option<V>, StoreError> {
        self.decode_value(self.store.get(&self.encode_key(key)?)?)
    }

    /// Sets the value of `key`; `None` deletes it.
    pub fn put(&self, key: &K, value: Option<&V>) -> Result<(), StoreError> {
        self.store.put(self.encode_key(key)?, self.encode_value(value)?)
    }

    /// Sets the value of `key` if it has none, and returns the value that it already had.
    pub fn put_if_absent(&self, key: &K, value: Option<&V>) -> Result<Option<V>, StoreError> {
        let existing =
            self.store.put_if_absent(self.encode_key(key)?, self.encode_value(value)?)?;
        self.decode_value(existing)
    }

    /// Sets several keys, one after the other.
    pub fn put_all<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a K, Option<&'a V>)>,
    ) -> Result<(), StoreError>
    where
        K: 'a,
        V: 'a,
    {
        entries.into_iter().try_for_each(|(key, value)| self.put(key, value))
    }

    /// Removes `key` and returns the value that it had.
    pub fn delete(&self, key: &K) -> Result<Option<V>, StoreError> {
        let key = self.encode_key(key)?;
        let existing = self.store.get(&key)?;
        self.store.put(key, None)?;
        self.decode_value(existing)
    }

    /// Entries with keys from `from` to `to`, both included; `None` leaves an end open. Nothing
    /// if `from` is after `to` in the order of bytes.
    pub fn range(
        &self,
        from: Option<&K>,
        to: Option<&K>,
    ) -> Result<KeyValueIter<K, V>, StoreError> {
        self.read(&self.key_range(from, to)?, Order::Ascending)
    }

    /// As [`range`](Self::range), from the largest key to the smallest.
    pub fn reverse_range(
        &self,
        from: Option<&K>,
        to: Option<&K>,
    ) -> Result<KeyValueIter<K, V>, StoreError> {
        self.read(&self.key_range(from, to)?, Order::Descending)
    }

    /// All entries.
    pub fn all(&self) -> Result<KeyValueIter<K, V>, StoreError> {
        self.read(&KeyRange::ALL, Order::Ascending)
    }

    /// All entries, from the largest key to the smallest.
    pub fn reverse_all(&self) -> Result<KeyValueIter<K, V>, StoreError> {
        self.read(&KeyRange::ALL, Order::Descending)
    }

    /// Entries whose serialized key begins with `prefix`.
    pub fn prefix_scan(&self, prefix: &[u8]) -> Result<KeyValueIter<K, V>, StoreError> {
        self.read(&KeyRange::prefix(prefix), Order::Ascending)
    }

    /// Number of entries; on disk an estimate, which counts overwritten and deleted entries
    /// until they are compacted away. Cached writes do not count.
    pub fn approximate_num_entries(&self) -> Result<u64, StoreError> {
        self.store.approximate_num_entries()
    }

    /// Reads for a query: the cache stays as it is, or is not even looked at.
    pub(crate) fn peek(&self, key: &K, skip_cache: bool) -> Result<Option<V>, StoreError> {
        self.decode_value(self.store.peek(&self.encode_key(key)?, skip_cache)?)
    }

    pub(crate) fn read(
        &self,
        range: &KeyRange,
        order: Order,
    ) -> Result<KeyValueIter<K, V>, StoreError> {
        Ok(self.typed(self.store.range(range, order)?))
    }

    pub(crate) fn read_below_cache(
        &self,
        range: &KeyRange,
        order: Order,
    ) -> Result<KeyValueIter<K, V>, StoreError> {
        Ok(self.typed(self.store.range_below_cache(range, order)?))
    }

    pub(crate) fn key_range(
        &self,
        from: Option<&K>,
        to: Option<&K>,
    ) -> Result<KeyRange, StoreError> {
        let bound = |key: Option<&K>| key.map(|key| self.encode_key(key)).transpose();
        let range = KeyRange::inclusive(bound(from)?, bound(to)?);
        if range.is_empty() {
            log::warn!(
                target: crate::LOG_TARGET,
                "state store {}: a range that ends before it begins is empty; keys compare by \
                 their serialized bytes, where negative integers come last",
                self.store.name()
            );
        }
        Ok(range)
    }

    fn typed(&self, entries: EntryIter) -> KeyValueIter<K, V> {
        KeyValueIter {
            entries,
            store: self.store.name().clone(),
            topic: self.topic.clone(),
            keys: self.keys.clone(),
            values: self.values.clone(),
            failed: false,
        }
    }

    pub(crate) fn encode_key(&self, key: &K) -> Result<Bytes, StoreError> {
        let name = self.store.name();
        (self.keys.encode)(&self.topic, key)
            .map_err(|error| serde_error(name, "serialize", "key", &error))?
            .ok_or_else(|| StoreError::NullKey { store: name.clone() })
    }

    fn encode_value(&self, value: Option<&V>) -> Result<Option<Bytes>, StoreError> {
        let Some(value) = value else { return Ok(None) };
        (self.values.encode)(&self.topic, value)
            .map_err(|error| serde_error(self.store.name(), "serialize", "value", &error))
    }

    pub(crate) fn decode_key(&self, key: &Bytes) -> Result<K, StoreError> {
        decode(self.store.name(), &self.topic, "key", &self.keys, key)
    }

    /// The value that these bytes of the store are, as a flush forwards it.
    pub(crate) fn decode_value(&self, value: Option<Bytes>) -> Result<Option<V>, StoreError> {
        value
            .map(|value| decode(self.store.name(), &self.topic, "value", &self.values, &value))
            .transpose()
    }
}

/// Makes the typed handle of a task's store, given its changelog topic (where it has none, the
/// name that the topic would have); held by the topology without its types.
pub(crate) type Facade =
    Arc<dyn Fn(Arc<StateStore>, Arc<str>) -> Arc<dyn Any + Send + Sync> + Send + Sync>;

/// A store for a topology, with its types and settings. Serdes may be shared as `Arc`s.
#[derive(Debug, Clone)]
pub struct StoreBuilder<K, V> {
    spec: StoreSpec,
    keys: Codec<K>,
    values: Codec<V>,
}

impl Stores {
    /// A store of plain values.
    pub fn key_value_builder<K: 'static, V: 'static>(
        supplier: StoreSupplier,
        keys: impl Serde<K>,
        values: impl Serde<V>,
    ) -> StoreBuilder<K, V> {
        let (keys, values) = (Codec::of(keys, Part::Key), Codec::of(values, Part::Value));
        StoreBuilder { spec: StoreSpec::new(supplier), keys, values }
    }

    /// A store of values with their timestamps. Its changelog has the plain values, with the
    /// timestamps as those of the records.
    pub fn timestamped_key_value_builder<K: 'static, V: 'static>(
        supplier: StoreSupplier,
        keys: impl Serde<K>,
        values: impl Serde<V>,
    ) -> StoreBuilder<K, ValueAndTimestamp<V>> {
        let keys = Codec::of(keys, Part::Key);
        let values = Codec::of(values, Part::Value).timestamped(supplier.name().clone());
        StoreBuilder { spec: StoreSpec::timestamped(supplier), keys, values }
    }
}

impl<K: 'static, V: 'static> StoreBuilder<K, V> {
    /// Holds writes back until the next commit, or until the cache is full, so that several
    /// writes of a key become one. Off unless switched on.
    #[must_use]
    pub fn caching(mut self, enabled: bool) -> Self {
        self.spec.caching = enabled;
        self
    }

    /// Writes changes to a changelog topic, from which the store is rebuilt elsewhere. On unless
    /// switched off; without it, the data is lost with the task's directory.
    #[must_use]
    pub fn logging(mut self, enabled: bool) -> Self {
        self.spec.logging = enabled;
        self
    }

    /// Configs of the changelog topic, over the library's own.
    #[must_use]
    pub fn changelog_configs(mut self, configs: BTreeMap<String, String>) -> Self {
        self.spec.changelog_configs = configs;
        self
    }

    /// Name of the store.
    pub fn name(&self) -> &Arc<str> {
        &self.spec.name
    }

    /// What tasks open, and how their stores get their types.
    pub(crate) fn into_parts(self) -> (Arc<StoreSpec>, Facade) {
        let Self { spec, keys, values } = self;
        let facade: Facade = Arc::new(move |store, topic| {
            Arc::new(KeyValueStore::new(store, topic, keys.clone(), values.clone()))
        });
        (Arc::new(spec), facade)
    }
}
