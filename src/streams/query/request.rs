//! Interactive queries, version 2: a query with position bounds and a result per partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::error::{FailureReason, QueryError};
use super::registry::{LocalStore, Role, StoreRegistry};
use super::view::{ViewIter, typed};
use crate::streams::store::{
    KeyValueIter, KeyValueStore, Order, Position, PositionBound, StoreError, ValueAndTimestamp,
};

/// A question that a local store can answer.
///
/// Implemented by the queries of this module; not for implementing elsewhere.
pub trait Query: private::Execute {}

mod private {
    use super::{LocalStore, StoreError};

    pub trait Execute {
        /// What one partition answers.
        type Answer;

        /// `None` where the store is not of a kind or of types that can answer.
        fn execute(&self, local: &LocalStore) -> Result<Option<Self::Answer>, StoreError>;
    }
}

use private::Execute;

/// The value of one key; plain and timestamped stores answer with the value alone.
#[derive(Debug, Clone)]
pub struct KeyQuery<K, V> {
    key: K,
    skip_cache: bool,
    value: std::marker::PhantomData<fn() -> V>,
}

impl<K, V> KeyQuery<K, V> {
    /// Asks for `key`.
    pub fn new(key: K) -> Self {
        Self { key, skip_cache: false, value: std::marker::PhantomData }
    }

    /// Looks only below the cache, at what was flushed.
    #[must_use]
    pub fn skip_cache(mut self) -> Self {
        self.skip_cache = true;
        self
    }
}

impl<K: 'static, V: 'static> Query for KeyQuery<K, V> {}

impl<K: 'static, V: 'static> Execute for KeyQuery<K, V> {
    type Answer = Option<V>;

    fn execute(&self, local: &LocalStore) -> Result<Option<Self::Answer>, StoreError> {
        typed::<K, V>(local).map(|store| store.get(&self.key, self.skip_cache)).transpose()
    }
}

/// The value of one key with its timestamp; only timestamped stores answer.
#[derive(Debug, Clone)]
pub struct TimestampedKeyQuery<K, V>(KeyQuery<K, ValueAndTimestamp<V>>);

impl<K, V> TimestampedKeyQuery<K, V> {
    /// Asks for `key`.
    pub fn new(key: K) -> Self {
        Self(KeyQuery::new(key))
    }

    /// Looks only below the cache, at what was flushed.
    #[must_use]
    pub fn skip_cache(self) -> Self {
        Self(self.0.skip_cache())
    }
}

impl<K: 'static, V: 'static> Query for TimestampedKeyQuery<K, V> {}

impl<K: 'static, V: 'static> Execute for TimestampedKeyQuery<K, V> {
    type Answer = Option<ValueAndTimestamp<V>>;

    fn execute(&self, local: &LocalStore) -> Result<Option<Self::Answer>, StoreError> {
        self.0.execute(local)
    }
}

/// The entries between two keys, both included, in the order of serialized keys. Writes that
/// are only in the cache are missed, as in Kafka Streams.
#[derive(Debug, Clone)]
pub struct RangeQuery<K, V> {
    from: Option<K>,
    to: Option<K>,
    order: Order,
    value: std::marker::PhantomData<fn() -> V>,
}

impl<K, V> RangeQuery<K, V> {
    /// From `from` to `to`; `None` leaves that end open.
    pub fn new(from: Option<K>, to: Option<K>) -> Self {
        Self { from, to, order: Order::Ascending, value: std::marker::PhantomData }
    }

    /// Everything.
    pub fn all() -> Self {
        Self::new(None, None)
    }

    /// From the largest key to the smallest.
    #[must_use]
    pub fn descending(mut self) -> Self {
        self.order = Order::Descending;
        self
    }
}

impl<K: 'static, V: 'static> Query for RangeQuery<K, V> {}

impl<K: 'static, V: 'static> Execute for RangeQuery<K, V> {
    type Answer = ViewIter<K, V>;

