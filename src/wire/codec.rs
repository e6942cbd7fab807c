//! Reading and writing the primitive types of Kafka's protocol.
//!
//! One [`Reader`] or [`Writer`] lives for one message and knows its version, so that
//! the generated code only says which fields exist. "Flexible" versions write lengths
//! as varints and end every structure with tagged fields (KIP-482).

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use super::error::Error;

/// Result of a step of reading or writing. What went wrong is kept by the [`Reader`] or
/// [`Writer`], so that results stay as small as the values and fit into registers.
pub(super) type Result<T> = std::result::Result<T, Failed>;

/// A step failed; its [`Reader`] or [`Writer`] knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// A value that has a form on the wire.
pub trait Codec: Sized {
    /// Reads one value.
    fn read(r: &mut Reader<'_>) -> Result<Self>;
    /// Appends the value.
    fn write(&self, w: &mut Writer<'_>) -> Result<()>;
}

/// Reads one message out of a frame; byte fields become slices of the frame.
pub struct Reader<'a> {
    frame: &'a Bytes,
    pos: usize,
    message: &'static str,
    version: i16,
    flexible: bool,
    fault: Option<Error>,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `frame`. `message` only appears in errors.
    pub fn new(frame: &'a Bytes, message: &'static str, version: i16, flexible: bool) -> Self {
        Self { frame, pos: 0, message, version, flexible, fault: None }
    }

    /// Why a step failed.
    pub fn into_error(self, _: Failed) -> Error {
        self.fault.unwrap_or(Error::Invalid {
            message: self.message,
            what: "malformed message",
            position: self.pos,
        })
    }

    /// Version of the message that is read.
    #[inline]
    pub fn version(&self) -> i16 {
        self.version
    }

    /// Bytes consumed so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.frame.len() - self.pos
    }

    /// Reads a value whose type the caller's context gives.
    #[inline]
    pub fn get<T: Codec>(&mut self) -> Result<T> {
        T::read(self)
    }

    /// Reads a structure that may be null.
    pub fn get_struct<T: Codec>(&mut self) -> Result<Option<T>> {
        match i8::read(self)? {
            1 => T::read(self).map(Some),
            -1 => Ok(None),
            _ => Err(self.invalid("presence mark is neither 1 nor -1", 1)),
        }
    }

    /// Reads a string that keeps its two-byte length in flexible versions too, null allowed.
    pub fn get_classic_string(&mut self) -> Result<Option<String>> {
        let flexible = std::mem::replace(&mut self.flexible, false);
        let value = self.get();
        self.flexible = flexible;
        value
    }

    /// Reads the tagged fields that end a structure: `known` reads those it knows and
    /// returns true, the others are skipped. Does nothing in versions without them.
    pub fn tags(
        &mut self,
        mut known: impl FnMut(u32, &mut Reader<'a>) -> Result<bool>,
    ) -> Result<()> {
        if !self.flexible {
            return Ok(());
        }
        let count = self.unsigned_varint()?;
        let mut last = None;
        for _ in 0..count {
            let tag = self.unsigned_varint()?;
            if last.is_some_and(|last| last >= tag) {
                return Err(self.invalid("tagged fields are not in ascending order", 1));
            }
            last = Some(tag);
            let len = self.unsigned_varint()? as usize;
            self.check(len, "tagged field")?;
            let end = self.pos + len;
            if !known(tag, self)? {
                self.pos = end;
            } else if self.pos != end {
                return Err(self.invalid("tagged field has another size than it claims", 0));
            }
        }
        Ok(())
    }

    /// Skips all tagged fields.
    #[inline]
    pub fn skip_tags(&mut self) -> Result<()> {
        self.tags(|_, _| Ok(false))
    }

    fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8]> {
        self.check(len, what)?;
        let start = self.pos;
        self.pos += len;
        Ok(&self.frame[start..self.pos])
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        match self.frame[self.pos..].first_chunk::<N>() {
            Some(bytes) => {
                self.pos += N;
                Ok(*bytes)
            }
            None => Err(self.truncated(N, what)),
        }
    }

    #[inline]
    fn check(&mut self, len: usize, what: &'static str) -> Result<()> {
        if len > self.remaining() {
            return Err(self.truncated(len, what));
        }
        Ok(())
    }

