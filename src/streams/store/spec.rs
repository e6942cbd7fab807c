//! What a topology says about a store before any task opens it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::bytes_store::BytesStore;
use super::error::StoreError;

/// Names the stores that come with the library; the counterpart of Java's class of this name.
#[derive(Debug)]
pub struct Stores;

impl Stores {
    /// A key-value store in memory. It is lost with the process and rebuilt from its changelog.
    pub fn in_memory_key_value(name: impl Into<Arc<str>>) -> StoreSupplier {
        StoreSupplier { name: name.into(), kind: StoreKind::InMemory }
    }

    /// A key-value store on the local disk, in the task's directory under `state.dir`. A restart
    /// on the same disk reads only what the changelog gained since the last commit.
    ///
    /// Keys may be up to 65,534 bytes long.
    pub fn persistent_key_value(name: impl Into<Arc<str>>) -> StoreSupplier {
        StoreSupplier { name: name.into(), kind: StoreKind::Persistent }
    }

    /// A store of the user's own making: `open` is called once for each task with its id.
    pub fn custom_key_value(
        name: impl Into<Arc<str>>,
        open: impl Fn(&str) -> Result<Arc<dyn BytesStore>, StoreError> + Send + Sync + 'static,
    ) -> StoreSupplier {
        StoreSupplier { name: name.into(), kind: StoreKind::Custom(Arc::new(open)) }
    }
}

/// Opens a store of the user's own making for the task of this id.
pub(crate) type CustomOpen = dyn Fn(&str) -> Result<Arc<dyn BytesStore>, StoreError> + Send + Sync;

/// Where a store keeps its bytes.
#[derive(Clone)]
pub(crate) enum StoreKind {
    InMemory,
    Persistent,
    Custom(Arc<CustomOpen>),
}

impl fmt::Debug for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InMemory => "InMemory",
            Self::Persistent => "Persistent",
            Self::Custom(_) => "Custom",
        })
    }
}

/// A name and a place for bytes; turned into a store by its specification or by a typed builder.
#[derive(Debug, Clone)]
pub struct StoreSupplier {
    pub(crate) name: Arc<str>,
    pub(crate) kind: StoreKind,
}

impl StoreSupplier {
    /// Name of the store.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

/// How values lie in a store and in its changelog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ValueFormat {
    /// The value's bytes in both; the changelog record carries the time of the processed record.
    #[default]
    Plain,
    /// Eight bytes of timestamp before the value in the store only; the changelog record carries
    /// that timestamp as its own.
    Timestamped,
}

/// Everything about a store except its types: what tasks open and the runtime restores.
#[derive(Debug, Clone)]
pub(crate) struct StoreSpec {
    pub name: Arc<str>,
    pub kind: StoreKind,
    pub format: ValueFormat,
    /// Whether changes go to a changelog topic. On by default.
    pub logging: bool,
    /// Whether writes are held in the record cache. Off by default, as in Java's builders; the
    /// DSL switches it on.
    pub caching: bool,
    /// Configs of the changelog topic that override the library's.
    pub changelog_configs: BTreeMap<String, String>,
}

impl StoreSpec {
    pub(crate) fn new(supplier: StoreSupplier) -> Self {
        Self {
            name: supplier.name,
            kind: supplier.kind,
            format: ValueFormat::Plain,
            logging: true,
            caching: false,
            changelog_configs: BTreeMap::new(),
        }
    }

    pub(crate) fn timestamped(supplier: StoreSupplier) -> Self {
        Self { format: ValueFormat::Timestamped, ..Self::new(supplier) }
    }

    /// Whether the task needs a directory for it.
    pub(crate) fn is_persistent(&self) -> bool {
        matches!(self.kind, StoreKind::Persistent)
    }
}