    fn execute(&self, local: &LocalStore) -> Result<Option<Self::Answer>, StoreError> {
        let Some(store) = typed::<K, V>(local) else { return Ok(None) };
        let range = store.key_range(self.from.as_ref(), self.to.as_ref())?;
        store.read_below_cache(&range, self.order).map(Some)
    }
}

/// As [`RangeQuery`], with the timestamps; only timestamped stores answer.
#[derive(Debug, Clone)]
pub struct TimestampedRangeQuery<K, V>(RangeQuery<K, ValueAndTimestamp<V>>);

impl<K, V> TimestampedRangeQuery<K, V> {
    /// From `from` to `to`; `None` leaves that end open.
    pub fn new(from: Option<K>, to: Option<K>) -> Self {
        Self(RangeQuery::new(from, to))
    }

    /// Everything.
    pub fn all() -> Self {
        Self::new(None, None)
    }

    /// From the largest key to the smallest.
    #[must_use]
    pub fn descending(self) -> Self {
        Self(self.0.descending())
    }
}

impl<K: 'static, V: 'static> Query for TimestampedRangeQuery<K, V> {}

impl<K: 'static, V: 'static> Execute for TimestampedRangeQuery<K, V> {
    type Answer = KeyValueIter<K, ValueAndTimestamp<V>>;

    fn execute(&self, local: &LocalStore) -> Result<Option<Self::Answer>, StoreError> {
        let facade = local.facade.downcast_ref::<KeyValueStore<K, ValueAndTimestamp<V>>>();
        let Some(store) = facade else { return Ok(None) };
        let range = store.key_range(self.0.from.as_ref(), self.0.to.as_ref())?;
        store.read_below_cache(&range, self.0.order).map(Some)
    }
}

/// Names the store; [`with_query`](Self::with_query) makes it a request.
#[derive(Debug, Clone)]
pub struct InStore(Arc<str>);

/// A query, the store it goes to, and what the answer must satisfy.
#[derive(Debug, Clone)]
pub struct StateQueryRequest<Q> {
    store: Arc<str>,
    query: Q,
    partitions: Option<BTreeSet<i32>>,
    bound: PositionBound,
    require_active: bool,
    execution_info: bool,
}

impl StateQueryRequest<()> {
    /// Begins a request to the store of this name.
    pub fn in_store(name: impl Into<Arc<str>>) -> InStore {
        InStore(name.into())
    }
}

impl InStore {
    /// The request: all local partitions, however old, active or standby.
    pub fn with_query<Q: Query>(self, query: Q) -> StateQueryRequest<Q> {
        StateQueryRequest {
            store: self.0,
            query,
            partitions: None,
            bound: PositionBound::Unbounded,
            require_active: false,
            execution_info: false,
        }
    }
}

impl<Q> StateQueryRequest<Q> {
    /// Only these partitions. One that is not here fails with [`FailureReason::NotPresent`].
    #[must_use]
    pub fn with_partitions(mut self, partitions: impl IntoIterator<Item = i32>) -> Self {
        self.partitions = Some(partitions.into_iter().collect());
        self
    }

    /// All partitions that are here.
    #[must_use]
    pub fn with_all_partitions(mut self) -> Self {
        self.partitions = None;
        self
    }

    /// How new a store must be to answer.
    #[must_use]
    pub fn with_position_bound(mut self, bound: PositionBound) -> Self {
        self.bound = bound;
        self
    }

    /// Only running active tasks may answer; replaces the position bound, since nothing is
    /// newer.
    #[must_use]
    pub fn require_active(mut self) -> Self {
        self.require_active = true;
        self
    }

    /// Collects in the result what was done and how long it took.
    #[must_use]
    pub fn enable_execution_info(mut self) -> Self {
        self.execution_info = true;
        self
    }
}

