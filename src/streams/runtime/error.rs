//! What ends a task, a thread or an instance.

use std::sync::Arc;

use crate::client;
use crate::streams::error::{TaskError, TopologyError};
use crate::streams::store::StoreError;
use crate::streams::task::TaskId;
use crate::wire::ErrorCode;

/// What the client below said: the request, the broker and the reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct ClientFailure(client::Error);

/// Why something of a streams application failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StreamsError {
    /// A setting is missing, malformed or contradicts another one.
    #[error("{0}")]
    Config(String),
    /// The topology is not one.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The program's code failed, or a record, and no handler forgave it: says in which task and
    /// node and at which record.
    #[error(transparent)]
    Task(TaskError),
    /// A store of a task failed outside of a processor: opened, restored or made durable.
    #[error("task {task}: {cause}")]
    Store {
        /// The task.
        task: TaskId,
        /// What happened.
        #[source]
        cause: StoreError,
    },
    /// The state directory cannot be had.
    #[error(transparent)]
    StateDirectory(StoreError),
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
    Client(ClientFailure),
    /// The instance has the wrong state for this call.
    #[error("{0}")]
    State(Arc<str>),
}

impl StreamsError {
    /// Sorts an error of a task's stores by what the thread does about it.
    pub(super) fn of_store(task: TaskId, error: StoreError) -> Self {
        match error {
            StoreError::TaskLocked { .. } => Self::Locked { task, cause: error.to_string().into() },
            StoreError::Corrupted { .. } => {
                Self::Corrupted { task, cause: error.to_string().into() }
            }
            cause => Self::Store { task, cause },
        }
    }

    /// Whether trying the same again later may help.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Locked { .. } => true,
            Self::Client(error) => client::decide(&error.0).is_retry(),
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
            _ => Self::Client(ClientFailure(error)),
        }
    }
}

impl From<client::Error> for StreamsError {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Config(text) => Self::Config(text),
            other => Self::Client(ClientFailure(other)),
        }
    }
}

impl From<TaskError> for StreamsError {
    fn from(error: TaskError) -> Self {
        match &error {
            // What the producer said, which may mean that the tasks have moved.
            TaskError::Output { cause, .. } => {
                cause.downcast_ref::<Self>().cloned().unwrap_or(Self::Task(error))
            }
            TaskError::Store { place, cause, .. } => match cause.downcast_ref::<StoreError>() {
                Some(damage @ StoreError::Corrupted { .. }) => {
                    Self::of_store(place.task, damage.clone())
                }
                _ => Self::Task(error),
            },
            _ => Self::Task(error),
        }
    }
}

impl From<StoreError> for StreamsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Config(text) => Self::Config(text),
            other => Self::StateDirectory(other),
        }
    }
}
