use std::sync::{Arc, Mutex};

use super::*;
use crate::streams::error::BoxError;
use crate::streams::processor::testing::Pass;
use crate::streams::processor::{FixedKeyContext, FixedKeyProcessor, FixedKeyRecord};
use crate::streams::record::Record;
use crate::streams::serde::StringSerde;
use crate::streams::test_driver::TopologyTestDriver;
use crate::streams::topology::{Consumed, Partitions, Produced, ResetPolicy, TopicExtractor};

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// Pipes pairs into `in` and returns what came out of `out`, as `key:value@timestamp`.
fn run(builder: &StreamsBuilder, pairs: &[(Option<&str>, Option<&str>)]) -> Vec<String> {
    let driver = TopologyTestDriver::new(&builder.build().unwrap()).unwrap();
    let mut input = driver.input_topic::<String, String>("in");
    for (at, (key, value)) in pairs.iter().enumerate() {
        input.pipe_at(key.map(str::to_owned), value.map(str::to_owned), at as i64).unwrap();
    }
    let show = |part: Option<String>| part.unwrap_or_else(|| "null".to_owned());
    driver
        .output_topic::<String, String>("out")
        .read_records()
        .unwrap()
        .into_iter()
        .map(|r| format!("{}:{}@{}", show(r.key), show(r.value), r.timestamp))
        .collect()
}

const PAIRS: [(Option<&str>, Option<&str>); 3] =
    [(Some("a"), Some("x y")), (None, Some("z")), (Some("b"), None)];

fn texts(builder: &StreamsBuilder) -> KStream<String, String> {
    builder.stream("in")
}

#[test]
fn operators_see_null_keys_and_values() {
    let out = |build: &dyn Fn(KStream<String, String>)| {
        let builder = StreamsBuilder::new();
        build(texts(&builder));
        run(&builder, &PAIRS)
    };
    assert_eq!(out(&|s| s.filter(|key, _| key.is_some()).to("out")), ["a:x y@0", "b:null@2"]);
    assert_eq!(out(&|s| s.filter_not(|key, _| key.is_some()).to("out")), ["null:z@1"]);
    assert_eq!(
        out(&|s| s.map_values(|v| Some(v.unwrap_or("none".into()))).to("out")),
        ["a:x y@0", "null:z@1", "b:none@2"]
    );
    assert_eq!(
        out(&|s| s.map_values_with_key(|k, _: Option<String>| k.cloned()).to("out")),
        ["a:a@0", "null:null@1", "b:b@2"]
    );
    assert_eq!(out(&|s| s.map(|k, v| (v, k)).to("out")), ["x y:a@0", "z:null@1", "null:b@2"]);
    assert_eq!(
        out(&|s| s.select_key(|_, v| v.cloned()).to("out")),
        ["x y:x y@0", "z:z@1", "null:null@2"]
    );
    let words =
        |v: Option<String>| v.unwrap_or_default().split_whitespace().map(text).collect::<Vec<_>>();
    assert_eq!(out(&|s| s.flat_map_values(words).to("out")), ["a:x@0", "a:y@0", "null:z@1"]);
    assert_eq!(
        out(&|s| s.flat_map(|k, v| vec![(k, text("1")), (v, text("2"))]).to("out")),
        ["a:1@0", "x y:2@0", "null:1@1", "z:2@1", "b:1@2", "null:2@2"]
    );
}

