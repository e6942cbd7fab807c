//! A store on the local disk.
//!
//! Uncommitted writes wait in memory. A commit writes them together with the checkpoint as one
//! atomic batch into the store's tree, so a process killed at any moment finds data and
//! checkpoint in agreement; a rollback only forgets what waits.
//!
//! Keys in the tree have one byte before them: 1 for data, 0 for the checkpoint. It sets the
//! two apart and lets the empty key of a record be stored.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Keyspace, Slice};
use parking_lot::RwLock;

use super::bytes_store::{BytesStore, Checkpoint, EntryIter, KeyRange, Order, RestoreEntry};
use super::database::{TaskDatabase, describe};
use super::error::StoreError;
use super::merge::{Layer, merge};
use super::ordered::{OrderedMap, Walk};
use super::position::Position;

const DATA: u8 = 1;
const CHECKPOINT: &[u8] = &[0];
const CHECKPOINT_VERSION: u8 = 1;
const KEY_LIMIT: usize = u16::MAX as usize - 1;
const VALUE_LIMIT: usize = u32::MAX as usize;
/// What a waiting write takes beside its key and value.
const WAITING_OVERHEAD: usize = 96;
/// Tables of the youngest level at which restoring waits for the compaction to catch up, and
/// how long it waits at most before it goes on all the same.
const CROWDED_TABLES: usize = 24;
const CROWDED_WAIT: Duration = Duration::from_secs(30);

type Writes = Arc<RwLock<OrderedMap<Option<Bytes>>>>;

/// Writes that are not in the tree yet. Iterators keep the maps they began with, so that a
/// commit in the middle takes nothing away from them.
#[derive(Default)]
struct Waiting {
    active: Writes,
    /// What a commit is writing at this moment.
    committing: Option<Writes>,
    rows: RowCache,
}

/// Committed entries in two generations: the younger takes what is committed; when it is full
/// it becomes the older, and what that held is forgotten. An entry in use stays, since its next
/// write brings it back into the younger one.
#[derive(Default)]
struct RowCache {
    young: HashMap<Bytes, Option<Bytes>, foldhash::fast::RandomState>,
    old: HashMap<Bytes, Option<Bytes>, foldhash::fast::RandomState>,
    young_bytes: usize,
}

