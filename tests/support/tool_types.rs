//! What [`super::Tool`] takes and gives.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes as hexadecimal on the line to the tool.
mod hex {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let digit = |n: u8| char::from(DIGITS[usize::from(n)]);
                let text: String =
                    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect();
                s.serialize_some(&text)
            }
            None => s.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(d)? else {
            return Ok(None);
        };
        let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
        let bytes = text.as_bytes().chunks(2).map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        });
        bytes
            .collect::<Option<_>>()
            .map(Some)
            .ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
    }
}

/// A header; a null value is not an empty one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordHeader {
    pub(crate) key: String,
    #[serde(with = "hex")]
    pub(crate) value: Option<Vec<u8>>,
}

/// A record to produce.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct NewRecord {
    /// `None`: by the key's hash, as Java does.
    pub(crate) partition: Option<i32>,
    #[serde(with = "hex")]
    pub(crate) key: Option<Vec<u8>>,
    #[serde(with = "hex")]
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<RecordHeader>,
    /// Milliseconds since 1970; `None`: now.
    pub(crate) timestamp_ms: Option<i64>,
}

impl NewRecord {
    /// A record with key and value.
    pub(crate) fn new(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        Self {
            key: Some(key.as_ref().to_vec()),
            value: Some(value.as_ref().to_vec()),
            ..Self::default()
        }
    }

    /// A record with a value alone.
    pub(crate) fn keyless(value: impl AsRef<[u8]>) -> Self {
        Self { value: Some(value.as_ref().to_vec()), ..Self::default() }
    }

    /// A record that deletes its key in a compacted topic.
    pub(crate) fn tombstone(key: impl AsRef<[u8]>) -> Self {
        Self { key: Some(key.as_ref().to_vec()), ..Self::default() }
    }

    pub(crate) fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    pub(crate) fn timestamp_ms(mut self, timestamp: i64) -> Self {
        self.timestamp_ms = Some(timestamp);
        self
    }

    /// Adds a header; a name may come again.
    pub(crate) fn header(mut self, key: &str, value: Option<&[u8]>) -> Self {
        self.headers.push(RecordHeader { key: key.to_owned(), value: value.map(<[u8]>::to_vec) });
        self
    }
}

/// Where a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub(crate) struct Acked {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// A record as it lies in a topic.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct StoredRecord {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp_ms: i64,
    #[serde(with = "hex")]
    pub(crate) key: Option<Vec<u8>>,
    #[serde(with = "hex")]
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<RecordHeader>,
    /// -1 when the producer was not idempotent.
    pub(crate) producer_id: i64,
}

impl StoredRecord {
    /// The key as text; panics where it is absent or no UTF-8.
    #[track_caller]
    pub(crate) fn key_str(&self) -> &str {
        text("key", self.key.as_deref())
    }

    /// The value as text; panics where it is null or no UTF-8.
    #[track_caller]
    pub(crate) fn value_str(&self) -> &str {
        text("value", self.value.as_deref())
    }
}

#[track_caller]
fn text<'a>(what: &str, bytes: Option<&'a [u8]>) -> &'a str {
    let bytes = bytes.unwrap_or_else(|| panic!("the record has no {what}"));
    std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("the record's {what} is no UTF-8"))
}

/// Many records by rule. Record `i` (from `start`) has the key
/// `{key_prefix}{i mod keys}` and a value that begins with `{i}|`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bulk {
    pub(crate) topic: String,
    pub(crate) start: u64,
    pub(crate) count: u64,
    /// Number of keys; 0: no key.
    pub(crate) keys: u64,
    pub(crate) key_prefix: String,
    /// Bytes; never less than the number and its bar.
    pub(crate) value_size: usize,
    /// All to this partition.
    pub(crate) partition: Option<i32>,
    /// Record `i` to partition `i mod round_robin`; 0: by key.
    pub(crate) round_robin: i32,
    /// none, gzip, snappy, lz4 or zstd.
    pub(crate) compression: String,
    /// Records a second; 0: as fast as it goes.
    pub(crate) per_second: u64,
}

impl Bulk {
    /// `count` records of 100 bytes over 100 keys.
    pub(crate) fn new(topic: &str, count: u64) -> Self {
        Self {
            topic: topic.to_owned(),
            start: 0,
            count,
            keys: 100,
            key_prefix: "key-".to_owned(),
            value_size: 100,
            partition: None,
            round_robin: 0,
            compression: "none".to_owned(),
            per_second: 0,
        }
    }

    pub(crate) fn keys(mut self, keys: u64) -> Self {
        self.keys = keys;
        self
    }

    pub(crate) fn start(mut self, start: u64) -> Self {
        self.start = start;
        self
    }

    pub(crate) fn value_size(mut self, bytes: usize) -> Self {
        self.value_size = bytes;
        self
    }

    pub(crate) fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    pub(crate) fn round_robin(mut self, partitions: i32) -> Self {
        self.round_robin = partitions;
        self
    }

    pub(crate) fn compression(mut self, name: &str) -> Self {
        self.compression = name.to_owned();
        self
    }

    pub(crate) fn per_second(mut self, records: u64) -> Self {
        self.per_second = records;
        self
    }

