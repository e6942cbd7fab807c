use super::*;
use crate::streams::error::BoxError;
use crate::streams::processor::{Processor, ProcessorContext};
use crate::streams::record::{Headers, Record};
use crate::streams::store::{CacheBudget, StoreEnv};
use crate::streams::topology::{Consumed, Produced, Topology};

/// Collects what is sent, or refuses it.
#[derive(Default)]
struct Sent {
    records: Vec<(String, String)>,
    refuse: bool,
}

impl Collector for Sent {
    fn send(&mut self, record: OutRecord<'_>) -> Result<(), BoxError> {
        if self.refuse {
            return Err("fenced".into());
        }
        let value = record.value.map(|v| String::from_utf8_lossy(&v).into_owned());
        self.records.push((record.topic.to_string(), value.unwrap_or_default()));
        Ok(())
    }

    fn partitions(&mut self, _: &Arc<str>) -> Result<i32, BoxError> {
        Ok(4)
    }
}

impl Sent {
    fn values(&mut self) -> String {
        let values: Vec<_> = self.records.drain(..).map(|(_, value)| value).collect();
        values.join(" ")
    }
}

fn raw(offset: i64, timestamp: i64, value: &str) -> RawRecord {
    RawRecord {
        offset,
        timestamp,
        key: None,
        value: Some(value.to_owned().into()),
        headers: Headers::new(),
    }
}

fn env(config: TaskConfig) -> TaskEnv {
    let current = Arc::<CurrentRecord>::default();
    let stores = StoreEnv {
        task: "0_2".into(),
        disk: None,
        cache: CacheBudget::new(0),
        current: current.clone(),
    };
    TaskEnv {
        config: Arc::new(config),
        stores: TaskStores::open(&[], stores).unwrap(),
        current,
        globals: HashMap::new(),
    }
}

const ID: TaskId = TaskId { subtopology: 0, partition: 2 };

/// A task that copies topics `a` and `b` to `out`.
fn two_inputs(idle_ms: i64) -> Task {
    let mut topology = Topology::new();
    let a = topology.add_source("a", "a", Consumed::<String, String>::new()).unwrap();
    let b = topology.add_source("b", "b", Consumed::<String, String>::new()).unwrap();
    topology.add_sink("out", "out", Produced::new(), [&a, &b]).unwrap();
    let built = Arc::new(topology.build("app").unwrap());
    let config = TaskConfig { max_task_idle_ms: idle_ms, ..TaskConfig::new("app") };
    let mut task = Task::new(&built, ID, env(config)).unwrap();
    task.init(0, &mut Sent::default()).unwrap();
    task
}

#[test]
fn the_smallest_timestamp_of_the_heads_is_next() {
    let (mut task, mut out) = (two_inputs(0), Sent::default());
    task.add("a", [raw(0, 5, "a5"), raw(1, 3, "a3"), raw(2, 9, "a9")]);
    task.add("b", [raw(7, 4, "b4"), raw(8, 6, "b6")]);
    task.add("unknown", [raw(0, 1, "x")]);
    assert_eq!(task.process(100, 0, &|_| true, &mut out).unwrap(), 5);
    assert_eq!(out.values(), "b4 a5 a3 b6 a9");
    assert_eq!(task.stream_time(), 9);
}

#[test]
fn an_empty_input_is_waited_for_while_records_may_come() {
    let (mut task, mut out) = (two_inputs(10), Sent::default());
    task.add("a", [raw(0, 5, "a5")]);
    assert_eq!(task.process(1, 0, &|_| false, &mut out).unwrap(), 0);
    assert_eq!(task.wake_at(), None, "without limit");
    assert_eq!(task.process(1, 100, &|_| true, &mut out).unwrap(), 0);
    assert_eq!(task.wake_at(), Some(110));
    assert_eq!(task.process(1, 109, &|_| true, &mut out).unwrap(), 0);
    assert_eq!(task.process(1, 110, &|_| true, &mut out).unwrap(), 1);
    task.add("a", [raw(1, 8, "a8")]);
    task.add("b", [raw(0, 7, "b7")]);
    assert_eq!(task.process(9, 111, &|_| false, &mut out).unwrap(), 1, "then b is empty");
    assert_eq!(out.values(), "a5 b7");

    let mut hasty = two_inputs(-1);
    hasty.add("a", [raw(0, 5, "a5")]);
    assert_eq!(hasty.process(1, 0, &|_| false, &mut out).unwrap(), 1);
}

#[test]
fn what_is_to_be_committed_is_the_first_record_not_processed() {
    let (mut task, mut out) = (two_inputs(0), Sent::default());
    task.add("a", [raw(3, 5, "x"), raw(9, 6, "y")]);
    assert_eq!((task.head("a"), task.head("b"), task.buffered("a")), (Some(3), None, 2));
    assert!(!task.commit_needed() && task.buffered_bytes() > 0);
    task.process(1, 0, &|_| true, &mut out).unwrap();
    assert_eq!((task.head("a"), task.buffered("a")), (Some(9), 1));
    assert!(task.commit_needed());
    assert_eq!(task.consumed().map(|t| &**t).collect::<Vec<_>>(), ["a"]);
    task.flush(&mut out).unwrap();
    task.committed();
    assert!(!task.commit_needed() && task.consumed().next().is_none());
    task.process(1, 0, &|_| true, &mut out).unwrap();
    assert_eq!((task.head("a"), task.buffered_bytes()), (None, 0));
}

