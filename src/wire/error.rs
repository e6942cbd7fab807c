//! What can be wrong with bytes, and with messages that do not fit their version.

/// Result of reading or writing Kafka bytes.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes could not be read or a message could not be written.
///
/// Every variant names the message (or the part of a record batch) it is about.
/// Positions count bytes from the start of what the decoder was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The version lies outside of what this crate implements for the message.
    #[error("{message} version {version} is not supported; this client knows {min} to {max}")]
    UnsupportedVersion {
        /// Name of the message.
        message: &'static str,
        /// The version asked for.
        version: i16,
        /// Oldest supported version.
        min: i16,
        /// Newest supported version.
        max: i16,
    },
    /// A field is set that the version cannot carry, and dropping it would change the meaning.
    #[error(
        "{field} cannot be sent in version {version}: leave it at its default or require a newer broker"
    )]
    FieldNotInVersion {
        /// `Struct.field`.
        field: &'static str,
        /// The version that was to be written.
        version: i16,
    },
    /// A field is null in a version that has no null for it.
    #[error("{field} must not be null in version {version}")]
    NullField {
        /// `Struct.field`.
        field: &'static str,
        /// The version that was to be written.
        version: i16,
    },
    /// A value is longer than its length field can say.
    #[error("{what} of length {len} exceeds the protocol's limit of {max}")]
    TooLong {
        /// Kind of value.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The bytes end before the value does, or a length points past the end.
    #[error("{message}: {what} at byte {position} needs {needed} bytes, {remaining} remain")]
    Truncated {
        /// Name of the message or part.
        message: &'static str,
        /// Kind of value.
        what: &'static str,
        /// Where the value starts.
        position: usize,
        /// Bytes (for an array: elements, each of at least one byte) the value claims.
        needed: usize,
        /// Bytes that are there.
        remaining: usize,
    },
    /// The bytes are there but say something impossible.
    #[error("{message}: {what} at byte {position}")]
    Invalid {
        /// Name of the message or part.
        message: &'static str,
        /// What is wrong, in words.
        what: &'static str,
        /// Where.
        position: usize,
    },
    /// A batch's checksum differs from the one stored in it.
    #[error(
        "record batch at offset {base_offset}: checksum {actual:#010x} instead of {stored:#010x}; \
         the data was damaged on its way or on disk"
    )]
    Checksum {
        /// First offset of the batch.
        base_offset: i64,
        /// What the batch says.
        stored: u32,
        /// What its bytes give.
        actual: u32,
    },
    /// The batch is of a message format older than Kafka 0.11.
    #[error(
        "record batch at offset {base_offset} has magic {magic}; only magic 2 (Kafka 0.11 and newer) \
         is read: set log.message.format.version to 0.11 or later and let the topic be rewritten"
    )]
    UnsupportedMagic {
        /// First offset of the batch.
        base_offset: i64,
        /// The format's number.
        magic: i8,
    },
    /// The batch names a compression that Kafka does not define.
    #[error("record batch at offset {base_offset}: unknown compression {id}")]
    UnknownCompression {
        /// First offset of the batch.
        base_offset: i64,
        /// The number in the batch's attributes.
        id: u8,
    },
    /// Compressed data is broken or cannot be made.
    #[error("{codec} failed: {reason}")]
    Compression {
        /// `gzip`, `snappy`, `lz4` or `zstd`.
        codec: &'static str,
        /// The library's words.
        reason: String,
    },
    /// Decompressed data is larger than the bound that was set.
    #[error("{codec} data decompresses to more than the limit of {limit} bytes")]
    DecompressedTooLarge {
        /// `gzip`, `snappy`, `lz4` or `zstd`.
        codec: &'static str,
        /// The bound in bytes.
        limit: usize,
    },
}
