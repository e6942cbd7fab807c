//! Processors that cannot change the key, so that nothing has to be repartitioned behind them.

use std::time::Duration;

use super::{Cancellable, Processor, ProcessorContext, PunctuationType, StoreAccessError};
use crate::streams::error::{BoxError, Failed};
use crate::streams::record::{Headers, Record, RecordMetadata};
use crate::streams::task::TaskId;
use crate::streams::topology::StoreDef;

/// A record whose key stays what it is. Only the library makes one from nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedKeyRecord<K, V>(Record<K, V>);

impl<K, V> FixedKeyRecord<K, V> {
    /// The key, `None` for null.
    pub fn key(&self) -> Option<&K> {
        self.0.key.as_ref()
    }

    /// The value, `None` for null.
    pub fn value(&self) -> Option<&V> {
        self.0.value.as_ref()
    }

    /// Milliseconds since 1970.
    pub fn timestamp(&self) -> i64 {
        self.0.timestamp
    }

    /// Headers.
    pub fn headers(&self) -> &Headers {
        &self.0.headers
    }

    /// The value, and the record without it.
    pub fn take_value(self) -> (Option<V>, FixedKeyRecord<K, ()>) {
        let Record { key, value, timestamp, headers } = self.0;
        (value, FixedKeyRecord(Record { key, value: None, timestamp, headers }))
    }

    /// The same record with another value.
    pub fn with_value<V2>(self, value: impl Into<Option<V2>>) -> FixedKeyRecord<K, V2> {
        FixedKeyRecord(self.0.with_value(value))
    }

    /// The same record at another time.
    pub fn with_timestamp(self, timestamp: i64) -> Self {
        Self(self.0.with_timestamp(timestamp))
    }

    /// The same record with other headers.
    pub fn with_headers(self, headers: Headers) -> Self {
        Self(self.0.with_headers(headers))
    }
}

/// As [`Processor`], but the key of what goes out is the key of what came in: by construction,
/// there is no way to make a record with another one.
pub trait FixedKeyProcessor: Send + 'static {
    /// Type of the keys.
    type Key: Clone + Send + 'static;
    /// Type of the values that come in.
    type ValueIn: Send + 'static;
    /// Type of the values that go out.
    type ValueOut: Clone + Send + 'static;

    /// See [`Processor::init`].
    ///
    /// # Errors
    /// The task does not start with one.
    fn init(
        &mut self,
        _cx: &mut FixedKeyContext<'_, '_, Self::Key, Self::ValueOut>,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// See [`Processor::process`].
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn process(
        &mut self,
        cx: &mut FixedKeyContext<'_, '_, Self::Key, Self::ValueOut>,
        record: FixedKeyRecord<Self::Key, Self::ValueIn>,
    ) -> Result<(), BoxError>;

    /// See [`Processor::punctuate`]. Nothing can be forwarded from here, for want of a record.
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn punctuate(
        &mut self,
        _cx: &mut FixedKeyContext<'_, '_, Self::Key, Self::ValueOut>,
        _schedule: &Cancellable,
        _timestamp: i64,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// See [`Processor::close`].
    ///
    /// # Errors
    /// Are reported after everything else is closed.
    fn close(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Makes the processors of a node, one for each task. Every closure that returns a
/// [`FixedKeyProcessor`] is one.
pub trait FixedKeySupplier: Send + Sync + 'static {
    /// What it makes.
    type Processor: FixedKeyProcessor;

    /// A new processor.
    fn get(&self) -> Self::Processor;

    /// Stores that come with the processor: they are added to the topology and connected.
    fn stores(&self) -> Vec<StoreDef> {
        Vec::new()
    }
}

impl<F, P> FixedKeySupplier for F
where
    F: Fn() -> P + Send + Sync + 'static,
    P: FixedKeyProcessor,
{
    type Processor = P;

    fn get(&self) -> P {
        self()
    }
}

/// The task as seen by a [`FixedKeyProcessor`].
#[derive(Debug)]
pub struct FixedKeyContext<'c, 'a, K, V>(&'c mut ProcessorContext<'a, K, V>);

impl<K: Clone + Send + 'static, V: Clone + Send + 'static> FixedKeyContext<'_, '_, K, V> {
    /// See [`ProcessorContext::forward`].
    ///
    /// # Errors
    /// [`Failed`]: return it, the task knows what happened.
    pub fn forward(&mut self, record: FixedKeyRecord<K, V>) -> Result<(), Failed> {
        self.0.forward(record.0)
    }

    /// See [`ProcessorContext::forward_to`].
    ///
    /// # Errors
    /// [`Failed`], for a child that is not there too.
    pub fn forward_to(&mut self, child: &str, record: FixedKeyRecord<K, V>) -> Result<(), Failed> {
        self.0.forward_to(child, record.0)
    }

    /// See [`ProcessorContext::store`].
    ///
    /// # Errors
    /// [`StoreAccessError`] if the store is not connected or of another type.
    pub fn store<S: Clone + Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<S, StoreAccessError> {
        self.0.store(name)
    }

    /// See [`ProcessorContext::schedule`].
    ///
    /// # Errors
    /// If the interval is shorter than 1 ms.
    pub fn schedule(
        &mut self,
        interval: Duration,
        kind: PunctuationType,
    ) -> Result<Cancellable, BoxError> {
        self.0.schedule(interval, kind)
    }

    /// See [`ProcessorContext::record_metadata`].
    pub fn record_metadata(&self) -> Option<RecordMetadata> {
        self.0.record_metadata()
    }

    /// See [`ProcessorContext::current_stream_time`].
    pub fn current_stream_time(&self) -> i64 {
        self.0.current_stream_time()
    }

    /// See [`ProcessorContext::current_system_time`].
    pub fn current_system_time(&self) -> i64 {
        self.0.current_system_time()
    }

    /// See [`ProcessorContext::commit`].
    pub fn commit(&mut self) {
        self.0.commit();
    }

    /// The task.
    pub fn task_id(&self) -> TaskId {
        self.0.task_id()
    }

    /// The name of this node.
    pub fn node_name(&self) -> &str {
        self.0.node_name()
    }
}

/// A fixed-key processor as a processor.
pub(crate) struct FixedKeyAdapter<P>(pub(crate) P);

impl<P: FixedKeyProcessor> Processor for FixedKeyAdapter<P> {
    type KeyIn = P::Key;
    type ValueIn = P::ValueIn;
    type KeyOut = P::Key;
    type ValueOut = P::ValueOut;

    fn init(
        &mut self,
        cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
    ) -> Result<(), BoxError> {
        self.0.init(&mut FixedKeyContext(cx))
    }

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
        record: Record<Self::KeyIn, Self::ValueIn>,
    ) -> Result<(), BoxError> {
        self.0.process(&mut FixedKeyContext(cx), FixedKeyRecord(record))
    }

    fn punctuate(
        &mut self,
        cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
        schedule: &Cancellable,
        timestamp: i64,
    ) -> Result<(), BoxError> {
        self.0.punctuate(&mut FixedKeyContext(cx), schedule, timestamp)
    }

    fn close(&mut self) -> Result<(), BoxError> {
        self.0.close()
    }
}
