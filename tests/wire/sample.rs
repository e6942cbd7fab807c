//! Random values for messages.

use bytes::Bytes;
use llingr_kafka::wire::Uuid;

/// A message or part of one with random content that its version can carry.
pub(crate) trait Sample {
    fn sample(g: &mut Gen) -> Self;
}

/// Source of random values; the seed decides all.
pub(crate) struct Gen {
    state: u64,
    version: i16,
    depth: u32,
}

impl Gen {
    pub(crate) fn new(seed: u64, version: i16) -> Self {
        Self { state: seed | 1, version, depth: 0 }
    }

    pub(crate) fn version(&self) -> i16 {
        self.version
    }

    pub(crate) fn any<T: Sample>(&mut self) -> T {
        T::sample(self)
    }

    pub(crate) fn option<T: Sample>(&mut self) -> Option<T> {
        (self.below(4) > 0).then(|| self.any())
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    /// Mostly small numbers, sometimes all bits, sometimes the edges.
    fn bits(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(3),
            1 => u64::MAX >> self.below(64),
            _ => self.next() << self.below(9) ^ self.next(),
        }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Sample for $type {
            fn sample(g: &mut Gen) -> Self {
                g.bits() as $type
            }
        }
    )*};
}

integers!(i8 i16 u16 i32 i64);

impl Sample for bool {
    fn sample(g: &mut Gen) -> Self {
        g.below(2) == 1
    }
}

impl Sample for Uuid {
    fn sample(g: &mut Gen) -> Self {
        Uuid(std::array::from_fn(|_| g.bits() as u8))
    }
}

impl Sample for String {
    fn sample(g: &mut Gen) -> Self {
        // 127 and 128 bytes are where the compact length grows to two bytes.
        let len = [0, 1, 3, 20, 126, 127, 128, 300][g.below(8) as usize];
        (0..len).map(|_| ['a', 'Z', '.', 'ä', '世'][g.below(5) as usize]).collect()
    }
}

impl Sample for Bytes {
    fn sample(g: &mut Gen) -> Self {
        let len = [0, 1, 16, 127, 128, 1000][g.below(6) as usize];
        (0..len).map(|_| g.bits() as u8).collect()
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(g: &mut Gen) -> Self {
        g.depth += 1;
        let most = 4u64.saturating_sub(u64::from(g.depth)).max(1) + 1;
        let items = (0..g.below(most)).map(|_| g.any()).collect();
        g.depth -= 1;
        items
    }
}
