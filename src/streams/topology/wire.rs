//! The topology as members send it to the group: all must send an equal one, so that every list
//! has the order in which Java sends it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::java_set;
use super::{BuiltTopology, Subtopology};
use crate::streams::store::StoreSpec;
use crate::wire::messages::streams_group_heartbeat as wire;

/// Settings of the application for its internal topics.
#[derive(Debug, Clone)]
pub(crate) struct InternalTopics {
    /// `replication.factor`; -1 is the brokers' default.
    pub(crate) replication_factor: i16,
    /// `topic.*` without the prefix.
    pub(crate) configs: BTreeMap<String, String>,
}

impl Default for InternalTopics {
    fn default() -> Self {
        Self { replication_factor: -1, configs: BTreeMap::new() }
    }
}

impl BuiltTopology {
    /// The message's topology, at epoch 0 as Java's always is.
    pub(crate) fn to_wire(&self, internal: &InternalTopics) -> wire::Topology {
        let mut subtopologies: Vec<_> =
            self.subtopologies.iter().map(|sub| self.subtopology_to_wire(sub, internal)).collect();
        // As strings: "10" comes before "2".
        subtopologies.sort_by(|a, b| a.subtopology_id.cmp(&b.subtopology_id));
        wire::Topology { epoch: 0, subtopologies }
    }

    fn subtopology_to_wire(
        &self,
        sub: &Subtopology,
        internal: &InternalTopics,
    ) -> wire::Subtopology {
        let topics = |repartition: bool| -> BTreeSet<Arc<str>> {
            let chosen = sub.inputs.iter().filter(|input| input.repartition == repartition);
            chosen.map(|input| input.topic.clone()).collect()
        };
        let (sources, repartitions) = (topics(false), topics(true));
        let sinks: BTreeSet<_> =
            sub.sink_topics.iter().filter(|topic| self.is_repartition(topic)).cloned().collect();
        let changelogs: BTreeMap<_, _> = sub
            .stores
            .iter()
            .filter_map(|store| store.changelog.clone().map(|topic| (topic, &store.spec)))
            .collect();
        let sources = strings(&sources);
        let repartition_names = strings(&repartitions);
        wire::Subtopology {
            subtopology_id: sub.id.to_string(),
            copartition_groups: self.copartition_groups(&sources, &repartition_names),
            source_topics: sources,
            source_topic_regex: Vec::new(),
            state_changelog_topics: changelogs
                .iter()
                .map(|(topic, spec)| changelog_info(topic, spec, internal))
                .collect(),
            repartition_sink_topics: strings(&sinks),
            repartition_source_topics: repartitions
                .iter()
                .map(|topic| self.repartition_info(topic, internal))
                .collect(),
        }
    }

    fn repartition_info(&self, topic: &Arc<str>, internal: &InternalTopics) -> wire::TopicInfo {
        let defaults =
            [("cleanup.policy", "delete"), ("segment.bytes", "52428800"), ("retention.ms", "-1")];
        let partitions = self.repartitions.get(topic).copied().flatten();
        info(topic, partitions.unwrap_or(0), &defaults, &BTreeMap::new(), internal)
    }

    /// Groups that lie in a subtopology, in the order in which Java's sets give them.
    fn copartition_groups(
        &self,
        sources: &[String],
        repartitions: &[String],
    ) -> Vec<wire::CopartitionGroup> {
        let index = |names: &[String], name: &String| {
            names.iter().position(|other| other == name).and_then(|at| i16::try_from(at).ok())
        };
        let mut groups = Vec::new();
        for group in self.ordered_copartitions() {
            let inside = |topic: &String| sources.contains(topic) || repartitions.contains(topic);
            if !group.iter().all(inside) {
                continue;
            }
            groups.push(wire::CopartitionGroup {
                source_topics: group.iter().filter_map(|t| index(sources, t)).collect(),
                source_topic_regex: Vec::new(),
                repartition_source_topics: group
                    .iter()
                    .filter_map(|t| index(repartitions, t))
                    .collect(),
            });
        }
        groups
    }

    /// Groups of full names: sets that share a topic are one group.
    fn ordered_copartitions(&self) -> Vec<Vec<String>> {
        let mut groups: Vec<Vec<String>> = Vec::new();
        let mut group_of: BTreeMap<String, usize> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for set in &self.copartitions {
            let full = set.iter().map(|topic| self.full_copartition_name(topic));
            let set = java_set::grown(full.collect::<Vec<_>>());
            let shared = set.iter().find_map(|topic| group_of.get(topic).copied());
            let number = shared.unwrap_or_else(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            for topic in set {
                if !order.contains(&topic) {
                    order.push(topic.clone());
                }
                if !groups[number].contains(&topic) {
                    groups[number].push(topic.clone());
                }
                group_of.insert(topic, number);
            }
        }
        let mut numbers: Vec<usize> = Vec::new();
        for number in order.iter().filter_map(|topic| group_of.get(topic)) {
            if !numbers.contains(number) {
                numbers.push(*number);
            }
        }
        let kept: Vec<Vec<String>> =
            numbers.into_iter().map(|number| java_set::grown(groups[number].clone())).collect();
        java_set::by_hash(kept, order.len(), |group| {
            group.iter().fold(0i32, |sum, topic| sum.wrapping_add(java_set::hash_code(topic)))
        })
    }

    fn full_copartition_name(&self, topic: &str) -> String {
        let full = format!("{}-{topic}", self.application_id);
        if self.repartitions.contains_key(full.as_str()) { full } else { topic.to_owned() }
    }
}

fn strings(topics: &BTreeSet<Arc<str>>) -> Vec<String> {
    topics.iter().map(|topic| topic.to_string()).collect()
}

fn changelog_info(
    topic: &Arc<str>,
    spec: &StoreSpec,
    internal: &InternalTopics,
) -> wire::TopicInfo {
    info(topic, 0, &[("cleanup.policy", "compact")], &spec.changelog_configs, internal)
}

/// Configs by precedence: the library's, the application's, the topic's own.
fn info(
    topic: &Arc<str>,
    partitions: i32,
    defaults: &[(&str, &str)],
    own: &BTreeMap<String, String>,
    internal: &InternalTopics,
) -> wire::TopicInfo {
    let mut configs: BTreeMap<String, String> = BTreeMap::new();
    configs.insert("message.timestamp.type".to_owned(), "CreateTime".to_owned());
    configs.extend(defaults.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    configs.extend(internal.configs.clone());
    configs.extend(own.clone());
    wire::TopicInfo {
        name: topic.to_string(),
        partitions,
        replication_factor: internal.replication_factor,
        topic_configs: configs
            .into_iter()
            .map(|(key, value)| wire::KeyValue { key, value })
            .collect(),
    }
}
