//! Which input records a store reflects, so that a query can ask for "at least as new as".

use std::collections::BTreeMap;
use std::sync::Arc;

/// Newest input offset per topic and partition that is reflected in a store.
///
/// Positions merge by the larger offset. The result of a query carries one; given back as the
/// bound of the next query, it makes any replica answer at least as new (read your own writes).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    offsets: BTreeMap<Arc<str>, BTreeMap<i32, i64>>,
}

/// How new a store must be to answer a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PositionBound {
    /// Whatever is there.
    #[default]
    Unbounded,
    /// At least this position, looking only at the queried partition.
    At(Position),
}

impl Position {
    /// A position that reflects nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a component and returns the position; the larger offset wins.
    #[must_use]
    pub fn with(mut self, topic: &str, partition: i32, offset: i64) -> Self {
        self.update(&topic.into(), partition, offset);
        self
    }

    /// Notes that the record at `offset` is reflected; smaller offsets change nothing.
    pub fn update(&mut self, topic: &Arc<str>, partition: i32, offset: i64) {
        if let Some(partitions) = self.offsets.get_mut(topic) {
            let known = partitions.entry(partition).or_insert(offset);
            *known = (*known).max(offset);
        } else {
            self.offsets.insert(topic.clone(), BTreeMap::from([(partition, offset)]));
        }
    }

    /// Takes over every component of `other` that is newer.
    pub fn merge(&mut self, other: &Self) {
        for (topic, partition, offset) in other.iter() {
            self.update(topic, partition, offset);
        }
    }

    /// The offset for one partition of a topic.
    pub fn offset(&self, topic: &str, partition: i32) -> Option<i64> {
        self.offsets.get(topic)?.get(&partition).copied()
    }

    /// All components, by topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, i32, i64)> {
        self.offsets.iter().flat_map(|(topic, parts)| {
            parts.iter().map(move |(part, offset)| (topic, *part, *offset))
        })
    }

    /// Whether nothing is reflected.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Whether this position is at least as new as `bound` in the one partition of a task.
    ///
    /// A topic that the bound names must have been seen there; other partitions of the bound are
    /// other tasks' business.
    pub fn reaches(&self, bound: &PositionBound, partition: i32) -> bool {
        let PositionBound::At(bound) = bound else { return true };
        bound.iter().filter(|(_, part, _)| *part == partition).all(|(topic, part, wanted)| {
            self.offset(topic, part).is_some_and(|seen| seen >= wanted)
        })
    }

    /// The form in which Kafka Streams puts a position into a record header: version byte 0,
    /// count of topics, per topic its name and its pairs of partition and offset; big-endian.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0];
        out.extend(len_i32(self.offsets.len()));
        for (topic, partitions) in &self.offsets {
            out.extend(len_i32(topic.len()));
            out.extend(topic.as_bytes());
            out.extend(len_i32(partitions.len()));
            for (partition, offset) in partitions {
                out.extend(partition.to_be_bytes());
                out.extend(offset.to_be_bytes());
            }
        }
        out
    }

    /// Reads what [`encode`](Self::encode) wrote. Bytes after the last pair are ignored, since
    /// Java leaves some there. `None` if it is cut short, of another version or not UTF-8.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        if take::<1>(bytes)? != [0] {
            return None;
        }
        let mut position = Self::new();
        for _ in 0..count(bytes)? {
            let length = count(bytes)?;
            let (name, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            let topic: Arc<str> = std::str::from_utf8(name).ok()?.into();
            for _ in 0..count(bytes)? {
                let partition = i32::from_be_bytes(take(bytes)?);
                position.update(&topic, partition, i64::from_be_bytes(take(bytes)?));
            }
        }
        Some(position)
    }
}

fn len_i32(length: usize) -> [u8; 4] {
    i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes()
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

fn count(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(i32::from_be_bytes(take(bytes)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn merging_keeps_the_larger_offset_of_each_partition() {
        let mut left = Position::new().with("a", 0, 5).with("a", 1, 9);
        left.merge(&Position::new().with("a", 0, 7).with("a", 1, 3).with("b", 0, 1));
        assert_eq!(left, Position::new().with("a", 0, 7).with("a", 1, 9).with("b", 0, 1));
    }

    #[test]
    fn a_bound_looks_only_at_the_task_s_own_partition() {
        let seen = Position::new().with("a", 0, 7);
        let at = |position| PositionBound::At(position);
        assert!(seen.reaches(&PositionBound::Unbounded, 0));
        assert!(seen.reaches(&at(Position::new().with("a", 0, 7).with("a", 1, 99)), 0));
        assert!(!seen.reaches(&at(Position::new().with("a", 0, 8)), 0));
        assert!(!seen.reaches(&at(Position::new().with("b", 0, 0)), 0), "topic never seen");
    }

    #[test]
    fn the_header_form_is_java_s_and_trailing_zeros_are_ignored() {
        let position = Position::new().with("in", 3, 258);
        let mut bytes = position.encode();
        assert_eq!(
            bytes,
            [0, 0, 0, 0, 1, 0, 0, 0, 2, b'i', b'n', 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2]
        );
        bytes.extend([0; 4]);
        assert_eq!(Position::decode(&bytes), Some(position));
    }

    proptest! {
        #[test]
        fn decoding_never_panics_and_reads_back_what_was_written(
            parts in proptest::collection::vec(("[a-z]{1,5}", 0..9i32, 0..i64::MAX), 0..9),
            noise in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let _ = Position::decode(&noise);
            let mut position = Position::new();
            for (topic, partition, offset) in &parts {
                position.update(&topic.as_str().into(), *partition, *offset);
            }
            let bytes = position.encode();
            prop_assert_eq!(Position::decode(&bytes), Some(position));
            for cut in 0..bytes.len().min(40) {
                let _ = Position::decode(&bytes[..cut]);
            }
        }
    }
}
