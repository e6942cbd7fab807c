//! The lowest layer: an ordered map from bytes to bytes with transactions of one writer.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use super::error::StoreError;
use super::position::Position;

/// Direction of an iteration over keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Smallest key first, by unsigned comparison of bytes.
    #[default]
    Ascending,
    /// Largest key first.
    Descending,
}

/// A range of serialized keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Bytes>,
    /// Where it ends.
    pub upper: Bound<Bytes>,
}

impl KeyRange {
    /// Every key.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// From `from` to `to`, both inside the range; `None` leaves that end open.
    pub fn inclusive(from: Option<Bytes>, to: Option<Bytes>) -> Self {
        let bound = |key: Option<Bytes>| key.map_or(Bound::Unbounded, Bound::Included);
        Self { lower: bound(from), upper: bound(to) }
    }

    /// Keys that start with `prefix`. An empty prefix is every key.
    pub fn prefix(prefix: &[u8]) -> Self {
        // The first key after all with this prefix: drop trailing 0xff, add one to the last byte.
        let end = prefix.iter().rposition(|byte| *byte != 0xff).map(|last| {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            Bytes::from(end)
        });
        Self {
            lower: Bound::Included(Bytes::copy_from_slice(prefix)),
            upper: end.map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    /// Whether no key can be inside, as when the ends are the wrong way round.
    pub fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included, Unbounded};
        match (&self.lower, &self.upper) {
            (Unbounded, _) | (_, Unbounded) => false,
            (Included(lower), Included(upper)) => lower > upper,
            (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => {
                lower >= upper
            }
        }
    }
}

/// One entry of a store.
pub type Entry = (Bytes, Bytes);

/// Entries read as the iterator advances; it owns what it needs and may outlive the call.
///
/// It holds no lock between two calls of `next`. Entries written after it was made may or may
/// not appear; each key appears at most once and in order.
pub type EntryIter = Box<dyn Iterator<Item = Result<Entry, StoreError>> + Send>;

/// How far a store has come, made durable together with its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// Offset of the last changelog record that the data reflects; `None` where unknown.
    /// Restoring begins at the offset after it.
    pub offset: Option<i64>,
    /// Input offsets that the data reflects.
    pub position: Position,
}

/// One write that [`BytesStore::restore`] applies. A `None` value deletes the key.
pub type RestoreEntry = (Bytes, Option<Bytes>);

/// An ordered store of one task: keys and values are bytes, keys compare as unsigned bytes.
///
/// One thread at a time writes, the owner of the task; any number of threads read meanwhile.
/// Reads see writes that are not committed yet.
///
/// Writes are held back until `commit` and vanish at `rollback`. A process that dies loses
/// exactly what was not committed, and [`checkpoint`](Self::checkpoint) then tells from where
/// the changelog is to be read.
pub trait BytesStore: Send + Sync {
    /// Name of the store, unique in the topology.
    fn name(&self) -> &Arc<str>;

    /// Whether the data survives the process.
    fn persistent(&self) -> bool;

    /// The value of `key`.
    ///
    /// # Errors
    /// When the disk fails or the store is closed.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Sets `key` to `value`, or removes it for `None`.
    ///
    /// # Errors
    /// When the store is closed or the entry is larger than the store can hold.
    fn put(&self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError>;

    /// The entries of a range.
    ///
    /// # Errors
    /// When the store is closed; failing reads come from the iterator.
    fn range(&self, range: &KeyRange, order: Order) -> Result<EntryIter, StoreError>;

    /// Number of entries, an estimate where counting would read the whole store.
    ///
    /// # Errors
    /// When the store is closed.
    fn approximate_num_entries(&self) -> Result<u64, StoreError>;

    /// Bytes of keys and values that wait for the next commit.
    fn uncommitted_bytes(&self) -> usize;

    /// The checkpoint that was last committed or restored.
    fn checkpoint(&self) -> Checkpoint;

    /// Makes everything written so far, and `checkpoint` with it, the state to come back to:
    /// both or neither. Persistent stores survive `kill -9` from here on.
    ///
    /// # Errors
    /// When the disk fails: nothing is committed and the store is closed.
    fn commit(&self, checkpoint: &Checkpoint) -> Result<(), StoreError>;

    /// Drops everything written since the last commit.
    ///
    /// # Errors
    /// When the store is closed.
    fn rollback(&self) -> Result<(), StoreError>;

    /// Applies changelog entries, in their order, that lead up to `checkpoint`. Bypasses the
    /// uncommitted writes, of which there must be none, and is durable no later than the next
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// When the disk fails or the store is closed.
    fn restore(
        &self,
        entries: &mut dyn Iterator<Item = RestoreEntry>,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError>;

    /// Ends the use of the store. Uncommitted writes are dropped; later calls fail.
    fn close(&self);
}
