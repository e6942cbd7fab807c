//! The record cache of one store: several writes of a key between two flushes become one.
//!
//! Rules of Kafka Streams, kept here:
//! - A write marks its entry dirty and puts it at the end of the dirty order, so that a flush
//!   goes by the last write of each key.
//! - The budget belongs to the thread; over it, the store that writes gives up its own least
//!   recently used entries. A clean one just goes; a dirty one makes the store flush: that
//!   entry first, then every other dirty one.
//! - Entries stay readable until the store below has them. Deleted keys leave after the flush.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use super::bytes_store::{KeyRange, Order};
use super::context::WriteContext;
use super::ordered::{OrderedMap, Walk};
use super::position::Position;

/// Memory for the caches of one stream thread, in bytes; `statestore.cache.max.bytes` divided by
/// the number of threads (and one more if there is a global topology).
#[derive(Debug)]
pub(crate) struct CacheBudget {
    max: AtomicUsize,
    used: AtomicUsize,
}

impl CacheBudget {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { max: AtomicUsize::new(max_bytes), used: AtomicUsize::new(0) })
    }

    /// A new share, when threads come or go. Stores over it give way at their next write.
    pub(crate) fn resize(&self, max_bytes: usize) {
        self.max.store(max_bytes, Ordering::Relaxed);
    }

    /// Bytes in all caches of the thread, for `cache-size-bytes-total`.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether stores have a cache at all.
    pub(crate) fn is_enabled(&self) -> bool {
        self.max.load(Ordering::Relaxed) > 0
    }

    fn is_exceeded(&self) -> bool {
        self.used() > self.max.load(Ordering::Relaxed)
    }
}

/// An entry on its way to the store and to the children of the node that owns the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DirtyEntry {
    pub key: Bytes,
    /// The value as it lies in the store; `None` deletes the key.
    pub value: Option<Bytes>,
    /// Of the last write of this key.
    pub context: WriteContext,
    /// Tells a write from a later one to the same key.
    sequence: u64,
}

/// What readers see.
#[derive(Debug, Clone)]
struct Cached {
    value: Option<Bytes>,
    slot: usize,
    /// Not in the store below yet.
    unwritten: bool,
}

const NONE: usize = usize::MAX;
const LRU: usize = 0;
const DIRTY: usize = 1;

#[derive(Debug, Clone, Copy)]
struct Link {
    before: usize,
    after: usize,
}

/// Bookkeeping of one entry. `links` puts it into the two lists.
#[derive(Debug)]
struct Node {
    key: Bytes,
    context: WriteContext,
    sequence: u64,
    size: usize,
    in_dirty: bool,
    links: [Link; 2],
}

#[derive(Debug)]
struct Lists {
    nodes: Vec<Node>,
    free: Vec<usize>,
    /// Front and back of each list: least recently used first, earliest last write first.
    ends: [Link; 2],
    sequence: u64,
    /// The entry whose eviction asked for a flush.
    evicted: Option<usize>,
    size: usize,
}

pub(super) struct StoreCache {
    budget: Arc<CacheBudget>,
    lists: Mutex<Lists>,
    // Locked after `lists` where both are needed; queries take this one alone.
    entries: Arc<RwLock<OrderedMap<Cached>>>,
    flush_requested: AtomicBool,
    /// Input offsets of all writes taken; those of flushed ones are in the store's too.
    position: Mutex<Position>,
}

impl StoreCache {
    pub(super) fn new(budget: Arc<CacheBudget>) -> Self {
        Self {
            budget,
            lists: Mutex::new(Lists::new()),
            entries: Arc::default(),
            flush_requested: AtomicBool::new(false),
            position: Mutex::default(),
        }
    }

