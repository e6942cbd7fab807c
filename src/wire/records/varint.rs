//! Zigzag varints, as records use them.

use bytes::{BufMut, BytesMut};

/// Reads from the front of a slice; `None` when the bytes end or the number does not fit.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A 32-bit number.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<i32> {
        let first = u32::from(self.byte()?);
        // Most lengths and deltas are one or two bytes long.
        if first < 0x80 {
            return Some(unzigzag32(first));
        }
        let second = u32::from(self.byte()?);
        let value = first & 0x7f | (second & 0x7f) << 7;
        if second < 0x80 {
            return Some(unzigzag32(value));
        }
        self.long_tail(u64::from(value)).and_then(|value| u32::try_from(value).ok()).map(unzigzag32)
    }

    /// A 64-bit number.
    #[inline]
    pub(super) fn varlong(&mut self) -> Option<i64> {
        let first = u64::from(self.byte()?);
        if first < 0x80 {
            return Some(unzigzag64(first));
        }
        let second = u64::from(self.byte()?);
        let value = first & 0x7f | (second & 0x7f) << 7;
        if second < 0x80 {
            return Some(unzigzag64(value));
        }
        self.long_tail(value).map(unzigzag64)
    }

    /// The third and later bytes of a number.
    fn long_tail(&mut self, mut value: u64) -> Option<u64> {
        for shift in (14..=63).step_by(7) {
            let byte = u64::from(self.byte()?);
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Bytes behind their length; the inner `None` is null.
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match self.varint()? {
            -1 => Some(None),
            len => self.take(usize::try_from(len).ok()?).map(Some),
        }
    }
}

#[inline]
fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

#[inline]
fn unzigzag64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[inline]
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Bytes that [`put`] appends.
#[inline]
pub(super) fn size(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends a number; 32- and 64-bit numbers have the same form.
#[inline]
pub(super) fn put(buf: &mut BytesMut, value: i64) {
    let mut value = zigzag(value);
    while value >= 0x80 {
        buf.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    buf.put_u8(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i64; 13] = [
        0,
        -1,
        1,
        -64,
        63,
        64,
        -8192,
        8191,
        8192,
        i32::MAX as i64,
        i32::MIN as i64,
        i64::MAX,
        i64::MIN,
    ];

    #[test]
    fn numbers_come_back_and_take_the_announced_size() {
        for value in EDGES {
            let mut buf = BytesMut::new();
            put(&mut buf, value);
            assert_eq!(buf.len(), size(value), "{value}");
            assert_eq!(Cursor::new(&buf).varlong(), Some(value));
            let narrow = i32::try_from(value).ok();
            assert_eq!(Cursor::new(&buf).varint(), narrow, "{value}");
        }
    }

    #[test]
    fn overlong_and_unfinished_numbers_are_refused() {
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
        assert_eq!(Cursor::new(&[0x80, 0x80]).varlong(), None);
        assert_eq!(Cursor::new(&[0xff; 11]).varlong(), None);
        let mut too_wide = [0x80; 10];
        too_wide[9] = 2;
        assert_eq!(Cursor::new(&too_wide).varlong(), None);
    }
}
