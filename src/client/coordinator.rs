//! Which broker coordinates a group or a transactional id.
//!
//! Entries are found on demand and evicted by whoever learns that they are wrong; an eviction
//! names the node it distrusts, so that a late error about a former coordinator does not throw
//! out its successor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::connection::Connection;
use super::error::{ErrorCode, ErrorCodeExt as _, Result};
use super::metadata::{Broker, node};
use super::retry::{self, Before, Verdict};
use crate::wire::messages::find_coordinator::Coordinator;
use crate::wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

/// First version that asks for several keys at once and has its answer in a list.
const BATCHED_VERSION: i16 = 4;
/// More keys than this are no longer a cache but a leak; the oldest goes.
const MAX_ENTRIES: usize = 1024;

/// What is coordinated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CoordinatorKind {
    /// Consumer, share and streams groups.
    Group,
    /// Transactional ids.
    Transaction,
}

impl CoordinatorKind {
    fn key_type(self) -> i8 {
        match self {
            Self::Group => 0,
            Self::Transaction => 1,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Transaction => "transactional id",
        }
    }
}

#[derive(Default)]
pub(crate) struct Coordinators {
    known: Mutex<HashMap<(CoordinatorKind, Arc<str>), Entry>>,
}

struct Entry {
    broker: Broker,
    found: Instant,
}

impl Coordinators {
    pub(crate) fn cached(&self, kind: CoordinatorKind, key: &str) -> Option<Broker> {
        self.known().get(&(kind, key.into())).map(|entry| entry.broker.clone())
    }

    /// Asks a broker and keeps its answer.
    ///
    /// # Errors
    /// The broker's code, with group or id. Cancel safe.
    pub(crate) async fn find(
        &self,
        connection: &Connection,
        kind: CoordinatorKind,
        key: &str,
        deadline: Instant,
    ) -> Result<Broker> {
        let version = connection.version_within::<FindCoordinatorRequest>(0..=i16::MAX)?;
        let request = question(version, kind, key);
        let response = connection.send_at(&request, version, deadline).await?.answer().await?;
        let broker = judge(version, response, kind, key)?;
        self.insert(kind, key, broker.clone());
        Ok(broker)
    }

    /// Forgets the coordinator if it still is this node.
    pub(crate) fn evict(&self, kind: CoordinatorKind, key: &str, node: i32) {
        let mut known = self.known();
        let entry = (kind, Arc::from(key));
        if known.get(&entry).is_some_and(|entry| entry.broker.id == node) {
            known.remove(&entry);
        }
    }

    fn insert(&self, kind: CoordinatorKind, key: &str, broker: Broker) {
        let mut known = self.known();
        if known.len() >= MAX_ENTRIES {
            let oldest =
                known.iter().min_by_key(|(_, entry)| entry.found).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert((kind, key.into()), Entry { broker, found: Instant::now() });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(CoordinatorKind, Arc<str>), Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a failure says that the coordinator must be looked up again.
pub(crate) fn distrusts_coordinator(error: &super::error::Error) -> bool {
    matches!(retry::decide(error), Verdict::Retry(Before::Coordinator | Before::Reconnect))
}

fn question(version: i16, kind: CoordinatorKind, key: &str) -> FindCoordinatorRequest {
    let mut request = FindCoordinatorRequest { key_type: kind.key_type(), ..Default::default() };
    if version >= BATCHED_VERSION {
        request.coordinator_keys = vec![key.to_owned()];
    } else {
        request.key = key.to_owned();
    }
    request
}

fn judge(
    version: i16,
    mut response: FindCoordinatorResponse,
    kind: CoordinatorKind,
    key: &str,
) -> Result<Broker> {
    let answer = if version >= BATCHED_VERSION {
        let at = response.coordinators.iter().position(|answer| answer.key == key);
        at.map(|at| response.coordinators.swap_remove(at))
    } else {
        Some(Coordinator {
            node_id: response.node_id,
            host: response.host,
            port: response.port,
            error_code: response.error_code,
            error_message: response.error_message,
            ..Default::default()
        })
    };
    let context = || format!("FindCoordinator for {} {key}", kind.label());
    let unavailable = || super::error::Error::broker(ErrorCode::CoordinatorNotAvailable, context());
    let answer = answer.ok_or_else(unavailable)?;
    ErrorCode::from(answer.error_code).check_with(answer.error_message.as_deref(), context)?;
    node(answer.node_id, &answer.host, answer.port, None).ok_or_else(unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(id: i32) -> Broker {
        node(id, "host", 9092, None).unwrap()
    }

    #[test]
    fn eviction_of_a_former_coordinator_spares_its_successor() {
        let cache = Coordinators::default();
        let kind = CoordinatorKind::Group;
        cache.insert(kind, "g", broker(1));
        cache.insert(kind, "g", broker(2));
        cache.evict(kind, "g", 1);
        assert_eq!(cache.cached(kind, "g").map(|b| b.id), Some(2));
        cache.evict(kind, "g", 2);
        assert!(cache.cached(kind, "g").is_none());
    }

    #[test]
    fn groups_and_transactional_ids_of_one_name_are_kept_apart() {
        let cache = Coordinators::default();
        cache.insert(CoordinatorKind::Group, "x", broker(1));
        assert!(cache.cached(CoordinatorKind::Transaction, "x").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_is_bounded_and_drops_the_oldest() {
        let cache = Coordinators::default();
        for n in 0..=MAX_ENTRIES {
            cache.insert(CoordinatorKind::Group, &format!("g{n}"), broker(1));
            tokio::time::advance(std::time::Duration::from_millis(1)).await;
        }
        assert_eq!(cache.known().len(), MAX_ENTRIES);
        assert!(cache.cached(CoordinatorKind::Group, "g0").is_none());
    }

    #[test]
    fn an_answer_about_another_key_is_no_answer() {
        let response = FindCoordinatorResponse {
            coordinators: vec![Coordinator { key: "other".into(), ..Default::default() }],
            ..Default::default()
        };
        let error = judge(4, response, CoordinatorKind::Group, "g").unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::CoordinatorNotAvailable));
        assert!(distrusts_coordinator(&error));
    }
}
