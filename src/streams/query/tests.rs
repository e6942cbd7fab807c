//! Queries over stores of three partitions in different roles.

use std::sync::Arc;

use super::*;
use crate::streams::serde::{I64Serde, StringSerde};
use crate::streams::store::testing::{Fixture, TempDir};
use crate::streams::store::{
    KeyValueStore, Position, PositionBound, Stores, TaskStores, TimestampedKeyValueStore,
    ValueAndTimestamp,
};

/// A timestamped store `counts` of string keys and integers, cached if `cache_bytes` is not 0.
struct Scene {
    registry: Arc<StoreRegistry>,
    fixture: Fixture,
    tasks: Vec<TaskStores>,
    cache_bytes: usize,
    _dir: TempDir,
}

impl Scene {
    fn new(cache_bytes: usize) -> Self {
        let dir = TempDir::new();
        let registry = Arc::new(StoreRegistry::default());
        registry.declare(["counts".into()]);
        registry.set_phase(ClientPhase::Started);
        registry.set_threads_running(true);
        Self {
            registry,
            fixture: Fixture::new(dir.path()),
            tasks: Vec::new(),
            cache_bytes,
            _dir: dir,
        }
    }

    fn add(&mut self, partition: i32, role: Role) -> TimestampedKeyValueStore<String, i64> {
        let supplier = Stores::in_memory_key_value("counts");
        let builder =
            Stores::timestamped_key_value_builder::<String, i64>(supplier, StringSerde, I64Serde);
        let (spec, facade) = builder.caching(self.cache_bytes > 0).into_parts();
        let mut env = self.fixture.env(self.cache_bytes);
        env.disk = None;
        let stores = TaskStores::open(&[spec], env).unwrap();
        let store = stores.get("counts").unwrap().clone();
        let facade: Arc<dyn std::any::Any + Send + Sync> =
            facade(store.clone(), "app-counts-changelog".into());
        let typed: &KeyValueStore<String, ValueAndTimestamp<i64>> = facade.downcast_ref().unwrap();
        let typed = typed.clone();
        self.registry.publish(LocalStore { partition, role, store, facade });
        self.tasks.push(stores);
        typed
    }

    fn view(&self, stale: bool) -> Result<ReadOnlyKeyValueStore<String, i64>, QueryError> {
        let parameters = StoreQueryParameters::new("counts").stale_stores(stale);
        ReadOnlyKeyValueStore::open(self.registry.clone(), parameters)
    }
}

fn put(store: &TimestampedKeyValueStore<String, i64>, key: &str, value: i64) {
    let pair = ValueAndTimestamp { value, timestamp: value * 10 };
    store.put(&key.to_owned(), Some(&pair)).unwrap();
}

const RUNNING: Role = Role::Active { running: true };

#[test]
fn a_view_reads_all_local_partitions_as_one_and_strips_timestamps() {
    let mut scene = Scene::new(0);
    let zero = scene.add(0, RUNNING);
    let one = scene.add(1, RUNNING);
    put(&zero, "b", 2);
    put(&zero, "d", 4);
    put(&one, "a", 1);
    let view = scene.view(false).unwrap();
    assert_eq!(view.get(&"a".into()).unwrap(), Some(1));
    assert_eq!(view.get(&"z".into()).unwrap(), None);
    let keys = |entries: ViewIter<String, i64>| -> String {
        entries.map(|entry| entry.unwrap().0).collect()
    };
    assert_eq!(keys(view.all().unwrap()), "bda", "partition after partition");
    assert_eq!(keys(view.reverse_all().unwrap()), "dba");
    assert_eq!(keys(view.range(Some(&"a".into()), Some(&"b".into())).unwrap()), "ba");
    assert_eq!(keys(view.prefix_scan(b"d").unwrap()), "d");
    assert_eq!(view.approximate_num_entries().unwrap(), 3);
    let parameters = StoreQueryParameters::new("counts").partition(0);
    let timestamped = ReadOnlyKeyValueStore::<String, ValueAndTimestamp<i64>>::open(
        scene.registry.clone(),
        parameters,
    )
    .unwrap();
    let found = timestamped.get(&"d".into()).unwrap();
    assert_eq!(found, Some(ValueAndTimestamp { value: 4, timestamp: 40 }));
    assert_eq!(timestamped.get(&"a".into()).unwrap(), None, "in the other partition");
}

#[test]
fn only_running_active_tasks_answer_unless_stale_stores_are_allowed() {
    let mut scene = Scene::new(0);
    let standby = scene.add(0, Role::Standby);
    put(&standby, "a", 1);
    assert!(matches!(scene.view(false), Err(QueryError::NotHere { .. })));
    let stale = scene.view(true).unwrap();
    assert_eq!(stale.get(&"a".into()).unwrap(), Some(1));
    let restoring = scene.add(1, Role::Active { running: false });
    put(&restoring, "b", 2);
    assert!(matches!(scene.view(false), Err(QueryError::NotHere { .. })));
    assert_eq!(stale.get(&"b".into()).unwrap(), Some(2), "a view finds what comes later");
    scene.registry.set_threads_running(false);
    assert!(matches!(scene.view(false), Err(QueryError::Rebalancing { .. })));
    assert!(scene.view(true).is_ok());
}

