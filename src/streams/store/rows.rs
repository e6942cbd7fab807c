//! Rows of a persistent store in memory: what waits for the commit, and what was committed last.
//!
//! A row is always the truth about its key, whether the tree below has it already or not. Every
//! row carries the epoch, that is the commit, to which its write belongs; rows of epochs that
//! are committed may be forgotten.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;

use bytes::Bytes;

use super::bytes_store::{KeyRange, Order};

/// What a row takes beside its key and value.
const OVERHEAD: usize = 96;

struct Row {
    value: Option<Bytes>,
    epoch: u64,
}

#[derive(Default)]
pub(super) struct Rows {
    map: HashMap<Bytes, Row, foldhash::fast::RandomState>,
    /// Keys whose rows are of the present epoch.
    waiting: Vec<Bytes>,
    /// The same in order, from the first range on; most stores never need it.
    ordered: Option<BTreeSet<Bytes>>,
    epoch: u64,
    bytes: usize,
    waiting_bytes: usize,
}

fn cost(key: &[u8], value: Option<&Bytes>) -> usize {
    key.len() + value.map_or(0, Bytes::len) + OVERHEAD
}

impl Rows {
    /// The outer `None` means that the tree is to be asked.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.map.get(key).map(|row| row.value.clone())
    }

    /// Takes a write of the present epoch.
    pub(super) fn put(&mut self, key: Bytes, value: Option<Bytes>) {
        let added = cost(&key, value.as_ref());
        let row = Row { value, epoch: self.epoch };
        match self.map.entry(key) {
            Slot::Occupied(mut slot) => {
                let before = slot.insert(row);
                let removed = cost(slot.key(), before.value.as_ref());
                self.bytes = self.bytes + added - removed;
                if before.epoch == self.epoch {
                    self.waiting_bytes = self.waiting_bytes + added - removed;
                    return;
                }
                self.waiting.push(slot.key().clone());
            }
            Slot::Vacant(slot) => {
                self.waiting.push(slot.key().clone());
                slot.insert(row);
                self.bytes += added;
            }
        }
        self.waiting_bytes += added;
        if let (Some(ordered), Some(key)) = (&mut self.ordered, self.waiting.last()) {
            ordered.insert(key.clone());
        }
    }

    /// As [`put`](Self::put), for bytes that are a part of something larger, which they would
    /// keep in memory: they are copied.
    pub(super) fn put_copied(&mut self, key: &[u8], value: Option<&Bytes>) {
        let value = value.map(|value| Bytes::copy_from_slice(value));
        let key = match self.map.get_key_value(key) {
            Some((known, _)) => known.clone(),
            None => Bytes::copy_from_slice(key),
        };
        self.put(key, value);
    }

    /// Bytes that wait for the commit.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    pub(super) fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// What waits, in no order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Bytes, &Option<Bytes>)> {
        self.waiting.iter().filter_map(|key| Some((key, &self.map.get(key)?.value)))
    }

    /// What waits, in the order of keys.
    pub(super) fn sort_waiting(&mut self) {
        self.waiting.sort_unstable();
    }

    /// What waits in a range.
    pub(super) fn waiting_in(
        &mut self,
        range: &KeyRange,
        order: Order,
    ) -> Vec<(Bytes, Option<Bytes>)> {
        if range.is_empty() {
            return Vec::new();
        }
        let ordered = self.ordered.get_or_insert_with(|| self.waiting.iter().cloned().collect());
        let slice = |bound: &Bound<Bytes>| bound.clone();
        let keys = ordered.range((slice(&range.lower), slice(&range.upper)));
        let row = |key: &Bytes| Some((key.clone(), self.map.get(key)?.value.clone()));
        match order {
            Order::Ascending => keys.filter_map(row).collect(),
            Order::Descending => keys.rev().filter_map(row).collect(),
        }
    }

    /// The tree has everything that waited. Keeps at most `max_bytes` of rows: all, or else
    /// those of the epoch that ends, or else none.
    pub(super) fn committed(&mut self, max_bytes: usize) {
        self.waiting.clear();
        if self.waiting.capacity() > 4096 && max_bytes == 0 {
            self.waiting = Vec::new();
        }
        if let Some(ordered) = &mut self.ordered {
            ordered.clear();
        }
        if self.bytes > max_bytes {
            if self.waiting_bytes > max_bytes {
                self.map = HashMap::default();
                self.bytes = 0;
            } else {
                self.map.retain(|_, row| row.epoch == self.epoch);
                self.bytes = self.waiting_bytes;
            }
        }
        self.waiting_bytes = 0;
        self.epoch += 1;
    }

    /// Forgets what waits: the tree is asked for those keys again.
    pub(super) fn rolled_back(&mut self) {
        for key in self.waiting.drain(..) {
            self.map.remove(&key);
        }
        if let Some(ordered) = &mut self.ordered {
            ordered.clear();
        }
        self.bytes -= self.waiting_bytes;
        self.waiting_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::bytes;
    use super::*;

    fn kept(rows: &Rows) -> usize {
        rows.map.iter().map(|(key, row)| cost(key, row.value.as_ref())).sum()
    }

    #[test]
    fn bytes_are_counted_through_every_step() {
        let mut rows = Rows::default();
        rows.put(bytes("a"), Some(bytes("1")));
        rows.put(bytes("a"), Some(bytes("longer")));
        rows.put(bytes("b"), None);
        assert_eq!((rows.bytes, rows.waiting_bytes()), (kept(&rows), kept(&rows)));
        rows.committed(usize::MAX);
        assert_eq!((rows.bytes, rows.waiting_bytes()), (kept(&rows), 0));
        rows.put(bytes("a"), Some(bytes("2")));
        rows.put(bytes("c"), Some(bytes("3")));
        assert_eq!(rows.waiting_bytes(), cost(b"a", Some(&bytes("2"))) * 2);
        rows.rolled_back();
        assert_eq!((rows.bytes, rows.waiting_bytes()), (kept(&rows), 0));
        assert_eq!(rows.get(b"a"), None, "the tree knows, the rows no longer do");
        assert_eq!(rows.get(b"b"), Some(None));
    }

    #[test]
    fn over_the_budget_the_rows_of_older_commits_go_first() {
        let one = cost(b"a", Some(&bytes("1")));
        let mut rows = Rows::default();
        for key in ["a", "b"] {
            rows.put(bytes(key), Some(bytes("1")));
        }
        rows.committed(2 * one);
        rows.put(bytes("c"), Some(bytes("1")));
        rows.committed(2 * one);
        assert_eq!((rows.get(b"a"), rows.get(b"c")), (None, Some(Some(bytes("1")))));
        rows.put(bytes("d"), Some(bytes("1")));
        rows.committed(0);
        assert_eq!((rows.get(b"d"), rows.bytes), (None, 0));
    }
}
