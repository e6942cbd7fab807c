//! How records move from node to node.
//!
//! The nodes of a task lie in an arena, a box each. A record on its way is on the stack of the
//! node that forwards it; the child is taken out of the arena while it works, so that it can hand
//! on the arena to its own children. Neither the record nor the call is allocated. The one check
//! at run time, that parent and child agree on the type, cannot fail for a topology made through
//! the typed builder.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::TaskId;
use super::collector::Collector;
use super::handler::{ErrorContext, ErrorDecision, ErrorStage};
use super::state::{OpenStore, TaskState};
use crate::streams::error::{BoxError, Failed, Place, TaskError};
use crate::streams::processor::{Call, Cancellable, PunctuationType};
use crate::streams::record::{Record, RecordMetadata};
use crate::streams::task::collector::OutRecord;
use crate::streams::topology::Graph;

/// A node at work.
pub(crate) trait Node: Send {
    /// Takes the record out of the `Option<Record<K, V>>` behind `record`.
    fn receive(&mut self, flow: Flow<'_>, record: &mut dyn Any) -> Result<(), Failed>;

    fn init(&mut self, _flow: Flow<'_>) -> Result<(), BoxError> {
        Ok(())
    }

    fn punctuate(
        &mut self,
        _flow: Flow<'_>,
        _schedule: &Cancellable,
        _timestamp: i64,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    fn flush(&mut self, _flow: Flow<'_>) -> Result<(), BoxError> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

/// The nodes of a task by index; a node is out while it works.
pub(crate) type Arena = [Option<Box<dyn Node>>];

/// What a node works with: its task without itself.
pub(crate) struct Flow<'a> {
    pub(crate) nodes: &'a mut Arena,
    pub(crate) graph: &'a Graph,
    pub(crate) state: &'a mut TaskState,
    pub(crate) out: &'a mut dyn Collector,
}

/// Takes a record of known type out of its place on the caller's stack.
#[inline]
pub(crate) fn take<K: 'static, V: 'static>(record: &mut dyn Any) -> Option<Record<K, V>> {
    record.downcast_mut::<Option<Record<K, V>>>().and_then(Option::take)
}

impl Flow<'_> {
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Flow<'_> {
        Flow {
            nodes: &mut *self.nodes,
            graph: self.graph,
            state: &mut *self.state,
            out: &mut *self.out,
        }
    }

    /// Hands the record to all children of the present node.
    #[inline]
    pub(crate) fn forward<K, V>(&mut self, record: Record<K, V>) -> Result<(), Failed>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        self.may_forward(record.timestamp)?;
        let graph = self.graph;
        let Some((last, others)) = graph.children(self.state.node).split_last() else {
            return Ok(());
        };
        for child in others {
            self.deliver(*child, record.clone())?;
        }
        self.deliver(*last, record)
    }

