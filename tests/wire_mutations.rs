//! Mutated fixtures: no decoder panics, and none allocates more than a small multiple of
//! its input. Allocations are counted for the whole process, hence a test binary of its own
//! whose tests take turns.
#![cfg(feature = "wire")]

use std::alloc::System;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use llingr_kafka::wire::records::{BatchBuilder, BatchOptions, HeaderRef};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[path = "wire/fixtures.rs"]
mod fixtures;
#[path = "wire/targets.rs"]
mod targets;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
static TURN: Mutex<()> = Mutex::new(());

const MUTATIONS: usize = 10_000;

/// Bytes that a message's decoder may allocate, in all, for each byte of input. The
/// largest part of a message in memory is about 200 bytes and starts from 5 on the wire;
/// vectors that double add up to twice what they hold.
const MESSAGE_FACTOR: usize = 64;
/// What the test harness itself may allocate meanwhile, and empty messages.
const SLACK: usize = 4 << 10;

/// Repeatable random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Damages a copy of `seed` the way that finds length faults: flipped bits, extreme
    /// bytes, cut ends, repeated and removed pieces.
    fn mutate(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let len = self.below(8).min(bytes.len() - at);
            match self.below(6) {
                _ if bytes.is_empty() => bytes.push(self.next() as u8),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][self.below(6)],
                2 => bytes[at..at + len].fill(0xff),
                3 => bytes.truncate(at),
                4 => {
                    let piece = bytes[at..at + len].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => drop(bytes.drain(at..at + len)),
            }
        }
        bytes
    }
}

/// Bytes allocated while `run` ran.
fn allocated(run: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    run();
    region.change().bytes_allocated
}

#[test]
fn mutated_messages_neither_panic_nor_allocate_beyond_their_size() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut seeds: BTreeMap<String, Vec<(i16, Bytes)>> = BTreeMap::new();
    for entry in fixtures::messages() {
        let versions = seeds.entry(entry.name).or_default();
        versions.push((entry.version, entry.bytes));
    }
    let header = Bytes::from_static(b"\0\x03\0\x0c\0\0\0\x63\0\x02me\0");
    seeds.insert("RequestHeader".to_owned(), vec![(2, header.clone()), (1, header)]);
    let header = Bytes::from_static(b"\0\0\0\x63\0");
    seeds.insert("ResponseHeader".to_owned(), vec![(1, header.clone()), (0, header)]);
    let mut random = Random(1);
    for decoder in targets::decoders() {
        let seeds = &seeds[decoder.name];
        let mut accepted = 0;
        for _ in 0..MUTATIONS {
            let (version, seed) = &seeds[random.below(seeds.len())];
            let version = *version.min(&decoder.max);
            let input = Bytes::from(random.mutate(seed));
            let copy = input.clone();
            let used = allocated(|| accepted += usize::from((decoder.decode)(version, copy)));
            let limit = MESSAGE_FACTOR * input.len() + SLACK;
            assert!(
                used <= limit,
                "{} version {version}: {used} bytes for an input of {}",
                decoder.name,
                input.len()
            );
            let _ = (decoder.check)(version, input);
        }
        assert!(
            (1..MUTATIONS).contains(&accepted),
            "{}: {accepted} of {MUTATIONS} accepted, so the mutations test nothing",
            decoder.name
        );
    }
}

#[test]
fn mutated_batches_neither_panic_nor_allocate_beyond_their_bound() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut random = Random(2);
    let names = [
        "data_none",
        "data_gzip",
        "data_snappy",
        "data_lz4",
        "data_zstd",
        "control_commit",
        "compacted_away",
        "magic_0",
        "magic_1",
    ];
    for name in names {
        let whole = fixtures::read(&format!("batches/{name}.bin"));
        let mut records = 0;
        for i in 0..MUTATIONS {
            // Most damage goes to the front, where headers and lengths are.
            let front = whole.len().min(if i % 4 == 0 { whole.len() } else { 200 });
            let mut input = random.mutate(&whole[..front]);
            input.extend_from_slice(&whole[front..]);
            let size = input.len();
            let input = Bytes::from(input);
            let used = allocated(|| records += targets::records(input, i % 8 == 0));
            // The first buffer and its doublings up to the bound, plus what the
            // decompressor itself holds. A flipped attribute compresses any batch.
            let limit = 4 * targets::MAX_DECOMPRESSED + CODEC_STATE;
            assert!(used <= limit, "{name}: {used} bytes for an input of {size}");
        }
        assert!(records > 0 || name == "compacted_away" || name.starts_with("magic"), "{name}");
    }
}

/// LZ4 frames name their block size, at most 4 MiB; the decoder holds two blocks and a window.
const CODEC_STATE: usize = 9 << 20;

#[test]
fn walking_an_uncompressed_batch_allocates_nothing_per_record() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = BatchBuilder::new(BatchOptions::default());
    let header = HeaderRef { key: b"name", value: Some(b"value") };
    for i in 0..10_000 {
        builder.append(i, Some(b"key"), Some(&[7; 100]), std::iter::once(header)).unwrap();
    }
    let bytes = builder.finish(None).unwrap();
    let mut found = 0;
    let used = allocated(|| found = targets::records(bytes, true));
    assert_eq!(found, 10_000);
    assert!(used <= SLACK, "{used} bytes");
}

#[test]
fn fuzz_targets_hold_on_a_bounded_run() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut random = Random(3);
    let decoders = targets::decoders();
    let seeds = fixtures::messages();
    for _ in 0..100_000 {
        let seed = &seeds[random.below(seeds.len())];
        let which = decoders.iter().position(|d| d.name == seed.name).unwrap();
        let min = decoders[which].min;
        let mut input = vec![which as u8, (seed.version - min) as u8];
        input.extend(random.mutate(&seed.bytes));
        targets::fuzz_message(&input);
    }
    for _ in 0..10_000 {
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
        targets::fuzz_message(&noise);
        targets::records(noise.into(), false);
    }
}
