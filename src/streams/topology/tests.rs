use super::*;
use crate::streams::processor::testing::Pass;
use crate::streams::record::Record;
use crate::streams::serde::StringSerde;
use crate::streams::store::{StoreSpec, Stores};
use crate::streams::topology::wire::InternalTopics;

fn texts() -> Consumed<String, String> {
    Consumed::new()
}

fn store(name: &str) -> StoreDef {
    StoreDef {
        spec: Arc::new(StoreSpec::new(Stores::in_memory_key_value(name))),
        facade: Arc::new(|_, _| Arc::new(())),
    }
}

fn lines(text: &str) -> String {
    text.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_chain_is_described_as_java_does() {
    let mut topology = Topology::new();
    let a = topology.add_source("a", ["t1", "t2"], texts()).unwrap();
    let b = topology.add_processor("b", || Pass, &a).unwrap();
    let c = topology.add_processor("c", || Pass, [&a, &b]).unwrap();
    topology.add_state_store(store("s")).unwrap();
    topology.connect_processor_stores("c", ["s"]).unwrap();
    topology.add_sink("d", "out", Produced::new(), &c).unwrap();
    let by_name = TopicExtractor::new("by-name", |_: &Record<String, String>, _: &_| {
        Ok("elsewhere".to_owned())
    });
    topology.add_sink("e", by_name, Produced::new(), &b).unwrap();
    let expected = "\
Topologies:
   Sub-topology: 0
    Source: a (topics: [t1, t2])
      --> b, c
    Processor: b (stores: [])
      --> c, e
      <-- a
    Processor: c (stores: [s])
      --> d
      <-- b, a
    Sink: d (topic: out)
      <-- c
    Sink: e (extractor class: by-name)
      <-- b

";
    // Java sorts parents by their size as well: the larger one first.
    assert_eq!(topology.describe(), lines(expected).replace("<-- b, a", "<-- a, b"));
}

#[test]
fn subtopologies_are_numbered_by_their_first_node_and_joined_by_stores() {
    let mut topology = Topology::new();
    let a = topology.add_source("a", "ta", texts()).unwrap();
    let b = topology.add_source("b", "tb", texts()).unwrap();
    let c = topology.add_source("c", "tc", texts()).unwrap();
    topology.add_processor("pa", || Pass, &a).unwrap();
    topology.add_processor("pb", || Pass, &b).unwrap();
    topology.add_processor("pc", || Pass, &c).unwrap();
    topology.add_state_store(store("shared")).unwrap();
    topology.connect_processor_stores("pc", ["shared"]).unwrap();
    topology.connect_processor_stores("pa", ["shared"]).unwrap();
    let built = topology.build("app").unwrap();
    let inputs: Vec<Vec<_>> = built
        .subtopologies()
        .iter()
        .map(|sub| sub.inputs.iter().map(|input| &*input.topic).collect())
        .collect();
    assert_eq!(inputs, [vec!["ta", "tc"], vec!["tb"]]);
    assert_eq!(
        built.subtopologies()[0].stores[0].changelog.as_deref(),
        Some("app-shared-changelog")
    );
}

#[test]
fn a_global_store_takes_a_number_and_no_task() {
    let mut topology = Topology::new();
    topology.add_global_store(store("g"), "gs", "gt", texts(), "gp", || Pass).unwrap();
    let a = topology.add_source("a", "ta", texts()).unwrap();
    topology.add_sink("out", "o", Produced::new(), &a).unwrap();
    assert_eq!(
        topology.describe(),
        "Topologies:\n   Sub-topology: 0 for global store (will not generate tasks)\n    \
         Source: gs (topics: [gt])\n      --> gp\n    Processor: gp (stores: [g])\n      \
         --> none\n      <-- gs\n  Sub-topology: 1\n    Source: a (topics: [ta])\n      \
         --> out\n    Sink: out (topic: o)\n      <-- a\n\n"
    );
    let built = topology.build("app").unwrap();
    assert_eq!(built.subtopologies().iter().map(|sub| sub.id).collect::<Vec<_>>(), [1]);
    assert_eq!(built.globals().len(), 1);
    assert_eq!(built.to_wire(&InternalTopics::default()).subtopologies.len(), 1);
    let error = topology.connect_processor_stores("gp", ["g"]).unwrap_err();
    assert!(error.to_string().contains("store g is global"), "{error}");
}

#[test]
fn errors_name_the_node_and_the_remedy() {
    let mut topology = Topology::new();
    let a = topology.add_source("a", "ta", texts()).unwrap();
    let text = |error: TopologyError| error.to_string();
    assert_eq!(
        text(topology.add_source("a", "tb", texts()).unwrap_err()),
        "node a is there already: give it another name"
    );
    assert!(
        text(topology.add_source("b", "ta", texts()).unwrap_err())
            .starts_with("topic ta: sources a and b both read it")
    );
    assert!(
        text(topology.add_source("b", Vec::<String>::new(), texts()).unwrap_err())
            .starts_with("node b: a source without topics")
    );
    assert!(text(topology.add_source("b", "x y", texts()).unwrap_err()).contains("\"x y\""));
    assert!(
        text(
            topology
                .add_processor("p", || Pass, [] as [&NodeHandle<String, String>; 0])
                .unwrap_err()
        )
        .contains("node p: has no parent")
    );
    assert!(
        text(topology.add_processor("p", || Pass, [&a, &a]).unwrap_err()).contains("named twice")
    );
    let mut other = Topology::new();
    assert!(
        text(other.add_processor("p", || Pass, &a).unwrap_err()).contains("of another topology")
    );
    assert!(
        text(topology.connect_processor_stores("a", ["s"]).unwrap_err())
            .contains("is no processor")
    );
    topology.add_processor("p", || Pass, &a).unwrap();
    assert_eq!(
        text(topology.connect_processor_stores("p", ["s"]).unwrap_err()),
        "node p: no store named s was added before it"
    );
    topology.add_state_store(store("s")).unwrap();
    assert_eq!(
        text(topology.add_state_store(store("s")).unwrap_err()),
        "store s is there already: give it another name"
    );
    let no_value = Consumed::<String, String> { value: None, ..texts() };
    assert!(
        text(topology.add_source("n", "tn", no_value).unwrap_err())
            .contains("node n: has no serde for its value")
    );
    assert!(text(Topology::new().build("app").unwrap_err()).contains("no source"));
    assert!(topology.build("bad id").is_err());
}

#[test]
fn patterns_are_expanded_over_the_topics_of_the_cluster() {
    let mut topology = Topology::new();
    let pattern = Topics::Pattern("in-[ab]".to_owned());
    let a = topology.add_source("a", pattern, texts()).unwrap();
    topology.add_sink("out", "o", Produced::new(), &a).unwrap();
    assert!(topology.describe().contains("Source: a (topics: in-[ab])\n"));
    assert!(topology.build("app").unwrap_err().to_string().contains("build_matching"));
    let built =
        topology.build_matching("app", &["in-b", "in-c", "xin-a", "in-a", "in-ab"]).unwrap();
    let topics: Vec<_> = built.subtopologies()[0].inputs.iter().map(|i| &*i.topic).collect();
    assert_eq!(topics, ["in-a", "in-b"]);
    let none = topology.build_matching("app", &["x"]).unwrap_err();
    assert!(none.to_string().contains("no topic matches"), "{none}");
    let wrong = Topology::new().add_source("a", Topics::Pattern("(".to_owned()), texts());
    assert!(wrong.unwrap_err().to_string().contains("no regular expression"));
}

#[test]
fn the_wire_form_has_full_names_and_javas_orders() {
    let mut topology = Topology::new();
    topology.add_repartition_topic("r2-repartition", Some(4)).unwrap();
    topology.add_repartition_topic("r1-repartition", None).unwrap();
    let a = topology.add_source("a", ["z", "y"], texts()).unwrap();
    topology.add_sink("s1", "r1-repartition", Produced::new(), &a).unwrap();
    topology.add_sink("s2", "r2-repartition", Produced::new(), &a).unwrap();
    topology.add_sink("s3", "out", Produced::new(), &a).unwrap();
    let b = topology.add_source("b", ["r2-repartition", "r1-repartition"], texts()).unwrap();
    topology.add_processor("p", || Pass, &b).unwrap();
    let mut counts = StoreSpec::new(Stores::in_memory_key_value("counts"));
    counts.changelog_configs.insert("cleanup.policy".to_owned(), "compact,delete".to_owned());
    let facade: Facade = Arc::new(|_, _| Arc::new(()));
    topology.add_state_store(StoreDef { spec: Arc::new(counts), facade }).unwrap();
    topology.connect_processor_stores("p", ["counts"]).unwrap();
    topology.copartition(&["b".into()]);

    let internal = InternalTopics {
        replication_factor: 3,
        configs: BTreeMap::from([("retention.ms".to_owned(), "7".to_owned())]),
    };
    let wire = topology.build("app").unwrap().to_wire(&internal);
    assert_eq!(wire.epoch, 0);
    let [first, second] = &wire.subtopologies[..] else { panic!("two subtopologies: {wire:?}") };
    assert_eq!(first.source_topics, ["y", "z"]);
    assert_eq!(first.repartition_sink_topics, ["app-r1-repartition", "app-r2-repartition"]);
    assert!(first.repartition_source_topics.is_empty());
    let topics: Vec<_> = second
        .repartition_source_topics
        .iter()
        .map(|topic| (topic.name.as_str(), topic.partitions, topic.replication_factor))
        .collect();
    assert_eq!(topics, [("app-r1-repartition", 0, 3), ("app-r2-repartition", 4, 3)]);
    let configs = |topic: &crate::wire::messages::streams_group_heartbeat::TopicInfo| {
        topic
            .topic_configs
            .iter()
            .map(|config| format!("{}={}", config.key, config.value))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        configs(&second.repartition_source_topics[0]),
        "cleanup.policy=delete message.timestamp.type=CreateTime retention.ms=7 \
         segment.bytes=52428800"
    );
    let changelog = &second.state_changelog_topics[0];
    assert_eq!((changelog.name.as_str(), changelog.partitions), ("app-counts-changelog", 0));
    assert_eq!(
        configs(changelog),
        "cleanup.policy=compact,delete message.timestamp.type=CreateTime retention.ms=7"
    );
    let group = &second.copartition_groups[0];
    let mut members = group.repartition_source_topics.clone();
    members.sort_unstable();
    assert_eq!((members, group.source_topics.len()), (vec![0, 1], 0));
}

#[test]
fn ten_comes_before_two_on_the_wire() {
    let mut topology = Topology::new();
    for number in 0..11 {
        let source = topology.add_source(&format!("s{number}"), format!("t{number}"), texts());
        topology.add_sink(&format!("o{number}"), "out", Produced::new(), &source.unwrap()).unwrap();
    }
    let wire = topology.build("app").unwrap().to_wire(&InternalTopics::default());
    let ids: Vec<_> = wire.subtopologies.iter().map(|sub| sub.subtopology_id.as_str()).collect();
    assert_eq!(ids, ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"]);
}

#[test]
fn copartition_sets_that_share_a_topic_are_one_group() {
    let mut topology = Topology::new();
    let sources: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| topology.add_source(name, *name, texts()).unwrap())
        .collect();
    topology.add_processor("p", || Pass, &sources[..]).unwrap();
    topology.copartition(&["a".into(), "b".into()]);
    topology.copartition(&["b".into(), "c".into()]);
    let wire = topology.build("app").unwrap().to_wire(&InternalTopics::default());
    let groups = &wire.subtopologies[0].copartition_groups;
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].source_topics, [0, 1, 2]);
}

#[test]
fn explicit_serdes_are_taken_for_types_without_one() {
    let mut topology = Topology::new();
    let consumed = Consumed::<String, String>::with(StringSerde, StringSerde)
        .reset(ResetPolicy::Latest)
        .timestamps(WallclockTimestamp);
    topology.add_source("a", "t", consumed).unwrap();
    let built = topology.build("app").unwrap();
    assert_eq!(built.subtopologies()[0].inputs[0].reset, Some(ResetPolicy::Latest));
}
