//! `Topology::describe` against the text of Kafka Streams 4.4 for the same topologies.
//!
//! `fixtures/streams/topologies.txt` lists random topologies, a node a line in the order in which
//! they are added; `described.txt` has what `fixtures/streams/Describe.java` printed for them.

#![cfg(feature = "streams")]

use std::collections::HashMap;
use std::path::PathBuf;

use llingr_kafka::streams::serde::StringSerde;
use llingr_kafka::streams::store::{StoreBuilder, Stores};
use llingr_kafka::streams::{
    BoxError, Consumed, NodeHandle, Processor, ProcessorContext, Produced, Record, StoreDef,
    Topology,
};

struct Nothing;

impl Processor for Nothing {
    type KeyIn = String;
    type ValueIn = String;
    type KeyOut = String;
    type ValueOut = String;

    fn process(
        &mut self,
        _: &mut ProcessorContext<'_, String, String>,
        _: Record<String, String>,
    ) -> Result<(), BoxError> {
        Ok(())
    }
}

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streams").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn store(name: &str) -> StoreBuilder<String, String> {
    Stores::key_value_builder(Stores::in_memory_key_value(name), StringSerde, StringSerde)
}

/// A topology that is being built from lines.
#[derive(Default)]
struct Case {
    topology: Topology,
    nodes: HashMap<String, NodeHandle<String, String>>,
    stores: HashMap<String, StoreDef>,
}

impl Case {
    fn parents(&self, names: &str) -> Vec<NodeHandle<String, String>> {
        names.split(',').map(|name| self.nodes[name].clone()).collect()
    }

    fn add(&mut self, words: &[&str]) {
        match words {
            ["source", name, topics] => {
                let topics: Vec<&str> = topics.split(',').collect();
                let source = self.topology.add_source(name, topics, Consumed::new()).unwrap();
                self.nodes.insert((*name).to_owned(), source);
            }
            ["processor", name, parents, stores] => {
                let parents = self.parents(parents);
                let node = self.topology.add_processor(name, || Nothing, &parents).unwrap();
                self.nodes.insert((*name).to_owned(), node);
                for wanted in stores.split(',').filter(|store| *store != "-") {
                    let store = self.stores.entry(wanted.to_owned());
                    let store = store.or_insert_with(|| store_def(wanted)).clone();
                    self.topology.add_state_store(store).unwrap();
                    self.topology.connect_processor_stores(name, [wanted]).unwrap();
                }
            }
            ["sink", name, topic, parents] => {
                let parents = self.parents(parents);
                let produced = Produced::<String, String>::new();
                self.topology.add_sink(name, *topic, produced, &parents).unwrap();
            }
            ["global", name, source, topic, processor] => {
                let store = store(name).logging(false);
                let consumed = Consumed::new();
                self.topology
                    .add_global_store(store, source, topic, consumed, processor, || Nothing)
                    .unwrap();
            }
            other => panic!("a line that is none: {other:?}"),
        }
    }
}

fn store_def(name: &str) -> StoreDef {
    store(name).into()
}

#[test]
fn random_topologies_are_described_as_java_describes_them() {
    let expected = fixture("described.txt");
    let mut expected = expected.split_inclusive("end\n");
    let mut cases = 0;
    let mut case = Case::default();
    for line in fixture("topologies.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "case" => case = Case::default(),
            "end" => {
                let text = expected.next().expect("as many texts as topologies");
                let (title, text) = text.split_once('\n').unwrap();
                let text = text.strip_suffix("end\n").unwrap();
                assert_eq!(case.topology.describe(), text, "{title}");
                cases += 1;
            }
            _ => case.add(&words),
        }
    }
    assert!(cases >= 20, "the fixture is not complete: {cases} cases");
}
