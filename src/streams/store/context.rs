//! The record being processed, as far as stores need to know it.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::streams::record::Headers;

/// Where a write comes from. It stamps changelog records, moves the position of the store and,
/// for a cached store, travels with the entry until that is flushed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WriteContext {
    /// Timestamp of the record in milliseconds, or the time of the punctuation.
    pub timestamp: i64,
    /// Source topic; `None` in a punctuation.
    pub topic: Option<Arc<str>>,
    /// Source partition, -1 in a punctuation.
    pub partition: i32,
    /// Source offset, -1 in a punctuation.
    pub offset: i64,
    /// Headers of the record.
    pub headers: Headers,
}

impl Default for WriteContext {
    fn default() -> Self {
        Self { timestamp: -1, topic: None, partition: -1, offset: -1, headers: Headers::new() }
    }
}

impl WriteContext {
    /// Bytes that the context adds to a cache entry, by Kafka Streams' formula: timestamp,
    /// offset and partition, the characters of the topic, names and values of headers.
    pub(crate) fn cost(&self) -> usize {
        let headers = self.headers.iter().map(|header| {
            header.name.chars().count() + header.value.as_ref().map_or(0, Bytes::len)
        });
        8 + 8
            + 4
            + self.topic.as_ref().map_or(0, |topic| topic.chars().count())
            + headers.sum::<usize>()
    }
}

/// The cell in which a task says what it is processing; its stores read it at every write.
#[derive(Debug, Default)]
pub(crate) struct CurrentRecord {
    context: Mutex<WriteContext>,
}

impl CurrentRecord {
    /// Sets what writes from now on belong to.
    pub(crate) fn set(&self, context: WriteContext) {
        *self.context.lock() = context;
    }

    /// Only the time changes: a forwarded record with another timestamp.
    pub(crate) fn set_timestamp(&self, timestamp: i64) {
        self.context.lock().timestamp = timestamp;
    }

    /// What is being processed.
    pub(crate) fn get(&self) -> WriteContext {
        self.context.lock().clone()
    }

    /// Looks at what is being processed without cloning it.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&WriteContext) -> R) -> R {
        look(&self.context.lock())
    }
}
