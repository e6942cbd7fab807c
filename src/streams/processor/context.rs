//! What a processor can do besides computing.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::schedule::{Cancellable, PunctuationType, Punctuator};
use crate::streams::error::{BoxError, Failed};
use crate::streams::record::{Record, RecordMetadata};
use crate::streams::store::WriteContext;
use crate::streams::task::{Flow, TaskId};

/// The task as seen by one of its processors. `K` and `V` are the types that it forwards.
pub struct ProcessorContext<'a, K, V> {
    flow: Flow<'a>,
    forwards: PhantomData<fn(K, V)>,
}

/// A store that a processor cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {node}: store {store}: {why}")]
#[non_exhaustive]
pub struct StoreAccessError {
    /// The node that asked.
    pub node: Arc<str>,
    /// The store it asked for.
    pub store: String,
    /// Why it cannot have it, and what to do.
    pub why: String,
}

impl<'a, K, V> ProcessorContext<'a, K, V> {
    pub(crate) fn new(flow: Flow<'a>) -> Self {
        Self { flow, forwards: PhantomData }
    }

    /// Does something as if the record of `context` were at work: what the flush of a cache
    /// forwards belongs to the write that it came from.
    #[allow(dead_code, reason = "tables flush their caches through it")]
    pub(crate) fn within<R>(
        &mut self,
        context: &WriteContext,
        work: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let before = self.flow.state.enter(context);
        let result = work(self);
        self.flow.state.leave(before);
        result
    }

    /// The store of this name, which must be connected to this processor. Meant for
    /// [`Processor::init`](super::Processor::init): keep what it returns.
    ///
    /// # Errors
    /// [`StoreAccessError`] if the store is not connected or of another type.
    pub fn store<S: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<S, StoreAccessError> {
        let error = |why: String| StoreAccessError {
            node: self.flow.node_name().clone(),
            store: name.to_owned(),
            why,
        };
        let store: &(dyn Any + Send + Sync) = &**self.flow.store(name).map_err(error)?;
        store.downcast_ref::<S>().cloned().ok_or_else(|| {
            let asked = std::any::type_name::<S>();
            error(format!("it is not a {asked}: ask for the type that its builder makes"))
        })
    }

    /// Calls [`Processor::punctuate`](super::Processor::punctuate) again and again. The interval
    /// is at least 1 ms; missed times collapse into one call.
    ///
    /// # Errors
    /// If the interval is shorter.
    pub fn schedule(
        &mut self,
        interval: Duration,
        kind: PunctuationType,
    ) -> Result<Cancellable, BoxError> {
        self.flow.schedule(interval, kind, None, None)
    }

    /// As [`schedule`](Self::schedule), on the grid that `start` (milliseconds since 1970) lies
    /// on, and never before it.
    ///
    /// # Errors
    /// If the interval is shorter than 1 ms or the start negative.
    pub fn schedule_from(
        &mut self,
        start: i64,
        interval: Duration,
        kind: PunctuationType,
    ) -> Result<Cancellable, BoxError> {
        self.flow.schedule(interval, kind, Some(start), None)
    }

    /// The time of the record as this node was given it, in milliseconds; in a punctuator its
    /// time.
    pub fn timestamp(&self) -> i64 {
        self.flow.timestamp()
    }

    /// Where the record came from; `None` in a punctuator and before any record.
    pub fn record_metadata(&self) -> Option<RecordMetadata> {
        self.flow.metadata()
    }

    /// The largest timestamp that the task has seen, in milliseconds; -1 before any record.
    pub fn current_stream_time(&self) -> i64 {
        self.flow.stream_time()
    }

    /// The wall clock in milliseconds since 1970, as of the present round of the task.
    pub fn current_system_time(&self) -> i64 {
        self.flow.wall_time()
    }

    /// Asks for a commit soon. It does not wait for it.
    pub fn commit(&mut self) {
        self.flow.request_commit();
    }

    /// The task.
    pub fn task_id(&self) -> TaskId {
        self.flow.task_id()
    }

    /// The application's id.
    pub fn application_id(&self) -> &str {
        self.flow.application_id()
    }

    /// The name of this node.
    pub fn node_name(&self) -> &str {
        self.flow.node_name()
    }

    /// A setting of the application by its name, if it was given.
    pub fn app_config(&self, name: &str) -> Option<&str> {
        self.flow.app_config(name)
    }

    /// Counts a record that was left out on purpose, in the metric `dropped-records`.
    pub fn record_dropped(&mut self) {
        self.flow.dropped();
    }
}

impl<K: Clone + Send + 'static, V: Clone + Send + 'static> ProcessorContext<'_, K, V> {
    /// Hands a record to every child, one after the other in the order in which they were added.
    /// Each has finished with it, and all nodes below, before the next gets it.
    ///
    /// # Errors
    /// [`Failed`]: return it, the task knows what happened.
    #[inline]
    pub fn forward(&mut self, record: Record<K, V>) -> Result<(), Failed> {
        self.flow.forward(record)
    }

    /// Hands a record to one child.
    ///
    /// # Errors
    /// [`Failed`], for a child that is not there too.
    pub fn forward_to(&mut self, child: &str, record: Record<K, V>) -> Result<(), Failed> {
        self.flow.forward_to(child, record)
    }

    /// As [`schedule`](Self::schedule), but calls a closure of its own, which sees the context
    /// and what it has captured.
    ///
    /// # Errors
    /// If the interval is shorter than 1 ms.
    pub fn schedule_punctuator(
        &mut self,
        interval: Duration,
        kind: PunctuationType,
        mut punctuator: impl Punctuator<K, V>,
    ) -> Result<Cancellable, BoxError> {
        let call = move |flow: Flow<'_>, timestamp: i64| {
            punctuator.punctuate(&mut ProcessorContext::new(flow), timestamp)
        };
        self.flow.schedule(interval, kind, None, Some(Box::new(call)))
    }
}

impl<K, V> fmt::Debug for ProcessorContext<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessorContext")
            .field("task", &self.task_id())
            .field("node", &self.node_name())
            .finish_non_exhaustive()
    }
}
