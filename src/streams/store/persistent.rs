//! A store on the local disk.
//!
//! Uncommitted writes wait in memory. A commit writes them together with the checkpoint as one
//! atomic batch into the store's tree, so a process killed at any moment finds data and
//! checkpoint in agreement; a rollback only forgets what waits.
//!
//! Keys in the tree have one byte before them: 1 for data, 0 for the checkpoint. It sets the
//! two apart and lets the empty key of a record be stored.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Keyspace, Slice};
use parking_lot::RwLock;

use super::bytes_store::{BytesStore, Checkpoint, EntryIter, KeyRange, Order, RestoreEntry};
use super::database::{TaskDatabase, describe};
use super::error::StoreError;
use super::merge::{Layer, merge};
use super::position::Position;
use super::rows::Rows;

const DATA: u8 = 1;
const CHECKPOINT: &[u8] = &[0];
const CHECKPOINT_VERSION: u8 = 1;
const KEY_LIMIT: usize = u16::MAX as usize - 1;
const VALUE_LIMIT: usize = u32::MAX as usize;
/// Tables of the youngest level at which restoring waits for the compaction to catch up, and
/// how long it waits at most before it goes on all the same.
const CROWDED_TABLES: usize = 64;
const CROWDED_WAIT: Duration = Duration::from_secs(30);

pub(super) struct PersistentStore {
    name: Arc<str>,
    database: Arc<TaskDatabase>,
    tree: Keyspace,
    rows: RwLock<Rows>,
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
            rows: RwLock::default(),
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

    fn read_failed(&self, error: &fjall::Error) -> StoreError {
        describe(&self.name, self.database.path(), "reading", error)
    }

    /// Writes what waits and the checkpoint as one batch through the journal. The owner, who is
    /// here, is the only writer, so that the rows stay as they are meanwhile.
    fn write_waiting(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.database.check_writable(&self.name)?;
        let mut batch;
        {
            let rows = self.rows.read();
            batch = self.database.batch(rows.waiting_len() + 1);
            batch.insert(&self.tree, CHECKPOINT, encode_checkpoint(checkpoint));
            for (key, value) in rows.waiting() {
                let key = tree_key(key);
                match value {
                    Some(value) => batch.insert(&self.tree, key, &value[..]),
                    None => batch.remove(&self.tree, key),
                }
            }
        }
        let written = batch.commit();
        self.settle(written, checkpoint, self.database.engine().row_cache_share())
    }

    /// Writes what waits and the checkpoint as one sorted table past the journal, which is
    /// cheaper for much data and as atomic.
    fn ingest_waiting(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.database.check_writable(&self.name)?;
        self.rows.write().sort_waiting();
        let written = self.ingest(checkpoint);
        self.settle(written, checkpoint, 0)?;
        let begun = Instant::now();
        while self.tree.l0_table_count() >= CROWDED_TABLES && begun.elapsed() < CROWDED_WAIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn ingest(&self, checkpoint: &Checkpoint) -> fjall::Result<()> {
        let mut table = self.tree.start_ingestion()?;
        // The checkpoint's key sorts before all others.
        table.write(CHECKPOINT, encode_checkpoint(checkpoint))?;
        // Handles of them, so that no query waits while the table is written.
        let waiting: Vec<_> = {
            let rows = self.rows.read();
            rows.waiting().map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        for (key, value) in &waiting {
            match value {
                Some(value) => table.write(tree_key(key), &value[..])?,
                None => table.write_tombstone(tree_key(key))?,
            }
        }
        table.finish()
    }

    fn settle(
        &self,
        written: fjall::Result<()>,
        checkpoint: &Checkpoint,
        keep_bytes: usize,
    ) -> Result<(), StoreError> {
        written.map_err(|error| self.database.write_failed(&self.name, &error))?;
        self.checkpoint.write().clone_from(checkpoint);
        self.rows.write().committed(keep_bytes);
        Ok(())
    }
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
        if let Some(value) = self.rows.read().get(key) {
            return Ok(value);
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
        self.rows.write().put(key, value);
        Ok(())
    }

    fn range(&self, range: &KeyRange, order: Order) -> Result<EntryIter, StoreError> {
        self.check_open()?;
        if range.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        // Both under one lock: the tree's iterator is a snapshot, and a commit that puts rows
        // into the tree lets go of them only under the same lock.
        let (waiting, tree) = {
            let mut rows = self.rows.write();
            (rows.waiting_in(range, order), self.tree.range(tree_range(range)))
        };
        let (name, database) = (self.name.clone(), self.database.clone());
        let read = move |guard: fjall::Guard| match guard.into_inner() {
            Ok((key, value)) => {
                Ok((Bytes::copy_from_slice(&key[1..]), Some(Bytes::copy_from_slice(&value))))
            }
            Err(error) => Err(describe(&name, database.path(), "reading", &error)),
        };
        let tree: Layer = match order {
            Order::Ascending => Box::new(tree.map(read)),
            Order::Descending => Box::new(tree.rev().map(read)),
        };
        Ok(merge(vec![Box::new(waiting.into_iter().map(Ok)), tree], order))
    }

    fn approximate_num_entries(&self) -> Result<u64, StoreError> {
        self.check_open()?;
        let held = self.rows.read().waiting_len();
        // Versions and deletions in the tree count too; one entry is the checkpoint.
        Ok((self.tree.approximate_len().saturating_sub(1) + held) as u64)
    }

    fn uncommitted_bytes(&self) -> usize {
        self.rows.read().waiting_bytes()
    }

    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.read().clone()
    }

    fn commit(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.check_open()?;
        if self.rows.read().waiting_len() == 0 && *self.checkpoint.read() == *checkpoint {
            return self.database.check_writable(&self.name);
        }
        self.write_waiting(checkpoint)
    }

    fn rollback(&self) -> Result<(), StoreError> {
        self.check_open()?;
        self.rows.write().rolled_back();
        Ok(())
    }

    fn restore(
        &self,
        entries: &mut dyn Iterator<Item = RestoreEntry>,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError> {
        self.check_open()?;
        {
            let mut rows = self.rows.write();
            for (key, value) in entries {
                self.check_size(&key, value.as_ref())?;
                // Parts of fetched batches, which would stay in memory with them.
                rows.put_copied(&key, value.as_ref());
            }
        }
        if self.rows.read().waiting_bytes() >= self.database.engine().restore_share() {
            return self.ingest_waiting(checkpoint);
        }
        Ok(())
    }

    fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.database.engine().store_closed();
        }
        *self.rows.write() = Rows::default();
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
