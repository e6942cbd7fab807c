//! A map that is a hash table until somebody asks for a range.
//!
//! Most stores are only read and written by key, where hashing is several times faster than a
//! search tree. The first range builds an index of the keys, which is kept up from then on.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use super::bytes_store::{KeyRange, Order};

/// Entries fetched under one lock; between two such fetches writers get through.
const CHUNK: usize = 128;

#[derive(Debug)]
pub(super) struct OrderedMap<V> {
    entries: HashMap<Bytes, V, foldhash::fast::RandomState>,
    keys: Option<BTreeSet<Bytes>>,
}

impl<V> Default for OrderedMap<V> {
    fn default() -> Self {
        Self { entries: HashMap::default(), keys: None }
    }
}

impl<V: Clone> OrderedMap<V> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&V> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    /// Sets the value and returns the one before.
    pub(super) fn insert(&mut self, key: Bytes, value: V) -> Option<V> {
        match self.entries.entry(key) {
            Slot::Occupied(mut slot) => Some(slot.insert(value)),
            Slot::Vacant(slot) => {
                if let Some(keys) = &mut self.keys {
                    keys.insert(slot.key().clone());
                }
                slot.insert(value);
                None
            }
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<V> {
        if let Some(keys) = &mut self.keys {
            keys.remove(key);
        }
        self.entries.remove(key)
    }

    fn build_order(&mut self) -> &BTreeSet<Bytes> {
        self.keys.get_or_insert_with(|| self.entries.keys().cloned().collect())
    }

    /// The first `limit` entries of a range that is not empty.
    fn chunk(&mut self, range: &KeyRange, order: Order, limit: usize) -> VecDeque<(Bytes, V)> {
        self.build_order();
        let keys = self.keys.as_ref().expect("built above");
        let found = keys.range::<[u8], _>((as_slice(&range.lower), as_slice(&range.upper)));
        let pair = |key: &Bytes| Some((key.clone(), self.entries.get(key)?.clone()));
        match order {
            Order::Ascending => found.take(limit).filter_map(pair).collect(),
            Order::Descending => found.rev().take(limit).filter_map(pair).collect(),
        }
    }
}

fn as_slice(bound: &Bound<Bytes>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// Walks a range of a shared map, a chunk at a time, without holding its lock in between.
pub(super) struct Walk<V> {
    map: Arc<RwLock<OrderedMap<V>>>,
    rest: KeyRange,
    order: Order,
    chunk: VecDeque<(Bytes, V)>,
    done: bool,
}

impl<V: Clone> Walk<V> {
    pub(super) fn new(map: Arc<RwLock<OrderedMap<V>>>, range: KeyRange, order: Order) -> Self {
        Self { map, done: range.is_empty(), rest: range, order, chunk: VecDeque::new() }
    }
}

impl<V: Clone> Iterator for Walk<V> {
    type Item = (Bytes, V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.chunk.is_empty() && !self.done {
            self.chunk = self.map.write().chunk(&self.rest, self.order, CHUNK);
            self.done = self.chunk.len() < CHUNK;
            if let Some((last, _)) = self.chunk.back() {
                let after = Bound::Excluded(last.clone());
                match self.order {
                    Order::Ascending => self.rest.lower = after,
                    Order::Descending => self.rest.upper = after,
                }
            }
            self.done |= self.rest.is_empty();
        }
        self.chunk.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_map(
            ops in proptest::collection::vec((0..300u16, proptest::option::of(any::<u8>())), 0..900),
            (from, to, index_early) in (0..300u16, 0..300u16, any::<bool>()),
        ) {
            let map = Arc::new(RwLock::new(OrderedMap::default()));
            let mut model = BTreeMap::new();
            let key = |number: u16| Bytes::copy_from_slice(&number.to_be_bytes());
            for (index, (number, value)) in ops.into_iter().enumerate() {
                if index_early && index == 100 {
                    map.write().build_order();
                }
                match value {
                    Some(value) => prop_assert_eq!(
                        map.write().insert(key(number), value),
                        model.insert(key(number), value)
                    ),
                    None => prop_assert_eq!(
                        map.write().remove(&key(number)),
                        model.remove(&key(number))
                    ),
                }
            }
            let range = KeyRange::inclusive(Some(key(from)), Some(key(to)));
            let wanted: Vec<_> = if from <= to {
                model.range(key(from)..=key(to)).map(|(k, v)| (k.clone(), *v)).collect()
            } else {
                Vec::new()
            };
            let got: Vec<_> = Walk::new(map.clone(), range.clone(), Order::Ascending).collect();
            prop_assert_eq!(&got, &wanted);
            let back: Vec<_> = Walk::new(map, range, Order::Descending).collect();
            prop_assert_eq!(back, wanted.into_iter().rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_walk_survives_writes_between_its_chunks() {
        let map = Arc::new(RwLock::new(OrderedMap::default()));
        for number in 0..1000_u16 {
            map.write().insert(Bytes::copy_from_slice(&number.to_be_bytes()), ());
        }
        let mut walk = Walk::new(map.clone(), KeyRange::ALL, Order::Ascending);
        let first = walk.next().map(|(key, ())| key);
        assert_eq!(first.as_deref(), Some(&[0, 0][..]));
        for number in 500..1000_u16 {
            map.write().remove(&number.to_be_bytes());
        }
        assert_eq!(walk.count(), 499, "keys removed ahead of the walk do not appear");
    }
}
