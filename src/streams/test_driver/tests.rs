use super::*;
use crate::streams::error::BoxError;
use crate::streams::processor::{
    Cancellable, FixedKeyContext, FixedKeyProcessor, FixedKeyRecord, Processor, ProcessorContext,
    PunctuationType,
};
use crate::streams::record::{Headers, Record};
use crate::streams::serde::{I64Serde, StringSerde};
use crate::streams::store::{KeyValueStore, StoreBuilder, Stores};
use crate::streams::task::{ErrorAnswer, ErrorContext, LogAndContinue};
use crate::streams::topology::{
    Consumed, LogAndSkipOnInvalidTimestamp, NodeHandle, Partitions, Produced, TopicExtractor,
    UsePartitionTimeOnInvalidTimestamp,
};

type Text = Record<String, String>;

/// A processor of a closure.
struct With<F>(F);

impl<F> Processor for With<F>
where
    F: FnMut(&mut ProcessorContext<'_, String, String>, Text) -> Result<(), BoxError>
        + Send
        + 'static,
{
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, String, String>,
        record: Text,
    ) -> Result<(), BoxError> {
        (self.0)(cx, record)
    }
}

/// A supplier of processors of a closure.
fn with<F>(call: F) -> impl Fn() -> With<F> + Send + Sync
where
    F: FnMut(&mut ProcessorContext<'_, String, String>, Text) -> Result<(), BoxError>
        + Clone
        + Send
        + Sync
        + 'static,
{
    move || With(call.clone())
}

fn texts() -> Consumed<String, String> {
    Consumed::new()
}

fn sourced() -> (Topology, NodeHandle<String, String>) {
    let mut topology = Topology::new();
    let source = topology.add_source("source", "in", texts()).unwrap();
    (topology, source)
}

fn sink(topology: &mut Topology, name: &str, topic: &str, parent: &NodeHandle<String, String>) {
    topology.add_sink(name, topic, Produced::<String, String>::new(), parent).unwrap();
}

fn ends(
    driver: &TopologyTestDriver,
) -> (TestInputTopic<String, String>, TestOutputTopic<String, String>) {
    (driver.input_topic("in"), driver.output_topic("out"))
}

fn values(output: &TestOutputTopic<String, String>) -> Vec<String> {
    let pair = |(key, value): (Option<String>, Option<String>)| {
        format!("{}:{}", key.as_deref().unwrap_or("null"), value.as_deref().unwrap_or("null"))
    };
    output.read_key_values().unwrap().into_iter().map(pair).collect()
}

#[test]
fn nulls_headers_and_timestamps_pass_from_end_to_end() {
    let (mut topology, source) = sourced();
    sink(&mut topology, "sink", "out", &source);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    let mut headers = Headers::new();
    headers.add("h", None);
    let record = Record::of(None, None, 7).with_headers(headers);
    input.pipe_record(record.clone()).unwrap();
    assert_eq!(output.read_record().unwrap(), record);
    assert!(matches!(output.read_record(), Err(TestDriverError::NoRecord { .. })));
}

#[test]
fn input_topics_keep_time() {
    let (mut topology, source) = sourced();
    sink(&mut topology, "sink", "out", &source);
    let driver = TopologyTestDriver::builder().wall_clock(50).build(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    input.pipe(None, None).unwrap();
    let mut input = input.starting_at(100).auto_advance(Duration::from_millis(10));
    input.pipe(None, None).unwrap();
    input.pipe_at(None, None, 5).unwrap();
    input.advance_time(Duration::from_millis(1));
    input.pipe(None, None).unwrap();
    let times: Vec<_> = output.read_records().unwrap().iter().map(|r| r.timestamp).collect();
    assert_eq!(times, [50, 100, 5, 111]);
}

#[test]
fn children_get_a_record_one_after_the_other_depth_first() {
    let (mut topology, source) = sourced();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = |name: &'static str| {
        let seen = seen.clone();
        with(move |cx, record| {
            seen.lock().unwrap().push(name);
            cx.forward(record)?;
            Ok(())
        })
    };
    let a = topology.add_processor("a", log("a"), &source).unwrap();
    let b = topology.add_processor("b", log("b"), &source).unwrap();
    topology.add_processor("c", log("c"), [&a, &b]).unwrap();
    topology.add_processor("d", log("d"), &a).unwrap();
    let driver = TopologyTestDriver::new(&topology).unwrap();
    driver.input_topic::<String, String>("in").pipe(None, None).unwrap();
    assert_eq!(*seen.lock().unwrap(), ["a", "c", "d", "b", "c"]);
}

#[test]
fn a_record_goes_to_the_child_that_is_named() {
    let (mut topology, source) = sourced();
    let route = with(|cx, record: Text| {
        let child = record.value.clone().unwrap_or_default();
        cx.forward_to(&child, record)?;
        Ok(())
    });
    let router = topology.add_processor("router", route, &source).unwrap();
    sink(&mut topology, "left", "l", &router);
    sink(&mut topology, "right", "out", &router);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    input.pipe(None, "right".to_owned()).unwrap();
    input.pipe(None, "left".to_owned()).unwrap();
    assert_eq!(values(&output), ["null:right"]);
    let error = input.pipe(None, "up".to_owned()).unwrap_err().to_string();
    assert!(error.contains("node router, record in-0 offset 2: no child named up"), "{error}");
    assert!(error.contains("left, right"), "{error}");
    let again = input.pipe(None, "left".to_owned()).unwrap_err().to_string();
    assert_eq!(again, error, "a failed task stays failed");
}

#[test]
fn the_context_of_a_node_is_its_own_again_after_a_forward() {
    let (mut topology, source) = sourced();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (above, below) = (seen.clone(), seen.clone());
    let parent = with(move |cx, record: Text| {
        let mut headers = Headers::new();
        headers.add("x", None);
        cx.forward(record.with_timestamp(99).with_headers(headers))?;
        above.lock().unwrap().push((cx.node_name().to_owned(), cx.timestamp()));
        Ok(())
    });
    let child = with(move |cx, _| {
        assert_eq!(cx.record_metadata().unwrap().offset, 0);
        below.lock().unwrap().push((cx.node_name().to_owned(), cx.timestamp()));
        Ok(())
    });
    let parent = topology.add_processor("parent", parent, &source).unwrap();
    topology.add_processor("child", child, &parent).unwrap();
    let driver = TopologyTestDriver::new(&topology).unwrap();
    driver.input_topic::<String, String>("in").pipe_at(None, None, 5).unwrap();
    assert_eq!(*seen.lock().unwrap(), [("child".to_owned(), 99), ("parent".to_owned(), 5)]);
}

#[test]
fn a_negative_timestamp_and_forwarding_from_init_are_errors() {
    let (mut topology, source) = sourced();
    let back = with(|cx, record: Text| Ok(cx.forward(record.with_timestamp(-1))?));
    let back = topology.add_processor("back", back, &source).unwrap();
    sink(&mut topology, "sink", "out", &back);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let error = driver.input_topic::<String, String>("in").pipe(None, None).unwrap_err();
    assert!(error.to_string().contains("timestamp -1"), "{error}");

    struct Early;
    impl Processor for Early {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = String;
        type ValueOut = String;
        fn init(&mut self, cx: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
            Ok(cx.forward(Record::of(None, None, 1))?)
        }
        fn process(
            &mut self,
            _: &mut ProcessorContext<'_, String, String>,
            _: Text,
        ) -> Result<(), BoxError> {
            Ok(())
        }
    }
    let (mut topology, source) = sourced();
    topology.add_processor("early", || Early, &source).unwrap();
    let error = TopologyTestDriver::new(&topology).unwrap_err().to_string();
    assert!(error.contains("node early") && error.contains("outside of process"), "{error}");
}

#[test]
fn an_error_that_a_processor_swallows_still_ends_the_task() {
    let (mut topology, source) = sourced();
    let deaf = with(|cx, record| {
        let _ = cx.forward(record);
        Ok(())
    });
    let deaf = topology.add_processor("deaf", deaf, &source).unwrap();
    topology.add_processor("bad", with(|_, _| Err("broken".into())), &deaf).unwrap();
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let error = driver.input_topic::<String, String>("in").pipe(None, None).unwrap_err();
    assert_eq!(error.to_string(), "task 0_0, node bad, record in-0 offset 0: broken");
}

#[test]
fn a_processing_handler_may_go_on_and_send_dead_letters() {
    let (mut topology, source) = sourced();
    let picky = with(|cx, record: Text| match record.value.as_deref() {
        Some("bad") => Err("no good".into()),
        _ => Ok(cx.forward(record)?),
    });
    let picky = topology.add_processor("picky", picky, &source).unwrap();
    sink(&mut topology, "sink", "out", &picky);
    let driver = TopologyTestDriver::builder()
        .processing_handler(LogAndContinue)
        .dead_letter_topic("dead")
        .build(&topology)
        .unwrap();
    let (mut input, output) = ends(&driver);
    let dead = driver.output_topic::<String, String>("dead");
    let mut headers = Headers::new();
    headers.add("own", None);
    input.pipe_record(Record::new("k".into(), "bad".into(), 3).with_headers(headers)).unwrap();
    input.pipe("k".to_owned(), "good".to_owned()).unwrap();
    assert_eq!(values(&output), ["k:good"]);
    assert_eq!(driver.dropped_records(), 1);
    let letter = dead.read_record().unwrap();
    assert_eq!((letter.value.as_deref(), letter.timestamp), (Some("bad"), 3));
    let text: Vec<_> = letter
        .headers
        .iter()
        .map(|h| {
            let value = h.value.as_ref().map_or("null".into(), |v| String::from_utf8_lossy(v));
            format!("{}={value}", h.name)
        })
        .collect();
    assert_eq!(
        text,
        [
            "own=null",
            "__streams.errors.exception=ProcessingError",
            "__streams.errors.message=no good",
            "__streams.errors.stacktrace=no good",
            "__streams.errors.topic=in",
            "__streams.errors.partition=0",
            "__streams.errors.offset=0",
        ]
    );
    assert!(dead.is_empty());
}

#[test]
fn unreadable_records_go_to_their_handler() {
    let numbers = || Consumed::<String, i64>::new();
    let mut topology = Topology::new();
    let source = topology.add_source("source", "in", numbers()).unwrap();
    topology.add_sink("sink", "out", Produced::new(), &source).unwrap();

    let driver = TopologyTestDriver::builder().dead_letter_topic("dead").build(&topology).unwrap();
    let error = driver.input_topic::<String, String>("in").pipe(None, "x".to_owned()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task 0_0, node source, record in-0 offset 0: cannot be deserialized: value for topic in: \
         1 bytes instead of 8"
    );
    assert_eq!(driver.output_topic::<String, String>("dead").len(), 1);

    let driver = TopologyTestDriver::builder()
        .deserialization_handler(|cx: &ErrorContext<'_>, _: &(dyn std::error::Error + 'static)| {
            assert_eq!(cx.source_value.unwrap(), "x");
            ErrorAnswer::resume()
        })
        .build(&topology)
        .unwrap();
    driver.input_topic::<String, String>("in").pipe(None, "x".to_owned()).unwrap();
    driver.input_topic::<String, i64>("in").pipe(None, 5).unwrap();
    assert_eq!(driver.output_topic::<String, i64>("out").read_value().unwrap(), Some(5));
    assert_eq!(driver.dropped_records(), 1);
}