impl RowCache {
    fn get(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Takes committed entries, within `max_bytes` for both generations.
    fn add(&mut self, entries: impl Iterator<Item = (Bytes, Option<Bytes>)>, max_bytes: usize) {
        for (key, value) in entries {
            let bytes = key.len() + value.as_ref().map_or(0, Bytes::len) + WAITING_OVERHEAD;
            if self.young_bytes + bytes > max_bytes / 2 {
                self.old = std::mem::take(&mut self.young);
                self.young_bytes = 0;
                if bytes > max_bytes / 2 {
                    self.old.remove(&key);
                    continue;
                }
            }
            match self.young.insert(key, value) {
                Some(old) => {
                    self.young_bytes += bytes;
                    self.young_bytes -= old.map_or(0, |old| old.len()) + WAITING_OVERHEAD;
                }
                None => self.young_bytes += bytes,
            }
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

pub(super) struct PersistentStore {
    name: Arc<str>,
    database: Arc<TaskDatabase>,
    tree: Keyspace,
    waiting: RwLock<Waiting>,
    waiting_bytes: AtomicUsize,
    checkpoint: RwLock<Checkpoint>,
    closed: AtomicBool,
}

impl PersistentStore {
    /// # Errors
    /// When the disk fails or the tree or its checkpoint is damaged.
    pub(super) fn open(name: Arc<str>, database: Arc<TaskDatabase>) -> Result<Self, StoreError> {
        let tree = database.tree(&name)?;
        let stored = tree
            .get(CHECKPOINT)
            .map_err(|error| describe(&name, database.path(), "reading the checkpoint", &error))?;
        let checkpoint = match stored {
            None => Checkpoint::default(),
            Some(bytes) => decode_checkpoint(&bytes).ok_or_else(|| StoreError::Corrupted {
                store: name.clone(),
                path: database.path().to_owned(),
                cause: "its checkpoint cannot be read".into(),
            })?,
        };
        database.engine().store_opened();
        Ok(Self {
            name,
            database,
            tree,
            waiting: RwLock::default(),
            waiting_bytes: AtomicUsize::new(0),
            checkpoint: RwLock::new(checkpoint),
            closed: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::closed(&self.name, "its task ended"));
        }
        Ok(())
    }

    fn check_size(&self, key: &Bytes, value: Option<&Bytes>) -> Result<(), StoreError> {
        let too_large = |what, bytes, limit| {
            Err(StoreError::TooLarge { store: self.name.clone(), what, bytes, limit })
        };
        if key.len() > KEY_LIMIT {
            return too_large("key", key.len(), KEY_LIMIT);
        }
        match value.map_or(0, Bytes::len) {
            length if length > VALUE_LIMIT => too_large("value", length, VALUE_LIMIT),
            _ => Ok(()),
        }
    }

    fn add_waiting(&self, map: &mut OrderedMap<Option<Bytes>>, key: Bytes, value: Option<Bytes>) {
        let added = value.as_ref().map_or(0, Bytes::len);
        let key_bytes = key.len() + WAITING_OVERHEAD;
        let (plus, minus) = match map.insert(key, value) {
            Some(old) => (added, old.map_or(0, |old| old.len())),
            None => (added + key_bytes, 0),
        };
        self.waiting_bytes.fetch_add(plus, Ordering::Relaxed);
        self.waiting_bytes.fetch_sub(minus, Ordering::Relaxed);
    }

    fn read_failed(&self, error: &fjall::Error) -> StoreError {
        describe(&self.name, self.database.path(), "reading", error)
    }

    /// Freezes what waits; reads still find it until [`settle`](Self::settle).
    fn freeze(&self) -> Writes {
        let mut waiting = self.waiting.write();
        let writes = std::mem::take(&mut waiting.active);
        waiting.committing = Some(writes.clone());
        self.waiting_bytes.store(0, Ordering::Relaxed);
        writes
    }

    /// Writes what waits and the checkpoint as one batch through the journal.
    fn write_waiting(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.database.check_writable(&self.name)?;
        let writes = self.freeze();
        let mut batch;
        {
            let map = writes.read();
            batch = self.database.batch(map.len() + 1);
            batch.insert(&self.tree, CHECKPOINT, encode_checkpoint(checkpoint));
            for (key, value) in sorted(&map) {
                let key = tree_key(key);
                match value {
                    Some(value) => batch.insert(&self.tree, key, &value[..]),
                    None => batch.remove(&self.tree, key),
                }
            }
        }
        let written = batch.commit();
        let share = self.database.engine().row_cache_share();
        self.settle(written, checkpoint, |rows| {
            if share > 0 {
                let map = writes.read();
                rows.add(map.iter().map(|(key, value)| (key.clone(), value.clone())), share);
            }
        })
    }

    /// Writes what waits and the checkpoint as one sorted table past the journal, which is
    /// cheaper for much data and as atomic.
    fn ingest_waiting(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.database.check_writable(&self.name)?;
        let writes = self.freeze();
        let written = self.ingest(&writes.read(), checkpoint);
        self.settle(written, checkpoint, RowCache::clear)?;
        let begun = Instant::now();
        while self.tree.l0_table_count() >= CROWDED_TABLES && begun.elapsed() < CROWDED_WAIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn ingest(
        &self,
        map: &OrderedMap<Option<Bytes>>,
        checkpoint: &Checkpoint,
    ) -> fjall::Result<()> {
        let mut table = self.tree.start_ingestion()?;
        // The checkpoint's key sorts before all others.
        table.write(CHECKPOINT, encode_checkpoint(checkpoint))?;
        for (key, value) in sorted(map) {
            match value {
                Some(value) => table.write(tree_key(key), &value[..])?,
                None => table.write_tombstone(tree_key(key))?,
            }
        }
        table.finish()
    }

    /// Readers saw the frozen writes until here and see the tree from here on.
    fn settle(
        &self,
        written: fjall::Result<()>,
        checkpoint: &Checkpoint,
        remember: impl FnOnce(&mut RowCache),
    ) -> Result<(), StoreError> {
        {
            let mut waiting = self.waiting.write();
            waiting.committing = None;
            if written.is_ok() {
                remember(&mut waiting.rows);
            }
        }
        written.map_err(|error| self.database.write_failed(&self.name, &error))?;
        self.checkpoint.write().clone_from(checkpoint);
        Ok(())
    }
}

/// In the order of keys, which the tree takes in faster.
fn sorted(map: &OrderedMap<Option<Bytes>>) -> Vec<(&Bytes, &Option<Bytes>)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

impl BytesStore for PersistentStore {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn persistent(&self) -> bool {
        true
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.check_open()?;
        {
            let waiting = self.waiting.read();
            if let Some(value) = waiting.active.read().get(key) {
                return Ok(value.clone());
            }
            if let Some(committing) = &waiting.committing
                && let Some(value) = committing.read().get(key)
            {
                return Ok(value.clone());
            }
            if let Some(value) = waiting.rows.get(key) {
                return Ok(value.clone());
            }
        }
        if key.len() > KEY_LIMIT {
            return Ok(None);
        }
        let found = self.tree.get(tree_key(key)).map_err(|error| self.read_failed(&error))?;
        Ok(found.map(|value| Bytes::copy_from_slice(&value)))
    }

    fn put(&self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError> {
        self.check_open()?;
        self.check_size(&key, value.as_ref())?;
        let waiting = self.waiting.read();
        let mut active = waiting.active.write();
        self.add_waiting(&mut active, key, value);
        Ok(())
    }

    fn range(&self, range: &KeyRange, order: Order) -> Result<EntryIter, StoreError> {
        self.check_open()?;
        if range.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        // The tree's iterator is a snapshot. Taken under the lock, it fits the maps: a commit
        // leaves the state `committing` only after its batch is in the tree.
        let waiting = self.waiting.read();
        let mut layers: Vec<Layer> = Vec::with_capacity(3);
        for map in std::iter::once(&waiting.active).chain(&waiting.committing) {
            layers.push(Box::new(Walk::new(map.clone(), range.clone(), order).map(Ok)));
        }
        let tree = self.tree.range(tree_range(range));
        drop(waiting);
        let (name, database) = (self.name.clone(), self.database.clone());
        let read = move |guard: fjall::Guard| match guard.into_inner() {
            Ok((key, value)) => {
                Ok((Bytes::copy_from_slice(&key[1..]), Some(Bytes::copy_from_slice(&value))))
            }
            Err(error) => Err(describe(&name, database.path(), "reading", &error)),
        };
        layers.push(match order {
            Order::Ascending => Box::new(tree.map(read)),
            Order::Descending => Box::new(tree.rev().map(read)),
        });
        Ok(merge(layers, order))
    }

    fn approximate_num_entries(&self) -> Result<u64, StoreError> {
        self.check_open()?;
        let waiting = self.waiting.read();
        let held = waiting.active.read().len()
            + waiting.committing.as_ref().map_or(0, |map| map.read().len());
        // Versions and deletions in the tree count too; one entry is the checkpoint.
        Ok((self.tree.approximate_len().saturating_sub(1) + held) as u64)
    }

    fn uncommitted_bytes(&self) -> usize {
        self.waiting_bytes.load(Ordering::Relaxed)
    }

    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.read().clone()
    }

    fn commit(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.check_open()?;
        if self.waiting_bytes.load(Ordering::Relaxed) == 0 && *self.checkpoint.read() == *checkpoint
        {
            return self.database.check_writable(&self.name);
        }
        self.write_waiting(checkpoint)
    }

    fn rollback(&self) -> Result<(), StoreError> {
        self.check_open()?;
        let mut waiting = self.waiting.write();
        // A fresh map: iterators of queries keep the old one to their end.
        waiting.active = Writes::default();
        self.waiting_bytes.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn restore(
        &self,
        entries: &mut dyn Iterator<Item = RestoreEntry>,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError> {
        self.check_open()?;
        {
            let waiting = self.waiting.read();
            let mut active = waiting.active.write();
            for (key, value) in entries {
                self.check_size(&key, value.as_ref())?;
                self.add_waiting(&mut active, key, value);
            }
        }
        if self.waiting_bytes.load(Ordering::Relaxed)
            >= self.database.engine().options().restore_batch_bytes
        {
            return self.ingest_waiting(checkpoint);
        }
        Ok(())
    }

    fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.database.engine().store_closed();
        }
        let mut waiting = self.waiting.write();
        *waiting = Waiting::default();
        self.waiting_bytes.store(0, Ordering::Relaxed);
    }
}

fn tree_key(key: &[u8]) -> Slice {
    // On the stack for the keys that one meets; the slice copies either way.
    let mut short = [0; 64];
    if let Some(place) = short.get_mut(..=key.len()) {
        place[0] = DATA;
        place[1..].copy_from_slice(key);
        return Slice::from(&*place);
    }
    let mut long = Vec::with_capacity(key.len() + 1);
    long.push(DATA);
    long.extend_from_slice(key);
    Slice::from(long)
}

fn tree_range(range: &KeyRange) -> (Bound<Slice>, Bound<Slice>) {
    let lower = match &range.lower {
        Bound::Unbounded => Bound::Included(Slice::from([DATA])),
        bound => bound.as_ref().map(|key| tree_key(key)),
    };
    let upper = match &range.upper {
        Bound::Unbounded => Bound::Excluded(Slice::from([DATA + 1])),
        bound => bound.as_ref().map(|key| tree_key(key)),
    };
    (lower, upper)
}

fn encode_checkpoint(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut out = vec![CHECKPOINT_VERSION, u8::from(checkpoint.offset.is_some())];
    out.extend(checkpoint.offset.unwrap_or(0).to_be_bytes());
    out.extend(checkpoint.position.encode());
    out
}

fn decode_checkpoint(bytes: &[u8]) -> Option<Checkpoint> {
    let ([CHECKPOINT_VERSION, known], rest) = bytes.split_first_chunk::<2>()? else { return None };
    let (offset, position) = rest.split_first_chunk::<8>()?;
    Some(Checkpoint {
        offset: (*known == 1).then(|| i64::from_be_bytes(*offset)),
        position: Position::decode(position)?,
    })
}
