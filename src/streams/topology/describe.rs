//! The text of Java's `TopologyDescription`, character by character.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{Kind, NodeDef, SinkName, Topics, Topology, java_set};

impl Topology {
    /// The topology as text, equal to Java's. Topics have no application id in front.
    pub fn describe(&self) -> String {
        let mut text = "Topologies:\n ".to_owned();
        for (id, members) in self.groups().0.iter().enumerate() {
            let global = self.globals.iter().find(|g| members.contains(&g.processor));
            match global {
                Some(global) => {
                    let _ = writeln!(
                        text,
                        "  Sub-topology: {id} for global store (will not generate tasks)"
                    );
                    for index in [global.source, global.processor] {
                        let _ = writeln!(text, "    {}", self.block(index, &HashMap::new()));
                    }
                }
                None => {
                    let _ = writeln!(text, "  Sub-topology: {id}");
                    let sizes = self.sizes(members);
                    for index in self.sorted(members, &sizes) {
                        let _ = writeln!(text, "    {}", self.block(index, &sizes));
                    }
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Ways that lead from a node to itself and its descendants: what Java calls its size.
    fn sizes(&self, members: &[usize]) -> HashMap<usize, u64> {
        let mut sizes = HashMap::with_capacity(members.len());
        // Children come after their parents.
        for index in members.iter().rev() {
            let below = self.nodes[*index].children.iter().filter_map(|child| sizes.get(child));
            let size = below.fold(1u64, |sum, size| sum.saturating_add(*size));
            sizes.insert(*index, size);
        }
        sizes
    }

    /// Largest first, then by name.
    fn sorted(&self, nodes: &[usize], sizes: &HashMap<usize, u64>) -> Vec<usize> {
        let size = |index: &usize| sizes.get(index).copied().unwrap_or(1);
        let mut sorted = nodes.to_vec();
        sorted.sort_by(|a, b| {
            size(b).cmp(&size(a)).then_with(|| self.nodes[*a].name.cmp(&self.nodes[*b].name))
        });
        sorted
    }

    fn names(&self, nodes: &[usize], sizes: &HashMap<usize, u64>) -> String {
        if nodes.is_empty() {
            return "none".to_owned();
        }
        let names: Vec<&str> =
            self.sorted(nodes, sizes).iter().map(|index| &*self.nodes[*index].name).collect();
        names.join(", ")
    }

    fn block(&self, index: usize, sizes: &HashMap<usize, u64>) -> String {
        let NodeDef { name, kind, parents, children, stores, .. } = &self.nodes[index];
        match kind {
            Kind::Source { topics, .. } => {
                let topics = match topics {
                    Topics::Named(topics) => java_list(topics.iter().map(String::as_str)),
                    Topics::Pattern(pattern) => pattern.clone(),
                };
                format!(
                    "Source: {name} (topics: {topics})\n      --> {}",
                    self.names(children, sizes)
                )
            }
            Kind::Processor { .. } => format!(
                "Processor: {name} (stores: {})\n      --> {}\n      <-- {}",
                java_list(stores.iter().map(Arc::as_ref)),
                self.names(children, sizes),
                self.names(parents, sizes)
            ),
            Kind::Sink { topic, .. } => {
                let topic = match topic {
                    SinkName::Fixed(topic) => format!("topic: {topic}"),
                    SinkName::Computed(name) => format!("extractor class: {name}"),
                };
                format!("Sink: {name} ({topic})\n      <-- {}", self.names(parents, sizes))
            }
        }
    }
}

/// A set as Java prints it.
fn java_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", java_set::copied(items).join(", "))
}
