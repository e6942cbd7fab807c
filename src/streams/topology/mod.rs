//! Topologies: sources, processors, sinks and stores, and how they hang together.
//!
//! | File | Holds |
//! |---|---|
//! | this one | [`Topology`], the builder |
//! | `source`, `sink` | how records come in and go out |
//! | `node` | processors at work |
//! | `build` | [`BuiltTopology`]: subtopologies, full names, what tasks are made from |
//! | `describe` | the text of Java's `TopologyDescription` |
//! | `wire` | the topology as the group's coordinator wants it |
//! | `java_set`, `java_tree`, `names` | Java's iteration orders; Kafka's rules for names |
//!
//! The DSL writes into the same builder, so that there is one way from a topology to tasks.

mod build;
mod describe;
mod java_set;
mod java_tree;
mod names;
mod node;
mod sink;
mod source;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use build::BuiltTopology;
pub(crate) use build::{Graph, InputDef, Subtopology};
pub(crate) use names::check as check_name;
use node::ProcessorNode;
pub use sink::{Partitions, Produced, SinkTopic, StreamPartitioner, TopicExtractor};
use sink::{SinkNode, Target};
pub use source::{
    Consumed, ExtractContext, FailOnInvalidTimestamp, LogAndSkipOnInvalidTimestamp, ResetPolicy,
    TimestampExtractor, Topics, UsePartitionTimeOnInvalidTimestamp, WallclockTimestamp,
};
pub(crate) use source::{ExtractContext as HeadContext, Head, HeadBytes, HeadError};
use source::{HeadFactory, head_factory};
pub(crate) use wire::InternalTopics;

use super::error::TopologyError;
use super::processor::{
    FixedKeyAdapter, FixedKeyProcessor, FixedKeySupplier, Processor, ProcessorSupplier,
};
use super::store::{Facade, StoreBuilder, StoreSpec};
use super::task::Node;

/// A node whose children get records of `K` and `V`.
///
/// It is the only way to name a parent, so that an edge between types that do not fit, or to a
/// node that is not there yet, does not compile.
pub struct NodeHandle<K, V> {
    topology: u64,
    index: usize,
    name: Arc<str>,
    forwards: PhantomData<fn() -> (K, V)>,
}

impl<K, V> NodeHandle<K, V> {
    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<K, V> Clone for NodeHandle<K, V> {
    fn clone(&self) -> Self {
        Self {
            topology: self.topology,
            index: self.index,
            name: self.name.clone(),
            forwards: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for NodeHandle<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeHandle").field(&self.name).finish()
    }
}

/// A handle of a processor.
type Forwarding<P> = NodeHandle<<P as Processor>::KeyOut, <P as Processor>::ValueOut>;

/// A handle of a processor that cannot change keys.
type ForwardingFixed<P> =
    NodeHandle<<P as FixedKeyProcessor>::Key, <P as FixedKeyProcessor>::ValueOut>;

/// One parent or several: a handle, or an array or slice of handles.
pub trait Parents<K, V> {
    /// The handles.
    fn handles(&self) -> Vec<&NodeHandle<K, V>>;
}

impl<K, V> Parents<K, V> for &NodeHandle<K, V> {
    fn handles(&self) -> Vec<&NodeHandle<K, V>> {
        vec![self]
    }
}

impl<K, V, const N: usize> Parents<K, V> for [&NodeHandle<K, V>; N] {
    fn handles(&self) -> Vec<&NodeHandle<K, V>> {
        self.to_vec()
    }
}

impl<K, V> Parents<K, V> for &Vec<NodeHandle<K, V>> {
    fn handles(&self) -> Vec<&NodeHandle<K, V>> {
        self.iter().collect()
    }
}

impl<K, V> Parents<K, V> for &[NodeHandle<K, V>] {
    fn handles(&self) -> Vec<&NodeHandle<K, V>> {
        self.iter().collect()
    }
}

/// A store of a topology, without its types.
#[derive(Clone)]
pub struct StoreDef {
    pub(crate) spec: Arc<StoreSpec>,
    pub(crate) facade: Facade,
}

impl<K: 'static, V: 'static> From<StoreBuilder<K, V>> for StoreDef {
    fn from(builder: StoreBuilder<K, V>) -> Self {
        let (spec, facade) = builder.into_parts();
        Self { spec, facade }
    }
}

impl StoreDef {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.spec.name
    }
}

impl fmt::Debug for StoreDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreDef").field(self.name()).finish()
    }
}