#[test]
fn times_survive_in_the_metadata_of_offsets() {
    let (mut task, mut out) = (two_inputs(0), Sent::default());
    task.add("a", [raw(0, 50, "x")]);
    task.process(1, 0, &|_| true, &mut out).unwrap();
    let text = task.metadata("a");
    let mut next = two_inputs(0);
    next.restore_metadata("a", &text);
    next.restore_metadata("b", "not ours");
    assert_eq!(next.stream_time(), 50);
    assert_eq!(next.metadata("a"), text);
    assert_ne!(next.metadata("b"), text);
}

#[test]
fn a_refusal_of_the_collector_ends_the_task_with_its_own_error() {
    let mut task = two_inputs(0);
    let mut out = Sent { refuse: true, ..Sent::default() };
    task.add("a", [raw(4, 5, "x"), raw(5, 6, "y")]);
    let error = task.process(9, 0, &|_| true, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "task 0_2, node out, record a-2 offset 4: fenced");
    assert!(matches!(error, TaskError::Output { .. }));
    out.refuse = false;
    assert!(task.process(9, 0, &|_| true, &mut out).is_err(), "nothing goes on after it");
    assert!(task.flush(&mut out).is_err());
    assert!(out.records.is_empty());
    task.close().unwrap();
}

/// Fails to start if told so, and logs its end.
struct Lifecycle(&'static str, bool, Arc<std::sync::Mutex<Vec<String>>>);

impl Processor for Lifecycle {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn init(&mut self, _: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
        self.2.lock().unwrap().push(format!("init {}", self.0));
        if self.1 { Err("no start".into()) } else { Ok(()) }
    }

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, String, String>,
        record: Record<String, String>,
    ) -> Result<(), BoxError> {
        Ok(cx.forward(record)?)
    }

    fn close(&mut self) -> Result<(), BoxError> {
        self.2.lock().unwrap().push(format!("close {}", self.0));
        Ok(())
    }
}

fn lifecycle(fails: bool) -> (Task, Arc<std::sync::Mutex<Vec<String>>>) {
    let log = Arc::default();
    let mut topology = Topology::new();
    let source = topology.add_source("s", "a", Consumed::<String, String>::new()).unwrap();
    let first: Arc<std::sync::Mutex<Vec<String>>> = Arc::clone(&log);
    let second = first.clone();
    let p =
        topology.add_processor("p", move || Lifecycle("p", false, first.clone()), &source).unwrap();
    topology.add_processor("q", move || Lifecycle("q", fails, second.clone()), &p).unwrap();
    let built = Arc::new(topology.build("app").unwrap());
    (Task::new(&built, ID, env(TaskConfig::new("app"))).unwrap(), log)
}

#[test]
fn a_start_that_fails_closes_what_was_started() {
    let (mut task, log) = lifecycle(true);
    let error = task.init(0, &mut Sent::default()).unwrap_err();
    assert_eq!(error.to_string(), "task 0_2, node q: no start");
    assert_eq!(*log.lock().unwrap(), ["init p", "init q", "close p"]);
    task.close().unwrap();
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[test]
fn a_suspended_task_starts_again_with_new_processors() {
    let (mut task, log) = lifecycle(false);
    let mut out = Sent::default();
    assert!(task.process(1, 0, &|_| true, &mut out).is_err(), "not started");
    task.init(0, &mut out).unwrap();
    task.add("a", [raw(0, 1, "x")]);
    task.suspend().unwrap();
    assert_eq!(task.buffered("a"), 0);
    assert!(task.process(1, 0, &|_| true, &mut out).is_err(), "suspended");
    task.resume().unwrap();
    task.init(0, &mut out).unwrap();
    task.add("a", [raw(0, 1, "x")]);
    assert_eq!(task.process(1, 0, &|_| true, &mut out).unwrap(), 1);
    task.close().unwrap();
    task.close().unwrap();
    let expected = ["init p", "init q", "close p", "close q"];
    assert_eq!(*log.lock().unwrap(), [expected, expected].concat());
    assert!(task.resume().is_err());
}

#[test]
fn tasks_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Task>();
}

#[test]
fn an_unknown_subtopology_is_an_error() {
    let mut topology = Topology::new();
    let source = topology.add_source("s", "a", Consumed::<String, String>::new()).unwrap();
    topology.add_sink("out", "out", Produced::new(), &source).unwrap();
    let built = Arc::new(topology.build("app").unwrap());
    let id = TaskId { subtopology: 7, partition: 0 };
    let error = Task::new(&built, id, env(TaskConfig::new("app"))).unwrap_err();
    assert_eq!(error.to_string(), "task 7_0: the topology has no subtopology 7");
}
