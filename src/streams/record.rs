//! Records, their headers, and where a record came from.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// A record on its way through a topology. Null keys and null values are `None`.
///
/// Processors receive it by value and forward it by value: it is cloned only where a node has
/// more than one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<K, V> {
    /// Key.
    pub key: Option<K>,
    /// Value. `None` is a deletion for tables.
    pub value: Option<V>,
    /// Milliseconds since 1970. Forwarding a negative one is an error.
    pub timestamp: i64,
    /// Headers in order; names may repeat.
    pub headers: Headers,
}

impl<K, V> Record<K, V> {
    /// A record with a key and a value, without headers.
    pub fn new(key: K, value: V, timestamp: i64) -> Self {
        Self::of(Some(key), Some(value), timestamp)
    }

    /// A record whose key or value may be null, without headers.
    pub fn of(key: Option<K>, value: Option<V>, timestamp: i64) -> Self {
        Self { key, value, timestamp, headers: Headers::new() }
    }

    /// The same record with another key.
    pub fn with_key<K2>(self, key: impl Into<Option<K2>>) -> Record<K2, V> {
        Record {
            key: key.into(),
            value: self.value,
            timestamp: self.timestamp,
            headers: self.headers,
        }
    }

    /// The same record with another value.
    pub fn with_value<V2>(self, value: impl Into<Option<V2>>) -> Record<K, V2> {
        Record {
            key: self.key,
            value: value.into(),
            timestamp: self.timestamp,
            headers: self.headers,
        }
    }

    /// The same record at another time, in milliseconds since 1970.
    pub fn with_timestamp(self, timestamp: i64) -> Self {
        Self { timestamp, ..self }
    }

    /// The same record with other headers.
    pub fn with_headers(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }
}

/// What keys and values must be: cloned where a node has several children, and moved with their
/// task between threads. Every type that is, is one.
pub trait Data: Clone + Send + 'static {}

impl<T: Clone + Send + 'static> Data for T {}

/// One header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name.
    pub name: Arc<str>,
    /// Value, `None` for null.
    pub value: Option<Bytes>,
}

/// The headers of a record, in order. No headers cost no allocation; a clone shares them until
/// one of the two is changed.
#[derive(Clone, Default)]
pub struct Headers(Option<Arc<Vec<Header>>>);

impl Headers {
    /// No headers.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Appends one; an equal name does not replace an earlier header.
    pub fn add(&mut self, name: impl Into<Arc<str>>, value: impl Into<Option<Bytes>>) {
        let list = Arc::make_mut(self.0.get_or_insert_default());
        list.push(Header { name: name.into(), value: value.into() });
    }

    /// Removes all headers of a name.
    pub fn remove(&mut self, name: &str) {
        if self.iter().any(|header| &*header.name == name)
            && let Some(list) = &mut self.0
        {
            Arc::make_mut(list).retain(|header| &*header.name != name);
            if list.is_empty() {
                self.0 = None;
            }
        }
    }

    /// The last header of a name.
    pub fn last(&self, name: &str) -> Option<&Header> {
        self.as_slice().iter().rev().find(|header| &*header.name == name)
    }

    /// All headers in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Header> {
        self.as_slice().iter()
    }

    /// All headers in order.
    pub fn as_slice(&self) -> &[Header] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Whether both share their memory, which is cheaper to know than whether they are equal.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || self.as_slice() == other.as_slice()
    }
}

impl Eq for Headers {}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|header| (&header.name, &header.value))).finish()
    }
}

impl FromIterator<Header> for Headers {
    fn from_iter<I: IntoIterator<Item = Header>>(headers: I) -> Self {
        let list: Vec<_> = headers.into_iter().collect();
        Self((!list.is_empty()).then(|| Arc::new(list)))
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = &'a Header;
    type IntoIter = std::slice::Iter<'a, Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Where the record being processed came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Source topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
}

/// What a task knows of the record it works on. Within a punctuator there is no
/// [`metadata`](Self::metadata), no header, and the timestamp is the punctuator's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordContext {
    /// Source of the record; `None` in a punctuator.
    pub metadata: Option<RecordMetadata>,
    /// Timestamp of the record that the present node was given.
    pub timestamp: i64,
    /// Headers of the record that the present node was given.
    pub headers: Headers,
}

/// A record as it was fetched: bytes, not yet looked at.
#[derive(Debug, Clone)]
pub(crate) struct RawRecord {
    pub(crate) offset: i64,
    /// Milliseconds since 1970, negative for none.
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Headers,
}

impl RawRecord {
    /// What it counts against the bounds of a queue.
    pub(crate) fn bytes(&self) -> usize {
        let part = |part: &Option<Bytes>| part.as_ref().map_or(0, Bytes::len);
        let headers: usize = self.headers.iter().map(|h| h.name.len() + part(&h.value)).sum();
        size_of::<Self>() + part(&self.key) + part(&self.value) + headers
    }
}

impl From<crate::wire::records::Record> for RawRecord {
    fn from(record: crate::wire::records::Record) -> Self {
        let header = |header: crate::wire::records::HeaderRef<'_>| Header {
            name: String::from_utf8_lossy(header.key).into(),
            value: header.value.map(Bytes::copy_from_slice),
        };
        Self {
            headers: record.headers().map(header).collect(),
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key,
            value: record.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_clone_of_headers_leaves_the_original_alone() {
        let mut first = Headers::new();
        assert!(first.is_empty() && first.same(&Headers::default()));
        first.add("a", Bytes::from_static(b"1"));
        let mut second = first.clone();
        assert!(second.same(&first));
        second.add("a", None);
        assert_eq!((first.len(), second.len()), (1, 2));
        assert_eq!(second.last("a").map(|h| h.value.clone()), Some(None));
        second.remove("b");
        assert_eq!(second.len(), 2);
        second.remove("a");
        assert_eq!(second, Headers::new());
        assert_eq!(first.len(), 1);
    }

    #[test]
    fn with_methods_keep_everything_else() {
        let mut headers = Headers::new();
        headers.add("h", Bytes::from_static(b"x"));
        let record = Record::new("k", 1, 5).with_headers(headers.clone());
        let other = record.clone().with_key(7u8).with_value::<String>(None).with_timestamp(9);
        assert_eq!(other, Record { key: Some(7), value: None, timestamp: 9, headers });
        assert_eq!(record.timestamp, 5);
    }
}
