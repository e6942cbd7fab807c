//! One store of one task: the cache, the changelog and the position around the bytes.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;

use super::bytes_store::{BytesStore, Checkpoint, EntryIter, KeyRange, Order};
use super::cache::{CacheBudget, DirtyEntry, StoreCache};
use super::context::{CurrentRecord, WriteContext};
use super::error::StoreError;
use super::merge::merge;
use super::position::Position;
use super::restore::RestoreRecord;
use super::spec::{StoreSpec, ValueFormat};
use crate::streams::record::Headers;

const TIMESTAMP: usize = size_of::<i64>();

/// A record for the changelog topic, to the partition of the task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangelogRecord {
    pub key: Bytes,
    /// `None` deletes the key.
    pub value: Option<Bytes>,
    pub timestamp: i64,
    pub headers: Headers,
}

/// A change that a flush is to forward to the children of the node that owns the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlushedChange {
    pub key: Bytes,
    /// Values as they lie in the store, that is with their timestamp where the store has one.
    pub new: Option<Bytes>,
    pub old: Option<Bytes>,
    /// Of the last write of the key; becomes the record context of what is forwarded.
    pub context: WriteContext,
}

/// One store of one task. Its owner writes through it; queries read through it meanwhile.
pub(crate) struct StateStore {
    name: Arc<str>,
    format: ValueFormat,
    bytes: Arc<dyn BytesStore>,
    cache: Option<StoreCache>,
    changelog: Option<Mutex<Vec<ChangelogRecord>>>,
    current: Arc<CurrentRecord>,
    position: Mutex<Tracked>,
}

/// A position with its newest component apart, since one partition after the other is rare:
/// most writes come from the partition of the write before.
#[derive(Default)]
struct Tracked {
    base: Position,
    last: Option<(Arc<str>, i32, i64)>,
}

impl Tracked {
    fn update(&mut self, topic: &Arc<str>, partition: i32, offset: i64) {
        match &mut self.last {
            Some((known, part, newest)) if Arc::ptr_eq(known, topic) && *part == partition => {
                *newest = (*newest).max(offset);
            }
            last => {
                if let Some((topic, part, newest)) =
                    last.replace((topic.clone(), partition, offset))
                {
                    self.base.update(&topic, part, newest);
                }
            }
        }
    }

    fn get(&mut self) -> Position {
        if let Some((topic, part, newest)) = &self.last {
            self.base.update(topic, *part, *newest);
        }
        self.base.clone()
    }
}

