//! The on-disk database of one task: where it lies, how much memory it may take, and what its
//! errors mean.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use fjall::config::{BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch};

use super::error::StoreError;

/// Present once the database was created completely; without it nothing was ever committed.
const READY: &str = "ready";

/// Threads of one database. Of two, the engine has one look for a buffer to write out again and
/// again while the other compacts.
const WORKERS: usize = 1;

/// Memory of persistent stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskOptions {
    pub(crate) block_cache_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) row_cache_bytes: usize,
    pub(crate) restore_batch_bytes: usize,
    pub(crate) uncommitted_max_bytes: usize,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            block_cache_bytes: 16 << 20,
            write_buffer_bytes: 4 << 20,
            row_cache_bytes: 16 << 20,
            restore_batch_bytes: 32 << 20,
            uncommitted_max_bytes: 64 << 20,
        }
    }
}

impl DiskOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of file blocks kept in memory, shared by all persistent stores of the instance.
    /// 16 MiB unless set; 0 keeps none.
    #[must_use]
    pub fn block_cache_bytes(mut self, bytes: usize) -> Self {
        self.block_cache_bytes = bytes;
        self
    }

    /// Bytes of committed writes that each store collects in memory before it writes a table of
    /// them: 64 KiB to 1 GiB, 4 MiB unless set. Up to four such buffers exist while the disk
    /// is slower than the writes.
    #[must_use]
    pub fn write_buffer_bytes(mut self, bytes: usize) -> Self {
        self.write_buffer_bytes = bytes;
        self
    }

    /// Bytes of committed entries kept in memory as they were written, shared by all persistent
    /// stores of the instance: what a store writes it mostly reads again soon, and finds here
    /// without a search of the disk's structures. 16 MiB unless set; 0 keeps none.
    #[must_use]
    pub fn row_cache_bytes(mut self, bytes: usize) -> Self {
        self.row_cache_bytes = bytes;
        self
    }

    /// Bytes of restored entries that are collected before they are written as sorted tables,
    /// shared by all persistent stores of the instance: at least 64 KiB, 32 MiB unless set.
    /// Several changes of a key in it become one.
    #[must_use]
    pub fn restore_batch_bytes(mut self, bytes: usize) -> Self {
        self.restore_batch_bytes = bytes;
        self
    }

    /// Bytes of uncommitted writes of one task that make it ask for a commit before its interval
    /// is over; `statestore.uncommitted.max.bytes`, 64 MiB unless set.
    #[must_use]
    pub fn uncommitted_max_bytes(mut self, bytes: usize) -> Self {
        self.uncommitted_max_bytes = bytes;
        self
    }

    /// # Errors
    /// When a value is out of its range.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if !((64 << 10)..=(1 << 30)).contains(&self.write_buffer_bytes) {
            return Err(StoreError::Config(format!(
                "write_buffer_bytes is {}; set it between 65536 (64 KiB) and 1073741824 (1 GiB)",
                self.write_buffer_bytes
            )));
        }
        if self.restore_batch_bytes < 64 << 10 {
            return Err(StoreError::Config(format!(
                "restore_batch_bytes is {}; set it to at least 65536 (64 KiB)",
                self.restore_batch_bytes
            )));
        }
        if self.uncommitted_max_bytes == 0 {
            return Err(StoreError::Config(
                "statestore.uncommitted.max.bytes is 0, so that every write would ask for a \
                 commit; set it to at least 1"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// What the databases of all tasks of an instance share.
pub(crate) struct DiskEngine {
    options: DiskOptions,
    /// Lends its block cache to the configuration of every database, so that the budget is the
    /// instance's and not each task's.
    cache: fjall::Config,
    /// Open stores, among which the row cache is divided.
    stores: AtomicUsize,
}

impl DiskEngine {
    /// # Errors
    /// When an option is out of its range.
    pub(crate) fn new(options: DiskOptions) -> Result<Arc<Self>, StoreError> {
        options.check()?;
        let cache =
            Database::builder("/").cache_size(options.block_cache_bytes as u64).into_config();
        Ok(Arc::new(Self { options, cache, stores: AtomicUsize::new(0) }))
    }

    pub(crate) fn options(&self) -> &DiskOptions {
        &self.options
    }

    /// The part of the row cache that one store may fill.
    pub(super) fn row_cache_share(&self) -> usize {
        self.options.row_cache_bytes / self.stores.load(Ordering::Relaxed).max(1)
    }

    /// Bytes of restored entries that one store may collect.
    pub(super) fn restore_share(&self) -> usize {
        self.options.restore_batch_bytes / self.stores.load(Ordering::Relaxed).max(1)
    }

    pub(super) fn store_opened(&self) {
        self.stores.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn store_closed(&self) {
        self.stores.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The database of one task: a tree for each persistent store, one journal for all.
///
/// A directory each, so that damage, removal and the cleaner concern one task, and removing the
/// directory is always the cure.
pub(crate) struct TaskDatabase {
    database: Database,
    path: PathBuf,
    engine: Arc<DiskEngine>,
    /// Why no further write is possible.
    failed: OnceLock<Arc<str>>,
}

impl TaskDatabase {
    /// Opens the database in `path`, creating it if it is not there or was never completed.
    ///
    /// # Errors
    /// When the disk fails, another handle still has it open, or its files are damaged.
    pub(crate) fn open(engine: &Arc<DiskEngine>, path: &Path) -> Result<Arc<Self>, StoreError> {
        let io = |operation, error: std::io::Error| {
            StoreError::io("of the task", path, operation, &error)
        };
        let ready = path.join(READY);
        let known = ready.try_exists().map_err(|error| io("looking for it", error))?;
        if !known && path.exists() {
            std::fs::remove_dir_all(path).map_err(|error| io("removing a half-made one", error))?;
        }
        let mut config = Database::builder(path)
            .worker_threads(WORKERS)
            .max_journaling_size(64 << 20)
            .journal_compression(CompressionType::None)
            .into_config();
        config.cache = engine.cache.cache.clone();
        let database = Database::open(config)
            .map_err(|error| describe("of the task", path, "opening", &error))?;
        if !known {
            std::fs::File::create(&ready)
                .and_then(|file| file.sync_all())
                .map_err(|error| io("marking it complete", error))?;
        }
        Ok(Arc::new(Self {
            database,
            path: path.to_owned(),
            engine: engine.clone(),
            failed: OnceLock::new(),
        }))
    }

    pub(super) fn engine(&self) -> &DiskEngine {
        &self.engine
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The tree of one store.
    pub(super) fn tree(&self, store: &str) -> Result<Keyspace, StoreError> {
        let filter = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(self.engine.options.write_buffer_bytes as u64)
                .filter_policy(FilterPolicy::all(filter))
                .manual_journal_persist(true)
        };
        // Names of stores may be longer than, and hold other characters than, a tree's name may.
        self.database
            .keyspace(store, options)
            .map_err(|error| describe(store, &self.path, "opening", &error))
    }

    pub(super) fn batch(&self, capacity: usize) -> OwnedWriteBatch {
        // To the operating system, not to the platter: data and checkpoint lie in one tree, so
        // that a power failure which eats the end of the journal takes both back together, and
        // the changelog has what is missing.
        OwnedWriteBatch::with_capacity(self.database.clone(), capacity)
            .durability(Some(fjall::PersistMode::Buffer))
    }

    /// # Errors
    /// When an earlier write failed.
    pub(super) fn check_writable(&self, store: &Arc<str>) -> Result<(), StoreError> {
        match self.failed.get() {
            None => Ok(()),
            Some(reason) => Err(StoreError::closed(store, reason)),
        }
    }

    /// Turns the engine's error into ours, and remembers a failed write.
    pub(super) fn write_failed(&self, store: &str, error: &fjall::Error) -> StoreError {
        let described = describe(store, &self.path, "committing", error);
        let _ = self.failed.set(format!("an earlier write failed: {described}").into());
        described
    }
}

/// What an error of the engine means for the user.
pub(super) fn describe(
    store: &str,
    path: &Path,
    operation: &'static str,
    error: &fjall::Error,
) -> StoreError {
    use fjall::{Error as Engine, LsmError};
    match error {
        Engine::Io(cause) | Engine::Storage(LsmError::Io(cause)) => {
            StoreError::io(store, path, operation, cause)
        }
        Engine::Locked => StoreError::TaskLocked {
            task: path
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            path: path.to_owned(),
        },
        Engine::Poisoned => StoreError::Io {
            store: store.into(),
            path: path.to_owned(),
            operation,
            cause: "a write in the background failed before; the log says why".into(),
            remedy: "check the disk: full, over quota or broken; then restart",
        },
        other => StoreError::Corrupted {
            store: store.into(),
            path: path.to_owned(),
            cause: format!("{other:?}").into(),
        },
    }
}
