//! Sources: what is read, how it becomes records, and when a record happened.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::streams::error::{BoxError, Failed};
use crate::streams::processor::ProcessorContext;
use crate::streams::record::{Headers, Record, RecordMetadata};
use crate::streams::serde::{
    DefaultSerde, DeserializeContext, Part, Serde, SerdeError, SharedSerde, from_bytes,
};
use crate::streams::task::Flow;

/// Where reading begins without a committed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResetPolicy {
    /// At the first record.
    Earliest,
    /// At the end.
    Latest,
    /// At the first record that is not older than so many milliseconds (KIP-1106).
    ByDuration(u64),
    /// Nowhere: an error.
    Fail,
}

/// How a source reads its topics: serdes, timestamps, and where it begins.
pub struct Consumed<K, V> {
    pub(crate) key: Option<SharedSerde<K>>,
    pub(crate) value: Option<SharedSerde<V>>,
    pub(crate) extractor: Option<Arc<dyn TimestampExtractor<K, V>>>,
    pub(crate) reset: Option<ResetPolicy>,
    pub(crate) name: Option<String>,
}

impl<K: DefaultSerde, V: DefaultSerde> Consumed<K, V> {
    /// With the serdes that the types have.
    pub fn new() -> Self {
        Self {
            key: Some(K::default_serde()),
            value: Some(V::default_serde()),
            extractor: None,
            reset: None,
            name: None,
        }
    }
}

impl<K: DefaultSerde, V: DefaultSerde> Default for Consumed<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: 'static, V: 'static> Consumed<K, V> {
    /// With these serdes.
    pub fn with(key: impl Serde<K>, value: impl Serde<V>) -> Self {
        Self {
            key: Some(Arc::new(key)),
            value: Some(Arc::new(value)),
            extractor: None,
            reset: None,
            name: None,
        }
    }

    /// Says when a record happened. Without it, the record's own timestamp says so, and a
    /// negative one is an error.
    #[must_use]
    pub fn timestamps(mut self, extractor: impl TimestampExtractor<K, V>) -> Self {
        self.extractor = Some(Arc::new(extractor));
        self
    }

    /// Where to begin without a committed offset; without it, `auto.offset.reset` says so.
    #[must_use]
    pub fn reset(mut self, policy: ResetPolicy) -> Self {
        self.reset = Some(policy);
        self
    }

    /// Name of the source in the DSL; the Processor API names it where it is added.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl<K, V> Clone for Consumed<K, V> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            value: self.value.clone(),
            extractor: self.extractor.clone(),
            reset: self.reset,
            name: self.name.clone(),
        }
    }
}

impl<K, V> fmt::Debug for Consumed<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumed")
            .field("reset", &self.reset)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What an extractor is told of a record besides itself. The record's own timestamp is that of
/// the record.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ExtractContext<'a> {
    /// Where the record came from.
    pub metadata: &'a RecordMetadata,
    /// The largest timestamp of the partition so far, -1 before the first.
    pub partition_time: i64,
    /// The wall clock in milliseconds since 1970.
    pub wall_clock: i64,
}

/// Says when a record happened, in milliseconds since 1970. A negative answer leaves the record
/// out, counted as dropped. Closures of this shape are extractors.
pub trait TimestampExtractor<K, V>: Send + Sync + 'static {
    /// The record's time.
    ///
    /// # Errors
    /// End the task.
    fn extract(&self, cx: &ExtractContext<'_>, record: &Record<K, V>) -> Result<i64, BoxError>;
}

impl<K, V, F> TimestampExtractor<K, V> for F
where
    F: Fn(&ExtractContext<'_>, &Record<K, V>) -> Result<i64, BoxError> + Send + Sync + 'static,
{
    fn extract(&self, cx: &ExtractContext<'_>, record: &Record<K, V>) -> Result<i64, BoxError> {
        self(cx, record)
    }
}

/// The record's own timestamp; a negative one is an error. The default.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailOnInvalidTimestamp;

impl<K, V> TimestampExtractor<K, V> for FailOnInvalidTimestamp {
    fn extract(&self, _: &ExtractContext<'_>, record: &Record<K, V>) -> Result<i64, BoxError> {
        if record.timestamp >= 0 {
            return Ok(record.timestamp);
        }
        Err(format!(
            "timestamp {} is negative: the producer wrote none, or the topic is older than \
             message timestamps; use another timestamp extractor to go on",
            record.timestamp
        )
        .into())
    }
}

/// The record's own timestamp; a record with a negative one is left out with a log line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogAndSkipOnInvalidTimestamp;

impl<K, V> TimestampExtractor<K, V> for LogAndSkipOnInvalidTimestamp {
    fn extract(&self, cx: &ExtractContext<'_>, record: &Record<K, V>) -> Result<i64, BoxError> {
        if record.timestamp < 0 {
            let at = cx.metadata;
            log::warn!(
                target: crate::LOG_TARGET,
                "{}-{} offset {}: skipped for its timestamp {}",
                at.topic, at.partition, at.offset, record.timestamp
            );
        }
        Ok(record.timestamp)
    }
}

/// The record's own timestamp; in place of a negative one, the largest of the partition so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsePartitionTimeOnInvalidTimestamp;

impl<K, V> TimestampExtractor<K, V> for UsePartitionTimeOnInvalidTimestamp {
    fn extract(&self, cx: &ExtractContext<'_>, record: &Record<K, V>) -> Result<i64, BoxError> {
        if record.timestamp >= 0 {
            return Ok(record.timestamp);
        }
        if cx.partition_time < 0 {
            return Err("the partition's first record has a negative timestamp".into());
        }
        Ok(cx.partition_time)
    }
}

/// The wall clock when the record's turn comes.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallclockTimestamp;

impl<K, V> TimestampExtractor<K, V> for WallclockTimestamp {
    fn extract(&self, cx: &ExtractContext<'_>, _: &Record<K, V>) -> Result<i64, BoxError> {
        Ok(cx.wall_clock)
    }
}

/// Bytes of a record at the head of its queue.
pub(crate) struct HeadBytes<'a> {
    pub(crate) key: Option<&'a Bytes>,
    pub(crate) value: Option<&'a Bytes>,
    pub(crate) headers: &'a Headers,
    pub(crate) timestamp: i64,
}

