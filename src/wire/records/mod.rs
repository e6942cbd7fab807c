//! Record batches, message format 2 (Kafka 0.11 and newer).
//!
//! Reading: [`Batches`] cuts fetched bytes into batches, [`Batch::records`] checks and
//! decompresses one, [`BatchRecords::iter`] walks its records as borrowed views without
//! allocating. Writing: [`BatchBuilder`].

mod batch;
mod builder;
mod compression;
mod control;
mod record;
mod varint;

pub use batch::{Batch, BatchHeader, Batches, DecodeOptions, Tail};
pub use builder::{BatchBuilder, BatchOptions, ProducerState, restamp};
pub use compression::Compression;
pub use control::{ControlKind, ControlRecord};
pub use record::{BatchRecords, HeaderRef, Headers, Record, RecordRef, Records};
