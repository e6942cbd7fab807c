//! What a task knows besides its nodes and queues.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::TaskId;
use super::handler::{ErrorHandler, LogAndFail};
use crate::streams::error::{Place, TaskError};
use crate::streams::processor::Schedules;
use crate::streams::record::{Headers, RecordMetadata};
use crate::streams::store::{CurrentRecord, WriteContext};

/// Settings of the application that tasks use.
#[derive(Clone)]
pub(crate) struct TaskConfig {
    /// `application.id`.
    pub(crate) application_id: Arc<str>,
    /// All settings by name, for [`ProcessorContext::app_config`].
    ///
    /// [`ProcessorContext::app_config`]: crate::streams::ProcessorContext::app_config
    pub(crate) settings: BTreeMap<String, String>,
    /// `deserialization.exception.handler`.
    pub(crate) deserialization_handler: Arc<dyn ErrorHandler>,
    /// `processing.exception.handler`.
    pub(crate) processing_handler: Arc<dyn ErrorHandler>,
    /// `production.exception.handler`.
    pub(crate) production_handler: Arc<dyn ErrorHandler>,
    /// `errors.dead.letter.queue.topic.name`.
    pub(crate) dead_letter_topic: Option<Arc<str>>,
    /// `max.task.idle.ms`, -1 for never.
    pub(crate) max_task_idle_ms: i64,
}

impl TaskConfig {
    /// Kafka's defaults.
    pub(crate) fn new(application_id: impl Into<Arc<str>>) -> Self {
        Self {
            application_id: application_id.into(),
            settings: BTreeMap::new(),
            deserialization_handler: Arc::new(LogAndFail),
            processing_handler: Arc::new(LogAndFail),
            production_handler: Arc::new(LogAndFail),
            dead_letter_topic: None,
            max_task_idle_ms: 0,
        }
    }
}

impl fmt::Debug for TaskConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings may hold secrets.
        f.debug_struct("TaskConfig")
            .field("application_id", &self.application_id)
            .field("dead_letter_topic", &self.dead_letter_topic)
            .field("max_task_idle_ms", &self.max_task_idle_ms)
            .finish_non_exhaustive()
    }
}

/// The record of a source that is being processed.
#[derive(Default)]
pub(crate) struct SourceRecord {
    pub(crate) topic: Option<Arc<str>>,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Headers,
}

impl SourceRecord {
    /// Within a punctuator, or before any record.
    pub(crate) fn none(timestamp: i64) -> Self {
        Self { partition: -1, offset: -1, timestamp, ..Self::default() }
    }

    pub(crate) fn metadata(&self) -> Option<RecordMetadata> {
        self.topic.as_ref().map(|topic| RecordMetadata {
            topic: topic.clone(),
            partition: self.partition,
            offset: self.offset,
        })
    }
}

/// A store as processors get it.
pub(crate) type OpenStore = Arc<dyn Any + Send + Sync>;

/// Everything of a task that its nodes may touch.
pub(crate) struct TaskState {
    pub(crate) id: TaskId,
    pub(crate) config: Arc<TaskConfig>,
    /// The node at work.
    pub(crate) node: usize,
    /// The source record at work.
    pub(crate) source: SourceRecord,
    /// Timestamp and headers as the present node was given them.
    pub(crate) timestamp: i64,
    pub(crate) headers: Headers,
    pub(crate) stream_time: i64,
    pub(crate) wall_time: i64,
    pub(crate) schedules: Schedules,
    pub(crate) commit_requested: bool,
    pub(crate) dropped_records: u64,
    /// Whether nodes may forward: not while they start or end.
    pub(crate) forwarding: bool,
    /// The first error; nothing goes on after it.
    pub(crate) fault: Option<TaskError>,
    pub(crate) stores: HashMap<Arc<str>, OpenStore>,
    /// Told what writes belong to; `None` in a task without stores, which saves the telling.
    pub(crate) current: Option<Arc<CurrentRecord>>,
    /// Buffer of serializers.
    pub(crate) scratch: BytesMut,
}

impl TaskState {
    pub(crate) fn new(id: TaskId, config: Arc<TaskConfig>) -> Self {
        Self {
            id,
            config,
            node: 0,
            source: SourceRecord::none(-1),
            timestamp: -1,
            headers: Headers::new(),
            stream_time: -1,
            wall_time: -1,
            schedules: Schedules::default(),
            commit_requested: false,
            dropped_records: 0,
            forwarding: false,
            fault: None,
            stores: HashMap::new(),
            current: None,
            scratch: BytesMut::new(),
        }
    }

    /// Sets the time of the present node's record; returns the one before.
    #[inline]
    pub(crate) fn set_timestamp(&mut self, timestamp: i64) -> i64 {
        let before = std::mem::replace(&mut self.timestamp, timestamp);
        if before != timestamp
            && let Some(current) = &self.current
        {
            current.set_timestamp(timestamp);
        }
        before
    }

    /// Sets the headers of the present node's record; returns those before if they are others.
    #[inline]
    pub(crate) fn set_headers(&mut self, headers: &Headers) -> Option<Headers> {
        if self.headers.same(headers) {
            return None;
        }
        let before = std::mem::replace(&mut self.headers, headers.clone());
        self.tell_stores();
        Some(before)
    }

    /// Makes a record the one at work.
    pub(crate) fn begin(&mut self, source: SourceRecord) {
        self.timestamp = source.timestamp;
        self.headers = source.headers.clone();
        self.source = source;
        self.tell_stores();
    }

    /// Puts the record of an earlier write in place of the one at work, which is returned.
    pub(crate) fn enter(&mut self, context: &WriteContext) -> (SourceRecord, i64, Headers) {
        let source = SourceRecord {
            topic: context.topic.clone(),
            partition: context.partition,
            offset: context.offset,
            timestamp: context.timestamp,
            key: None,
            value: None,
            headers: context.headers.clone(),
        };
        let before = (
            std::mem::replace(&mut self.source, source),
            std::mem::replace(&mut self.timestamp, context.timestamp),
            std::mem::replace(&mut self.headers, context.headers.clone()),
        );
        self.tell_stores();
        before
    }

    /// Undoes [`TaskState::enter`].
    pub(crate) fn leave(&mut self, before: (SourceRecord, i64, Headers)) {
        (self.source, self.timestamp, self.headers) = before;
        self.tell_stores();
    }

    fn tell_stores(&self) {
        if let Some(current) = &self.current {
            current.set(WriteContext {
                timestamp: self.timestamp,
                topic: self.source.topic.clone(),
                partition: self.source.partition,
                offset: self.source.offset,
                headers: self.headers.clone(),
            });
        }
    }

    pub(crate) fn place(&self, node: Option<Arc<str>>) -> Place {
        Place {
            task: self.id,
            node,
            topic: self.source.topic.clone(),
            partition: self.source.partition,
            offset: self.source.offset,
        }
    }
}