    /// The number at the start of a bulk record's value.
    #[track_caller]
    pub(crate) fn number_of(value: &[u8]) -> u64 {
        let digits = value.split(|b| *b == b'|').next().unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok());
        number.unwrap_or_else(|| {
            panic!("not a value of a bulk record: {:.40}", String::from_utf8_lossy(value))
        })
    }
}

/// What became of a [`Bulk`].
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BulkAcked {
    pub(crate) acked: u64,
    pub(crate) failed: u64,
    #[serde(default)]
    pub(crate) first_error: String,
    /// By partition; those without records are left out.
    #[serde(default)]
    pub(crate) partitions: Vec<BulkPartition>,
}

/// The acknowledged offsets of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BulkPartition {
    pub(crate) partition: i32,
    pub(crate) count: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// A topic to create. Replaces the two counts where `replicas` is not empty.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NewTopic {
    pub(crate) topic: String,
    pub(crate) partitions: i32,
    pub(crate) replication: i16,
    /// Broker ids by partition, the preferred leader first.
    pub(crate) replicas: Vec<Vec<i32>>,
    pub(crate) configs: std::collections::BTreeMap<String, String>,
}

impl NewTopic {
    /// One replica per partition.
    pub(crate) fn new(topic: &str, partitions: i32) -> Self {
        Self {
            topic: topic.to_owned(),
            partitions,
            replication: 1,
            replicas: Vec::new(),
            configs: std::collections::BTreeMap::new(),
        }
    }

    pub(crate) fn replication(mut self, n: i16) -> Self {
        self.replication = n;
        self
    }

    pub(crate) fn replicas(mut self, by_partition: &[&[i32]]) -> Self {
        self.replicas = by_partition.iter().map(|r| r.to_vec()).collect();
        self
    }

    pub(crate) fn config(mut self, name: &str, value: &str) -> Self {
        self.configs.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// The live brokers as the asked one knows them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Brokers {
    pub(crate) cluster: String,
    pub(crate) controller: i32,
    #[serde(deserialize_with = "null_is_empty")]
    pub(crate) nodes: Vec<i32>,
}

/// A topic's id (base64, as Kafka's tools print it) and partitions.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TopicState {
    pub(crate) id: String,
    pub(crate) partitions: Vec<PartitionState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct PartitionState {
    pub(crate) partition: i32,
    /// -1: none.
    pub(crate) leader: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<i32>,
    pub(crate) isr: Vec<i32>,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Committed {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// -1: unknown.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

impl Committed {
    pub(crate) fn new(topic: &str, partition: i32, offset: i64) -> Self {
        Self {
            topic: topic.to_owned(),
            partition,
            offset,
            leader_epoch: -1,
            metadata: String::new(),
        }
    }

    pub(crate) fn metadata(mut self, text: &str) -> Self {
        self.metadata = text.to_owned();
        self
    }
}

/// A group of any kind.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GroupState {
    /// classic, consumer, share or streams; empty when there is no such group.
    pub(crate) kind: String,
    /// Kafka's word, such as Stable or Empty; Dead when there is no such group.
    pub(crate) state: String,
    /// -1 for classic groups.
    pub(crate) epoch: i32,
    pub(crate) assignor: String,
    pub(crate) members: Vec<MemberState>,
}

impl GroupState {
    /// The partitions of `name` (a topic, or a subtopology of a streams
    /// group) that members hold, sorted; one that two members hold is twice
    /// in the list.
    pub(crate) fn assigned(&self, name: &str) -> Vec<i32> {
        let held = self.members.iter().flat_map(|m| &m.assigned).filter(|a| a.name == name);
        let mut all: Vec<i32> = held.flat_map(|a| a.partitions.iter().copied()).collect();
        all.sort_unstable();
        all
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MemberState {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    /// -1 for classic groups.
    pub(crate) epoch: i32,
    #[serde(deserialize_with = "null_is_empty")]
    pub(crate) subscribed: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(crate) assigned: Vec<Assigned>,
}

/// A topic, or a subtopology of a streams group, and its partitions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Assigned {
    pub(crate) name: String,
    pub(crate) partitions: Vec<i32>,
}

/// Go writes an empty list that was never made as null.
fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

/// Whose settings to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ConfigKind {
    Topic,
    /// By broker id as text; empty for all.
    Broker,
    /// Group settings such as `share.auto.offset.reset`.
    Group,
    ClientMetrics,
}

/// Which end of a topic's partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Start,
    /// The high watermark.
    End,
    /// The last stable offset: the end for who reads committed records.
    CommittedEnd,
}

/// A right given or denied on any host.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Acl {
    /// TOPIC, GROUP, CLUSTER or TRANSACTIONAL_ID.
    pub(crate) resource: String,
    pub(crate) name: String,
    /// LITERAL or PREFIXED.
    pub(crate) pattern: String,
    /// `User:app`.
    pub(crate) principal: String,
    /// READ, WRITE, DESCRIBE, ALL, ...
    pub(crate) operation: String,
    pub(crate) deny: bool,
}

impl Acl {
    /// Allows `user` one operation on exactly this resource.
    pub(crate) fn allow(user: &str, operation: &str, resource: &str, name: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            name: name.to_owned(),
            pattern: "LITERAL".to_owned(),
            principal: format!("User:{user}"),
            operation: operation.to_owned(),
            deny: false,
        }
    }

    /// Denies instead.
    pub(crate) fn deny(mut self) -> Self {
        self.deny = true;
        self
    }
}