#[test]
fn records_that_cannot_be_written_go_to_the_production_handler() {
    let build = || {
        let (mut topology, source) = sourced();
        let three = |_: &str, _: &Text, count: i32| Partitions::One(count + 3);
        let produced = Produced::new().partitioner(three);
        topology.add_sink("sink", "out", produced, &source).unwrap();
        topology
    };
    let driver = TopologyTestDriver::new(&build()).unwrap();
    let error = driver.input_topic::<String, String>("in").pipe(None, None).unwrap_err();
    assert!(error.to_string().contains("partition 4 of topic out, which has 1"), "{error}");
    let lenient = TopologyTestDriver::builder().production_handler(LogAndContinue);
    let driver = lenient.build(&build()).unwrap();
    driver.input_topic::<String, String>("in").pipe(None, None).unwrap();
    assert_eq!(driver.dropped_records(), 1);
}

#[test]
fn sinks_compute_topics_and_partitions() {
    let (mut topology, source) = sourced();
    let by_value = TopicExtractor::new("by-value", |record: &Text, cx| {
        let offset = cx.metadata.as_ref().map_or(-1, |m| m.offset);
        Ok(format!("{}-{offset}", record.value.as_deref().unwrap_or("none")))
    });
    let produced =
        Produced::new().partitioner(|_: &str, record: &Text, _: i32| match record.key.as_deref() {
            Some("twice") => Partitions::Many(vec![0, 0]),
            Some("never") => Partitions::None,
            _ => Partitions::Default,
        });
    topology.add_sink("sink", by_value, produced, &source).unwrap();
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let mut input = driver.input_topic::<String, String>("in");
    for key in ["once", "twice", "never"] {
        input.pipe(key.to_owned(), "x".to_owned()).unwrap();
    }
    assert_eq!(driver.produced_topics(), ["x-0", "x-1"]);
    assert_eq!(driver.output_topic::<String, String>("x-1").len(), 2);
    assert_eq!(driver.dropped_records(), 1);
}

