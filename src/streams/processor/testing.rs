//! What tests of topologies share.

use super::{BoxError, Processor, ProcessorContext, Record};

/// Forwards every record as it is.
pub(crate) struct Pass;

impl Processor for Pass {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, String, String>,
        record: Record<String, String>,
    ) -> Result<(), BoxError> {
        Ok(cx.forward(record)?)
    }
}
