//! The text of Java's `TopologyDescription`, character by character.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use super::java_tree::Tree;
use super::{Kind, NodeDef, SinkName, Topics, Topology, java_set};

/// Neighbours of the nodes of a subtopology in the order in which Java lists them.
#[derive(Default)]
struct Neighbours {
    /// Ways that lead from a node to itself and its descendants: what Java calls its size.
    sizes: HashMap<usize, u64>,
    parents: HashMap<usize, Tree<usize>>,
    children: HashMap<usize, Tree<usize>>,
}

impl Neighbours {
    /// Links the nodes as Java does, which lets sizes grow while neighbours are being sorted by
    /// them.
    fn of(topology: &Topology, members: &[usize]) -> Self {
        let mut this = Self::default();
        for index in members {
            this.sizes.insert(*index, 1);
        }
        let names = members.iter().map(|index| &*topology.nodes[*index].name);
        for name in java_set::grown(names) {
            let Some(node) = topology.by_name.get(name) else { continue };
            for parent in &topology.nodes[*node].parents {
                this.link(topology, *parent, *node);
            }
        }
        this
    }

    fn link(&mut self, topology: &Topology, parent: usize, child: usize) {
        let sizes = &self.sizes;
        let order = |a: &usize, b: &usize| larger_first(topology, sizes, *a, *b);
        self.parents.entry(child).or_insert_with(Tree::new).add(parent, order);
        self.children.entry(parent).or_insert_with(Tree::new).add(child, order);
        let grown = self.size(child);
        self.grow(parent, grown);
    }

    fn size(&self, node: usize) -> u64 {
        self.sizes.get(&node).copied().unwrap_or(1)
    }

    /// A node and everything above it, once for each way that leads there.
    fn grow(&mut self, node: usize, by: u64) {
        // Parents have lower indexes, so that all ways to a node are known at its turn.
        let mut ways = BTreeMap::from([(node, 1u64)]);
        while let Some((node, count)) = ways.pop_last() {
            let size = self.sizes.entry(node).or_insert(1);
            *size = size.wrapping_add(by.wrapping_mul(count));
            for parent in self.parents.get(&node).into_iter().flat_map(Tree::items) {
                let ways = ways.entry(parent).or_insert(0);
                *ways = ways.wrapping_add(count);
            }
        }
    }
}

fn larger_first(topology: &Topology, sizes: &HashMap<usize, u64>, a: usize, b: usize) -> Ordering {
    let size = |node: usize| sizes.get(&node).copied().unwrap_or(1);
    size(b).cmp(&size(a)).then_with(|| topology.nodes[a].name.cmp(&topology.nodes[b].name))
}

impl Topology {
    /// The topology as text, equal to Java's. Topics have no application id in front.
    pub fn describe(&self) -> String {
        let mut text = "Topologies:\n ".to_owned();
        for (id, members) in self.groups().0.iter().enumerate() {
            let neighbours = Neighbours::of(self, members);
            let global = self.globals.iter().find(|g| members.contains(&g.processor));
            match global {
                Some(global) => {
                    let _ = writeln!(
                        text,
                        "  Sub-topology: {id} for global store (will not generate tasks)"
                    );
                    for index in [global.source, global.processor] {
                        let _ = writeln!(text, "    {}", self.block(index, &neighbours));
                    }
                }
                None => {
                    let _ = writeln!(text, "  Sub-topology: {id}");
                    let mut sorted = members.clone();
                    sorted.sort_by(|a, b| larger_first(self, &neighbours.sizes, *a, *b));
                    for index in sorted {
                        let _ = writeln!(text, "    {}", self.block(index, &neighbours));
                    }
                    text.push('\n');
                }
            }
        }
        text
    }

    fn names(&self, nodes: Option<&Tree<usize>>) -> String {
        let Some(nodes) = nodes else { return "none".to_owned() };
        let names: Vec<&str> =
            nodes.items().into_iter().map(|index| &*self.nodes[index].name).collect();
        names.join(", ")
    }

    fn block(&self, index: usize, neighbours: &Neighbours) -> String {
        let NodeDef { name, kind, stores, .. } = &self.nodes[index];
        let parents = self.names(neighbours.parents.get(&index));
        let children = self.names(neighbours.children.get(&index));
        match kind {
            Kind::Source { topics, .. } => {
                let topics = match topics {
                    Topics::Named(topics) => java_list(topics.iter().map(String::as_str)),
                    Topics::Pattern(pattern) => pattern.clone(),
                };
                format!("Source: {name} (topics: {topics})\n      --> {children}")
            }
            Kind::Processor { .. } => format!(
                "Processor: {name} (stores: {})\n      --> {children}\n      <-- {parents}",
                java_list(stores.iter().map(Arc::as_ref))
            ),
            Kind::Sink { topic, .. } => {
                let topic = match topic {
                    SinkName::Fixed(topic) => format!("topic: {topic}"),
                    SinkName::Computed(name) => format!("extractor class: {name}"),
                };
                format!("Sink: {name} ({topic})\n      <-- {parents}")
            }
        }
    }
}

/// A set as Java prints it.
fn java_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", java_set::copied(items).join(", "))
}
