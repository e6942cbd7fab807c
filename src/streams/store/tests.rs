//! The stores of a task as a whole: against a model, killed, torn, full, read while written.

mod bench;
mod crash;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use proptest::prelude::*;

use super::spec::ValueFormat;
use super::state_store::{ChangelogRecord, FlushedChange};
use super::testing::{Fixture, TempDir, bytes};
use super::*;
use crate::streams::record::Headers;

type Model = BTreeMap<Bytes, Bytes>;

fn spec(kind: &str) -> StoreSpec {
    let mut spec = StoreSpec::new(match kind {
        "memory" => Stores::in_memory_key_value("counts"),
        _ => Stores::persistent_key_value("counts"),
    });
    spec.caching = kind == "cached";
    spec
}

fn flush(stores: &TaskStores) -> Vec<FlushedChange> {
    let mut forwarded = Vec::new();
    for store in stores.iter() {
        for entry in store.take_dirty() {
            forwarded.extend(store.write_back(&entry, true).expect("the store takes it"));
        }
    }
    forwarded
}

fn contents(store: &StateStore, order: Order) -> Vec<Entry> {
    store.range(&KeyRange::ALL, order).unwrap().map(Result::unwrap).collect()
}

fn drained(store: &StateStore) -> Vec<ChangelogRecord> {
    let mut records = Vec::new();
    let _ = store.drain_changelog(|record| {
        records.push(record);
        Ok::<_, std::convert::Infallible>(())
    });
    records
}

#[derive(Debug, Clone)]
enum Op {
    Put(u8, Option<u16>),
    Commit,
    Rollback,
    Restart,
    Range(u8, u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (any::<u8>(), proptest::option::weighted(0.7, any::<u16>()))
            .prop_map(|(key, value)| Op::Put(key % 40, value)),
        2 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => Just(Op::Restart),
        2 => (0..40_u8, 0..40_u8).prop_map(|(from, to)| Op::Range(from, to)),
    ]
}

/// Keys of lengths 0 to 3, so that the empty key and prefixes of each other occur.
fn key(number: u8) -> Bytes {
    Bytes::from(vec![number; usize::from(number % 4)])
}

