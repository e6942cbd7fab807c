//! Markers that brokers write into the log.

use super::record::RecordRef;
use crate::wire::error::{Error, Result};

/// What a marker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlKind {
    /// The producer's transaction was aborted: its records since the last marker do not count.
    Abort,
    /// The producer's transaction was committed.
    Commit,
    /// Of no interest to a consumer (written by KRaft, or newer than this crate).
    Other(i16),
}

/// The content of a record in a control batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlRecord {
    /// What it says.
    pub kind: ControlKind,
    /// Epoch of the transaction coordinator; `None` for other kinds.
    pub coordinator_epoch: Option<i32>,
}

impl ControlRecord {
    /// Reads the marker out of a record of a control batch. Newer versions of a marker keep
    /// the fields of older ones in front, so that they are read as well.
    pub fn parse(record: &RecordRef<'_>) -> Result<Self> {
        let invalid = |what| Error::Invalid { message: "control record", what, position: 0 };
        let key = record
            .key
            .and_then(|key| key.first_chunk::<4>())
            .ok_or_else(|| invalid("key is shorter than version and type"))?;
        let number = i16::from_be_bytes([key[2], key[3]]);
        let kind = match number {
            0 => ControlKind::Abort,
            1 => ControlKind::Commit,
            other => {
                return Ok(Self { kind: ControlKind::Other(other), coordinator_epoch: None });
            }
        };
        let value = record
            .value
            .and_then(|value| value.first_chunk::<6>())
            .ok_or_else(|| invalid("value is shorter than version and coordinator epoch"))?;
        let epoch = i32::from_be_bytes([value[2], value[3], value[4], value[5]]);
        Ok(Self { kind, coordinator_epoch: Some(epoch) })
    }
}
