//! What goes wrong in a topology and in its tasks.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use super::serde::SerdeError;
use super::task::TaskId;

/// An error of user code.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// A shared cause, so that errors can be cloned into handlers and listeners.
pub(crate) type Cause = Arc<dyn StdError + Send + Sync + 'static>;

/// Why a topology cannot be built. Every text names the node, store or topic and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A node, store or topic name that Kafka would not take.
    #[error("{what} name {name:?}: {why}")]
    Name {
        /// What it was to name.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A name that is taken.
    #[error("{what} {name} is there already: give it another name")]
    Duplicate {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A node that refers to something which is not there.
    #[error("node {node}: no {what} named {name} was added before it")]
    Unknown {
        /// The node that refers to it.
        node: String,
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A node that cannot be as it was asked for.
    #[error("node {node}: {why}")]
    Node {
        /// The node.
        node: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A store that cannot be as it was asked for.
    #[error("store {store}: {why}")]
    Store {
        /// The store.
        store: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A topic that is used in ways that exclude each other.
    #[error("topic {topic}: {why}")]
    Topic {
        /// The topic.
        topic: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The topology as a whole cannot be run.
    #[error("{0}")]
    Whole(String),
}

/// Where in a task something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The task.
    pub task: TaskId,
    /// The node; `None` where the task itself failed.
    pub node: Option<Arc<str>>,
    /// Topic of the record at work; `None` outside of one (a punctuator, a flush).
    pub topic: Option<Arc<str>>,
    /// Its partition, -1 without a record.
    pub partition: i32,
    /// Its offset, -1 without a record.
    pub offset: i64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.task)?;
        if let Some(node) = &self.node {
            write!(f, ", node {node}")?;
        }
        if let Some(topic) = &self.topic {
            write!(f, ", record {topic}-{} offset {}", self.partition, self.offset)?;
        }
        Ok(())
    }
}

/// Why a task stopped: what failed, in which node, at which record.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The topology is not one.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A record of a source could not be read, and the handler for it said to fail.
    #[error("{place}: cannot be deserialized: {cause}")]
    Deserialization {
        /// Where.
        place: Place,
        /// What the serde said.
        #[source]
        cause: SerdeError,
    },
    /// A source's record has no usable timestamp, and its extractor said to fail.
    #[error("{place}: {cause}")]
    Timestamp {
        /// Where.
        place: Place,
        /// What the extractor said.
        #[source]
        cause: Cause,
    },
    /// A processor, its punctuator or its start failed, and the handler for it said to fail.
    #[error("{place}: {cause}")]
    Processing {
        /// Where.
        place: Place,
        /// What user code said.
        #[source]
        cause: Cause,
    },
    /// A record could not be written, and the handler for it said to fail.
    #[error("{place}: writing to topic {sink}: {cause}")]
    Production {
        /// Where.
        place: Place,
        /// The topic it was meant for.
        sink: Arc<str>,
        /// What the serde, the partitioner or the producer said.
        #[source]
        cause: Cause,
    },
    /// A state store failed.
    #[error("{place}: store {store}: {cause}")]
    Store {
        /// Where.
        place: Place,
        /// The store.
        store: Arc<str>,
        /// What happened to it.
        #[source]
        cause: Cause,
    },
    /// The collector did not take a record: an earlier one failed for good, or the producer is
    /// fenced. The cause is the collector's own error.
    #[error("{place}: {cause}")]
    Output {
        /// Where.
        place: Place,
        /// The collector's error.
        #[source]
        cause: Cause,
    },
    /// The task has failed before, or a call came out of its order.
    #[error("task {task}: {why}")]
    State {
        /// The task.
        task: TaskId,
        /// What was wrong.
        why: String,
    },
}

/// The answer of [`forward`](super::ProcessorContext::forward) when something below failed.
///
/// The error itself is kept by the task, which stops with it: pass this on with `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a node below has failed; the task keeps the error and stops with it")]
#[non_exhaustive]
pub struct Failed;

impl Failed {
    pub(crate) const fn new() -> Self {
        Self
    }
}