    fn unsigned_varint(&mut self) -> Result<u32> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.fixed("varint")?;
            if shift == 28 && byte > 0x0f {
                return Err(self.invalid("varint exceeds 32 bits", 5));
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.invalid("varint is longer than 5 bytes", 5))
    }

    /// A length in the form of the version; `None` is null.
    fn length(&mut self, what: &'static str, width: LengthWidth) -> Result<Option<usize>> {
        let start = self.pos;
        let len = if self.flexible {
            match self.unsigned_varint()? {
                0 => return Ok(None),
                n => i64::from(n) - 1,
            }
        } else {
            match width {
                LengthWidth::Two => i64::from(i16::read(self)?),
                LengthWidth::Four => i64::from(i32::read(self)?),
            }
        };
        match usize::try_from(len) {
            Ok(len) => {
                self.check(len, what)?;
                Ok(Some(len))
            }
            Err(_) if len == -1 => Ok(None),
            Err(_) => Err(self.invalid("negative length", self.pos - start)),
        }
    }

    /// An error about the bytes just read, `back` bytes ago.
    #[cold]
    fn invalid(&mut self, what: &'static str, back: usize) -> Failed {
        self.fault = Some(Error::Invalid {
            message: self.message,
            what,
            position: self.pos.saturating_sub(back),
        });
        Failed
    }

    #[cold]
    fn truncated(&mut self, needed: usize, what: &'static str) -> Failed {
        self.fault = Some(Error::Truncated {
            message: self.message,
            what,
            position: self.pos,
            needed,
            remaining: self.remaining(),
        });
        Failed
    }

    fn required<T>(&mut self, value: Option<T>, what: &'static str) -> Result<T> {
        value.ok_or_else(|| self.invalid(what, 1))
    }
}

/// How wide a length is in versions that are not flexible.
#[derive(Clone, Copy)]
enum LengthWidth {
    Two,
    Four,
}

/// Appends one message to a buffer.
pub struct Writer<'a> {
    buf: &'a mut BytesMut,
    version: i16,
    flexible: bool,
    fault: Option<Error>,
}

impl<'a> Writer<'a> {
    /// Writes to the end of `buf`.
    pub fn new(buf: &'a mut BytesMut, version: i16, flexible: bool) -> Self {
        Self { buf, version, flexible, fault: None }
    }

    /// Why a step failed.
    pub fn into_error(self, _: Failed) -> Error {
        self.fault.unwrap_or(Error::Invalid {
            message: "message",
            what: "cannot be written",
            position: self.buf.len(),
        })
    }

    #[cold]
    fn fail<T>(&mut self, error: Error) -> Result<T> {
        self.fault = Some(error);
        Err(Failed)
    }

    /// Version of the message that is written.
    #[inline]
    pub fn version(&self) -> i16 {
        self.version
    }

    /// Whether the version has tagged fields.
    #[inline]
    pub fn flexible(&self) -> bool {
        self.flexible
    }

    /// Appends a value.
    #[inline]
    pub fn put<T: Codec>(&mut self, value: &T) -> Result<()> {
        value.write(self)
    }

    /// Appends a value that the version does not allow to be null.
    pub fn put_some<T: Codec>(&mut self, value: &Option<T>, field: &'static str) -> Result<()> {
        match value {
            Some(value) => value.write(self),
            None => self.fail(Error::NullField { field, version: self.version }),
        }
    }

    /// Appends a structure that may be null.
    pub fn put_struct<T: Codec>(&mut self, value: &Option<T>) -> Result<()> {
        match value {
            Some(value) => {
                self.buf.put_i8(1);
                value.write(self)
            }
            None => {
                self.buf.put_i8(-1);
                Ok(())
            }
        }
    }

    /// Appends a string with a two-byte length whatever the version, null allowed.
    pub fn put_classic_string(&mut self, value: &Option<String>) -> Result<()> {
        let flexible = std::mem::replace(&mut self.flexible, false);
        let result = self.put(value);
        self.flexible = flexible;
        result
    }

    /// Fails when a field is `set` that the version cannot carry.
    #[inline]
    pub fn absent(&mut self, set: bool, field: &'static str) -> Result<()> {
        if set {
            return self.fail(Error::FieldNotInVersion { field, version: self.version });
        }
        Ok(())
    }

    /// Announces how many tagged fields follow. Only in flexible versions.
    #[inline]
    pub fn tag_count(&mut self, count: u32) {
        self.unsigned_varint(count);
    }

    /// Ends a structure that has no tagged fields to write.
    #[inline]
    pub fn no_tags(&mut self) {
        if self.flexible {
            self.buf.put_u8(0);
        }
    }

    /// Appends a tagged field: number, size, value.
    pub fn tag<T: Codec>(&mut self, tag: u32, value: &T) -> Result<()> {
        self.unsigned_varint(tag);
        let start = self.buf.len();
        value.write(self)?;
        let end = self.buf.len();
        // The size is known only now and its own width depends on it: append it, then
        // rotate it in front of the value.
        self.unsigned_varint((end - start) as u32);
        let width = self.buf.len() - end;
        self.buf[start..].rotate_right(width);
        Ok(())
    }

