//! Records as views into their batch.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use super::batch::BatchHeader;
use super::varint::Cursor;
use crate::wire::error::{Error, Result};

/// The smallest record: seven fields of one byte each.
const SMALLEST: usize = 7;

/// The records of one batch, decompressed.
#[derive(Clone)]
pub struct BatchRecords {
    header: BatchHeader,
    payload: Bytes,
}

impl BatchRecords {
    pub(super) fn new(header: BatchHeader, payload: Bytes) -> Result<Self> {
        let plausible = usize::try_from(header.record_count)
            .is_ok_and(|count| count <= payload.len() / SMALLEST);
        if !plausible {
            return Err(Error::Invalid {
                message: "record batch",
                what: "record count cannot be, given the batch's size",
                position: 57,
            });
        }
        Ok(Self { header, payload })
    }

    /// The batch's header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The memory that the records live in.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Walks the records from the first.
    pub fn iter(&self) -> Records<'_> {
        Records {
            cursor: Cursor::new(&self.payload),
            len: self.payload.len(),
            left: self.header.record_count as u32,
            base_offset: self.header.base_offset,
            base_timestamp: self.header.base_timestamp,
            append_time: self.header.is_log_append_time().then_some(self.header.max_timestamp),
            last_offset_delta: self.header.last_offset_delta,
            previous_delta: -1,
        }
    }

    /// An owned form of a record of this batch: it shares the batch's memory, which stays
    /// allocated as long as it lives.
    pub fn own(&self, record: &RecordRef<'_>) -> Record {
        let slice = |part: &[u8]| self.payload.slice_ref(part);
        Record {
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key.map(slice),
            value: record.value.map(slice),
            headers: if record.header_count == 0 { Bytes::new() } else { slice(record.headers) },
            header_count: record.header_count,
        }
    }
}

/// Payloads may be large and private: only the header is shown.
impl fmt::Debug for BatchRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchRecords")
            .field("header", &self.header)
            .field("payload_bytes", &self.payload.len())
            .finish()
    }
}

impl<'a> IntoIterator for &'a BatchRecords {
    type Item = Result<RecordRef<'a>>;
    type IntoIter = Records<'a>;

    fn into_iter(self) -> Records<'a> {
        self.iter()
    }
}

/// Iterator over the records of a batch. Ends after the first error.
pub struct Records<'a> {
    cursor: Cursor<'a>,
    len: usize,
    left: u32,
    base_offset: i64,
    base_timestamp: i64,
    append_time: Option<i64>,
    last_offset_delta: i32,
    previous_delta: i32,
}

impl<'a> Records<'a> {
    #[inline]
    fn read(&mut self) -> Option<RecordRef<'a>> {
        let len = usize::try_from(self.cursor.varint()?).ok()?;
        let mut body = Cursor::new(self.cursor.take(len)?);
        let _attributes = body.byte()?;
        let timestamp_delta = body.varlong()?;
        let offset_delta = body.varint()?;
        if offset_delta <= self.previous_delta || offset_delta > self.last_offset_delta {
            return None;
        }
        self.previous_delta = offset_delta;
        let key = body.nullable_bytes()?;
        let value = body.nullable_bytes()?;
        let header_count = u32::try_from(body.varint()?).ok()?;
        let headers = body.rest();
        // Checked here once, so that walking the headers later cannot fail.
        if header_count == 0 {
            if !headers.is_empty() {
                return None;
            }
        } else {
            check_headers(header_count, headers)?;
        }
        Some(RecordRef {
            offset: self.base_offset.checked_add(i64::from(offset_delta))?,
            timestamp: match self.append_time {
                Some(time) => time,
                None => self.base_timestamp.wrapping_add(timestamp_delta),
            },
            key,
            value,
            headers,
            header_count,
        })
    }

    #[cold]
    fn fail(&mut self, what: &'static str, at: usize) -> Error {
        self.left = 0;
        self.cursor = Cursor::new(&[]);
        Error::Invalid { message: "records of a batch", what, position: at }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.len - self.cursor.rest().len();
        if self.left == 0 {
            if self.cursor.rest().is_empty() {
                return None;
            }
            return Some(Err(self.fail("bytes follow the last record", at)));
        }
        self.left -= 1;
        match self.read() {
            Some(record) => Some(Ok(record)),
            None => Some(Err(self.fail(
                "malformed record (a length, an offset or a header count does not fit)",
                at,
            ))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize + 1))
    }
}

impl std::iter::FusedIterator for Records<'_> {}

fn check_headers(count: u32, bytes: &[u8]) -> Option<()> {
    let mut cursor = Cursor::new(bytes);
    for _ in 0..count {
        cursor.nullable_bytes()??;
        cursor.nullable_bytes()?;
    }
    cursor.rest().is_empty().then_some(())
}

/// A record that borrows from its batch. Null and empty are different things for key,
/// value and header values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch; -1 if the producer set none.
    pub timestamp: i64,
    /// Key, `None` if null.
    pub key: Option<&'a [u8]>,
    /// Value, `None` if null (a tombstone on a compacted topic).
    pub value: Option<&'a [u8]>,
    headers: &'a [u8],
    header_count: u32,
}

impl<'a> RecordRef<'a> {
    /// The headers in their order; names may repeat.
    pub fn headers(&self) -> Headers<'a> {
        Headers { cursor: Cursor::new(self.headers), left: self.header_count }
    }
}

/// Payloads may be large and private: only sizes are shown.
impl fmt::Debug for RecordRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordRef")
            .field("offset", &self.offset)
            .field("timestamp", &self.timestamp)
            .field("key_bytes", &self.key.map(<[u8]>::len))
            .field("value_bytes", &self.value.map(<[u8]>::len))
            .field("headers", &self.header_count)
            .finish()
    }
}

/// Iterator over a record's headers.
pub struct Headers<'a> {
    cursor: Cursor<'a>,
    left: u32,
}

impl<'a> Iterator for Headers<'a> {
    type Item = HeaderRef<'a>;

    fn next(&mut self) -> Option<HeaderRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        Some(HeaderRef {
            key: self.cursor.nullable_bytes()??,
            value: self.cursor.nullable_bytes()?,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// A header of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeaderRef<'a> {
    /// The name's bytes, by convention UTF-8.
    pub key: &'a [u8],
    /// Value, `None` if null.
    pub value: Option<&'a [u8]>,
}

impl<'a> HeaderRef<'a> {
    /// The name as text; bytes that are not UTF-8 are replaced, as Kafka's own client does.
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.key)
    }
}

/// Values may be private: only their size is shown.
impl fmt::Debug for HeaderRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderRef")
            .field("name", &self.name())
            .field("value_bytes", &self.value.map(<[u8]>::len))
            .finish()
    }
}

/// A record that shares ownership of its batch's memory; made by [`BatchRecords::own`].
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch; -1 if the producer set none.
    pub timestamp: i64,
    /// Key, `None` if null.
    pub key: Option<Bytes>,
    /// Value, `None` if null.
    pub value: Option<Bytes>,
    headers: Bytes,
    header_count: u32,
}

impl Record {
    /// The headers in their order; names may repeat.
    pub fn headers(&self) -> Headers<'_> {
        self.as_ref().headers()
    }

    /// The borrowed form.
    pub fn as_ref(&self) -> RecordRef<'_> {
        RecordRef {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &self.headers,
            header_count: self.header_count,
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
