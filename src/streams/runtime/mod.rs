//! The runtime: instances, stream threads, and what they do with tasks.
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

pub use error::StreamsError;
pub use instance::{Builder, InstanceMetadata, KafkaStreams, Stopper};
pub use settings::ProcessingGuarantee;
pub use state::{State, UncaughtAction};