#[test]
fn peek_and_for_each_look_in_order() {
    let builder = StreamsBuilder::new();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (first, second) = (seen.clone(), seen.clone());
    let peeked = texts(&builder).peek(move |key, _| {
        first.lock().unwrap().push(format!("peek {key:?}"));
    });
    peeked.for_each(move |key, _| second.lock().unwrap().push(format!("each {key:?}")));
    peeked.to("out");
    assert_eq!(run(&builder, &PAIRS[..1]), ["a:x y@0"]);
    assert_eq!(*seen.lock().unwrap(), [r#"peek Some("a")"#, r#"each Some("a")"#]);
}

#[test]
fn functions_may_fail() {
    let builder = StreamsBuilder::new();
    texts(&builder)
        .try_map_values(|_, value| value.ok_or_else(|| "no value".into()).map(Some))
        .to("out");
    let driver = TopologyTestDriver::new(&builder.build().unwrap()).unwrap();
    let error = driver.input_topic::<String, String>("in").pipe(None, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task 0_0, node KSTREAM-MAPVALUES-0000000001, record in-0 offset 0: no value"
    );
}

#[test]
fn names_burn_numbers_as_in_java() {
    let builder = StreamsBuilder::new();
    let source = texts(&builder);
    assert_eq!(source.node_name(), "KSTREAM-SOURCE-0000000000");
    assert_eq!(source.filter(|_, _| true).node_name(), "KSTREAM-FILTER-0000000001");
    assert_eq!(source.named("mine").map_values(|v| v).node_name(), "mine");
    let mapped = source.map(|k, v| (k, v));
    assert_eq!(mapped.node_name(), "KSTREAM-MAP-0000000003");
    let names: Vec<String> = [
        source.flat_map(|k, v| [(k, v)]).node_name().to_owned(),
        source.flat_map_values(|v| [v]).node_name().to_owned(),
        source.select_key(|k, _| k.cloned()).node_name().to_owned(),
        source.peek(|_, _| ()).node_name().to_owned(),
        source.merge(&mapped).node_name().to_owned(),
    ]
    .into();
    assert_eq!(
        names,
        [
            "KSTREAM-FLATMAP-0000000004",
            "KSTREAM-FLATMAPVALUES-0000000005",
            "KSTREAM-KEY-SELECT-0000000006",
            "KSTREAM-PEEK-0000000007",
            "KSTREAM-MERGE-0000000008",
        ]
    );
    // REPARTITION 9, then sink 10, filter 11, source 12.
    let again = mapped.repartition(Repartitioned::new());
    assert_eq!(again.node_name(), "KSTREAM-SOURCE-0000000012");
    // A given name burns no number of its own: sink 13, filter 14, source 15.
    let named = mapped.repartition(Repartitioned::new().named("r"));
    assert_eq!(named.node_name(), "r-repartition-source");
    assert_eq!(source.filter(|_, _| true).node_name(), "KSTREAM-FILTER-0000000016");
}

struct Twice;

impl FixedKeyProcessor for Twice {
    type Key = String;
    type ValueIn = String;
    type ValueOut = String;
    fn process(
        &mut self,
        cx: &mut FixedKeyContext<'_, '_, String, String>,
        record: FixedKeyRecord<String, String>,
    ) -> Result<(), BoxError> {
        let twice = record.value().map(|text| format!("{text}{text}"));
        Ok(cx.forward(record.with_value(twice))?)
    }
}

#[test]
fn processors_take_part_and_only_generated_names_burn_numbers() {
    let builder = StreamsBuilder::new();
    let source = texts(&builder);
    assert_eq!(source.named("p").process(|| Pass, &[]).node_name(), "p");
    let processed = source.process(|| Pass, &[]);
    assert_eq!(processed.node_name(), "KSTREAM-PROCESSOR-0000000001");
    let values = processed.process_values(|| Twice, &[]);
    assert_eq!(values.node_name(), "KSTREAM-PROCESSVALUES-0000000002");
    assert!(processed.repartition_required && values.repartition_required);
    assert!(!source.process_values(|| Twice, &[]).repartition_required);
    values.to("out");
    assert_eq!(run(&builder, &PAIRS[..1]), ["a:x yx y@0"]);
    source.process(|| Pass, &["missing"]);
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("no store named missing"), "{error}");
}

#[test]
fn serdes_are_inherited_as_in_java() {
    let builder = StreamsBuilder::new();
    let source = builder.stream_with("in", Consumed::with(StringSerde, StringSerde));
    let has = |s: &KStream<String, String>| (s.key_serde.is_some(), s.value_serde.is_some());
    assert_eq!(has(&source.filter(|_, _| true)), (true, true));
    assert_eq!(has(&source.map_values(|v| v)), (true, false));
    assert_eq!(has(&source.select_key(|k, _| k.cloned())), (false, true));
    assert_eq!(has(&source.map(|k, v| (k, v))), (false, false));
    assert_eq!(has(&source.merge(&source.peek(|_, _| ()))), (false, false));
    let branches = source.split().default_branch(Branched::new());
    assert_eq!(branches.values().map(has).collect::<Vec<_>>(), [(true, true)]);
}

#[test]
fn the_first_branch_that_fits_takes_a_record() {
    let builder = StreamsBuilder::new();
    let branches = texts(&builder)
        .named("split-")
        .split()
        .branch(|key, _| key.is_some_and(|key| key == "a"), Branched::named("a"))
        .branch(
            |key, _| key.is_some(),
            Branched::new().function(|s| Some(s.map_values(|_| text("second")))),
        )
        .branch(|_, _| true, Branched::new().consumer(|s| s.map_values(|_| text("x")).to("out")))
        .default_branch(Branched::new());
    assert_eq!(branches.keys().collect::<Vec<_>>(), ["split-0", "split-2", "split-a"]);
    branches["split-a"].to("out");
    branches["split-2"].to("out");
    assert_eq!(run(&builder, &PAIRS), ["a:x y@0", "null:x@1", "b:second@2"]);
    let text = builder.build().unwrap().describe();
    assert!(text.contains("Processor: split-3 (stores: [])"), "{text}");
}

#[test]
fn no_default_branch_drops_the_rest() {
    let builder = StreamsBuilder::new();
    let branches =
        texts(&builder).split().branch(|key, _| key.is_none(), Branched::new()).no_default_branch();
    branches["KSTREAM-BRANCH-00000000011"].to("out");
    assert_eq!(run(&builder, &PAIRS), ["null:z@1"]);
}

#[test]
fn a_repartition_leaves_null_keys_out_and_starts_a_subtopology() {
    let builder = StreamsBuilder::new();
    let how = Repartitioned::new().named("by-value").partitions(3);
    texts(&builder).repartition(how).to("out");
    assert_eq!(run(&builder, &PAIRS), ["a:x y@0", "b:null@2"]);
    let expected = "\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [in])
      --> by-value-repartition-filter
    Processor: by-value-repartition-filter (stores: [])
      --> by-value-repartition-sink
      <-- KSTREAM-SOURCE-0000000000
    Sink: by-value-repartition-sink (topic: by-value-repartition)
      <-- by-value-repartition-filter

  Sub-topology: 1
    Source: by-value-repartition-source (topics: [by-value-repartition])
      --> KSTREAM-SINK-0000000004
    Sink: KSTREAM-SINK-0000000004 (topic: out)
      <-- by-value-repartition-source

";
    assert_eq!(builder.build().unwrap().describe(), expected);
}

#[test]
fn sources_of_the_same_topics_are_one() {
    let builder = StreamsBuilder::new();
    let first = builder.stream::<String, String>(["in", "more"]);
    let second = builder.stream::<String, String>(["more", "in"]);
    first.filter(|_, _| true).to("out");
    second.to("out");
    assert_eq!(run(&builder, &PAIRS[..1]), ["a:x y@0", "a:x y@0"]);
    let text = builder.build().unwrap().describe();
    assert!(!text.contains("KSTREAM-SOURCE-0000000001"), "{text}");
    assert!(text.contains("--> KSTREAM-FILTER-0000000002, KSTREAM-SINK-0000000004"), "{text}");
}

#[test]
fn sources_that_overlap_or_differ_are_errors() {
    let error = |second: &dyn Fn(&StreamsBuilder)| {
        let builder = StreamsBuilder::new();
        builder.stream::<String, String>(["in", "x"]);
        second(&builder);
        builder.build().unwrap_err().to_string()
    };
    assert!(error(&|b| drop(b.stream::<String, String>("in"))).contains("not the same topics"));
    assert!(error(&|b| drop(b.stream::<String, i64>(["x", "in"]))).contains("different types"));
    let latest = || Consumed::<String, String>::new().reset(ResetPolicy::Latest);
    assert!(
        error(&|b| drop(b.stream_with(["x", "in"], latest()))).contains("different reset policies")
    );
}

#[test]
fn mistakes_come_out_of_build() {
    let builder = StreamsBuilder::new();
    texts(&builder).named("bad name").filter(|_, _| true).to("out");
    assert!(builder.build().unwrap_err().to_string().contains("\"bad name\""));

    let builder = StreamsBuilder::new();
    let other = StreamsBuilder::new();
    texts(&builder).merge(&texts(&other)).to("out");
    assert!(builder.build().unwrap_err().to_string().contains("of another builder"));

    let builder = StreamsBuilder::new();
    let stream = texts(&builder);
    stream.named("twice").filter(|_, _| true);
    stream.named("twice").filter(|_, _| true);
    assert!(builder.build().unwrap_err().to_string().contains("node twice is there already"));

    let builder = StreamsBuilder::new();
    let mapped: KStream<String, String> = texts(&builder).map(|k, v| (k, v));
    mapped.repartition(Repartitioned::inherited());
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("has no serde for its key"), "{error}");
}

