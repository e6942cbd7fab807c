//! [`KStream`] and its stateless operators.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::branch::BranchedKStream;
use super::graph::{GraphNode, NodeId, Shared, WriteContext};
use super::repartition::{Repartition, Repartitioned, insert};
use super::stateless::apply;
use crate::streams::error::{BoxError, TopologyError};
use crate::streams::processor::{
    FixedKeyAdapter, FixedKeyProcessor, FixedKeySupplier, Processor, ProcessorContext,
    ProcessorSupplier,
};
use crate::streams::record::{Data, Record};
use crate::streams::serde::{DefaultSerde, SharedSerde};
use crate::streams::topology::{Produced, SinkTopic, StoreDef};

/// A stream of records.
///
/// Functions get null keys and values as `None`, and they see them: no operator skips a null
/// without saying so. Those whose name starts with `try_` may fail, which goes to the processing
/// exception handler.
///
/// A clone is a handle of the same stream.
pub struct KStream<K, V> {
    pub(super) graph: Shared,
    pub(super) node: NodeId,
    name: Arc<str>,
    /// Name of the next operator.
    next_name: Option<String>,
    pub(super) key_serde: Option<SharedSerde<K>>,
    pub(super) value_serde: Option<SharedSerde<V>>,
    /// Names of the sources that it comes from, within its subtopology.
    pub(super) sources: BTreeSet<String>,
    /// Whether keys have changed since the last topic, so that records of one key may be in
    /// several tasks.
    pub(super) repartition_required: bool,
}

impl<K, V> Clone for KStream<K, V> {
    fn clone(&self) -> Self {
        Self {
            graph: self.graph.clone(),
            node: self.node,
            name: self.name.clone(),
            next_name: self.next_name.clone(),
            key_serde: self.key_serde.clone(),
            value_serde: self.value_serde.clone(),
            sources: self.sources.clone(),
            repartition_required: self.repartition_required,
        }
    }
}

impl<K, V> fmt::Debug for KStream<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KStream").field(&self.name).finish()
    }
}

type Context<'a, K, V> = ProcessorContext<'a, K, V>;

impl<K, V> KStream<K, V> {
    pub(super) fn source(
        graph: Shared,
        node: NodeId,
        name: String,
        key_serde: Option<SharedSerde<K>>,
        value_serde: Option<SharedSerde<V>>,
    ) -> Self {
        Self {
            graph,
            node,
            sources: BTreeSet::from([name.clone()]),
            name: name.into(),
            next_name: None,
            key_serde,
            value_serde,
            repartition_required: false,
        }
    }

    /// Name of the node that the stream comes out of.
    pub fn node_name(&self) -> &str {
        &self.name
    }

    /// Names the next operator; without it, its name is generated.
    ///
    /// ```
    /// # use llingr_kafka::streams::StreamsBuilder;
    /// let builder = StreamsBuilder::new();
    /// let lines = builder.stream::<String, String>("input");
    /// let long = lines.named("long").filter(|_, value| value.is_some_and(|v| v.len() > 80));
    /// assert_eq!(long.node_name(), "long");
    /// ```
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        Self { next_name: Some(name.into()), ..self.clone() }
    }

    /// A stream below this one that keeps nothing of its types.
    fn below<K2, V2>(&self, node: NodeId, name: String) -> KStream<K2, V2> {
        KStream {
            graph: self.graph.clone(),
            node,
            name: name.into(),
            next_name: None,
            key_serde: None,
            value_serde: None,
            sources: self.sources.clone(),
            repartition_required: self.repartition_required,
        }
    }
}

impl<K: Data, V: Data> KStream<K, V> {
    /// Adds a node that takes its name, or the next one of `prefix`, for an operator that keeps
    /// types, serdes and keys.
    pub(super) fn operator(
        &self,
        prefix: &str,
        make: impl FnOnce(String) -> GraphNode,
    ) -> KStream<K, V> {
        let (node, name) = self.add(prefix, make);
        KStream {
            key_serde: self.key_serde.clone(),
            value_serde: self.value_serde.clone(),
            ..self.below(node, name)
        }
    }

