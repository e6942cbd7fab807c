//! What ends a task, a thread or an instance.

use std::sync::Arc;

use crate::client;
use crate::streams::membership::TaskId;
use crate::wire::ErrorCode;

/// Cause of a failure of the program's code.
type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why something of a streams application failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StreamsError {
    /// A setting is missing, malformed or contradicts another one.
    #[error("{0}")]
    Config(String),
    /// The program's code failed, or a store.
    #[error("task {task}{}: {cause}", place(.node, .at))]
    Task {
        /// The task.
        task: TaskId,
        /// Name of the processor or store.
        node: Option<Arc<str>>,
        /// Topic, partition and offset of the record at hand.
        at: Option<(client::TopicPartition, i64)>,
        /// What happened.
        cause: Cause,
    },
    /// The program's code panicked.
    #[error("task {task}: panic: {text}")]
    Panic {
        /// The task.
        task: TaskId,
        /// The panic's message.
        text: Arc<str>,
    },
    /// The task is still held by another thread or process.
    #[error("task {task} is locked: {cause}")]
    Locked {
        /// The task.
        task: TaskId,
        /// Who holds it.
        cause: Arc<str>,
    },
    /// The state of a task cannot be trusted; it is restored from its changelogs.
    #[error("task {task} is corrupted and will be restored: {cause}")]
    Corrupted {
        /// The task.
        task: TaskId,
        /// Why.
        cause: Arc<str>,
    },
    /// The thread's tasks belong to others by now; it joins the group again.
    #[error("the tasks have moved to other members: {0}")]
    Migrated(Arc<str>),
    /// The group cannot be joined or ended the membership.
    #[error("{0}")]
    Group(Arc<str>),
    /// Topics are missing or do not fit together.
    #[error("{0}")]
    Topics(Arc<str>),
    /// The client below failed: connection, login, a broker's refusal.
    #[error("{0}")]
    Client(client::Error),
    /// The instance has the wrong state for this call.
    #[error("{0}")]
    State(Arc<str>),
}

impl StreamsError {
    /// Wraps an error of the program's code.
    pub fn of_task(
        task: TaskId,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Task { task, node: None, at: None, cause: Arc::from(cause.into()) }
    }

    /// Whether trying the same again later may help.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Locked { .. } => true,
            Self::Client(error) => client::decide(error).is_retry(),
            _ => false,
        }
    }

    /// Sorts an error of producing or committing: fencing means that the tasks have moved.
    pub(super) fn of_output(error: client::Error) -> Self {
        match error.code() {
            Some(
                ErrorCode::ProducerFenced
                | ErrorCode::InvalidProducerEpoch
                | ErrorCode::InvalidProducerIdMapping
                | ErrorCode::TransactionCoordinatorFenced
                | ErrorCode::OutOfOrderSequenceNumber
                | ErrorCode::StaleMemberEpoch
                | ErrorCode::IllegalGeneration
                | ErrorCode::FencedMemberEpoch
                | ErrorCode::UnknownMemberId
                | ErrorCode::FencedInstanceId
                | ErrorCode::InvalidTxnState,
            ) => Self::Migrated(error.to_string().into()),
            _ => Self::Client(error),
        }
    }
}

impl From<client::Error> for StreamsError {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Config(text) => Self::Config(text),
            other => Self::Client(other),
        }
    }
}

fn place(node: &Option<Arc<str>>, at: &Option<(client::TopicPartition, i64)>) -> String {
    let node = node.as_ref().map(|node| format!(", {node}")).unwrap_or_default();
    let at = at.as_ref().map(|(tp, offset)| format!(", {tp} offset {offset}")).unwrap_or_default();
    format!("{node}{at}")
}
