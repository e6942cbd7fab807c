//! What an answer means for a batch: acknowledged, to be repeated, or given up.

use tokio::time::Instant;

use super::batch::{Batch, Identity};
use super::is_fatal;
use super::state::{State, Txn};
use crate::client::error::{Error, ErrorCode};
use crate::client::retry::{self, Before, Verdict};

/// A broker's word on one batch.
pub(super) struct Answer {
    pub(super) code: ErrorCode,
    pub(super) base_offset: i64,
    pub(super) error: Error,
}

impl State {
    /// Settles a batch that came back from the wire. Returns whether metadata is out of date.
    pub(super) fn settle(&mut self, batch: Batch, answer: Result<Answer, Error>) -> bool {
        let now = Instant::now();
        let answer = match answer {
            Ok(answer) => answer,
            // The broker may or may not have written it; a repetition is recognised.
            Err(error) => return self.retry_or_give_up(batch, error, now),
        };
        match answer.code {
            ErrorCode::None => self.acknowledge(batch, answer.base_offset),
            // Written by an earlier attempt whose answer was lost.
            ErrorCode::DuplicateSequenceNumber => self.acknowledge(batch, answer.base_offset),
            ErrorCode::OutOfOrderSequenceNumber => {
                let queue = self.queues.get(&batch.partition);
                if queue.is_some_and(|queue| queue.is_next(&batch)) {
                    // All before it was acknowledged, and still the broker misses some: lost.
                    self.give_up(batch, answer.error);
                } else {
                    self.requeue(batch, now);
                }
            }
            ErrorCode::UnknownProducerId if matches!(self.txn, Txn::Off) => {
                // Retention removed all that the broker knew of us; nothing of this was written.
                if let Some(queue) = self.queues.get_mut(&batch.partition) {
                    queue.given_up(batch.ordinal);
                }
                self.requeue(batch, now);
            }
            ErrorCode::MessageTooLarge => match self.over() {
                Some(over) => self.give_up(batch, over),
                None => self.divide(batch, &answer.error),
            },
            _ => return self.retry_or_give_up(batch, answer.error, now),
        }
        false
    }

    fn acknowledge(&mut self, batch: Batch, base_offset: i64) {
        if let Some(queue) = self.queues.get_mut(&batch.partition) {
            queue.acknowledged(&batch);
        }
        self.complete(batch, Ok((base_offset >= 0).then_some(base_offset)));
    }

    fn retry_or_give_up(&mut self, batch: Batch, error: Error, now: Instant) -> bool {
        match retry::decide(&error) {
            Verdict::Retry(before) => {
                self.requeue(batch, now);
                before != Before::Nothing
            }
            Verdict::Fail => {
                self.give_up(batch, error);
                false
            }
        }
    }

    /// Sends the two halves of a batch that is larger than its topic takes; a record that is too
    /// large by itself is given up.
    fn divide(&mut self, mut batch: Batch, error: &Error) {
        match batch.split() {
            Some((left, right)) => self.split(left, right),
            None => {
                let text = format!("{error}; raise max.message.bytes of the topic");
                self.give_up(batch, Error::state(text));
            }
        }
    }

    /// Why nothing is sent any more.
    fn over(&self) -> Option<Error> {
        match (&self.fatal, &self.txn) {
            (Some(fatal), _) => Some(fatal.clone()),
            (None, Txn::Failed(error)) => Some(error.clone()),
            (None, Txn::Ending { .. }) => Some(Error::state("the transaction was aborted")),
            _ => None,
        }
    }

    fn requeue(&mut self, batch: Batch, now: Instant) {
        if let Some(error) = self.over() {
            return self.give_up(batch, error);
        }
        match self.queues.get_mut(&batch.partition) {
            Some(queue) => queue.requeue(batch, now),
            None => self.complete(batch, Err(Error::Closed)),
        }
    }

    pub(super) fn give_up(&mut self, batch: Batch, error: Error) {
        if let Some(queue) = self.queues.get_mut(&batch.partition) {
            queue.given_up(batch.ordinal);
        }
        self.complete(batch, Err(error.clone()));
        if error.code().is_some_and(is_fatal) {
            self.end(error);
        } else {
            self.fail_transaction(error);
        }
    }

    /// Leaves nothing but an abort, if there is a transaction.
    pub(super) fn fail_transaction(&mut self, error: Error) {
        if matches!(self.txn, Txn::Open) {
            self.txn = Txn::Failed(error.clone());
            self.drain_waiting(&error);
        }
    }

    /// Leaves nothing at all.
    pub(super) fn end(&mut self, error: Error) {
        let fatal = self.fatal.get_or_insert(error).clone();
        self.drain_waiting(&fatal);
    }

    /// The next epoch for a producer without transactions; `None` if a new id is needed.
    pub(super) fn raise_epoch(&mut self) -> Option<Identity> {
        let old = self.identity?;
        // The largest epoch is the brokers' own, to fence with.
        self.identity =
            (old.epoch < i16::MAX - 1).then(|| Identity { id: old.id, epoch: old.epoch + 1 });
        self.identity
    }
}
