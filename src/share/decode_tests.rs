use bytes::BytesMut;

use super::*;
use crate::share::PartitionId;
use crate::wire::Uuid;

/// A batch with records `base..base + count`.
fn batch(base: i64, count: i64) -> BytesMut {
    crate::share::scripted::batch(base, count)
}

fn origin() -> Arc<Origin> {
    let id = PartitionId { topic: Uuid([1; 16]), partition: 0 };
    Arc::new(Origin { topic: "orders".into(), id, node: 1, generation: 1 })
}

fn decoded(data: BytesMut, acquired: &[(i64, i64, i16)]) -> Decoded {
    let acquired: Vec<_> = acquired
        .iter()
        .map(|(first_offset, last_offset, delivery_count)| AcquiredRecords {
            first_offset: *first_offset,
            last_offset: *last_offset,
            delivery_count: *delivery_count,
        })
        .collect();
    let options = DecodeOptions::default();
    decode(&origin(), Some(data.freeze()), &acquired, Instant::now(), &options)
}

fn offsets(decoded: &Decoded) -> Vec<(i64, i16)> {
    decoded.records.iter().map(|record| (record.offset(), record.delivery_count())).collect()
}

#[test]
fn share_18_offsets_outside_the_acquired_ranges_are_not_delivered() {
    let decoded = decoded(batch(0, 10), &[(2, 3, 1), (7, 7, 3)]);
    assert_eq!(offsets(&decoded), [(2, 1), (3, 1), (7, 3)]);
    assert!(decoded.gaps.is_empty() && decoded.missing.is_empty() && decoded.corrupt.is_empty());
}

#[test]
fn share_19_doubled_ranges_and_batches_deliver_each_offset_once() {
    let mut data = batch(0, 5);
    data.extend_from_slice(&batch(0, 5));
    let decoded = decoded(data, &[(0, 4, 1), (0, 4, 1), (3, 1 << 60, 2)]);
    assert_eq!(offsets(&decoded).iter().map(|(o, _)| *o).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(decoded.gaps, [(5, 1 << 60)]);
    assert_eq!(decoded.suspicious, 2);
}

#[test]
fn share_16_acquired_offsets_without_a_record_are_gaps() {
    let nothing = decoded(BytesMut::new(), &[(5, 9, 1)]);
    assert!(nothing.records.is_empty());
    assert_eq!(nothing.gaps, [(5, 9)]);
    // Offsets 3 to 6 were compacted away between two batches.
    let mut data = batch(0, 3);
    data.extend_from_slice(&batch(7, 2));
    let decoded = decoded(data, &[(0, 8, 1)]);
    assert_eq!(offsets(&decoded).len(), 5);
    assert_eq!(decoded.gaps, [(3, 6)]);
}

#[test]
fn share_21_several_damaged_batches_are_all_told_and_the_good_one_between_is_delivered() {
    let mut data = BytesMut::new();
    for (at, damage) in [(0, true), (10, false), (20, true)] {
        let mut batch = batch(at, 5);
        let last = batch.len() - 1;
        if damage {
            batch[last] ^= 0xff;
        }
        data.extend_from_slice(&batch);
    }
    let decoded = decoded(data, &[(0, 24, 1)]);
    assert_eq!(offsets(&decoded).iter().map(|(o, _)| *o).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
    let corrupt: Vec<_> = decoded.corrupt.iter().map(|(first, last, _)| (*first, *last)).collect();
    assert_eq!(corrupt, [(0, 4), (20, 24)]);
    assert!(decoded.corrupt[0].2.contains("checksum"), "{}", decoded.corrupt[0].2);
    assert_eq!(decoded.gaps, [(5, 9), (15, 19)]);
}

#[test]
fn records_behind_a_batch_that_did_not_arrive_whole_are_given_back_and_not_taken_for_gaps() {
    let mut data = batch(0, 3);
    let second = batch(3, 3);
    data.extend_from_slice(&second[..second.len() - 5]);
    let decoded = decoded(data, &[(0, 5, 1)]);
    assert_eq!(offsets(&decoded).len(), 3);
    assert_eq!(decoded.missing, [(3, 5)]);
    assert!(decoded.gaps.is_empty());
}

#[test]
fn share_21_an_empty_batch_is_all_gap() {
    let bytes = batch(4, 1);
    // The shape that compaction leaves: a header and no record.
    let mut empty = BytesMut::from(&bytes[..61]);
    empty[8..12].copy_from_slice(&49i32.to_be_bytes());
    empty[57..61].copy_from_slice(&0i32.to_be_bytes());
    let crc = crc32c::crc32c(&empty[21..]);
    empty[17..21].copy_from_slice(&crc.to_be_bytes());
    let decoded = decoded(empty, &[(4, 4, 1)]);
    assert!(decoded.records.is_empty() && decoded.corrupt.is_empty());
    assert_eq!(decoded.gaps, [(4, 4)]);
}
