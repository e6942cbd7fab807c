//! Building batches.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use super::batch::{CONTROL, CRC_START, HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL};
use super::compression::{self, Compression};
use super::record::HeaderRef;
use super::varint;
use crate::wire::error::{Error, Result};

/// What a batch is built with.
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchOptions {
    /// How the records are packed. Default none.
    pub compression: Compression,
    /// Level for gzip (0 to 9) and zstd (1 to 22); `None` is the codec's default.
    pub level: Option<i32>,
    /// Bytes to allocate at once for the uncompressed batch. Default 0.
    pub capacity: usize,
}

/// Who produces, for idempotence and transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerState {
    /// From InitProducerId.
    pub producer_id: i64,
    /// From InitProducerId.
    pub producer_epoch: i16,
    /// Sequence number of the batch's first record.
    pub base_sequence: i32,
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
}

/// Collects records into one batch. Offsets count up from zero; the broker assigns the
/// real ones.
pub struct BatchBuilder {
    buf: BytesMut,
    options: BatchOptions,
    base_timestamp: i64,
    max_timestamp: i64,
    count: i32,
    base_offset: i64,
    leader_epoch: i32,
    control: bool,
}

impl BatchBuilder {
    /// An empty batch.
    pub fn new(options: BatchOptions) -> Self {
        let mut buf = BytesMut::with_capacity(options.capacity.max(HEADER_SIZE));
        buf.put_bytes(0, HEADER_SIZE);
        Self {
            buf,
            options,
            base_timestamp: -1,
            max_timestamp: -1,
            count: 0,
            base_offset: 0,
            leader_epoch: -1,
            control: false,
        }
    }

    /// Sets what a broker fills in: first offset and leader epoch (for brokers in tests).
    pub fn with_log_position(mut self, base_offset: i64, leader_epoch: i32) -> Self {
        self.base_offset = base_offset;
        self.leader_epoch = leader_epoch;
        self
    }

    /// Marks the batch as one of control records (for brokers in tests).
    pub fn with_control(mut self) -> Self {
        self.control = true;
        self
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True before the first record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Size of the batch in bytes, header included, before compression.
    pub fn size(&self) -> usize {
        self.buf.len()
    }

    /// [`size`](Self::size) after one more record, exactly.
    pub fn size_with<'h>(
        &self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'h>>,
    ) -> usize {
        let body = self.body_size(timestamp, key, value, headers).0;
        self.size() + varint::size(body as i64) + body
    }

