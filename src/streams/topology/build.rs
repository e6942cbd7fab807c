//! From the nodes that were added to subtopologies with full names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::source::HeadFactory;
use super::{
    Kind, MakeProcessor, MakeSink, ResetPolicy, SinkName, Topics, Topology, TopologyError,
};
use crate::streams::store::{Facade, StoreSpec};
use crate::streams::task::Node;

/// A topology with an application's id: what tasks are made from.
pub struct BuiltTopology {
    pub(super) application_id: Arc<str>,
    pub(super) subtopologies: Vec<Arc<Subtopology>>,
    pub(super) globals: Vec<BuiltGlobal>,
    /// Undecorated names of topics that must have equally many partitions, by join.
    pub(super) copartitions: Vec<Vec<String>>,
    /// Full names of repartition topics, with their number of partitions if it is set.
    pub(super) repartitions: BTreeMap<Arc<str>, Option<i32>>,
}

impl fmt::Debug for BuiltTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltTopology")
            .field("application_id", &self.application_id)
            .field("subtopologies", &self.subtopologies.len())
            .finish_non_exhaustive()
    }
}

/// Nodes that one task has, by local index.
pub(crate) struct Subtopology {
    pub(crate) id: i32,
    pub(crate) graph: Graph,
    pub(crate) inputs: Vec<InputDef>,
    /// In the order in which the topology names them.
    pub(crate) stores: Vec<BuiltStore>,
    /// Full names of fixed topics that its sinks write.
    pub(crate) sink_topics: Vec<Arc<str>>,
    makers: Vec<Maker>,
}

/// A topic that tasks of a subtopology read.
#[derive(Clone)]
pub(crate) struct InputDef {
    /// Full name.
    pub(crate) topic: Arc<str>,
    /// The source, by local index.
    pub(crate) node: usize,
    pub(crate) repartition: bool,
    pub(crate) reset: Option<ResetPolicy>,
    pub(crate) head: HeadFactory,
}

/// A store of a subtopology.
#[derive(Clone)]
pub(crate) struct BuiltStore {
    /// Without logging where the changelog is a topic that others write.
    pub(crate) spec: Arc<StoreSpec>,
    pub(crate) facade: Facade,
    /// Full name of the topic that it is restored from; `None` with logging off.
    pub(crate) changelog: Option<Arc<str>>,
}

/// A global store, with the source and the processor that fill it.
pub(crate) struct BuiltGlobal {
    pub(crate) sub: Arc<Subtopology>,
    /// Bytes go straight into the store when it is restored.
    pub(crate) raw: bool,
}

/// How nodes hang together.
pub(crate) struct Graph {
    names: Vec<Arc<str>>,
    children: Vec<Box<[usize]>>,
    stores: Vec<Box<[Arc<str>]>>,
    /// Global stores, which every node may read.
    globals: Box<[Arc<str>]>,
}

impl Graph {
    pub(crate) fn name(&self, node: usize) -> &Arc<str> {
        &self.names[node]
    }

    #[inline]
    pub(crate) fn children(&self, node: usize) -> &[usize] {
        &self.children[node]
    }

    pub(crate) fn stores(&self, node: usize) -> &[Arc<str>] {
        &self.stores[node]
    }

    pub(crate) fn globals(&self) -> &[Arc<str>] {
        &self.globals
    }
}

#[derive(Clone)]
enum Maker {
    /// Sources live in their queues.
    Source,
    Processor(MakeProcessor),
    Sink(MakeSink, Option<Arc<str>>),
}

impl Subtopology {
    /// One without nodes: a topology of global stores only has no more.
    pub(crate) fn empty() -> Self {
        Self {
            id: 0,
            graph: Graph {
                names: Vec::new(),
                children: Vec::new(),
                stores: Vec::new(),
                globals: Box::default(),
            },
            inputs: Vec::new(),
            stores: Vec::new(),
            sink_topics: Vec::new(),
            makers: Vec::new(),
        }
    }

    /// New processors and sinks, by local index.
    pub(crate) fn make_nodes(&self) -> Vec<Option<Box<dyn Node>>> {
        let make = |maker: &Maker| match maker {
            Maker::Source => None,
            Maker::Processor(make) => Some(make()),
            Maker::Sink(make, topic) => Some(make(topic.clone())),
        };
        self.makers.iter().map(make).collect()
    }
}

impl BuiltTopology {
    /// The application's id.
    pub fn application_id(&self) -> &str {
        &self.application_id
    }

    /// Subtopologies that have tasks.
    pub(crate) fn subtopologies(&self) -> &[Arc<Subtopology>] {
        &self.subtopologies
    }

    pub(crate) fn subtopology(&self, id: i32) -> Option<&Arc<Subtopology>> {
        self.subtopologies.iter().find(|subtopology| subtopology.id == id)
    }

    pub(crate) fn globals(&self) -> &[BuiltGlobal] {
        &self.globals
    }