#[test]
fn sinks_take_topics_names_and_partitioners() {
    let builder = StreamsBuilder::new();
    let by_key = TopicExtractor::new("by-key", |record: &Record<String, String>, _: &_| {
        record.key.clone().ok_or_else(|| "no key".into())
    });
    let none = |_: &str, _: &Record<String, String>, _: i32| Partitions::None;
    let source = texts(&builder);
    source.filter(|key, _| key.is_some()).to(by_key);
    source.to_with("out", Produced::new().partitioner(none).named("silent"));
    let topology = builder.build().unwrap();
    assert!(topology.describe().contains("Sink: silent (topic: out)"));
    assert!(topology.describe().contains("(extractor class: by-key)"));
    let driver = TopologyTestDriver::new(&topology).unwrap();
    driver.input_topic::<String, String>("in").pipe(text("k"), text("v")).unwrap();
    assert_eq!(driver.produced_topics(), ["k"]);
    assert_eq!(driver.dropped_records(), 1);
}

#[test]
fn a_builder_may_build_again() {
    let builder = StreamsBuilder::new();
    let source = texts(&builder);
    source.to("out");
    let first = builder.build().unwrap().describe();
    assert_eq!(builder.build().unwrap().describe(), first);
    source.to("more");
    assert_ne!(builder.build().unwrap().describe(), first);
}