/// Makes a processor of a task.
type MakeProcessor = Arc<dyn Fn() -> Box<dyn Node> + Send + Sync>;
/// Makes a sink of a task, given the full name of its topic if that is fixed.
type MakeSink = Arc<dyn Fn(Option<Arc<str>>) -> Box<dyn Node> + Send + Sync>;

enum Kind {
    Source { topics: Topics, reset: Option<ResetPolicy>, head: HeadFactory },
    Processor { make: MakeProcessor },
    Sink { topic: SinkName, make: MakeSink },
}

/// The topic of a sink as the description shows it.
enum SinkName {
    Fixed(String),
    Computed(Arc<str>),
}

struct NodeDef {
    name: Arc<str>,
    kind: Kind,
    parents: Vec<usize>,
    children: Vec<usize>,
    stores: Vec<Arc<str>>,
    /// Part of a global store: no task has it.
    global: bool,
}

struct StoreEntry {
    def: StoreDef,
    /// Connected nodes in the order of connecting.
    nodes: Vec<usize>,
    global: bool,
    /// The source topic that serves as changelog.
    source_topic: Option<String>,
}

/// A global store: filled from all partitions of a topic, the same in every instance.
#[derive(Clone)]
struct GlobalDef {
    source: usize,
    processor: usize,
    store: Arc<str>,
    /// Bytes go straight into the store when it is restored; else records go through the
    /// processor.
    raw: bool,
}

/// Sources, processors, sinks and stores.
///
/// ```
/// use llingr_kafka::streams::{
///     BoxError, Consumed, Processor, ProcessorContext, Produced, Record, Topology,
/// };
///
/// struct Length;
///
/// impl Processor for Length {
///     type KeyIn = String;
///     type ValueIn = String;
///     type KeyOut = String;
///     type ValueOut = i64;
///
///     fn process(
///         &mut self,
///         cx: &mut ProcessorContext<'_, String, i64>,
///         record: Record<String, String>,
///     ) -> Result<(), BoxError> {
///         let length = record.value.as_ref().map(|text| text.len() as i64);
///         cx.forward(record.with_value(length))?;
///         Ok(())
///     }
/// }
///
/// let mut topology = Topology::new();
/// let lines = topology.add_source("lines", "input", Consumed::<String, String>::new())?;
/// let lengths = topology.add_processor("lengths", || Length, &lines)?;
/// topology.add_sink("out", "output", Produced::new(), &lengths)?;
/// assert_eq!(
///     topology.describe(),
///     "Topologies:\n   Sub-topology: 0\n    Source: lines (topics: [input])\n      --> lengths\n    \
///      Processor: lengths (stores: [])\n      --> out\n      <-- lines\n    \
///      Sink: out (topic: output)\n      <-- lengths\n\n"
/// );
/// # Ok::<(), llingr_kafka::streams::TopologyError>(())
/// ```
///
/// An edge of the wrong type does not compile:
/// ```compile_fail
/// # use llingr_kafka::streams::{Consumed, Produced, Topology};
/// let mut topology = Topology::new();
/// let lines = topology.add_source("lines", "input", Consumed::<String, String>::new()).unwrap();
/// topology.add_sink("out", "output", Produced::<String, i64>::new(), &lines);
/// ```
pub struct Topology {
    id: u64,
    nodes: Vec<NodeDef>,
    by_name: HashMap<Arc<str>, usize>,
    stores: Vec<StoreEntry>,
    globals: Vec<GlobalDef>,
    /// Source topics that must have equally many partitions, in the order of the joins.
    copartitions: Vec<Vec<String>>,
    /// Repartition topics by undecorated name, with their number of partitions if it is set.
    repartitions: BTreeMap<String, Option<i32>>,
}

impl Default for Topology {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.nodes.iter().map(|node| &node.name).collect();
        f.debug_struct("Topology").field("nodes", &names).finish_non_exhaustive()
    }
}