    /// Whether the topic, by its full name, is one that the application writes to read it again.
    pub(crate) fn is_repartition(&self, topic: &str) -> bool {
        self.repartitions.contains_key(topic)
    }
}

/// Nodes by the number of their subtopology, in the order in which they were added.
pub(super) struct Groups(pub(super) Vec<Vec<usize>>);

impl Topology {
    /// Finds what belongs together: what is connected by edges or by a store.
    pub(super) fn groups(&self) -> Groups {
        let mut sets = Sets::new(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            for parent in &node.parents {
                sets.unite(*parent, index);
            }
        }
        for store in &self.stores {
            for pair in store.nodes.windows(2) {
                sets.unite(pair[0], pair[1]);
            }
        }
        let mut numbers = BTreeMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for index in 0..self.nodes.len() {
            let root = sets.root(index);
            let number = *numbers.entry(root).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[number].push(index);
        }
        Groups(groups)
    }

    /// Gives the topology an application's id.
    ///
    /// # Errors
    /// [`TopologyError`] if there is nothing to run, if a source has a pattern (see
    /// [`build_matching`](Self::build_matching)), or if topics are used in ways that do not fit.
    pub fn build(&self, application_id: &str) -> Result<BuiltTopology, TopologyError> {
        if let Some((node, pattern)) = self.patterns().next() {
            return Err(TopologyError::Node {
                node: node.to_string(),
                why: format!(
                    "reads the topics that match {pattern:?}, which is only known of a cluster: \
                     use build_matching with the topics there are"
                ),
            });
        }
        self.build_matching(application_id, &[])
    }

    /// As [`build`](Self::build), with patterns of sources expanded over the topics of a cluster.
    ///
    /// # Errors
    /// As [`build`](Self::build), and if a pattern matches no topic.
    pub fn build_matching(
        &self,
        application_id: &str,
        topics: &[&str],
    ) -> Result<BuiltTopology, TopologyError> {
        let groups = self.groups();
        self.build_groups(application_id, topics, &groups)
    }

    /// All of it as one subtopology, as the test driver runs it.
    pub(crate) fn build_whole(
        &self,
        application_id: &str,
        topics: &[&str],
    ) -> Result<BuiltTopology, TopologyError> {
        let is_global = |members: &Vec<usize>| members.iter().any(|i| self.nodes[*i].global);
        let (globals, others): (Vec<_>, Vec<_>) = self.groups().0.into_iter().partition(is_global);
        let mut whole: Vec<usize> = others.into_iter().flatten().collect();
        whole.sort_unstable();
        let groups = std::iter::once(whole).chain(globals).collect();
        self.build_groups(application_id, topics, &Groups(groups))
    }

    fn build_groups(
        &self,
        application_id: &str,
        topics: &[&str],
        groups: &Groups,
    ) -> Result<BuiltTopology, TopologyError> {
        super::check_name("application", application_id)?;
        let expanded = self.expand(topics)?;
        let full = |topic: &str| self.full_name(application_id, topic);
        let mut built = BuiltTopology {
            application_id: application_id.into(),
            subtopologies: Vec::new(),
            globals: Vec::new(),
            copartitions: self.copartitions.clone(),
            repartitions: self.repartitions.iter().map(|(t, n)| (full(t), *n)).collect(),
        };
        for (number, members) in groups.0.iter().enumerate() {
            let sub = Arc::new(Subtopology {
                id: number as i32,
                graph: self.graph(members),
                inputs: self.inputs(members, &expanded, &full),
                stores: self.built_stores(members, application_id),
                sink_topics: self.sink_topics(members, &full),
                makers: self.makers(members, &full),
            });
            if let Some(global) = self.globals.iter().find(|g| members.contains(&g.processor)) {
                built.globals.push(BuiltGlobal { sub, raw: global.raw });
            } else if !sub.inputs.is_empty() {
                built.subtopologies.push(sub);
            }
        }
        if built.subtopologies.is_empty() && built.globals.is_empty() {
            return Err(TopologyError::Whole(
                "the topology has no source: add one that reads a topic".to_owned(),
            ));
        }
        Ok(built)
    }

