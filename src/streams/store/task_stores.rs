//! All stores of one task, opened, committed, rolled back and closed together.

use std::sync::Arc;

use super::bytes_store::BytesStore;
use super::cache::CacheBudget;
use super::context::CurrentRecord;
use super::database::{DiskEngine, TaskDatabase};
use super::error::StoreError;
use super::memory::MemoryStore;
use super::persistent::PersistentStore;
use super::restore::RestoreRecord;
use super::spec::{StoreKind, StoreSpec};
use super::state_dir::TaskDirectory;
use super::state_store::{ChangelogRecord, StateStore};

/// Directory of the database in a task's directory.
const DATABASE: &str = "fjall";

/// Where the persistent stores of a task lie.
pub(crate) struct DiskPlace {
    pub engine: Arc<DiskEngine>,
    pub directory: TaskDirectory,
}

/// What a task gives to its stores.
pub(crate) struct StoreEnv {
    /// Task id, `<subtopology>_<partition>`.
    pub task: Arc<str>,
    /// `None` where no disk is to be touched, as in the test driver: persistent stores are then
    /// kept in memory.
    pub disk: Option<DiskPlace>,
    /// Budget of the thread; a standby task has one of 0 bytes, which means no caches.
    pub cache: Arc<CacheBudget>,
    /// What the task is processing.
    pub current: Arc<CurrentRecord>,
}

/// The stores of one task in the order in which the topology names them.
pub(crate) struct TaskStores {
    task: Arc<str>,
    stores: Vec<Arc<StateStore>>,
    uncommitted_max_bytes: usize,
    // Declared last, dropped last: the directory's lock outlives the database.
    directory: Option<TaskDirectory>,
}

impl TaskStores {
    /// Opens every store. Nothing is left open if one of them fails.
    ///
    /// # Errors
    /// When a store's files are damaged, in use or not accessible.
    pub(crate) fn open(specs: &[Arc<StoreSpec>], env: StoreEnv) -> Result<Self, StoreError> {
        let database = match &env.disk {
            Some(disk) if specs.iter().any(|spec| spec.is_persistent()) => {
                Some(TaskDatabase::open(&disk.engine, &disk.directory.path().join(DATABASE))?)
            }
            _ => None,
        };
        let open = |spec: &Arc<StoreSpec>| -> Result<Arc<StateStore>, StoreError> {
            let bytes: Arc<dyn BytesStore> = match (&spec.kind, &database) {
                (StoreKind::Persistent, Some(database)) => {
                    Arc::new(PersistentStore::open(spec.name.clone(), database.clone())?)
                }
                (StoreKind::InMemory | StoreKind::Persistent, _) => {
                    Arc::new(MemoryStore::new(spec.name.clone()))
                }
                (StoreKind::Custom(open), _) => open(&env.task)?,
            };
            Ok(Arc::new(StateStore::new(spec, bytes, &env.cache, env.current.clone())))
        };
        let stores = specs.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self {
            task: env.task,
            stores,
            uncommitted_max_bytes: env
                .disk
                .as_ref()
                .map_or(usize::MAX, |disk| disk.engine.options().uncommitted_max_bytes),
            directory: env.disk.map(|disk| disk.directory),
        })
    }

    /// All stores, in registration order, which is the order of flushes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<StateStore>> {
        self.stores.iter()
    }

    /// # Errors
    /// When the task has no store of this name; the error lists those it has.
    pub(crate) fn get(&self, name: &str) -> Result<&Arc<StateStore>, StoreError> {
        self.stores.iter().find(|store| &**store.name() == name).ok_or_else(|| {
            let known: Vec<&str> = self.stores.iter().map(|store| &**store.name()).collect();
            StoreError::Unknown {
                store: name.into(),
                task: self.task.clone(),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            }
        })
    }

    /// Applies changelog records to a store; `offset` is that of the last record read.
    ///
    /// # Errors
    /// When the store is unknown or cannot be written.
    pub(crate) fn restore(
        &self,
        store: &str,
        records: &[RestoreRecord],
        offset: i64,
    ) -> Result<(), StoreError> {
        self.get(store)?.restore(records, offset)
    }

    /// Gives the changelog records of all stores since the last call, with the store's name.
    ///
    /// # Errors
    /// The first error of `send`; what was not sent yet of that store is lost with the task.
    pub(crate) fn drain_changelog<E>(
        &self,
        mut send: impl FnMut(&Arc<str>, ChangelogRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        self.stores
            .iter()
            .try_for_each(|store| store.drain_changelog(|record| send(store.name(), record)))
    }

    /// Whether a cache is over its budget and its store, of this index, is to be flushed.
    pub(crate) fn flush_requested(&self) -> Option<&Arc<StateStore>> {
        self.stores.iter().find(|store| store.flush_requested())
    }

    /// Whether so much is uncommitted that the task should commit before its interval is over.
    pub(crate) fn commit_requested(&self) -> bool {
        self.uncommitted_bytes() > self.uncommitted_max_bytes
    }

    /// Bytes waiting for the commit, over all stores.
    pub(crate) fn uncommitted_bytes(&self) -> usize {
        self.stores.iter().map(|store| store.uncommitted_bytes()).sum()
    }

    /// Makes all writes durable with the changelog offsets: call it after the caches were
    /// flushed and the producer acknowledged (and, exactly-once, the transaction committed).
    /// `offset` gives the newest acknowledged changelog offset of a store, `None` if nothing
    /// was sent. Each store is durable with its own offset or not at all.
    ///
    /// # Errors
    /// When the disk fails: the stores up to there are committed, the others keep their older
    /// state and offset, and the task must be closed.
    pub(crate) fn commit(&self, offset: impl Fn(&str) -> Option<i64>) -> Result<(), StoreError> {
        self.stores.iter().try_for_each(|store| store.commit(offset(store.name())))
    }

    /// Back to the last commit: uncommitted writes, cached ones and changelog records not sent.
    ///
    /// # Errors
    /// When a store is closed.
    pub(crate) fn rollback(&self) -> Result<(), StoreError> {
        self.stores.iter().try_for_each(|store| store.rollback())
    }

    /// Ends the use of all stores; what is not committed is dropped. Queries that hold a store
    /// get an error from now on. Returns the directory with its lock, to be removed or kept.
    pub(crate) fn close(mut self) -> Option<TaskDirectory> {
        self.close_all();
        self.stores.clear();
        self.directory.take()
    }

    fn close_all(&self) {
        self.stores.iter().for_each(|store| store.close());
    }
}

impl Drop for TaskStores {
    fn drop(&mut self) {
        self.close_all();
    }
}
