//! What goes wrong in a state store, with the store, the path and the remedy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An operation of a state store failed.
///
/// Errors can be cloned, so that one failed commit is reported to every reader that waits on it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk refused a read or a write: full, read-only, over a quota, or broken.
    ///
    /// What was not committed is lost for this process; the changelog still has it. The store
    /// takes no further writes until it is opened again.
    #[error("state store {store} at {}: {operation} failed: {cause}; {remedy}", .path.display())]
    Io {
        /// Name of the store, or of the file where no single store is concerned.
        store: Arc<str>,
        /// Directory or file that was touched.
        path: PathBuf,
        /// What was attempted.
        operation: &'static str,
        /// What the system said.
        cause: Arc<str>,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The files of a store cannot be read as what they should be.
    #[error("state store {store} at {}: damaged: {cause}; remove this directory and start again, the store is then rebuilt from its changelog", .path.display())]
    Corrupted {
        /// Name of the store.
        store: Arc<str>,
        /// Directory to remove.
        path: PathBuf,
        /// What was found.
        cause: Arc<str>,
    },
    /// Another process holds the state directory.
    #[error("state directory {} is in use by another process; give each instance a state.dir of its own, or stop the other one", .path.display())]
    DirectoryInUse {
        /// The application's directory.
        path: PathBuf,
    },
    /// Another stream thread of this process still holds the task's directory. Worth a retry.
    #[error("task {task}: its directory {} is still held by another stream thread", .path.display())]
    TaskLocked {
        /// Task id, `<subtopology>_<partition>`.
        task: Arc<str>,
        /// The task's directory.
        path: PathBuf,
    },
    /// A key or a value is longer than the store can hold.
    #[error(
        "state store {store}: a {what} of {bytes} bytes is over the limit of {limit} bytes; shorten it, or use an in-memory store"
    )]
    TooLarge {
        /// Name of the store.
        store: Arc<str>,
        /// `key` or `value`.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        limit: usize,
    },
    /// A key is null; no store has null keys.
    #[error("state store {store}: the key is written as null; filter such records out first")]
    NullKey {
        /// Name of the store.
        store: Arc<str>,
    },
    /// A key or value could not be turned into bytes or back.
    #[error(
        "state store {store}: cannot {direction} the {what}: {cause}; check the serde given to the store"
    )]
    Serde {
        /// Name of the store.
        store: Arc<str>,
        /// `serialize` or `deserialize`.
        direction: &'static str,
        /// `key` or `value`.
        what: &'static str,
        /// What the serde said.
        cause: Arc<str>,
    },
    /// The store was closed, by the end of its task or by an earlier failed write.
    #[error("state store {store} is closed: {reason}")]
    Closed {
        /// Name of the store.
        store: Arc<str>,
        /// Why.
        reason: Arc<str>,
    },
    /// No store of this name is in the task.
    #[error("there is no state store {store} in task {task}; it has: {known}")]
    Unknown {
        /// The name asked for.
        store: Arc<str>,
        /// Task id.
        task: Arc<str>,
        /// Names of the task's stores, comma-separated, or `none`.
        known: String,
    },
    /// A setting contradicts another one or is out of its range.
    #[error("{0}")]
    Config(String),
}

impl StoreError {
    /// Whether the task may be opened again later without any change from outside.
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::TaskLocked { .. })
    }

    /// Whether removing the task's directory and restoring from the changelog is the cure.
    pub fn is_corruption(&self) -> bool {
        matches!(self, Self::Corrupted { .. })
    }

    pub(crate) fn io(
        store: &str,
        path: &Path,
        operation: &'static str,
        error: &std::io::Error,
    ) -> Self {
        Self::Io {
            store: store.into(),
            path: path.to_owned(),
            operation,
            cause: error.to_string().into(),
            remedy: remedy_for(error.kind()),
        }
    }

    pub(crate) fn closed(store: &Arc<str>, reason: &str) -> Self {
        Self::Closed { store: store.clone(), reason: reason.into() }
    }
}

fn remedy_for(kind: std::io::ErrorKind) -> &'static str {
    use std::io::ErrorKind as Kind;
    match kind {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::WriteZero => {
            "free space on that file system or move state.dir to a larger one, then restart"
        }
        Kind::FileTooLarge => "raise the file size limit of the process (ulimit -f), then restart",
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            "give the process write access to state.dir, then restart"
        }
        Kind::InvalidData | Kind::UnexpectedEof => {
            "the file is damaged: remove this directory, it is rebuilt from the changelog"
        }
        _ => "check the disk and the limits of the process, then restart",
    }
}
