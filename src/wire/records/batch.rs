//! Batches: cutting, checking, decompressing.

use std::fmt;

use bytes::Bytes;

use super::compression::{self, Compression};
use super::record::BatchRecords;
use crate::wire::error::{Error, Result};

/// Bytes in front of a batch's records.
pub(super) const HEADER_SIZE: usize = 61;
/// Bytes that are not counted by the length field: base offset and the field itself.
pub(super) const LOG_OVERHEAD: usize = 12;
/// Where the magic byte stands, in every format.
const MAGIC_AT: usize = 16;
/// First byte that the checksum covers.
pub(super) const CRC_START: usize = 21;
/// The smallest batch of the formats before magic 2.
const SMALLEST_LEGACY: usize = 26;

pub(super) const COMPRESSION_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
pub(super) const TRANSACTIONAL: i16 = 0x10;
pub(super) const CONTROL: i16 = 0x20;
const DELETE_HORIZON: i16 = 0x40;

/// How strictly and how far a batch is decoded.
#[derive(Debug, Clone, Copy)]
pub struct DecodeOptions {
    /// Compare the checksum (`check.crcs`). Default true.
    pub check_crc: bool,
    /// Largest size in bytes that a batch may decompress to. Default 128 MiB.
    pub max_decompressed: usize,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { check_crc: true, max_decompressed: 128 << 20 }
    }
}

/// What stands in front of a batch's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset that the records' deltas count from.
    pub base_offset: i64,
    /// Epoch of the leader that appended the batch; -1 from a producer.
    pub partition_leader_epoch: i32,
    /// CRC-32C over everything after this field.
    pub crc: u32,
    /// Flags; the methods read them.
    pub attributes: i16,
    /// Last offset minus [`base_offset`](Self::base_offset); survives compaction.
    pub last_offset_delta: i32,
    /// Timestamp that the records' deltas count from, ms.
    pub base_timestamp: i64,
    /// Largest timestamp, or the time of the append, ms.
    pub max_timestamp: i64,
    /// Idempotent producer, -1 if none.
    pub producer_id: i64,
    /// Its epoch, -1 if none.
    pub producer_epoch: i16,
    /// Sequence number of the first record, -1 if none.
    pub base_sequence: i32,
    /// Number of records.
    pub record_count: i32,
}

impl BatchHeader {
    /// Offset of the last record the batch was written with.
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// The offset to fetch after this batch.
    pub fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// How the records are compressed.
    pub fn compression(&self) -> Result<Compression> {
        let id = (self.attributes & COMPRESSION_MASK) as u8;
        Compression::from_id(id)
            .ok_or(Error::UnknownCompression { base_offset: self.base_offset, id })
    }

    /// Part of a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Holds a marker of the broker's, not records of an application.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// Every record's timestamp is the time of the append.
    pub fn is_log_append_time(&self) -> bool {
        self.attributes & LOG_APPEND_TIME != 0
    }

    /// When tombstones and markers of the batch may be removed, ms.
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.attributes & DELETE_HORIZON != 0).then_some(self.base_timestamp)
    }

    /// Reads the header; the caller has checked that [`HEADER_SIZE`] bytes are there.
    fn read(bytes: &[u8; HEADER_SIZE]) -> Self {
        fn at<const N: usize>(bytes: &[u8; HEADER_SIZE], start: usize) -> [u8; N] {
            std::array::from_fn(|i| bytes[start + i])
        }
        Self {
            base_offset: i64::from_be_bytes(at(bytes, 0)),
            partition_leader_epoch: i32::from_be_bytes(at(bytes, 12)),
            crc: u32::from_be_bytes(at(bytes, 17)),
            attributes: i16::from_be_bytes(at(bytes, 21)),
            last_offset_delta: i32::from_be_bytes(at(bytes, 23)),
            base_timestamp: i64::from_be_bytes(at(bytes, 27)),
            max_timestamp: i64::from_be_bytes(at(bytes, 35)),
            producer_id: i64::from_be_bytes(at(bytes, 43)),
            producer_epoch: i16::from_be_bytes(at(bytes, 51)),
            base_sequence: i32::from_be_bytes(at(bytes, 53)),
            record_count: i32::from_be_bytes(at(bytes, 57)),
        }
    }
}

