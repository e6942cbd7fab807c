//! One input of a task: records as they were fetched, of which only the first is looked at.

use std::collections::VecDeque;
use std::sync::Arc;

use super::state::SourceRecord;
use crate::streams::record::{RawRecord, RecordMetadata};
use crate::streams::topology::{Head, HeadBytes, HeadContext, HeadError, InputDef};

/// A topic's partition as a task reads it.
pub(crate) struct Input {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    /// The source node, by local index.
    pub(crate) node: usize,
    records: VecDeque<RawRecord>,
    bytes: usize,
    head: Box<dyn Head>,
    loaded: Option<Loaded>,
    /// The largest timestamp taken, -1 before the first.
    pub(crate) partition_time: i64,
    /// Whether something was taken since the last commit.
    pub(crate) consumed: bool,
    /// Since when it has been empty while others waited for it.
    pub(crate) idle_since: Option<i64>,
}

/// The record at the head, read and stamped.
pub(crate) struct Loaded {
    pub(crate) timestamp: i64,
    pub(crate) source: SourceRecord,
}

/// What became of the record at the head.
pub(crate) enum Loading {
    /// It can be processed.
    Ready,
    /// There is none.
    Empty,
    /// Its timestamp is negative: left out.
    Dropped,
    /// It could not be read, and is no longer in the queue.
    Failed(Box<SourceRecord>, HeadError),
}

impl Input {
    pub(crate) fn new(def: &InputDef, partition: i32) -> Self {
        Self {
            topic: def.topic.clone(),
            partition,
            node: def.node,
            records: VecDeque::new(),
            bytes: 0,
            head: (def.head)(),
            loaded: None,
            partition_time: -1,
            consumed: false,
            idle_since: None,
        }
    }

    pub(crate) fn add(&mut self, records: impl IntoIterator<Item = RawRecord>) {
        for record in records {
            self.bytes += record.bytes();
            self.records.push_back(record);
        }
    }

    /// Records not processed yet, the loaded one included.
    pub(crate) fn len(&self) -> usize {
        self.records.len() + usize::from(self.loaded.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.loaded.is_none() && self.records.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Offset of the first record not processed yet.
    pub(crate) fn head_offset(&self) -> Option<i64> {
        match &self.loaded {
            Some(loaded) => Some(loaded.source.offset),
            None => self.records.front().map(|record| record.offset),
        }
    }

    pub(crate) fn head_timestamp(&self) -> Option<i64> {
        self.loaded.as_ref().map(|loaded| loaded.timestamp)
    }

    /// Reads the record at the head unless that is done.
    pub(crate) fn load(&mut self, wall_clock: i64) -> Loading {
        if self.loaded.is_some() {
            return Loading::Ready;
        }
        let Some(record) = self.records.pop_front() else { return Loading::Empty };
        self.bytes -= record.bytes();
        let metadata = RecordMetadata {
            topic: self.topic.clone(),
            partition: self.partition,
            offset: record.offset,
        };
        let cx =
            HeadContext { metadata: &metadata, partition_time: self.partition_time, wall_clock };
        let bytes = HeadBytes {
            key: record.key.as_ref(),
            value: record.value.as_ref(),
            headers: &record.headers,
            timestamp: record.timestamp,
        };
        let outcome = self.head.load(&cx, bytes);
        let source = SourceRecord {
            topic: Some(metadata.topic),
            partition: self.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key,
            value: record.value,
            headers: record.headers,
        };
        match outcome {
            Ok(timestamp) if timestamp >= 0 => {
                self.loaded = Some(Loaded { timestamp, source });
                Loading::Ready
            }
            Ok(_) => {
                self.consumed = true;
                Loading::Dropped
            }
            Err(error) => {
                self.consumed = true;
                Loading::Failed(Box::new(source), error)
            }
        }
    }

    /// Takes the loaded record; its typed form stays in [`Input::head`].
    pub(crate) fn take(&mut self) -> Option<Loaded> {
        let loaded = self.loaded.take()?;
        self.consumed = true;
        self.partition_time = self.partition_time.max(loaded.timestamp);
        Some(loaded)
    }

    pub(crate) fn head(&mut self) -> &mut dyn Head {
        &mut *self.head
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.loaded = None;
        self.bytes = 0;
        self.idle_since = None;
    }
}
