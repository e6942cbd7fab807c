//! What a read, a write, a commit and a restore cost, per backend. To be run alone on a machine:
//! `cargo test --release --lib streams::store::tests::bench -- --ignored --nocapture
//! --test-threads=1`.

use std::time::Instant;

use super::*;

const RECORDS: u64 = 2_000_000;
const KEYS: u64 = 100_000;
/// One task of six with exactly-once: its share of the keys, and of the records of 100 ms.
const TASK_KEYS: u64 = KEYS / 6;
const TASK_COMMIT: u64 = 4000;

/// A key of the 100-byte workload: `key-` and a number that visits the keys in no order.
fn numbered(number: u64, keys: u64) -> Bytes {
    Bytes::from(format!("key-{:06}", number.wrapping_mul(2_654_435_761) % keys))
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
        / 1024
}

fn say(what: &str, count: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{what:<40} {:>9.0} records/s  {:>6.0} ns each  peak {} MiB",
        count as f64 / seconds,
        seconds * 1e9 / count as f64,
        resident_mib()
    );
}

fn engine(directory: &std::path::Path) -> Fixture {
    let mut fixture = Fixture::new(directory);
    fixture.engine = DiskEngine::new(DiskOptions::new()).unwrap();
    fixture
}

fn counting(kind: &str, cache_bytes: usize, keys: u64, commit_every: u64) {
    let dir = TempDir::new();
    let fixture = engine(dir.path());
    let stores = fixture
        .open(vec![StoreSpec { format: ValueFormat::Timestamped, ..spec(kind) }], cache_bytes);
    let store = stores.get("counts").unwrap();
    let (mut forwarded, mut logged) = (0, 0);
    let mut committing = std::time::Duration::ZERO;
    let begun = Instant::now();
    for offset in 0..RECORDS {
        fixture.at(offset as i64, offset as i64);
        let key = numbered(offset, keys);
        let count = store
            .get(&key)
            .unwrap()
            .map_or(0, |value| i64::from_be_bytes(value[8..16].try_into().unwrap()));
        let mut value = offset.to_be_bytes().to_vec();
        value.extend((count + 1).to_be_bytes());
        store.put(key, Some(value.into())).unwrap();
        if store.flush_requested() {
            forwarded += flush(&stores).len();
        }
        let _ = store.drain_changelog(|_| {
            logged += 1;
            Ok::<_, std::convert::Infallible>(())
        });
        if offset % commit_every == commit_every - 1 {
            forwarded += flush(&stores).len();
            let commit = Instant::now();
            stores.commit(|_| Some(offset as i64)).unwrap();
            committing += commit.elapsed();
        }
    }
    say(&format!("count, {kind}, {keys} keys/{commit_every}"), RECORDS, begun);
    println!("  of which commits {} ms; {logged} changelog records", committing.as_millis());
    if cache_bytes > 0 {
        println!("  the cache forwarded {forwarded} changes");
    }
    let sum: i64 = contents(store, Order::Ascending)
        .iter()
        .map(|(_, value)| i64::from_be_bytes(value[8..16].try_into().unwrap()))
        .sum();
    assert_eq!(sum, RECORDS as i64);
    let begun = Instant::now();
    for offset in 0..RECORDS / 4 {
        assert!(store.get(&numbered(offset, keys)).unwrap().is_some());
    }
    say(&format!("get, {kind}"), RECORDS / 4, begun);
}

fn restoring(kind: &str, keys: u64) {
    let dir = TempDir::new();
    let fixture = engine(dir.path());
    let stores = fixture.open(vec![spec(kind)], 0);
    let batch = |from: u64| -> Vec<RestoreRecord> {
        (from..from + 5000)
            .map(|offset| RestoreRecord {
                key: Some(Bytes::from(format!(
                    "key-{:08}",
                    offset.wrapping_mul(2_654_435_761) % keys
                ))),
                value: Some(Bytes::from(vec![7; 88])),
                timestamp: 1,
                position: None,
            })
            .collect()
    };
    let mut spent = std::time::Duration::ZERO;
    for from in (0..RECORDS).step_by(5000) {
        let records = batch(from);
        let begun = Instant::now();
        stores.restore("counts", &records, (from + 4999) as i64).unwrap();
        spent += begun.elapsed();
    }
    let begun = Instant::now();
    stores.commit(|_| None).unwrap();
    say(
        &format!("restore, {kind}, {keys} keys"),
        RECORDS,
        Instant::now() - spent - begun.elapsed(),
    );
    let store = stores.get("counts").unwrap();
    let wanted: std::collections::HashSet<u64> =
        (0..RECORDS).map(|offset| offset.wrapping_mul(2_654_435_761) % keys).collect();
    assert_eq!(contents(store, Order::Ascending).len(), wanted.len());
}

#[test]
#[ignore = "a measurement"]
fn counting_in_memory() {
    counting("memory", 0, KEYS, RECORDS);
    counting("memory", 0, TASK_KEYS, TASK_COMMIT);
}

#[test]
#[ignore = "a measurement"]
fn counting_on_disk() {
    counting("persistent", 0, KEYS, RECORDS);
    counting("persistent", 0, TASK_KEYS, TASK_COMMIT);
}

#[test]
#[ignore = "a measurement"]
fn counting_on_disk_with_a_cache() {
    counting("cached", 10 << 20, KEYS, RECORDS);
    counting("cached", 10 << 20, TASK_KEYS, TASK_COMMIT);
}

#[test]
#[ignore = "a measurement"]
fn restoring_few_and_many_keys() {
    restoring("memory", KEYS);
    restoring("persistent", KEYS);
    restoring("persistent", 10 * RECORDS);
}
