//! The stores of this instance, as queries find them. The runtime fills it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::error::QueryError;
use crate::streams::store::StateStore;

/// What the client as a whole is doing, as far as queries care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClientPhase {
    #[default]
    Created,
    /// RUNNING or REBALANCING.
    Started,
    Stopped,
}

/// What the task of a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Processing; `running` is false while it is restored.
    Active {
        running: bool,
    },
    Standby,
    /// A global store: complete on every instance.
    Global,
}

/// One local store of one task.
#[derive(Clone)]
pub struct LocalStore {
    pub(crate) partition: i32,
    pub(crate) role: Role,
    pub(crate) store: Arc<StateStore>,
    /// The typed handle, a `KeyValueStore<K, V>`.
    pub(crate) facade: Arc<dyn Any + Send + Sync>,
}

/// All stores of this instance. Shared by the runtime, which fills it, and by every query.
#[derive(Default)]
pub(crate) struct StoreRegistry {
    inner: RwLock<Inner>,
}

#[derive(Default)]
struct Inner {
    phase: ClientPhase,
    /// Every living thread is RUNNING.
    threads_running: bool,
    /// By store name; a name without local stores has an empty map. Keyed by partition and by
    /// whether it is a replica, since an instance never has two of one kind.
    stores: BTreeMap<Arc<str>, BTreeMap<i32, LocalStore>>,
}

impl StoreRegistry {
    /// Names that the topology has, so that an unknown one can be told from an absent one.
    pub(crate) fn declare(&self, names: impl IntoIterator<Item = Arc<str>>) {
        let mut inner = self.inner.write();
        for name in names {
            inner.stores.entry(name).or_default();
        }
    }

    pub(crate) fn set_phase(&self, phase: ClientPhase) {
        self.inner.write().phase = phase;
    }

    /// Whether every thread that is not dead is RUNNING.
    pub(crate) fn set_threads_running(&self, running: bool) {
        self.inner.write().threads_running = running;
    }

    /// A task opened its store, or changed its role.
    pub(crate) fn publish(&self, local: LocalStore) {
        let name = local.store.name().clone();
        self.inner.write().stores.entry(name).or_default().insert(local.partition, local);
    }

    /// A task leaves: call it before the store is closed. Another task's store that took the
    /// same place meanwhile stays.
    pub(crate) fn withdraw(&self, store: &Arc<StateStore>, partition: i32) {
        if let Some(partitions) = self.inner.write().stores.get_mut(store.name())
            && partitions.get(&partition).is_some_and(|local| Arc::ptr_eq(&local.store, store))
        {
            partitions.remove(&partition);
        }
    }

    /// Local copies of a store by partition, whatever their role.
    ///
    /// # Errors
    /// When the client is not started or stopped, or the name is unknown.
    pub(super) fn locals(&self, name: &Arc<str>) -> Result<Vec<LocalStore>, QueryError> {
        let inner = self.inner.read();
        match inner.phase {
            ClientPhase::Created => return Err(QueryError::NotStarted),
            ClientPhase::Stopped => return Err(QueryError::Stopped),
            ClientPhase::Started => {}
        }
        let Some(partitions) = inner.stores.get(name) else {
            let known: Vec<&str> = inner.stores.keys().map(|known| &**known).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(QueryError::UnknownStore { store: name.clone(), known });
        };
        Ok(partitions.values().cloned().collect())
    }

    /// Local copies that a view may read: running active ones, or all if `stale` is allowed.
    ///
    /// # Errors
    /// As [`locals`](Self::locals), and when nothing may be read.
    pub(super) fn readable(
        &self,
        name: &Arc<str>,
        partition: Option<i32>,
        stale: bool,
    ) -> Result<Vec<LocalStore>, QueryError> {
        let locals = self.locals(name)?;
        if locals.iter().any(|local| local.role == Role::Global) {
            return Ok(locals);
        }
        if !stale && !self.inner.read().threads_running {
            return Err(QueryError::Rebalancing { store: name.clone() });
        }
        let allowed = |local: &LocalStore| stale || local.role == Role::Active { running: true };
        let wanted = |local: &LocalStore| partition.is_none_or(|wanted| wanted == local.partition);
        let found: Vec<_> =
            locals.into_iter().filter(|local| allowed(local) && wanted(local)).collect();
        match (found.is_empty(), partition) {
            (false, _) => Ok(found),
            (true, None) => Err(QueryError::NotHere { store: name.clone() }),
            (true, Some(partition)) => {
                Err(QueryError::PartitionNotHere { store: name.clone(), partition })
            }
        }
    }
}
