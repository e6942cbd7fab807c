//! The compressions Kafka defines, in the framings its Java client uses.

use std::io::{self, Read, Write};

use bytes::{BufMut, Bytes, BytesMut};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use crate::wire::error::{Error, Result};

/// How a batch's records are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// RFC 1952; levels 1 to 9, default 6.
    Gzip,
    /// Blocks of 32 KiB in the framing of the snappy-java library; no levels.
    Snappy,
    /// LZ4 frames of independent 64 KiB blocks; one level.
    Lz4,
    /// Zstandard, for Kafka 2.1 and newer; levels 1 to 22, default 3.
    Zstd,
}

impl Compression {
    /// The number in a batch's attributes.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The compression with a number.
    pub fn from_id(id: u8) -> Option<Self> {
        [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd]
            .into_iter()
            .find(|codec| codec.id() == id)
    }

    /// Kafka's name for it (`compression.type`).
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    fn error(self, reason: impl ToString) -> Error {
        Error::Compression { codec: self.name(), reason: reason.to_string() }
    }
}

/// Unpacks `packed` into at most `limit` bytes.
pub(super) fn decompress(codec: Compression, packed: &[u8], limit: usize) -> Result<Bytes> {
    match codec {
        Compression::None => {
            check_limit(codec, packed.len(), limit)?;
            Ok(Bytes::copy_from_slice(packed))
        }
        Compression::Gzip => {
            read_all(codec, flate2::bufread::MultiGzDecoder::new(packed), packed, limit)
        }
        Compression::Snappy => unsnap(packed, limit),
        Compression::Lz4 => read_all(codec, FrameDecoder::new(packed), packed, limit),
        Compression::Zstd => {
            // The library refuses windows above 128 MiB, the most that level 22 asks for;
            // of a window only what is written to costs memory.
            let decoder =
                zstd::stream::read::Decoder::with_buffer(packed).map_err(|e| codec.error(e))?;
            read_all(codec, decoder, packed, limit)
        }
    }
}

/// Reads to the end, the buffer growing with what really comes out.
fn read_all(codec: Compression, source: impl Read, packed: &[u8], limit: usize) -> Result<Bytes> {
    let mut out = Vec::with_capacity(packed.len().saturating_mul(4).min(limit));
    source.take(limit as u64 + 1).read_to_end(&mut out).map_err(|e| codec.error(e))?;
    check_limit(codec, out.len(), limit)?;
    Ok(out.into())
}

fn check_limit(codec: Compression, len: usize, limit: usize) -> Result<()> {
    if len > limit {
        return Err(Error::DecompressedTooLarge { codec: codec.name(), limit });
    }
    Ok(())
}

/// Mark of the snappy-java framing, followed by two version numbers of four bytes each.
const XERIAL_MAGIC: &[u8] = b"\x82SNAPPY\0";
const XERIAL_HEADER: usize = 16;
const XERIAL_BLOCK: usize = 32 << 10;

/// Snappy as snappy-java frames it, or as one raw block, which other clients write.
fn unsnap(packed: &[u8], limit: usize) -> Result<Bytes> {
    let codec = Compression::Snappy;
    let mut out = Vec::new();
    if !packed.starts_with(XERIAL_MAGIC) {
        unsnap_block(packed, &mut out, limit)?;
        return Ok(out.into());
    }
    let mut rest = packed
        .get(XERIAL_HEADER..)
        .ok_or_else(|| codec.error("the framing's header is cut off"))?;
    while !rest.is_empty() {
        let block = rest
            .split_first_chunk::<4>()
            .and_then(|(len, tail)| tail.split_at_checked(u32::from_be_bytes(*len) as usize))
            .ok_or_else(|| codec.error("a block is cut off"))?;
        unsnap_block(block.0, &mut out, limit)?;
        rest = block.1;
    }
    Ok(out.into())
}