/// What one partition answered.
#[derive(Debug)]
#[non_exhaustive]
pub struct QueryResult<R> {
    /// The answer, or why there is none, with a text.
    pub outcome: Result<R, QueryFailure>,
    /// Input offsets that the answer reflects.
    pub position: Position,
    /// Lines for people, if asked for.
    pub execution_info: Vec<String>,
}

/// Why one partition gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct QueryFailure {
    /// For programs.
    pub reason: FailureReason,
    /// For people, with store and partition.
    pub message: String,
}

/// The answers of all asked partitions.
#[derive(Debug)]
#[non_exhaustive]
pub struct StateQueryResult<R> {
    /// By partition.
    pub partitions: BTreeMap<i32, QueryResult<R>>,
    /// The answer of a global store.
    pub global: Option<QueryResult<R>>,
}

impl<R> StateQueryResult<R> {
    /// Input offsets that all answers together reflect; as the bound of a later query it makes
    /// any replica answer at least as new.
    pub fn position(&self) -> Position {
        let mut merged = Position::new();
        self.partitions.values().for_each(|result| merged.merge(&result.position));
        merged
    }

    /// The answer, where exactly one partition succeeded.
    pub fn into_only(self) -> Option<R> {
        let mut answers = self
            .partitions
            .into_values()
            .chain(self.global)
            .filter_map(|result| result.outcome.ok());
        let only = answers.next()?;
        answers.next().is_none().then_some(only)
    }
}

/// Runs a request against the local stores.
///
/// # Errors
/// When the client is not started or stopped or the store is unknown; everything else is in the
/// results.
pub(crate) fn query<Q: Query>(
    registry: &StoreRegistry,
    request: &StateQueryRequest<Q>,
) -> Result<StateQueryResult<Q::Answer>, QueryError> {
    let locals = registry.locals(&request.store)?;
    let mut result = StateQueryResult { partitions: BTreeMap::new(), global: None };
    if locals.iter().any(|local| local.role == Role::Global) {
        result.global = Some(failure(
            FailureReason::UnknownQueryType,
            format!("{} is a global store, which takes no such queries; use a view", request.store),
        ));
        return Ok(result);
    }
    for local in &locals {
        if request.partitions.as_ref().is_none_or(|wanted| wanted.contains(&local.partition)) {
            result.partitions.insert(local.partition, answer(request, local));
        }
    }
    for partition in request.partitions.iter().flatten() {
        result.partitions.entry(*partition).or_insert_with(|| {
            let text =
                format!("partition {partition} of {} is not on this instance", request.store);
            failure(FailureReason::NotPresent, text)
        });
    }
    Ok(result)
}

fn failure<R>(reason: FailureReason, message: String) -> QueryResult<R> {
    QueryResult {
        outcome: Err(QueryFailure { reason, message }),
        position: Position::new(),
        execution_info: Vec::new(),
    }
}

fn answer<Q: Query>(request: &StateQueryRequest<Q>, local: &LocalStore) -> QueryResult<Q::Answer> {
    let begun = Instant::now();
    let place = format!("partition {} of {}", local.partition, request.store);
    if request.require_active {
        if local.role != (Role::Active { running: true }) {
            return failure(
                FailureReason::NotActive,
                format!("{place} is no running active task here"),
            );
        }
    } else if !local.store.position_with_cache().reaches(&request.bound, local.partition) {
        return failure(
            FailureReason::NotUpToBound,
            format!("{place} is behind the position bound; retry"),
        );
    }
    // Read before the answer, so that it never claims more than the answer has.
    let position = local.store.position_with_cache();
    let outcome = match request.query.execute(local) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(QueryFailure {
            reason: FailureReason::UnknownQueryType,
            message: format!("{place} has another kind or other types than the query"),
        }),
        Err(error) => Err(QueryFailure {
            reason: FailureReason::StoreError,
            message: format!("{place}: {error}"),
        }),
    };
    let execution_info = if request.execution_info {
        vec![format!("{place} answered in {} us", begun.elapsed().as_micros())]
    } else {
        Vec::new()
    };
    QueryResult { outcome, position, execution_info }
}