#[test]
fn each_state_of_the_client_and_each_wrong_question_has_its_own_error() {
    let mut scene = Scene::new(0);
    let store = scene.add(0, RUNNING);
    let open = |name: &str| {
        ReadOnlyKeyValueStore::<String, i64>::open(
            scene.registry.clone(),
            StoreQueryParameters::new(name),
        )
    };
    let unknown = open("count").unwrap_err().to_string();
    assert!(unknown.contains("count ") && unknown.contains("counts"), "{unknown}");
    let parameters = StoreQueryParameters::new("counts");
    let wrong = ReadOnlyKeyValueStore::<i64, i64>::open(scene.registry.clone(), parameters.clone());
    assert!(matches!(wrong, Err(QueryError::TypeMismatch { .. })));
    let absent =
        ReadOnlyKeyValueStore::<String, i64>::open(scene.registry.clone(), parameters.partition(9));
    assert!(matches!(absent, Err(QueryError::PartitionNotHere { partition: 9, .. })));
    let view = scene.view(false).unwrap();
    scene.registry.withdraw(store.state(), 0);
    assert!(matches!(view.get(&"a".into()), Err(QueryError::NotHere { .. })));
    scene.registry.set_phase(ClientPhase::Created);
    assert!(matches!(view.get(&"a".into()), Err(QueryError::NotStarted)));
    scene.registry.set_phase(ClientPhase::Stopped);
    assert!(matches!(view.get(&"a".into()), Err(QueryError::Stopped)));
}

#[test]
fn a_request_has_an_answer_or_a_reason_for_every_partition() {
    let mut scene = Scene::new(0);
    let zero = scene.add(0, RUNNING);
    scene.add(1, Role::Standby);
    scene.fixture.at(7, 70);
    put(&zero, "a", 1);
    let request = StateQueryRequest::in_store("counts")
        .with_query(KeyQuery::<String, i64>::new("a".into()))
        .with_partitions([0, 1, 5])
        .require_active();
    let mut result = query(&scene.registry, &request).unwrap();
    assert_eq!(result.position(), Position::new().with("in", 0, 7));
    let mut outcome = |partition| result.partitions.remove(&partition).unwrap().outcome;
    assert_eq!(outcome(0).unwrap(), Some(1));
    assert_eq!(outcome(1).unwrap_err().reason, FailureReason::NotActive);
    assert_eq!(outcome(5).unwrap_err().reason, FailureReason::NotPresent);
    let wrong = StateQueryRequest::in_store("counts")
        .with_query(KeyQuery::<String, String>::new("a".into()))
        .with_partitions([0]);
    let mut result = query(&scene.registry, &wrong).unwrap();
    let failure = result.partitions.remove(&0).unwrap().outcome.unwrap_err();
    assert_eq!(failure.reason, FailureReason::UnknownQueryType);
}

#[test]
fn a_position_of_one_answer_bounds_the_next() {
    let mut scene = Scene::new(0);
    let active = scene.add(0, RUNNING);
    scene.fixture.at(7, 70);
    put(&active, "a", 1);
    let ask = |position: Position| {
        let request = StateQueryRequest::in_store("counts")
            .with_query(TimestampedKeyQuery::<String, i64>::new("a".into()))
            .with_position_bound(PositionBound::At(position));
        query(&scene.registry, &request).unwrap().partitions.remove(&0).unwrap()
    };
    let found = ask(Position::new().with("in", 0, 7));
    assert_eq!(found.outcome.unwrap(), Some(ValueAndTimestamp { value: 1, timestamp: 10 }));
    let later = found.position.with("in", 0, 8);
    assert_eq!(ask(later.clone()).outcome.unwrap_err().reason, FailureReason::NotUpToBound);
    scene.fixture.at(8, 80);
    put(&active, "b", 2);
    assert!(ask(later).outcome.is_ok());
}

#[test]
fn a_key_query_reads_the_cache_and_a_range_query_misses_it() {
    let mut scene = Scene::new(1 << 20);
    let active = scene.add(0, RUNNING);
    scene.fixture.at(3, 30);
    put(&active, "a", 1);
    let keyed = |query_: KeyQuery<String, i64>| {
        let request = StateQueryRequest::in_store("counts").with_query(query_);
        query(&scene.registry, &request).unwrap().into_only().unwrap()
    };
    assert_eq!(keyed(KeyQuery::new("a".into())), Some(1));
    assert_eq!(keyed(KeyQuery::new("a".into()).skip_cache()), None);
    let count = || {
        let request = StateQueryRequest::in_store("counts")
            .with_query(RangeQuery::<String, i64>::all().descending());
        query(&scene.registry, &request).unwrap().into_only().unwrap().count()
    };
    assert_eq!(count(), 0);
    let store = scene.tasks[0].get("counts").unwrap();
    for entry in store.take_dirty() {
        store.write_back(&entry, false).unwrap();
    }
    assert_eq!(count(), 1);
}

#[test]
fn a_global_store_is_for_views() {
    let mut scene = Scene::new(0);
    let global = scene.add(0, Role::Global);
    put(&global, "a", 1);
    scene.registry.set_threads_running(false);
    assert_eq!(scene.view(false).unwrap().get(&"a".into()).unwrap(), Some(1));
    let request =
        StateQueryRequest::in_store("counts").with_query(KeyQuery::<String, i64>::new("a".into()));
    let failure = query(&scene.registry, &request).unwrap().global.unwrap().outcome.unwrap_err();
    assert_eq!(failure.reason, FailureReason::UnknownQueryType);
}
