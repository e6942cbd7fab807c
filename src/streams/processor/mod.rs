//! Processors: user code in a topology.
//!
//! | File | Holds |
//! |---|---|
//! | this one | [`Processor`] and its supplier |
//! | `context` | [`ProcessorContext`]: forwarding, stores, clocks |
//! | `fixed_key` | [`FixedKeyProcessor`]: processors that cannot change the key |
//! | `schedule` | punctuation: [`PunctuationType`], [`Cancellable`] |

mod context;
mod fixed_key;
mod schedule;
#[cfg(test)]
pub(crate) mod testing;

pub use context::{ProcessorContext, StoreAccessError};
pub(crate) use fixed_key::FixedKeyAdapter;
pub use fixed_key::{FixedKeyContext, FixedKeyProcessor, FixedKeyRecord, FixedKeySupplier};
pub(crate) use schedule::{Call, Due, Schedules};
pub use schedule::{Cancellable, PunctuationType, Punctuator};

use super::error::BoxError;
use super::record::Record;
use super::topology::StoreDef;

/// A node of a topology that is user code. One instance serves one task, on one thread at a time.
///
/// An error, of this or of what `forward` gave, goes to the processing exception handler, which
/// decides whether the record is skipped or the task fails.
///
/// ```
/// use llingr_kafka::streams::{BoxError, Processor, ProcessorContext, Record};
///
/// /// Numbers the records of a task.
/// #[derive(Default)]
/// struct Numbered {
///     count: i64,
/// }
///
/// impl Processor for Numbered {
///     type KeyIn = String;
///     type ValueIn = String;
///     type KeyOut = String;
///     type ValueOut = i64;
///
///     fn process(
///         &mut self,
///         cx: &mut ProcessorContext<'_, String, i64>,
///         record: Record<String, String>,
///     ) -> Result<(), BoxError> {
///         self.count += 1;
///         cx.forward(record.with_value(self.count))?;
///         Ok(())
///     }
/// }
/// ```
pub trait Processor: Send + 'static {
    /// Type of the keys that come in.
    type KeyIn: Send + 'static;
    /// Type of the values that come in.
    type ValueIn: Send + 'static;
    /// Type of the keys that go out; `()` for a processor that forwards nothing.
    type KeyOut: Clone + Send + 'static;
    /// Type of the values that go out; `()` for a processor that forwards nothing.
    type ValueOut: Clone + Send + 'static;

    /// Called once before the first record, when the stores are complete: the place to get stores
    /// and to schedule punctuation. Forwarding from here is an error.
    ///
    /// # Errors
    /// The task does not start with one.
    fn init(
        &mut self,
        _cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// Called for each record.
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
        record: Record<Self::KeyIn, Self::ValueIn>,
    ) -> Result<(), BoxError>;

    /// Called when a schedule of [`ProcessorContext::schedule`] is due. `timestamp` is the stream
    /// time or the wall-clock time of the call, not the time at which it was due.
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn punctuate(
        &mut self,
        _cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
        _schedule: &Cancellable,
        _timestamp: i64,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// Called before each commit, parents before children: what was held back must be forwarded
    /// now, or it is lost if the process ends after the commit.
    ///
    /// # Errors
    /// Go to the processing exception handler.
    fn flush(
        &mut self,
        _cx: &mut ProcessorContext<'_, Self::KeyOut, Self::ValueOut>,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    /// Called once at the end of a task that was started. Stores are still open. It is not called
    /// for a processor that has panicked.
    ///
    /// # Errors
    /// Are reported after everything else is closed.
    fn close(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Makes the processors of a node, one for each task. Every closure that returns a [`Processor`]
/// is one.
pub trait ProcessorSupplier: Send + Sync + 'static {
    /// What it makes.
    type Processor: Processor;

    /// A new processor. It must not share state with another one, except on purpose and guarded.
    fn get(&self) -> Self::Processor;

    /// Stores that come with the processor: they are added to the topology and connected.
    fn stores(&self) -> Vec<StoreDef> {
        Vec::new()
    }
}

impl<F, P> ProcessorSupplier for F
where
    F: Fn() -> P + Send + Sync + 'static,
    P: Processor,
{
    type Processor = P;

    fn get(&self) -> P {
        self()
    }
}