    /// Hands the record to the child of this name.
    pub(crate) fn forward_to<K, V>(
        &mut self,
        child: &str,
        record: Record<K, V>,
    ) -> Result<(), Failed>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        self.may_forward(record.timestamp)?;
        let graph = self.graph;
        let children = graph.children(self.state.node);
        match children.iter().find(|index| &**graph.name(**index) == child) {
            Some(index) => self.deliver(*index, record),
            None => {
                let names: Vec<&str> = children.iter().map(|index| &**graph.name(*index)).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Err(self.misuse(format!("no child named {child}; its children: {names}")))
            }
        }
    }

    #[inline]
    fn may_forward(&mut self, timestamp: i64) -> Result<(), Failed> {
        if self.state.forwarding && timestamp >= 0 && self.state.fault.is_none() {
            return Ok(());
        }
        Err(self.refuse(timestamp))
    }

    #[cold]
    fn refuse(&mut self, timestamp: i64) -> Failed {
        if self.state.fault.is_some() {
            return Failed::new();
        }
        if !self.state.forwarding {
            return self.misuse("forwards outside of process, punctuate and flush".to_owned());
        }
        self.misuse(format!("forwards a record with timestamp {timestamp}: give one from 0 on"))
    }

    /// A misuse by the present node: it ends the task.
    pub(crate) fn misuse(&mut self, why: String) -> Failed {
        let cause: BoxError = why.into();
        let place = self.place();
        self.fail(TaskError::Processing { place, cause: cause.into() })
    }

    /// Keeps the first error of the task.
    pub(crate) fn fail(&mut self, error: TaskError) -> Failed {
        self.state.fault.get_or_insert(error);
        Failed::new()
    }

    fn deliver<K: Send + 'static, V: Send + 'static>(
        &mut self,
        child: usize,
        record: Record<K, V>,
    ) -> Result<(), Failed> {
        let Some(mut node) = self.nodes[child].take() else {
            return Err(self.misuse(format!(
                "node {} is above itself, or has panicked",
                self.graph.name(child)
            )));
        };
        let parent = std::mem::replace(&mut self.state.node, child);
        let timestamp = self.state.set_timestamp(record.timestamp);
        let headers = self.state.set_headers(&record.headers);
        let result = node.receive(self.reborrow(), &mut Some(record));
        self.nodes[child] = Some(node);
        self.state.node = parent;
        self.state.set_timestamp(timestamp);
        if let Some(headers) = headers {
            self.state.set_headers(&headers);
        }
        result
    }

    /// The present node and record.
    pub(crate) fn place(&self) -> Place {
        self.state.place(Some(self.graph.name(self.state.node).clone()))
    }

    /// What a node's error leads to: nothing if the handler says to go on.
    pub(crate) fn failed(&mut self, stage: ErrorStage, error: BoxError) -> Result<(), Failed> {
        if self.state.fault.is_some() {
            return Err(Failed::new());
        }
        let place = self.place();
        let config = self.state.config.clone();
        let handler = match stage {
            ErrorStage::Deserialization => &config.deserialization_handler,
            ErrorStage::Processing => &config.processing_handler,
            ErrorStage::Production => &config.production_handler,
        };
        let cx = ErrorContext {
            stage,
            place: &place,
            source_key: self.state.source.key.as_ref(),
            source_value: self.state.source.value.as_ref(),
            headers: &self.state.source.headers,
            timestamp: self.state.source.timestamp,
            dead_letter_topic: config.dead_letter_topic.as_ref(),
        };
        let (decision, dead_letters) = handler.handle(&cx, &*error).into_parts();
        for letter in dead_letters {
            let record = OutRecord {
                topic: &letter.topic,
                partition: None,
                key: letter.key,
                value: letter.value,
                headers: letter.headers,
                timestamp: letter.timestamp,
                changelog: false,
            };
            self.send(record)?;
        }
        match decision {
            ErrorDecision::Continue => {
                self.dropped();
                Ok(())
            }
            ErrorDecision::Fail => {
                let cause = error.into();
                Err(self.fail(match stage {
                    ErrorStage::Production => {
                        let sink = self.graph.name(self.state.node).clone();
                        TaskError::Production { place, sink, cause }
                    }
                    _ => TaskError::Processing { place, cause },
                }))
            }
        }
    }

    /// Hands a record to the collector. Its error ends the task.
    pub(crate) fn send(&mut self, record: OutRecord<'_>) -> Result<(), Failed> {
        match self.out.send(record) {
            Ok(()) => Ok(()),
            Err(cause) => {
                let place = self.place();
                Err(self.fail(TaskError::Output { place, cause: cause.into() }))
            }
        }
    }

    pub(crate) fn schedule(
        &mut self,
        interval: Duration,
        kind: PunctuationType,
        start: Option<i64>,
        call: Call,
    ) -> Result<Cancellable, BoxError> {
        let now = match kind {
            PunctuationType::StreamTime => self.state.stream_time,
            PunctuationType::WallClockTime => self.state.wall_time,
        };
        self.state.schedules.add(self.state.node, kind, interval, start, now, call)
    }

    pub(crate) fn store(&self, name: &str) -> Result<&OpenStore, String> {
        let (connected, global) = (self.graph.stores(self.state.node), self.graph.globals());
        if !connected.iter().chain(global).any(|store| &**store == name) {
            let names: Vec<&str> = connected.iter().map(|store| &**store).collect();
            return Err(format!(
                "not connected to this processor; connect it when it is added, or with \
                 connect_processor_stores. Connected are: {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ));
        }
        self.state.stores.get(name).ok_or_else(|| "not open in this task".to_owned())
    }

    pub(crate) fn node_name(&self) -> &Arc<str> {
        self.graph.name(self.state.node)
    }

    pub(crate) fn timestamp(&self) -> i64 {
        self.state.timestamp
    }

    pub(crate) fn metadata(&self) -> Option<RecordMetadata> {
        self.state.source.metadata()
    }

    pub(crate) fn stream_time(&self) -> i64 {
        self.state.stream_time
    }

    pub(crate) fn wall_time(&self) -> i64 {
        self.state.wall_time
    }

    pub(crate) fn request_commit(&mut self) {
        self.state.commit_requested = true;
    }

    pub(crate) fn task_id(&self) -> TaskId {
        self.state.id
    }

    pub(crate) fn application_id(&self) -> &str {
        &self.state.config.application_id
    }

    pub(crate) fn app_config(&self, name: &str) -> Option<&str> {
        self.state.config.settings.get(name).map(String::as_str)
    }

    pub(crate) fn dropped(&mut self) {
        self.state.dropped_records += 1;
    }
}