/// Why a head could not be loaded.
pub(crate) enum HeadError {
    /// Its key or value.
    Serde(SerdeError),
    /// Its timestamp.
    Timestamp(BoxError),
}

/// The typed end of an input queue: it holds the record at the head, until it is its turn.
pub(crate) trait Head: Send {
    /// Reads the record and says when it happened.
    fn load(&mut self, cx: &ExtractContext<'_>, bytes: HeadBytes<'_>) -> Result<i64, HeadError>;

    /// Hands the record that was loaded to the children of the source.
    fn deliver(&mut self, flow: Flow<'_>, timestamp: i64) -> Result<(), Failed>;
}

/// Makes the head of one input queue.
pub(crate) type HeadFactory = Arc<dyn Fn() -> Box<dyn Head> + Send + Sync>;

struct TypedHead<K, V> {
    key: SharedSerde<K>,
    value: SharedSerde<V>,
    extractor: Option<Arc<dyn TimestampExtractor<K, V>>>,
    record: Option<Record<K, V>>,
}

impl<K, V> Head for TypedHead<K, V>
where
    K: Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    fn load(&mut self, cx: &ExtractContext<'_>, bytes: HeadBytes<'_>) -> Result<i64, HeadError> {
        let of =
            |part| DeserializeContext { topic: &cx.metadata.topic, part, headers: bytes.headers };
        let key = from_bytes(&*self.key, &of(Part::Key), bytes.key).map_err(HeadError::Serde)?;
        let value =
            from_bytes(&*self.value, &of(Part::Value), bytes.value).map_err(HeadError::Serde)?;
        let record =
            Record { key, value, timestamp: bytes.timestamp, headers: bytes.headers.clone() };
        let timestamp = match &self.extractor {
            Some(extractor) => extractor.extract(cx, &record),
            None => FailOnInvalidTimestamp.extract(cx, &record),
        };
        let timestamp = timestamp.map_err(HeadError::Timestamp)?;
        self.record = Some(record);
        Ok(timestamp)
    }

    fn deliver(&mut self, flow: Flow<'_>, timestamp: i64) -> Result<(), Failed> {
        match self.record.take() {
            Some(record) => ProcessorContext::new(flow).forward(Record { timestamp, ..record }),
            None => Ok(()),
        }
    }
}

/// The factory of a source's heads; `None` names the part without a serde.
pub(crate) fn head_factory<K, V>(consumed: &Consumed<K, V>) -> Result<HeadFactory, Part>
where
    K: Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    let key = consumed.key.clone().ok_or(Part::Key)?;
    let value = consumed.value.clone().ok_or(Part::Value)?;
    let extractor = consumed.extractor.clone();
    Ok(Arc::new(move || {
        Box::new(TypedHead {
            key: key.clone(),
            value: value.clone(),
            extractor: extractor.clone(),
            record: None,
        })
    }))
}

/// Topics of a source: names, or a pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topics {
    /// These.
    Named(Vec<String>),
    /// All topics whose whole name a regular expression matches, as they are when the
    /// application starts: the streams protocol has no patterns, so that the client expands them.
    Pattern(String),
}

impl From<&str> for Topics {
    fn from(name: &str) -> Self {
        Self::Named(vec![name.to_owned()])
    }
}

impl From<String> for Topics {
    fn from(name: String) -> Self {
        Self::Named(vec![name])
    }
}

impl From<&String> for Topics {
    fn from(name: &String) -> Self {
        Self::Named(vec![name.clone()])
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Topics {
    fn from(names: [S; N]) -> Self {
        Self::Named(names.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>> From<Vec<S>> for Topics {
    fn from(names: Vec<S>) -> Self {
        Self::Named(names.into_iter().map(Into::into).collect())
    }
}
