//! From a partition's answer to records, gaps and damage.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::acquired::sanitise;
use super::record::{Origin, ShareRecord};
use super::runs::Runs;
use crate::wire::messages::share_fetch::AcquiredRecords;
use crate::wire::records::{Batches, DecodeOptions};

/// What a partition's answer holds for us. The lists do not overlap and cover the acquired
/// offsets.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub(super) records: Vec<ShareRecord>,
    /// Acquired offsets without a record.
    pub(super) gaps: Vec<(i64, i64)>,
    /// Acquired offsets whose records did not come with the answer: to be given back.
    pub(super) missing: Vec<(i64, i64)>,
    /// Acquired offsets of batches that cannot be read, with the reason.
    pub(super) corrupt: Vec<(i64, i64, Arc<str>)>,
    pub(super) bytes: usize,
    /// Ranges of the answer that were inverted, doubled or overlapping.
    pub(super) suspicious: usize,
}

/// Only acquired offsets come out, each once, whatever the batches hold besides.
pub(super) fn decode(
    origin: &Arc<Origin>,
    data: Option<Bytes>,
    acquired: &[AcquiredRecords],
    until: Instant,
    options: &DecodeOptions,
) -> Decoded {
    let (mut open, suspicious) = sanitise(acquired);
    let mut decoded = Decoded { suspicious, ..Decoded::default() };
    if open.is_empty() {
        return decoded;
    }
    let data = data.unwrap_or_default();
    decoded.bytes = data.len();
    let has_data = !data.is_empty();
    let mut batches = Batches::new(data);
    let mut seen_to = i64::MIN;
    let mut broken = false;
    for batch in batches.by_ref() {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                // Where this batch begins and ends is not known for sure: what lies behind the
                // last good one is given back below.
                log::warn!(
                    target: crate::LOG_TARGET,
                    "a batch of {}-{} cannot be cut: {error}", origin.topic, origin.id.partition
                );
                broken = true;
                break;
            }
        };
        let header = batch.header;
        seen_to = seen_to.max(header.last_offset());
        if header.is_control() {
            continue;
        }
        let records = match batch.records(options) {
            Ok(records) => records,
            Err(error) => {
                damage(&mut decoded, &mut open, header.base_offset, header.last_offset(), &error);
                continue;
            }
        };
        for record in &records {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    let (first, last) = (header.base_offset, header.last_offset());
                    damage(&mut decoded, &mut open, first, last, &error);
                    break;
                }
            };
            let mut count = None;
            open.take(record.offset, record.offset, |_| true, |run| count = Some(run.value));
            if let Some(delivery_count) = count {
                decoded.records.push(ShareRecord {
                    origin: origin.clone(),
                    record: records.own(&record),
                    delivery_count,
                    until,
                });
            }
        }
    }
    let incomplete = broken || batches.tail().is_some();
    for run in open.drain() {
        // Offsets behind a batch that did not arrive whole may well hold records.
        if incomplete && has_data && run.last > seen_to {
            if run.first <= seen_to {
                decoded.gaps.push((run.first, seen_to));
            }
            decoded.missing.push((run.first.max(seen_to.saturating_add(1)), run.last));
        } else {
            decoded.gaps.push((run.first, run.last));
        }
    }
    decoded
}

fn damage(
    decoded: &mut Decoded,
    open: &mut Runs<i16>,
    first: i64,
    last: i64,
    error: &crate::wire::Error,
) {
    let cause: Arc<str> = error.to_string().into();
    open.take(
        first,
        last,
        |_| true,
        |run| {
            decoded.corrupt.push((run.first, run.last, cause.clone()));
        },
    );
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
