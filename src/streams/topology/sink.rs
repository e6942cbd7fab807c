//! Sinks: where records go, as what bytes, and to which partition.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::streams::error::{BoxError, Failed};
use crate::streams::record::{Headers, Record, RecordContext};
use crate::streams::serde::{DefaultSerde, Part, Serde, SerializeContext, SharedSerde, to_bytes};
use crate::streams::task::{ErrorStage, Flow, Node, OutRecord, take};

/// How a sink writes: serdes and partitions.
pub struct Produced<K, V> {
    pub(crate) key: Option<SharedSerde<K>>,
    pub(crate) value: Option<SharedSerde<V>>,
    pub(crate) partitioner: Option<Arc<dyn StreamPartitioner<K, V>>>,
    pub(crate) name: Option<String>,
}

impl<K: DefaultSerde, V: DefaultSerde> Produced<K, V> {
    /// With the serdes that the types have.
    pub fn new() -> Self {
        Self {
            key: Some(K::default_serde()),
            value: Some(V::default_serde()),
            partitioner: None,
            name: None,
        }
    }
}

impl<K: DefaultSerde, V: DefaultSerde> Default for Produced<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Produced<K, V> {
    /// With the serdes that the stream is known to have; for the DSL.
    pub fn inherited() -> Self {
        Self { key: None, value: None, partitioner: None, name: None }
    }
}

impl<K: 'static, V: 'static> Produced<K, V> {
    /// With these serdes.
    pub fn with(key: impl Serde<K>, value: impl Serde<V>) -> Self {
        Self {
            key: Some(Arc::new(key)),
            value: Some(Arc::new(value)),
            partitioner: None,
            name: None,
        }
    }

    /// Chooses the partitions. Without it, the key's hash does, as with Java's producer; records
    /// without a key are spread.
    #[must_use]
    pub fn partitioner(mut self, partitioner: impl StreamPartitioner<K, V>) -> Self {
        self.partitioner = Some(Arc::new(partitioner));
        self
    }

    /// Name of the sink in the DSL; the Processor API names it where it is added.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl<K, V> Clone for Produced<K, V> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            value: self.value.clone(),
            partitioner: self.partitioner.clone(),
            name: self.name.clone(),
        }
    }
}

impl<K, V> fmt::Debug for Produced<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Produced").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where a record goes within its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitions {
    /// Where the key's hash says.
    Default,
    /// Nowhere; it counts as dropped.
    None,
    /// To this one.
    One(i32),
    /// A copy to each of these.
    Many(Vec<i32>),
}

/// Chooses partitions. Closures of this shape are partitioners.
pub trait StreamPartitioner<K, V>: Send + Sync + 'static {
    /// The partitions among `count`.
    fn partitions(&self, topic: &str, record: &Record<K, V>, count: i32) -> Partitions;
}

impl<K, V, F> StreamPartitioner<K, V> for F
where
    F: Fn(&str, &Record<K, V>, i32) -> Partitions + Send + Sync + 'static,
{
    fn partitions(&self, topic: &str, record: &Record<K, V>, count: i32) -> Partitions {
        self(topic, record, count)
    }
}

/// Computes a topic from a record and its context.
pub(crate) type Extract<K, V> =
    Arc<dyn Fn(&Record<K, V>, &RecordContext) -> Result<String, BoxError> + Send + Sync>;

/// The topic of a sink: a name, or computed for each record.
pub enum SinkTopic<K, V> {
    /// This one.
    Named(String),
    /// The one that a function says; it must be there already.
    Computed(TopicExtractor<K, V>),
}

/// Computes the topic of each record.
pub struct TopicExtractor<K, V> {
    pub(crate) name: Arc<str>,
    pub(crate) extract: Extract<K, V>,
}

impl<K, V> TopicExtractor<K, V> {
    /// `name` stands for the function in [`describe`](super::Topology::describe), where Java
    /// prints the extractor's class.
    pub fn new<F>(name: impl Into<Arc<str>>, extract: F) -> Self
    where
        F: Fn(&Record<K, V>, &RecordContext) -> Result<String, BoxError> + Send + Sync + 'static,
    {
        Self { name: name.into(), extract: Arc::new(extract) }
    }
}

impl<K, V> Clone for TopicExtractor<K, V> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), extract: self.extract.clone() }
    }
}

impl<K, V> Clone for SinkTopic<K, V> {
    fn clone(&self) -> Self {
        match self {
            Self::Named(name) => Self::Named(name.clone()),
            Self::Computed(extractor) => Self::Computed(extractor.clone()),
        }
    }
}

impl<K, V> fmt::Debug for TopicExtractor<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicExtractor").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<K, V> fmt::Debug for SinkTopic<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.debug_tuple("Named").field(name).finish(),
            Self::Computed(extractor) => f.debug_tuple("Computed").field(extractor).finish(),
        }
    }
}

