//! Topics of a test: what goes in, what came out.

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;

use super::output::Sent;
use super::{ByKey, TestDriverError, TopologyTestDriver};
use crate::streams::record::{Headers, Record};
use crate::streams::serde::{
    DeserializeContext, Part, SerializeContext, SharedSerde, from_bytes, to_bytes,
};

/// A topic to pipe records into.
pub struct TestInputTopic<K, V> {
    driver: TopologyTestDriver,
    topic: String,
    key: SharedSerde<K>,
    value: SharedSerde<V>,
    time: i64,
    advance: i64,
}

impl<K: 'static, V: 'static> TestInputTopic<K, V> {
    pub(super) fn new(
        driver: TopologyTestDriver,
        topic: &str,
        key: SharedSerde<K>,
        value: SharedSerde<V>,
    ) -> Self {
        let time = driver.lock().now;
        Self { driver, topic: topic.to_owned(), key, value, time, advance: 0 }
    }

    /// The timestamp of the next record that has none, in milliseconds; without it, the wall
    /// clock as it was when the topic was made.
    #[must_use]
    pub fn starting_at(mut self, timestamp: i64) -> Self {
        self.time = timestamp;
        self
    }

    /// Moves the timestamp on after each record that has none.
    #[must_use]
    pub fn auto_advance(mut self, by: Duration) -> Self {
        self.advance = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self
    }

    /// Moves the timestamp of the next record that has none.
    pub fn advance_time(&mut self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.time = self.time.saturating_add(by);
    }

    /// Pipes a record at the topic's time; `None` is a null key or value.
    ///
    /// # Errors
    /// [`TestDriverError`] if the topology does not read the topic, or what it did with the
    /// record failed.
    pub fn pipe(
        &mut self,
        key: impl Into<Option<K>>,
        value: impl Into<Option<V>>,
    ) -> Result<(), TestDriverError> {
        let timestamp = self.time;
        self.time = self.time.saturating_add(self.advance);
        self.pipe_at(key, value, timestamp)
    }

    /// Pipes a record at a time of its own, which the topic's time does not follow.
    ///
    /// # Errors
    /// As [`pipe`](Self::pipe).
    pub fn pipe_at(
        &mut self,
        key: impl Into<Option<K>>,
        value: impl Into<Option<V>>,
        timestamp: i64,
    ) -> Result<(), TestDriverError> {
        self.pipe_record(Record::of(key.into(), value.into(), timestamp))
    }

    /// Pipes a record with headers, at its own time.
    ///
    /// # Errors
    /// As [`pipe`](Self::pipe).
    pub fn pipe_record(&mut self, record: Record<K, V>) -> Result<(), TestDriverError> {
        let mut headers = record.headers;
        let mut scratch = BytesMut::new();
        let mut cx =
            SerializeContext { topic: &self.topic, part: Part::Key, headers: &mut headers };
        let key = to_bytes(&*self.key, &mut cx, record.key.as_ref(), &mut scratch)?;
        cx.part = Part::Value;
        let value = to_bytes(&*self.value, &mut cx, record.value.as_ref(), &mut scratch)?;
        let sent = Sent { key, value, headers, timestamp: record.timestamp };
        self.driver.lock().pipe(&self.topic, sent)
    }
}

impl<K, V> fmt::Debug for TestInputTopic<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestInputTopic").field(&self.topic).finish()
    }
}

/// A topic to read from, in the order in which was written.
pub struct TestOutputTopic<K, V> {
    driver: TopologyTestDriver,
    topic: String,
    key: SharedSerde<K>,
    value: SharedSerde<V>,
}

impl<K: 'static, V: 'static> TestOutputTopic<K, V> {
    pub(super) fn new(
        driver: TopologyTestDriver,
        topic: &str,
        key: SharedSerde<K>,
        value: SharedSerde<V>,
    ) -> Self {
        Self { driver, topic: topic.to_owned(), key, value }
    }

    /// The next record.
    ///
    /// # Errors
    /// [`TestDriverError::NoRecord`] if there is none; of the serdes.
    pub fn read_record(&self) -> Result<Record<K, V>, TestDriverError> {
        let sent = self.driver.lock().output.read(&self.topic);
        let sent = sent.ok_or_else(|| TestDriverError::NoRecord { topic: self.topic.clone() })?;
        let of = |part| self.cx(part, &sent.headers);
        let key = from_bytes(&*self.key, &of(Part::Key), sent.key.as_ref())?;
        let value = from_bytes(&*self.value, &of(Part::Value), sent.value.as_ref())?;
        Ok(Record { key, value, timestamp: sent.timestamp, headers: sent.headers })
    }

    fn cx<'a>(&'a self, part: Part, headers: &'a Headers) -> DeserializeContext<'a> {
        DeserializeContext { topic: &self.topic, part, headers }
    }

    /// Key and value of the next record.
    ///
    /// # Errors
    /// As [`read_record`](Self::read_record).
    pub fn read_key_value(&self) -> Result<(Option<K>, Option<V>), TestDriverError> {
        self.read_record().map(|record| (record.key, record.value))
    }

    /// Value of the next record.
    ///
    /// # Errors
    /// As [`read_record`](Self::read_record).
    pub fn read_value(&self) -> Result<Option<V>, TestDriverError> {
        self.read_record().map(|record| record.value)
    }

    /// All records that are left.
    ///
    /// # Errors
    /// Of the serdes.
    pub fn read_records(&self) -> Result<Vec<Record<K, V>>, TestDriverError> {
        std::iter::from_fn(|| (!self.is_empty()).then(|| self.read_record())).collect()
    }

    /// Keys and values of all records that are left.
    ///
    /// # Errors
    /// Of the serdes.
    #[allow(clippy::type_complexity, reason = "pairs of keys and values say it best")]
    pub fn read_key_values(&self) -> Result<Vec<(Option<K>, Option<V>)>, TestDriverError> {
        let records = self.read_records()?;
        Ok(records.into_iter().map(|record| (record.key, record.value)).collect())
    }

    /// The last value of each key among all records that are left.
    ///
    /// # Errors
    /// [`TestDriverError::NullKey`] for a null key; of the serdes.
    pub fn read_map(&self) -> Result<ByKey<K, V>, TestDriverError>
    where
        K: Ord,
    {
        let mut map = ByKey::new();
        for record in self.read_records()? {
            let null = || TestDriverError::NullKey { topic: self.topic.clone() };
            map.insert(record.key.ok_or_else(null)?, record.value);
        }
        Ok(map)
    }

    /// Records that are left.
    pub fn len(&self) -> usize {
        self.driver.lock().output.len(&self.topic)
    }

    /// Whether no record is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, V> fmt::Debug for TestOutputTopic<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestOutputTopic").field(&self.topic).finish()
    }
}
