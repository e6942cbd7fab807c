//! The runtime: instances, stream threads, and what they do with tasks.
//!
//! ```no_run
//! use std::time::Duration;
//! use llingr_kafka::streams::StreamsBuilder;
//! use llingr_kafka::streams::runtime::{KafkaStreams, ProcessingGuarantee};
//!
//! let builder = StreamsBuilder::new();
//! builder
//!     .stream::<String, String>("orders")
//!     .filter(|_, value| value.is_some_and(|text| !text.is_empty()))
//!     .to("orders-checked");
//! let streams = KafkaStreams::builder("checker", builder.build()?)
//!     .brokers("localhost:9092")
//!     .state_dir("/var/lib/checker")
//!     .processing_guarantee(ProcessingGuarantee::ExactlyOnceV2)
//!     .start()?;
//! let stopper = streams.stopper();
//! // stopper.stop() from a signal handler ends it.
//! streams.run()?;
//! # drop(stopper);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The group is one of the streams protocol (KIP-1071): brokers of Apache Kafka 4.2 or newer. They
//! make the changelogs and repartition topics of an application.
//!
//! # Not there yet
//! Global stores, and sources by pattern, are refused at the start. Stores cannot be asked from
//! outside while the application runs ([`query`](super::query) is not joined to this). Directories
//! of tasks that have gone to other instances are not cleaned up. What a broker refuses ends the
//! thread: the production handler hears only of what cannot be serialised or partitioned.
//! There are no metrics.
//!
//! | Module | Does |
//! |---|---|
//! | `application`, `task` | a topology and its tasks as the runtime runs them |
//! | `seam` | what the runtime knows of a topology and its tasks, and what tasks know of it |
//! | `settings` | settings of an instance, checked |
//! | `instance` | [`KafkaStreams`]: start, stop, state, threads |
//! | `state` | states of an instance and who hears of them |
//! | `thread` | one stream thread: the loop |
//! | `manager` | its tasks: created, restored, run, suspended, closed |
//! | `slot` | one task with its partitions and positions |
//! | `commit` | at-least-once and exactly-once commits |
//! | `output` | the producer as tasks see it |
//! | `offsets` | committed offsets, asked from and sent to the coordinator |
//!
//! # Threads
//! A stream thread is an OS thread: user code runs there and nowhere else. Connections, heartbeats,
//! fetching and producing are tokio tasks on a runtime that belongs to the instance, so that
//! neither a slow processor nor a busy runtime of the program delays them. The thread blocks on
//! that runtime only where it has to wait: for data, for room in the producer, for a commit.

mod application;
mod commit;
mod error;
mod instance;
mod manager;
mod offsets;
mod output;
mod seam;
mod settings;
mod slot;
mod state;
mod task;
mod thread;

pub use error::{ClientFailure, StreamsError};
pub use instance::{Builder, InstanceMetadata, KafkaStreams, Stopper};
pub use settings::ProcessingGuarantee;
pub use state::{State, UncaughtAction};
