//! Processors at work: user code between the arena and the handlers.

use std::any::Any;

use crate::streams::error::{BoxError, Failed};
use crate::streams::processor::{Cancellable, Processor, ProcessorContext};
use crate::streams::task::{ErrorStage, Flow, Node, take};

/// A processor with its place in a task.
pub(crate) struct ProcessorNode<P> {
    processor: P,
}

impl<P: Processor> ProcessorNode<P> {
    pub(crate) fn new(processor: P) -> Self {
        Self { processor }
    }
}

impl<P: Processor> Node for ProcessorNode<P> {
    fn receive(&mut self, mut flow: Flow<'_>, record: &mut dyn Any) -> Result<(), Failed> {
        let Some(record) = take::<P::KeyIn, P::ValueIn>(record) else {
            return Err(flow.misuse("was given a record of another type".to_owned()));
        };
        let mut cx = ProcessorContext::new(flow.reborrow());
        match self.processor.process(&mut cx, record) {
            // A failure below that a processor has swallowed still is one.
            Ok(()) if flow.state.fault.is_none() => Ok(()),
            Ok(()) => Err(Failed::new()),
            Err(error) => flow.failed(ErrorStage::Processing, error),
        }
    }

    fn init(&mut self, flow: Flow<'_>) -> Result<(), BoxError> {
        self.processor.init(&mut ProcessorContext::new(flow))
    }

    fn punctuate(
        &mut self,
        flow: Flow<'_>,
        schedule: &Cancellable,
        timestamp: i64,
    ) -> Result<(), BoxError> {
        self.processor.punctuate(&mut ProcessorContext::new(flow), schedule, timestamp)
    }

    fn flush(&mut self, flow: Flow<'_>) -> Result<(), BoxError> {
        self.processor.flush(&mut ProcessorContext::new(flow))
    }

    fn close(&mut self) -> Result<(), BoxError> {
        self.processor.close()
    }
}