    /// Sources with a pattern.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            Kind::Source { topics: Topics::Pattern(pattern), .. } => {
                Some((&node.name, pattern.as_str()))
            }
            _ => None,
        })
    }

    /// Topics of every source, by node.
    fn expand(&self, cluster: &[&str]) -> Result<BTreeMap<usize, Vec<String>>, TopologyError> {
        let mut expanded: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut readers: BTreeMap<String, usize> = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let Kind::Source { topics, .. } = &node.kind else { continue };
            let names = match topics {
                Topics::Named(names) => names.clone(),
                Topics::Pattern(pattern) => matching(pattern, cluster)
                    .map_err(|why| TopologyError::Node { node: node.name.to_string(), why })?,
            };
            for name in &names {
                if let Some(other) = readers.insert(name.clone(), index) {
                    return Err(TopologyError::Topic {
                        topic: name.clone(),
                        why: format!(
                            "sources {} and {} both read it: make their topics and patterns \
                             exclude each other",
                            self.nodes[other].name, node.name
                        ),
                    });
                }
            }
            expanded.insert(index, names);
        }
        Ok(expanded)
    }

    fn full_name(&self, application_id: &str, topic: &str) -> Arc<str> {
        if self.repartitions.contains_key(topic) {
            format!("{application_id}-{topic}").into()
        } else {
            topic.into()
        }
    }

    fn graph(&self, members: &[usize]) -> Graph {
        let local = |index: &usize| members.binary_search(index).ok();
        let nodes = members.iter().map(|index| &self.nodes[*index]);
        Graph {
            names: nodes.clone().map(|node| node.name.clone()).collect(),
            children: nodes
                .clone()
                .map(|node| node.children.iter().filter_map(local).collect())
                .collect(),
            stores: nodes.map(|node| node.stores.clone().into()).collect(),
            globals: self.globals.iter().map(|global| global.store.clone()).collect(),
        }
    }

    fn makers(&self, members: &[usize], full: &dyn Fn(&str) -> Arc<str>) -> Vec<Maker> {
        let maker = |index: &usize| match &self.nodes[*index].kind {
            Kind::Source { .. } => Maker::Source,
            Kind::Processor { make } => Maker::Processor(make.clone()),
            Kind::Sink { topic: SinkName::Fixed(topic), make } => {
                Maker::Sink(make.clone(), Some(full(topic)))
            }
            Kind::Sink { make, .. } => Maker::Sink(make.clone(), None),
        };
        members.iter().map(maker).collect()
    }

    fn inputs(
        &self,
        members: &[usize],
        expanded: &BTreeMap<usize, Vec<String>>,
        full: &dyn Fn(&str) -> Arc<str>,
    ) -> Vec<InputDef> {
        let mut inputs = Vec::new();
        for (local, index) in members.iter().enumerate() {
            let Kind::Source { reset, head, .. } = &self.nodes[*index].kind else { continue };
            for topic in expanded.get(index).into_iter().flatten() {
                inputs.push(InputDef {
                    topic: full(topic),
                    node: local,
                    repartition: self.repartitions.contains_key(topic),
                    reset: *reset,
                    head: head.clone(),
                });
            }
        }
        inputs
    }

    fn built_stores(&self, members: &[usize], application_id: &str) -> Vec<BuiltStore> {
        let used = |nodes: &[usize]| nodes.iter().any(|node| members.binary_search(node).is_ok());
        self.stores
            .iter()
            .filter(|entry| used(&entry.nodes))
            .map(|entry| {
                let changelog = match &entry.source_topic {
                    Some(topic) => Some(self.full_name(application_id, topic)),
                    None if entry.def.spec.logging => {
                        Some(format!("{application_id}-{}-changelog", entry.def.name()).into())
                    }
                    None => None,
                };
                let mut spec = entry.def.spec.clone();
                if entry.source_topic.is_some() && spec.logging {
                    // What it holds is in the topic already.
                    Arc::make_mut(&mut spec).logging = false;
                }
                BuiltStore { spec, facade: entry.def.facade.clone(), changelog }
            })
            .collect()
    }

    fn sink_topics(&self, members: &[usize], full: &dyn Fn(&str) -> Arc<str>) -> Vec<Arc<str>> {
        let topic = |index: &usize| match &self.nodes[*index].kind {
            Kind::Sink { topic: SinkName::Fixed(topic), .. } => Some(full(topic)),
            _ => None,
        };
        members.iter().filter_map(topic).collect()
    }
}

/// Whether a pattern is one.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    compile(pattern).map(|_| ())
}

fn compile(pattern: &str) -> Result<regex_lite::Regex, String> {
    // The whole name has to match, as with Java's `matches`.
    regex_lite::Regex::new(&format!("^(?:{pattern})$"))
        .map_err(|error| format!("the pattern {pattern:?} is no regular expression: {error}"))
}

fn matching(pattern: &str, cluster: &[&str]) -> Result<Vec<String>, String> {
    let regex = compile(pattern)?;
    let mut names: Vec<String> =
        cluster.iter().filter(|name| regex.is_match(name)).map(|name| (*name).to_owned()).collect();
    names.sort();
    if names.is_empty() {
        return Err(format!(
            "no topic matches {pattern:?}: create one before the application starts"
        ));
    }
    Ok(names)
}

/// Disjoint sets of node indexes.
struct Sets(Vec<usize>);

impl Sets {
    fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    fn root(&mut self, mut index: usize) -> usize {
        while self.0[index] != index {
            self.0[index] = self.0[self.0[index]];
            index = self.0[index];
        }
        index
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
