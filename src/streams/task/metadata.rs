//! The text that is committed with an offset: times that must survive a restart.
//!
//! Kafka Streams' format, so that an application can be moved between Java and this library:
//! base64 of a version byte (2), the partition time, and, if there are any, named times of
//! processors.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut};

const VERSION: u8 = 2;
/// The version that knows the partition time only.
const TIME_ONLY: u8 = 1;

/// Times of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitMetadata {
    /// The largest timestamp taken, -1 if unknown.
    pub(crate) partition_time: i64,
    /// Times that processors keep, by a name of theirs.
    pub(crate) processors: BTreeMap<String, i64>,
}

impl CommitMetadata {
    pub(crate) fn encode(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.put_i64(self.partition_time);
        if !self.processors.is_empty() {
            bytes.put_i32(self.processors.len() as i32);
            for (name, time) in &self.processors {
                bytes.put_i32(name.len() as i32);
                bytes.put_slice(name.as_bytes());
                bytes.put_i64(*time);
            }
        }
        STANDARD.encode(bytes)
    }

    /// `None` for text that is not of this format: an offset committed by another tool.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let mut input = &bytes[..];
        let version = input.try_get_u8().ok()?;
        if !matches!(version, TIME_ONLY | VERSION) {
            return None;
        }
        let partition_time = input.try_get_i64().ok()?;
        let mut processors = BTreeMap::new();
        if version == VERSION && input.has_remaining() {
            for _ in 0..input.try_get_i32().ok()? {
                let len = usize::try_from(input.try_get_i32().ok()?).ok()?;
                let name = input.get(..len)?;
                processors.insert(std::str::from_utf8(name).ok()?.to_owned(), {
                    input = &input[len..];
                    input.try_get_i64().ok()?
                });
            }
        }
        Some(Self { partition_time, processors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_kafkas_bytes() {
        let time = CommitMetadata { partition_time: 5, processors: BTreeMap::new() };
        assert_eq!(STANDARD.decode(time.encode()).unwrap(), [2, 0, 0, 0, 0, 0, 0, 0, 5]);
        let named = CommitMetadata {
            partition_time: -1,
            processors: BTreeMap::from([("a".to_owned(), 7)]),
        };
        let bytes = STANDARD.decode(named.encode()).unwrap();
        assert_eq!(bytes[9..], [0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 7]);
        for metadata in [time, named] {
            assert_eq!(CommitMetadata::decode(&metadata.encode()), Some(metadata));
        }
    }

    #[test]
    fn the_older_version_has_the_time_only() {
        let text = STANDARD.encode([1, 0, 0, 0, 0, 0, 0, 0, 9]);
        let read = CommitMetadata::decode(&text).unwrap();
        assert_eq!((read.partition_time, read.processors.len()), (9, 0));
    }

    #[test]
    fn other_texts_are_unknown() {
        let broken = [2, 0, 0, 0, 0, 0, 0, 0, 9, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff];
        for text in ["", "hello", "!", &STANDARD.encode([3; 9]), &STANDARD.encode(broken)] {
            assert_eq!(CommitMetadata::decode(text), None, "{text}");
        }
    }
}
