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
//! | `query` | interactive queries: reading stores from outside; the runtime does not serve them yet |
//! | `test_driver` | a topology without a broker |
//! | `membership` | the member of a streams group (KIP-1071) and its heartbeats |
//! | [`runtime`] | instances that run a topology on brokers: threads, fetching, commits, restoration |
//!
//! Not there yet: aggregations, windows, joins and tables of the DSL (the Processor API and stores
//! do without them), and what [`runtime`] says of itself.

#[allow(dead_code, reason = "marks of nodes that the optimisation of topologies asks for")]
mod dsl;
mod error;
pub(crate) mod membership;
mod processor;
#[allow(dead_code, unused_imports, reason = "the runtime does not serve queries yet")]
#[doc(hidden)]
pub mod query;
mod record;
pub mod runtime;
pub mod serde;
#[allow(dead_code, reason = "queries, global stores and the cleaner use what nothing else does")]
pub mod store;
#[allow(dead_code, reason = "global tasks and metrics ask for what nothing else does")]
mod task;
mod test_driver;
#[allow(dead_code, reason = "tables and joins of the DSL call what nothing else does")]
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