    /// Looks without moving the entry: for queries. The outer `None` means not cached.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.entries.read().get(key).map(|cached| cached.value.clone())
    }

    /// Looks and marks the entry as used: for the owner.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        let mut lists = self.lists.lock();
        let entries = self.entries.read();
        let cached = entries.get(key)?;
        lists.move_to_back(LRU, cached.slot);
        Some(cached.value.clone())
    }

    /// Keeps what the store below has.
    pub(super) fn insert_clean(&self, key: Bytes, value: Bytes) {
        self.insert(key, Some(value), WriteContext::default(), false);
    }

    /// Takes a write.
    pub(super) fn put(&self, key: Bytes, value: Option<Bytes>, context: WriteContext) {
        if let Some(topic) = &context.topic {
            self.position.lock().update(topic, context.partition, context.offset);
        }
        self.insert(key, value, context, true);
    }

    fn insert(&self, key: Bytes, value: Option<Bytes>, context: WriteContext, dirty: bool) {
        let mut lists = self.lists.lock();
        let mut entries = self.entries.write();
        // The cost that Kafka Streams counts: references and the mark, then the contents.
        let size = key.len() + 24 + 1 + value.as_ref().map_or(0, Bytes::len) + context.cost();
        let slot = if let Some(cached) = entries.get_mut(&key) {
            cached.value = value;
            cached.unwritten |= dirty;
            let slot = cached.slot;
            lists.replace(slot, context, size, &self.budget);
            slot
        } else {
            let slot = lists.add(key.clone(), context, size, &self.budget);
            entries.insert(key, Cached { value, slot, unwritten: dirty });
            slot
        };
        if dirty {
            lists.mark_dirty(slot);
        }
        self.evict(&mut lists, &mut entries);
    }

    /// Gives up least recently used entries until the budget holds or a dirty one is met.
    fn evict(&self, lists: &mut Lists, entries: &mut OrderedMap<Cached>) {
        while self.budget.is_exceeded() {
            let oldest = lists.ends[LRU].after;
            if oldest == NONE {
                return;
            }
            let node = &lists.nodes[oldest];
            if node.in_dirty {
                lists.evicted = Some(oldest);
                self.flush_requested.store(true, Ordering::Release);
                return;
            }
            if entries.get(&node.key).is_some_and(|cached| cached.unwritten) {
                return; // in the flush that runs now; the end of that flush comes here again
            }
            let key = lists.remove(oldest, &self.budget);
            entries.remove(&key);
        }
    }

    /// Whether a write found the budget exceeded with nothing clean to drop.
    pub(super) fn flush_requested(&self) -> bool {
        self.flush_requested.load(Ordering::Acquire)
    }

    /// The dirty entries in the order of their flush. They stay readable, and count as not
    /// written until [`written`](Self::written) says so of each.
    pub(super) fn take_dirty(&self) -> Vec<DirtyEntry> {
        let mut lists = self.lists.lock();
        let entries = self.entries.read();
        self.flush_requested.store(false, Ordering::Release);
        let mut taken = Vec::new();
        let first = lists.evicted.take().filter(|slot| lists.nodes[*slot].in_dirty);
        let mut next = first.unwrap_or(lists.ends[DIRTY].after);
        while next != NONE {
            lists.unlink(DIRTY, next);
            let node = &mut lists.nodes[next];
            node.in_dirty = false;
            if let Some(cached) = entries.get(&node.key) {
                taken.push(DirtyEntry {
                    key: node.key.clone(),
                    value: cached.value.clone(),
                    context: node.context.clone(),
                    sequence: node.sequence,
                });
            }
            next = lists.ends[DIRTY].after;
        }
        taken
    }

    /// The store below has `entry` now.
    pub(super) fn written(&self, entry: &DirtyEntry) {
        let mut lists = self.lists.lock();
        let mut entries = self.entries.write();
        let Some(cached) = entries.get_mut(&entry.key) else { return };
        let slot = cached.slot;
        if lists.nodes[slot].sequence == entry.sequence {
            cached.unwritten = false;
            if cached.value.is_none() {
                let key = lists.remove(slot, &self.budget);
                entries.remove(&key);
            }
        }
        self.evict(&mut lists, &mut entries);
    }

    /// Entries of a range that the store below does not have yet.
    pub(super) fn unwritten(&self, range: &KeyRange, order: Order) -> Vec<(Bytes, Option<Bytes>)> {
        Walk::new(self.entries.clone(), range.clone(), order)
            .filter(|(_, cached)| cached.unwritten)
            .map(|(key, cached)| (key, cached.value))
            .collect()
    }

    pub(super) fn has_unwritten(&self) -> bool {
        self.lists.lock().ends[DIRTY].after != NONE
    }

    pub(super) fn position(&self) -> Position {
        self.position.lock().clone()
    }

    /// Forgets everything, dirty or not.
    pub(super) fn clear(&self) {
        let mut lists = self.lists.lock();
        let mut entries = self.entries.write();
        self.budget.used.fetch_sub(lists.size, Ordering::Relaxed);
        *lists = Lists { sequence: lists.sequence, ..Lists::new() };
        *entries = OrderedMap::default();
        *self.position.lock() = Position::new();
        self.flush_requested.store(false, Ordering::Release);
    }
}

