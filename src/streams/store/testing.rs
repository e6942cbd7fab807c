//! What the tests of stores share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use crate::streams::record::Headers;

use super::{
    CacheBudget, CurrentRecord, DiskEngine, DiskOptions, DiskPlace, StateDirectory, StoreEnv,
    StoreSpec, TaskStores, WriteContext,
};

/// A directory of one test, removed at its end.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("llingr-store-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory for the test");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The stores of task `0_0` of an application in `directory`, with small buffers.
pub(crate) struct Fixture {
    pub state: Arc<StateDirectory>,
    pub engine: Arc<DiskEngine>,
    pub current: Arc<CurrentRecord>,
    topic: Arc<str>,
}

impl Fixture {
    pub(crate) fn new(directory: &Path) -> Self {
        let options = DiskOptions::new()
            .block_cache_bytes(1 << 20)
            .write_buffer_bytes(64 << 10)
            .restore_batch_bytes(64 << 10);
        Self {
            state: StateDirectory::open(directory, "app", false).expect("a free directory"),
            engine: DiskEngine::new(options).expect("valid options"),
            current: Arc::default(),
            topic: "in".into(),
        }
    }

    pub(crate) fn open(&self, specs: Vec<StoreSpec>, cache_bytes: usize) -> TaskStores {
        let specs: Vec<_> = specs.into_iter().map(Arc::new).collect();
        TaskStores::open(&specs, self.env(cache_bytes)).expect("the stores open")
    }

    pub(crate) fn env(&self, cache_bytes: usize) -> StoreEnv {
        StoreEnv {
            task: "0_0".into(),
            disk: Some(DiskPlace {
                engine: self.engine.clone(),
                directory: self.state.task_directory("0_0").expect("a free task"),
            }),
            cache: CacheBudget::new(cache_bytes),
            current: self.current.clone(),
        }
    }

    /// Says that the record at `offset` of topic `in` is being processed.
    pub(crate) fn at(&self, offset: i64, timestamp: i64) {
        self.current.set(WriteContext {
            timestamp,
            topic: Some(self.topic.clone()),
            partition: 0,
            offset,
            headers: Headers::new(),
        });
    }
}

pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
