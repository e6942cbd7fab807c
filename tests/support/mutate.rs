//! Broken input from good input, the same at every run.
#![allow(dead_code, reason = "each including test uses a part of it")]

/// A source of mutations.
pub(crate) struct Mutator(u64);

/// What broken senders put into JSON.
const TOKENS: &[&[u8]] = &[
    b"null",
    b"-1",
    b"1e999",
    b"\"\"",
    b"[]",
    b"{}",
    b"\0",
    b"\xff",
    b"\\u0000",
    b"true",
    b"18446744073709551616",
    b"[[[[[[[[",
    b",",
    b"\"",
    b":",
    b"0.5",
    b"2147483648",
];

impl Mutator {
    pub(crate) fn new(seed: u64) -> Mutator {
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n` (xorshift64*).
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let r = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (r as usize) % n.max(1)
    }

    /// Changes one to four places of a text.
    pub(crate) fn text(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(30)).min(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    bytes.splice(at..at, token.iter().copied());
                }
                2 => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    bytes.splice(at..end, token.iter().copied());
                }
                3 => drop(bytes.drain(at..end)),
                _ => {
                    let bit = self.below(8);
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << bit;
                    }
                }
            }
        }
        bytes
    }

    /// Changes one to four bytes, or the length.
    pub(crate) fn bytes(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let odd = [0, 1, 0x7f, 0x80, 0xfe, 0xff, self.below(256) as u8][self.below(7)];
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.push(odd),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = odd;
                    }
                }
            }
        }
        bytes
    }
}