fn unsnap_block(block: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
    let codec = Compression::Snappy;
    let len = snap::raw::decompress_len(block).map_err(|e| codec.error(e))?;
    // Three bytes make at most 64, so that a larger announcement is a lie.
    if len / 22 > block.len() {
        return Err(codec.error("a block announces more than it can hold"));
    }
    let start = out.len();
    check_limit(codec, start.saturating_add(len), limit)?;
    out.resize(start + len, 0);
    snap::raw::Decoder::new().decompress(block, &mut out[start..]).map_err(|e| codec.error(e))?;
    Ok(())
}

/// Appends `plain` to `out`, packed. `level` is for gzip and zstd only.
pub(super) fn compress(
    codec: Compression,
    level: Option<i32>,
    plain: &[u8],
    out: &mut BytesMut,
) -> Result<()> {
    let sink = out.writer();
    let written: io::Result<()> = match codec {
        Compression::None => {
            out.put_slice(plain);
            Ok(())
        }
        Compression::Gzip => {
            let level = level.map_or(6, |level| level.clamp(0, 9) as u32);
            let mut encoder = flate2::write::GzEncoder::new(sink, flate2::Compression::new(level));
            encoder.write_all(plain).and_then(|()| encoder.finish().map(drop))
        }
        Compression::Snappy => snap_blocks(plain, out),
        Compression::Lz4 => {
            let info =
                FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
            let mut encoder = FrameEncoder::with_frame_info(info, sink);
            encoder
                .write_all(plain)
                .and_then(|()| encoder.finish().map(drop).map_err(io::Error::other))
        }
        Compression::Zstd => {
            let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
            zstd::stream::copy_encode(plain, sink, level)
        }
    };
    written.map_err(|e| codec.error(e))
}

fn snap_blocks(plain: &[u8], out: &mut BytesMut) -> io::Result<()> {
    out.put_slice(XERIAL_MAGIC);
    out.put_i32(1); // version of the framing
    out.put_i32(1); // oldest version that can read it
    let mut encoder = snap::raw::Encoder::new();
    for block in plain.chunks(XERIAL_BLOCK) {
        let at = out.len();
        out.resize(at + 4 + snap::raw::max_compress_len(block.len()), 0);
        let len = encoder.compress(block, &mut out[at + 4..]).map_err(io::Error::other)?;
        out[at..at + 4].copy_from_slice(&(len as u32).to_be_bytes());
        out.truncate(at + 4 + len);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODECS: [Compression; 5] = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];

    fn packed(codec: Compression, plain: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        compress(codec, None, plain, &mut out).unwrap();
        out
    }

    #[test]
    fn every_codec_gives_back_what_it_got() {
        let plain: Vec<u8> = (0..200_000u32).map(|i| (i / 7 % 251) as u8).collect();
        for codec in CODECS {
            for len in [0, 1, 100, XERIAL_BLOCK, XERIAL_BLOCK + 1, plain.len()] {
                let packed = packed(codec, &plain[..len]);
                let back = decompress(codec, &packed, plain.len()).unwrap();
                assert_eq!(back, plain[..len], "{codec:?} {len}");
            }
        }
    }

    #[test]
    fn decompression_stops_at_the_limit() {
        for codec in CODECS {
            let packed = packed(codec, &[0; 100_000]);
            assert!(decompress(codec, &packed, 100_000).is_ok(), "{codec:?}");
            let error = decompress(codec, &packed, 99_999).unwrap_err();
            let limit = 99_999;
            assert_eq!(error, Error::DecompressedTooLarge { codec: codec.name(), limit });
        }
    }

    #[test]
    fn raw_snappy_is_read_too() {
        let raw = snap::raw::Encoder::new().compress_vec(b"aaaaaaaaaabbbbbbbbbb").unwrap();
        let plain = decompress(Compression::Snappy, &raw, 100).unwrap();
        assert_eq!(&plain[..], b"aaaaaaaaaabbbbbbbbbb");
    }

    #[test]
    fn a_snappy_block_that_announces_too_much_is_refused_before_it_is_allocated() {
        let lie = [0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x61];
        let error = decompress(Compression::Snappy, &lie, usize::MAX).unwrap_err();
        assert!(error.to_string().contains("announces more"), "{error}");
    }
}
