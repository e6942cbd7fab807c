//! [`StreamsBuilder`].

use std::any::TypeId;
use std::fmt;

use super::KStream;
use super::graph::{GraphNode, Kind, ROOT, Shared};
use crate::streams::error::TopologyError;
use crate::streams::serde::DefaultSerde;
use crate::streams::topology::{Consumed, StoreDef, Topics, Topology};

/// Builds a topology from streams and tables.
///
/// ```
/// use llingr_kafka::streams::StreamsBuilder;
///
/// let builder = StreamsBuilder::new();
/// builder
///     .stream::<String, String>("input")
///     .filter(|_, value| value.is_some_and(|text| !text.is_empty()))
///     .map_values(|value| value.map(|text| text.to_uppercase()))
///     .to("output");
/// let topology = builder.build()?;
/// assert!(topology.describe().contains("Sink: KSTREAM-SINK-0000000003 (topic: output)"));
/// # Ok::<(), llingr_kafka::streams::TopologyError>(())
/// ```
///
/// A clone is a handle of the same builder.
#[derive(Clone)]
pub struct StreamsBuilder(pub(super) Shared);

impl Default for StreamsBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StreamsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamsBuilder").finish_non_exhaustive()
    }
}

impl StreamsBuilder {
    /// An empty one.
    pub fn new() -> Self {
        Self(Shared::new())
    }

    /// A stream of the records of topics, with the serdes of the types.
    pub fn stream<K, V>(&self, topics: impl Into<Topics>) -> KStream<K, V>
    where
        K: DefaultSerde + Clone + Send + 'static,
        V: DefaultSerde + Clone + Send + 'static,
    {
        self.stream_with(topics, Consumed::new())
    }

    /// As [`stream`](Self::stream), with serdes, timestamps, reset policy and name.
    pub fn stream_with<K, V>(
        &self,
        topics: impl Into<Topics>,
        consumed: Consumed<K, V>,
    ) -> KStream<K, V>
    where
        K: Clone + Send + 'static,
        V: Clone + Send + 'static,
    {
        let topics = topics.into();
        let mut graph = self.0.lock();
        let name = graph.name_or_next(consumed.name.as_deref(), "KSTREAM-SOURCE-");
        let (key_serde, value_serde) = (consumed.key.clone(), consumed.value.clone());
        let kind = Kind::Source {
            topics: topics.clone(),
            reset: consumed.reset,
            types: TypeId::of::<(K, V)>(),
        };
        let node = name.clone();
        let write = move |cx: &mut super::graph::WriteContext<'_>| {
            cx.topology.add_source(&node, topics.clone(), consumed.clone()).map(drop)
        };
        let id = graph.add(&[ROOT], GraphNode::new(name.clone(), write).kind(kind));
        drop(graph);
        KStream::source(self.0.clone(), id, name, key_serde, value_serde)
    }

    /// Adds a store for processors of [`KStream::process`]. It has to be added before the
    /// processor that uses it.
    pub fn add_state_store(&self, store: impl Into<StoreDef>) {
        let store = store.into();
        let name = store.name().to_string();
        let write = move |cx: &mut super::graph::WriteContext<'_>| {
            cx.topology.add_state_store(store.clone())
        };
        self.0.lock().add(&[ROOT], GraphNode::new(name, write).kind(Kind::Store));
    }

    /// The topology of everything that was asked for so far.
    ///
    /// # Errors
    /// [`TopologyError`]: the first mistake of any operator, or what does not fit together.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.0.lock().write()
    }
}