    #[inline]
    fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.buf.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.buf.put_u8(value as u8);
    }

    fn length(&mut self, len: Option<usize>, what: &'static str, width: LengthWidth) -> Result<()> {
        let max = match width {
            LengthWidth::Two if !self.flexible => i16::MAX as usize,
            _ => i32::MAX as usize - 1,
        };
        if let Some(len) = len.filter(|len| *len > max) {
            return self.fail(Error::TooLong { what, len, max });
        }
        match (self.flexible, width, len) {
            (true, _, None) => self.buf.put_u8(0),
            (true, _, Some(len)) => self.unsigned_varint(len as u32 + 1),
            (false, LengthWidth::Two, len) => self.buf.put_i16(len.map_or(-1, |len| len as i16)),
            (false, LengthWidth::Four, len) => self.buf.put_i32(len.map_or(-1, |len| len as i32)),
        }
        Ok(())
    }
}

macro_rules! fixed_width {
    ($($type:ty => $put:ident, $name:literal;)*) => {$(
        impl Codec for $type {
            #[inline]
            fn read(r: &mut Reader<'_>) -> Result<Self> {
                Ok(<$type>::from_be_bytes(r.fixed($name)?))
            }

            #[inline]
            fn write(&self, w: &mut Writer<'_>) -> Result<()> {
                w.buf.$put(*self);
                Ok(())
            }
        }
    )*};
}

fixed_width! {
    i8 => put_i8, "int8";
    i16 => put_i16, "int16";
    u16 => put_u16, "uint16";
    i32 => put_i32, "int32";
    i64 => put_i64, "int64";
}

impl Codec for bool {
    #[inline]
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(i8::read(r)? != 0)
    }

    #[inline]
    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.buf.put_u8(u8::from(*self));
        Ok(())
    }
}

/// A topic id, member id or directory id: 16 bytes, all zero when absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Kafka's "no id".
    pub const ZERO: Self = Self([0; 16]);

    /// True for [`Uuid::ZERO`].
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}

/// Kafka's own spelling: 22 characters of unpadded URL-safe base64.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = u128::from_be_bytes(self.0);
        let mut text = [0u8; 22];
        for (i, c) in text.iter_mut().enumerate() {
            // 21 groups of six bits, then the last two bits padded with zeros.
            let group = if i < 21 { bits >> (122 - 6 * i) } else { bits << 4 };
            *c = ALPHABET[(group & 0x3f) as usize];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Codec for Uuid {
    #[inline]
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        r.fixed("uuid").map(Self)
    }

    #[inline]
    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.buf.put_slice(&self.0);
        Ok(())
    }
}

impl Codec for Option<String> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let Some(len) = r.length("string", LengthWidth::Two)? else {
            return Ok(None);
        };
        match std::str::from_utf8(r.take(len, "string")?) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(r.invalid("string is not UTF-8", len)),
        }
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        match self {
            Some(text) => text.write(w),
            None => w.length(None, "string", LengthWidth::Two),
        }
    }
}

impl Codec for String {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let value = r.get()?;
        r.required(value, "string is null where the version has no null")
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.length(Some(self.len()), "string", LengthWidth::Two)?;
        w.buf.put_slice(self.as_bytes());
        Ok(())
    }
}

impl Codec for Option<Bytes> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let Some(len) = r.length("bytes", LengthWidth::Four)? else {
            return Ok(None);
        };
        let start = r.pos;
        r.pos += len;
        Ok(Some(r.frame.slice(start..r.pos)))
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        match self {
            Some(bytes) => bytes.write(w),
            None => w.length(None, "bytes", LengthWidth::Four),
        }
    }
}

impl Codec for Bytes {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let value = r.get()?;
        r.required(value, "bytes are null where the version has no null")
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.length(Some(self.len()), "bytes", LengthWidth::Four)?;
        w.buf.put_slice(self);
        Ok(())
    }
}

impl<T: Codec> Codec for Option<Vec<T>> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let Some(len) = r.length("array", LengthWidth::Four)? else {
            return Ok(None);
        };
        // A count costs the sender nothing, so what is reserved follows the bytes that
        // are really there; the rest grows as elements are decoded.
        let affordable = r.remaining() / size_of::<T>().max(1);
        let mut items = Vec::with_capacity(len.min(affordable));
        for _ in 0..len {
            items.push(T::read(r)?);
        }
        Ok(Some(items))
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        match self {
            Some(items) => items.write(w),
            None => w.length(None, "array", LengthWidth::Four),
        }
    }
}

impl<T: Codec> Codec for Vec<T> {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let value = r.get()?;
        r.required(value, "array is null where the version has no null")
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.length(Some(self.len()), "array", LengthWidth::Four)?;
        self.iter().try_for_each(|item| item.write(w))
    }
}