fn check(kind: &str, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    // Room for a handful of entries, so that evictions happen all the time.
    let open = || fixture.open(vec![spec(kind)], if kind == "cached" { 400 } else { 0 });
    let mut stores = open();
    let (mut now, mut committed, mut offset) = (Model::new(), Model::new(), 0);
    let mut last_commit = None;
    for op in ops {
        offset += 1;
        fixture.at(offset, offset);
        let store = stores.get("counts").unwrap();
        match op {
            Op::Put(number, value) => {
                let value = value.map(|value| Bytes::copy_from_slice(&value.to_be_bytes()));
                store.put(key(number), value.clone()).unwrap();
                match value {
                    Some(value) => now.insert(key(number), value),
                    None => now.remove(&key(number)),
                };
                prop_assert_eq!(store.get(&key(number)).unwrap(), now.get(&key(number)).cloned());
                if stores.flush_requested().is_some() {
                    flush(&stores);
                }
            }
            Op::Commit => {
                flush(&stores);
                stores.commit(|_| Some(offset)).unwrap();
                committed.clone_from(&now);
                last_commit = Some(offset);
                prop_assert_eq!(stores.uncommitted_bytes(), 0);
            }
            Op::Rollback => {
                stores.rollback().unwrap();
                now.clone_from(&committed);
            }
            Op::Restart if kind == "memory" => {}
            Op::Restart => {
                drop(stores.close());
                stores = open();
                now.clone_from(&committed);
                let store = stores.get("counts").unwrap();
                prop_assert_eq!(store.checkpoint_offset(), last_commit);
            }
            Op::Range(from, to) => {
                let range = KeyRange::inclusive(Some(key(from)), Some(key(to)));
                let got: Vec<_> =
                    store.range(&range, Order::Ascending).unwrap().map(Result::unwrap).collect();
                let wanted: Vec<_> = now
                    .iter()
                    .filter(|(found, _)| **found >= key(from) && **found <= key(to))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                prop_assert_eq!(got, wanted);
            }
        }
        let store = stores.get("counts").unwrap();
        let wanted: Vec<Entry> = now.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        prop_assert_eq!(&contents(store, Order::Ascending), &wanted);
        let reversed: Vec<Entry> = wanted.into_iter().rev().collect();
        prop_assert_eq!(&contents(store, Order::Descending), &reversed);
        for (key, value) in &now {
            prop_assert_eq!(store.peek(key, false).unwrap(), Some(value.clone()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_store_is_a_map_with_a_way_back(ops in proptest::collection::vec(op(), 1..60)) {
        check("memory", ops)?;
    }

    #[test]
    fn a_persistent_store_is_a_map_with_a_way_back(ops in proptest::collection::vec(op(), 1..60)) {
        check("persistent", ops)?;
    }

    #[test]
    fn a_cached_store_is_a_map_with_a_way_back(ops in proptest::collection::vec(op(), 1..60)) {
        check("cached", ops)?;
    }
}

#[test]
fn a_timestamped_value_goes_to_the_changelog_without_its_timestamp() {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    let stores =
        fixture.open(vec![StoreSpec::timestamped(Stores::in_memory_key_value("counts"))], 0);
    let store = stores.get("counts").unwrap();
    fixture.at(7, 1000);
    store.put(bytes("k"), Some(Bytes::from_static(b"\0\0\0\0\0\0\x03\xe7v"))).unwrap();
    store.put(bytes("k"), None).unwrap();
    let record = |value: Option<&str>, timestamp| ChangelogRecord {
        key: bytes("k"),
        value: value.map(bytes),
        timestamp,
        headers: Headers::new(),
    };
    // The value's own time, 999; a deletion has the time of the record being processed.
    assert_eq!(drained(store), [record(Some("v"), 999), record(None, 1000)]);
    assert_eq!(store.position(), Position::new().with("in", 0, 7));
    let short = store.put(bytes("k"), Some(bytes("short"))).unwrap_err();
    assert!(short.to_string().contains("counts"), "{short}");
}

#[test]
fn restoring_gives_back_what_was_logged() {
    for kind in ["memory", "persistent"] {
        let dir = TempDir::new();
        let fixture = Fixture::new(dir.path());
        let timestamped = || vec![StoreSpec { format: ValueFormat::Timestamped, ..spec(kind) }];
        let stores = fixture.open(timestamped(), 0);
        let record = |key: Option<&str>, value: Option<&str>, timestamp| RestoreRecord {
            key: key.map(bytes),
            value: value.map(bytes),
            timestamp,
            position: None,
        };
        let records = [
            record(Some("a"), Some("1"), 5),
            record(Some("b"), Some("2"), 6),
            record(None, Some("no key, skipped"), 7),
            record(Some("a"), Some("3"), 8),
            record(Some("b"), None, 9),
        ];
        stores.restore("counts", &records, 41).unwrap();
        let store = stores.get("counts").unwrap();
        let wanted = [(bytes("a"), Bytes::from_static(b"\0\0\0\0\0\0\0\x083"))];
        assert_eq!(contents(store, Order::Ascending), wanted, "{kind}");
        assert!(drained(store).is_empty(), "restored records are not logged again");
        stores.commit(|_| Some(41)).unwrap();
        drop(stores.close());
        let stores = fixture.open(timestamped(), 0);
        let offset = stores.get("counts").unwrap().checkpoint_offset();
        assert_eq!(offset, (kind == "persistent").then_some(41));
    }
}

#[test]
fn a_flush_forwards_old_and_new_and_swallows_deletions_of_absent_keys() {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    let stores = fixture.open(vec![spec("cached")], 1 << 20);
    let store = stores.get("counts").unwrap();
    let put = |offset, key: &str, value: Option<&str>| {
        fixture.at(offset, offset * 10);
        store.put(bytes(key), value.map(bytes)).unwrap();
    };
    put(1, "a", Some("1"));
    put(2, "b", Some("2"));
    put(3, "a", Some("3"));
    put(4, "gone", Some("4"));
    put(5, "gone", None);
    assert_eq!(store.position(), Position::new(), "cached writes are not in the store yet");
    let seen: Vec<_> = flush(&stores)
        .into_iter()
        .map(|change| (change.key, change.old, change.new, change.context.offset))
        .collect();
    assert_eq!(
        seen,
        [(bytes("b"), None, Some(bytes("2")), 2), (bytes("a"), None, Some(bytes("3")), 3)]
    );
    let logged: Vec<_> = drained(store).into_iter().map(|record| record.timestamp).collect();
    assert_eq!(logged, [20, 30], "the time of the last write");
    put(6, "a", None);
    let seen = flush(&stores);
    assert_eq!((seen[0].old.clone(), seen[0].new.clone()), (Some(bytes("3")), None));
    assert_eq!(store.position(), Position::new().with("in", 0, 6));
    put(7, "c", Some("dirty"));
    let error = stores.commit(|_| Some(9)).unwrap_err();
    assert!(error.to_string().contains("before its cache was flushed"), "{error}");
}

#[test]
fn an_unknown_store_is_named_with_those_that_exist() {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    let stores = fixture.open(vec![spec("memory")], 0);
    let error = stores.get("count").err().unwrap().to_string();
    assert!(
        error.contains("count ") && error.contains("0_0") && error.contains("counts"),
        "{error}"
    );
}

#[test]
fn a_key_too_long_for_the_disk_is_an_error_and_a_closed_store_says_so() {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap().clone();
    let longest = Bytes::from(vec![7; 65_534]);
    store.put(longest.clone(), Some(bytes("v"))).unwrap();
    let error = store.put(Bytes::from(vec![7; 65_535]), Some(bytes("v"))).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { bytes: 65_535, .. }), "{error}");
    stores.commit(|_| None).unwrap();
    assert_eq!(store.get(&longest).unwrap(), Some(bytes("v")));
    drop(stores.close());
    for result in [store.get(b"k").map(drop), store.put(bytes("k"), None)] {
        assert!(result.unwrap_err().to_string().contains("counts is closed"));
    }
}

#[test]
fn an_open_iterator_survives_commit_and_rollback() {
    let dir = TempDir::new();
    let fixture = Fixture::new(dir.path());
    let stores = fixture.open(vec![spec("persistent")], 0);
    let store = stores.get("counts").unwrap();
    for number in 0..1000_u16 {
        store.put(Bytes::copy_from_slice(&number.to_be_bytes()), Some(bytes("v"))).unwrap();
    }
    let mut walk = store.range(&KeyRange::ALL, Order::Ascending).unwrap();
    assert!(walk.next().is_some());
    stores.commit(|_| Some(1)).unwrap();
    assert_eq!(walk.map(Result::unwrap).count(), 999, "a commit takes nothing away");
}

/// Every generation writes all keys and commits; a reader must never miss a key, see a key go
/// back, or get keys out of order.
#[test]
fn queries_see_every_key_while_the_owner_writes_and_commits() {
    for kind in ["memory", "persistent", "cached"] {
        let dir = TempDir::new();
        let fixture = Fixture::new(dir.path());
        let stores = fixture.open(vec![spec(kind)], if kind == "cached" { 2000 } else { 0 });
        let write = |generation: u64| {
            for number in 0..200_u16 {
                fixture.at(1, 1);
                let value = Bytes::copy_from_slice(&generation.to_be_bytes());
                let store = stores.get("counts").unwrap();
                store.put(Bytes::copy_from_slice(&number.to_be_bytes()), Some(value)).unwrap();
                if store.flush_requested() {
                    flush(&stores);
                }
            }
            flush(&stores);
            drained(stores.get("counts").unwrap());
            stores.commit(|_| Some(1)).unwrap();
        };
        write(0);
        let store = stores.get("counts").unwrap().clone();
        let done = Arc::new(AtomicBool::new(false));
        let ended = done.clone();
        let reader = std::thread::spawn(move || {
            let mut newest = vec![0_u64; 200];
            let mut scans = 0;
            while !ended.load(Ordering::Acquire) || scans == 0 {
                let order = if scans % 2 == 0 { Order::Ascending } else { Order::Descending };
                let entries = contents(&store, order);
                assert_eq!(entries.len(), 200, "{kind}: a key is missing");
                for (index, (key, _)) in entries.iter().enumerate() {
                    let number = if order == Order::Ascending { index } else { 199 - index };
                    assert_eq!(key[..], (number as u16).to_be_bytes(), "{kind}: order");
                    let value = store.peek(key, false).unwrap().expect("the key is there");
                    let value = u64::from_be_bytes(value[..].try_into().unwrap());
                    assert!(value >= newest[number], "{kind}: key {number} went back");
                    newest[number] = value;
                }
                scans += 1;
            }
        });
        (1..60).for_each(write);
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    }
}