/// One complete batch, its records still packed.
#[derive(Clone)]
pub struct Batch {
    /// The header.
    pub header: BatchHeader,
    bytes: Bytes,
}

impl Batch {
    /// The batch as it came, header included.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Compares the checksum with the bytes.
    pub fn check_crc(&self) -> Result<()> {
        let actual = crc32c::crc32c(&self.bytes[CRC_START..]);
        if actual == self.header.crc {
            return Ok(());
        }
        Err(Error::Checksum {
            base_offset: self.header.base_offset,
            stored: self.header.crc,
            actual,
        })
    }

    /// Checks and, where needed, decompresses the records. Uncompressed records stay where
    /// they are.
    pub fn records(&self, options: &DecodeOptions) -> Result<BatchRecords> {
        if options.check_crc {
            self.check_crc()?;
        }
        let packed = self.bytes.slice(HEADER_SIZE..);
        let payload = match self.header.compression()? {
            Compression::None => packed,
            codec => compression::decompress(codec, &packed, options.max_decompressed)?,
        };
        BatchRecords::new(self.header, payload)
    }
}

/// Payloads may be large and private: only the header is shown.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("header", &self.header)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// What is left behind the last complete batch of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Bytes that are there.
    pub available: usize,
    /// Bytes that the batch needs, where so much of it is there that it says so.
    pub needed: Option<usize>,
}

/// Cuts the records field of a response into batches.
///
/// Brokers fill responses up to a size, so that the last batch may be incomplete: it is
/// not an error but ends the iteration, and [`tail`](Self::tail) tells of it. A batch of
/// an old format is an error, and the iteration goes on behind it; a length that cannot
/// be is an error that ends it.
#[derive(Clone)]
pub struct Batches {
    rest: Bytes,
    position: usize,
    broken: bool,
}

impl Batches {
    /// Starts at the front of `records`.
    pub fn new(records: Bytes) -> Self {
        Self { rest: records, position: 0, broken: false }
    }

    /// The incomplete batch at the end, once the iteration is over.
    pub fn tail(&self) -> Option<Tail> {
        (!self.rest.is_empty() && !self.broken).then(|| Tail {
            available: self.rest.len(),
            needed: self.size().and_then(|size| usize::try_from(size).ok()),
        })
    }

    /// Size of the next batch as its length field has it.
    fn size(&self) -> Option<i64> {
        let length = self.rest.get(8..LOG_OVERHEAD)?.first_chunk::<4>()?;
        Some(i64::from(i32::from_be_bytes(*length)) + LOG_OVERHEAD as i64)
    }

    fn invalid(&mut self, what: &'static str) -> Error {
        self.broken = true;
        Error::Invalid { message: "record batch", what, position: self.position }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let Ok(size) = usize::try_from(self.size()?) else {
            return Some(Err(self.invalid("negative batch length")));
        };
        if size < SMALLEST_LEGACY {
            return Some(Err(self.invalid("batch length is too small")));
        }
        if size > self.rest.len() {
            return None;
        }
        let magic = self.rest[MAGIC_AT] as i8;
        if magic >= 2 && size < HEADER_SIZE {
            return Some(Err(self.invalid("batch length is too small")));
        }
        let bytes = self.rest.split_to(size);
        self.position += size;
        let Some(header) = bytes.first_chunk().filter(|_| magic == 2) else {
            let base_offset = bytes.first_chunk().map_or(-1, |b| i64::from_be_bytes(*b));
            return Some(Err(Error::UnsupportedMagic { base_offset, magic }));
        };
        let header = BatchHeader::read(header);
        Some(Ok(Batch { header, bytes }))
    }
}

impl std::iter::FusedIterator for Batches {}

/// Payloads may be large and private: only sizes are shown.
impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("position", &self.position)
            .field("remaining_bytes", &self.rest.len())
            .finish_non_exhaustive()
    }
}
