//! Stream processing with Kafka Streams' semantics, in native Rust.
//!
//! | Module | Does |
//! |---|---|
//! | `record`, [`serde`], `error` | records, their bytes, what goes wrong |
//! | `processor` | user code: processors, their context, punctuation |
//! | `topology` | sources, processors, sinks, stores; subtopologies; names; `describe()` |
//! | `dsl` | streams and tables in place of processors |
//! | `task` | one partition's worth of a subtopology at work: no I/O, no clock |
//! | [`store`] | state stores |
//! | [`query`] | interactive queries: reading stores from outside; the runtime does not serve them yet |
//! | `test_driver` | a topology without a broker |
//! | `membership` | the member of a streams group (KIP-1071) and its heartbeats |
//! | [`runtime`] | instances that run a topology on brokers: threads, fetching, commits, restoration |
//!
//! Not there yet: aggregations, windows, joins and tables of the DSL (the Processor API and stores
//! do without them), and what [`runtime`] says of itself.

#[cfg_attr(
    not(test),
    allow(dead_code, reason = "what the optimisation of topologies asks comes with it")
)]
mod dsl;
mod error;
pub(crate) mod membership;
mod processor;
pub mod query;
mod record;
pub mod runtime;
pub mod serde;
pub mod store;
mod task;
mod test_driver;
mod topology;

pub use dsl::{Branched, BranchedKStream, KStream, Repartitioned, StreamsBuilder};
pub use error::{BoxError, Failed, Place, TaskError, TopologyError};
pub use processor::{
    Cancellable, FixedKeyContext, FixedKeyProcessor, FixedKeyRecord, FixedKeySupplier, Processor,
    ProcessorContext, ProcessorSupplier, PunctuationType, Punctuator, StoreAccessError,
};
pub use record::{Data, Header, Headers, Record, RecordContext, RecordMetadata};
pub use task::{
    DeadLetter, ErrorAnswer, ErrorContext, ErrorDecision, ErrorHandler, ErrorStage, LogAndContinue,
    LogAndFail, TaskId,
};
pub use test_driver::{
    TestDriverError, TestInputTopic, TestOutputTopic, TopologyTestDriver, TopologyTestDriverBuilder,
};
pub use topology::{
    BuiltTopology, Consumed, ExtractContext, FailOnInvalidTimestamp, LogAndSkipOnInvalidTimestamp,
    NodeHandle, Parents, Partitions, Produced, ResetPolicy, SinkTopic, StoreDef, StreamPartitioner,
    TimestampExtractor, TopicExtractor, Topics, Topology, UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestamp,
};
