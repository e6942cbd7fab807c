//! Cuts an answer's bytes into batches and leaves out what must not be seen: markers, and with
//! `read_committed` the records of aborted transactions. No I/O.

use std::collections::HashSet;

use bytes::Bytes;

use crate::wire;
use crate::wire::messages::fetch::AbortedTransaction;
use crate::wire::records::{Batch, Batches, ControlKind, ControlRecord, DecodeOptions};

/// What one answer holds for one partition.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) batches: Vec<Batch>,
    /// Where to fetch next; past markers and aborted records too.
    pub(super) next_offset: i64,
    /// Leader epoch of the last batch, -1 if there was none.
    pub(super) last_epoch: i32,
    /// Why the cutting ended early, if it did.
    pub(super) error: Option<wire::Error>,
    /// Size of the incomplete batch that an answer without a complete one consists of.
    pub(super) too_large: Option<usize>,
}

/// `aborted` is given only for `read_committed`; its order does not matter.
pub(super) fn cut(
    records: Bytes,
    fetch_offset: i64,
    aborted: Option<Vec<AbortedTransaction>>,
) -> Cut {
    let mut open = aborted.map(Aborted::new);
    let mut cut = Cut {
        batches: Vec::new(),
        next_offset: fetch_offset,
        last_epoch: -1,
        error: None,
        too_large: None,
    };
    let mut batches = Batches::new(records);
    let mut complete = 0;
    for batch in batches.by_ref() {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                cut.error = Some(error);
                break;
            }
        };
        complete += 1;
        let header = batch.header;
        // A broker starts at the batch that holds the offset, so its first one may end earlier
        // only by mistake; following it backwards would loop.
        if header.next_offset() <= cut.next_offset {
            continue;
        }
        let hidden = match &mut open {
            Some(open) => open.hides(&batch),
            None => Ok(header.is_control()),
        };
        match hidden {
            Ok(hidden) => {
                cut.next_offset = header.next_offset();
                cut.last_epoch = header.partition_leader_epoch;
                if !hidden {
                    cut.batches.push(batch);
                }
            }
            Err(error) => {
                cut.error = Some(error);
                break;
            }
        }
    }
    if complete == 0 {
        cut.too_large = batches.tail().and_then(|tail| tail.needed);
    }
    cut
}

/// Producers whose transaction is known to end in an abort, at the present place in the log.
struct Aborted {
    /// Latest first, so that the next one is at the end.
    ahead: Vec<AbortedTransaction>,
    producers: HashSet<i64>,
}

impl Aborted {
    fn new(mut ahead: Vec<AbortedTransaction>) -> Self {
        ahead.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { ahead, producers: HashSet::new() }
    }

    fn hides(&mut self, batch: &Batch) -> wire::Result<bool> {
        let header = &batch.header;
        while let Some(next) = self.ahead.pop_if(|next| next.first_offset <= header.last_offset()) {
            self.producers.insert(next.producer_id);
        }
        if header.is_control() {
            if self.producers.contains(&header.producer_id) && is_abort(batch)? {
                self.producers.remove(&header.producer_id);
            }
            return Ok(true);
        }
        Ok(header.is_transactional() && self.producers.contains(&header.producer_id))
    }
}

fn is_abort(batch: &Batch) -> wire::Result<bool> {
    let records = batch.records(&DecodeOptions::default())?;
    let Some(record) = records.iter().next() else { return Ok(false) };
    Ok(ControlRecord::parse(&record?)?.kind == ControlKind::Abort)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::records::{BatchBuilder, BatchOptions, ProducerState};

    fn batch(offset: i64, producer: Option<i64>, values: &[&str]) -> Bytes {
        let mut builder = BatchBuilder::new(BatchOptions::default()).with_log_position(offset, 3);
        for value in values {
            builder.append(0, None, Some(value.as_bytes()), std::iter::empty()).unwrap();
        }
        builder.finish(producer.map(transactional)).unwrap()
    }

    fn transactional(producer_id: i64) -> ProducerState {
        ProducerState { producer_id, producer_epoch: 0, base_sequence: 0, transactional: true }
    }

    fn marker(offset: i64, producer: i64, kind: i16) -> Bytes {
        let mut builder =
            BatchBuilder::new(BatchOptions::default()).with_log_position(offset, 3).with_control();
        let key = [0i16.to_be_bytes(), kind.to_be_bytes()].concat();
        builder.append(0, Some(&key), Some(&[0; 6]), std::iter::empty()).unwrap();
        builder.finish(Some(transactional(producer))).unwrap()
    }

    fn log(parts: &[Bytes]) -> Bytes {
        parts.concat().into()
    }

    fn aborted(producer_id: i64, first_offset: i64) -> AbortedTransaction {
        AbortedTransaction { producer_id, first_offset }
    }

    fn offsets(cut: &Cut) -> Vec<i64> {
        cut.batches.iter().map(|batch| batch.header.base_offset).collect()
    }

    const ABORT: i16 = 0;
    const COMMIT: i16 = 1;

    #[test]
    fn aborted_records_and_markers_are_hidden_and_the_position_passes_them() {
        let log = log(&[
            batch(0, Some(1), &["a"]),
            batch(1, Some(2), &["b"]),
            batch(2, None, &["c"]),
            marker(3, 1, ABORT),
            marker(4, 2, COMMIT),
            batch(5, Some(1), &["d"]),
            marker(6, 1, COMMIT),
        ]);
        let cut = cut(log, 0, Some(vec![aborted(1, 0)]));
        assert_eq!(offsets(&cut), [1, 2, 5]);
        assert_eq!((cut.next_offset, cut.last_epoch), (7, 3));
        assert!(cut.error.is_none());
    }

    #[test]
    fn a_producer_that_aborts_twice_in_one_answer_is_hidden_twice() {
        let log = log(&[
            batch(0, Some(1), &["a"]),
            marker(1, 1, ABORT),
            batch(2, Some(1), &["b"]),
            marker(3, 1, COMMIT),
            batch(4, Some(1), &["c"]),
            marker(5, 1, ABORT),
        ]);
        let cut = cut(log, 0, Some(vec![aborted(1, 4), aborted(1, 0)]));
        assert_eq!(offsets(&cut), [2]);
    }

    #[test]
    fn read_uncommitted_hides_markers_only() {
        let log = log(&[batch(0, Some(1), &["a"]), marker(1, 1, ABORT)]);
        let cut = cut(log, 0, None);
        assert_eq!(offsets(&cut), [0]);
        assert_eq!(cut.next_offset, 2);
    }

    #[test]
    fn an_incomplete_last_batch_is_left_for_the_next_fetch() {
        let whole = log(&[batch(0, None, &["a"]), batch(1, None, &["b", "c"])]);
        let cut = cut(whole.slice(..whole.len() - 1), 0, None);
        assert_eq!(offsets(&cut), [0]);
        assert_eq!((cut.next_offset, cut.too_large), (1, None));
    }

    #[test]
    fn a_batch_larger_than_the_answer_tells_its_size() {
        let whole = batch(0, None, &["a"]);
        let cut = cut(whole.slice(..whole.len() - 1), 0, None);
        assert_eq!((cut.next_offset, cut.too_large), (0, Some(whole.len())));
    }

    #[test]
    fn batches_before_the_position_do_not_move_it_back() {
        let log = log(&[batch(0, None, &["a"]), batch(1, None, &["b"])]);
        let cut = cut(log, 1, None);
        assert_eq!(offsets(&cut), [1]);
    }
}
