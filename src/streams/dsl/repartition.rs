//! Repartition topics: streams take a way through a topic where records of one key must meet in
//! one task.

use std::fmt;
use std::sync::Arc;

use super::graph::{Graph, GraphNode, Kind, NodeId, WriteContext};
use super::stateless::apply;
use crate::streams::error::TopologyError;
use crate::streams::processor::ProcessorContext;
use crate::streams::record::{Data, Record};
use crate::streams::serde::{DefaultSerde, Serde, SharedSerde};
use crate::streams::topology::{Consumed, Produced, StreamPartitioner, check_name};

/// What every repartition topic ends in.
const SUFFIX: &str = "-repartition";

/// How [`KStream::repartition`](super::KStream::repartition) makes its topic.
pub struct Repartitioned<K, V> {
    pub(crate) key: Option<SharedSerde<K>>,
    pub(crate) value: Option<SharedSerde<V>>,
    pub(crate) partitions: Option<i32>,
    pub(crate) partitioner: Option<Arc<dyn StreamPartitioner<K, V>>>,
    pub(crate) name: Option<String>,
}

impl<K: DefaultSerde, V: DefaultSerde> Repartitioned<K, V> {
    /// With the serdes that the types have, and as many partitions as the sources.
    pub fn new() -> Self {
        Self { key: Some(K::default_serde()), value: Some(V::default_serde()), ..Self::inherited() }
    }
}

impl<K: DefaultSerde, V: DefaultSerde> Default for Repartitioned<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Repartitioned<K, V> {
    /// With the serdes that the stream is known to have.
    pub fn inherited() -> Self {
        Self { key: None, value: None, partitions: None, partitioner: None, name: None }
    }

    /// Number of partitions, at least 1.
    #[must_use]
    pub fn partitions(mut self, count: i32) -> Self {
        self.partitions = Some(count);
        self
    }

    /// Name of the topic, `<application.id>-<name>-repartition` in full, and of its nodes.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl<K: 'static, V: 'static> Repartitioned<K, V> {
    /// With these serdes.
    pub fn with(key: impl Serde<K>, value: impl Serde<V>) -> Self {
        Self { key: Some(Arc::new(key)), value: Some(Arc::new(value)), ..Self::inherited() }
    }

    /// Chooses the partitions in place of the key's hash.
    #[must_use]
    pub fn partitioner(mut self, partitioner: impl StreamPartitioner<K, V>) -> Self {
        self.partitioner = Some(Arc::new(partitioner));
        self
    }
}

impl<K, V> fmt::Debug for Repartitioned<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repartitioned")
            .field("name", &self.name)
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

/// One way through a topic.
pub(crate) struct Repartition<K, V> {
    pub(crate) key: Option<SharedSerde<K>>,
    pub(crate) value: Option<SharedSerde<V>>,
    pub(crate) partitions: Option<i32>,
    pub(crate) partitioner: Option<Arc<dyn StreamPartitioner<K, V>>>,
    /// Whether an operator needs it, so that an optimization may move it.
    pub(crate) optimizable: bool,
}

/// Names that a repartition takes.
struct Names {
    topic: String,
    sink: String,
    filter: String,
    source: String,
}

impl Names {
    /// Burns its three numbers, whether or not they are used.
    fn take(graph: &mut Graph, prefix: &str) -> Self {
        let sink = graph.next_name("KSTREAM-SINK-");
        let filter = graph.next_name("KSTREAM-FILTER-");
        let source = graph.next_name("KSTREAM-SOURCE-");
        let topic =
            if prefix.ends_with(SUFFIX) { prefix.to_owned() } else { format!("{prefix}{SUFFIX}") };
        if is_generated(prefix) {
            return Self { topic, sink, filter, source };
        }
        Self {
            sink: format!("{topic}-sink"),
            filter: format!("{topic}-filter"),
            source: format!("{topic}-source"),
            topic,
        }
    }
}

/// Whether a name is one of the counter's: `KSTREAM`, anything, `-` and ten digits.
fn is_generated(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("KSTREAM") else { return false };
    let digits = rest.rsplit('-').next().unwrap_or_default();
    rest.len() > digits.len() && digits.len() == 10 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Puts a repartition topic below a node: a filter, a sink, and a source that reads it again.
/// Returns the node and the name of the source.
pub(crate) fn insert<K: Data, V: Data>(
    graph: &mut Graph,
    parent: NodeId,
    prefix: &str,
    by: Repartition<K, V>,
) -> (NodeId, String) {
    let names = Names::take(graph, prefix);
    if let Err(error) = check_name("topic", &names.topic) {
        graph.fail(error);
    }
    let source = names.source.clone();
    let kind = Kind::Repartition { optimizable: by.optimizable };
    let write = move |cx: &mut WriteContext<'_>| write(cx, &names, &by);
    let id = graph.add(&[parent], GraphNode::new(source.clone(), write).kind(kind));
    (id, source)
}

fn write<K: Data, V: Data>(
    cx: &mut WriteContext<'_>,
    names: &Names,
    by: &Repartition<K, V>,
) -> Result<(), TopologyError> {
    let parents = cx.handles::<K, V>()?;
    cx.topology.add_repartition_topic(&names.topic, by.partitions)?;
    let all = cx.null_keys_needed;
    let filter = apply(move |cx: &mut ProcessorContext<'_, K, V>, record: Record<K, V>| {
        if all || record.key.is_some() {
            cx.forward(record)?;
        }
        Ok(())
    });
    let filter = cx.topology.add_processor(&names.filter, filter, &parents[..])?;
    let produced = Produced {
        key: by.key.clone(),
        value: by.value.clone(),
        partitioner: by.partitioner.clone(),
        name: None,
    };
    cx.topology.add_sink(&names.sink, names.topic.as_str(), produced, &filter)?;
    let consumed = Consumed {
        key: by.key.clone(),
        value: by.value.clone(),
        extractor: None,
        reset: None,
        name: None,
    };
    cx.topology.add_source(&names.source, names.topic.as_str(), consumed).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_told_from_given_ones() {
        for name in ["KSTREAM-MAP-0000000003", "KSTREAM-0000000003", "KSTREAMX-1-0123456789"] {
            assert!(is_generated(name), "{name}");
        }
        for name in ["KSTREAM-MAP-3", "KTABLE-MAP-0000000003", "KSTREAM-MAP-0000000003-x", "mine"] {
            assert!(!is_generated(name), "{name}");
        }
    }
}
