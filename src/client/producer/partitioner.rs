//! Which partition a record goes to: as Java's default, so that producers of both languages put
//! a key in the same place.

use std::collections::HashMap;
use std::sync::Arc;

use crate::client::metadata::Topic;

/// Kafka's murmur2 with its seed, over a record's key.
pub fn murmur2(data: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    const SEED: u32 = 0x9747_b28c;
    // Java's lengths are 32 bits; keys are far below.
    let mut h = SEED ^ data.len() as u32;
    let mut chunks = data.chunks_exact(4);
    for chunk in &mut chunks {
        let mut k = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        k = k.wrapping_mul(M);
        k ^= k >> 24;
        k = k.wrapping_mul(M);
        h = h.wrapping_mul(M) ^ k;
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * at);
        }
        h = h.wrapping_mul(M);
    }
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^= h >> 15;
    h as i32
}

/// The partition of a key among `count`, which must be positive.
pub fn partition_of_key(key: &[u8], count: i32) -> i32 {
    (murmur2(key) & 0x7fff_ffff) % count.max(1)
}

/// Keeps records without key on one partition until a batch's worth went there (KIP-794).
#[derive(Debug, Default)]
pub(super) struct Sticky(HashMap<Arc<str>, (i32, usize)>);

impl Sticky {
    /// The topic's present partition; one with a leader is chosen where there is one.
    pub(super) fn partition(&mut self, topic: &Topic) -> i32 {
        if let Some((partition, _)) = self.0.get(&topic.name)
            && topic.partition(*partition).is_some_and(|partition| partition.leader >= 0)
        {
            return *partition;
        }
        let led: Vec<i32> = topic
            .partitions
            .iter()
            .filter(|partition| partition.leader >= 0)
            .map(|partition| partition.index)
            .collect();
        let all = topic.partitions.len();
        let partition = match fastrand::choice(&led) {
            Some(partition) => *partition,
            None => topic.partitions.get(fastrand::usize(..all.max(1))).map_or(0, |p| p.index),
        };
        self.0.insert(topic.name.clone(), (partition, 0));
        partition
    }

    /// Counts a record; after `batch_bytes` another partition's turn comes.
    pub(super) fn appended(&mut self, topic: &str, bytes: usize, batch_bytes: usize) {
        if let Some((_, sent)) = self.0.get_mut(topic) {
            *sent += bytes;
            if *sent >= batch_bytes {
                self.0.remove(topic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_gives_the_values_of_kafkas_own_tests() {
        for (key, expected) in [
            (&b"21"[..], -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key), expected, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn partitions_are_never_negative() {
        for n in 0..1000u32 {
            let partition = partition_of_key(&n.to_be_bytes(), 7);
            assert!((0..7).contains(&partition));
        }
    }
}