impl<K, V> From<&str> for SinkTopic<K, V> {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl<K, V> From<String> for SinkTopic<K, V> {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl<K, V> From<TopicExtractor<K, V>> for SinkTopic<K, V> {
    fn from(extractor: TopicExtractor<K, V>) -> Self {
        Self::Computed(extractor)
    }
}

/// Where a sink of a built topology writes.
pub(crate) enum Target<K, V> {
    /// A full topic name.
    Fixed(Arc<str>),
    Computed(Extract<K, V>),
}

/// A sink at work.
pub(crate) struct SinkNode<K, V> {
    pub(crate) target: Target<K, V>,
    pub(crate) key: SharedSerde<K>,
    pub(crate) value: SharedSerde<V>,
    pub(crate) partitioner: Option<Arc<dyn StreamPartitioner<K, V>>>,
}

/// A record that cannot be written as it is: the production handler decides.
struct Unwritable(BoxError);

impl<K: Send + 'static, V: Send + 'static> SinkNode<K, V> {
    fn topic(&self, flow: &Flow<'_>, record: &Record<K, V>) -> Result<Arc<str>, Unwritable> {
        match &self.target {
            Target::Fixed(topic) => Ok(topic.clone()),
            Target::Computed(extract) => {
                let cx = RecordContext {
                    metadata: flow.metadata(),
                    timestamp: record.timestamp,
                    headers: record.headers.clone(),
                };
                let topic = extract(record, &cx).map_err(Unwritable)?;
                super::names::check("topic", &topic).map_err(|error| Unwritable(error.into()))?;
                Ok(topic.into())
            }
        }
    }

    fn partitions(
        &self,
        flow: &mut Flow<'_>,
        topic: &Arc<str>,
        record: &Record<K, V>,
    ) -> Result<Partitions, Unwritable> {
        let Some(partitioner) = &self.partitioner else { return Ok(Partitions::Default) };
        let count = flow.out.partitions(topic).map_err(Unwritable)?;
        let chosen = partitioner.partitions(topic, record, count);
        let all = match &chosen {
            Partitions::One(partition) => std::slice::from_ref(partition),
            Partitions::Many(partitions) => partitions,
            Partitions::Default | Partitions::None => &[],
        };
        match all.iter().find(|partition| !(0..count).contains(*partition)) {
            Some(wrong) => Err(Unwritable(
                format!(
                    "the partitioner chose partition {wrong} of topic {topic}, which has {count}"
                )
                .into(),
            )),
            None => Ok(chosen),
        }
    }

    fn write(&self, flow: &mut Flow<'_>, record: Record<K, V>) -> Result<(), WriteError> {
        let topic = self.topic(flow, &record)?;
        let mut headers = record.headers.clone();
        let scratch = &mut flow.state.scratch;
        let mut cx = SerializeContext { topic: &topic, part: Part::Key, headers: &mut headers };
        let key = to_bytes(&*self.key, &mut cx, record.key.as_ref(), scratch)
            .map_err(|error| Unwritable(error.into()))?;
        cx.part = Part::Value;
        let value = to_bytes(&*self.value, &mut cx, record.value.as_ref(), scratch)
            .map_err(|error| Unwritable(error.into()))?;
        let chosen = self.partitions(flow, &topic, &record)?;
        let mut send = |partition: Option<i32>, headers: Headers| {
            flow.send(OutRecord {
                topic: &topic,
                partition,
                key: key.clone(),
                value: value.clone(),
                headers,
                timestamp: record.timestamp,
                changelog: false,
            })
        };
        match chosen {
            Partitions::Default => send(None, headers)?,
            Partitions::One(partition) => send(Some(partition), headers)?,
            Partitions::Many(partitions) if !partitions.is_empty() => {
                for partition in partitions {
                    send(Some(partition), headers.clone())?;
                }
            }
            Partitions::Many(_) | Partitions::None => flow.dropped(),
        }
        Ok(())
    }
}

enum WriteError {
    Record(BoxError),
    Task(Failed),
}

impl From<Unwritable> for WriteError {
    fn from(error: Unwritable) -> Self {
        Self::Record(error.0)
    }
}

impl From<Failed> for WriteError {
    fn from(failed: Failed) -> Self {
        Self::Task(failed)
    }
}

impl<K: Send + 'static, V: Send + 'static> Node for SinkNode<K, V> {
    fn receive(&mut self, mut flow: Flow<'_>, record: &mut dyn Any) -> Result<(), Failed> {
        let Some(record) = take::<K, V>(record) else {
            return Err(flow.misuse("was given a record of another type".to_owned()));
        };
        match self.write(&mut flow, record) {
            Ok(()) => Ok(()),
            Err(WriteError::Task(failed)) => Err(failed),
            Err(WriteError::Record(error)) => flow.failed(ErrorStage::Production, error),
        }
    }
}