    fn add(&self, prefix: &str, make: impl FnOnce(String) -> GraphNode) -> (NodeId, String) {
        let mut graph = self.graph.lock();
        let name = graph.name_or_next(self.next_name.as_deref(), prefix);
        (graph.add(&[self.node], make(name.clone())), name)
    }

    /// A node that is a function of a record.
    fn applying<K2: Data, V2: Data>(
        name: String,
        function: impl Fn(&mut Context<'_, K2, V2>, Record<K, V>) -> Result<(), BoxError>
        + Send
        + Sync
        + 'static,
    ) -> GraphNode {
        let supplier = apply(function);
        GraphNode::new(name.clone(), move |cx: &mut WriteContext<'_>| {
            let parents = cx.handles::<K, V>()?;
            cx.topology.add_processor(&name, supplier.clone(), &parents[..]).map(drop)
        })
    }

    /// Keeps the records that meet a condition.
    pub fn filter(
        &self,
        predicate: impl Fn(Option<&K>, Option<&V>) -> bool + Send + Sync + 'static,
    ) -> KStream<K, V> {
        self.try_filter(move |key, value| Ok(predicate(key, value)))
    }

    /// As [`filter`](Self::filter), with a condition that may fail.
    pub fn try_filter(
        &self,
        predicate: impl Fn(Option<&K>, Option<&V>) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> KStream<K, V> {
        self.operator("KSTREAM-FILTER-", |name| {
            Self::applying(name, move |cx: &mut Context<'_, K, V>, record| {
                if predicate(record.key.as_ref(), record.value.as_ref())? {
                    cx.forward(record)?;
                }
                Ok(())
            })
        })
    }

    /// Keeps the records that do not meet a condition.
    pub fn filter_not(
        &self,
        predicate: impl Fn(Option<&K>, Option<&V>) -> bool + Send + Sync + 'static,
    ) -> KStream<K, V> {
        self.try_filter(move |key, value| Ok(!predicate(key, value)))
    }