impl StateStore {
    pub(super) fn new(
        spec: &StoreSpec,
        bytes: Arc<dyn BytesStore>,
        cache: &Arc<CacheBudget>,
        current: Arc<CurrentRecord>,
    ) -> Self {
        let position = Tracked { base: bytes.checkpoint().position, last: None };
        Self {
            name: spec.name.clone(),
            format: spec.format,
            bytes,
            cache: (spec.caching && cache.is_enabled()).then(|| StoreCache::new(cache.clone())),
            changelog: spec.logging.then(Mutex::default),
            current,
            position: Mutex::new(position),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn format(&self) -> ValueFormat {
        self.format
    }

    pub(crate) fn persistent(&self) -> bool {
        self.bytes.persistent()
    }

    pub(crate) fn is_logged(&self) -> bool {
        self.changelog.is_some()
    }

    /// Whether the flush of a cache forwards changes, and so the operator must not.
    pub(crate) fn is_cached(&self) -> bool {
        self.cache.is_some()
    }

    /// Timestamp of the record being processed.
    pub(crate) fn current_timestamp(&self) -> i64 {
        self.current.with(|context| context.timestamp)
    }

    /// Reads for the owner of the store: what it reads often stays in the cache.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let Some(cache) = &self.cache else { return self.bytes.get(key) };
        if let Some(value) = cache.get(key) {
            return Ok(value);
        }
        let value = self.bytes.get(key)?;
        if let Some(value) = &value {
            cache.insert_clean(Bytes::copy_from_slice(key), value.clone());
        }
        Ok(value)
    }

    /// Reads for a query, which leaves the cache as it is.
    pub(crate) fn peek(&self, key: &[u8], skip_cache: bool) -> Result<Option<Bytes>, StoreError> {
        match &self.cache {
            Some(cache) if !skip_cache => match cache.peek(key) {
                Some(value) => Ok(value),
                None => self.bytes.get(key),
            },
            _ => self.bytes.get(key),
        }
    }

    pub(crate) fn put(&self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError> {
        match &self.cache {
            Some(cache) => {
                cache.put(key, value, self.current.get());
                Ok(())
            }
            None => self.current.with(|context| self.write_through(key, value, context)),
        }
    }

    /// Sets the value if the key has none, and returns the value that it had.
    pub(crate) fn put_if_absent(
        &self,
        key: Bytes,
        value: Option<Bytes>,
    ) -> Result<Option<Bytes>, StoreError> {
        let existing = self.get(&key)?;
        if existing.is_none() {
            self.put(key, value)?;
        }
        Ok(existing)
    }

    /// Entries in order, cached writes included.
    pub(crate) fn range(&self, range: &KeyRange, order: Order) -> Result<EntryIter, StoreError> {
        let Some(cache) = &self.cache else { return self.bytes.range(range, order) };
        // The cache first: what a flush moves down in between is then seen twice, not never.
        let unwritten = cache.unwritten(range, order);
        let below = self.bytes.range(range, order)?;
        if unwritten.is_empty() {
            return Ok(below);
        }
        let below = below.map(|entry| entry.map(|(key, value)| (key, Some(value))));
        Ok(merge(vec![Box::new(unwritten.into_iter().map(Ok)), Box::new(below)], order))
    }

    /// Entries of the store below the cache: queries of Kafka Streams miss cached writes here.
    pub(crate) fn range_below_cache(
        &self,
        range: &KeyRange,
        order: Order,
    ) -> Result<EntryIter, StoreError> {
        self.bytes.range(range, order)
    }

    pub(crate) fn approximate_num_entries(&self) -> Result<u64, StoreError> {
        self.bytes.approximate_num_entries()
    }

    /// Input offsets that the store reflects, cached writes not included.
    pub(crate) fn position(&self) -> Position {
        self.position.lock().get()
    }

    /// Input offsets that a query sees reflected: a cached write counts, since reads find it.
    pub(crate) fn position_with_cache(&self) -> Position {
        let mut position = self.position();
        if let Some(cache) = &self.cache {
            position.merge(&cache.position());
        }
        position
    }

    pub(crate) fn uncommitted_bytes(&self) -> usize {
        self.bytes.uncommitted_bytes()
    }

    /// Offset of the last changelog record that a restart would find in the store.
    pub(crate) fn checkpoint_offset(&self) -> Option<i64> {
        self.bytes.checkpoint().offset
    }

    /// Whether a write ran over the cache's budget: the task is to flush this store now.
    pub(crate) fn flush_requested(&self) -> bool {
        self.cache.as_ref().is_some_and(StoreCache::flush_requested)
    }

    /// The cache's dirty entries, in the order in which they are to be written and forwarded.
    pub(crate) fn take_dirty(&self) -> Vec<DirtyEntry> {
        self.cache.as_ref().map(StoreCache::take_dirty).unwrap_or_default()
    }

    /// Writes one dirty entry to store and changelog and returns what to forward. Nothing is
    /// written or forwarded for the deletion of a key that the store never had.
    ///
    /// `read_old` is whether somebody downstream wants the old value; without it, it is read
    /// only where the deletion needs it.
    pub(crate) fn write_back(
        &self,
        entry: &DirtyEntry,
        read_old: bool,
    ) -> Result<Option<FlushedChange>, StoreError> {
        let old =
            if read_old || entry.value.is_none() { self.bytes.get(&entry.key)? } else { None };
        let absent = entry.value.is_none() && old.is_none();
        if !absent {
            self.write_through(entry.key.clone(), entry.value.clone(), &entry.context)?;
        }
        if let Some(cache) = &self.cache {
            cache.written(entry);
        }
        Ok((!absent).then(|| FlushedChange {
            key: entry.key.clone(),
            new: entry.value.clone(),
            old: old.filter(|_| read_old),
            context: entry.context.clone(),
        }))
    }

    fn write_through(
        &self,
        key: Bytes,
        value: Option<Bytes>,
        context: &WriteContext,
    ) -> Result<(), StoreError> {
        if let Some(changelog) = &self.changelog {
            let record = self.changelog_record(&key, value.as_ref(), context)?;
            self.bytes.put(key, value)?;
            changelog.lock().push(record);
        } else {
            self.bytes.put(key, value)?;
        }
        if let Some(topic) = &context.topic {
            self.position.lock().update(topic, context.partition, context.offset);
        }
        Ok(())
    }

    fn changelog_record(
        &self,
        key: &Bytes,
        value: Option<&Bytes>,
        context: &WriteContext,
    ) -> Result<ChangelogRecord, StoreError> {
        let (value, timestamp) = match (self.format, value) {
            (ValueFormat::Plain, value) => (value.cloned(), context.timestamp),
            (ValueFormat::Timestamped, None) => (None, context.timestamp),
            (ValueFormat::Timestamped, Some(value)) => {
                let (timestamp, raw) = split_timestamp(&self.name, value)?;
                (Some(raw), timestamp)
            }
        };
        Ok(ChangelogRecord { key: key.clone(), value, timestamp, headers: Headers::new() })
    }

    /// Gives every changelog record since the last call to `send`, in order.
    pub(crate) fn drain_changelog<E>(
        &self,
        mut send: impl FnMut(ChangelogRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(changelog) = &self.changelog else { return Ok(()) };
        let mut records = changelog.lock();
        records.drain(..).try_for_each(&mut send)
    }

    /// Applies changelog records. `offset` is that of the last record read, which may be behind
    /// the last one given here where control records end a batch.
    pub(crate) fn restore(&self, records: &[RestoreRecord], offset: i64) -> Result<(), StoreError> {
        let mut tracked = self.position.lock();
        for position in records.iter().filter_map(|record| record.position.as_ref()) {
            tracked.base.merge(position);
        }
        let checkpoint = Checkpoint { offset: Some(offset), position: tracked.get() };
        let mut entries = records.iter().filter_map(|record| {
            let value = record.value.as_ref().map(|value| match self.format {
                ValueFormat::Plain => value.clone(),
                ValueFormat::Timestamped => join_timestamp(record.timestamp, value),
            });
            Some((record.key.clone()?, value))
        });
        self.bytes.restore(&mut entries, &checkpoint)
    }

    /// Makes all writes durable; `offset` is that of the newest acknowledged changelog record,
    /// `None` if there was none since the last commit.
    pub(super) fn commit(&self, offset: Option<i64>) -> Result<(), StoreError> {
        if self.cache.as_ref().is_some_and(StoreCache::has_unwritten) {
            return Err(StoreError::Config(format!(
                "state store {}: commit before its cache was flushed",
                self.name
            )));
        }
        let offset = offset.or_else(|| self.checkpoint_offset());
        self.bytes.commit(&Checkpoint { offset, position: self.position() })
    }

    pub(super) fn rollback(&self) -> Result<(), StoreError> {
        if let Some(cache) = &self.cache {
            cache.clear();
        }
        if let Some(changelog) = &self.changelog {
            changelog.lock().clear();
        }
        *self.position.lock() = Tracked { base: self.bytes.checkpoint().position, last: None };
        self.bytes.rollback()
    }

    pub(super) fn close(&self) {
        if let Some(cache) = &self.cache {
            cache.clear();
        }
        self.bytes.close();
    }
}

/// The timestamp and the value of a stored value that has both.
///
/// # Errors
/// When it is too short to hold a timestamp.
pub(crate) fn split_timestamp(store: &Arc<str>, value: &Bytes) -> Result<(i64, Bytes), StoreError> {
    match value.first_chunk::<TIMESTAMP>() {
        Some(timestamp) => Ok((i64::from_be_bytes(*timestamp), value.slice(TIMESTAMP..))),
        None => Err(StoreError::Serde {
            store: store.clone(),
            direction: "deserialize",
            what: "value",
            cause: format!("{} bytes are too few for a timestamp", value.len()).into(),
        }),
    }
}

/// Timestamp and value as a timestamped store keeps them.
pub(crate) fn join_timestamp(timestamp: i64, value: &[u8]) -> Bytes {
    let mut joined = BytesMut::with_capacity(TIMESTAMP + value.len());
    joined.put_i64(timestamp);
    joined.put_slice(value);
    joined.freeze()
}