    /// Appends a record. Names and values of headers follow their order; names may repeat.
    pub fn append<'h>(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'h>> + Clone,
    ) -> Result<()> {
        let (body, header_count) = self.body_size(timestamp, key, value, headers.clone());
        let total = self.buf.len().saturating_add(body).saturating_add(5);
        if total > i32::MAX as usize || self.count == i32::MAX {
            return Err(Error::TooLong {
                what: "record batch",
                len: total,
                max: i32::MAX as usize,
            });
        }
        if self.count == 0 {
            self.base_timestamp = timestamp;
            self.max_timestamp = timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        let buf = &mut self.buf;
        buf.reserve(body + 5);
        varint::put(buf, body as i64);
        buf.put_u8(0); // attributes, unused
        varint::put(buf, timestamp.wrapping_sub(self.base_timestamp));
        varint::put(buf, i64::from(self.count));
        put_nullable(buf, key);
        put_nullable(buf, value);
        varint::put(buf, header_count as i64);
        for header in headers {
            put_nullable(buf, Some(header.key));
            put_nullable(buf, header.value);
        }
        self.count += 1;
        Ok(())
    }

    /// Size of a record without its own length, and the number of its headers.
    fn body_size<'h>(
        &self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'h>>,
    ) -> (usize, usize) {
        let delta = if self.count == 0 { 0 } else { timestamp.wrapping_sub(self.base_timestamp) };
        let (count, header_bytes) = headers.fold((0, 0), |(count, bytes), header| {
            let size = nullable_size(Some(header.key)) + nullable_size(header.value);
            (count + 1, bytes + size)
        });
        let body = 1
            + varint::size(delta)
            + varint::size(i64::from(self.count))
            + nullable_size(key)
            + nullable_size(value)
            + varint::size(count as i64)
            + header_bytes;
        (body, count)
    }

    /// Compresses, fills in the header and gives the batch's bytes. Without compression
    /// nothing is copied.
    pub fn finish(self, producer: Option<ProducerState>) -> Result<Bytes> {
        let codec = self.options.compression;
        let mut out = match codec {
            Compression::None => self.buf,
            _ => {
                let mut out = BytesMut::with_capacity(HEADER_SIZE + self.buf.len() / 2);
                out.put_bytes(0, HEADER_SIZE);
                compression::compress(
                    codec,
                    self.options.level,
                    &self.buf[HEADER_SIZE..],
                    &mut out,
                )?;
                out
            }
        };
        let length = i32::try_from(out.len() - LOG_OVERHEAD).map_err(|_| Error::TooLong {
            what: "record batch",
            len: out.len(),
            max: i32::MAX as usize,
        })?;
        let producer = producer.unwrap_or(ProducerState {
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            transactional: false,
        });
        let mut attributes = i16::from(codec.id());
        if producer.transactional {
            attributes |= TRANSACTIONAL;
        }
        if self.control {
            attributes |= CONTROL;
        }
        {
            let mut header = &mut out[..HEADER_SIZE];
            header.put_i64(self.base_offset);
            header.put_i32(length);
            header.put_i32(self.leader_epoch);
            header.put_i8(2);
            header.put_u32(0); // checksum, below
            header.put_i16(attributes);
            header.put_i32((self.count - 1).max(0));
            header.put_i64(self.base_timestamp);
            header.put_i64(self.max_timestamp);
            header.put_i64(producer.producer_id);
            header.put_i16(producer.producer_epoch);
            header.put_i32(producer.base_sequence);
            header.put_i32(self.count);
        }
        let crc = crc32c::crc32c(&out[CRC_START..]);
        out[CRC_START - 4..CRC_START].copy_from_slice(&crc.to_be_bytes());
        Ok(out.freeze())
    }
}

/// The same batch under another producer id, epoch and sequence, for an idempotent producer that
/// had to begin its sequence anew. `batch` is what [`BatchBuilder::finish`] gave.
///
/// # Errors
/// If `batch` is too short to be a batch.
pub fn restamp(batch: &[u8], producer: ProducerState) -> Result<Bytes> {
    let mut out = BytesMut::from(batch);
    if out.len() < HEADER_SIZE {
        return Err(Error::Invalid {
            message: "record batch",
            what: "too short for a header",
            position: 0,
        });
    }
    let mut identity = &mut out[PRODUCER_AT..PRODUCER_AT + 14];
    identity.put_i64(producer.producer_id);
    identity.put_i16(producer.producer_epoch);
    identity.put_i32(producer.base_sequence);
    let crc = crc32c::crc32c(&out[CRC_START..]);
    out[CRC_START - 4..CRC_START].copy_from_slice(&crc.to_be_bytes());
    Ok(out.freeze())
}

/// Producer id, epoch and base sequence stand here, one after the other.
const PRODUCER_AT: usize = 43;

/// Payloads may be large and private: only sizes are shown.
impl fmt::Debug for BatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchBuilder")
            .field("options", &self.options)
            .field("records", &self.count)
            .field("bytes", &self.buf.len())
            .finish_non_exhaustive()
    }
}

fn nullable_size(bytes: Option<&[u8]>) -> usize {
    match bytes {
        Some(bytes) => varint::size(bytes.len() as i64) + bytes.len(),
        None => 1,
    }
}

fn put_nullable(buf: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            varint::put(buf, bytes.len() as i64);
            buf.put_slice(bytes);
        }
        None => varint::put(buf, -1),
    }
}
