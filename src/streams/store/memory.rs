//! A store in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use super::bytes_store::{BytesStore, Checkpoint, EntryIter, KeyRange, Order, RestoreEntry};
use super::error::StoreError;
use super::ordered::{OrderedMap, Walk};

/// What a commit interval adds to an entry of the undo log beside key and value.
const UNDO_OVERHEAD: usize = 64;

/// Keeps the data where it is changed and, for the way back, what each key held at the last
/// commit.
pub(super) struct MemoryStore {
    name: Arc<str>,
    data: Arc<RwLock<OrderedMap<Bytes>>>,
    undo: Mutex<HashMap<Bytes, Option<Bytes>, foldhash::fast::RandomState>>,
    undo_bytes: AtomicUsize,
    checkpoint: Mutex<Checkpoint>,
    closed: AtomicBool,
}

impl MemoryStore {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            data: Arc::default(),
            undo: Mutex::default(),
            undo_bytes: AtomicUsize::new(0),
            checkpoint: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::closed(&self.name, "its task ended"));
        }
        Ok(())
    }
}

fn apply(data: &mut OrderedMap<Bytes>, key: Bytes, value: Option<Bytes>) -> Option<Bytes> {
    match value {
        Some(value) => data.insert(key, value),
        None => data.remove(&key),
    }
}

impl BytesStore for MemoryStore {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn persistent(&self) -> bool {
        false
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.check_open()?;
        Ok(self.data.read().get(key).cloned())
    }

    fn put(&self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError> {
        self.check_open()?;
        let old = apply(&mut self.data.write(), key.clone(), value);
        let mut undo = self.undo.lock();
        undo.entry(key).or_insert_with_key(|key| {
            let bytes = key.len() + old.as_ref().map_or(0, Bytes::len) + UNDO_OVERHEAD;
            self.undo_bytes.fetch_add(bytes, Ordering::Relaxed);
            old
        });
        Ok(())
    }

    fn range(&self, range: &KeyRange, order: Order) -> Result<EntryIter, StoreError> {
        self.check_open()?;
        Ok(Box::new(Walk::new(self.data.clone(), range.clone(), order).map(Ok)))
    }

    fn approximate_num_entries(&self) -> Result<u64, StoreError> {
        self.check_open()?;
        Ok(self.data.read().len() as u64)
    }

    fn uncommitted_bytes(&self) -> usize {
        self.undo_bytes.load(Ordering::Relaxed)
    }

    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.lock().clone()
    }

    fn commit(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.check_open()?;
        self.undo.lock().clear();
        self.undo_bytes.store(0, Ordering::Relaxed);
        self.checkpoint.lock().clone_from(checkpoint);
        Ok(())
    }

    fn rollback(&self) -> Result<(), StoreError> {
        self.check_open()?;
        // Both locks to the end: a query sees the store before or after, not half way.
        let mut data = self.data.write();
        for (key, value) in self.undo.lock().drain() {
            apply(&mut data, key, value);
        }
        self.undo_bytes.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn restore(
        &self,
        entries: &mut dyn Iterator<Item = RestoreEntry>,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError> {
        self.check_open()?;
        let mut data = self.data.write();
        for (key, value) in entries {
            // Parts of fetched batches, which would stay in memory with them.
            let value = value.map(|value| Bytes::copy_from_slice(&value));
            match (data.get_mut(&key), value) {
                (Some(known), Some(value)) => *known = value,
                (None, None) => {}
                (_, value) => drop(apply(&mut data, Bytes::copy_from_slice(&key), value)),
            }
        }
        self.checkpoint.lock().clone_from(checkpoint);
        Ok(())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}
