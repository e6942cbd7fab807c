//! What was asked of a [`StreamsBuilder`](super::StreamsBuilder), as a graph.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::streams::error::TopologyError;
use crate::streams::topology::{ResetPolicy, Topics, Topology, check_name};

/// Index of a node of the graph.
pub(crate) type NodeId = usize;

/// The node that sources and stores hang from.
pub(crate) const ROOT: NodeId = 0;

/// What a node needs to write itself.
pub(crate) struct WriteContext<'a> {
    pub(crate) topology: &'a mut Topology,
    /// Names of the topology's nodes that its parents have become.
    pub(crate) parents: Vec<String>,
    /// Whether records with a null key are needed below: some left or outer join of a stream
    /// hands them on.
    pub(crate) null_keys_needed: bool,
}

impl WriteContext<'_> {
    /// Handles of the parents, with the types that the operator knows them to have.
    pub(crate) fn handles<K, V>(
        &self,
    ) -> Result<Vec<crate::streams::NodeHandle<K, V>>, TopologyError> {
        self.parents.iter().map(|name| self.topology.handle(name)).collect()
    }
}

/// Writes a node into a topology. It may be called again for another topology.
pub(crate) type Write =
    Arc<dyn Fn(&mut WriteContext<'_>) -> Result<(), TopologyError> + Send + Sync>;

/// What the graph knows of a node besides how to write it.
#[derive(Clone)]
pub(crate) enum Kind {
    Root,
    /// A source: two of the same topics become one.
    Source {
        topics: Topics,
        reset: Option<ResetPolicy>,
        types: TypeId,
    },
    /// A store, which belongs to no stream.
    Store,
    /// A repartition topic that an operator needs; `false` if it was asked for, and stays.
    Repartition {
        optimizable: bool,
    },
    /// Anything else.
    Operator,
}

/// A node.
#[derive(Clone)]
pub(crate) struct GraphNode {
    /// The topology's node that children hang from.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) parents: Vec<NodeId>,
    pub(crate) children: Vec<NodeId>,
    /// Keys behind it are others than before it.
    pub(crate) key_changing: bool,
    /// Values behind it are others than before it.
    pub(crate) value_changing: bool,
    /// It only brings streams together.
    pub(crate) merging: bool,
    /// A left or outer join of a stream, which hands on records with a null key.
    pub(crate) null_keys: bool,
    write: Option<Write>,
}

impl GraphNode {
    /// An operator that changes neither keys nor values.
    pub(crate) fn new(
        name: impl Into<String>,
        write: impl Fn(&mut WriteContext<'_>) -> Result<(), TopologyError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            kind: Kind::Operator,
            parents: Vec::new(),
            children: Vec::new(),
            key_changing: false,
            value_changing: false,
            merging: false,
            null_keys: false,
            write: Some(Arc::new(write)),
        }
    }

    pub(crate) fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    pub(crate) fn key_changing(self) -> Self {
        Self { key_changing: true, ..self }
    }

    pub(crate) fn value_changing(self) -> Self {
        Self { value_changing: true, ..self }
    }

    pub(crate) fn merging(self) -> Self {
        Self { merging: true, ..self }
    }
}

/// The graph and the counter of names.
#[derive(Clone)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    next_name: u64,
    error: Option<TopologyError>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        let root = GraphNode {
            name: "root".to_owned(),
            kind: Kind::Root,
            parents: Vec::new(),
            children: Vec::new(),
            key_changing: false,
            value_changing: false,
            merging: false,
            null_keys: false,
            write: None,
        };
        Self { nodes: vec![root], next_name: 0, error: None }
    }

    /// The next generated name of a kind; it burns a number.
    pub(crate) fn next_name(&mut self, prefix: &str) -> String {
        let name = format!("{prefix}{:010}", self.next_name);
        self.next_name += 1;
        name
    }

    /// A name of the user's if there is one; the number is burned all the same.
    pub(crate) fn name_or_next(&mut self, name: Option<&str>, prefix: &str) -> String {
        let generated = self.next_name(prefix);
        self.given(name).unwrap_or(generated)
    }

    /// A name of the user's, checked.
    pub(crate) fn given(&mut self, name: Option<&str>) -> Option<String> {
        let name = name?;
        if let Err(error) = check_name("operator", name) {
            self.fail(error);
        }
        Some(name.to_owned())
    }

    /// Keeps the first mistake, which [`Graph::write`] returns.
    pub(crate) fn fail(&mut self, error: TopologyError) {
        self.error.get_or_insert(error);
    }

    /// Adds a node below others.
    pub(crate) fn add(&mut self, parents: &[NodeId], mut node: GraphNode) -> NodeId {
        let id = self.nodes.len();
        for parent in parents {
            self.nodes[*parent].children.push(id);
        }
        node.parents = parents.to_vec();
        self.nodes.push(node);
        id
    }

    /// Writes all nodes into a topology.
    pub(crate) fn write(&self) -> Result<Topology, TopologyError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut graph = self.clone();
        graph.merge_sources()?;
        let mut topology = Topology::new();
        let mut written = vec![false; graph.nodes.len()];
        // The lowest number first among those that have been reached: a node that an
        // optimization has put above older ones makes these wait.
        let mut queue = BTreeSet::from([ROOT]);
        while let Some(id) = queue.pop_first() {
            let node = &graph.nodes[id];
            if !written[id] && node.parents.iter().all(|parent| written[*parent]) {
                written[id] = true;
                if let Some(write) = &node.write {
                    let above = node.parents.iter().filter(|parent| **parent != ROOT);
                    write(&mut WriteContext {
                        parents: above.map(|id| graph.nodes[*id].name.clone()).collect(),
                        null_keys_needed: graph.null_keys_below(id),
                        topology: &mut topology,
                    })?;
                }
            }
            if written[id] {
                queue.extend(node.children.iter().filter(|child| !written[**child]));
            }
        }
        Ok(topology)
    }

    fn null_keys_below(&self, id: NodeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = self.nodes[id].children.clone();
        while let Some(id) = stack.pop() {
            if self.nodes[id].null_keys {
                return true;
            }
            if seen.insert(id) {
                stack.extend(&self.nodes[id].children);
            }
        }
        false
    }

    /// Makes sources of the same topics one: the first.
    fn merge_sources(&mut self) -> Result<(), TopologyError> {
        let mut kept: Vec<NodeId> = Vec::new();
        for id in self.nodes[ROOT].children.clone() {
            let Kind::Source { topics, reset, types } = self.nodes[id].kind.clone() else {
                continue;
            };
            let mut same = None;
            for first in &kept {
                if self.reads_same(*first, id, &topics, reset, types)? {
                    same = Some(*first);
                }
            }
            match same {
                Some(first) => self.replace_source(id, first),
                None => kept.push(id),
            }
        }
        Ok(())
    }

    /// Whether a source reads the same topics as another one that came before it.
    fn reads_same(
        &self,
        first: NodeId,
        id: NodeId,
        topics: &Topics,
        reset: Option<ResetPolicy>,
        types: TypeId,
    ) -> Result<bool, TopologyError> {
        let first = &self.nodes[first];
        let Kind::Source { topics: others, reset: other_reset, types: other_types } = &first.kind
        else {
            return Ok(false);
        };
        let common = match (topics, others) {
            (Topics::Pattern(a), Topics::Pattern(b)) if a == b => a.clone(),
            (Topics::Named(a), Topics::Named(b)) => {
                let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
                let Some(common) = a.intersection(&b).next() else { return Ok(false) };
                if a != b {
                    return Err(TopologyError::Topic {
                        topic: (*common).clone(),
                        why: format!(
                            "sources {} and {} both read it but not the same topics: read the \
                             same set in both, or sets that exclude each other",
                            first.name, self.nodes[id].name
                        ),
                    });
                }
                (*common).clone()
            }
            _ => return Ok(false),
        };
        let differs = |what: &str| TopologyError::Topic {
            topic: common.clone(),
            why: format!(
                "sources {} and {} read it with different {what}: use the same in both",
                first.name, self.nodes[id].name
            ),
        };
        if reset != *other_reset {
            return Err(differs("reset policies"));
        }
        if types != *other_types {
            return Err(differs("types of keys or values"));
        }
        Ok(true)
    }

    fn replace_source(&mut self, id: NodeId, by: NodeId) {
        self.nodes[ROOT].children.retain(|child| *child != id);
        for child in std::mem::take(&mut self.nodes[id].children) {
            self.nodes[by].children.push(child);
            for parent in &mut self.nodes[child].parents {
                if *parent == id {
                    *parent = by;
                }
            }
        }
    }
}

/// The graph as all handles of one builder share it.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Graph>>);

impl Shared {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Graph::new())))
    }

    /// Never held while user code runs.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Graph> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