#[test]
fn what_the_topology_reads_itself_is_fed_back() {
    let mut topology = Topology::new();
    topology.add_repartition_topic("r-repartition", None).unwrap();
    let source = topology.add_source("source", "in", texts()).unwrap();
    sink(&mut topology, "to-r", "r-repartition", &source);
    let again = topology.add_source("again", "r-repartition", texts()).unwrap();
    sink(&mut topology, "sink", "out", &again);
    let driver = TopologyTestDriver::builder().application_id("app").build(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    input.pipe("a".to_owned(), "1".to_owned()).unwrap();
    assert_eq!(values(&output), ["a:1"]);
    assert_eq!(driver.produced_topics(), ["app-r-repartition", "out"]);
    let error = driver.input_topic::<String, String>("nowhere").pipe(None, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the topology does not read topic nowhere; it reads: in, app-r-repartition"
    );
}

#[test]
fn timestamp_extractors_decide_about_records_without_time() {
    let times = |consumed: Consumed<String, String>| {
        let mut topology = Topology::new();
        let source = topology.add_source("source", "in", consumed).unwrap();
        sink(&mut topology, "sink", "out", &source);
        let driver = TopologyTestDriver::builder().wall_clock(77).build(&topology).unwrap();
        let (mut input, output) = ends(&driver);
        let piped = [9, -1, 3].map(|time| input.pipe_at(None, None, time).is_ok());
        let times = output.read_records().unwrap().iter().map(|r| r.timestamp).collect::<Vec<_>>();
        (piped, times)
    };
    assert_eq!(times(texts()), ([true, false, false], vec![9]));
    let skip = texts().timestamps(LogAndSkipOnInvalidTimestamp);
    assert_eq!(times(skip), ([true; 3], vec![9, 3]));
    let partition = texts().timestamps(UsePartitionTimeOnInvalidTimestamp);
    assert_eq!(times(partition), ([true; 3], vec![9, 9, 3]));
    let wall = texts().timestamps(crate::streams::WallclockTimestamp);
    assert_eq!(times(wall), ([true; 3], vec![77; 3]));
}

/// Forwards the times at which it is called.
struct Clocked(PunctuationType, Option<Cancellable>);

impl Processor for Clocked {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn init(&mut self, cx: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
        self.1 = Some(cx.schedule(Duration::from_millis(10), self.0)?);
        Ok(())
    }

    fn process(
        &mut self,
        _: &mut ProcessorContext<'_, String, String>,
        record: Text,
    ) -> Result<(), BoxError> {
        if record.value.as_deref() == Some("stop")
            && let Some(schedule) = &self.1
        {
            schedule.cancel();
        }
        Ok(())
    }

    fn punctuate(
        &mut self,
        cx: &mut ProcessorContext<'_, String, String>,
        schedule: &Cancellable,
        timestamp: i64,
    ) -> Result<(), BoxError> {
        assert_eq!(Some(schedule), self.1.as_ref());
        assert_eq!(cx.record_metadata(), None);
        assert_eq!(cx.timestamp(), timestamp);
        let times = format!("{timestamp}/{}", cx.current_stream_time());
        cx.forward(Record::of(None, Some(times), timestamp))?;
        Ok(())
    }
}

#[test]
fn stream_time_punctuates_with_the_records() {
    let (mut topology, source) = sourced();
    let clocked = || Clocked(PunctuationType::StreamTime, None);
    let clocked = topology.add_processor("clocked", clocked, &source).unwrap();
    sink(&mut topology, "sink", "out", &clocked);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    driver.advance_wall_clock(Duration::from_secs(1)).unwrap();
    assert!(output.is_empty());
    for time in [3, 9, 35, 30, 40] {
        input.pipe_at(None, None, time).unwrap();
    }
    input.pipe_at(None, "stop".to_owned(), 99).unwrap();
    assert_eq!(values(&output), ["null:3/3", "null:35/35", "null:40/40"]);
}

#[test]
fn the_wall_clock_punctuates_when_it_is_moved() {
    let (mut topology, source) = sourced();
    let clocked = || Clocked(PunctuationType::WallClockTime, None);
    let clocked = topology.add_processor("clocked", clocked, &source).unwrap();
    sink(&mut topology, "sink", "out", &clocked);
    let driver = TopologyTestDriver::builder().wall_clock(100).build(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    input.pipe_at(None, None, 500).unwrap();
    assert!(output.is_empty());
    for by in [9, 1, 35, 4, 1] {
        driver.advance_wall_clock(Duration::from_millis(by)).unwrap();
    }
    assert_eq!(values(&output), ["null:110/500", "null:145/500", "null:150/500"]);
}

#[test]
fn closures_punctuate_and_cancel_themselves() {
    struct Scheduled;
    impl Processor for Scheduled {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = String;
        type ValueOut = String;
        fn init(&mut self, cx: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
            let own: Arc<Mutex<Option<Cancellable>>> = Arc::default();
            let inside = own.clone();
            let mut calls = 0;
            let schedule = cx.schedule_punctuator(
                Duration::from_millis(1),
                PunctuationType::StreamTime,
                move |cx: &mut ProcessorContext<'_, String, String>, time: i64| {
                    calls += 1;
                    if calls == 2
                        && let Some(schedule) = &*inside.lock().unwrap()
                    {
                        schedule.cancel();
                    }
                    Ok(cx.forward(Record::of(None, Some(format!("{calls}")), time))?)
                },
            )?;
            *own.lock().unwrap() = Some(schedule);
            Ok(())
        }
        fn process(
            &mut self,
            _: &mut ProcessorContext<'_, String, String>,
            _: Text,
        ) -> Result<(), BoxError> {
            Ok(())
        }
    }
    let (mut topology, source) = sourced();
    let node = topology.add_processor("scheduled", || Scheduled, &source).unwrap();
    sink(&mut topology, "sink", "out", &node);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    for time in [1, 2, 3, 4] {
        input.pipe_at(None, None, time).unwrap();
    }
    assert_eq!(values(&output), ["null:1", "null:2"]);
}

#[test]
fn a_fixed_key_processor_changes_values_only() {
    struct Length;
    impl FixedKeyProcessor for Length {
        type Key = String;
        type ValueIn = String;
        type ValueOut = i64;
        fn process(
            &mut self,
            cx: &mut FixedKeyContext<'_, '_, String, i64>,
            record: FixedKeyRecord<String, String>,
        ) -> Result<(), BoxError> {
            let length = record.value().map(|text| text.len() as i64);
            cx.forward(record.with_value(length))?;
            Ok(())
        }
    }
    let (mut topology, source) = sourced();
    let lengths = topology.add_fixed_key_processor("lengths", || Length, &source).unwrap();
    topology.add_sink("sink", "out", Produced::new(), &lengths).unwrap();
    let driver = TopologyTestDriver::new(&topology).unwrap();
    driver.input_topic::<String, String>("in").pipe("k".to_owned(), "abc".to_owned()).unwrap();
    let output = driver.output_topic::<String, i64>("out");
    assert_eq!(output.read_key_value().unwrap(), (Some("k".to_owned()), Some(3)));
}

type Counts = KeyValueStore<String, i64>;

fn counts(name: &str) -> StoreBuilder<String, i64> {
    Stores::key_value_builder(Stores::in_memory_key_value(name), StringSerde, I64Serde)
}

/// Counts the records of each key in a store.
struct Counting(Option<Counts>, &'static str);

impl Processor for Counting {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = i64;

    fn init(&mut self, cx: &mut ProcessorContext<'_, String, i64>) -> Result<(), BoxError> {
        self.0 = Some(cx.store(self.1)?);
        Ok(())
    }

    fn process(
        &mut self,
        cx: &mut ProcessorContext<'_, String, i64>,
        record: Text,
    ) -> Result<(), BoxError> {
        let (Some(store), Some(key)) = (&self.0, &record.key) else { return Ok(()) };
        let count = store.get(key)?.unwrap_or(0) + 1;
        store.put(key, Some(&count))?;
        cx.forward(record.with_value(count))?;
        Ok(())
    }
}

fn counting(caching: bool) -> Topology {
    let (mut topology, source) = sourced();
    let node = topology.add_processor("count", || Counting(None, "counts"), &source).unwrap();
    topology.add_state_store(counts("counts").caching(caching)).unwrap();
    topology.connect_processor_stores("count", ["counts"]).unwrap();
    topology.add_sink("sink", "out", Produced::new(), &node).unwrap();
    topology
}

#[test]
fn stores_keep_state_and_write_their_changelog() {
    for caching in [false, true] {
        let driver = TopologyTestDriver::new(&counting(caching)).unwrap();
        let (mut input, _) = ends(&driver);
        for (key, time) in [("a", 1), ("b", 2), ("a", 3)] {
            input.pipe_at(key.to_owned(), None, time).unwrap();
        }
        let output = driver.output_topic::<String, i64>("out");
        let last = BTreeMap::from([("a".to_owned(), Some(2)), ("b".to_owned(), Some(1))]);
        assert_eq!(output.read_map().unwrap(), last);
        let changelog = driver.output_topic::<String, i64>("test-counts-changelog");
        let logged: Vec<_> = changelog
            .read_records()
            .unwrap()
            .into_iter()
            .map(|r| (r.key.unwrap(), r.value.unwrap(), r.timestamp))
            .collect();
        let expected = [("a", 1, 1), ("b", 1, 2), ("a", 2, 3)];
        assert_eq!(logged, expected.map(|(k, v, t)| (k.to_owned(), v, t)), "caching {caching}");
        let store: Counts = driver.store("counts").unwrap();
        assert_eq!(store.get(&"a".to_owned()).unwrap(), Some(2));
        assert!(driver.store::<KeyValueStore<i64, i64>>("counts").is_err());
    }
}

#[test]
fn a_store_must_be_connected_and_of_the_type_asked_for() {
    let (mut topology, source) = sourced();
    topology.add_processor("count", || Counting(None, "counts"), &source).unwrap();
    topology.add_state_store(counts("counts")).unwrap();
    let error = TopologyTestDriver::new(&topology).unwrap_err().to_string();
    assert!(error.contains("node count: store counts: not connected"), "{error}");

    let (mut topology, source) = sourced();
    topology.add_processor("count", || Counting(None, "texts"), &source).unwrap();
    let store = Stores::in_memory_key_value("texts");
    let texts: StoreBuilder<String, String> =
        Stores::key_value_builder(store, StringSerde, StringSerde);
    topology.add_state_store(texts).unwrap();
    topology.connect_processor_stores("count", ["texts"]).unwrap();
    let error = TopologyTestDriver::new(&topology).unwrap_err().to_string();
    assert!(error.contains("node count: store texts: it is not a"), "{error}");
}

#[test]
fn every_processor_reads_a_global_store() {
    /// Puts what comes in into its store.
    struct Fill(Option<KeyValueStore<String, String>>);
    impl Processor for Fill {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = ();
        type ValueOut = ();
        fn init(&mut self, cx: &mut ProcessorContext<'_, (), ()>) -> Result<(), BoxError> {
            self.0 = Some(cx.store("names")?);
            Ok(())
        }
        fn process(
            &mut self,
            _: &mut ProcessorContext<'_, (), ()>,
            record: Text,
        ) -> Result<(), BoxError> {
            if let (Some(store), Some(key)) = (&self.0, &record.key) {
                store.put(key, record.value.as_ref())?;
            }
            Ok(())
        }
    }
    /// Replaces keys by what the store has for them.
    struct Look(Option<KeyValueStore<String, String>>);
    impl Processor for Look {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = String;
        type ValueOut = String;
        fn init(&mut self, cx: &mut ProcessorContext<'_, String, String>) -> Result<(), BoxError> {
            self.0 = Some(cx.store("names")?);
            Ok(())
        }
        fn process(
            &mut self,
            cx: &mut ProcessorContext<'_, String, String>,
            record: Text,
        ) -> Result<(), BoxError> {
            let (Some(store), Some(key)) = (&self.0, &record.key) else { return Ok(()) };
            let name = store.get(key)?;
            cx.forward(record.with_value(name))?;
            Ok(())
        }
    }
    let (mut topology, source) = sourced();
    let store = Stores::in_memory_key_value("names");
    let names: StoreBuilder<String, String> =
        Stores::key_value_builder(store, StringSerde, StringSerde);
    topology
        .add_global_store(names.logging(false), "gs", "names", texts(), "gp", || Fill(None))
        .unwrap();
    let look = topology.add_processor("look", || Look(None), &source).unwrap();
    sink(&mut topology, "sink", "out", &look);
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let (mut input, output) = ends(&driver);
    input.pipe("1".to_owned(), None).unwrap();
    driver.input_topic::<String, String>("names").pipe("1".to_owned(), "one".to_owned()).unwrap();
    input.pipe("1".to_owned(), None).unwrap();
    assert_eq!(values(&output), ["1:null", "1:one"]);
    assert_eq!(driver.produced_topics(), ["out"]);
}

#[test]
fn close_reaches_every_processor_and_reports_the_first_error() {
    struct Closing(Arc<Mutex<Vec<&'static str>>>, &'static str);
    impl Processor for Closing {
        type KeyIn = String;
        type ValueIn = String;
        type KeyOut = String;
        type ValueOut = String;
        fn process(
            &mut self,
            _: &mut ProcessorContext<'_, String, String>,
            _: Text,
        ) -> Result<(), BoxError> {
            Ok(())
        }
        fn close(&mut self) -> Result<(), BoxError> {
            self.0.lock().unwrap().push(self.1);
            Err(self.1.into())
        }
    }
    let (mut topology, source) = sourced();
    let closed = Arc::new(Mutex::new(Vec::new()));
    for name in ["a", "b"] {
        let closed = closed.clone();
        topology.add_processor(name, move || Closing(closed.clone(), name), &source).unwrap();
    }
    let driver = TopologyTestDriver::new(&topology).unwrap();
    let error = driver.close().unwrap_err();
    assert_eq!(error.to_string(), "task 0_0, node a: a");
    assert_eq!(*closed.lock().unwrap(), ["a", "b"]);
}