    /// Looks at the records, which go on as they are.
    pub fn peek(
        &self,
        look: impl Fn(Option<&K>, Option<&V>) + Send + Sync + 'static,
    ) -> KStream<K, V> {
        self.operator("KSTREAM-PEEK-", |name| {
            Self::applying(name, move |cx: &mut Context<'_, K, V>, record| {
                look(record.key.as_ref(), record.value.as_ref());
                Ok(cx.forward(record)?)
            })
        })
    }

    /// Ends the stream in a function.
    pub fn for_each(&self, act: impl Fn(Option<K>, Option<V>) + Send + Sync + 'static) {
        self.try_for_each(move |key, value| {
            act(key, value);
            Ok(())
        });
    }

    /// As [`for_each`](Self::for_each), with a function that may fail.
    pub fn try_for_each(
        &self,
        act: impl Fn(Option<K>, Option<V>) -> Result<(), BoxError> + Send + Sync + 'static,
    ) {
        self.add("KSTREAM-FOREACH-", |name| {
            Self::applying(name, move |_: &mut Context<'_, (), ()>, record| {
                act(record.key, record.value)
            })
        });
    }

    fn values<V2: Data>(
        &self,
        prefix: &str,
        function: impl Fn(&mut Context<'_, K, V2>, Record<K, V>) -> Result<(), BoxError>
        + Send
        + Sync
        + 'static,
    ) -> KStream<K, V2> {
        let (node, name) = self.add(prefix, |name| Self::applying(name, function).value_changing());
        KStream { key_serde: self.key_serde.clone(), ..self.below(node, name) }
    }

    /// Replaces each value.
    pub fn map_values<V2: Data>(
        &self,
        map: impl Fn(Option<V>) -> Option<V2> + Send + Sync + 'static,
    ) -> KStream<K, V2> {
        self.try_map_values(move |_, value| Ok(map(value)))
    }

    /// Replaces each value by what a function makes of it and its key.
    pub fn map_values_with_key<V2: Data>(
        &self,
        map: impl Fn(Option<&K>, Option<V>) -> Option<V2> + Send + Sync + 'static,
    ) -> KStream<K, V2> {
        self.try_map_values(move |key, value| Ok(map(key, value)))
    }

    /// As [`map_values_with_key`](Self::map_values_with_key), with a function that may fail.
    pub fn try_map_values<V2: Data>(
        &self,
        map: impl Fn(Option<&K>, Option<V>) -> Result<Option<V2>, BoxError> + Send + Sync + 'static,
    ) -> KStream<K, V2> {
        self.values("KSTREAM-MAPVALUES-", move |cx, record: Record<K, V>| {
            let Record { key, value, timestamp, headers } = record;
            let value = map(key.as_ref(), value)?;
            Ok(cx.forward(Record { key, value, timestamp, headers })?)
        })
    }

    /// Replaces each record by one for each value that a function makes of its value.
    pub fn flat_map_values<V2: Data, I>(
        &self,
        map: impl Fn(Option<V>) -> I + Send + Sync + 'static,
    ) -> KStream<K, V2>
    where
        I: IntoIterator<Item = Option<V2>> + 'static,
    {
        self.try_flat_map_values(move |_, value| Ok(map(value)))
    }

    /// As [`flat_map_values`](Self::flat_map_values), with the key and a function that may fail.
    pub fn try_flat_map_values<V2: Data, I>(
        &self,
        map: impl Fn(Option<&K>, Option<V>) -> Result<I, BoxError> + Send + Sync + 'static,
    ) -> KStream<K, V2>
    where
        I: IntoIterator<Item = Option<V2>> + 'static,
    {
        self.values("KSTREAM-FLATMAPVALUES-", move |cx, record: Record<K, V>| {
            let Record { key, value, timestamp, headers } = record;
            for value in map(key.as_ref(), value)? {
                let (key, headers) = (key.clone(), headers.clone());
                cx.forward(Record { key, value, timestamp, headers })?;
            }
            Ok(())
        })
    }

    fn keys<K2: Data, V2: Data>(
        &self,
        prefix: &str,
        function: impl Fn(&mut Context<'_, K2, V2>, Record<K, V>) -> Result<(), BoxError>
        + Send
        + Sync
        + 'static,
    ) -> KStream<K2, V2> {
        let (node, name) =
            self.add(prefix, |name| Self::applying(name, function).key_changing().value_changing());
        KStream { repartition_required: true, ..self.below(node, name) }
    }

    /// Replaces each record's key and value. A stateful operator behind it repartitions.
    pub fn map<K2: Data, V2: Data>(
        &self,
        map: impl Fn(Option<K>, Option<V>) -> (Option<K2>, Option<V2>) + Send + Sync + 'static,
    ) -> KStream<K2, V2> {
        self.try_map(move |key, value| Ok(map(key, value)))
    }

    /// As [`map`](Self::map), with a function that may fail.
    pub fn try_map<K2: Data, V2: Data>(
        &self,
        map: impl Fn(Option<K>, Option<V>) -> Result<(Option<K2>, Option<V2>), BoxError>
        + Send
        + Sync
        + 'static,
    ) -> KStream<K2, V2> {
        self.keys("KSTREAM-MAP-", move |cx, record: Record<K, V>| {
            let Record { key, value, timestamp, headers } = record;
            let (key, value) = map(key, value)?;
            Ok(cx.forward(Record { key, value, timestamp, headers })?)
        })
    }

    /// Replaces each record by as many as a function makes of it, all with its timestamp and
    /// headers. A stateful operator behind it repartitions.
    pub fn flat_map<K2: Data, V2: Data, I>(
        &self,
        map: impl Fn(Option<K>, Option<V>) -> I + Send + Sync + 'static,
    ) -> KStream<K2, V2>
    where
        I: IntoIterator<Item = (Option<K2>, Option<V2>)> + 'static,
    {
        self.try_flat_map(move |key, value| Ok(map(key, value)))
    }

    /// As [`flat_map`](Self::flat_map), with a function that may fail.
    pub fn try_flat_map<K2: Data, V2: Data, I>(
        &self,
        map: impl Fn(Option<K>, Option<V>) -> Result<I, BoxError> + Send + Sync + 'static,
    ) -> KStream<K2, V2>
    where
        I: IntoIterator<Item = (Option<K2>, Option<V2>)> + 'static,
    {
        self.keys("KSTREAM-FLATMAP-", move |cx, record: Record<K, V>| {
            let Record { key, value, timestamp, headers } = record;
            for (key, value) in map(key, value)? {
                cx.forward(Record { key, value, timestamp, headers: headers.clone() })?;
            }
            Ok(())
        })
    }

    /// Gives each record another key. A stateful operator behind it repartitions.
    pub fn select_key<K2: Data>(
        &self,
        select: impl Fn(Option<&K>, Option<&V>) -> Option<K2> + Send + Sync + 'static,
    ) -> KStream<K2, V> {
        self.try_select_key(move |key, value| Ok(select(key, value)))
    }

    /// As [`select_key`](Self::select_key), with a function that may fail.
    pub fn try_select_key<K2: Data>(
        &self,
        select: impl Fn(Option<&K>, Option<&V>) -> Result<Option<K2>, BoxError> + Send + Sync + 'static,
    ) -> KStream<K2, V> {
        let function = move |cx: &mut Context<'_, K2, V>, record: Record<K, V>| {
            let key = select(record.key.as_ref(), record.value.as_ref())?;
            Ok(cx.forward(record.with_key(key))?)
        };
        let (node, name) =
            self.add("KSTREAM-KEY-SELECT-", |name| Self::applying(name, function).key_changing());
        KStream {
            value_serde: self.value_serde.clone(),
            repartition_required: true,
            ..self.below(node, name)
        }
    }

    /// Brings two streams together. Nothing is said about the order between them.
    pub fn merge(&self, other: &KStream<K, V>) -> KStream<K, V> {
        let mut graph = self.graph.lock();
        let name = graph.name_or_next(self.next_name.as_deref(), "KSTREAM-MERGE-");
        if !self.graph.is(&other.graph) {
            graph.fail(TopologyError::Node {
                node: name.clone(),
                why: format!("stream {} is of another builder", other.name),
            });
            drop(graph);
            return self.clone();
        }
        let pass = Self::applying(name.clone(), |cx: &mut Context<'_, K, V>, record| {
            Ok(cx.forward(record)?)
        });
        let node = graph.add(&[self.node, other.node], pass.merging());
        drop(graph);
        let mut merged = self.below(node, name);
        merged.sources.extend(other.sources.iter().cloned());
        merged.repartition_required |= other.repartition_required;
        merged
    }

    /// Splits the stream by conditions: each record goes to the first branch whose condition it
    /// meets.
    ///
    /// ```
    /// # use llingr_kafka::streams::{Branched, StreamsBuilder};
    /// # let builder = StreamsBuilder::new();
    /// let orders = builder.stream::<String, i64>("orders");
    /// orders
    ///     .split()
    ///     .branch(
    ///         |_, amount| amount.is_some_and(|amount| *amount > 1000),
    ///         Branched::new().consumer(|large| large.to("large")),
    ///     )
    ///     .default_branch(Branched::new().consumer(|small| small.to("small")));
    /// # assert!(builder.build().is_ok());
    /// ```
    pub fn split(&self) -> BranchedKStream<K, V> {
        BranchedKStream::new(self)
    }

    /// Puts a processor into the stream, which may use the stores of these names. A stateful
    /// operator behind it repartitions, as it may change keys.
    pub fn process<S>(
        &self,
        supplier: S,
        stores: &[&str],
    ) -> KStream<<S::Processor as Processor>::KeyOut, <S::Processor as Processor>::ValueOut>
    where
        S: ProcessorSupplier,
        S::Processor: Processor<KeyIn = K, ValueIn = V>,
    {
        let own = supplier.stores();
        let (node, name) = self.processor("KSTREAM-PROCESSOR-", supplier, own, stores, |node| {
            node.key_changing().value_changing()
        });
        KStream { repartition_required: true, ..self.below(node, name) }
    }

    /// Puts a processor into the stream that cannot change keys, and may use the stores of these
    /// names.
    pub fn process_values<S>(
        &self,
        supplier: S,
        stores: &[&str],
    ) -> KStream<K, <S::Processor as FixedKeyProcessor>::ValueOut>
    where
        S: FixedKeySupplier,
        S::Processor: FixedKeyProcessor<Key = K, ValueIn = V>,
    {
        let own = supplier.stores();
        let supplier = move || FixedKeyAdapter(supplier.get());
        let (node, name) =
            self.processor("KSTREAM-PROCESSVALUES-", supplier, own, stores, |node| {
                node.value_changing()
            });
        KStream { key_serde: self.key_serde.clone(), ..self.below(node, name) }
    }

    fn processor<S>(
        &self,
        prefix: &str,
        supplier: S,
        own: Vec<StoreDef>,
        stores: &[&str],
        mark: impl FnOnce(GraphNode) -> GraphNode,
    ) -> (NodeId, String)
    where
        S: ProcessorSupplier,
        S::Processor: Processor<KeyIn = K, ValueIn = V>,
    {
        let mut graph = self.graph.lock();
        // A name that is given burns no number here, as in Java.
        let name = graph.given(self.next_name.as_deref());
        let name = name.unwrap_or_else(|| graph.next_name(prefix));
        let supplier = Arc::new(supplier);
        let stores: Vec<String> = stores.iter().map(|store| (*store).to_owned()).collect();
        let node = name.clone();
        let write = move |cx: &mut WriteContext<'_>| {
            let parents = cx.handles::<K, V>()?;
            let supplier = supplier.clone();
            cx.topology.add_processor(&node, move || supplier.get(), &parents[..])?;
            for store in &own {
                cx.topology.add_state_store(store.clone())?;
                cx.topology.connect_processor_stores(&node, [&**store.name()])?;
            }
            cx.topology.connect_processor_stores(&node, stores.iter().map(String::as_str))
        };
        (graph.add(&[self.node], mark(GraphNode::new(name.clone(), write))), name)
    }

    /// Sends the stream through a topic of the application, so that all records of a key are in
    /// one partition. Records with a null key are left out.
    pub fn repartition(&self, how: Repartitioned<K, V>) -> KStream<K, V> {
        let mut graph = self.graph.lock();
        let prefix = match graph.given(how.name.as_deref()) {
            Some(name) => name,
            None => graph.next_name("KSTREAM-REPARTITION-"),
        };
        let by = Repartition {
            key: how.key.or_else(|| self.key_serde.clone()),
            value: how.value.or_else(|| self.value_serde.clone()),
            partitions: how.partitions,
            partitioner: how.partitioner,
            optimizable: false,
        };
        let (key_serde, value_serde) = (by.key.clone(), by.value.clone());
        let (node, source) = insert(&mut graph, self.node, &prefix, by);
        drop(graph);
        KStream::source(self.graph.clone(), node, source, key_serde, value_serde)
    }

    /// Writes the stream to a topic, with the serdes that the stream has, else those of the
    /// types.
    pub fn to(&self, topic: impl Into<SinkTopic<K, V>>)
    where
        K: DefaultSerde,
        V: DefaultSerde,
    {
        let mut produced = Produced::new();
        produced.key = self.key_serde.clone().or(produced.key);
        produced.value = self.value_serde.clone().or(produced.value);
        self.to_with(topic, produced);
    }

    /// As [`to`](Self::to), with serdes, partitions and name; serdes that are left out are those
    /// of the stream.
    pub fn to_with(&self, topic: impl Into<SinkTopic<K, V>>, produced: Produced<K, V>) {
        let topic = topic.into();
        let mut graph = self.graph.lock();
        let given = produced.name.clone().or_else(|| self.next_name.clone());
        let name = graph.name_or_next(given.as_deref(), "KSTREAM-SINK-");
        let produced = Produced {
            key: produced.key.or_else(|| self.key_serde.clone()),
            value: produced.value.or_else(|| self.value_serde.clone()),
            ..produced
        };
        let node = name.clone();
        let write = move |cx: &mut WriteContext<'_>| {
            let parents = cx.handles::<K, V>()?;
            cx.topology.add_sink(&node, topic.clone(), produced.clone(), &parents[..])
        };
        graph.add(&[self.node], GraphNode::new(name, write));
    }
}
