//! Names of tasks.

use std::fmt;

/// One task: a subtopology and the partition of its input topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    /// Number of the subtopology.
    pub subtopology: i32,
    /// Partition of the subtopology's inputs and changelogs.
    pub partition: i32,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.subtopology, self.partition)
    }
}