impl Drop for StoreCache {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Lists {
    fn new() -> Self {
        let empty = Link { before: NONE, after: NONE };
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            ends: [empty; 2],
            sequence: 0,
            evicted: None,
            size: 0,
        }
    }

    fn add(
        &mut self,
        key: Bytes,
        context: WriteContext,
        size: usize,
        budget: &CacheBudget,
    ) -> usize {
        let links = [Link { before: NONE, after: NONE }; 2];
        let node = Node { key, context, sequence: self.sequence, size, in_dirty: false, links };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot] = node;
                slot
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        self.push_back(LRU, slot);
        self.size += size;
        budget.used.fetch_add(size, Ordering::Relaxed);
        slot
    }

    fn replace(&mut self, slot: usize, context: WriteContext, size: usize, budget: &CacheBudget) {
        let node = &mut self.nodes[slot];
        let old = std::mem::replace(&mut node.size, size);
        node.context = context;
        self.size = self.size + size - old;
        budget.used.fetch_add(size, Ordering::Relaxed);
        budget.used.fetch_sub(old, Ordering::Relaxed);
        self.move_to_back(LRU, slot);
    }

    fn mark_dirty(&mut self, slot: usize) {
        self.sequence += 1;
        self.nodes[slot].sequence = self.sequence;
        if std::mem::replace(&mut self.nodes[slot].in_dirty, true) {
            self.move_to_back(DIRTY, slot);
        } else {
            self.push_back(DIRTY, slot);
        }
    }

    /// Takes an entry out and returns its key.
    fn remove(&mut self, slot: usize, budget: &CacheBudget) -> Bytes {
        self.unlink(LRU, slot);
        if std::mem::take(&mut self.nodes[slot].in_dirty) {
            self.unlink(DIRTY, slot);
        }
        if self.evicted == Some(slot) {
            self.evicted = None;
        }
        self.free.push(slot);
        let node = &mut self.nodes[slot];
        self.size -= node.size;
        budget.used.fetch_sub(node.size, Ordering::Relaxed);
        node.context = WriteContext::default();
        std::mem::take(&mut node.key)
    }

    fn move_to_back(&mut self, list: usize, slot: usize) {
        if self.ends[list].before != slot {
            self.unlink(list, slot);
            self.push_back(list, slot);
        }
    }

    // The ends form a ring with the nodes: `ends.after` is the front, `ends.before` the back.
    fn push_back(&mut self, list: usize, slot: usize) {
        let back = self.ends[list].before;
        self.nodes[slot].links[list] = Link { before: back, after: NONE };
        self.link_mut(list, back).after = slot;
        self.ends[list].before = slot;
    }

    fn unlink(&mut self, list: usize, slot: usize) {
        let Link { before, after } = self.nodes[slot].links[list];
        self.link_mut(list, before).after = after;
        self.link_mut(list, after).before = before;
    }

    fn link_mut(&mut self, list: usize, slot: usize) -> &mut Link {
        if slot == NONE { &mut self.ends[list] } else { &mut self.nodes[slot].links[list] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::record::Headers;

    fn key(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    /// A write of one-byte key and one-byte value without topic and headers costs this.
    const ENTRY: usize = 1 + 24 + 1 + 1 + 20;

    fn cache(entries: usize) -> StoreCache {
        StoreCache::new(CacheBudget::new(entries * ENTRY))
    }

    fn put(cache: &StoreCache, name: &str) {
        cache.put(key(name), Some(key("v")), WriteContext::default());
    }

    fn flush(cache: &StoreCache) -> String {
        let dirty = cache.take_dirty();
        dirty.iter().for_each(|entry| cache.written(entry));
        dirty.iter().map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect()
    }

    #[test]
    fn the_cost_of_an_entry_is_kafka_streams_formula() {
        let cache = cache(100);
        let mut headers = Headers::new();
        headers.add("é", key("abc"));
        headers.add("n", None);
        let context =
            WriteContext { topic: Some("topic".into()), headers, ..WriteContext::default() };
        cache.put(key("key"), Some(key("value")), context);
        assert_eq!(cache.budget.used(), 3 + 24 + 1 + 5 + (8 + 8 + 5 + 4) + (1 + 3 + 1));
    }

    #[test]
    fn a_flush_goes_by_the_last_write_of_each_key() {
        let cache = cache(10);
        ["a", "b", "c", "a"].iter().for_each(|name| put(&cache, name));
        cache.get(b"b");
        assert_eq!(flush(&cache), "bca");
        assert_eq!(flush(&cache), "", "flushed entries are clean");
    }

    #[test]
    fn over_budget_the_evicted_entry_is_flushed_first_then_all_dirty_ones() {
        let cache = cache(3);
        ["a", "b", "c"].iter().for_each(|name| put(&cache, name));
        cache.get(b"a"); // least recently used is b now
        assert!(!cache.flush_requested());
        put(&cache, "d");
        assert!(cache.flush_requested());
        assert_eq!(cache.peek(b"b"), Some(Some(key("v"))), "readable until the store has it");
        assert_eq!(flush(&cache), "bacd");
        assert!(!cache.flush_requested());
        assert_eq!(cache.peek(b"b"), None, "evicted after the flush");
        assert_eq!(cache.budget.used(), 3 * ENTRY);
    }

    #[test]
    fn clean_entries_go_without_a_flush_and_only_those_of_the_writing_store() {
        let budget = CacheBudget::new(3 * ENTRY);
        let (one, two) = (StoreCache::new(budget.clone()), StoreCache::new(budget.clone()));
        put(&one, "a");
        put(&two, "x");
        put(&two, "y");
        flush(&one);
        flush(&two);
        put(&two, "z");
        assert!(!two.flush_requested());
        assert_eq!(two.peek(b"x"), None);
        assert!(one.peek(b"a").is_some());
        drop(one);
        assert_eq!(budget.used(), 2 * ENTRY, "a dropped cache gives its memory back");
    }

    #[test]
    fn a_write_during_the_flush_stays_dirty() {
        let cache = cache(10);
        put(&cache, "a");
        let taken = cache.take_dirty();
        cache.put(key("a"), None, WriteContext::default());
        cache.written(&taken[0]);
        assert_eq!(cache.peek(b"a"), Some(None));
        assert_eq!(cache.unwritten(&KeyRange::ALL, Order::Ascending), [(key("a"), None)]);
        assert_eq!(flush(&cache), "a");
        assert_eq!(cache.peek(b"a"), None, "a deleted key leaves after its flush");
        assert_eq!(cache.budget.used(), 0);
    }

    #[test]
    fn what_a_flush_has_taken_is_still_unwritten_for_ranges() {
        let cache = cache(10);
        put(&cache, "a");
        let taken = cache.take_dirty();
        assert_eq!(cache.unwritten(&KeyRange::ALL, Order::Ascending).len(), 1);
        cache.written(&taken[0]);
        assert!(cache.unwritten(&KeyRange::ALL, Order::Ascending).is_empty());
    }
}