impl Topology {
    /// An empty one.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            // Only to tell handles of one topology from those of another.
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            nodes: Vec::new(),
            by_name: HashMap::new(),
            stores: Vec::new(),
            globals: Vec::new(),
            copartitions: Vec::new(),
            repartitions: BTreeMap::new(),
        }
    }

    /// Adds a source that reads topics.
    ///
    /// # Errors
    /// [`TopologyError`] if the name is taken or not allowed, if there is no topic, or if another
    /// source reads one of them already.
    pub fn add_source<K, V>(
        &mut self,
        name: &str,
        topics: impl Into<Topics>,
        consumed: Consumed<K, V>,
    ) -> Result<NodeHandle<K, V>, TopologyError>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        let topics = topics.into();
        self.check_source(name, &topics)?;
        let head = head_factory(&consumed).map_err(|part| no_serde(name, part))?;
        let kind = Kind::Source { topics, reset: consumed.reset, head };
        self.add(name, kind, &[], false)
    }

    fn check_source(&self, name: &str, topics: &Topics) -> Result<(), TopologyError> {
        let wrong = |why: String| TopologyError::Node { node: name.to_owned(), why };
        let Topics::Named(names) = topics else {
            if let Topics::Pattern(pattern) = topics {
                build::check_pattern(pattern).map_err(wrong)?;
            }
            return Ok(());
        };
        if names.is_empty() {
            return Err(wrong("a source without topics: name at least one".to_owned()));
        }
        for topic in names {
            check_name("topic", topic)?;
            for node in &self.nodes {
                if let Kind::Source { topics: Topics::Named(others), .. } = &node.kind
                    && others.contains(topic)
                {
                    return Err(TopologyError::Topic {
                        topic: topic.clone(),
                        why: format!(
                            "sources {} and {name} both read it: read it once and give that \
                             source both sets of children",
                            node.name
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// Adds a processor below `parents`. `supplier` is called once for each task.
    ///
    /// # Errors
    /// [`TopologyError`] if the name is taken or not allowed, there is no parent, or one of the
    /// supplier's stores cannot be added.
    pub fn add_processor<S: ProcessorSupplier>(
        &mut self,
        name: &str,
        supplier: S,
        parents: impl Parents<<S::Processor as Processor>::KeyIn, <S::Processor as Processor>::ValueIn>,
    ) -> Result<Forwarding<S::Processor>, TopologyError> {
        let parents = self.parents(name, &parents.handles())?;
        let stores = supplier.stores();
        let make: MakeProcessor = Arc::new(move || Box::new(ProcessorNode::new(supplier.get())));
        let handle = self.add(name, Kind::Processor { make }, &parents, false)?;
        self.add_own_stores(&handle.name, stores)?;
        Ok(handle)
    }

    /// Adds a processor that cannot change keys.
    ///
    /// # Errors
    /// As [`add_processor`](Self::add_processor).
    pub fn add_fixed_key_processor<S: FixedKeySupplier>(
        &mut self,
        name: &str,
        supplier: S,
        parents: impl Parents<
            <S::Processor as FixedKeyProcessor>::Key,
            <S::Processor as FixedKeyProcessor>::ValueIn,
        >,
    ) -> Result<ForwardingFixed<S::Processor>, TopologyError> {
        let stores = supplier.stores();
        let handle = self.add_processor(name, move || FixedKeyAdapter(supplier.get()), parents)?;
        self.add_own_stores(&handle.name, stores)?;
        Ok(handle)
    }

    fn add_own_stores(&mut self, node: &str, stores: Vec<StoreDef>) -> Result<(), TopologyError> {
        for store in stores {
            let name = store.name().clone();
            self.add_store(store)?;
            self.connect_processor_stores(node, [&*name])?;
        }
        Ok(())
    }

    /// Adds a sink that writes what `parents` forward.
    ///
    /// # Errors
    /// [`TopologyError`] if a name is taken or not allowed, or there is no parent.
    pub fn add_sink<K, V>(
        &mut self,
        name: &str,
        topic: impl Into<SinkTopic<K, V>>,
        produced: Produced<K, V>,
        parents: impl Parents<K, V>,
    ) -> Result<(), TopologyError>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        use super::serde::Part;

        let parents = self.parents(name, &parents.handles())?;
        let key = produced.key.ok_or_else(|| no_serde(name, Part::Key))?;
        let value = produced.value.ok_or_else(|| no_serde(name, Part::Value))?;
        let (topic, extract) = match topic.into() {
            SinkTopic::Named(topic) => {
                check_name("topic", &topic)?;
                (SinkName::Fixed(topic), None)
            }
            SinkTopic::Computed(extractor) => {
                (SinkName::Computed(extractor.name), Some(extractor.extract))
            }
        };
        let partitioner = produced.partitioner;
        let make: MakeSink = Arc::new(move |topic| {
            let target = match (&extract, topic) {
                (Some(extract), _) => Target::Computed(extract.clone()),
                (None, topic) => Target::Fixed(topic.unwrap_or_else(|| "".into())),
            };
            Box::new(SinkNode {
                target,
                key: key.clone(),
                value: value.clone(),
                partitioner: partitioner.clone(),
            })
        });
        self.add::<(), ()>(name, Kind::Sink { topic, make }, &parents, false)?;
        Ok(())
    }

    /// Adds a store; [`connect_processor_stores`](Self::connect_processor_stores) says who may
    /// use it. The same store may be added again.
    ///
    /// # Errors
    /// [`TopologyError`] if the name is not allowed or another store has it.
    pub fn add_state_store(&mut self, store: impl Into<StoreDef>) -> Result<(), TopologyError> {
        self.add_store(store.into())
    }

    fn add_store(&mut self, def: StoreDef) -> Result<(), TopologyError> {
        check_name("store", def.name())?;
        match self.stores.iter().find(|store| store.def.name() == def.name()) {
            Some(store) if Arc::ptr_eq(&store.def.spec, &def.spec) => Ok(()),
            Some(_) => {
                Err(TopologyError::Duplicate { what: "store", name: def.name().to_string() })
            }
            None => {
                let entry =
                    StoreEntry { def, nodes: Vec::new(), global: false, source_topic: None };
                self.stores.push(entry);
                Ok(())
            }
        }
    }

    /// Lets a processor use stores. Processors that share a store are in one subtopology.
    ///
    /// # Errors
    /// [`TopologyError`] if the node or a store is not there, the node is no processor, or the
    /// store is a global one, which every processor may read without connecting.
    pub fn connect_processor_stores<'s>(
        &mut self,
        processor: &str,
        stores: impl IntoIterator<Item = &'s str>,
    ) -> Result<(), TopologyError> {
        let node = *self.by_name.get(processor).ok_or_else(|| TopologyError::Unknown {
            node: processor.to_owned(),
            what: "processor",
            name: processor.to_owned(),
        })?;
        let wrong = |why: String| TopologyError::Node { node: processor.to_owned(), why };
        if !matches!(self.nodes[node].kind, Kind::Processor { .. }) {
            return Err(wrong("is no processor: only processors have stores".to_owned()));
        }
        for name in stores {
            let store = self.stores.iter_mut().find(|store| &**store.def.name() == name);
            let store = store.ok_or_else(|| TopologyError::Unknown {
                node: processor.to_owned(),
                what: "store",
                name: name.to_owned(),
            })?;
            if store.global {
                return Err(wrong(format!(
                    "store {name} is global: every processor can read it, do not connect it"
                )));
            }
            if !store.nodes.contains(&node) {
                store.nodes.push(node);
                self.nodes[node].stores.push(store.def.name().clone());
            }
        }
        Ok(())
    }

    /// Adds a store that every instance fills from all partitions of a topic, by a processor of
    /// its own. Its changelog is the topic.
    ///
    /// # Errors
    /// [`TopologyError`] if a name is taken or not allowed, or another source reads the topic.
    pub fn add_global_store<S: ProcessorSupplier>(
        &mut self,
        store: impl Into<StoreDef>,
        source: &str,
        topic: &str,
        consumed: Consumed<
            <S::Processor as Processor>::KeyIn,
            <S::Processor as Processor>::ValueIn,
        >,
        processor: &str,
        supplier: S,
    ) -> Result<(), TopologyError>
    where
        <S::Processor as Processor>::KeyIn: Clone,
        <S::Processor as Processor>::ValueIn: Clone,
    {
        let make: MakeProcessor = Arc::new(move || Box::new(ProcessorNode::new(supplier.get())));
        self.add_global(store.into(), source, topic, consumed, processor, make, false)
    }

    #[expect(clippy::too_many_arguments, reason = "two nodes, a store and a topic at once")]
    pub(crate) fn add_global<K, V>(
        &mut self,
        store: StoreDef,
        source: &str,
        topic: &str,
        consumed: Consumed<K, V>,
        processor: &str,
        make: MakeProcessor,
        raw: bool,
    ) -> Result<(), TopologyError>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        let name = store.name().clone();
        if self.stores.iter().any(|other| *other.def.name() == name) {
            return Err(TopologyError::Duplicate { what: "store", name: name.to_string() });
        }
        if consumed.reset.is_some() {
            return Err(TopologyError::Node {
                node: source.to_owned(),
                why: "a global store is read from the beginning: leave the reset policy out"
                    .to_owned(),
            });
        }
        self.add_store(store)?;
        let source = self.add_source(source, topic, consumed)?;
        self.nodes[source.index].global = true;
        let kind = Kind::Processor { make };
        let processor = self.add::<(), ()>(processor, kind, &[source.index], true)?;
        self.nodes[processor.index].stores.push(name.clone());
        if let Some(entry) = self.stores.iter_mut().find(|store| *store.def.name() == name) {
            entry.global = true;
            entry.nodes.push(processor.index);
            entry.source_topic = Some(topic.to_owned());
        }
        self.globals.push(GlobalDef {
            source: source.index,
            processor: processor.index,
            store: name,
            raw,
        });
        Ok(())
    }

    /// Makes `topic` an internal one that the application repartitions through; the DSL's and
    /// yours. Its full name is `<application.id>-<topic>`.
    ///
    /// # Errors
    /// [`TopologyError`] if the name is not allowed or the number is not positive.
    pub fn add_repartition_topic(
        &mut self,
        topic: &str,
        partitions: Option<i32>,
    ) -> Result<(), TopologyError> {
        check_name("topic", topic)?;
        if partitions.is_some_and(|count| count < 1) {
            return Err(TopologyError::Topic {
                topic: topic.to_owned(),
                why: "a repartition topic has at least one partition".to_owned(),
            });
        }
        self.repartitions.insert(topic.to_owned(), partitions);
        Ok(())
    }

    /// The topics that these sources read must have equally many partitions.
    pub(crate) fn copartition(&mut self, sources: &[Arc<str>]) {
        let topics =
            sources.iter().filter_map(|name| self.by_name.get(name)).flat_map(|index| match &self
                .nodes[*index]
                .kind
            {
                Kind::Source { topics: Topics::Named(topics), .. } => topics.clone(),
                _ => Vec::new(),
            });
        let topics = topics.collect();
        self.copartitions.push(topics);
    }

    /// The store's changelog is a topic that the application reads anyway.
    pub(crate) fn reuse_source_topic(
        &mut self,
        store: &str,
        topic: &str,
    ) -> Result<(), TopologyError> {
        let found = self.stores.iter_mut().find(|entry| &**entry.def.name() == store);
        let entry = found.ok_or_else(|| TopologyError::Unknown {
            node: topic.to_owned(),
            what: "store",
            name: store.to_owned(),
        })?;
        entry.source_topic = Some(topic.to_owned());
        Ok(())
    }

    /// The handle of a node by its name, with the types that the caller knows it to have.
    pub(crate) fn handle<K, V>(&self, name: &str) -> Result<NodeHandle<K, V>, TopologyError> {
        match self.by_name.get_key_value(name) {
            Some((name, index)) => Ok(NodeHandle {
                topology: self.id,
                index: *index,
                name: name.clone(),
                forwards: PhantomData,
            }),
            None => Err(TopologyError::Unknown {
                node: name.to_owned(),
                what: "node",
                name: name.to_owned(),
            }),
        }
    }

    fn parents<K, V>(
        &self,
        node: &str,
        handles: &[&NodeHandle<K, V>],
    ) -> Result<Vec<usize>, TopologyError> {
        let wrong = |why: String| TopologyError::Node { node: node.to_owned(), why };
        if handles.is_empty() {
            return Err(wrong("has no parent: give it at least one".to_owned()));
        }
        let mut parents = Vec::with_capacity(handles.len());
        for handle in handles {
            if handle.topology != self.id {
                return Err(wrong(format!("its parent {} is of another topology", handle.name)));
            }
            if self.nodes[handle.index].global {
                return Err(wrong(format!(
                    "its parent {} belongs to a global store, which has no children",
                    handle.name
                )));
            }
            if parents.contains(&handle.index) {
                return Err(wrong(format!("its parent {} is named twice", handle.name)));
            }
            parents.push(handle.index);
        }
        Ok(parents)
    }

    fn add<K, V>(
        &mut self,
        name: &str,
        kind: Kind,
        parents: &[usize],
        global: bool,
    ) -> Result<NodeHandle<K, V>, TopologyError> {
        check_node_name(name)?;
        if self.by_name.contains_key(name) {
            return Err(TopologyError::Duplicate { what: "node", name: name.to_owned() });
        }
        let index = self.nodes.len();
        let name: Arc<str> = name.into();
        self.by_name.insert(name.clone(), index);
        for parent in parents {
            self.nodes[*parent].children.push(index);
        }
        self.nodes.push(NodeDef {
            name: name.clone(),
            kind,
            parents: parents.to_vec(),
            children: Vec::new(),
            stores: Vec::new(),
            global,
        });
        Ok(NodeHandle { topology: self.id, index, name, forwards: PhantomData })
    }
}

fn check_node_name(name: &str) -> Result<(), TopologyError> {
    if name.is_empty() {
        return Err(TopologyError::Name { what: "node", name: name.to_owned(), why: "is empty" });
    }
    Ok(())
}

fn no_serde(node: &str, part: super::serde::Part) -> TopologyError {
    TopologyError::Node {
        node: node.to_owned(),
        why: format!("has no serde for its {part}: name one, or give the type a DefaultSerde"),
    }
}

#[cfg(test)]
mod tests;
